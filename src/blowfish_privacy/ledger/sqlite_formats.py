"""The tables of a ledger in SQLite, from format to format.

A new file takes every step that an old one would take, so both end with the same tables.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator

from blowfish_privacy.ledger.account import Account
from blowfish_privacy.ledger.amounts import read_amount
from blowfish_privacy.ledger.place import Place
from blowfish_privacy.ledger.sqlite_store import SqliteStore

APPLICATION = int.from_bytes(b"BPLg")
"""Marks a SQLite file as a ledger of ours."""
VERSION = 4


def _guards(*tables: str) -> Iterator[str]:
    for table in tables:
        for verb in ("UPDATE", "DELETE"):
            yield (
                f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} "
                "BEGIN SELECT RAISE(ABORT, 'rows of a ledger are only ever added'); END"
            )


_FORMAT_1 = (
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
    *_guards("policies", "entries", "documents"),
    "CREATE TRIGGER account_budget BEFORE UPDATE OF one, budget, created ON account "
    "BEGIN SELECT RAISE(ABORT, 'the budget of a ledger is fixed'); END",
    "CREATE TRIGGER account_delete BEFORE DELETE ON account "
    "BEGIN SELECT RAISE(ABORT, 'a ledger keeps its balance'); END",
)

_FAILURES = (
    "ALTER TABLE account ADD COLUMN failures INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE account ADD COLUMN failures_head TEXT NOT NULL DEFAULT ''",
    """CREATE TABLE failures (
        number INTEGER PRIMARY KEY, entry INTEGER NOT NULL UNIQUE REFERENCES entries, made TEXT NOT NULL,
        chain TEXT NOT NULL)""",
    *_guards("failures"),
)
_LOSSES = (
    "ALTER TABLE account ADD COLUMN measure TEXT NOT NULL DEFAULT 'epsilon'",
    "ALTER TABLE entries ADD COLUMN version INTEGER NOT NULL DEFAULT 1",
    "ALTER TABLE entries ADD COLUMN measure TEXT NOT NULL DEFAULT 'epsilon'",
    "ALTER TABLE entries ADD COLUMN loss TEXT NOT NULL DEFAULT ''",
    "CREATE TRIGGER account_measure BEFORE UPDATE OF measure ON account "
    "BEGIN SELECT RAISE(ABORT, 'the budget of a ledger is fixed'); END",
)
_BALANCES = (
    """CREATE TABLE balances (
        kind TEXT NOT NULL, attribute TEXT NOT NULL, within TEXT NOT NULL, amount TEXT NOT NULL,
        entry INTEGER NOT NULL REFERENCES entries, PRIMARY KEY (kind, attribute, within))""",
    "CREATE INDEX entries_of_policy ON entries (policy)",
    "CREATE TRIGGER balances_class BEFORE UPDATE OF kind, attribute, within ON balances "
    "BEGIN SELECT RAISE(ABORT, 'the balances of a ledger are only ever added to'); END",
    "CREATE TRIGGER balances_delete BEFORE DELETE ON balances "
    "BEGIN SELECT RAISE(ABORT, 'a ledger keeps its balances'); END",
)
_PLACE = (
    """CREATE TABLE place (
        one INTEGER PRIMARY KEY CHECK (one = 1), folder TEXT NOT NULL, name TEXT NOT NULL, file TEXT NOT NULL)""",
)


def create_tables(connection: sqlite3.Connection) -> None:
    """Make all tables, in the transaction that is open."""
    for statement in _FORMAT_1:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    _take_steps(connection, 1)


def migrate(connection: sqlite3.Connection, place: Place) -> None:
    """Bring a ledger of an older format to this one, whole or not at all; rows and their hashes stay as they are."""
    connection.execute("BEGIN EXCLUSIVE")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    _take_steps(connection, version)
    if version == 1:
        SqliteStore(connection).record_place(place)
    connection.execute("COMMIT")


def _take_steps(connection: sqlite3.Connection, version: int) -> None:
    for step in _STEPS[version - 1 :]:
        step(connection)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _to_format_2(connection: sqlite3.Connection) -> None:
    """Failed checks, in a chain of their own that begins where the others do, and the place of the file."""
    for statement in (*_FAILURES, *_PLACE):
        connection.execute(statement)
    for budget, created in connection.execute("SELECT budget, created FROM account").fetchall():
        head = Account.first_link(read_amount(budget), created)
        connection.execute("UPDATE account SET failures_head = ?", (head,))


def _to_format_3(connection: sqlite3.Connection) -> None:
    """Measures, and what each class of secret pairs was charged; older rows were charged on every class."""
    for statement in _LOSSES:
        connection.execute(statement)


def _to_format_4(connection: sqlite3.Connection) -> None:
    """Balances of every class of secret pairs; what is spent is now the most that any pair has lost."""
    for statement in _BALANCES:
        connection.execute(statement)
    if connection.execute("SELECT 1 FROM account").fetchone() is not None:
        SqliteStore(connection).summarise()


_STEPS: tuple[Callable[[sqlite3.Connection], None], ...] = (_to_format_2, _to_format_3, _to_format_4)
"""The step from format 1 to 2, and so on."""
