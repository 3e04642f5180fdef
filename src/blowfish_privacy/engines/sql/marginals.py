"""The query for several tables of counts at once: one scan, grouped by every set of attributes.

The database keeps the groups of each set beside one another, and never those of all attributes together. A group has
no value (NULL) for the attributes outside its set. No set contains another, so a group belongs to the one set whose
attributes all have values: of the sets' expressions for a cell's number, which are NULL when a part of them is, just
one is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from blowfish_privacy.domain import Domain
from blowfish_privacy.engines.sql.cells import Layout
from blowfish_privacy.engines.sql.columns import ColumnType
from blowfish_privacy.engines.sql.dialect import DUCKDB, Dialect
from blowfish_privacy.engines.sql.expressions import column, nested, nested_apart, number, rows_counted, summed
from blowfish_privacy.engines.sql.rows import positions_query


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
    wrong = [exp.LT(this=position.copy(), expression=number(0)) for position in columns.values()]
    numbers = [
        _number(first, layout, [columns[name] for name in layout.domain.names])
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


def _number(first: int, layout: Layout, positions: Sequence[exp.Expr]) -> exp.Expr:
    steps = zip(positions, layout.strides, strict=True)
    return summed([number(first), *(exp.Mul(this=each.copy(), expression=number(stride)) for each, stride in steps)])
