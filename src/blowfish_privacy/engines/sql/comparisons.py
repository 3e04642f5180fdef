"""Exact comparison of a column with declared numbers and dates, and the position among these, in the column's own type.

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
    column,
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
        value, (least,) = self.alongside([edge])
        return value >= least

    def below(self, edge: Fraction) -> exp.Condition:
        """``value < edge``."""
        reached = self.always(edge)
        if reached is not None:
            return exp.false() if reached else exp.true()
        value, (end,) = self.alongside([edge])
        return value < end

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
            value, (least, most) = self.alongside([low, high])
            return exp.and_(value >= least, value <= most)
        return self.within(low, (floor(high / self.type.step) + 1) * self.type.step)

    def scaled(self, factor: int, *, most: Fraction) -> exp.Expr:
        """Multiply an exact number without rounding; its size is at most ``most`` wherever that is used."""
        if self.type.kind == "integer" or self.type.special:
            wide = exp.cast(self.expression.copy(), "DECIMAL" if self.type.special else "BIGINT")
            return wide if factor == 1 else wide * factor
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
            missing.append(exp.cast(self.expression.copy(), "DECIMAL").eq(not_a_number))
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


def bin_position(value: Value, binned: Binned, alias: str) -> tuple[exp.Expr, Lookup | None]:
    """Return the position of a number that lies within the bins, and the table it is looked up in, if any."""
    # Of the inner edges, those that the column's type can both reach and miss, after those that it always reaches.
    inner = binned.bounds[1:-1]
    edges = tuple(edge for edge in inner if value.always(edge) is None)
    passed = sum(value.always(edge) is True for edge in inner)
    if value.dialect.bucketed and len(edges) > _BISECTED:
        # The engine searches the edges: it says how many of them the value reaches.
        kind = {"float": "DOUBLE", "decimal": "DECIMAL", "integer": "BIGINT"}[value.type.kind]
        wanted, literals = value.alongside(edges)
        array = exp.cast(exp.array(*literals), f"{kind}[]")
        return exp.Anonymous(this="width_bucket", expressions=[exp.cast(wanted, kind), array]) + passed, None
    ruler = _Ruler.over(binned, edges) if len(edges) > _BISECTED else None
    if ruler is None:
        return _bisect(value, edges, passed), None
    position: exp.Expr = column("base", alias)
    for nth in range(_NEAR):
        near = value.expression >= column(f"edge{nth}", alias)
        position = exp.Add(this=position, expression=exp.Case().when(near, number(1)).else_(number(0)))
    lookup = Lookup(
        rows=[ruler.row(place, value, passed) for place in range(-1, ruler.places + 2)],
        columns=("place", "base", *(f"edge{nth}" for nth in range(_NEAR))),
        key=ruler.place(value, binned),
    )
    return position, lookup


def _bisect(value: Value, edges: Sequence[Fraction], passed: int) -> exp.Expr:
    """Count the edges that the value reaches, beyond those that are passed."""
    if not edges:
        return number(passed)
    middle = len(edges) // 2
    upper, lower = _bisect(value, edges[middle + 1 :], passed + middle + 1), _bisect(value, edges[:middle], passed)
    return exp.Case().when(value.at_least(edges[middle]), upper).else_(lower)


@dataclass(frozen=True)
class _Ruler:
    """An even division of the range of the bins into places.

    Engines may round the computed place differently at its borders. An edge therefore counts as safely
    below a number only when its place is two or more lower; those up to one place away are compared.
    """

    low: float
    scale: float
    places: int
    at: Sequence[int]
    edges: Sequence[Fraction]

    @classmethod
    def over(cls, binned: Binned, edges: Sequence[Fraction]) -> _Ruler | None:
        """Lay the coarsest ruler that leaves at most two edges near any place; None when the bins are too uneven."""
        low, high = float(binned.bounds[0]), float(binned.bounds[-1])
        for refinement in _REFINEMENTS:
            places = refinement * binned.size
            scale = places / (high - low)
            if not isfinite(high - low) or not isfinite(scale):
                return None
            at = tuple(floor((float(edge) - low) * scale) for edge in edges)
            crowded = any(later - earlier <= 2 for earlier, later in zip(at, at[_NEAR:], strict=False))
            if not crowded:
                return cls(low, scale, places, at, edges)
        return None

    def place(self, value: Value, binned: Binned) -> exp.Expr:
        """Compute a number's place; NULL outside the bins, where the arithmetic could overflow."""
        scaled = (_double(value.expression) - double(self.low)) * double(self.scale)
        place = _big(exp.Floor(this=scaled))
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
    """Where a number or a date lies: whether within the values, and if so whether it is one of them; its position."""

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
    checks = [] if whole else [scaled.eq(exp.Floor(this=scaled.copy()))]
    position = divided(offset, marks.step)
    if marks.step > 1:
        checks.append(_rest(offset, marks.step).eq(0))
    return Located(inside, value.below(low), exp.true() if rounds else every(checks), position)


def _whole_float(attribute: Integer, value: Value) -> Located:
    """Compare a float with its own whole part; beyond 2^53 every float is whole, and means what it is."""
    low, high = float(attribute.low), float(attribute.high)
    low = nextafter(low, np.inf) if low < attribute.low else low
    high = nextafter(high, -np.inf) if high > attribute.high else high
    read = _double(value.expression)
    whole = read.eq(_double(exp.Floor(this=read.copy())))
    return Located(_between(read, low, high), read < double(low), whole, plus(_big(read), -attribute.low))


def _exact_float(attribute: Decimal, value: Value) -> Located:
    """Find the only mark that a float may be, and compare it with the floats nearest to that."""
    marks, read = attribute.marks, _double(value.expression)
    numerator = _big(exp.Floor(this=read * double(float(marks.denominator)) + double(0.5)))
    offset = plus(numerator, -marks.first)
    is_it = exp.or_(*(read.eq(each) for each in _floats(marks, numerator)))
    checks: list[exp.Condition] = [exp.Paren(this=is_it), offset >= 0, offset <= marks.step * (attribute.size - 1)]
    if marks.step > 1:
        checks.append(_rest(offset, marks.step).eq(0))
    low, high = attribute.float_bounds
    return Located(_between(read, low, high), read < double(low), every(checks), divided(offset, marks.step))


def _rounded_float(attribute: Decimal, value: Value) -> Located:
    """Guess the last mark that a float reaches, which is off by one at most, and compare it with both neighbours."""
    marks, read = attribute.borders, _double(value.expression)
    product = read * double(float(marks.denominator))
    guess = divided(plus(_big(exp.Floor(this=product)), -marks.first), marks.step)

    def reaches(mark: exp.Expr) -> exp.Condition:
        numerator = plus(times(mark, marks.step), marks.first)
        return exp.or_(*(read >= each for each in _floats(marks, numerator)))

    up = exp.Case().when(reaches(plus(guess.copy(), 1)), number(1)).else_(number(0))
    down = exp.Case().when(reaches(guess.copy()), number(0)).else_(number(1))
    low, end = attribute.float_bounds
    inside = every([read >= double(low), read < double(end)])
    return Located(inside, read < double(low), exp.true(), minus(guess + up, down))


def _floats(marks: Marks, numerator: exp.Expr) -> list[exp.Expr]:
    """The floats that count as a mark: the 64-bit float nearest to it, and the 32-bit one.

    Both parts of the fraction are exact as floats, and engines divide floats correctly.
    """
    nearest = _double(numerator) / double(float(marks.denominator))
    return [nearest, *([_double(exp.cast(nearest.copy(), "FLOAT"))] if marks.single else [])]


def _double(expression: exp.Expr) -> exp.Expr:
    return exp.cast(expression.copy(), "DOUBLE")


def _big(expression: exp.Expr) -> exp.Expr:
    return exp.cast(expression.copy(), "BIGINT")


def _between(read: exp.Expr, low: float, high: float) -> exp.Condition:
    return every([read >= double(low), read <= double(high)])


def _rest(value: exp.Expr, divisor: int) -> exp.Expr:
    """The remainder of a non-negative whole number."""
    return minus(value.copy(), times(divided(value.copy(), divisor), divisor))


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


def locate_date(attribute: Date, value: Value) -> Located:
    """Express the position of a date."""
    if value.type.kind == "integer":
        low, last = (number(10_000 * day.year + 100 * day.month + day.day) for day in (attribute.start, attribute.end))
        read = value.expression
        return Located(every([read >= low, read <= last]), read < low, exp.true(), _step(attribute, value, read))
    low, end = (_literal(day, value.type.kind) for day in (attribute.start, attribute.end + timedelta(days=1)))
    # Finer times are rounded to microseconds first, once and for all that is asked of them.
    own = exp.cast(value.expression.copy(), _LITERALS[value.type.kind][0])
    read = value.dialect.utc_day(own) if value.type.kind == "instant" else own
    return Located(every([own >= low, own < end]), own < low, exp.true(), _step(attribute, value, read))


def parsed_date(text: exp.Expr) -> exp.Expr:
    """Turn text into a number such as 20200131; text that is not a date becomes NULL."""
    year, month, day = (
        _big(exp.Substring(this=text.copy(), start=number(start), length=number(length)))
        for start, length in ((1, 4), (6, 2), (9, 2))
    )
    shaped = exp.and_(
        # The end of a pattern may stand before a last line break, which makes the text longer.
        exp.Length(this=text.copy()).isin(*DATE_LENGTHS),
        exp.RegexpLike(this=text.copy(), expression=exp.Literal.string(f"^{DATE_PATTERN}$")),
    )
    leap = exp.or_(exp.and_(_rest(year, 4).eq(0), _rest(year, 100).neq(0)), _rest(year, 400).eq(0))
    february = exp.Case().when(leap, number(29)).else_(number(28))
    longest = exp.Case().when(month.eq(2), february).when(month.isin(4, 6, 9, 11), number(30)).else_(number(31))
    exists = every([year >= 1, month.between(1, 12), day.between(1, longest)])
    key = summed([times(year, 10_000), times(month, 100), day])
    return exp.Case().when(shaped, exp.Case().when(exists, key))


def _step(attribute: Date, value: Value, read: exp.Expr) -> exp.Expr:
    """Count the days, weeks or months since the first one."""
    first, written = attribute.start, value.type.kind == "integer"
    if written:
        parts = [divided(read.copy(), 10_000), _rest(divided(read.copy(), 100), 100), _rest(read, 100)]
    else:
        names = ("YEAR", "MONTH", "DAY")
        parts = [_big(exp.Extract(this=exp.var(name), expression=exp.cast(read.copy(), "DATE"))) for name in names]
    year, month, day = parts
    if attribute.step == "month":
        return minus(summed([times(year, 12), month]), number(12 * first.year + first.month))
    if written:
        days = minus(_ordinal(year, month, day), number(first.toordinal()))
    else:
        days = value.dialect.days_after(exp.cast(read.copy(), "DATE"), _literal(first, "date"))
    return days if attribute.step == "day" else divided(plus(days, first.weekday()), 7)


def _ordinal(year: exp.Expr, month: exp.Expr, day: exp.Expr) -> exp.Expr:
    """Number the days since the year 1, with years that begin in March, so that leap days come last."""
    since = minus(year, exp.Case().when(month <= 2, number(1)).else_(number(0)))
    shifted = minus(month.copy(), number(3))
    shifted = exp.Case().when(month <= 2, plus(shifted.copy(), 12)).else_(shifted)
    within = divided(plus(times(shifted, 153), 2), 5)
    leap = [divided(since.copy(), 4), divided(since.copy(), 400)]
    days = summed([times(since.copy(), 365), *leap, within, day])
    return minus(minus(days, divided(since, 100)), number(_DAYS_BEFORE_MARCH_OF_YEAR_0))


def _literal(day: date, kind: str) -> exp.Expr:
    name, suffix = _LITERALS[kind]
    return exp.cast(exp.Literal.string(f"{day.isoformat()}{suffix}"), name)
