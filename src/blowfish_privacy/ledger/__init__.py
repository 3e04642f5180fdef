"""The privacy ledger: what was spent, under which policy, and what was handed out for it."""

from __future__ import annotations

import os

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger.account import Account, OverBudgetError
from blowfish_privacy.ledger.composition import PolicyLoader, Quote
from blowfish_privacy.ledger.entry import Document, Entry, Failure, StoredPolicy
from blowfish_privacy.ledger.ledger import Ledger, Loss
from blowfish_privacy.ledger.sqlite import SqliteLedger
from blowfish_privacy.ledger.verification import Report
from blowfish_privacy.privacy.measure import BudgetLike
from blowfish_privacy.support.postgresql import is_address, refuse_address

__all__ = [
    "Account",
    "Document",
    "Entry",
    "Failure",
    "Ledger",
    "Loss",
    "OverBudgetError",
    "PolicyLoader",
    "Quote",
    "Report",
    "SqliteLedger",
    "StoredPolicy",
    "create_ledger",
    "open_ledger",
]


def open_ledger(
    where: str | os.PathLike[str], *, budget: BudgetLike | None = None, load_policy: PolicyLoader | None = None
) -> Ledger:
    """Open the ledger at a path or an address of PostgreSQL; ``budget``, if given, must be the one it was made with."""
    return _kind(where).open(where, budget=budget, load_policy=load_policy)


def create_ledger(
    where: str | os.PathLike[str], *, budget: BudgetLike, load_policy: PolicyLoader | None = None
) -> Ledger:
    """Make a ledger at a path or an address of PostgreSQL, where there is none, and open it."""
    return _kind(where).create(where, budget=budget, load_policy=load_policy)


def _kind(where: str | os.PathLike[str]) -> type[Ledger]:
    if isinstance(where, str) and is_address(where):
        from blowfish_privacy.ledger.postgres import PostgresLedger

        return PostgresLedger
    refuse_address(os.fspath(where), LedgerError)
    return SqliteLedger
