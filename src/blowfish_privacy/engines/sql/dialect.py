"""The few points in which the SQL of engines differs beyond what the SQL library translates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp


def _dates_subtracted(day: exp.Expr, first: exp.Expr) -> exp.Expr:
    return exp.cast(exp.Paren(this=exp.Sub(this=day, expression=first)), "BIGINT")


def _day_at_utc(instant: exp.Expr) -> exp.Expr:
    return exp.cast(exp.AtTimeZone(this=instant.copy(), zone=exp.Literal.string("UTC")), "DATE")


def _day_of_microseconds(instant: exp.Expr) -> exp.Expr:
    # A time zone would need an extension, and the session's own would count otherwise.
    count = exp.Anonymous(this="epoch_us", expressions=[exp.cast(instant.copy(), "TIMESTAMPTZ")])
    return exp.cast(exp.Anonymous(this="make_timestamp", expressions=[count]), "DATE")


def _spark_days(day: exp.Expr, first: exp.Expr) -> exp.Expr:
    return exp.cast(exp.Anonymous(this="DATEDIFF", expressions=[day, first]), "BIGINT")


def _day_of_seconds(instant: exp.Expr) -> exp.Expr:
    # Whole days of seconds are exact as floats, and all others are far from a whole number.
    seconds = exp.Anonymous(this="UNIX_SECONDS", expressions=[instant.copy()])
    days = exp.cast(exp.Floor(this=exp.Div(this=seconds, expression=exp.Literal.number(86_400))), "INT")
    return exp.Anonymous(this="DATE_FROM_UNIX_DATE", expressions=[days])


@dataclass(frozen=True)
class Dialect:
    """How one engine writes what the builder of queries needs."""

    name: str
    """The SQL library's name for it."""
    bytewise: str
    """The collation under which text is equal only byte for byte."""
    quoted: bool = True
    """Whether that collation is written as an identifier."""
    bucketed: bool = False
    """Whether ``width_bucket`` searches a sorted array, so that many bins need no table."""
    broadcast: bool = False
    """Whether a join must be told to send its small table to all workers."""
    merging: bool = False
    """Whether nested queries are merged, so that what is worked out once is worked out at every use."""
    days_after: Callable[[exp.Expr, exp.Expr], exp.Expr] = _dates_subtracted
    """Counts the days from the second date to the first."""
    utc_day: Callable[[exp.Expr], exp.Expr] = _day_of_microseconds
    """Gives the date, in UTC, of a time with a time zone."""


DUCKDB = Dialect("duckdb", "C")
POSTGRES = Dialect("postgres", "C", bucketed=True, merging=True, utc_day=_day_at_utc)
SPARK = Dialect("spark", "UTF8_BINARY", quoted=False, broadcast=True, days_after=_spark_days, utc_day=_day_of_seconds)
