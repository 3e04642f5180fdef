"""The query for one table of counts: how many rows are in each cell.

Counting goes in up to two steps over one scan. Numbers become positions row by row. Categories are first
grouped as they stand, which costs what a plain GROUP BY costs, and the few groups are looked up afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from math import ceil, prod
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from blowfish_privacy.aggregates.aggregates import Names, Positions, narrow, record_tables
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines.engine import ColumnType, Progress, between, reported
from blowfish_privacy.engines.sources.sources import Opened
from blowfish_privacy.engines.sql.cells import MOST_TOGETHER, Layout, table_size
from blowfish_privacy.engines.sql.expressions import (
    DUCKDB,
    Dialect,
    column,
    every,
    nested,
    nested_apart,
    number,
    rows_counted,
    summed,
)
from blowfish_privacy.engines.sql.rows import (
    NARROW,
    Field,
    Verdicts,
    guarded_positions,
    joined,
    positions_query,
    read,
    source,
)
from blowfish_privacy.errors import DataError
from blowfish_privacy.support.arrays import Integers


def counts_query(types: Sequence[ColumnType], layout: Layout, dialect: Dialect) -> exp.Select:
    """Ask for the number of rows (``n``) of each ``cell`` that has any; problems are marked in the cell's number."""
    fields = [
        Field(axis, attribute, kind, Verdicts.as_declared(attribute, partial(layout.mark, axis)), dialect)
        for axis, (attribute, kind) in enumerate(zip(layout.domain.attributes, types, strict=True))
    ]
    early = [field for field in fields if not field.grouped_first]
    late = [field for field in fields if field.grouped_first]
    rows = read(early, [field.raw() for field in late], source())
    total = exp.Count(this=exp.Star())
    if not late:
        return _grouped([_cell(early, layout)], total, rows, early)
    keys = [_cell(early, layout)] if early else []
    groups = _grouped([*keys, *(field.column for field in late)], total, rows, early)
    carried = [column("cell")] if early else []
    looked_up = read(late, [*carried, column("n")], nested(groups, "grouped"))
    return _grouped([_cell(late, layout, *carried)], exp.Sum(this=column("n")), looked_up, late)


def plain_counts_query(types: Sequence[ColumnType], layout: Layout, dialect: Dialect) -> exp.Select | None:
    """Ask the same of columns of whole numbers, with all rows that have problems in cell -1; None for other columns.

    One condition over the raw columns guards the cell's number: that costs no more than a plain GROUP BY.
    """
    attributes = layout.domain.attributes
    pairs = zip(attributes, types, strict=True)
    if not all(Field(0, *pair, Verdicts.as_declared(pair[0]), dialect).placement.plain for pair in pairs):
        return None
    rows, guards, positions = guarded_positions(attributes, types, dialect)
    wide = layout.domain.size >= NARROW
    fitting = [exp.cast(position, "BIGINT") if wide else position for position in positions]
    cell = exp.Case().when(every(guards), _numbered(fitting, layout.strides)).as_("cell", quoted=True)
    grouped = exp.select(cell, rows_counted().as_("n", quoted=True)).from_(rows).group_by(number(1))
    marked = exp.cast(exp.Coalesce(this=column("cell"), expressions=[number(-1)]), "BIGINT").as_("cell", quoted=True)
    return exp.select(marked, column("n")).from_(nested(grouped, "grouped"))


def _grouped(keys: Sequence[exp.Expr], total: exp.Expr, rows: exp.Select, fields: Sequence[Field]) -> exp.Select:
    counted = exp.cast(total, "BIGINT").as_("n", quoted=True)
    grouped = exp.select(*keys, counted).from_(nested(rows, "rows"))
    return joined(grouped, fields).group_by(*(number(rank) for rank in range(1, len(keys) + 1)))


def _cell(fields: Sequence[Field], layout: Layout, *carried: exp.Expr) -> exp.Expr:
    positions, strides = [field.placement.position for field in fields], [layout.strides[each.axis] for each in fields]
    return _numbered([*carried, *positions], [*(1 for _ in carried), *strides]).as_("cell", quoted=True)


def _numbered(positions: Sequence[exp.Expr], strides: Sequence[int]) -> exp.Expr:
    """Number cells by their positions."""
    steps = zip(positions, strides, strict=True)
    return summed([position.copy() if stride == 1 else position * stride for position, stride in steps])


# The query for several tables of counts at once: one scan, grouped by every set of attributes.
#
# The database keeps the groups of each set beside one another, and never those of all attributes together. A group has
# no value (NULL) for the attributes outside its set. No set contains another, so a group belongs to the one set whose
# attributes all have values: of the sets' expressions for a cell's number, which are NULL when a part of them is, just
# one is not.


def marginals_query(
    types: Sequence[ColumnType], domain: Domain, layouts: Sequence[Layout], dialect: Dialect = DUCKDB
) -> exp.Select:
    """Ask for the rows (``n``) of each ``cell`` of all tables, numbered one table after the other.

    Rows with problems are in cell -1; what is wrong with them is asked for only when there are any.
    """
    placed = nested_apart(positions_query(domain.attributes, types, dialect), dialect)
    columns = {name: column(f"p{axis}") for axis, name in enumerate(domain.names)}
    sets = [exp.Tuple(expressions=[columns[name].copy() for name in layout.domain.names]) for layout in layouts]
    grouped = exp.select(*columns.values(), rows_counted().as_("n", quoted=True)).from_(placed)
    grouped.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
    wrong = [position < 0 for position in columns.values()]
    numbers = [
        number(first) + _numbered([columns[name] for name in layout.domain.names], layout.strides)
        for first, layout in zip(_firsts(layouts), layouts, strict=False)
    ]
    cell = exp.Case().when(exp.or_(*wrong), number(-1)).else_(exp.Coalesce(this=numbers[0], expressions=numbers[1:]))
    asked = [exp.cast(cell, "BIGINT").as_("cell", quoted=True), column("n")]
    return exp.select(*asked).from_(nested(grouped, "grouped"))


def spread(
    layouts: Sequence[Layout], cells: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> list[npt.NDArray[np.int64]]:
    """Spread the groups that :func:`marginals_query` finds over the tables."""
    firsts = _firsts(layouts)
    flat = np.zeros(firsts[-1], dtype=np.int64)
    flat[cells] = counts
    parts = zip(firsts, firsts[1:], layouts, strict=False)
    return [flat[first:last].reshape(layout.domain.shape) for first, last, layout in parts]


def _firsts(layouts: Sequence[Layout]) -> list[int]:
    """Return the number of each table's first cell, and the number of cells of all tables."""
    return [*accumulate((layout.domain.size for layout in layouts), initial=0)]


# The query for the rows as positions, equal ones as one: for more tables than a database groups by at once.
#
# The positions of a row are packed into as few 64-bit numbers as hold them, and unpacked here.

_LARGEST_NUMBER = 2**62
_PRIME, _FACTOR = 2**31 - 1, 1_103_515_245
"""What spreads rows over parts: remainders alone would follow the last attributes."""


@dataclass(frozen=True)
class RowPart:
    """One of so many parts of the rows; equal rows are in the same one."""

    number: int
    many: int


@dataclass(frozen=True)
class Packing:
    """Which attributes of a domain share a number."""

    domain: Domain

    @cached_property
    def axes(self) -> Sequence[Sequence[int]]:
        """The axes in each number, the first of which counts most."""
        packed: list[list[int]] = [[]]
        for axis, size in enumerate(self.domain.shape):
            if size * prod(self.domain.shape[each] for each in packed[-1]) > _LARGEST_NUMBER:
                packed.append([])
            packed[-1].append(axis)
        return packed

    @property
    def width(self) -> int:
        """The bytes of a row, packed, and the number of times it occurs."""
        return 8 * (len(self.axes) + 1)

    def query(self, types: Sequence[ColumnType], dialect: Dialect, part: RowPart | int) -> exp.Select:
        """Ask for the different rows, and how often each occurs (``n``): for a part of them, or for at most so many.

        The first number of a row with a problem is -1; such rows are in every part.
        """
        placed = nested_apart(positions_query(self.domain.attributes, types, dialect), dialect)
        shape = self.domain.shape
        numbers: list[exp.Expr] = []
        for axes in self.axes:
            strides = [prod(shape[each] for each in axes[rank + 1 :]) for rank in range(len(axes))]
            numbers.append(_numbered([column(f"p{axis}") for axis in axes], strides))
        wrong = [column(f"p{axis}") < 0 for axis in range(len(shape))]
        numbers[0] = exp.Case().when(exp.or_(*wrong), number(-1)).else_(numbers[0])
        named = [exp.cast(each, "BIGINT").as_(f"w{rank}", quoted=True) for rank, each in enumerate(numbers)]
        packed = exp.select(*named).from_(placed)
        columns = [column(f"w{rank}") for rank in range(len(numbers))]
        grouped = exp.select(*columns, rows_counted().as_("n", quoted=True)).from_(nested(packed, "packed"))
        grouped = grouped.group_by(*(number(rank) for rank in range(1, len(columns) + 1)))
        if isinstance(part, int):
            return grouped.limit(part)

        def rest(each: exp.Expr, divisor: int) -> exp.Expr:
            return exp.Mod(this=exp.Paren(this=each), expression=number(divisor))

        mixed = rest(summed([rest(each.copy(), _PRIME) for each in columns]), _PRIME)
        spread = rest(mixed * _FACTOR, _PRIME)
        return grouped.where(exp.or_(rest(spread, part.many).eq(part.number), columns[0] < 0))

    def unpacked(self, groups: Mapping[str, Any]) -> tuple[list[Positions], Integers | None]:
        """Return narrow positions along every axis, and how often each row occurs; None where each occurs once."""
        positions: dict[int, Positions] = {}
        for rank, axes in enumerate(self.axes):
            rest = np.asarray(groups[f"w{rank}"], dtype=np.int64)
            for axis in reversed(axes):
                size = self.domain.shape[axis]
                rest, position = np.divmod(rest, size)
                positions[axis] = narrow(position, size)
        times = np.asarray(groups["n"], dtype=np.int64)
        return [positions[axis] for axis in range(len(positions))], times if bool(np.any(times != 1)) else None


# Very many tables from one scan, in bounded memory.
#
# A database groups by every set of attributes at once, and holds all groups of all of them: with hundreds of sets that
# is slower than counting here, and takes gigabytes. So the different rows are fetched once, as packed positions, kept
# in a few bytes an attribute, and counted one table after the other. Where even these rows are too many to keep, they
# are fetched in parts, as many tables as fit are added up at a time, and the data are read once for each part and for
# each lot of tables: no row is ever written to a disk, and reading again takes less time than so many rows take to
# count.

ANSWER = 2**26
"""The most bytes of rows that are fetched at once."""
HELD = 2**28
"""The most bytes of rows that are kept."""

_FIRST, _FETCHED = 0.2, 0.5
"""The share of the work when the first rows, and when all of them are fetched: a guess that only a display needs."""

Result = TypeVar("Result")


class RowSource(Protocol):
    """What a scan needs of an engine."""

    def safely(self, action: Callable[[], Result]) -> Result:
        """Run an action that reads data; errors are our own."""
        ...

    def open(self, domain: Domain) -> Opened:
        """Open the columns of a domain: in one transaction, until they are opened again, where there are any."""
        ...

    def groups(self, opened: Opened, query: exp.Select, progress: Progress | None) -> dict[str, Any]:
        """Run a query."""
        ...

    def problem(self, opened: Opened, domain: Domain, progress: Progress | None) -> DataError:
        """Find out what is wrong with some rows."""
        ...


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Some of the rows, in memory."""

    domain: Domain
    positions: Sequence[Positions]
    times: Integers | None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.positions[0]) if self.times is None else int(self.times.sum())

    def tables(self, sets: Sequence[Names]) -> Iterator[Integers]:
        """Count the rows of one set after the other."""
        return record_tables(self.domain, self.positions, self.times, sets)


@dataclass(frozen=True, eq=False)
class RecordScan:
    """The tables of some sets, which together involve all attributes of a domain."""

    domain: Domain
    sets: Sequence[Names]
    source: RowSource
    progress: Progress | None = None

    def tables(self) -> Iterator[Integers]:
        """Return one table after the other."""
        held = self.source.safely(self._held)
        if isinstance(held, int):
            yield from self._in_lots(held)
            return
        counted = zip(*(block.tables(self.sets) for block in held), strict=True)
        for first, *others in reported(counted, len(self.sets), between(self.progress, _FETCHED, 1)):
            for table in others:
                first += table
            yield first

    def _held(self) -> list[RowBlock] | int:
        """Fetch the rows to keep, or return their number if they are too many."""
        opened = self.source.open(self.domain)
        first = self._fetched(opened, self._most + 1, between(self.progress, 0, _FIRST))
        if len(first.positions[0]) <= self._most:
            return [first]
        del first
        query = exp.select(rows_counted().as_("n", quoted=True)).from_(source())
        number = int(self.source.groups(opened, query, None)["n"][0])
        width = sum(np.min_scalar_type(size - 1).itemsize for size in self.domain.shape) + 8
        if number * width > HELD:
            return number
        return [*self._parts(opened, number, between(self.progress, _FIRST, _FETCHED))]

    def _in_lots(self, number: int) -> Iterator[Integers]:
        """Add up the parts of as many tables at a time as fit."""
        lots: list[list[Names]] = []
        cells = MOST_TOGETHER
        for names in self.sets:
            size = table_size(self.domain, names)
            if cells + size > MOST_TOGETHER:
                lots.append([])
                cells = 0
            lots[-1].append(names)
            cells += size
        for rank, lot in enumerate(lots):
            progress = between(between(self.progress, _FIRST, 1), rank / len(lots), (rank + 1) / len(lots))

            def add_up(lot: Sequence[Names] = lot, progress: Progress | None = progress) -> list[Integers]:
                blocks = self._parts(self.source.open(self.domain), number, progress)
                totals = [*next(blocks).tables(lot)]
                for block in blocks:
                    for total, table in zip(totals, block.tables(lot), strict=True):
                        total += table
                return totals

            yield from self.source.safely(add_up)

    def _parts(self, opened: Opened, number: int, progress: Progress | None) -> Iterator[RowBlock]:
        """Fetch the rows in parts of about equal size."""
        many = ceil(number / self._most)
        for part in range(many):
            block = self._fetched(opened, RowPart(part, many), between(progress, part / many, (part + 1) / many))
            number -= block.rows
            yield block
        if number:
            raise DataError("the data changed while they were read.")

    def _fetched(self, opened: Opened, part: RowPart | int, progress: Progress | None) -> RowBlock:
        query = self._packing.query(opened.types, opened.dialect, part)
        groups = self.source.groups(opened, query, progress)
        if bool((groups["w0"] < 0).any()):
            raise self.source.problem(opened, self.domain, progress)
        return RowBlock(self.domain, *self._packing.unpacked(groups))

    @cached_property
    def _packing(self) -> Packing:
        return Packing(self.domain)

    @property
    def _most(self) -> int:
        """How many rows are fetched at once."""
        return max(1, ANSWER // self._packing.width)
