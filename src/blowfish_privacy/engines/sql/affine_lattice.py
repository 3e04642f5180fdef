"""The query for sums on an affine lattice, where raw positions need no more than a plain GROUP BY.

Rows are grouped by the piece of every axis on which their shares are affine in the position, and the database adds up
products of their positions. All else follows from these sums afterwards. One condition over the raw columns guards
every expression, so that nothing is computed row by row but what the groups need.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from blowfish_privacy.aggregates import Lattice
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines.sql.columns import ColumnType
from blowfish_privacy.engines.sql.dialect import Dialect
from blowfish_privacy.engines.sql.expressions import divided, every, number, rows_counted
from blowfish_privacy.engines.sql.positions import NARROW
from blowfish_privacy.engines.sql.rows import guarded_positions


def affine_query(types: Sequence[ColumnType], domain: Domain, lattice: Lattice, dialect: Dialect) -> exp.Select:
    """Ask for each product of pieces (``cell``) the sums ``m0``, ``m1``, ...; rows with problems have no cell."""
    rows, guards, positions = guarded_positions(domain.attributes, types, dialect)
    sound = every(guards)
    cell: exp.Expr | None = None
    for axis, position in zip(lattice.axes, positions, strict=True):
        run = axis.runs[0]
        if axis.shared:
            largest = run.slope * run.width + abs(run.shift) + run.step
            wide = exp.cast(position.copy(), "BIGINT") if largest >= NARROW else position.copy()
            scaled = exp.Mul(this=wide, expression=number(run.slope))
            piece = divided(exp.Add(this=scaled, expression=number(run.shift + run.step)), run.step, _kind(axis.pieces))
        else:
            piece = divided(position.copy(), run.width, _kind(axis.pieces))
        cell = piece if cell is None else exp.Add(this=_times(cell, axis.pieces, lattice), expression=piece)
    sums = [rows_counted(), *(_sum(s, positions, sound) for s in lattice.subsets()[1:])]
    named = [total.as_(f"m{rank}", quoted=True) for rank, total in enumerate(sums)]
    guarded = exp.Case().when(sound, cell or number(0)).as_("cell", quoted=True)
    return exp.select(guarded, *named).from_(rows).group_by(number(1))


def _sum(subset: Sequence[int], positions: Sequence[exp.Expr], sound: exp.Condition) -> exp.Expr:
    term = positions[subset[0]].copy()
    for axis in subset[1:]:
        term = exp.Mul(this=term, expression=positions[axis].copy())
    return exp.cast(exp.Sum(this=exp.Case().when(sound.copy(), term)), "BIGINT")


def _times(value: exp.Expr, factor: int, lattice: Lattice) -> exp.Expr:
    wide = exp.cast(value, "BIGINT") if lattice.size * 2 ** len(lattice.axes) >= NARROW else value
    return exp.Mul(this=exp.Paren(this=wide), expression=number(factor))


def _kind(largest: int) -> str:
    """Use 32-bit numbers where they suffice: engines divide and group them much faster."""
    return "INT" if largest < NARROW else "BIGINT"
