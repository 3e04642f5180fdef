"""Transactions on the rows of a ledger, in a database that speaks SQL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger.account import Account, Balance
from blowfish_privacy.ledger.entry import (
    Document,
    Entry,
    Failure,
    Row,
    StoredPolicy,
    read_amount,
    read_class,
    read_loss,
    write_amount,
    write_class,
    write_loss,
)
from blowfish_privacy.privacy.loss import PairClass
from blowfish_privacy.privacy.measure import Measure

# How accounts, balances, entries, documents and failures are laid out in the rows of a database.

FORMAT = 1
"""The number of this layout, and of the way in which hashes are computed."""


def tables(*, number: str, amount: str, identity: str = "", schema: str = "") -> dict[str, str]:
    """Describe the columns of each table, given the database's types of rows' numbers and of amounts."""
    key, entry = f"number {number} PRIMARY KEY CHECK (number > 0)", f"entry bigint NOT NULL REFERENCES {schema}entries"
    return {
        "account": f"""
            one integer PRIMARY KEY CHECK (one = 1), measure text NOT NULL, budget {amount} NOT NULL,
            created text NOT NULL, spent {amount} NOT NULL, entries bigint NOT NULL, entries_head text NOT NULL,
            documents bigint NOT NULL, documents_head text NOT NULL, failures bigint NOT NULL,
            failures_head text NOT NULL""",
        "policies": f"""
            id {number} {identity} PRIMARY KEY, hash text NOT NULL, canonical text NOT NULL, text text NOT NULL""",
        "entries": f"""
            {key}, key text NOT NULL UNIQUE, made text NOT NULL, policy bigint NOT NULL REFERENCES {schema}policies,
            epsilon {amount} NOT NULL, charged {amount} NOT NULL, rule text NOT NULL, description text NOT NULL,
            content text NOT NULL, mechanism text NOT NULL, detail text NOT NULL, chain text NOT NULL,
            measure text NOT NULL, loss text NOT NULL""",
        "documents": f"""
            {key}, {entry} UNIQUE, made text NOT NULL, text text NOT NULL, sha256 text NOT NULL, chain text NOT NULL""",
        "failures": f"{key}, {entry} UNIQUE, made text NOT NULL, chain text NOT NULL",
        "balances": f"""
            kind text NOT NULL, attribute text NOT NULL, within text NOT NULL, amount {amount} NOT NULL, {entry}""",
    }


def read_account(row: Any) -> Account:
    """Read an account: budget, created, spent; entries, documents, failures, each with its head."""
    measure, budget, created, spent, *rest = _typed(row, (str, str, str, str, int, str, int, str, int, str))
    return Account(Measure.named(measure), read_amount(budget), created, read_amount(spent), *rest)


def account_row(account: Account) -> tuple[str | int, ...]:
    """Write an account, in the order that :func:`read_account` reads."""
    spent, *counts = MOVING
    fixed = account.measure.name, write_amount(account.budget), account.created
    return *fixed, write_amount(getattr(account, spent)), *(getattr(account, name) for name in counts)


def entry_row(row: Entry) -> tuple[str | int, ...]:
    """Write an entry: its fields, then the hash, text and canonical form that identify its policy."""
    return (
        *(row.number, row.key, row.made, write_amount(row.epsilon), write_amount(row.charged), row.rule),
        *(row.description, row.content, row.mechanism, row.detail, row.chain),
        *(row.loss.measure.name, write_loss(row.loss)),
        *(row.policy.hash, row.policy.text, row.policy.canonical),
    )


def read_entry(row: Any) -> Entry:
    """Read an entry, joined with its policy."""
    number, key, made, *rest = _typed(row, (int, *(str,) * 15))
    policy = StoredPolicy(*rest[:3])
    epsilon, charged, *words, measure, loss = rest[3:]
    amounts = read_amount(epsilon), read_amount(charged)
    return Entry(number, key, made, policy, *amounts, *words, loss=read_loss(measure, loss))


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


_ENTRIES = (
    "SELECT e.number, e.key, e.made, p.hash, p.canonical, p.text, e.epsilon, e.charged, e.rule, e.description, "
    "e.content, e.mechanism, e.detail, e.chain, e.measure, e.loss "
    "FROM entries AS e LEFT JOIN policies AS p ON p.id = e.policy"
)
_DOCUMENTS = "SELECT number, entry, made, text, sha256, chain FROM documents"
_FAILURES = "SELECT number, entry, made, chain FROM failures"
MOVING = "spent", "entries", "entries_head", "documents", "documents_head", "failures", "failures_head"
"""The columns of an account that move, which nothing else does."""
_ACCOUNT = f"SELECT measure, budget, created, {', '.join(MOVING)} FROM account"  # noqa: S608  # names of our own
_SWAP = (
    f"UPDATE account SET {', '.join(f'{name} = ?' for name in MOVING)} "  # noqa: S608  # names of our own
    f"WHERE {' AND '.join(f'{name} = ?' for name in MOVING)}"
)
_ADD = "INSERT INTO balances (amount, entry, kind, attribute, within) VALUES (?, ?, ?, ?, ?)"
_MOVE = "UPDATE balances SET amount = ?, entry = ? WHERE kind = ? AND attribute = ? AND within = ? AND amount = ?"
_BALANCES = "SELECT amount, entry, kind, attribute, within FROM balances"
_BASE = (
    "SELECT p.hash, p.canonical, p.text FROM (SELECT *, (SELECT min(e.number) FROM entries AS e WHERE e.policy = o.id) "
    "AS first FROM policies AS o) AS p WHERE p.first IS NOT NULL AND p.hash = "
    "(SELECT q.hash FROM entries AS f JOIN policies AS q ON q.id = f.policy "
    "WHERE NOT EXISTS (SELECT 1 FROM failures AS x WHERE x.entry = f.number) "
    "OR EXISTS (SELECT 1 FROM documents AS d WHERE d.entry = f.number) "
    "ORDER BY f.number LIMIT 1) ORDER BY p.text = '', p.first LIMIT 1"
)


class Store(ABC):
    """One transaction, in which bare names mean the ledger's tables; the connection's owner begins and ends it."""

    @abstractmethod
    def _ask(self, query: str, values: tuple[str | int, ...] = ()) -> Any:
        """Run a query with values for its question marks; return a cursor."""

    @abstractmethod
    def _ask_many(self, query: str, rows: Sequence[tuple[str | int, ...]]) -> int:
        """Run a query for each of several rows; return how many rows of the database it met."""

    @abstractmethod
    def damage(self) -> list[str]:
        """List the damage that the storage itself can detect."""

    def open_account(self, account: Account) -> None:
        """Write the account of a new ledger."""
        self._ask("INSERT INTO account VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", account_row(account))

    def account(self) -> Account:
        """Return the account."""
        row: Any = self._ask(_ACCOUNT).fetchone()
        if row is None:
            raise LedgerError("the ledger has lost its balance.", hint="restore it from a backup.")
        return read_account(row)

    def balances(self, classes: Collection[PairClass] | None = None) -> Iterator[Balance]:
        """Go through the balances of some whole classes, or of all, with those of their regions."""
        if classes is None:
            return map(read_balance, self._ask(_BALANCES))
        rows = (self._ask(f"{_BALANCES} WHERE kind = ? AND attribute = ?", (c.kind, c.attribute)) for c in classes)
        return map(read_balance, chain.from_iterable(rows))

    def base(self) -> StoredPolicy | None:
        """Return the policy that the budget belongs to, with a text if any entry under it has one.

        It is that of the first entry that is not set aside: an entry that failed and has no document.
        """
        row = self._ask(_BASE).fetchone()
        return None if row is None else StoredPolicy(*row)

    def entry(self, key: str) -> Entry | None:
        """Find an entry by its key."""
        return next(map(read_entry, self._ask(f"{_ENTRIES} WHERE e.key = ?", (key,))), None)

    def entries(self) -> Iterator[Entry]:
        """Go through the entries in order."""
        return map(read_entry, self._ask(f"{_ENTRIES} ORDER BY e.number"))

    def document(self, entry: int) -> Document | None:
        """Find the document of an entry."""
        return next(map(read_document, self._ask(f"{_DOCUMENTS} WHERE entry = ?", (entry,))), None)

    def documents(self) -> Iterator[Document]:
        """Go through the documents in order."""
        return map(read_document, self._ask(f"{_DOCUMENTS} ORDER BY number"))

    def failure(self, entry: int) -> Failure | None:
        """Find the failure of an entry."""
        return next(map(read_failure, self._ask(f"{_FAILURES} WHERE entry = ?", (entry,))), None)

    def failures(self) -> Iterator[Failure]:
        """Go through the failures in order."""
        return map(read_failure, self._ask(f"{_FAILURES} ORDER BY number"))

    def failed_policies(self) -> frozenset[str]:
        """Return the hashes of the policies of the entries that failed."""
        rows = self._ask(
            "SELECT DISTINCT p.hash FROM failures AS x JOIN entries AS e ON e.number = x.entry "
            "JOIN policies AS p ON p.id = e.policy"
        )
        return frozenset(str(name) for (name,) in rows)

    def append(self, row: Row, *, before: Account, after: Account, balances: Collection[Balance] = ()) -> None:
        """Update the account, on condition that it still is ``before``, and add the row.

        ``balances`` are those of the classes that an entry is charged to, as they were before.
        """
        swapped = self._ask(_SWAP, (*account_row(after)[3:], *account_row(before)[3:]))
        if swapped.rowcount != 1:
            raise LedgerError("the balance changed while it was being charged.", hint="try again with the same key.")
        if isinstance(row, Entry):
            self._append_entry(row)
            self._charge_balances(row, {balance.pairs: balance.amount for balance in balances})
        elif isinstance(row, Failure):
            self._ask("INSERT INTO failures VALUES (?, ?, ?, ?)", (row.number, row.entry, row.made, row.chain))
        else:
            values = (row.number, row.entry, row.made, row.text, row.sha256, row.chain)
            self._ask("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)", values)

    def _charge_balances(self, row: Entry, before: Mapping[PairClass, Fraction]) -> None:
        moved = [
            Balance(pairs, before.get(pairs, Fraction(0)) + amount, row.number) for pairs, amount in row.loss.amounts
        ]
        known = [
            (*balance_row(balance), write_amount(before[balance.pairs])) for balance in moved if balance.pairs in before
        ]
        if self._ask_many(_MOVE, known) != len(known):
            raise LedgerError("a balance changed while it was being charged.", hint="try again with the same key.")
        self._ask_many(_ADD, [balance_row(balance) for balance in moved if balance.pairs not in before])

    def _append_entry(self, row: Entry) -> None:
        policy = row.policy.hash, row.policy.canonical, row.policy.text
        self._ask("INSERT INTO policies (hash, canonical, text) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", policy)
        self._ask(
            "INSERT INTO entries SELECT ?, ?, ?, id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM policies "
            "WHERE hash = ? AND text = ? AND canonical = ?",
            entry_row(row),
        )
