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
from blowfish_privacy.engines.sql.comparisons import number
from blowfish_privacy.engines.sql.dialect import Dialect
from blowfish_privacy.engines.sql.lattice_sums import problem_code
from blowfish_privacy.engines.sql.positions import Verdicts
from blowfish_privacy.engines.sql.sql import positions_query


def soft_assignment_query(
    types: Sequence[ColumnType], domain: Domain, assignment: Assignment, decay: Decay, dialect: Dialect
) -> exp.Select:
    """Ask for one row of sums ``m0``, ``m1``, ... over all centres; rows with problems have a negative ``cell``."""
    axes, places = range(len(assignment.weights)), range(len(assignment.centres))
    positions = [f"p{axis}" for axis in axes]
    verdicts = [Verdicts.as_declared(attribute) for attribute in domain.attributes]
    placed = positions_query(domain.attributes, types, verdicts, dialect)

    def stage(inner: exp.Select, kept: Sequence[str], made: dict[str, exp.Expr]) -> exp.Select:
        columns = [*(_column(name) for name in kept), *(value.as_(name, quoted=True) for name, value in made.items())]
        return exp.select(*columns).from_(nested(inner, dialect))

    def each(name: str, value: Callable[[int], exp.Expr]) -> dict[str, exp.Expr]:
        return {f"{name}{place}": value(place) for place in places}

    carried = [*positions, "cell"]
    far = each("d", lambda place: _distance(assignment.centres[place], assignment.weights))
    measured = stage(placed, positions, {"cell": problem_code(len(axes)), **far})
    nearest = least([_column(f"d{place}") for place in places])
    low = _times(_divided(nearest, number(decay.halving)), decay.halving)
    based = stage(measured, [*carried, *far], {"low": low})
    halved = stage(
        stage(based, carried, each("e", lambda place: _minus(_column(f"d{place}"), _column("low")))),
        [*carried, *(f"e{place}" for place in places)],
        each("h", lambda place: _divided(_column(f"e{place}"), number(decay.halving))),
    )
    parts = each("a", lambda place: _part(place, decay))
    parted = stage(halved, carried, parts)
    totalled = stage(parted, [*carried, *parts], {"all": _total([_column(name) for name in parts])})
    shares = each("v", lambda place: _divided(_times(_column(f"a{place}"), decay.unit), _column("all")))
    *_, last = shares
    others = [name for name in shares if name != last]
    shared = stage(totalled, carried, {name: shares[name] for name in others})
    left = _minus(number(decay.unit), _total([_column(name) for name in others])) if others else number(decay.unit)
    filled = stage(shared, [*carried, *others], {last: exp.cast(left, "BIGINT")})
    sums: list[exp.Expr] = []
    for share, centre in zip(shares, assignment.centres, strict=True):
        sums.append(_column(share))
        for axis, (at, reach) in enumerate(zip(centre, assignment.reaches, strict=True)):
            offset = exp.Sub(this=_column(f"p{axis}"), expression=number(at))
            clipped = exp.Least(
                this=exp.Greatest(this=offset, expressions=[number(-reach)]), expressions=[number(reach)]
            )
            sums.append(exp.Mul(this=_column(share), expression=clipped))
    named = [exp.cast(exp.Sum(this=each), "BIGINT").as_(f"m{place}", quoted=True) for place, each in enumerate(sums)]
    return exp.select(_column("cell"), *named).from_(nested(filled, dialect)).group_by(number(1))


def soft_assignment_sums(assignment: Assignment, found: dict[str, Any]) -> npt.NDArray[np.int64]:
    """Turn the row that :func:`soft_assignment_query` finds into one row for each centre."""
    shape = len(assignment.centres), 1 + len(assignment.weights)
    columns = [np.asarray(found[f"m{place}"], dtype=np.int64).sum() for place in range(shape[0] * shape[1])]
    return np.array(columns, dtype=np.int64).reshape(shape)


def _distance(centre: Sequence[int], weights: Sequence[int]) -> exp.Expr:
    steps = [exp.Sub(this=_column(f"p{axis}"), expression=number(at)) for axis, at in enumerate(centre)]
    parts = zip(steps, weights, strict=True)
    return exp.cast(_total([_times(exp.Abs(this=step), weight) for step, weight in parts]), "BIGINT")


def _part(place: int, decay: Decay) -> exp.Expr:
    """Express (2 halving - rest) 2^(bits - halvings), and 0 where that is less than a share."""
    halvings = _column(f"h{place}")
    rest = _minus(_column(f"e{place}"), _times(halvings, decay.halving))
    shift = exp.cast(_minus(number(decay.bits), least([halvings.copy(), number(decay.bits)])), "INT")
    shifted = exp.BitwiseLeftShift(this=exp.Paren(this=_minus(number(2 * decay.halving), rest)), expression=shift)
    far = exp.GT(this=halvings.copy(), expression=number(decay.bits))
    return exp.cast(exp.Case().when(far, number(0)).else_(shifted), "BIGINT")


def least(values: Sequence[exp.Expr]) -> exp.Expr:
    """Take the smallest of some values."""
    return exp.Least(this=values[0], expressions=list(values[1:])) if len(values) > 1 else values[0]


def _minus(value: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Sub(this=value, expression=exp.Paren(this=other)))


def _times(value: exp.Expr, factor: int) -> exp.Expr:
    return exp.Mul(this=exp.Paren(this=value), expression=number(factor))


def _divided(value: exp.Expr, divisor: exp.Expr) -> exp.Expr:
    return exp.cast(exp.IntDiv(this=exp.Paren(this=value), expression=divisor), "BIGINT")


def _total(terms: Sequence[exp.Expr]) -> exp.Expr:
    total = terms[0]
    for term in terms[1:]:
        total = exp.Add(this=total, expression=term)
    return total


def nested(query: exp.Select, dialect: Dialect) -> exp.Subquery:
    """Nest a query so that its columns are worked out once: an offset of 0 keeps it apart where engines merge."""
    apart = query.offset(0, copy=False) if dialect.merging else query
    return apart.subquery(exp.to_identifier("nested", quoted=True), copy=False)


def _column(name: str) -> exp.Column:
    return exp.column(name, quoted=True)
