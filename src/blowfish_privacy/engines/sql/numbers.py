"""The position of a number among evenly spaced ones, whatever type of number the column holds.

Whole numbers and decimals are multiplied out and compared as they are. Floats are read as
:mod:`blowfish_privacy.domain.numbers` says, with the same operations in the same order. No cast ever rounds: what is
cast to a whole number is one already, and lies within the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nextafter

import numpy as np
from sqlglot import exp

from blowfish_privacy.domain import Decimal, Integer, Marks
from blowfish_privacy.domain.attribute import ERROR
from blowfish_privacy.engines.sql.comparisons import Value
from blowfish_privacy.engines.sql.expressions import divided, double, every, minus, number, plus, times


@dataclass(frozen=True)
class Located:
    """Where a number lies: whether within the values, and if so whether it is one of them, and its position."""

    inside: exp.Condition
    below: exp.Condition
    declared: exp.Condition
    position: exp.Expr


def locate(attribute: Integer | Decimal, value: Value) -> Located:
    """Express the position of a number."""
    if value.type.kind != "float":
        return _exact(attribute, value)
    if isinstance(attribute, Integer):
        return _whole_float(attribute, value)
    return _exact_float(attribute, value) if attribute.round == ERROR else _rounded_float(attribute, value)


def _exact(attribute: Integer | Decimal, value: Value) -> Located:
    """Multiply a whole number or a decimal until all values are whole."""
    marks = Marks(attribute.low, 1, 1) if isinstance(attribute, Integer) else attribute.borders
    low, end = marks.number(0), marks.number(attribute.size)
    rounds = isinstance(attribute, Decimal) and attribute.round != ERROR
    inside = value.within(low, end) if rounds else value.between(low, marks.number(attribute.size - 1))
    scaled = value.scaled(marks.denominator, most=max(abs(low), abs(end)))
    whole = value.type.kind == "integer"
    offset = plus(_big(scaled if whole else exp.Floor(this=scaled)), -marks.first)
    position = divided(offset, marks.step)
    checks = [] if whole else [exp.EQ(this=scaled.copy(), expression=exp.Floor(this=scaled.copy()))]
    if marks.step > 1:
        rest = minus(offset.copy(), times(position.copy(), marks.step))
        checks.append(exp.EQ(this=rest, expression=number(0)))
    return Located(inside, value.below(low), exp.true() if rounds else every(checks), position)


def _whole_float(attribute: Integer, value: Value) -> Located:
    """Compare a float with its own whole part; beyond 2^53 every float is whole, and means what it is."""
    low, high = float(attribute.low), float(attribute.high)
    low = nextafter(low, np.inf) if low < attribute.low else low
    high = nextafter(high, -np.inf) if high > attribute.high else high
    read = _double(value)
    whole = exp.EQ(this=read, expression=_double_of(exp.Floor(this=read.copy())))
    return Located(_between(read, low, high), _less(read, low), whole, plus(_big(read.copy()), -attribute.low))


def _exact_float(attribute: Decimal, value: Value) -> Located:
    """Find the only mark that a float may be, and compare it with the floats nearest to that."""
    marks, read = attribute.marks, _double(value)
    scaled = exp.Add(this=_product(read, marks.denominator), expression=double(0.5))
    numerator = _big(exp.Floor(this=scaled))
    nearest = _nearest(numerator.copy(), marks.denominator)
    offset = plus(numerator, -marks.first)
    position = divided(offset, marks.step)
    is_it = exp.or_(*(exp.EQ(this=read.copy(), expression=each) for each in _floats(marks, nearest)))
    checks: list[exp.Condition] = [exp.Paren(this=is_it), _at_least(offset.copy(), 0)]
    checks.append(exp.LTE(this=offset.copy(), expression=number(marks.step * (attribute.size - 1))))
    if marks.step > 1:
        rest = minus(offset.copy(), times(position.copy(), marks.step))
        checks.append(exp.EQ(this=rest, expression=number(0)))
    low, high = attribute.float_bounds
    return Located(_between(read, low, high), _less(read, low), every(checks), position)


def _rounded_float(attribute: Decimal, value: Value) -> Located:
    """Guess the last mark that a float reaches, which is off by one at most, and compare it with both neighbours."""
    marks, read = attribute.borders, _double(value)
    guess = divided(plus(_big(exp.Floor(this=_product(read, marks.denominator))), -marks.first), marks.step)

    def reaches(mark: exp.Expr) -> exp.Condition:
        nearest = _nearest(plus(times(mark, marks.step), marks.first), marks.denominator)
        return exp.or_(*(exp.GTE(this=read.copy(), expression=each) for each in _floats(marks, nearest)))

    up = exp.Case().when(reaches(plus(guess.copy(), 1)), number(1)).else_(number(0))
    down = exp.Case().when(reaches(guess.copy()), number(0)).else_(number(1))
    position = minus(exp.Add(this=guess, expression=up), down)
    low, end = attribute.float_bounds
    inside = every([exp.GTE(this=read, expression=double(low)), exp.LT(this=read.copy(), expression=double(end))])
    return Located(inside, _less(read, low), exp.true(), position)


def _double(value: Value) -> exp.Expr:
    return _double_of(value.expression.copy())


def _double_of(expression: exp.Expr) -> exp.Expr:
    return exp.cast(expression, "DOUBLE")


def _floats(marks: Marks, nearest: exp.Expr) -> list[exp.Expr]:
    """The floats that count as a mark: the 64-bit float nearest to it, and the 32-bit one."""
    return [nearest, *([_double_of(exp.cast(nearest.copy(), "FLOAT"))] if marks.single else [])]


def _big(expression: exp.Expr) -> exp.Expr:
    return exp.cast(expression, "BIGINT")


def _product(read: exp.Expr, factor: int) -> exp.Expr:
    return exp.Mul(this=read.copy(), expression=double(float(factor)))


def _nearest(numerator: exp.Expr, denominator: int) -> exp.Expr:
    """The float nearest to a fraction: both parts are exact as floats, and engines divide floats correctly."""
    return exp.Div(this=_double_of(numerator), expression=double(float(denominator)))


def _between(read: exp.Expr, low: float, high: float) -> exp.Condition:
    return every([
        exp.GTE(this=read.copy(), expression=double(low)),
        exp.LTE(this=read.copy(), expression=double(high)),
    ])  # fmt: skip


def _less(read: exp.Expr, low: float) -> exp.Condition:
    return exp.LT(this=read.copy(), expression=double(low))


def _at_least(offset: exp.Expr, least: int) -> exp.Condition:
    return exp.GTE(this=offset, expression=number(least))
