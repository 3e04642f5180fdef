"""Counting in plain Python, one row at a time, and tables to count."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal as Exact
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from blowfish_privacy.domain import Attribute, Binned, Categorical, Date, Decimal, Domain, Integer

Rows = Sequence[Mapping[str, Any]]

HOSTILE = [
    "",
    "'",
    '"',
    "a'b",
    'x"; DROP TABLE source; --',
    "back\\slash",
    "two\nlines",
    "😀",
    "é",
    "e\u0301",
    " ",
    "NULL",
]
HOSTILE += ["nan", "01234", "1234", "true", "a,b", "c0", "A", "a", "\t", "%", "\\N", "{x}", "?", "$1", "\r\n"]


def judge(attribute: Attribute, value: Any) -> int | str:
    """Return the position of a value, or the word for what is wrong with it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing" if attribute.missing == "error" else attribute.position(attribute.missing)
    if isinstance(attribute, Categorical):
        found = [p for p, c in enumerate(attribute.categories) if c == value and type(c) is type(value)]
        return found[0] if found else "outside"
    if isinstance(attribute, Date):
        return _step(attribute, value)
    if isinstance(attribute, Integer) and 0 < value - attribute.low < attribute.size - 1 and value != int(value):
        return "malformed"
    place = _steps(attribute, value) if isinstance(attribute, Decimal) else _place(attribute, value)
    if place is None:
        return "malformed"
    if 0 <= place < attribute.size:
        return place
    return "outside" if attribute.outside == "error" else (0 if place < 0 else attribute.size - 1)


def _place(attribute: Attribute, value: Any) -> int:
    if isinstance(attribute, Integer):
        return math.floor(value) - attribute.low if value < attribute.low else math.ceil(value) - attribute.low
    assert isinstance(attribute, Binned)
    if isinstance(value, float):
        return sum(value >= float(edge) for edge in attribute.bounds) - 1
    return sum(Fraction(value) >= edge for edge in attribute.bounds) - 1


def _step(attribute: Date, value: Any) -> int | str:
    if isinstance(value, str):
        try:
            day = (
                datetime.fromisoformat(value).date()
                if value[4:5] == value[7:8] == "-" and value.isprintable()
                else None
            )
        except ValueError:
            day = None
        if day is None:
            return "malformed"
    else:
        day = value.date() if isinstance(value, datetime) else value
    if attribute.start <= day <= attribute.end:
        starts = sorted({_started(attribute, attribute.start + timedelta(days=n)) for n in range(attribute.size * 31)})
        return starts.index(_started(attribute, day))
    clamped = 0 if day < attribute.start else attribute.size - 1
    return "outside" if attribute.outside == "error" else clamped


def _started(attribute: Date, day: date) -> date:
    if attribute.step == "month":
        return day.replace(day=1)
    return day - timedelta(days=day.weekday()) if attribute.step == "week" else day


def _steps(attribute: Decimal, value: Any) -> int | None:
    """Go through the values of a decimal attribute one by one; None for a number between them that is not rounded."""

    def floats(mark: Fraction) -> set[float]:
        return {float(mark), float(np.float32(float(mark)))} if isinstance(value, float) else {mark}

    values = [attribute.number(position) for position in range(attribute.size + 1)]
    given = value if isinstance(value, float) else Fraction(value)
    if attribute.round == "error":
        found = [position for position, each in enumerate(values[:-1]) if given in floats(each)]
        if found or values[0] < given < values[-2]:
            return found[0] if found else None
        return -1 if given < values[0] else attribute.size
    shift = attribute.spacing / 2 if attribute.round == "nearest" else 0
    return sum(any(given >= each for each in floats(mark - shift)) for mark in values) - 1


def expected(domain: Domain, rows: Rows) -> Any:
    """Return the counts, or the set of (name, problem) that must be reported."""
    counts = np.zeros(domain.shape, dtype=np.int64)
    problems: set[tuple[str, str]] = set()
    for row in rows:
        judged = {name: judge(domain[name], row[name]) for name in domain.names}
        wrong = {(name, verdict) for name, verdict in judged.items() if isinstance(verdict, str)}
        problems |= wrong
        if not wrong:
            counts[tuple(judged.values())] += 1
    return problems or counts


def to_table(rows: Rows, types: Mapping[str, pa.DataType]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in types.items()})


@st.composite
def integers(draw: st.DrawFn) -> tuple[Attribute, pa.DataType, st.SearchStrategy[Any]]:
    low = draw(st.sampled_from([0, -3, 17, -(2**61), 2**61 - 9]))
    high = low + draw(st.integers(0, 9))
    attribute = Integer(low, high, outside=draw(_OUTSIDE), missing=draw(st.sampled_from(["error", low, high])))
    values = st.integers(low, high)
    if abs(low) < 100 and draw(st.booleans()):
        make, kind = draw(st.sampled_from([(float, pa.float64()), (Exact, pa.decimal128(12, 3))]))
        odd = st.sampled_from([low - 1, high + 1, low - 0.5, low + 0.5, high + 0.25, 10**6])
        return attribute, kind, st.one_of(values.map(make), values.map(make), odd.map(make), st.none())
    beyond = st.sampled_from([low - 1, high + 1, 2**63 - 1, -(2**63)])
    return attribute, pa.int64(), st.one_of(values, values, values, beyond, st.none())


@st.composite
def decimals(draw: st.DrawFn) -> tuple[Attribute, pa.DataType, st.SearchStrategy[Any]]:
    step = Fraction(draw(st.sampled_from(["0.1", "0.25", "0.3", "2"])))
    low = draw(st.sampled_from([Fraction(0), Fraction(-7, 10), Fraction(12345)]))
    attribute = Decimal(
        low, low + step * draw(st.integers(0, 9)), step,
        round=draw(st.sampled_from(["error", "error", "nearest", "down"])),
        outside=draw(_OUTSIDE), missing=draw(st.sampled_from(["error", low])),
    )  # fmt: skip
    steps = st.integers(-1, attribute.size).map(lambda n: low + n * step)
    between = st.tuples(steps, st.sampled_from([Fraction(1, 2), Fraction(1, 1000)])).map(
        lambda made: made[0] + made[1] * (step if made[1].denominator == 2 else 1)
    )
    marks = st.one_of(steps, steps, steps, between) if attribute.round == "error" else st.one_of(steps, between)
    exact = marks.map(lambda mark: Exact(mark.numerator) / mark.denominator)
    floats = st.one_of(marks.map(float), st.sampled_from([math.inf, -math.inf, 1e300, math.nan]))
    narrow = marks.map(lambda mark: float(np.float32(float(mark))))
    kind, values = draw(st.sampled_from([
        (pa.int64(), marks.map(math.floor)), (pa.decimal128(12, 4), exact), (pa.decimal128(38, 10), exact),
        (pa.float64(), floats), (pa.float64(), narrow), (pa.float32(), narrow),
    ]))  # fmt: skip
    return attribute, kind, st.one_of(values, values, values, st.none())


@st.composite
def categories(draw: st.DrawFn) -> tuple[Attribute, pa.DataType, st.SearchStrategy[Any]]:
    kind, pool = draw(st.sampled_from([
        (pa.string(), HOSTILE), (pa.int64(), [0, 1, -1, 7, 2**62, -(2**62)]), (pa.bool_(), [True, False]),
    ]))  # fmt: skip
    chosen = draw(st.lists(st.sampled_from(pool), min_size=1, unique=True))
    attribute = Categorical(chosen, missing=draw(st.sampled_from(["error", chosen[0]])))
    values = st.sampled_from(chosen)
    return attribute, kind, st.one_of(values, values, values, st.sampled_from(pool), st.none())


@st.composite
def dates(draw: st.DrawFn) -> tuple[Attribute, pa.DataType, st.SearchStrategy[Any]]:
    first = draw(st.sampled_from([date(2019, 12, 30), date(2020, 2, 27), date(1969, 12, 25), date(1900, 2, 3)]))
    last = first + timedelta(days=draw(st.sampled_from([0, 3, 40])))
    step = draw(st.sampled_from(["day", "week", "month"]))
    missing = draw(st.sampled_from(["error", first]))
    attribute = Date(first, last, step=step, outside=draw(_OUTSIDE), missing=missing)
    days = st.one_of(st.dates(first, last), st.dates(first, last), st.dates(date(1600, 1, 1), date(2200, 1, 1)))
    days = st.one_of(days, st.sampled_from([first, last, first - timedelta(days=1), last + timedelta(days=1)]))
    hours = st.sampled_from([time(0), time(23, 59, 59, 999_999), time(12, 30)])
    timed = st.tuples(days, hours).map(lambda made: datetime.combine(*made))
    odd = st.sampled_from(
        ["2020-02-30", "2020-1-05", " 2020-01-05", "2020-01-05\n", "20200105", "2020-01-05 24:00", "x"]
    )
    text = st.one_of(days.map(str), days.map(str), timed.map(str), odd)
    kind, values = draw(st.sampled_from([
        (pa.date32(), days), (pa.timestamp("us"), timed), (pa.string(), text),
        (pa.timestamp("us", "UTC"), timed.map(lambda each: each.replace(tzinfo=UTC))),
    ]))  # fmt: skip
    return attribute, kind, st.one_of(values, values, values, st.none())


@st.composite
def bins(draw: st.DrawFn) -> tuple[Attribute, pa.DataType, st.SearchStrategy[Any]]:
    edges = sorted(draw(st.sets(st.sampled_from(_EDGES), min_size=2)))
    attribute = Binned(edges, outside=draw(_OUTSIDE), missing=draw(st.sampled_from(["error", edges[0]])))
    whole, decimal = st.integers(-5, 1000), st.integers(-5000, 1_000_000).map(lambda n: Exact(n).scaleb(-3))
    floats = st.one_of(
        st.floats(), st.floats(0, 999), st.sampled_from([float(e) for e in edges]), st.sampled_from([0.1, math.inf])
    )
    kind, values = draw(st.sampled_from([(pa.int64(), whole), (pa.decimal128(12, 3), decimal), (pa.float64(), floats)]))
    return attribute, kind, st.one_of(values, values, values, st.none())


_OUTSIDE: st.SearchStrategy[Any] = st.sampled_from(["error", "clamp", "clamp"])
_EDGES = [Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(7), Fraction(100), Fraction(10**25)]


@st.composite
def tables(draw: st.DrawFn) -> tuple[Domain, pa.Table, Rows]:
    """A domain of one to three attributes with awkward names, and rows most of which fit it."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    columns = {name: draw(st.one_of(integers(), categories(), bins(), decimals(), dates())) for name in names}
    rows = draw(
        st.lists(st.fixed_dictionaries({name: values for name, (_, _, values) in columns.items()}), max_size=12)
    )
    domain = Domain({name: attribute for name, (attribute, _, _) in columns.items()})
    return domain, to_table(rows, {name: kind for name, (_, kind, _) in columns.items()}), rows


NAMES = ["age", 'a "quoted" name', "select", "source", "c1", "^a.*$", "x; --", "größe", "v0", "*"]


def handed(columns):
    """Hand arrays over as an engine over arrays takes them: when they are read, and their number of rows."""
    return {name: (lambda column=column: column) for name, column in columns.items()}, len(next(iter(columns.values())))
