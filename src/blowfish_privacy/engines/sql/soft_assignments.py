"""The query for sums by soft assignment: every row is shared between all centres, in whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from blowfish_privacy.aggregates import Assignment, Decay
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines.sql.columns import ColumnType
from blowfish_privacy.engines.sql.dialect import Dialect
from blowfish_privacy.engines.sql.expressions import (
    clipped,
    column,
    divided,
    least,
    minus,
    nested_apart,
    number,
    summed,
    times,
)
from blowfish_privacy.engines.sql.rows import positions_query, problem_code


def soft_assignment_query(
    types: Sequence[ColumnType], domain: Domain, assignment: Assignment, decay: Decay, dialect: Dialect
) -> exp.Select:
    """Ask for one row of sums ``m0``, ``m1``, ... over all centres; rows with problems have a negative ``cell``."""
    axes, centres = range(len(assignment.weights)), range(len(assignment.centres))
    positions = [f"p{axis}" for axis in axes]
    placed = positions_query(domain.attributes, types, dialect)

    def derive(inner: exp.Select, kept: Sequence[str], made: dict[str, exp.Expr]) -> exp.Select:
        columns = [*(column(name) for name in kept), *(value.as_(name, quoted=True) for name, value in made.items())]
        return exp.select(*columns).from_(nested_apart(inner, dialect))

    def each(name: str, value: Callable[[int], exp.Expr]) -> dict[str, exp.Expr]:
        return {f"{name}{centre}": value(centre) for centre in centres}

    carried = [*positions, "cell"]
    far = each("d", lambda centre: _distance(assignment.centres[centre], assignment.weights))
    measured = derive(placed, positions, {"cell": problem_code(len(axes)), **far})
    nearest = least([column(f"d{centre}") for centre in centres])
    low = times(divided(nearest, decay.halving), decay.halving)
    based = derive(measured, [*carried, *far], {"low": low})
    halved = derive(
        derive(based, carried, each("e", lambda centre: minus(column(f"d{centre}"), column("low")))),
        [*carried, *(f"e{centre}" for centre in centres)],
        each("h", lambda centre: divided(column(f"e{centre}"), decay.halving)),
    )
    parts = each("a", lambda centre: _part(centre, decay))
    parted = derive(halved, carried, parts)
    totalled = derive(parted, [*carried, *parts], {"all": summed([column(name) for name in parts])})
    shares = each("v", lambda centre: divided(times(column(f"a{centre}"), decay.unit), column("all")))
    *_, last = shares
    others = [name for name in shares if name != last]
    shared = derive(totalled, carried, {name: shares[name] for name in others})
    left = minus(number(decay.unit), summed([column(name) for name in others])) if others else number(decay.unit)
    filled = derive(shared, [*carried, *others], {last: exp.cast(left, "BIGINT")})
    sums: list[exp.Expr] = []
    for share, centre in zip(shares, assignment.centres, strict=True):
        sums.append(column(share))
        for axis, (at, reach) in enumerate(zip(centre, assignment.reaches, strict=True)):
            offset = exp.Sub(this=column(f"p{axis}"), expression=number(at))
            sums.append(exp.Mul(this=column(share), expression=clipped(offset, reach)))
    named = [exp.cast(exp.Sum(this=term), "BIGINT").as_(f"m{rank}", quoted=True) for rank, term in enumerate(sums)]
    return exp.select(column("cell"), *named).from_(nested_apart(filled, dialect)).group_by(number(1))


def soft_assignment_sums(assignment: Assignment, groups: dict[str, Any]) -> npt.NDArray[np.int64]:
    """Turn the row that :func:`soft_assignment_query` finds into one row for each centre."""
    shape = len(assignment.centres), 1 + len(assignment.weights)
    columns = [np.asarray(groups[f"m{rank}"], dtype=np.int64).sum() for rank in range(shape[0] * shape[1])]
    return np.array(columns, dtype=np.int64).reshape(shape)


def _distance(centre: Sequence[int], weights: Sequence[int]) -> exp.Expr:
    steps = [exp.Sub(this=column(f"p{axis}"), expression=number(at)) for axis, at in enumerate(centre)]
    parts = zip(steps, weights, strict=True)
    return exp.cast(summed([times(exp.Abs(this=step), weight) for step, weight in parts]), "BIGINT")


def _part(centre: int, decay: Decay) -> exp.Expr:
    """Express (2 halving - rest) 2^(bits - halvings), and 0 where that is less than a share."""
    halvings = column(f"h{centre}")
    rest = minus(column(f"e{centre}"), times(halvings, decay.halving))
    shift = exp.cast(minus(number(decay.bits), least([halvings.copy(), number(decay.bits)])), "INT")
    shifted = exp.BitwiseLeftShift(this=exp.Paren(this=minus(number(2 * decay.halving), rest)), expression=shift)
    far = exp.GT(this=halvings.copy(), expression=number(decay.bits))
    return exp.cast(exp.Case().when(far, number(0)).else_(shifted), "BIGINT")
