"""Ledgers in every kind of storage. A new kind adds a line to KINDS and a way to open it."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger import Ledger, SqliteLedger
from unit.ledger.samples import load

Open = Callable[..., Ledger]


def _open_or_create(kind: Any, where: Any, budget: Any, options: dict[str, Any]) -> Ledger:
    make, options = options.pop("make", False), {"load_policy": load, **options}
    amount = Fraction(budget) if isinstance(budget, str) else budget
    try:
        if not make:
            return kind.open(where, budget=amount, **options)
    except LedgerError as error:
        if "there is no ledger" not in error.message or amount is None:
            raise
    return kind.create(where, budget=amount, **options)


def _sqlite(tmp_path: Path) -> Open:
    def open_ledger(budget: Any = "1", **options: Any) -> Ledger:
        return _open_or_create(SqliteLedger, tmp_path / "a.ledger", budget, options)

    return open_ledger


def _postgres(server: Any) -> Open:
    url = server.url(ledger=server.name("Ledger", plain=True))

    def open_ledger(budget: Any = "1", **options: Any) -> Ledger:
        from blowfish_privacy.ledger.postgres import PostgresLedger

        return _open_or_create(PostgresLedger, url, budget, options)

    return open_ledger


KINDS = {"sqlite": ("tmp_path", _sqlite), "postgres": ("postgres_server", _postgres)}


_STORED = ["sqlite", pytest.param("postgres", marks=pytest.mark.servers)]


@pytest.fixture(params=_STORED)
def stored(request: pytest.FixtureRequest) -> Open:
    """Ledgers of any budget, in every kind of storage."""
    place, opener = KINDS[request.param]
    return opener(request.getfixturevalue(place))
