"""Which values are not declared, and which declared ones do not occur: for the custodian's check and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from itertools import islice

from sqlglot import exp

from blowfish_privacy.domain import Attribute, Categorical, Date, Integer
from blowfish_privacy.domain.date import DATE_PATTERN
from blowfish_privacy.domain.numbers import DATES_HINT, DECIMALS_HINT
from blowfish_privacy.engines.check import ColumnCheck
from blowfish_privacy.engines.sources.sources import Opened
from blowfish_privacy.engines.sql.expressions import column, nested, number, rows_counted
from blowfish_privacy.engines.sql.positions import Verdicts
from blowfish_privacy.engines.sql.problems import MALFORMED, OUTSIDE
from blowfish_privacy.engines.sql.rows import Field, joined, read, source
from blowfish_privacy.engines.sql.text import needs_parsing

MOST_SHOWN = 10
"""Values that are shown of each column."""
_LONGEST = 60
_DECIMAL = r"[-+]?[0-9]*[.][0-9]+"
_OTHER_DATE = r"([0-9]{1,2}([/.-])[0-9]{1,2}\2[0-9]{4}|[0-9]{4}([/.])[0-9]{1,2}\3[0-9]{1,2})( .*)?"
"""Dates as people write them, whichever number is the day."""
YEAR_FIRST = "dates in text are read with the year first, as in 2020-01-31, and a time of day may follow."
_MOST_CATEGORIES = 100_000


def with_values(check: ColumnCheck, attribute: Attribute, opened: Opened) -> ColumnCheck:
    """Add to the counts of a column the values that they are about; the column alone is open."""
    field = Field(0, attribute, opened.types[0], Verdicts.whatever_is_declared(attribute), opened.dialect)
    if check.malformed or (check.outside and not attribute.ordered):
        shown = _most_frequent(field, opened)
        check = replace(check, undeclared=shown, hints=tuple(_hints(attribute, [value for value, _ in shown])))
    if check.outside and attribute.ordered:
        smallest, largest = opened.ask(_extremes(field)).fetchall()[0]
        check = replace(check, smallest=_end(smallest), largest=_end(largest))
    if isinstance(attribute, Categorical) and attribute.size <= _MOST_CATEGORIES:
        seen = {int(row[0]) for row in opened.ask(_occurring(field)).fetchall()}
        absent = (attribute.show(position) for position in range(attribute.size) if position not in seen)
        check = replace(check, unused=tuple(islice(absent, MOST_SHOWN)))
    return check


def _hints(attribute: Attribute, values: Sequence[str]) -> Iterator[str]:
    """Say how dates and numbers with decimals are declared or written, where the column holds such."""
    other_dates = any(re.fullmatch(_OTHER_DATE, value) for value in values)
    if isinstance(attribute, Date):
        yield from [YEAR_FIRST] if other_dates else []
    elif other_dates or any(re.fullmatch(DATE_PATTERN, value) for value in values):
        yield DATES_HINT
    if isinstance(attribute, Integer) and any(re.fullmatch(_DECIMAL, value) for value in values):
        yield DECIMALS_HINT


def _most_frequent(field: Field, opened: Opened) -> tuple[tuple[str, int], ...]:
    """Count the values that stand for nothing; of numbers outside a range, the ends say more."""
    problems = [MALFORMED] if field.attribute.ordered else [OUTSIDE, MALFORMED]
    query = (
        exp.select(column("value"), rows_counted().as_("n", quoted=True))
        .from_(nested(_placed(field), "placed"))
        .where(exp.or_(*(_is(problem) for problem in problems)))
        .group_by(column("value"))
        .order_by(exp.Ordered(this=column("n"), desc=True), exp.Ordered(this=column("value")))
        .limit(MOST_SHOWN)
    )
    return tuple((_short(row[0]), int(row[1])) for row in opened.ask(query).fetchall())


def _extremes(field: Field) -> exp.Select:
    ends = [exp.cast(end(this=column("own")), "TEXT") for end in (exp.Min, exp.Max)]
    return exp.select(*ends).from_(nested(_placed(field), "placed")).where(_is(OUTSIDE))


def _occurring(field: Field) -> exp.Select:
    positions = exp.select(column("p")).from_(nested(_placed(field), "placed"))
    return positions.where(exp.GTE(this=column("p"), expression=number(0))).group_by(column("p"))


def _is(problem: int) -> exp.Condition:
    return exp.EQ(this=column("p"), expression=number(-problem))


def _placed(field: Field) -> exp.Select:
    """Select every row's value, as text and as it is compared, and its position or what is wrong with it."""
    own = column("v0") if field.type.kind == "unparsed" and needs_parsing(field.attribute) else field.column
    parts = [
        exp.cast(field.column, "TEXT").as_("value", quoted=True),
        own.as_("own", quoted=True),
        field.placement.position.as_("p", quoted=True),
    ]
    return joined(exp.select(*parts).from_(nested(read([field], [], source()), "rows")), [field])


def _end(value: object) -> str:
    """Write a number the same way whatever engine it comes from: ``1.0E9``, ``1000000000.0`` and ``1000000000``."""
    try:
        given = Decimal(str(value))
    except InvalidOperation:
        return _short(value)
    if not given.is_finite() or abs(given.adjusted()) > _LONGEST:
        return _short(given)
    return _short(format(given.normalize() if given else 0, "f"))


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
