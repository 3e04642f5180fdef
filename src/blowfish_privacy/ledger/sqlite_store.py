"""The tables of a ledger in SQLite, and a transaction on them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from blowfish_privacy.ledger.sql_store import SqlStore

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


class SqliteStore(SqlStore):
    """One transaction; the connection's owner begins and ends it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def _ask(self, query: str, values: tuple[str | int, ...] = ()) -> sqlite3.Cursor:
        return self._connection.execute(query, values)

    def damage(self) -> list[str]:
        """Let SQLite check its pages and references."""
        found = [str(line) for (line,) in self._connection.execute("PRAGMA integrity_check(10)") if line != "ok"]
        loose = self._connection.execute("PRAGMA foreign_key_check").fetchall()
        return [*found, *(f"a row of the table {table} refers to a missing one." for table, *_ in loose)]
