"""The query for sums by nearest centre: how many rows each centre has, and how far off they are together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from blowfish_privacy.aggregates import Assignment
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines.sql.columns import ColumnType
from blowfish_privacy.engines.sql.dialect import DUCKDB, Dialect
from blowfish_privacy.engines.sql.expressions import clipped, column, least, nested_apart, number, rows_counted, summed
from blowfish_privacy.engines.sql.problems import raise_problems
from blowfish_privacy.engines.sql.rows import positions_query, problem_code
from blowfish_privacy.engines.sql.soft_assignments import soft_assignment_query, soft_assignment_sums


def assignment_query(
    types: Sequence[ColumnType], domain: Domain, assignment: Assignment, dialect: Dialect = DUCKDB
) -> exp.Select:
    """Ask for each centre's number (``cell``; negative for rows with problems), rows ``m0`` and offsets ``m1``, ..."""
    if assignment.decay is not None:
        return soft_assignment_query(types, domain, assignment, assignment.decay, dialect)
    axes = range(len(assignment.weights))
    placed = positions_query(domain.attributes, types, dialect)
    far = [
        _distance(centre, assignment.weights).as_(f"d{label}", quoted=True)
        for label, centre in enumerate(assignment.centres)
    ]
    carried = [column(f"p{axis}") for axis in axes]
    measured = exp.select(*carried, *far, problem_code(len(axes)).as_("problem", quoted=True)).from_(
        nested_apart(placed, dialect)
    )
    distances = [column(f"d{label}") for label in range(len(assignment.centres))]
    smallest = least(distances).as_("least", quoted=True)
    ranked = exp.select(*(c.copy() for c in carried), *distances, smallest, column("problem")).from_(
        nested_apart(measured, dialect)
    )
    cell = exp.Case().when(exp.LT(this=column("problem"), expression=number(0)), column("problem"))
    for label, distance in enumerate(distances[:-1]):
        cell = cell.when(exp.EQ(this=distance.copy(), expression=column("least")), number(label), copy=False)
    labelled = cell.else_(number(len(distances) - 1)).as_("cell", quoted=True)
    chosen = exp.select(*(c.copy() for c in carried), labelled).from_(nested_apart(ranked, dialect))
    sums = [
        exp.cast(exp.Sum(this=_offset(axis, assignment)), "BIGINT").as_(f"m{axis + 1}", quoted=True) for axis in axes
    ]
    rows = rows_counted().as_("m0", quoted=True)
    return exp.select(column("cell"), rows, *sums).from_(nested_apart(chosen, dialect)).group_by(number(1))


def assignment_sums(domain: Domain, assignment: Assignment, groups: dict[str, Any]) -> npt.NDArray[np.int64]:
    """Turn the groups that :func:`assignment_query` finds into one row for each centre."""
    cells = np.asarray(groups["cell"], dtype=np.int64)
    raise_problems(domain, cells)
    if assignment.decay is not None:
        return soft_assignment_sums(assignment, groups)
    sums = np.zeros((len(assignment.centres), 1 + len(assignment.weights)), dtype=np.int64)
    for rank in range(sums.shape[1]):
        sums[cells, rank] = np.asarray(groups[f"m{rank}"], dtype=np.int64)
    return sums


def _distance(centre: Sequence[int], weights: Sequence[int]) -> exp.Expr:
    terms: list[exp.Expr] = []
    for axis, (at, weight) in enumerate(zip(centre, weights, strict=True)):
        step = exp.Paren(this=exp.Sub(this=column(f"p{axis}"), expression=number(at)))
        terms.append(exp.Mul(this=exp.Mul(this=step, expression=step.copy()), expression=number(weight)))
    return summed(terms)


def _offset(axis: int, assignment: Assignment) -> exp.Expr:
    centre = exp.Case()
    for label, at in enumerate(assignment.centres):
        centre = centre.when(exp.EQ(this=column("cell"), expression=number(label)), number(at[axis]), copy=False)
    step = exp.Sub(this=column(f"p{axis}"), expression=exp.Paren(this=centre.else_(number(0))))
    return clipped(step, assignment.reaches[axis])
