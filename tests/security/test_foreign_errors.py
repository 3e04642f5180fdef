"""Errors of the libraries underneath: none of them comes through, and no message of theirs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import blowfish_privacy as bp
from blowfish_privacy.engines import open_engine
from blowfish_privacy.errors import DataError, LedgerError
from blowfish_privacy.ledger import Entry
from blowfish_privacy.ledger.entry import StoredPolicy

DOMAIN = bp.Domain(x=bp.Integer(0, 2))


def panicking(frame: pl.DataFrame) -> pl.DataFrame:
    raise pl.exceptions.PanicException("CANARY 987654")


def test_a_panic_inside_polars_is_an_error_about_the_data() -> None:
    engine = open_engine(pl.LazyFrame({"x": [1, 2]}).map_batches(panicking))
    for ask in (lambda: engine.counts(DOMAIN, [["x"]]), engine.rows, lambda: engine.check(DOMAIN)):
        with pytest.raises(DataError, match="PanicException") as caught:
            ask()
        assert "CANARY" not in str(caught.value)
        assert caught.value.__cause__ is caught.value.__context__ is None


def test_it_is_charged_once_and_costs_nothing_again() -> None:
    policy = bp.Policy(DOMAIN, secrets=bp.FullDomain())
    session = bp.Session(pl.LazyFrame({"x": [1, 2]}).map_batches(panicking), policy, budget=1)
    with pytest.raises(DataError) as caught:
        session.release(bp.Histogram("x"), epsilon=1)
    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_is_meant_to_pass_passes(stop: type[BaseException]) -> None:
    class Stopping:
        engine, label = "none", "none"

        def open(self, choose: Any) -> Any:
            raise stop

        def rest(self) -> None:
            pass

    from blowfish_privacy.engines.sql.table import TableEngine

    with pytest.raises(stop):
        TableEngine(Stopping()).counts(DOMAIN, [["x"]])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "detail", ["", "{", "[]", "null", "7", '{"parts": 1}', '{"parts": []}', '{"parts": {"a": 1}}', "[" * 100_000]
)
def test_the_damaged_parts_of_an_entry_are_an_error_of_the_ledger(detail: str) -> None:
    stored = StoredPolicy("hash", "{}")
    entry = Entry(1, "key", "now", stored, Fraction(1), Fraction(1), "same", "words", "laplace", detail)
    with pytest.raises(LedgerError):
        _ = entry.parts
