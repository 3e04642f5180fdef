"""A transaction on the tables of a ledger in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from blowfish_privacy.ledger.sql_store import SqlStore

if TYPE_CHECKING:
    from psycopg import Connection


class PostgresStore(SqlStore):
    """One transaction, in which bare names mean the ledger's tables; the connection's owner begins and ends it."""

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection

    def hold(self) -> None:
        """Wait for other writers, and keep them waiting until the transaction ends."""
        self._connection.execute("SELECT FROM account FOR UPDATE")

    def _ask(self, query: str, values: tuple[str | int, ...] = ()) -> Any:
        return self._connection.execute(query.replace("?", "%s").encode(), values)

    def _ask_many(self, query: str, rows: Sequence[tuple[str | int, ...]]) -> int:
        if not rows:
            return 0
        with self._connection.cursor() as cursor:
            cursor.executemany(query.replace("?", "%s").encode(), rows)
            return cursor.rowcount

    def damage(self) -> list[str]:
        """Look for references to rows that are not there, which only a damaged disk leaves behind."""
        orphans = {
            "entries": "SELECT FROM entries AS e LEFT JOIN policies AS p ON p.id = e.policy WHERE p.id IS NULL",
            "documents": "SELECT FROM documents AS d LEFT JOIN entries AS e ON e.number = d.entry "
            "WHERE e.number IS NULL",
            "balances": "SELECT FROM balances AS b LEFT JOIN entries AS e ON e.number = b.entry WHERE e.number IS NULL",
            "failures": "SELECT FROM failures AS x LEFT JOIN entries AS e ON e.number = x.entry WHERE e.number IS NULL",
        }
        return [
            f"a row of the table {table} refers to a row that is missing."
            for table, query in orphans.items()
            if self._connection.execute(query.encode()).fetchone() is not None
        ]
