"""Opening a ledger by what a caller or a policy file calls it."""

from __future__ import annotations

import os
from fractions import Fraction

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger.ledger import Ledger
from blowfish_privacy.ledger.shelf import PolicyLoader
from blowfish_privacy.ledger.sqlite import SqliteLedger
from blowfish_privacy.postgresql import is_address, refuse_address


def open_ledger(
    where: str | os.PathLike[str], *, budget: Fraction | None, load_policy: PolicyLoader | None = None
) -> Ledger:
    """Open the ledger at a path or an address of PostgreSQL; make it where there is none and a budget is given."""
    if isinstance(where, str) and is_address(where):
        from blowfish_privacy.ledger.postgres import PostgresLedger

        return PostgresLedger.open(where, budget=budget, load_policy=load_policy)
    refuse_address(os.fspath(where), LedgerError)
    return SqliteLedger.open(where, budget=budget, load_policy=load_policy)
