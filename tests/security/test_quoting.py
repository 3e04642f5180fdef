"""What somebody gives in the wrong place is never shown: a table, a column or rows of one may be private."""

from __future__ import annotations

import inspect
import itertools
import traceback
import warnings
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import blowfish_privacy as bp
from blowfish_privacy.errors import brief
from blowfish_privacy.graphs import Secrets
from blowfish_privacy.queries import Query

TEXT, NUMBER = "CANARY", 987654321
FRAME = pd.DataFrame({"s": [TEXT, f"{TEXT} 2"], "n": [NUMBER + 1, NUMBER]})
ROWS = [[TEXT, NUMBER], [f"{TEXT} 2", NUMBER]]
HOLDERS: dict[str, Any] = {
    "frame": FRAME,
    "text series": FRAME.s,
    "number series": FRAME.n,
    "text array": FRAME.s.to_numpy(),
    "matrix": FRAME.to_numpy(),
    "structured array": FRAME.to_records(),
    "index": FRAME.set_index("s").index,
    "polars": pl.DataFrame({"s": [TEXT]}),
    "arrow": pa.table({"s": [TEXT]}),
    "columns": FRAME.to_dict("list"),
    "records": {"a": {"s": TEXT, "n": NUMBER}, "b": {"s": TEXT, "n": NUMBER}},
    "frames by value": dict(list(FRAME.groupby("n"))),
    "named series": {"x": FRAME.s},
    "named frame": {"x": FRAME},
    "rows": ROWS,
    "row tuples": [*map(tuple, ROWS)],
    "row dicts": FRAME.to_dict("records"),
    "list of frames": [FRAME],
    "bytes": TEXT.encode(),
}
DOMAIN = bp.Domain(x=bp.Integer(0, 7), y=bp.Integer(0, 5), g=bp.Categorical(["a", "b"]))
POLICY = bp.Policy(DOMAIN, secrets=bp.FullDomain())
DATA = bp.Counts(np.ones(DOMAIN.shape, dtype=int))
REST: dict[str, dict[str, Any]] = {
    "Policy": {"domain": DOMAIN, "secrets": bp.FullDomain()},
    "Session": {"data": DATA, "policy": POLICY, "budget": 1},
    "sensitivity": {"query": bp.Histogram("x"), "policy": POLICY},
    "KnownCount": {"where": {"g": "a"}, "count": 3},
    "ByValue": {"column": "g", "secrets": {"a": bp.FullDomain(), "b": bp.Public()}},
    "KMeans": {"attributes": ["x", "y"], "k": 2},
    "Synthetic": {"attributes": ["x", "y"]},
    "Tables": {"tables": [["x"], ["y"]]},
    "Linear": {"rows": [[1] * 8], "attributes": ["x"]},
}


def public() -> dict[str, Callable[..., Any]]:
    """Every public class and function, but for the errors themselves."""
    named = {name: getattr(bp, name) for name in bp.__all__}
    return {
        name: each
        for name, each in named.items()
        if callable(each) and not (isinstance(each, type) and issubclass(each, BaseException))
    }


def calls(name: str, target: Callable[..., Any], given: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Put something into one argument after the other, beside others that are right."""
    parameters = inspect.signature(target).parameters
    rest = REST.get(name, {})
    for each in parameters.values():
        named = {key: value for key, value in rest.items() if key != each.name}
        needed = {
            other.name: 1
            for other in parameters.values()
            if other.default is other.empty
            and other.kind in (other.POSITIONAL_OR_KEYWORD, other.KEYWORD_ONLY)
            and other.name not in {each.name, *named}
        }
        first: list[Any] = [given] if each.kind in (each.POSITIONAL_ONLY, each.VAR_POSITIONAL) else []
        last = {} if first else {"x" if each.kind is each.VAR_KEYWORD else each.name: given}
        yield each.name, lambda f=first, k={**named, **needed, **last}: target(*f, **k)


def use(made: Any) -> None:
    """Bind what could be made with it: some things are only checked then."""
    if isinstance(made, Query):
        made.on(DOMAIN)
        bp.Session(DATA, POLICY, budget=1).plan(made, epsilon=1)
    elif isinstance(made, Secrets):
        bp.Policy(DOMAIN, secrets=made)
    elif isinstance(made, bp.KnownCount | bp.KnownMarginal):
        bp.Policy(DOMAIN, secrets=bp.FullDomain(), known=[made])
    elif isinstance(made, bp.Session):
        made.release(bp.Histogram("x"), epsilon=1)


def shown(error: BaseException) -> str:
    """All that an error shows, wherever it is shown: as text, its parts, and as printed with its causes."""
    printed = [f"{each.exc_type}: {each}" for each in _chain(traceback.TracebackException.from_exception(error))]
    return " ".join([str(error), repr(error.args), repr(vars(error)), *printed])


def _chain(printed: traceback.TracebackException | None) -> Iterator[traceback.TracebackException]:
    while printed is not None:
        yield printed
        printed = printed.__cause__ or (None if printed.__suppress_context__ else printed.__context__)


def leaks(name: str, target: Callable[..., Any]) -> list[str]:
    found: list[str] = []
    for (kind, given), place in itertools.product(HOLDERS.items(), range(len(inspect.signature(target).parameters))):
        argument, call = [*calls(name, target, given)][place]
        try:
            use(call())
        except Exception as error:
            text = shown(error)
            if TEXT in text or any(str(NUMBER)[:6] in each for each in (text, text.replace(",", ""))):
                found.append(f"{name}({argument}={kind}): {type(error).__name__}: {error}")
    return found


@pytest.mark.parametrize("name", public())
def test_nothing_of_a_table_in_any_argument_is_shown(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert leaks(name, public()[name]) == []


def test_what_quotes_a_table_is_found() -> None:
    def careless(data: Any) -> None:
        raise ValueError("a list is needed") from TypeError(f"not {data!r}")

    assert len(leaks("careless", careless)) == len(HOLDERS)


def test_short_text_numbers_and_dates_are_quoted_and_of_all_else_the_type() -> None:
    quoted = [
        "a",
        5,
        -0.5,
        Decimal("0.10"),
        Fraction(1, 3),
        True,
        None,
        date(2020, 1, 31),
        np.int64(7),
        np.float64(2.5),
    ]
    said = ["'a'", "5", "-0.5", "0.10", "1/3", "True", "None", "2020-01-31", "7", "2.5"]
    assert [brief(each) for each in quoted] == said
    assert brief("x" * 100_000) == f"'{'x' * 76}..."
    assert brief(10**5000) == "an int"
    kinds = [brief(each) for each in (FRAME, FRAME.s, [TEXT], {TEXT: 1}, bp.Integer(0, 1), b"x", object())]
    assert kinds == ["a DataFrame", "a Series", "a list", "a dict", "an Integer", "a bytes", "an object"]
