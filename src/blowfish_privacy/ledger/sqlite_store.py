"""A transaction on the tables of a ledger in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger.account import Account
from blowfish_privacy.ledger.balance import Balance
from blowfish_privacy.ledger.entry import Document, Entry, Failure
from blowfish_privacy.ledger.hints import DAMAGED
from blowfish_privacy.ledger.place import Place
from blowfish_privacy.ledger.sql_store import SqlStore

_SMALL = "account", "balances", "failures", "place"
"""The tables that a charge relies on as a whole; how many charges there are makes no difference to their size."""
_ENDS = (
    "SELECT (SELECT max(number) FROM entries), (SELECT max(number) FROM documents), (SELECT max(entry) FROM documents)"
)
"""Where the next charge and its document are added, in the tables and in the index of documents."""


class SqliteStore(SqlStore):
    """One transaction; the connection's owner begins and ends it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def commit(self) -> None:
        """Make what was done durable."""
        self._connection.execute("COMMIT")

    def append(
        self, row: Entry | Document | Failure, *, before: Account, after: Account, balances: Collection[Balance] = ()
    ) -> None:
        """Do so, a charge once it is certain that the pages are sound that it and its document need."""
        if isinstance(row, Entry):
            self._check_pages(before)
        super().append(row, before=before, after=after, balances=balances)

    def _check_pages(self, account: Account) -> None:
        checks = (self._ask(f"PRAGMA integrity_check({table})") for table in _SMALL)
        sound = all(line == ("ok",) for check in checks for line in check)
        entries, documents, _ = self._ask(_ENDS).fetchone()
        if not sound or (entries or 0, documents or 0) != (account.entries, account.documents):
            said, hint = DAMAGED
            raise LedgerError(f"{said}.", hint=hint)

    def place(self) -> Place:
        """Read where the file was recorded to be."""
        row = self._ask("SELECT folder, name, file FROM place").fetchone()
        if row is None:
            raise LedgerError("the ledger no longer records where it belongs.", hint="restore it from a backup.")
        return Place(*row)

    def record_place(self, place: Place) -> None:
        """Record where the file is."""
        self._ask("INSERT OR REPLACE INTO place VALUES (1, ?, ?, ?)", (place.folder, place.name, place.file))

    def _ask(self, query: str, values: tuple[str | int, ...] = ()) -> sqlite3.Cursor:
        return self._connection.execute(query, values)

    def _ask_many(self, query: str, rows: Sequence[tuple[str | int, ...]]) -> int:
        return max(0, self._connection.executemany(query, rows).rowcount)

    def damage(self) -> list[str]:
        """Let SQLite check its pages and references."""
        broken = [str(line) for (line,) in self._connection.execute("PRAGMA integrity_check(10)") if line != "ok"]
        orphans = self._connection.execute("PRAGMA foreign_key_check").fetchall()
        return [*broken, *(f"a row of the table {table} refers to a row that is missing." for table, *_ in orphans)]
