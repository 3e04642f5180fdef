"""Sets of tables: the counts of several combinations of attributes at once, which agree with each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, product
from math import comb, lcm, prod
from typing import Annotated, Any, Literal, Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Len

from blowfish_privacy.domain import AT, Cell, Domain, Hierarchy, Subset, quoted
from blowfish_privacy.errors import DataError, QueryError, brief, brief_kind
from blowfish_privacy.graphs.graph import Edge, SecretGraph, differing
from blowfish_privacy.queries.query import LARGEST_ANSWER, LinearForm, Query, checked_attribute, named
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import positive
from blowfish_privacy.support.file_forms import EXACT_SCHEMA, Form, InSchema, Wanted, listed

# Rows that tables read along an ordered attribute instead of its values: overlapping bins, or sums up to a value.


class Reading(Protocol):
    """Rows over the positions of one axis, as whole numbers: ``spacing`` times what they count."""

    @property
    def spacing(self) -> int:
        """How many times what is counted a row is."""
        ...

    def rows(self, size: int) -> int:
        """Count the rows over ``size`` positions."""
        ...

    def most(self, distance: int) -> int:
        """Bound the L1 change of the rows over all moves of at most ``distance`` positions."""
        ...

    def weight(self, x: int, size: int) -> int:
        """Return the sum of what a record at x adds to the rows; at 0 it is largest."""
        ...

    def answer(self, counts: Integers) -> Integers:
        """Return the exact rows."""
        ...


@lru_cache(maxsize=64)
def matrix(reading: Reading, size: int) -> Integers:
    """Write the rows out: what a record at each position adds to each."""
    return np.stack([reading.answer(unit) for unit in np.eye(size, dtype=np.int64)], axis=1)


# The tables of a set, each by the axes that it has and by what is counted or read along them.


@dataclass(frozen=True, eq=False)
class View:
    """An attribute looked at on a coarser level: an axis of its own, numbered after all attributes."""

    name: str
    axis: int
    """The attribute, by its number in a domain."""
    positions: Integers
    """Where each value of the attribute lies on the level."""
    named: bool = True
    """Whether the domain knows the level; it does not know the blocks of a policy."""

    @property
    def size(self) -> int:
        """The number of values on the level."""
        return int(self.positions.max()) + 1


def added_up(counts: npt.NDArray[Any], at: int, positions: Integers) -> npt.NDArray[Any]:
    """Add up counts along one axis to those of a level, given where each value lies on it."""
    moved = np.moveaxis(counts, at, 0)
    level = np.zeros((int(positions.max()) + 1, *moved.shape[1:]), dtype=counts.dtype)
    np.add.at(level, positions, moved)
    return np.moveaxis(level, 0, at)


@dataclass(frozen=True)
class Block:
    """One table of counts: its axes, by their number, in the order of the table."""

    axes: tuple[int, ...]
    signs: tuple[int, ...] = ()
    """Of these, attributes of two values that are not counted but compared: the first value's count less the second's.

    They come last.
    """
    weight: int = 1
    """How often the table counts when changes are added up."""
    readings: tuple[tuple[int, Reading], ...] = ()
    """Axes of which not the values are counted, but other rows."""

    @cached_property
    def reading(self) -> dict[int, Reading]:
        """What is read along some axes, by their number."""
        return dict(self.readings)

    @property
    def spacing(self) -> int:
        """How many times what is counted a number of the table is."""
        return prod(reading.spacing for _, reading in self.readings)

    @property
    def counted(self) -> tuple[int, ...]:
        """The attributes that are counted."""
        return self.axes[: len(self.axes) - len(self.signs)]

    def heaviest(self, shape: Mapping[int, int] | Sequence[int], without: int | None = None) -> int:
        """Return the most that a record adds to the numbers of the table, times its spacing; one axis may be left out.

        ``shape`` has the number of values of each axis.
        """
        return prod(reading.weight(0, shape[axis]) for axis, reading in self.readings if axis != without)

    def of_counts(self, counts: Integers) -> Integers:
        """Compare the values of the signs, and read rows, given the counts of all attributes."""
        shape = dict(zip(self.axes, counts.shape, strict=True))
        # Checked against the number of records alone, so that no error depends on anyone's values.
        if self.readings and int(counts.sum()) * self.heaviest(shape) >= LARGEST_ANSWER:
            raise DataError("the answers may be too large for 64-bit arithmetic.")
        for axis, reading in self.readings:
            rows, at = matrix(reading, shape[axis]), self.axes.index(axis)
            if not np.array_equal(rows, np.eye(shape[axis])):
                counts = np.moveaxis(np.tensordot(rows, counts, axes=(1, at)), 0, at)
        for _ in self.signs:
            counts = counts[..., 0] - counts[..., 1]
        return counts

    def places(self, x: Cell, shape: Sequence[int]) -> list[tuple[int, int]]:
        """Return the numbers of the table that a record changes, given its place on each axis, and what it adds."""
        places = [(0, (-1) ** sum(x[axis] for axis in self.signs))]
        for axis in self.counted:
            size, along = shape[axis], [(x[axis], 1)]
            if axis in self.reading:
                rows = matrix(self.reading[axis], size)
                size, added = len(rows), rows[:, x[axis]]
                along = [(row, int(added[row])) for row in np.flatnonzero(added).tolist()]
            places = [(number * size + at, value * times) for (number, value), (at, times) in product(places, along)]
        return places

    def most(self, x: Cell, y: Cell, shape: Sequence[int]) -> int:
        """Bound the change of a move that is no longer along each axis, given the places on each axis.

        It is at most what one axis after the other changes, and what a record adds here and takes away there.
        """
        total = 0
        for axis in differing(x, y):
            if axis in self.axes:
                reading = self.reading.get(axis)
                change = 2 if reading is None else reading.most(abs(x[axis] - y[axis]))
                total += self.heaviest(shape, without=axis) * change
        return min(total, 2 * self.heaviest(shape))


# Several tables of counts as one linear form: what a record adds to each of them.


@dataclass(frozen=True, eq=False)
class TablesForm(LinearForm):
    """A record adds one to its own cell of every table, or takes one away where signs say so."""

    domain: Domain
    blocks: tuple[Block, ...]
    views: tuple[View, ...] = ()
    ranges: frozenset[int] = frozenset()
    """Axes of which sums over neighbouring values are asked for."""

    def __post_init__(self) -> None:
        # Changes are counted in those of the table that counts most.
        largest = max((block.weight for block in self.blocks), default=0)
        object.__setattr__(self, "unit", Fraction(1, (largest or 1) * self._common))

    @cached_property
    def _common(self) -> int:
        """A multiple of every table's spacing, so that changes are whole numbers."""
        return lcm(*(block.spacing for block in self.blocks if block.readings))

    def factor(self, block: Block) -> int:
        """Return how many units a change of one number of a table is."""
        return block.weight * (self._common // block.spacing if block.readings else self._common)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each axis: of the attributes, then of the views of them."""
        return (*self.domain.shape, *(view.size for view in self.views))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each axis."""
        return (*self.domain.names, *(view.name for view in self.views))

    def view(self, axis: int) -> View | None:
        """Return the view that an axis is; None if it is an attribute itself."""
        first = len(self.domain.shape)
        return self.views[axis - first] if axis >= first else None

    def _attribute(self, axis: int) -> int:
        view = self.view(axis)
        return axis if view is None else view.axis

    def title(self, axis: int) -> str:
        """Call an axis by its name in a sentence."""
        view = self.view(axis)
        if view is None or view.named:
            return quoted(self.names[axis])
        return f"the {view.size:,} blocks of {quoted(self.domain.names[view.axis])} that no secret pair leaves"

    def attributes_of(self, block: Block) -> list[str]:
        """Name the attributes, or levels of them, whose counts determine a table."""
        views = [(axis, self.view(axis)) for axis in block.axes]
        return [self.names[axis if view is None or view.named else view.axis] for axis, view in views]

    def of_data(self, block: Block, counts: Integers) -> Integers:
        """Make a table of the counts that :meth:`attributes_of` names."""
        for at, view in enumerate(map(self.view, block.axes)):
            if view is not None and not view.named:
                counts = added_up(counts, at, view.positions)
        return block.of_counts(counts)

    def of(self, blocks: tuple[Block, ...]) -> TablesForm:
        """Return other tables of the same attributes and views."""
        return TablesForm(self.domain, blocks, self.views, self.ranges)

    def shape_of(self, block: Block) -> tuple[int, ...]:
        """Return the number of values or rows along each axis of a table that is counted."""
        if not block.readings:
            return tuple([self.shape[axis] for axis in block.counted])
        rows = ((axis, block.reading.get(axis)) for axis in block.counted)
        return tuple(self.shape[axis] if read is None else read.rows(self.shape[axis]) for axis, read in rows)

    def fits(self, block: Block) -> bool:
        """Say whether a table has each attribute on one level, and signs of two values that are no levels or rows."""
        own = {*map(self._attribute, block.axes)}
        several = {view.axis for view in self.views}
        plain = all(self.shape[axis] == 2 and axis not in several for axis in block.signs)
        read = {axis for axis, _ in block.readings}
        apart = read <= {*block.counted} & self.ranges and len(read) == len(block.readings)
        return len(own) == len(block.axes) and plain and apart and max(block.signs, default=0) < len(self.domain.shape)

    def seen(self, x: Cell) -> Cell:
        """Return where a cell lies on each axis."""
        return (*x, *(int(view.positions[x[view.axis]]) for view in self.views))

    @property
    def outputs(self) -> int:
        return sum(self.sizes)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each table."""
        return tuple(prod(self.shape_of(block)) for block in self.blocks)

    def column(self, x: Cell) -> Sequence[int]:
        outputs: list[int] = []
        x = self.seen(x)
        for block, size in zip(self.blocks, self.sizes, strict=True):
            cells = [0] * size
            for number, value in block.places(x, self.shape):
                cells[number] = self.factor(block) * value
            outputs += cells
        return outputs

    @cached_property
    def _meets(self) -> npt.NDArray[np.int64]:
        """The attributes of each table, one row each, filled up with a number that none has."""
        most = max((len(block.axes) for block in self.blocks), default=0)
        none = len(self.shape)
        rows = [[*block.axes, *([none] * (most - len(block.axes)))] for block in self.blocks]
        return np.array(rows, dtype=np.int64).reshape(len(rows), most)

    @cached_property
    def _weights(self) -> Integers:
        return np.array([0 if block.readings else self.factor(block) for block in self.blocks], dtype=np.int64)

    @cached_property
    def _read(self) -> list[Block]:
        """The tables that read rows along some axis."""
        return [block for block in self.blocks if block.readings]

    def change(self, x: Cell, y: Cell) -> Fraction:
        """Return twice the weight of every table with an attribute that changes.

        Where two signs of one table change at once it is an upper bound: they may cancel. For rows it is the largest
        change of any move that is no longer along each axis.
        """
        changed = np.zeros(len(self.shape) + 1, dtype=bool)
        changed[differing(self.seen(x), self.seen(y))] = True
        plain = 2 * int(self._weights[changed[self._meets].any(axis=1)].sum())
        return self.unit * (plain + sum(self.most(block, x, y) for block in self._read))

    def most(self, block: Block, x: Cell, y: Cell) -> int:
        """Bound the change of one table, in units."""
        return self.factor(block) * block.most(self.seen(x), self.seen(y), self.shape)

    def weight(self, x: Cell) -> Fraction:
        read = sum(
            self.factor(block) * prod(reading.weight(x[axis], self.shape[axis]) for axis, reading in block.readings)
            for block in self._read
        )
        return self.unit * (int(self._weights.sum()) + read)

    def net_change(self, net: Mapping[Cell, int]) -> int:
        return sum(self._gained(block, net) for block in self.blocks)

    def _gained(self, block: Block, net: Mapping[Cell, int]) -> int:
        """Sum what the numbers of one table gain and lose."""
        gained: dict[int, int] = {}
        for cell, count in net.items():
            for number, value in block.places(self.seen(cell), self.shape):
                gained[number] = gained.get(number, 0) + count * value
        return self.factor(block) * sum(map(abs, gained.values()))

    def worst_edge(self, graph: SecretGraph) -> tuple[Edge | None, bool]:
        edges, listed = self.broadest(graph)
        worst = max(edges, key=lambda edge: self.change(*edge), default=None)
        return worst, listed and (worst is None or not self._cancel(worst))

    def broadest(self, graph: SecretGraph) -> tuple[tuple[Edge, ...], bool]:
        """Return edges such that whatever axes any edge changes together, one of these changes all of them."""
        edges, listed = graph.broadest()
        moves = {axis: self._coarsest_move(graph, axis) for axis in {view.axis for view in self.views}}
        for axis in {axis for block in self._read for axis in block.reading}:
            # Rows change most along the longest move, and as much as they can if it starts at the first position.
            moves[axis] = (0, graph.largest_move(self.domain.names[axis]))
        for axis, move in moves.items():
            if move is not None:
                edges = tuple(_moved(edge, axis, move) if edge[0][axis] != edge[1][axis] else edge for edge in edges)
        return edges, listed and all(graph.adjacent(*edge) for edge in edges)

    def _coarsest_move(self, graph: SecretGraph, axis: int) -> tuple[int, int] | None:
        """Return two positions of a secret pair that differ on the coarsest level possible, and so on finer ones."""
        name = self.domain.names[axis]
        own = graph.project([name])
        labels = [own.component((value,)) for value in range(self.domain.shape[axis])]
        for view in sorted((view for view in self.views if view.axis == axis), key=lambda view: view.size):
            # Some edge crosses from one group to another exactly if some component lies in several groups.
            if len(set(zip(labels, view.positions.tolist(), strict=True))) > len(set(labels)):
                return next(move for group in range(view.size) if (move := _crossing(own, view, group)) is not None)
        return None

    def _cancel(self, edge: Edge) -> bool:
        """Say whether signs or rows of some table may cancel each other along an edge."""
        x, y = edge
        if any(self._gained(block, {x: 1, y: -1}) < self.most(block, x, y) for block in self._read):
            return True
        changed = {*differing(self.seen(edge[0]), self.seen(edge[1]))}
        if len(changed) == 1:
            return False
        met = (changed.intersection(block.axes) for block in self.blocks)
        return any(len(axes) > 1 and axes <= {*block.signs} for axes, block in zip(met, self.blocks, strict=True))

    @cached_property
    def most_added(self) -> int:
        """The most that a record adds to a single number; rows that are read are checked one by one."""
        return 1

    def times(self, block: Block) -> int:
        """Return the multiple of counts that the numbers of a block are."""
        return 1

    def scale_of(self, kind: tuple[int, int], scale: Fraction) -> Fraction:
        """Return the scale of the noise on blocks of a factor that are such a multiple of counts; 0 where exact."""
        return scale / kind[0] if kind[0] else Fraction(0)

    def heaviest(self) -> Cell:
        return (0,) * len(self.domain.shape)

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        table = counts.reshape(self.domain.shape)
        answers = (block.of_counts(self.marginal(table, block)).reshape(-1) for block in self.blocks)
        return np.concatenate([np.zeros(0, dtype=np.int64), *answers])

    def marginal(self, table: Integers, block: Block) -> Integers:
        """Sum the counts of all cells down to one table, on its levels."""
        own = [*map(self._attribute, block.axes)]
        others = tuple(axis for axis in range(table.ndim) if axis not in own)
        summed = np.asarray(table.sum(axis=others, dtype=np.int64)).transpose([sorted(own).index(axis) for axis in own])
        for at, view in enumerate(map(self.view, block.axes)):
            summed = summed if view is None else added_up(summed, at, view.positions)
        return summed


def _crossing(own: SecretGraph, view: View, group: int) -> tuple[int, int] | None:
    """Return two positions of a secret pair, one in a group and one outside."""
    inside, outside = (
        Subset.of(np.flatnonzero(where).tolist()) for where in (view.positions == group, view.positions != group)
    )
    return own.joins(own.domain.names[0], inside, outside)


def _moved(edge: Edge, axis: int, move: tuple[int, int]) -> Edge:
    """Let an edge move between two positions along an axis."""
    x, y = ((*end[:axis], position, *end[axis + 1 :]) for end, position in zip(edge, move, strict=True))
    return x, y


_MOST_NAMED = 10


def listed_tables(tables: Sequence[Sequence[str]]) -> str:
    """Name tables in a sentence by the titles of their attributes, the first ten of them."""
    titles = ["the table of " + " by ".join(titles) for titles in tables]
    more = f" and {len(titles) - _MOST_NAMED:,} more" if len(titles) > _MOST_NAMED else ""
    return f"{'; '.join(titles[:_MOST_NAMED])}{more}"


# How a table of a set names its attributes, some of them as ranges: ``[sex, {attribute: age, as: ranges}]``.

_AS_RANGES = {
    "type": "object",
    "properties": {"attribute": {"type": "string"}, "as": {"const": "ranges"}},
    "required": ["attribute", "as"],
    "additionalProperties": False,
}
NAMES_SCHEMA = listed({"anyOf": [{"type": "string"}, _AS_RANGES]}, least=1, unique=True)
NAMES_FORM: TypeAlias = Annotated[list[str | dict[Literal["attribute", "as"], str]], Len(1)]

_RANGES_EXAMPLE = '{"attribute": "age", "as": "ranges"}'


def read_names(names: object) -> tuple[tuple[str, ...], frozenset[str]]:
    """Read the attributes of a table, and which of them are asked for as ranges."""
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise QueryError(f"a table is a list of attributes, got {brief_kind(names)}.", hint='Tables([["age", "sex"]]).')
    read = [_name(entry) for entry in names]
    checked = tuple(name for name, _ in read)
    if len(set(checked)) < len(checked):
        raise QueryError(f"a table names an attribute twice: {', '.join(checked)}.", hint="name each once.")
    return checked, frozenset(name for name, marked in read if marked)


def _name(entry: Any) -> tuple[str, bool]:
    """Read an attribute, and whether it is asked for as ranges."""
    if not isinstance(entry, Mapping):
        return checked_attribute(entry), False
    if set(entry) != {"attribute", "as"} or entry["as"] != "ranges":
        raise QueryError(
            f"an attribute is named, or asked for as ranges; got {brief(entry)}.", hint=f"{_RANGES_EXAMPLE}."
        )
    return checked_attribute(entry["attribute"]), True


def written_names(names: Sequence[str], ranges: Collection[str]) -> list[Any]:
    """Write what :func:`read_names` reads."""
    return [{"attribute": name, "as": "ranges"} if name in ranges else name for name in names]


def checked_range(domain: Domain, name: str) -> str:
    """Return an attribute that is asked for as ranges, or refuse it: its values must have an order."""
    if name not in domain or not domain[name].ordered:
        raise QueryError(
            f"{brief(name)} cannot be asked for as ranges: its values have no order.", hint="name it like the others."
        )
    return name


MOST_CELLS = 10_000_000
"""The largest table of a set."""
MOST_TABLES = 200_000
_MOST_TIMES, _FARTHEST = 1_000_000, 10**100

Objective: TypeAlias = Literal["worst", "mean"] | tuple[float, ...]
"""What is to be small: the error of the worst table, or the mean over all cells, or a sum with a weight per table."""

_EXAMPLE = "{tables: [[sex, race], [age, sex]]}"
_WAYS = "{tables: {ways: 2, of: [age, sex, race]}}"
_SCHEMA = {
    "anyOf": [
        listed(NAMES_SCHEMA, least=1),
        {
            "type": "object",
            "properties": {"ways": {"type": "integer", "minimum": 1}, "of": NAMES_SCHEMA},
            "required": ["ways", "of"],
            "additionalProperties": False,
        },
    ]
}
_TABLES: TypeAlias = Annotated[
    Annotated[
        Annotated[list[NAMES_FORM], Len(1)] | dict[Literal["ways", "of"], Annotated[int, Ge(1)] | NAMES_FORM],
        InSchema(_SCHEMA),
    ],
    Wanted("a list of lists of attributes, or {ways: 2, of: [..]}", f"write {_EXAMPLE}, or {_WAYS}."),
]
_OBJECTIVE: TypeAlias = Annotated[
    Annotated[
        Literal["worst", "mean"] | Annotated[list[int | float | str], Len(1)],
        InSchema({"anyOf": [{"enum": ["worst", "mean"]}, listed(EXACT_SCHEMA, least=1)]}),
    ],
    Wanted("worst, mean, or a list with a weight for each table"),
]


@dataclass(frozen=True, init=False)
class Tables(Query):
    """The counts of several sets of attributes, in one release: ``Tables([["sex", "race"], ["age", "sex"]])``.

    All tables agree: whatever two of them have in common, totals included, is the same in both. ``objective`` says
    what is to be small: ``"worst"``, the error of the worst table, ``"mean"``, the mean squared error of all cells, or
    a list with a weight for each table. An ordered attribute may be asked for as ranges, ``{"attribute": "age", "as":
    "ranges"}``: then sums over neighbouring values are to be accurate, in all tables that it is in.
    """

    tables: tuple[tuple[str, ...], ...]
    objective: Objective
    attributes: tuple[str, ...]
    ways: int | None
    """If the tables are all of so many of the attributes, how many; then this is how files write it."""
    ranges: frozenset[str]
    """Attributes of which ranges are asked for."""

    keyword = "tables"
    file_form = Form({"tables": _TABLES}, {"objective": _OBJECTIVE}, example=_EXAMPLE)
    answer = "tables"
    result = "tables"
    error_of = "a cell"
    changed = "the counts"
    counts_records = True

    def __init__(
        self,
        tables: Sequence[Sequence[str | Mapping[str, str]]],
        *,
        objective: Literal["worst", "mean"] | Sequence[Any] = "worst",
    ) -> None:
        if isinstance(tables, str) or not isinstance(tables, Sequence) or not tables:
            raise QueryError(f"a list of tables is needed, got {brief(tables)}.", hint='Tables([["age", "sex"]]).')
        read = [read_names(names) for names in tables]
        self._set(
            [names for names, _ in read], objective, None, frozenset(name for _, marked in read for name in marked)
        )

    def _set(self, tables: Sequence[tuple[str, ...]], objective: Any, ways: int | None, ranges: frozenset[str]) -> None:
        if len(tables) > MOST_TABLES:
            raise QueryError(f"a set has at most {MOST_TABLES:,} tables, got {len(tables):,}.")
        seen: set[frozenset[str]] = set()
        for names in tables:
            if frozenset(names) in seen:
                raise QueryError(f"the table of {named(names)} is asked for twice.", hint="leave one out.")
            seen.add(frozenset(names))
        object.__setattr__(self, "tables", tuple(tables))
        object.__setattr__(self, "attributes", _attributes(tables))
        object.__setattr__(self, "objective", _checked_objective(objective, len(tables)))
        object.__setattr__(self, "ways", ways)
        object.__setattr__(self, "ranges", ranges)

    @classmethod
    def of_ways(cls, ways: int, of: Sequence[str | Mapping[str, str]], *, objective: Any = "worst") -> Self:
        """Ask for the tables of every choice of so many of some attributes: ``Tables.of_ways(2, ["a", "b", "c"])``."""
        names, ranges = read_names(of)
        if not isinstance(ways, int) or isinstance(ways, bool) or not 1 <= ways <= len(names):
            raise QueryError(f"ways must be a whole number from 1 to {len(names)}, got {brief(ways)}.")
        if comb(len(names), ways) > MOST_TABLES:
            raise QueryError(f"a set has at most {MOST_TABLES:,} tables, got {comb(len(names), ways):,}.")
        query = cls.__new__(cls)
        query._set(list(combinations(names, ways)), objective, ways, ranges)
        # Combinations begin with the first names in turn, so the attributes are in the order given.
        return query

    def on(self, domain: Domain) -> TablesForm:
        own = self.own_domain(domain)
        axes = {name: axis for axis, name in enumerate(own.names)}
        views: list[View] = []
        for name in dict.fromkeys([*(name for names in self.tables for name in names), *_levels(own)]):
            if name not in axes:
                axes[name] = len(own.names) + len(views)
                views.append(_view(own, name))
        sizes, attributes = {name: own[name].size for name in axes}, {name: own.axis(name) for name in axes}
        for names in self.tables:
            if len({attributes[name] for name in names}) < len(names):
                own.axes(names)
            cells = prod([sizes[name] for name in names])
            if cells > MOST_CELLS:
                raise QueryError(
                    f"the table of {named(names)} would have {cells:,} cells; the most is {MOST_CELLS:,}.",
                    hint="leave an attribute out, or declare coarser ones.",
                )
        blocks = tuple(Block(tuple(axes[name] for name in names)) for names in self.tables)
        return TablesForm(own, blocks, tuple(views), frozenset(axes[checked_range(own, name)] for name in self.ranges))

    def says(self) -> str:
        if len(self.tables) == 1:
            return f"How many records have each {named(self.tables[0])}"
        return f"{len(self.tables):,} tables of counts that agree, of {named(self.attributes)}"

    def amount(self, domain: Domain) -> str:
        many = f"{len(self.tables):,} tables of" if len(self.tables) > 1 else "a table of"
        return f"{many} {self.on(domain).outputs:,} cells"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        tables = [written_names(names, self.ranges) for names in self.tables]
        written: dict[str, Any] = {"tables": tables}
        if self.ways is not None:
            written = {"tables": {"ways": self.ways, "of": written_names(self.attributes, self.ranges)}}
        if self.objective == "worst":
            return written
        return {**written, "objective": self.objective if self.objective == "mean" else list(self.objective)}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Tables:
        tables, objective = entry["tables"], entry.get("objective", "worst")
        if not isinstance(tables, Mapping):
            return cls(tables, objective=objective)
        if set(tables) != {"ways", "of"} or not isinstance(tables["ways"], int):
            raise QueryError("tables of several ways need both ways and of.", hint=f"write {_WAYS}.")
        return cls.of_ways(tables["ways"], tables["of"], objective=objective)


def _attributes(tables: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """List the attributes that tables look at, each once: on the one level that is named, or else all its values."""
    named: dict[str, set[str]] = {}
    for name in dict.fromkeys(name for names in tables for name in names):
        named.setdefault(name.rpartition(AT)[0] or name, set()).add(name)
    return tuple(next(iter(names)) if len(names) == 1 else attribute for attribute, names in named.items())


def _levels(own: Domain) -> list[str]:
    """List the coarser levels of the hierarchies among some attributes: their tables are free."""
    trees = [(name, own[name]) for name in own]
    return [f"{name}{AT}{level}" for name, tree in trees if isinstance(tree, Hierarchy) for level in tree.levels[:-1]]


def _view(own: Domain, name: str) -> View:
    """Look at an attribute on a level."""
    if not own.resolves(name):
        raise QueryError(f"{brief(name)} cannot be distinguished from a level of another attribute.", hint="rename it.")
    positions = own.view(name)
    if positions is None:
        raise QueryError(f"there is no attribute {brief(name)}.")
    return View(name, own.axis(name), positions)


def _checked_objective(objective: Any, tables: int) -> Objective:
    if isinstance(objective, str) and objective in ("worst", "mean"):
        return objective
    if isinstance(objective, str) or not isinstance(objective, Sequence):
        raise QueryError(f"objective must be worst, mean or a list of weights, got {brief(objective)}.")
    if len(objective) != tables:
        raise QueryError(f"there are {tables:,} tables, but {len(objective):,} weights.", hint="give one for each.")
    weights = [positive(weight, "the weight of a table", error=QueryError) for weight in objective]
    if max(weights) > _MOST_TIMES * min(weights) or not 1 / _FARTHEST < min(weights) <= max(weights) < _FARTHEST:
        raise QueryError(
            f"the weights of tables are too large, too small, or differ by more than a factor of {_MOST_TIMES:,}.",
            hint="write them around 1, and leave out what hardly counts.",
        )
    return tuple(float(weight) for weight in weights)
