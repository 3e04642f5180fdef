"""The interface of secret graphs, with defaults that are right for any graph, and what they answer with.

Numbers come as rows, one array in the shape of the domain after the other, and all rows are searched together: the sum
of several absolute changes is the largest of the changes of their signed sums, which are such rows.

A user writes :class:`Secrets` (``DistanceThreshold(5)``); a policy binds it to a domain, and the bound
:class:`SecretGraph` answers questions. An edge (x, y) means: nobody may tell whether a person's value is x or y
[he2014, section 3.1]. Graphs are never materialised; a new kind of graph is one more file next to this one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import inf
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, Domain, Subset
from blowfish_privacy.errors import PolicyError, brief_name, nearest
from blowfish_privacy.graphs.class_pairs import MOST_LISTED, ClassPairs, Pieces, everything, joined_along, listed
from blowfish_privacy.support.file_forms import Anything, OneOf, kind_of, register


@dataclass(frozen=True)
class Rule:
    """Which pairs are secret: a sentence for readers who are not privacy experts, with an example if there is one."""

    sentence: str
    example: str | None = None
    more: str = ""

    def __str__(self) -> str:
        return f"{self.sentence}{f', such as {self.example}' if self.example else ''}{self.more}."


@dataclass(frozen=True)
class Words:
    """What a graph protects and what it does not, in sentences."""

    protected: tuple[Rule, ...] = ()
    unprotected: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    """Statements beyond the rules that must not be omitted, even if there are many rules."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Every sentence about what is protected."""
        return (*map(str, self.protected), *self.added)

    @property
    def without_examples(self) -> Words:
        """The same without naming any secret pair."""
        return replace(self, protected=tuple(replace(rule, example=None) for rule in self.protected))

    def about(self, people: str) -> Words:
        """Say the same of some people only."""
        return Words(
            tuple(replace(rule, sentence=_about(people, rule.sentence)) for rule in self.protected),
            tuple(_about(people, sentence) for sentence in self.unprotected),
            tuple(_about(people, sentence) for sentence in self.added),
        )

    def __add__(self, other: Words) -> Words:
        return Words(self.protected + other.protected, self.unprotected + other.unprotected, self.added + other.added)


def _about(people: str, sentence: str) -> str:
    return f"{people}: {sentence[0].lower()}{sentence[1:]}"


Move: TypeAlias = tuple[int, int]
"""The positions of a secret pair along an attribute, the smaller one first."""


_MOST_MERGED = 100_000


@dataclass(frozen=True)
class Stretches:
    """``count`` consecutive stretches of ``width`` positions each, starting at position ``start``."""

    start: int
    width: int
    count: int
    reach: int
    """The largest number of positions that a secret pair moves inside one of them."""

    @property
    def stop(self) -> int:
        """The position after the last."""
        return self.start + self.width * self.count


def joined(moves: Iterable[Move], size: int) -> tuple[Stretches, ...]:
    """Cut ``size`` positions into the shortest stretches that none of the moves leaves.

    Overlapping moves are joined even if they share no end: a stretch is a range.
    """
    return _cut(((low, high, high - low) for low, high in moves), size)


def merged(cuts: Sequence[tuple[Stretches, ...]], size: int) -> tuple[Stretches, ...]:
    """Cut ``size`` positions where all of several cuts do; into one stretch if that would take long."""
    moving = [*dict.fromkeys(cut for cut in cuts if any(run.reach for run in cut))]
    if len(moving) == 1:
        return moving[0]
    runs = [run for cut in moving for run in cut if run.reach]
    if sum(run.count for run in runs) > _MOST_MERGED:
        return (Stretches(0, size, 1, max(run.reach for run in runs)),)
    starts = ((run, run.start + run.width * number) for run in runs for number in range(run.count))
    return _cut(((start, start + run.width - 1, run.reach) for run, start in starts), size)


def _cut(ranges: Iterable[tuple[int, int, int]], size: int) -> tuple[Stretches, ...]:
    """Join ranges that overlap, each with its ends and its reach, and cut between them."""
    apart: list[tuple[int, int, int]] = []
    for low, high, reach in sorted(ranges):
        if apart and low <= apart[-1][1]:
            start, end, widest = apart.pop()
            low, high, reach = start, max(high, end), max(reach, widest)
        apart.append((low, high, reach))
    runs: list[Stretches] = []

    def add(start: int, width: int, count: int, reach: int) -> None:
        """Add stretches, in one entry with those before if these have the same width and reach."""
        if runs and (runs[-1].width, runs[-1].reach) == (width, reach):
            before = runs.pop()
            start, count = before.start, before.count + count
        runs.append(Stretches(start, width, count, reach))

    position = 0
    for low, high, reach in apart:
        if low > position:
            add(position, 1, low - position, 0)
        add(low, high - low + 1, 1, reach)
        position = high + 1
    if position < size:
        add(position, 1, size - position, 0)
    return tuple(runs)


Rows: TypeAlias = npt.NDArray[np.int64]
Cells: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]

_MOST_SHIFTED = 400_000_000
"""Numbers that are compared with others a few positions away, in all."""


@dataclass(frozen=True)
class Steepest:
    """An edge along which the numbers of a row change most, and by how much; no edge if none changes any."""

    rise: int
    row: int = 0
    edge: Cells | None = None


FLAT = Steepest(0)


def steepest_of(candidates: Iterable[Steepest | None]) -> Steepest | None:
    """Return the steepest of several; None if one of them is not known."""
    best = FLAT
    for candidate in candidates:
        if candidate is None:
            return None
        best = max(best, candidate, key=lambda steepest: steepest.rise)
    return best


def among_all(rows: Rows) -> Steepest:
    """Compare every two values."""
    flat = rows.reshape(len(rows), -1)
    rises = flat.max(axis=1) - flat.min(axis=1)
    row = int(rises.argmax())
    return _between(rows, row, int(flat[row].argmin()), int(flat[row].argmax()))


def inside_blocks(rows: Rows, labels: Rows) -> Steepest:
    """Compare every two values with the same label; labels have the shape of the domain."""
    order = np.argsort(labels, axis=None, kind="stable")
    ordered, flat = labels.reshape(-1)[order], rows.reshape(len(rows), -1)[:, order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    rises = np.maximum.reduceat(flat, starts, axis=1) - np.minimum.reduceat(flat, starts, axis=1)
    row, block = divmod(int(rises.argmax()), len(starts))
    ends = [*starts[1:], len(order)]
    members = order[starts[block] : ends[block]]
    heights = rows[row].reshape(-1)[members]
    return _between(rows, row, int(members[heights.argmin()]), int(members[heights.argmax()]))


def inside_windows(rows: Rows, last: npt.NDArray[np.intp]) -> Steepest:
    """Compare every position of one attribute with those after it, up to the last that is a secret pair with it.

    The highest and the lowest number of a window are those of two shorter windows, of a power of two each.
    """
    size, lengths = rows.shape[1], last - np.arange(rows.shape[1]) + 1
    levels = np.frexp(lengths)[1] - 1
    highest, lowest, best = rows.copy(), rows.copy(), FLAT
    for level in range(int(levels.max()) + 1):
        span = 2**level
        starts = np.flatnonzero(levels == level)
        if len(starts):
            second = last[starts] - span + 1
            up = np.maximum(highest[:, starts], highest[:, second]) - rows[:, starts]
            down = rows[:, starts] - np.minimum(lowest[:, starts], lowest[:, second])
            rises = np.maximum(up, down)
            row, at = divmod(int(rises.argmax()), len(starts))
            if rises[row, at] > best.rise:
                first = int(starts[at])
                changes = np.abs(rows[row, first : int(last[first]) + 1] - rows[row, first])
                best = Steepest(int(changes.max()), row, ((first,), (first + int(changes.argmax()),)))
        if span < size:
            highest[:, :-span] = np.maximum(highest[:, :-span], highest[:, span:])
            lowest[:, :-span] = np.minimum(lowest[:, :-span], lowest[:, span:])
    return best


def shifted(rows: Rows, reaches: Iterable[int], near: Callable[[tuple[int, ...]], bool]) -> Steepest | None:
    """Compare values some positions apart; ``near`` says whether so many positions are, whatever the values.

    None if that would take long.
    """
    shape = rows.shape[1:]
    sides = [min(reach, size - 1) for reach, size in zip(reaches, shape, strict=True)]
    if rows.size * np.prod([2 * side + 1 for side in sides], dtype=float) > _MOST_SHIFTED:
        return None
    best, zero = FLAT, tuple(0 for _ in sides)
    for offset in product(*(range(-side, side + 1) for side in sides)):
        if offset <= zero or not near(offset):
            continue
        moved = [*zip(offset, shape, strict=True)]
        ahead = tuple(slice(max(step, 0), size + min(step, 0)) for step, size in moved)
        behind = tuple(slice(max(-step, 0), size - max(step, 0)) for step, size in moved)
        changes = np.abs(rows[:, *ahead] - rows[:, *behind])
        row, *at = map(int, np.unravel_index(int(changes.argmax()), changes.shape))
        if changes[row, *at] > best.rise:
            start = tuple(position + part.start for position, part in zip(at, behind, strict=True))
            end = tuple(position + step for position, step in zip(start, offset, strict=True))
            best = Steepest(int(changes[row, *at]), row, (start, end))
    return best


def along_axis(rows: Rows, axis: int, search: Callable[[Rows], Steepest | None]) -> Steepest | None:
    """Search along one attribute, whatever the values of the others are."""
    lines = np.moveaxis(rows, axis + 1, -1)
    outer = lines.shape[:-1]
    best = search(np.ascontiguousarray(lines.reshape(-1, lines.shape[-1])))
    if best is None or best.edge is None:
        return best
    row, *others = map(int, np.unravel_index(best.row, outer))
    x, y = ((*others[:axis], end[0], *others[axis:]) for end in best.edge)
    return Steepest(best.rise, row, (x, y))


def among_listed(rows: Rows, edges: Iterable[Cells]) -> Steepest:
    """Compare the ends of listed edges."""
    listed = [*edges]
    if not listed:
        return FLAT
    ends: Any = np.array(listed, dtype=np.intp)
    first, second = (rows[:, *ends[:, side].T] for side in (0, 1))
    changes = np.abs(first - second)
    row, edge = divmod(int(changes.argmax()), len(listed))
    rise = int(changes[row, edge])
    return Steepest(rise, row, listed[edge] if rise else None)


def _between(rows: Rows, row: int, first: int, second: int) -> Steepest:
    flat, shape = rows[row].reshape(-1), rows.shape[1:]
    rise = int(flat[second] - flat[first])
    x, y = (tuple(map(int, np.unravel_index(number, shape))) for number in (first, second))
    return Steepest(rise, row, (min(x, y), max(x, y)) if rise else None)


Edge: TypeAlias = tuple[Cell, Cell]
"""A secret pair of values."""
Hops: TypeAlias = int | float
"""A number of steps; ``math.inf`` between values that no chain of secret pairs connects."""

MOST_PAIRS = 2_000_000
"""Edges are listed only where the domain has at most this many pairs of values."""
MOST_VALUES = 1_000_000
"""Components are listed only where the domain has at most this many values."""


class FrozenMapping(Mapping[Any, Any]):
    """A mapping that cannot be changed; unlike a view of one it can be pickled."""

    def __init__(self, given: Mapping[Any, Any]) -> None:
        self._given = dict(given)

    def __getitem__(self, key: Any) -> Any:
        return self._given[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def __repr__(self) -> str:
        return repr(self._given)


class Secrets(ABC):
    """A choice of secret pairs, not yet tied to a domain."""

    keyword: ClassVar[str]
    """How the choice is spelt in a policy file."""
    file_form: ClassVar[Any]
    """The form of that spelling; unless stated, anything may follow the keyword."""
    size: ClassVar[Literal["unknown"] | None] = None
    """What they say about the number of records; None leaves it to the policy."""
    kinds: ClassVar[dict[str, type[Secrets]]] = {}
    """All kinds of secrets that are defined, by keyword."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Register the subclass under its keyword."""
        super().__init_subclass__(**options)
        register(Secrets.kinds, cls, Anything)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        # What a choice is made of is not hashable in general; policies differ in more than the kind of their secrets.
        return hash(type(self))

    @abstractmethod
    def on(self, domain: Domain) -> SecretGraph:
        """Bind the choice to a domain, or say why it does not fit."""

    def within(self, domain: Domain, box: Mapping[str, Subset]) -> Secrets:
        """Return secrets with the same pairs among the records inside a box, for a release of these records alone.

        What is secret outside the box does not matter then: a choice by the values of a column becomes simpler.
        """
        return self

    @abstractmethod
    def to_file(self) -> Any:
        """Write the choice in the form of a policy file."""

    @classmethod
    @abstractmethod
    def from_file(cls, body: Any, domain: Domain) -> Secrets:
        """Read what :meth:`to_file` writes."""

    @classmethod
    def read(cls, body: Any, domain: Domain) -> Secrets:
        """Read secrets of whatever kind a policy file names."""
        return kind_of(Secrets.kinds, body).from_file(body, domain)


class Keyword(Secrets):
    """Secrets without options, spelt by their keyword alone."""

    def to_file(self) -> str:
        return self.keyword

    @classmethod
    def from_file(cls, body: Any, domain: Domain) -> Keyword:
        return cls()


def check_declared(names: Iterable[object], domain: Domain, subject: str) -> None:
    """Refuse names that are not those of attributes."""
    for name in names:
        if name not in domain:
            raise PolicyError(f"{subject} an unknown attribute {brief_name(name)}.", hint=nearest(str(name), domain))


SECRETS_FORM = OneOf("Secrets", Secrets.kinds, "a choice of secrets", "full, or {threshold: 5}")


class SecretGraph(ABC):
    """A secret graph on the cells of a domain."""

    domain: Domain

    always_homogeneous: ClassVar[bool] = False
    """Whether all graphs of the kind are homogeneous."""

    @property
    def homogeneous(self) -> bool:
        """Whether an edge along an attribute exists regardless of the values of the other attributes.

        Then hops depend only on the attributes in which two values differ, and an edge of the projection onto
        one attribute is an edge with all other attributes fixed.
        """
        return self.always_homogeneous or len(self.domain.names) == 1

    @property
    def complete(self) -> bool:
        """Whether every two values are a secret pair."""
        return self.canonical() == "full"

    @property
    def transitive(self) -> bool:
        """Whether values that a chain of secret pairs connects are known to be secret pairs themselves."""
        return self.complete

    @cached_property
    def one_at_a_time(self) -> bool:
        """Whether every secret pair is known to differ in one attribute only."""
        return sum(attribute.size > 1 for attribute in self.domain.attributes) <= 1

    @cached_property
    def enumerated(self) -> Collection[Edge] | None:
        """The edges, each once, if the graph stores a list of them."""
        return None

    @property
    def by_column(self) -> tuple[str, Sequence[SecretGraph]] | None:
        """The attribute whose values choose the graph of the others, and the graph that each of its positions chooses.

        None if no attribute does.
        """
        return None

    @abstractmethod
    def adjacent(self, x: Cell, y: Cell) -> bool:
        """Say whether a pair is secret. This is the definition; everything else follows from it."""

    @abstractmethod
    def hops(self, x: Cell, y: Cell) -> Hops:
        """Count the steps of a shortest chain of secret pairs, d_G(x, y)."""

    @abstractmethod
    def component(self, x: Cell) -> Hashable:
        """Label a value: two values have the same label exactly if a chain of secret pairs connects them."""

    @property
    @abstractmethod
    def connected(self) -> bool:
        """Whether a chain of secret pairs connects every two values."""

    @abstractmethod
    def project(self, names: Sequence[str]) -> SecretGraph:
        """Return the graph as seen by a query that looks at these attributes only, or at levels of them."""

    @abstractmethod
    def widest_edge(self, name: str) -> Edge | None:
        """Return an edge that moves furthest along an attribute; None if no edge changes it."""

    @abstractmethod
    def joins(self, name: str, first: Subset, second: Subset) -> tuple[int, int] | None:
        """Return a position in each of two sets of one attribute that an edge of its projection joins, if any are.

        The sets are equal or disjoint. In a homogeneous graph such an edge exists whatever the values of the
        other attributes are.
        """

    @abstractmethod
    def _canonical(self) -> Any:
        """Return one spelling of the graph, on a domain whose attributes all have at least two values."""

    def canonical(self) -> Any:
        """Return one spelling, in plain JSON values, for all equivalent ways to write this graph."""
        return self._spelling

    @cached_property
    def _spelling(self) -> Any:
        varied = [name for name, size in zip(self.domain.names, self.domain.shape, strict=True) if size > 1]
        if not varied:
            return "public"
        return (self if len(varied) == len(self.domain.names) else self.project(varied))._canonical()

    @abstractmethod
    def _words(self) -> Words:
        """Say what the graph protects and what it does not, on a domain with at least two values."""

    def words(self) -> Words:
        """Say what the graph protects and what it does not."""
        # If a record has only one possible value, there is no secret and nothing to find out.
        return self._words() if self.domain.size > 1 else Words()

    def furthest(self) -> Edge:
        """Return two values many steps apart: the first and the last, unless others are known to be further."""
        shape = self.domain.shape
        return tuple(0 for _ in shape), tuple(size - 1 for size in shape)

    def largest_move(self, name: str) -> int:
        """Return the largest number of positions that an edge moves along an attribute."""
        edge = self.widest_edge(name)
        axis = self.domain.axis(name)
        return 0 if edge is None else abs(edge[0][axis] - edge[1][axis])

    def changes(self, name: str) -> bool:
        """Say whether some edge changes an attribute, or a level of one."""
        graph = self if name in self.domain else self.project([name])
        return graph.widest_edge(name) is not None

    def broadest(self) -> tuple[tuple[Edge, ...], bool]:
        """Return edges such that whatever attributes any edge changes together, one of these changes all of them.

        The second part says whether they are edges of the graph; as a last resort, one pair changes all attributes that
        any edge changes.
        """
        edges = tuple(edge for name in self.domain if (edge := self.widest_edge(name)) is not None)
        if self.one_at_a_time or not edges:
            return edges, True
        moves = {axis: edge for edge in edges for axis in differing(*edge)}
        ends = [moves[axis] if axis in moves else edges[0] for axis in range(len(self.domain.names))]
        x, y = (tuple(edge[end][axis] for axis, edge in enumerate(ends)) for end in (0, 1))
        return ((x, y),), self.adjacent(x, y)

    def changing(self, name: str) -> SecretGraph:
        """Return a graph with every edge that changes an attribute, where edges change one; others may be in it."""
        return self

    def stretches(self, name: str) -> tuple[Stretches, ...]:
        """Cut an attribute where no secret pair crosses, into as many stretches as the graph can determine."""
        size = self.domain[name].size
        reach = self.largest_move(name)
        return (Stretches(0, size, 1, reach) if reach else Stretches(0, 1, size, 0),)

    def longest_move(self, costs: Sequence[Fraction | int]) -> Fraction:
        """Bound the total cost of an edge, given the cost of a position along each attribute."""
        alone = [cost * self.largest_move(name) for name, cost in zip(self.domain.names, costs, strict=True)]
        return Fraction(max(alone) if self.one_at_a_time else sum(alone))

    def covers(self, other: SecretGraph) -> bool:
        """Say whether it is easy to see that every edge of another graph on the same domain is an edge of this one."""
        return not other.has_edges or self.canonical() in ("full", other.canonical())

    def steps_along(self, other: SecretGraph) -> Hops | None:
        """Bound how many steps an edge of another graph on the same attribute takes here; None if that takes long.

        The ends of the other graph's edges must be connected in this graph.
        """
        return 1 if self.transitive else None

    def class_pairs(self, pieces: Pieces) -> ClassPairs:
        """Find the pairs of classes that some edge joins; as a last resort, take all to be joined."""
        few = self.domain.size * (self.domain.size - 1) // 2 <= MOST_LISTED
        return listed(self.edges(), pieces) if few else everything(pieces)

    def class_pairs_along(self, axis: int, pieces: Pieces) -> ClassPairs:
        """Find the pairs of classes that some edge joins, for a graph on one attribute, with the others fixed."""
        return joined_along(self.class_pairs(pieces.along(axis)), axis, pieces)

    def steepest(self, rows: Rows) -> Steepest | None:
        """Find an edge along which one of several rows of numbers changes most; None if there is no quick way.

        Each row has the shape of the domain.
        """
        return None if self.enumerated is None else among_listed(rows, self.enumerated)

    @property
    def has_edges(self) -> bool:
        """Whether anything is secret at all."""
        return any(self.changes(name) for name in self.domain)

    def edges(self) -> Iterator[Edge]:
        """Yield all edges, each once; refused if the domain is large."""
        size = self.domain.size
        if size * (size - 1) // 2 > MOST_PAIRS:
            raise PolicyError(f"a domain of {size:,} values has too many pairs to list the secret ones.")
        return (pair for pair in combinations(self.domain.cells(), 2) if self.adjacent(*pair))


def edge_along(domain: Domain, name: str, first: int, last: int) -> Edge:
    """Return the pair of values that differ in one attribute, with all others at position 0."""
    axis, zeros = domain.axis(name), (0,) * len(domain.names)
    x, y = ((*zeros[:axis], position, *zeros[axis + 1 :]) for position in (first, last))
    return x, y


def differing(x: Cell, y: Cell) -> list[int]:
    """List the axes along which two cells differ."""
    return [axis for axis, (a, b) in enumerate(zip(x, y, strict=True)) if a != b]


def two_different(first: Subset, second: Subset) -> tuple[int, int] | None:
    """Choose two different positions, one from each set; None if there are none."""
    if not first.runs or not second.runs:
        return None
    if first.first != second.first:
        return first.first, second.first
    pair = (first.first, second.last) if len(second) > 1 else (first.last, second.first)
    return pair if pair[0] != pair[1] else None


# How many steps of one secret graph the edges of another take: the *stretch* between two policies.
#
# A release that is epsilon-private for one graph loses at most epsilon times that number between the values of a secret
# pair of the other.

_MOST_EDGES = 5_000
_MOST_WORK = 5_000_000


def steps_covering(base: SecretGraph, graph: SecretGraph) -> Hops | None:
    """Bound how many steps of ``graph`` an edge of ``base`` takes, on the same domain; None if no rule applies."""
    if graph.covers(base):
        return 1
    if len(base.domain.names) == 1:
        return _along(base, graph)
    return _listed(base, graph) or _by_value(base, graph) or _by_attribute(base, graph)


def _listed(base: SecretGraph, graph: SecretGraph) -> Hops | None:
    """Check all edges if they are few; None otherwise."""
    size = base.domain.size
    few = len(base.enumerated) if base.enumerated is not None else size * (size - 1) // 2
    work = few * (len(graph.enumerated) if graph.enumerated is not None else 1)
    if few > _MOST_EDGES or work > _MOST_WORK:
        return None
    return max(1 if graph.adjacent(*edge) else graph.hops(*edge) for edge in base.edges())


def _by_value(base: SecretGraph, graph: SecretGraph) -> Hops | None:
    """Compare the parts, where a column chooses the graph; None if none does, or the parts are not known.

    Where no edge changes the column, the rest of a homogeneous graph is the same for all its values.
    """
    both = [(side, side.by_column) for side in (base, graph)]
    column = next((chosen[0] for _, chosen in reversed(both) if chosen), None)
    if column is None or not all(chosen[0] == column if chosen else side.homogeneous for side, chosen in both):
        return None
    if base.changes(column):
        return inf
    others, size = [name for name in base.domain if name != column], base.domain[column].size
    graphs = (chosen[1] if chosen else [side.project(others)] * size for side, chosen in both)
    pairs = {(id(first), id(second)): (first, second) for first, second in zip(*graphs, strict=True)}
    terms = [steps_covering(*pair) for pair in pairs.values()]
    return None if None in terms else max(term for term in terms if term is not None)


def _by_attribute(base: SecretGraph, graph: SecretGraph) -> Hops | None:
    """Bound the stretch by changing one attribute after another.

    In a homogeneous graph a step of the projection onto one attribute is also a step with all other attributes fixed,
    so d(x, y) is at most the sum over attributes of the steps of their projections, and each projected move is an edge
    of the projected base. Where an edge of the base changes one attribute only, the largest term is enough; so it is
    where what is connected is one step apart. A path projects to a path, so an infinite term means an infinite stretch.
    """
    if not graph.homogeneous:
        return None
    moving = [name for name in base.domain if base.changes(name)]
    terms = [steps_covering(base.project([name]), graph.project([name])) for name in moving]
    if inf in terms:
        return inf
    known = [term for term in terms if term is not None]
    if len(known) < len(terms):
        return None
    return max(known) if base.one_at_a_time or graph.transitive else sum(known)


def _along(base: SecretGraph, graph: SecretGraph) -> Hops | None:
    """Bound the stretch on a domain of one attribute."""
    if not graph.connected:
        if base.connected:
            return inf
        if base.domain.size > MOST_VALUES:
            # Whether an edge of the base leaves a component of the other graph would take long to find out.
            return None if graph.transitive else _listed(base, graph)
        labels = {base.component(cell): graph.component(cell) for cell in base.domain.cells()}
        if any(labels[base.component(cell)] != graph.component(cell) for cell in base.domain.cells()):
            return inf
    return 1 if graph.transitive else _listed(base, graph) or graph.steps_along(base)
