"""The tables of a ledger in SQLite, and a transaction on them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger.account import Account
from blowfish_privacy.ledger.entry import Document, Entry, StoredPolicy
from blowfish_privacy.ledger.rows import account_row, entry_row, read_account, read_document, read_entry
from blowfish_privacy.ledger.store import Store

APPLICATION = int.from_bytes(b"BPLg")
"""Marks a SQLite file as a ledger of ours."""
VERSION = 1

_TABLES = (
    """CREATE TABLE account (
        one INTEGER PRIMARY KEY CHECK (one = 1), budget TEXT NOT NULL, created TEXT NOT NULL, spent TEXT NOT NULL,
        entries INTEGER NOT NULL, entries_head TEXT NOT NULL,
        documents INTEGER NOT NULL, documents_head TEXT NOT NULL)""",
    """CREATE TABLE policies (
        id INTEGER PRIMARY KEY, hash TEXT NOT NULL, canonical TEXT NOT NULL, text TEXT NOT NULL,
        UNIQUE (hash, text))""",
    """CREATE TABLE entries (
        number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, made TEXT NOT NULL,
        policy INTEGER NOT NULL REFERENCES policies, epsilon TEXT NOT NULL, charged TEXT NOT NULL, rule TEXT NOT NULL,
        description TEXT NOT NULL, mechanism TEXT NOT NULL, detail TEXT NOT NULL, chain TEXT NOT NULL)""",
    """CREATE TABLE documents (
        number INTEGER PRIMARY KEY, entry INTEGER NOT NULL UNIQUE REFERENCES entries, made TEXT NOT NULL,
        text TEXT NOT NULL, sha256 TEXT NOT NULL, chain TEXT NOT NULL)""",
)


def _guards() -> Iterator[str]:
    for table in ("policies", "entries", "documents"):
        for verb in ("UPDATE", "DELETE"):
            yield (
                f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} "
                "BEGIN SELECT RAISE(ABORT, 'rows of a ledger are only ever added'); END"
            )
    yield (
        "CREATE TRIGGER account_budget BEFORE UPDATE OF one, budget, created ON account "
        "BEGIN SELECT RAISE(ABORT, 'the budget of a ledger is fixed'); END"
    )
    yield (
        "CREATE TRIGGER account_delete BEFORE DELETE ON account "
        "BEGIN SELECT RAISE(ABORT, 'a ledger keeps its balance'); END"
    )


SCHEMA = (
    *_TABLES,
    *_guards(),
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)

_ENTRIES = (
    "SELECT e.number, e.key, e.made, p.hash, p.canonical, p.text, e.epsilon, e.charged, e.rule, e.description, "
    "e.mechanism, e.detail, e.chain FROM entries AS e LEFT JOIN policies AS p ON p.id = e.policy"
)
_DOCUMENTS = "SELECT number, entry, made, text, sha256, chain FROM documents"


class SqliteStore(Store):
    """One transaction; the connection's owner begins and ends it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def open_account(self, account: Account) -> None:
        """Write the first balance."""
        self._connection.execute("INSERT INTO account VALUES (1, ?, ?, ?, ?, ?, ?, ?)", account_row(account))

    def account(self) -> Account:
        """Read the one row."""
        row: Any = self._connection.execute(
            "SELECT budget, created, spent, entries, entries_head, documents, documents_head FROM account"
        ).fetchone()
        if row is None:
            raise LedgerError("the ledger has lost its balance.", hint="restore it from a backup.")
        return read_account(row)

    def base(self) -> StoredPolicy | None:
        """Look at the first entry, and for a text among the policies of the same hash."""
        row = self._connection.execute(
            "SELECT p.hash, p.canonical, p.text FROM policies AS p WHERE p.hash = (SELECT q.hash FROM entries AS e "
            "JOIN policies AS q ON q.id = e.policy ORDER BY e.number LIMIT 1) ORDER BY p.text = '', p.id LIMIT 1"
        ).fetchone()
        return None if row is None else StoredPolicy(*row)

    def entry(self, key: str) -> Entry | None:
        """Look up the key."""
        row = self._connection.execute(f"{_ENTRIES} WHERE e.key = ?", (key,)).fetchone()
        return None if row is None else read_entry(row)

    def entries(self) -> Iterator[Entry]:
        """Go through the entries by number."""
        return map(read_entry, self._connection.execute(f"{_ENTRIES} ORDER BY e.number"))

    def document(self, entry: int) -> Document | None:
        """Look up the entry."""
        row = self._connection.execute(f"{_DOCUMENTS} WHERE entry = ?", (entry,)).fetchone()
        return None if row is None else read_document(row)

    def documents(self) -> Iterator[Document]:
        """Go through the documents by number."""
        return map(read_document, self._connection.execute(f"{_DOCUMENTS} ORDER BY number"))

    def append(self, row: Entry | Document, *, before: Account, after: Account) -> None:
        """Swap the balance and add the row."""
        swapped = self._connection.execute(
            "UPDATE account SET spent = ?, entries = ?, entries_head = ?, documents = ?, documents_head = ? "
            "WHERE spent = ? AND entries = ? AND entries_head = ? AND documents = ? AND documents_head = ?",
            (*account_row(after)[2:], *account_row(before)[2:]),
        )
        if swapped.rowcount != 1:
            raise LedgerError("the balance changed while it was being charged.", hint="try again with the same key.")
        if isinstance(row, Entry):
            self._append_entry(row)
        else:
            values = (row.number, row.entry, row.made, row.text, row.sha256, row.chain)
            self._connection.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)", values)

    def _append_entry(self, row: Entry) -> None:
        policy = row.policy.hash, row.policy.canonical, row.policy.text
        self._connection.execute(
            "INSERT INTO policies (hash, canonical, text) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", policy
        )
        self._connection.execute(
            "INSERT INTO entries SELECT ?, ?, ?, id, ?, ?, ?, ?, ?, ?, ? FROM policies WHERE hash = ? AND text = ?",
            entry_row(row),
        )

    def damage(self) -> list[str]:
        """Let SQLite check its pages and references."""
        found = [str(line) for (line,) in self._connection.execute("PRAGMA integrity_check(10)") if line != "ok"]
        loose = self._connection.execute("PRAGMA foreign_key_check").fetchall()
        return [*found, *(f"a row of the table {table} refers to a missing one." for table, *_ in loose)]
