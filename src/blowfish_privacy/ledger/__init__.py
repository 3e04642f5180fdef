"""The privacy ledger: what was spent, under which policy, and what was handed out for it."""

from blowfish_privacy.ledger.composition import PolicyLoader, Quote
from blowfish_privacy.ledger.entry import Account, Document, Entry, Failure, OverBudgetError, StoredPolicy
from blowfish_privacy.ledger.ledger import Ledger, Loss
from blowfish_privacy.ledger.opening import create_ledger, open_ledger
from blowfish_privacy.ledger.sqlite import SqliteLedger
from blowfish_privacy.ledger.verification import Report

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
