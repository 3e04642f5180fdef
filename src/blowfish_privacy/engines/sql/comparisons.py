"""Exact comparison of a column with a declared number, in the column's own type.

A declared edge is an exact fraction. Against whole numbers and decimals it is first rounded up to the next
number the column can hold, which changes no comparison; an edge beyond the column's reach becomes a constant,
so no literal ever overflows the column's type. Floats are compared with the float nearest to the edge.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from math import ceil, floor, isfinite, lcm, nan, nextafter

import numpy as np
from sqlglot import exp

from blowfish_privacy.domain import Binned, Date, Decimal, Integer, Marks
from blowfish_privacy.domain.attribute import ERROR
from blowfish_privacy.domain.date import DATE_LENGTHS, DATE_PATTERN
from blowfish_privacy.engines.engine import ColumnType
from blowfish_privacy.engines.sql.expressions import (
    DUCKDB,
    Dialect,
    divided,
    double,
    every,
    minus,
    number,
    plus,
    summed,
    times,
)


@dataclass(frozen=True)
class Value:
    """A column as read: its expression, its type, and for parsed text the text it was written as."""

    expression: exp.Column
    type: ColumnType
    written: exp.Column | None = None
    dialect: Dialect = DUCKDB

    def at_least(self, edge: Fraction) -> exp.Condition:
        """``value >= edge``."""
        reached = self.always(edge)
        if reached is not None:
            return exp.true() if reached else exp.false()
        value, edges = self.alongside([edge])
        return exp.GTE(this=value, expression=edges[0])

    def below(self, edge: Fraction) -> exp.Condition:
        """``value < edge``."""
        reached = self.always(edge)
        if reached is not None:
            return exp.false() if reached else exp.true()
        value, edges = self.alongside([edge])
        return exp.LT(this=value, expression=edges[0])

    def alongside(self, edges: Sequence[Fraction]) -> tuple[exp.Expr, list[exp.Expr]]:
        """Write the value and some edges so that they compare exactly.

        Numbers of any fineness cannot be rounded to, so an edge such as 1/3 is multiplied out, with the value.
        """
        if not self.type.special:
            return self.expression.copy(), [self.literal(edge) for edge in edges]
        factor = lcm(*(edge.denominator for edge in edges))
        value = exp.cast(self.expression.copy(), "DECIMAL")
        scaled = value if factor == 1 else exp.Mul(this=value, expression=number(factor))
        return scaled, [exp.cast(number(int(edge * factor)), "DECIMAL") for edge in edges]

    def within(self, low: Fraction, high: Fraction) -> exp.Condition:
        """``low <= value < high``, never true of a missing value."""
        parts = [self.at_least(low), self.below(high)]
        if any(isinstance(part, exp.Boolean) for part in parts):
            # A constant says nothing about NULL, which a comparison would have refused.
            parts.append(self.expression.is_(exp.null()).not_())
        return every(parts)

    def between(self, low: Fraction, high: Fraction) -> exp.Condition:
        """``low <= value <= high``, never true of a missing value; for exact numbers."""
        if self.type.special:
            value, edges = self.alongside([low, high])
            return exp.and_(exp.GTE(this=value, expression=edges[0]), exp.LTE(this=value.copy(), expression=edges[1]))
        return self.within(low, (floor(high / self.type.step) + 1) * self.type.step)

    def scaled(self, factor: int, *, most: Fraction) -> exp.Expr:
        """Multiply an exact number without rounding; its size is at most ``most`` wherever that is used."""
        if self.type.kind == "integer":
            wide = exp.cast(self.expression.copy(), "BIGINT")
            return wide if factor == 1 else exp.Mul(this=wide, expression=number(factor))
        if self.type.special:
            wide = exp.cast(self.expression.copy(), "DECIMAL")
            return wide if factor == 1 else exp.Mul(this=wide, expression=number(factor))
        if factor == 1:
            return self.expression.copy()
        # Products of decimals have as many digits as both together, and engines cut off what exceeds 38.
        narrow = decimal_of(len(str(int(most))) + self.places, self.places)
        by = exp.Cast(this=number(factor), to=decimal_of(len(str(factor)), 0))
        return exp.Mul(this=exp.Cast(this=self.expression.copy(), to=narrow), expression=by)

    @property
    def places(self) -> int:
        """How many digits of a decimal stand behind the point."""
        return len(str(self.type.step.denominator)) - 1

    def always(self, edge: Fraction) -> bool | None:
        """Say whether every value, or none, reaches an edge; None when it depends on the value."""
        if self.type.kind == "float" or self.type.special:
            return None
        rounded = self._rounded(edge)
        if rounded <= self.type.low:
            return True
        return False if rounded > self.type.high else None

    def literal(self, edge: Fraction) -> exp.Expr:
        """Write an edge in the column's type."""
        if self.type.kind == "float":
            return double(float(edge))
        rounded = self._rounded(edge)
        if self.type.kind == "integer":
            return number(int(rounded))
        scale = self.places
        shifted = int(rounded / self.type.step)
        digits = f"{abs(shifted):0{scale + 1}d}"
        point = len(digits) - scale
        text = f"{'-' if shifted < 0 else ''}{digits[:point]}.{digits[point:]}".rstrip(".")
        return exp.Cast(this=exp.Literal.string(text), to=self._decimal())

    def _decimal(self) -> exp.DataType:
        return decimal_of(self.type.digits, self.places)

    def nothing(self) -> exp.Expr:
        """Write NULL in the column's type, where a table needs one."""
        if self.type.kind == "decimal":
            return exp.Cast(this=exp.null(), to=self._decimal())
        return exp.cast(exp.null(), "DOUBLE" if self.type.kind == "float" else "BIGINT")

    def absent(self) -> exp.Condition:
        """``value`` is missing; a float that is not a number counts as missing."""
        missing: list[exp.Condition] = [(self.written or self.expression).is_(exp.null())]
        if self.type.kind == "float":
            missing.append(self.expression.eq(double(nan)))
        if self.type.special:
            not_a_number = exp.cast(exp.Literal.string("NaN"), "DECIMAL")
            missing.append(exp.EQ(this=exp.cast(self.expression.copy(), "DECIMAL"), expression=not_a_number))
        return exp.or_(*missing)

    def _rounded(self, edge: Fraction) -> Fraction:
        return ceil(edge / self.type.step) * self.type.step


def decimal_of(digits: int, places: int) -> exp.DataType:
    """Write a type of decimals."""
    size = [exp.DataTypeParam(this=exp.Literal.number(part)) for part in (digits, places)]
    return exp.DataType(this=exp.DType.DECIMAL, expressions=size)


# Which bin a number inside the bins falls in.
#
# Few bins, or very uneven ones, are found by bisection: a balanced tree of CASE. It costs one comparison per
# level, but every engine pays for each branch on each batch of rows, so many bins are found through a grid:
# an even ruler is laid over the bins, the number's place on it is computed, and a joined table says for each
# place how many edges lie safely below it and which edges are too near to tell without comparing.

_BISECTED = 64
_REFINEMENTS = (2, 4, 8, 16)
_NEAR = 2


@dataclass(frozen=True)
class Lookup:
    """A small table to join: its rows, its columns, and the key it is joined by (its first column)."""

    rows: Sequence[tuple[exp.Expr, ...]]
    columns: tuple[str, ...]
    key: exp.Expr


@dataclass(frozen=True)
class _Edges:
    """The inner edges a column's type can both reach and miss, after ``passed`` edges that it always reaches."""

    passed: int
    edges: tuple[Fraction, ...]

    @classmethod
    def of(cls, value: Value, binned: Binned) -> _Edges:
        inner = binned.bounds[1:-1]
        passed = sum(value.always(edge) is True for edge in inner)
        return cls(passed, tuple(edge for edge in inner if value.always(edge) is None))


def bin_position(value: Value, binned: Binned, alias: str) -> tuple[exp.Expr, Lookup | None]:
    """Return the position of a number that lies within the bins, and the table it is looked up in, if any."""
    edges = _Edges.of(value, binned)
    if value.dialect.bucketed and len(edges.edges) > _BISECTED:
        return _bucket(value, edges), None
    ruler = _Ruler.over(binned, edges) if len(edges.edges) > _BISECTED else None
    if ruler is None:
        return _bisect(value, edges, 0, len(edges.edges)), None
    position: exp.Expr = exp.column("base", alias, quoted=True)
    for nth in range(_NEAR):
        near = exp.GTE(this=value.expression.copy(), expression=exp.column(f"edge{nth}", alias, quoted=True))
        step = exp.Case().when(near, number(1)).else_(number(0))
        position = exp.Add(this=position, expression=step)
    lookup = Lookup(
        rows=[ruler.row(place, value, edges.passed) for place in range(-1, ruler.places + 2)],
        columns=("place", "base", *(f"edge{nth}" for nth in range(_NEAR))),
        key=ruler.place(value, binned),
    )
    return position, lookup


def _bucket(value: Value, edges: _Edges) -> exp.Expr:
    """Let the engine search the edges: it says how many of them the value reaches."""
    kind = {"float": "DOUBLE", "decimal": "DECIMAL", "integer": "BIGINT"}[value.type.kind]
    wanted, literals = value.alongside(edges.edges)
    array = exp.cast(exp.array(*literals), f"{kind}[]")
    place = exp.Anonymous(this="width_bucket", expressions=[exp.cast(wanted, kind), array])
    return exp.Add(this=place, expression=number(edges.passed))


def _bisect(value: Value, edges: _Edges, first: int, last: int) -> exp.Expr:
    if first == last:
        return number(edges.passed + first)
    middle = (first + last) // 2
    upper, lower = _bisect(value, edges, middle + 1, last), _bisect(value, edges, first, middle)
    return exp.Case().when(value.at_least(edges.edges[middle]), upper).else_(lower)


@dataclass(frozen=True)
class _Ruler:
    """An even division of the range of the bins into places.

    Engines may round the computed place differently at its borders. An edge therefore counts as safely
    below a number only when its place is two or more lower; those up to one place away are compared.
    """

    low: float
    scale: float
    places: int
    at: tuple[int, ...]
    edges: tuple[Fraction, ...]

    @classmethod
    def over(cls, binned: Binned, edges: _Edges) -> _Ruler | None:
        """Lay the coarsest ruler that leaves at most two edges near any place; None when the bins are too uneven."""
        low, high = float(binned.bounds[0]), float(binned.bounds[-1])
        for refinement in _REFINEMENTS:
            places = refinement * binned.size
            scale = places / (high - low)
            if not isfinite(high - low) or not isfinite(scale):
                return None
            at = tuple(floor((float(edge) - low) * scale) for edge in edges.edges)
            crowded = any(later - earlier <= 2 for earlier, later in zip(at, at[_NEAR:], strict=False))
            if not crowded:
                return cls(low, scale, places, at, edges.edges)
        return None

    def place(self, value: Value, binned: Binned) -> exp.Expr:
        """Compute a number's place; NULL outside the bins, where the arithmetic could overflow."""
        shifted = exp.Sub(this=exp.cast(value.expression.copy(), "DOUBLE"), expression=double(self.low))
        scaled = exp.Mul(this=exp.Paren(this=shifted), expression=double(self.scale))
        place = exp.cast(exp.Floor(this=scaled), "BIGINT")
        return exp.Case().when(value.within(binned.bounds[0], binned.bounds[-1]), place)

    def row(self, place: int, value: Value, passed: int) -> tuple[exp.Expr, ...]:
        """Say what is known of the numbers at a place."""
        first, last = bisect_left(self.at, place - 1), bisect_right(self.at, place + 1)
        near = [value.literal(edge) for edge in self.edges[first:last]]
        near += [value.nothing()] * (_NEAR - len(near))
        return number(place), number(passed + first), *near


# The position of a number among evenly spaced ones, whatever type of number the column holds.
#
# Whole numbers and decimals are multiplied out and compared as they are. Floats are read as
# :mod:`blowfish_privacy.domain.numbers` says, with the same operations in the same order. No cast ever rounds: what is
# cast to a whole number is one already, and lies within the bounds.


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


# The day, week or month that a date, a time or the text of a date lies in.
#
# Dates and times are compared in their own type, so that infinite ones need no care; finer times are rounded to
# microseconds before. Text becomes a whole number such as 20200131, which is in the order of the dates; the number of
# its day is computed from that.

WRITTEN = ColumnType.integer(0, 99_991_231)
"""The type of dates that were read from text."""
_LITERALS = {
    "date": ("DATE", ""),
    "timestamp": ("TIMESTAMPNTZ", " 00:00:00"),
    "instant": ("TIMESTAMPTZ", " 00:00:00+00:00"),
}
_DAYS_BEFORE_MARCH_OF_YEAR_0 = 306
"""From the first of March of the year 0 to the first day of the year 1."""


@dataclass(frozen=True)
class Dated:
    """Where a date lies: whether within the bounds, and if so in which step."""

    inside: exp.Condition
    below: exp.Condition
    position: exp.Expr


def locate_date(attribute: Date, value: Value) -> Dated:
    """Express the position of a date."""
    first, after = attribute.start, attribute.end + timedelta(days=1)
    if value.type.kind == "integer":
        low, end = number(_key(first)), number(_key(attribute.end))
        own = read = value.expression
        inside = every([exp.GTE(this=read.copy(), expression=low), exp.LTE(this=read.copy(), expression=end)])
    else:
        low, end = _literal(first, value.type.kind), _literal(after, value.type.kind)
        # Finer times are rounded to microseconds first, once and for all that is asked of them.
        own = exp.cast(value.expression.copy(), _LITERALS[value.type.kind][0])
        read = value.dialect.utc_day(own) if value.type.kind == "instant" else own
        inside = every([exp.GTE(this=own.copy(), expression=low), exp.LT(this=own.copy(), expression=end)])
    below = exp.LT(this=own.copy(), expression=low.copy())
    return Dated(inside, below, _position(attribute, value, read))


def parsed_date(text: exp.Expr) -> exp.Expr:
    """Turn text into a number such as 20200131; text that is not a date becomes NULL."""

    def part(start: int, length: int) -> exp.Expr:
        cut = exp.Substring(this=text.copy(), start=number(start), length=number(length))
        return exp.cast(cut, "BIGINT")

    year, month, day = part(1, 4), part(6, 2), part(9, 2)
    shaped = exp.and_(
        # The end of a pattern may stand before a last line break, which makes the text longer.
        exp.Length(this=text.copy()).isin(*DATE_LENGTHS),
        exp.RegexpLike(this=text.copy(), expression=exp.Literal.string(f"^{DATE_PATTERN}$")),
    )
    exists = every([
        exp.GTE(this=year.copy(), expression=number(1)),
        exp.Between(this=month.copy(), low=number(1), high=number(12)),
        exp.Between(this=day.copy(), low=number(1), high=_length_of_month(year.copy(), month.copy())),
    ])  # fmt: skip
    key = summed([times(year, 10_000), times(month, 100), day])
    return exp.Case().when(shaped, exp.Case().when(exists, key))


def _position(attribute: Date, value: Value, read: exp.Expr) -> exp.Expr:
    if attribute.step == "month":
        months = summed([times(_part("YEAR", value, read), 12), _part("MONTH", value, read)])
        return minus(months, number(12 * attribute.start.year + attribute.start.month))
    days = _days(attribute.start, value, read)
    return days if attribute.step == "day" else divided(plus(days, attribute.start.weekday()), 7)


def _days(first: date, value: Value, read: exp.Expr) -> exp.Expr:
    """Count the days from a date."""
    if value.type.kind != "integer":
        return value.dialect.days_after(exp.cast(read.copy(), "DATE"), _literal(first, "date"))
    year, month, day = (_part(name, value, read) for name in ("YEAR", "MONTH", "DAY"))
    return minus(_ordinal(year, month, day), number(first.toordinal()))


def _part(name: str, value: Value, read: exp.Expr) -> exp.Expr:
    if value.type.kind == "integer":
        whole = divided(read.copy(), {"YEAR": 10_000, "MONTH": 100, "DAY": 1}[name])
        return whole if name == "YEAR" else _rest(whole, 100)
    return exp.cast(exp.Extract(this=exp.var(name), expression=exp.cast(read.copy(), "DATE")), "BIGINT")


def _ordinal(year: exp.Expr, month: exp.Expr, day: exp.Expr) -> exp.Expr:
    """Number the days since the year 1, with years that begin in March, so that leap days come last."""
    early = exp.Case().when(exp.LTE(this=month.copy(), expression=number(2)), number(1)).else_(number(0))
    since = minus(year, early)
    shifted = plus(minus(month.copy(), number(3)), 0)
    shifted = exp.Case().when(exp.LTE(this=month, expression=number(2)), plus(shifted.copy(), 12)).else_(shifted)
    within = divided(plus(times(shifted, 153), 2), 5)
    leap = [divided(since.copy(), 4), divided(since.copy(), 400)]
    days = summed([times(since.copy(), 365), *leap, within, day])
    return minus(minus(days, divided(since, 100)), number(_DAYS_BEFORE_MARCH_OF_YEAR_0))


def _length_of_month(year: exp.Expr, month: exp.Expr) -> exp.Expr:
    leap = exp.or_(
        exp.and_(
            exp.EQ(this=_rest(year.copy(), 4), expression=number(0)),
            exp.NEQ(this=_rest(year.copy(), 100), expression=number(0)),
        ),
        exp.EQ(this=_rest(year.copy(), 400), expression=number(0)),
    )
    short = exp.Case().when(leap, number(29)).else_(number(28))
    thirty = month.copy().isin(4, 6, 9, 11)
    return exp.Case().when(exp.EQ(this=month, expression=number(2)), short).when(thirty, number(30)).else_(number(31))


def _rest(value: exp.Expr, divisor: int) -> exp.Expr:
    """The remainder of a non-negative whole number."""
    return minus(value.copy(), times(divided(value, divisor), divisor))


def _key(day: date) -> int:
    return 10_000 * day.year + 100 * day.month + day.day


def _literal(day: date, kind: str) -> exp.Expr:
    name, suffix = _LITERALS[kind]
    return exp.cast(exp.Literal.string(f"{day.isoformat()}{suffix}"), name)
