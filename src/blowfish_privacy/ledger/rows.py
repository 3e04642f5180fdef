"""How accounts, balances, entries, documents and failures are laid out in the rows of a database."""

from __future__ import annotations

from typing import Any

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger.account import Account
from blowfish_privacy.ledger.amounts import read_amount, write_amount
from blowfish_privacy.ledger.balance import Balance
from blowfish_privacy.ledger.entry import Document, Entry, Failure, StoredPolicy
from blowfish_privacy.ledger.losses import read_class, read_loss, write_class, write_loss
from blowfish_privacy.privacy.measure import Measure

VERSIONS = (1, 2)
"""The versions of the way in which the hash of an entry is computed."""


def read_account(row: Any) -> Account:
    """Read an account: budget, created, spent; entries, documents, failures, each with its head."""
    measure, budget, created, spent, *rest = _typed(row, (str, str, str, str, int, str, int, str, int, str))
    return Account(Measure.named(measure), read_amount(budget), created, read_amount(spent), *rest)


def account_row(account: Account) -> tuple[str | int, ...]:
    """Write an account, in the order that :func:`read_account` reads."""
    return (
        account.measure.name,
        write_amount(account.budget),
        account.created,
        write_amount(account.spent),
        account.entries,
        account.entries_head,
        account.documents,
        account.documents_head,
        account.failures,
        account.failures_head,
    )


def entry_row(row: Entry) -> tuple[str | int, ...]:
    """Write an entry: its fields, then the hash, text and canonical form that identify its policy."""
    return (
        *(row.number, row.key, row.made, write_amount(row.epsilon), write_amount(row.charged), row.rule),
        *(row.description, row.mechanism, row.detail, row.chain, row.version, row.loss.measure.name),
        *(write_loss(row.loss), row.policy.hash, row.policy.text),
        row.policy.canonical,
    )


def read_entry(row: Any) -> Entry:
    """Read an entry, joined with its policy; one of version 1 counts in full on all pairs."""
    number, key, made, *rest = _typed(row, (int, *(str,) * 12, int, str, str))
    policy = StoredPolicy(*rest[:3])
    epsilon, charged, rule, description, mechanism, detail, chain, version, measure, loss = rest[3:]
    if version not in VERSIONS:
        raise LedgerError("an entry has an unknown format.", hint="use a newer version.")
    amounts = read_amount(epsilon), read_amount(charged)
    stated = Entry.on_all_pairs(amounts[1]) if version == 1 else read_loss(measure, loss)
    return Entry(number, key, made, policy, *amounts, rule, description, mechanism, detail, chain, version, stated)


def balance_row(balance: Balance) -> tuple[str | int, ...]:
    """Write a balance: its amount and entry, then the kind, attribute and region that identify its class."""
    return write_amount(balance.amount), balance.entry, *write_class(balance.pairs)


def read_balance(row: Any) -> Balance:
    """Read a row of the table of balances."""
    amount, entry, *pairs = _typed(row, (str, int, str, str, str))
    return Balance(read_class(*pairs), read_amount(amount), entry)


def read_document(row: Any) -> Document:
    """Read a row of the table of documents."""
    return Document(*_typed(row, (int, int, str, str, str, str)))


def read_failure(row: Any) -> Failure:
    """Read a row of the table of failures."""
    return Failure(*_typed(row, (int, int, str, str)))


def _typed(row: Any, types: tuple[type, ...]) -> Any:
    """Check what a database may not: that every column holds values of its declared type."""
    if not all(isinstance(value, kind) for value, kind in zip(row, types, strict=True)):
        raise LedgerError("a row holds values of the wrong type.", hint="the ledger was changed by other software.")
    return row
