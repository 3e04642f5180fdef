"""The interface of secret graphs, with defaults that are right for any graph.

A user writes :class:`Secrets` (``DistanceThreshold(5)``); a policy binds it to a domain, and the bound
:class:`SecretGraph` answers questions. An edge (x, y) means: nobody may tell whether a person's value is x or y
[he2014, section 3.1]. Graphs are never materialised; a new kind of graph is one more file next to this one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar, Literal, TypeAlias

from blowfish_privacy.domain import Cell, Domain, Subset
from blowfish_privacy.errors import PolicyError
from blowfish_privacy.graphs.class_pairs import MOST_LISTED, ClassPairs, Pieces, everything, joined_along, listed
from blowfish_privacy.graphs.steepest import Rows, Steepest, among_listed
from blowfish_privacy.graphs.stretches import Stretches
from blowfish_privacy.graphs.words import Words
from blowfish_privacy.support.file_kinds import Anything, OneOf, kind_of, register

Edge: TypeAlias = tuple[Cell, Cell]
"""A secret pair of values."""
Hops: TypeAlias = int | float
"""A number of steps; ``math.inf`` between values that no chain of secret pairs connects."""

MOST_PAIRS = 2_000_000
"""Edges are listed only where the domain has at most this many pairs of values."""


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


SECRETS_FORM = OneOf("Secrets", Secrets.kinds, "a choice of secrets", "full, or {threshold: 5}")


class SecretGraph(ABC):
    """A secret graph on the cells of a domain."""

    domain: Domain

    @property
    def homogeneous(self) -> bool:
        """Whether an edge along an attribute exists regardless of the values of the other attributes.

        Then hops depend only on the attributes in which two values differ, and an edge of the projection onto
        one attribute is an edge with all other attributes fixed.
        """
        return len(self.domain.names) == 1

    @property
    def complete(self) -> bool:
        """Whether every two values are a secret pair."""
        return self.canonical() == "full"

    @property
    def transitive(self) -> bool:
        """Whether values that a chain of secret pairs connects are known to be secret pairs themselves."""
        return self.complete

    @property
    def one_at_a_time(self) -> bool:
        """Whether every secret pair is known to differ in one attribute only."""
        return sum(attribute.size > 1 for attribute in self.domain.attributes) <= 1

    @property
    def enumerated(self) -> Collection[Edge] | None:
        """The edges, each once, if the graph stores a list of them."""
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
        varied = [name for name in self.domain.names if self.domain[name].size > 1]
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

    def longest_move(self, prices: Sequence[Fraction | int]) -> Fraction:
        """Bound the total price of an edge, given a price per position along each attribute."""
        alone = [price * self.largest_move(name) for name, price in zip(self.domain.names, prices, strict=True)]
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
