"""Counting in plain Python, one row at a time, and tables to count."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from blowfish_privacy.domain import Attribute, Binned, Categorical, Domain, Integer

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
    place = _place(attribute, value)
    if 0 <= place < attribute.size:
        return place
    return "outside" if attribute.outside == "error" else (0 if place < 0 else attribute.size - 1)


def _place(attribute: Attribute, value: Any) -> int:
    if isinstance(attribute, Integer):
        return value - attribute.low
    assert isinstance(attribute, Binned)
    if isinstance(value, float):
        return sum(value >= float(edge) for edge in attribute.bounds) - 1
    return sum(Fraction(value) >= edge for edge in attribute.bounds) - 1


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
    beyond = st.sampled_from([low - 1, high + 1, 2**63 - 1, -(2**63)])
    return attribute, pa.int64(), st.one_of(values, values, values, beyond, st.none())


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
def bins(draw: st.DrawFn) -> tuple[Attribute, pa.DataType, st.SearchStrategy[Any]]:
    edges = sorted(draw(st.sets(st.sampled_from(_EDGES), min_size=2)))
    attribute = Binned(edges, outside=draw(_OUTSIDE), missing=draw(st.sampled_from(["error", edges[0]])))
    whole, decimal = st.integers(-5, 1000), st.integers(-5000, 1_000_000).map(lambda n: Decimal(n).scaleb(-3))
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
    columns = {name: draw(st.one_of(integers(), categories(), bins())) for name in names}
    rows = draw(
        st.lists(st.fixed_dictionaries({name: values for name, (_, _, values) in columns.items()}), max_size=12)
    )
    domain = Domain({name: attribute for name, (attribute, _, _) in columns.items()})
    return domain, to_table(rows, {name: kind for name, (_, kind, _) in columns.items()}), rows


NAMES = ["age", 'a "quoted" name', "select", "source", "c1", "^a.*$", "x; --", "größe", "v0", "*"]


def handed(columns):
    """Hand arrays over as an engine over arrays takes them: when they are read, and their number of rows."""
    return {name: (lambda column=column: column) for name, column in columns.items()}, len(next(iter(columns.values())))
