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
import numpy.typing as npt
from sqlglot import exp

from blowfish_privacy.aggregates import Axis, Lattice, Run
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines.sql.affine_lattice import affine_query
from blowfish_privacy.engines.sql.cells import MALFORMED, MISSING, OUTSIDE, data_problem
from blowfish_privacy.engines.sql.columns import ColumnType
from blowfish_privacy.engines.sql.comparisons import number
from blowfish_privacy.engines.sql.dialect import DUCKDB, Dialect
from blowfish_privacy.engines.sql.positions import NARROW, Verdicts
from blowfish_privacy.engines.sql.sql import positions_query

Integers = npt.NDArray[np.int64]


def lattice_query(
    types: Sequence[ColumnType], domain: Domain, lattice: Lattice, dialect: Dialect = DUCKDB
) -> exp.Select:
    """Ask for each group's lower node (``cell``) and its sums ``m0``, ``m1``, ...; rows with problems are in cell -1.

    What is wrong with them is asked for only when there are any: so the database knows the range of the nodes' numbers
    beforehand, and groups twice as fast.
    """
    if lattice.affine:
        return _handed_over(affine_query(types, domain, lattice, dialect), lattice)
    places = range(len(lattice.axes))
    verdicts = [Verdicts.as_declared(attribute) for attribute in domain.attributes]
    placed = positions_query(domain.attributes, types, verdicts, dialect)
    points = [_on_runs(axis, place).as_(f"v{place}", quoted=True) for place, axis in enumerate(lattice.axes)]
    pointed = exp.select(*points).from_(_nested(placed, "placed"))
    lower = [
        _divided(_column(f"v{place}"), axis.resolution, _kind(axis)).as_(f"i{place}", quoted=True)
        for place, axis in enumerate(lattice.axes)
    ]
    carried = [_column(f"v{place}") for place in lattice.shared]
    noded = exp.select(*lower, *carried).from_(_nested(pointed, "pointed"))
    cell = _total([_times(_column(f"i{place}"), lattice.strides[place]) for place in places])
    shares = [
        exp.Sub(this=_column(f"v{place}"), expression=_times(_column(f"i{place}"), lattice.axes[place].resolution)).as_(
            f"w{place}", quoted=True
        )
        for place in lattice.shared
    ]
    named = (cell.as_("cell", quoted=True), *shares)
    shared = exp.select(*named).from_(_nested(noded, "noded"))
    sums = [_moment(subset, lattice).as_(f"m{rank}", quoted=True) for rank, subset in enumerate(lattice.subsets())]
    grouped = exp.select(_column("cell"), *sums).from_(_nested(shared, "shared")).group_by(number(1))
    return _handed_over(grouped, lattice)


def _handed_over(grouped: exp.Select, lattice: Lattice) -> exp.Select:
    """Give rows without a node a number that every engine hands over alike."""
    names = {"cell": -1, **{f"m{rank}": 0 for rank in range(2 ** len(lattice.shared))}}
    filled = [
        exp.cast(exp.Coalesce(this=_column(name), expressions=[number(missing)]), "BIGINT").as_(name, quoted=True)
        for name, missing in names.items()
    ]
    return exp.select(*filled).from_(_nested(grouped, "grouped"))


def lattice_sums(lattice: Lattice, found: dict[str, Any]) -> Integers | None:
    """Turn the groups that :func:`lattice_query` finds into the sums of all nodes; None when rows have problems."""
    cells = np.asarray(found["cell"], dtype=np.int64)
    if (cells < 0).any():
        return None
    moments = [np.asarray(found[f"m{rank}"], dtype=np.int64) for rank in range(len(lattice.subsets()))]
    return lattice.from_pieces(cells, moments) if lattice.affine else lattice.from_moments(cells, moments)


def problem_code(attributes: int) -> exp.Expr:
    """Express what is wrong with a row as one number: 0, or minus a base-4 digit for each attribute."""
    return _total([exp.Mul(this=_problem(place), expression=number(4**place)) for place in range(attributes)])


def raise_problems(domain: Domain, cells: Integers) -> None:
    """Say what is wrong with rows whose group is marked with a negative number."""
    if not len(cells) or cells.min() >= 0:
        return
    digits = -cells[cells < 0]
    raise data_problem(
        [
            (name, attribute, problem)
            for place, (name, attribute) in enumerate(zip(domain.names, domain.attributes, strict=True))
            for problem in (MISSING, OUTSIDE, MALFORMED)
            if bool(np.any(digits // 4**place % 4 == problem))
        ]
    )


def _on_runs(axis: Axis, place: int) -> exp.Expr:
    """Express a position's place along the axis, counted in shares: R times its lower node plus the upper's shares."""
    position = exp.cast(_column(f"p{place}"), _kind(axis))
    pieces = [_coordinate(run, first, axis, position) for run, first in zip(axis.runs, axis.firsts, strict=True)]
    placed = _bisect(axis.runs, pieces, position)
    return exp.Case().when(exp.LT(this=_column(f"p{place}"), expression=number(0)), exp.null()).else_(placed)


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
    offset = _plus(position.copy(), -run.start)
    if run.nodes == 1:
        return _times(_plus(_divided(offset, run.width, _kind(axis)), first), axis.resolution)
    piece = _divided(offset.copy(), run.width, _kind(axis)) if run.count > 1 else None
    inside = offset if piece is None else exp.Sub(this=offset, expression=_times(piece.copy(), run.width))
    u = _clamped(_plus(_times(inside, run.slope), run.shift), run.step * (run.nodes - 1))
    if axis.resolution != run.step:
        u = _divided(_plus(_times(u, 2 * axis.resolution), run.step), 2 * run.step, _kind(axis))
    base = _plus(u, first * axis.resolution)
    if piece is None:
        return base
    return exp.Add(this=base, expression=_times(piece, run.nodes * axis.resolution))


def _kind(axis: Axis) -> str:
    """Use 32-bit numbers where they suffice: engines divide and group them much faster."""
    largest = max(
        2 * (run.slope * run.width + abs(run.shift) + run.step * run.nodes) * axis.resolution for run in axis.runs
    )
    return "INT" if max(largest, axis.nodes * axis.resolution, axis.size) < NARROW else "BIGINT"


def _moment(subset: Sequence[int], lattice: Lattice) -> exp.Expr:
    if not subset:
        return exp.cast(exp.Count(this=exp.Star()), "BIGINT")
    wide = prod(lattice.axes[place].resolution for place in subset) >= NARROW
    terms = [exp.cast(_column(f"w{place}"), "BIGINT") if wide else _column(f"w{place}") for place in subset]
    term: exp.Expr = terms[0]
    for factor in terms[1:]:
        term = exp.Mul(this=term, expression=factor)
    return exp.cast(exp.Sum(this=term), "BIGINT")


def _problem(place: int) -> exp.Expr:
    position = _column(f"p{place}")
    return exp.Case().when(exp.LT(this=position, expression=number(0)), position.copy()).else_(number(0))


def _total(terms: Sequence[exp.Expr]) -> exp.Expr:
    total = terms[0]
    for term in terms[1:]:
        total = exp.Add(this=total, expression=term)
    return total


def _plus(value: exp.Expr, amount: int) -> exp.Expr:
    return exp.Paren(this=exp.Add(this=value, expression=number(amount))) if amount else value


def _times(value: exp.Expr, factor: int) -> exp.Expr:
    return value if factor == 1 else exp.Mul(this=exp.Paren(this=value), expression=number(factor))


def _divided(value: exp.Expr, divisor: int, kind: str) -> exp.Expr:
    """Divide a non-negative whole number, leaving out the remainder."""
    if divisor == 1:
        return value
    return exp.cast(exp.IntDiv(this=exp.Paren(this=value), expression=number(divisor)), kind)


def _clamped(value: exp.Expr, top: int) -> exp.Expr:
    below = exp.LT(this=value, expression=number(0))
    above = exp.GT(this=value.copy(), expression=number(top))
    return exp.Case().when(below, number(0)).when(above, number(top)).else_(value.copy())


def _nested(query: exp.Select, alias: str) -> exp.Subquery:
    return query.subquery(exp.to_identifier(alias, quoted=True), copy=False)


def _column(name: str) -> exp.Column:
    return exp.column(name, quoted=True)
