"""The query for one table of counts: how many rows are in each cell.

Counting goes in up to two steps over one scan. Numbers become positions row by row. Categories are first
grouped as they stand, which costs what a plain GROUP BY costs, and the few groups are looked up afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from blowfish_privacy.engines.sql.cells import Layout
from blowfish_privacy.engines.sql.columns import ColumnType
from blowfish_privacy.engines.sql.dialect import Dialect
from blowfish_privacy.engines.sql.expressions import column, every, nested, number, rows_counted, summed
from blowfish_privacy.engines.sql.positions import NARROW, Verdicts
from blowfish_privacy.engines.sql.rows import Field, guarded_positions, joined, read, source


def counts_query(types: Sequence[ColumnType], layout: Layout, dialect: Dialect) -> exp.Select:
    """Ask for the number of rows (``n``) of each ``cell`` that has any; problems are marked in the cell's number."""
    fields = [
        Field(axis, attribute, kind, Verdicts.in_layout(attribute, layout, axis), dialect)
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
    terms = [
        exp.Mul(this=position, expression=number(stride)) if stride > 1 else position
        for position, stride in zip(fitting, layout.strides, strict=True)
    ]
    cell = exp.Case().when(every(guards), summed(terms)).as_("cell", quoted=True)
    grouped = exp.select(cell, rows_counted().as_("n", quoted=True)).from_(rows).group_by(number(1))
    marked = exp.cast(exp.Coalesce(this=column("cell"), expressions=[number(-1)]), "BIGINT").as_("cell", quoted=True)
    return exp.select(marked, column("n")).from_(nested(grouped, "grouped"))


def _grouped(keys: Sequence[exp.Expr], total: exp.Expr, rows: exp.Select, fields: Sequence[Field]) -> exp.Select:
    counted = exp.cast(total, "BIGINT").as_("n", quoted=True)
    grouped = exp.select(*keys, counted).from_(nested(rows, "rows"))
    return joined(grouped, fields).group_by(*(number(rank) for rank in range(1, len(keys) + 1)))


def _cell(fields: Sequence[Field], layout: Layout, *carried: exp.Expr) -> exp.Expr:
    terms = list(carried)
    for field in fields:
        position, stride = field.placement.position, layout.strides[field.axis]
        terms.append(position if stride == 1 else exp.Mul(this=position, expression=number(stride)))
    return summed(terms).as_("cell", quoted=True)
