"""How what a ledger stores is laid out in the rows of a database."""

from __future__ import annotations

from typing import Any

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger.account import Account
from blowfish_privacy.ledger.entry import Document, Entry, Failure, StoredPolicy, read_amount, write_amount


def read_account(row: Any) -> Account:
    """Read a balance: budget, created, spent; entries, documents, failures, each with its head."""
    budget, created, spent, *rest = _typed(row, (str, str, str, int, str, int, str, int, str))
    return Account(read_amount(budget), created, read_amount(spent), *rest)


def account_row(account: Account) -> tuple[str | int, ...]:
    """Write a balance."""
    return (
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
    """Write an entry: its own fields, then the hash, text and canonical form that its policy is found by."""
    return (
        *(row.number, row.key, row.made, write_amount(row.epsilon), write_amount(row.charged), row.rule),
        *(row.description, row.mechanism, row.detail, row.chain, row.policy.hash, row.policy.text),
        row.policy.canonical,
    )


def read_entry(row: Any) -> Entry:
    """Read an entry with its policy."""
    number, key, made, *policy, epsilon, charged, rule, description, mechanism, detail, chain = _typed(
        row, (int, *(str,) * 12)
    )
    return Entry(
        number,
        key,
        made,
        StoredPolicy(*policy),
        read_amount(epsilon),
        read_amount(charged),
        rule,
        description,
        mechanism,
        detail,
        chain,
    )


def read_document(row: Any) -> Document:
    """Read a document."""
    return Document(*_typed(row, (int, int, str, str, str, str)))


def read_failure(row: Any) -> Failure:
    """Read a failure."""
    return Failure(*_typed(row, (int, int, str, str)))


def _typed(row: Any, types: tuple[type, ...]) -> Any:
    """Check what a database may not: that a column holds what it was declared for."""
    if not all(isinstance(value, kind) for value, kind in zip(row, types, strict=True)):
        raise LedgerError("a row is not as it was written.", hint="the ledger was changed by other software.")
    return row
