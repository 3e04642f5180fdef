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
from blowfish_privacy.engines.sql.comparisons import number
from blowfish_privacy.engines.sql.dialect import DUCKDB, Dialect
from blowfish_privacy.engines.sql.lattice_sums import problem_code, raise_problems
from blowfish_privacy.engines.sql.positions import Verdicts
from blowfish_privacy.engines.sql.soft_assignments import least, nested, soft_assignment_query, soft_assignment_sums
from blowfish_privacy.engines.sql.sql import positions_query


def assignment_query(
    types: Sequence[ColumnType], domain: Domain, assignment: Assignment, dialect: Dialect = DUCKDB
) -> exp.Select:
    """Ask for each centre's number (``cell``; negative for rows with problems), rows ``m0`` and offsets ``m1``, ..."""
    if assignment.decay is not None:
        return soft_assignment_query(types, domain, assignment, assignment.decay, dialect)
    axes = range(len(assignment.weights))
    verdicts = [Verdicts.as_declared(attribute) for attribute in domain.attributes]
    placed = positions_query(domain.attributes, types, verdicts, dialect)
    far = [
        _distance(centre, assignment.weights).as_(f"d{place}", quoted=True)
        for place, centre in enumerate(assignment.centres)
    ]
    carried = [_column(f"p{axis}") for axis in axes]
    measured = exp.select(*carried, *far, problem_code(len(axes)).as_("problem", quoted=True)).from_(
        nested(placed, dialect)
    )
    distances = [_column(f"d{place}") for place in range(len(assignment.centres))]
    smallest = least(distances).as_("least", quoted=True)
    ranked = exp.select(*(c.copy() for c in carried), *distances, smallest, _column("problem")).from_(
        nested(measured, dialect)
    )
    label = exp.Case().when(exp.LT(this=_column("problem"), expression=number(0)), _column("problem"))
    for place, distance in enumerate(distances[:-1]):
        label = label.when(exp.EQ(this=distance.copy(), expression=_column("least")), number(place), copy=False)
    labelled = label.else_(number(len(distances) - 1)).as_("cell", quoted=True)
    chosen = exp.select(*(c.copy() for c in carried), labelled).from_(nested(ranked, dialect))
    sums = [
        exp.cast(exp.Sum(this=_offset(axis, assignment)), "BIGINT").as_(f"m{axis + 1}", quoted=True) for axis in axes
    ]
    rows = exp.cast(exp.Count(this=exp.Star()), "BIGINT").as_("m0", quoted=True)
    return exp.select(_column("cell"), rows, *sums).from_(nested(chosen, dialect)).group_by(number(1))


def assignment_sums(domain: Domain, assignment: Assignment, found: dict[str, Any]) -> npt.NDArray[np.int64]:
    """Turn the groups that :func:`assignment_query` finds into one row for each centre."""
    cells = np.asarray(found["cell"], dtype=np.int64)
    raise_problems(domain, cells)
    if assignment.decay is not None:
        return soft_assignment_sums(assignment, found)
    made = np.zeros((len(assignment.centres), 1 + len(assignment.weights)), dtype=np.int64)
    for column in range(made.shape[1]):
        made[cells, column] = np.asarray(found[f"m{column}"], dtype=np.int64)
    return made


def _distance(centre: Sequence[int], weights: Sequence[int]) -> exp.Expr:
    total: exp.Expr | None = None
    for axis, (at, weight) in enumerate(zip(centre, weights, strict=True)):
        step = exp.Paren(this=exp.Sub(this=_column(f"p{axis}"), expression=number(at)))
        term = exp.Mul(this=exp.Mul(this=step, expression=step.copy()), expression=number(weight))
        total = term if total is None else exp.Add(this=total, expression=term)
    return number(0) if total is None else total


def _offset(axis: int, assignment: Assignment) -> exp.Expr:
    centre = exp.Case()
    for place, at in enumerate(assignment.centres):
        centre = centre.when(exp.EQ(this=_column("cell"), expression=number(place)), number(at[axis]), copy=False)
    step = exp.Sub(this=_column(f"p{axis}"), expression=exp.Paren(this=centre.else_(number(0))))
    reach = assignment.reaches[axis]
    return exp.Least(this=exp.Greatest(this=step, expressions=[number(-reach)]), expressions=[number(reach)])


def _column(name: str) -> exp.Column:
    return exp.column(name, quoted=True)
