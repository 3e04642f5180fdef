"""The queries for sums: the shares that records give the nodes of a lattice, and records assigned to centres."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from sqlglot import exp

from blowfish_privacy.aggregates import Assignment, Axis, Decay, Lattice, Run
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines.engine import ColumnType
from blowfish_privacy.engines.sql.expressions import (
    DUCKDB,
    Dialect,
    clipped,
    column,
    divided,
    every,
    least,
    minus,
    nested,
    nested_apart,
    number,
    plus,
    rows_counted,
    summed,
    times,
)
from blowfish_privacy.engines.sql.rows import NARROW, guarded_positions, marked, positions_query
from blowfish_privacy.support.arrays import Integers

# The query for sums on an affine lattice, where raw positions need no more than a plain GROUP BY.
#
# Rows are grouped by the piece of every axis on which their shares are affine in the position, and the database adds up
# products of their positions. All else follows from these sums afterwards. One condition over the raw columns guards
# every expression, so that nothing is computed row by row but what the groups need.


def affine_query(types: Sequence[ColumnType], domain: Domain, lattice: Lattice, dialect: Dialect) -> exp.Select:
    """Ask for each product of pieces (``cell``) the sums ``m0``, ``m1``, ...; rows with problems have no cell."""
    rows, guards, positions = guarded_positions(domain.attributes, types, dialect)
    sound = every(guards)
    cell: exp.Expr | None = None
    wide_cells = lattice.size * 2 ** len(lattice.axes) >= NARROW
    for axis, position in zip(lattice.axes, positions, strict=True):
        run = axis.runs[0]
        if axis.shared:
            largest = run.slope * run.width + abs(run.shift) + run.step
            wide = exp.cast(position.copy(), "BIGINT") if largest >= NARROW else position
            piece = divided(wide * run.slope + (run.shift + run.step), run.step, _kind(axis.pieces))
        else:
            piece = divided(position.copy(), run.width, _kind(axis.pieces))
        if cell is None:
            cell = piece
        else:
            cell = exp.Paren(this=exp.cast(cell, "BIGINT") if wide_cells else cell) * axis.pieces + piece
    products = [_product([positions[axis] for axis in subset]) for subset in lattice.subsets()[1:]]
    guarded_sums = (exp.Sum(this=exp.Case().when(sound.copy(), term)) for term in products)
    sums = [rows_counted(), *(exp.cast(total, "BIGINT") for total in guarded_sums)]
    named = [total.as_(f"m{rank}", quoted=True) for rank, total in enumerate(sums)]
    guarded = exp.Case().when(sound, cell or number(0)).as_("cell", quoted=True)
    return exp.select(guarded, *named).from_(rows).group_by(number(1))


def _product(factors: Sequence[exp.Expr]) -> exp.Expr:
    term = factors[0].copy()
    for factor in factors[1:]:
        term = exp.Mul(this=term, expression=factor.copy())
    return term


def _kind(largest: int) -> str:
    """Use 32-bit numbers where they suffice: engines divide and group them much faster."""
    return "INT" if largest < NARROW else "BIGINT"


# The query for sums on a lattice: how much all rows together give each node.
#
# Giving every row to its 2^d surrounding nodes would multiply the rows. Instead rows are grouped by the node below
# them, and for every group the database adds up the products of their upper shares: from these few sums per group the
# shares of all surrounding nodes follow exactly. Only additions, products and divisions of non-negative whole numbers
# are used, so that every engine gives the same integers.


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
        divided(column(f"v{rank}"), axis.resolution, _axis_kind(axis)).as_(f"i{rank}", quoted=True)
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


def lattice_sums(lattice: Lattice, groups: dict[str, Any]) -> Integers:
    """Turn the groups that :func:`lattice_query` finds into the sums of all nodes."""
    cells = np.asarray(groups["cell"], dtype=np.int64)
    moments = [np.asarray(groups[f"m{rank}"], dtype=np.int64) for rank in range(len(lattice.subsets()))]
    return lattice.from_pieces(cells, moments) if lattice.affine else lattice.from_moments(cells, moments)


def _on_runs(axis: Axis, rank: int) -> exp.Expr:
    """Express a position's place along the axis, counted in shares: R times its lower node plus the upper's shares."""
    position = exp.cast(column(f"p{rank}"), _axis_kind(axis))
    pieces = [_coordinate(run, first, axis, position) for run, first in zip(axis.runs, axis.firsts, strict=True)]
    placed = _bisect(axis.runs, pieces, position)
    return exp.Case().when(column(f"p{rank}") < 0, exp.null()).else_(placed)


def _bisect(runs: Sequence[Run], pieces: Sequence[exp.Expr], position: exp.Expr) -> exp.Expr:
    if len(runs) == 1:
        return pieces[0]
    middle = len(runs) // 2
    before, after = (_bisect(runs[part], pieces[part], position) for part in (slice(middle), slice(middle, None)))
    return exp.Case().when(position < runs[middle].start, before).else_(after)


def _coordinate(run: Run, first: int, axis: Axis, position: exp.Expr) -> exp.Expr:
    offset = plus(position.copy(), -run.start)
    if run.nodes == 1:
        return times(plus(divided(offset, run.width, _axis_kind(axis)), first), axis.resolution)
    piece = divided(offset.copy(), run.width, _axis_kind(axis)) if run.count > 1 else None
    inside = offset if piece is None else exp.Sub(this=offset, expression=times(piece.copy(), run.width))
    u, top = plus(times(inside, run.slope), run.shift), run.step * (run.nodes - 1)
    u = exp.Case().when(u < 0, number(0)).when(u > top, number(top)).else_(u)
    if axis.resolution != run.step:
        u = divided(plus(times(u, 2 * axis.resolution), run.step), 2 * run.step, _axis_kind(axis))
    base = plus(u, first * axis.resolution)
    if piece is None:
        return base
    return exp.Add(this=base, expression=times(piece, run.nodes * axis.resolution))


def _axis_kind(axis: Axis) -> str:
    largest = max(
        2 * (run.slope * run.width + abs(run.shift) + run.step * run.nodes) * axis.resolution for run in axis.runs
    )
    return _kind(max(largest, axis.nodes * axis.resolution, axis.size))


def _moment(subset: Sequence[int], lattice: Lattice) -> exp.Expr:
    if not subset:
        return rows_counted()
    wide = prod(lattice.axes[rank].resolution for rank in subset) >= NARROW
    terms = [exp.cast(column(f"w{rank}"), "BIGINT") if wide else column(f"w{rank}") for rank in subset]
    return exp.cast(exp.Sum(this=_product(terms)), "BIGINT")


# The query for sums by soft assignment: every row is shared between all centres, in whole numbers.


def soft_assignment_query(
    types: Sequence[ColumnType], domain: Domain, assignment: Assignment, decay: Decay, dialect: Dialect
) -> exp.Select:
    """Ask for one row of sums ``m0``, ``m1``, ... over all centres; rows with problems are in ``cell`` -1."""
    axes, centres = range(len(assignment.weights)), range(len(assignment.centres))
    positions = [f"p{axis}" for axis in axes]
    placed = positions_query(domain.attributes, types, dialect)
    derive = partial(_derived, dialect)

    def each(name: str, value: Callable[[int], exp.Expr]) -> dict[str, exp.Expr]:
        return {f"{name}{centre}": value(centre) for centre in centres}

    far = each("d", lambda centre: _distance(centre, assignment))
    measured = derive(placed, positions, far)
    nearest = least([column(f"d{centre}") for centre in centres])
    low = times(divided(nearest, decay.halving), decay.halving)
    based = derive(measured, [*positions, *far], {"low": low})
    halved = derive(
        derive(based, positions, each("e", lambda centre: minus(column(f"d{centre}"), column("low")))),
        [*positions, *(f"e{centre}" for centre in centres)],
        each("h", lambda centre: divided(column(f"e{centre}"), decay.halving)),
    )
    parts = each("a", lambda centre: _part(centre, decay))
    parted = derive(halved, positions, parts)
    totalled = derive(parted, [*positions, *parts], {"all": summed([column(name) for name in parts])})
    shares = each("v", lambda centre: divided(times(column(f"a{centre}"), decay.unit), column("all")))
    *others, last = shares
    shared = derive(totalled, positions, {name: shares[name] for name in others})
    left = minus(number(decay.unit), summed([column(name) for name in others])) if others else number(decay.unit)
    filled = derive(shared, [*positions, *others], {last: exp.cast(left, "BIGINT")})
    sums: list[exp.Expr] = []
    for share, centre in zip(shares, assignment.centres, strict=True):
        sums.append(column(share))
        for axis, (at, reach) in enumerate(zip(centre, assignment.reaches, strict=True)):
            sums.append(column(share) * clipped(column(f"p{axis}") - at, reach))
    named = [exp.cast(exp.Sum(this=term), "BIGINT").as_(f"m{rank}", quoted=True) for rank, term in enumerate(sums)]
    cell = marked(domain, number(0)).as_("cell", quoted=True)
    return exp.select(cell, *named).from_(nested_apart(filled, dialect)).group_by(number(1))


def _derived(dialect: Dialect, inner: exp.Select, kept: Sequence[str], derived: Mapping[str, exp.Expr]) -> exp.Select:
    """Keep some columns of a query, and work out others from them, once."""
    columns = [*(column(name) for name in kept), *(value.as_(name, quoted=True) for name, value in derived.items())]
    return exp.select(*columns).from_(nested_apart(inner, dialect))


def _distance(centre: int, assignment: Assignment) -> exp.Expr:
    """Add up squared steps in weighted positions, or steps themselves where records are shared."""
    terms: list[exp.Expr] = []
    for axis, (at, weight) in enumerate(zip(assignment.centres[centre], assignment.weights, strict=True)):
        step = column(f"p{axis}") - at
        if assignment.decay is None:
            terms.append(exp.Paren(this=step) * exp.Paren(this=step.copy()) * weight)
        else:
            terms.append(times(exp.Abs(this=step), weight))
    return summed(terms) if assignment.decay is None else exp.cast(summed(terms), "BIGINT")


def _part(centre: int, decay: Decay) -> exp.Expr:
    """Express (2 halving - rest) 2^(bits - halvings), and 0 where that is less than a share."""
    halvings = column(f"h{centre}")
    rest = minus(column(f"e{centre}"), times(halvings, decay.halving))
    shift = exp.cast(minus(number(decay.bits), least([halvings.copy(), number(decay.bits)])), "INT")
    shifted = exp.BitwiseLeftShift(this=exp.Paren(this=minus(number(2 * decay.halving), rest)), expression=shift)
    far = exp.GT(this=halvings.copy(), expression=number(decay.bits))
    return exp.cast(exp.Case().when(far, number(0)).else_(shifted), "BIGINT")


# The query for sums by nearest centre: how many rows each centre has, and how far off they are together.


def assignment_query(
    types: Sequence[ColumnType], domain: Domain, assignment: Assignment, dialect: Dialect = DUCKDB
) -> exp.Select:
    """Ask for each centre's number (``cell``; -1 for rows with problems), rows ``m0`` and offsets ``m1``, ..."""
    if assignment.decay is not None:
        return soft_assignment_query(types, domain, assignment, assignment.decay, dialect)
    axes, centres = range(len(assignment.weights)), range(len(assignment.centres))
    placed, derive = positions_query(domain.attributes, types, dialect), partial(_derived, dialect)
    carried, distances = [f"p{axis}" for axis in axes], [f"d{centre}" for centre in centres]
    far = {name: _distance(centre, assignment) for centre, name in enumerate(distances)}
    measured = derive(placed, carried, far)
    smallest = {"least": least([column(name) for name in distances])}
    ranked = derive(measured, [*carried, *distances], smallest)
    nearest = exp.Case()
    for centre, name in enumerate(distances):
        nearest = nearest.when(column(name).eq(column("least")), number(centre), copy=False)
    chosen = derive(ranked, carried, {"cell": marked(domain, nearest)})
    sums = [
        exp.cast(exp.Sum(this=_offset(axis, assignment)), "BIGINT").as_(f"m{axis + 1}", quoted=True) for axis in axes
    ]
    rows = rows_counted().as_("m0", quoted=True)
    return exp.select(column("cell"), rows, *sums).from_(nested_apart(chosen, dialect)).group_by(number(1))


def assignment_sums(assignment: Assignment, groups: dict[str, Any]) -> Integers:
    """Turn the groups that :func:`assignment_query` finds into one row for each centre."""
    cells = np.asarray(groups["cell"], dtype=np.int64)
    shape = len(assignment.centres), 1 + len(assignment.weights)
    if assignment.decay is not None:
        columns = [np.asarray(groups[f"m{rank}"], dtype=np.int64).sum() for rank in range(shape[0] * shape[1])]
        return np.array(columns, dtype=np.int64).reshape(shape)
    sums = np.zeros(shape, dtype=np.int64)
    for rank in range(shape[1]):
        sums[cells, rank] = np.asarray(groups[f"m{rank}"], dtype=np.int64)
    return sums


def _offset(axis: int, assignment: Assignment) -> exp.Expr:
    centre = exp.Case()
    for label, at in enumerate(assignment.centres):
        centre = centre.when(column("cell").eq(label), number(at[axis]), copy=False)
    return clipped(column(f"p{axis}") - centre.else_(number(0)), assignment.reaches[axis])
