"""The building blocks of our SQL: literals, columns, nested queries, and arithmetic on whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

# The few points in which the SQL of engines differs beyond what the SQL library translates.


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
    """Whether a join needs a hint to send its small table to all workers."""
    merging: bool = False
    """Whether nested queries are merged, so that what is worked out once is worked out at every use."""
    days_after: Callable[[exp.Expr, exp.Expr], exp.Expr] = _dates_subtracted
    """Counts the days from the second date to the first."""
    utc_day: Callable[[exp.Expr], exp.Expr] = _day_of_microseconds
    """Gives the date, in UTC, of a time with a time zone."""


DUCKDB = Dialect("duckdb", "C")
POSTGRES = Dialect("postgres", "C", bucketed=True, merging=True, utc_day=_day_at_utc)
SPARK = Dialect("spark", "UTF8_BINARY", quoted=False, broadcast=True, days_after=_spark_days, utc_day=_day_of_seconds)


def number(value: int) -> exp.Expr:
    """Write a whole number; a negative one in brackets of its own."""
    return exp.Literal.number(value) if value >= 0 else exp.Paren(this=exp.Neg(this=exp.Literal.number(-value)))


def double(value: float) -> exp.Expr:
    """Write a float so that it is read back as itself."""
    # Built by hand: the library would parse the type's name anew for each of thousands of edges.
    return exp.Cast(this=exp.Literal.string(repr(value)), to=exp.DataType(this=exp.DType.DOUBLE))


def identifier(name: str) -> exp.Identifier:
    """Quote a name."""
    return exp.to_identifier(name, quoted=True)


def column(name: str, table: str | None = None) -> exp.Column:
    """Refer to a column by its quoted name."""
    return exp.column(name, table, quoted=True)


def nested(query: exp.Select, alias: str) -> exp.Subquery:
    """Use a query as a table."""
    return query.subquery(identifier(alias), copy=False)


def nested_apart(query: exp.Select, dialect: Dialect) -> exp.Subquery:
    """Use a query as a table whose columns are worked out once: an offset of 0 keeps it apart where engines merge."""
    return nested(query.offset(0, copy=False) if dialect.merging else query, "nested")


def every(parts: Iterable[exp.Condition]) -> exp.Condition:
    """Join conditions, leaving out those that always hold."""
    needed = [part for part in parts if not (isinstance(part, exp.Boolean) and part.this)]
    return exp.and_(*needed) if needed else exp.true()


def rows_counted() -> exp.Expr:
    """Count the rows of a group."""
    return exp.cast(exp.Count(this=exp.Star()), "BIGINT")


def summed(terms: Sequence[exp.Expr]) -> exp.Expr:
    """Add up at least one term."""
    total = terms[0]
    for term in terms[1:]:
        total = exp.Add(this=total, expression=term)
    return total


def plus(value: exp.Expr, amount: int) -> exp.Expr:
    """Add a constant."""
    return exp.Paren(this=exp.Add(this=value, expression=number(amount))) if amount else value


def minus(value: exp.Expr, other: exp.Expr) -> exp.Expr:
    """Subtract."""
    return exp.Paren(this=exp.Sub(this=value, expression=exp.Paren(this=other)))


def times(value: exp.Expr, factor: int) -> exp.Expr:
    """Multiply by a constant."""
    return value if factor == 1 else exp.Mul(this=exp.Paren(this=value), expression=number(factor))


def divided(value: exp.Expr, divisor: int | exp.Expr, kind: str = "BIGINT") -> exp.Expr:
    """Divide a non-negative whole number, leaving out the remainder."""
    if divisor == 1:
        return value
    by = number(divisor) if isinstance(divisor, int) else divisor
    return exp.cast(exp.IntDiv(this=exp.Paren(this=value), expression=by), kind)


def least(values: Sequence[exp.Expr]) -> exp.Expr:
    """Take the smallest of some values, none of which is NULL."""
    return exp.Least(this=values[0], expressions=list(values[1:])) if len(values) > 1 else values[0]


def clipped(value: exp.Expr, reach: int) -> exp.Expr:
    """Keep a value, which is not NULL, between ``-reach`` and ``reach``."""
    return exp.Least(this=exp.Greatest(this=value, expressions=[number(-reach)]), expressions=[number(reach)])
