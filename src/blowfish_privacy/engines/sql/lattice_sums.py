"""The query for sums on a lattice: how much all rows together give each node.

Giving every row to its 2^d surrounding nodes would multiply the rows. Instead rows are grouped by the node below them,
and for every group the database adds up the products of their upper shares: from these few sums per group the shares of
all surrounding nodes follow exactly. Only additions, products and divisions of non-negative whole numbers are used, so
that every engine gives the same integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from sqlglot import exp

from blowfish_privacy.aggregates import Axis, Lattice, Run
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines.sql.affine_lattice import affine_query
from blowfish_privacy.engines.sql.columns import ColumnType
from blowfish_privacy.engines.sql.dialect import DUCKDB, Dialect
from blowfish_privacy.engines.sql.expressions import (
    column,
    divided,
    nested,
    number,
    plus,
    rows_counted,
    summed,
    times,
)
from blowfish_privacy.engines.sql.positions import NARROW
from blowfish_privacy.engines.sql.rows import positions_query
from blowfish_privacy.support.arrays import Integers


def lattice_query(
    types: Sequence[ColumnType], domain: Domain, lattice: Lattice, dialect: Dialect = DUCKDB
) -> exp.Select:
    """Ask for each group's lower node (``cell``) and its sums ``m0``, ``m1``, ...; rows with problems are in cell -1.

    What is wrong with them is asked for only when there are any: so the database knows the range of the nodes' numbers
    beforehand, and groups twice as fast.
    """
    if lattice.affine:
        return _handed_over(affine_query(types, domain, lattice, dialect), lattice)
    placed = positions_query(domain.attributes, types, dialect)
    points = [_on_runs(axis, rank).as_(f"v{rank}", quoted=True) for rank, axis in enumerate(lattice.axes)]
    pointed = exp.select(*points).from_(nested(placed, "placed"))
    lower = [
        divided(column(f"v{rank}"), axis.resolution, _kind(axis)).as_(f"i{rank}", quoted=True)
        for rank, axis in enumerate(lattice.axes)
    ]
    carried = [column(f"v{rank}") for rank in lattice.shared]
    noded = exp.select(*lower, *carried).from_(nested(pointed, "pointed"))
    cell = summed([times(column(f"i{rank}"), lattice.strides[rank]) for rank in range(len(lattice.axes))])
    shares = [
        exp.Sub(this=column(f"v{rank}"), expression=times(column(f"i{rank}"), lattice.axes[rank].resolution)).as_(
            f"w{rank}", quoted=True
        )
        for rank in lattice.shared
    ]
    named = (cell.as_("cell", quoted=True), *shares)
    shared = exp.select(*named).from_(nested(noded, "noded"))
    sums = [_moment(subset, lattice).as_(f"m{rank}", quoted=True) for rank, subset in enumerate(lattice.subsets())]
    grouped = exp.select(column("cell"), *sums).from_(nested(shared, "shared")).group_by(number(1))
    return _handed_over(grouped, lattice)


def _handed_over(grouped: exp.Select, lattice: Lattice) -> exp.Select:
    """Give rows without a node a number that every engine hands over alike."""
    names = {"cell": -1, **{f"m{rank}": 0 for rank in range(2 ** len(lattice.shared))}}
    filled = [
        exp.cast(exp.Coalesce(this=column(name), expressions=[number(missing)]), "BIGINT").as_(name, quoted=True)
        for name, missing in names.items()
    ]
    return exp.select(*filled).from_(nested(grouped, "grouped"))


def lattice_sums(lattice: Lattice, groups: dict[str, Any]) -> Integers | None:
    """Turn the groups that :func:`lattice_query` finds into the sums of all nodes; None when rows have problems."""
    cells = np.asarray(groups["cell"], dtype=np.int64)
    if (cells < 0).any():
        return None
    moments = [np.asarray(groups[f"m{rank}"], dtype=np.int64) for rank in range(len(lattice.subsets()))]
    return lattice.from_pieces(cells, moments) if lattice.affine else lattice.from_moments(cells, moments)


def _on_runs(axis: Axis, rank: int) -> exp.Expr:
    """Express a position's place along the axis, counted in shares: R times its lower node plus the upper's shares."""
    position = exp.cast(column(f"p{rank}"), _kind(axis))
    pieces = [_coordinate(run, first, axis, position) for run, first in zip(axis.runs, axis.firsts, strict=True)]
    placed = _bisect(axis.runs, pieces, position)
    return exp.Case().when(exp.LT(this=column(f"p{rank}"), expression=number(0)), exp.null()).else_(placed)


def _bisect(runs: Sequence[Run], pieces: Sequence[exp.Expr], position: exp.Expr) -> exp.Expr:
    if len(runs) == 1:
        return pieces[0]
    middle = len(runs) // 2
    before = exp.LT(this=position.copy(), expression=number(runs[middle].start))
    return (
        exp.Case()
        .when(before, _bisect(runs[:middle], pieces[:middle], position))
        .else_(_bisect(runs[middle:], pieces[middle:], position))
    )


def _coordinate(run: Run, first: int, axis: Axis, position: exp.Expr) -> exp.Expr:
    offset = plus(position.copy(), -run.start)
    if run.nodes == 1:
        return times(plus(divided(offset, run.width, _kind(axis)), first), axis.resolution)
    piece = divided(offset.copy(), run.width, _kind(axis)) if run.count > 1 else None
    inside = offset if piece is None else exp.Sub(this=offset, expression=times(piece.copy(), run.width))
    u = _clamped(plus(times(inside, run.slope), run.shift), run.step * (run.nodes - 1))
    if axis.resolution != run.step:
        u = divided(plus(times(u, 2 * axis.resolution), run.step), 2 * run.step, _kind(axis))
    base = plus(u, first * axis.resolution)
    if piece is None:
        return base
    return exp.Add(this=base, expression=times(piece, run.nodes * axis.resolution))


def _kind(axis: Axis) -> str:
    """Use 32-bit numbers where they suffice: engines divide and group them much faster."""
    largest = max(
        2 * (run.slope * run.width + abs(run.shift) + run.step * run.nodes) * axis.resolution for run in axis.runs
    )
    return "INT" if max(largest, axis.nodes * axis.resolution, axis.size) < NARROW else "BIGINT"


def _moment(subset: Sequence[int], lattice: Lattice) -> exp.Expr:
    if not subset:
        return rows_counted()
    wide = prod(lattice.axes[rank].resolution for rank in subset) >= NARROW
    terms = [exp.cast(column(f"w{rank}"), "BIGINT") if wide else column(f"w{rank}") for rank in subset]
    term: exp.Expr = terms[0]
    for factor in terms[1:]:
        term = exp.Mul(this=term, expression=factor)
    return exp.cast(exp.Sum(this=term), "BIGINT")


def _clamped(value: exp.Expr, top: int) -> exp.Expr:
    below = exp.LT(this=value, expression=number(0))
    above = exp.GT(this=value.copy(), expression=number(top))
    return exp.Case().when(below, number(0)).when(above, number(top)).else_(value.copy())
