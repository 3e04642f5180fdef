"""The queries for counts: one table, several at once, or the rows from which very many are counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from sqlglot import exp

from blowfish_privacy.aggregates.aggregates import Positions, narrow
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines.engine import ColumnType
from blowfish_privacy.engines.sql.cells import Layout
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
    marked,
    positions_query,
    read,
    source,
)
from blowfish_privacy.support.arrays import Integers

# The query for one table of counts: how many rows are in each cell.
#
# Counting goes in up to two steps over one scan. Numbers become positions row by row. Categories are first
# grouped as they stand, which costs what a plain GROUP BY costs, and the few groups are looked up afterwards.


def counts_query(types: Sequence[ColumnType], layout: Layout, dialect: Dialect) -> exp.Select:
    """Ask for the number of rows (``n``) of each ``cell`` that has any; that of rows with problems is negative."""
    fields = [
        Field(axis, attribute, kind, Verdicts.as_declared(attribute, layout.unit // layout.strides[axis]), dialect)
        for axis, (attribute, kind) in enumerate(zip(layout.domain.attributes, types, strict=True))
    ]
    if all(field.placement.plain for field in fields):
        return _plain_counts_query(types, layout, dialect)
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


def _plain_counts_query(types: Sequence[ColumnType], layout: Layout, dialect: Dialect) -> exp.Select:
    """Ask the same of columns of whole numbers, with all rows that have problems in cell -1.

    One condition over the raw columns guards the cell's number: that costs no more than a plain GROUP BY.
    """
    rows, guards, positions = guarded_positions(layout.domain.attributes, types, dialect)
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
    numbers = [
        number(first) + _numbered([columns[name] for name in layout.domain.names], layout.strides)
        for first, layout in zip(_firsts(layouts), layouts, strict=False)
    ]
    cell = marked(domain, exp.Coalesce(this=numbers[0], expressions=numbers[1:]))
    asked = [exp.cast(cell, "BIGINT").as_("cell", quoted=True), column("n")]
    return exp.select(*asked).from_(nested(grouped, "grouped"))


def spread(layouts: Sequence[Layout], groups: Mapping[str, Any]) -> list[Integers]:
    """Spread the groups that :func:`counts_query` or :func:`marginals_query` finds over the tables."""
    firsts = _firsts(layouts)
    flat = np.zeros(firsts[-1], dtype=np.int64)
    flat[groups["cell"]] = groups["n"]
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
        numbers[0] = marked(self.domain, numbers[0])
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
