"""The day, week or month that a date, a time or the text of a date lies in.

Dates and times are compared in their own type, so that infinite ones need no care; finer times are rounded to
microseconds before. Text becomes a whole number such as 20200131, which is in the order of the dates; the number of its
day is computed from that.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from sqlglot import exp

from blowfish_privacy.domain import Date
from blowfish_privacy.domain.date import DATE_LENGTHS, DATE_PATTERN
from blowfish_privacy.engines.sql.columns import ColumnType
from blowfish_privacy.engines.sql.comparisons import Value
from blowfish_privacy.engines.sql.expressions import divided, every, minus, number, plus, summed, times

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
