"""A transaction on the tables of a ledger in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger.account import Account
from blowfish_privacy.ledger.entry import Document, Entry, StoredPolicy
from blowfish_privacy.ledger.rows import account_row, entry_row, read_account, read_document, read_entry
from blowfish_privacy.ledger.store import Store

if TYPE_CHECKING:
    from psycopg import Connection

_ACCOUNT = "SELECT budget, created, spent, entries, entries_head, documents, documents_head FROM account"
_ENTRIES = (
    "SELECT e.number, e.key, e.made, p.hash, p.canonical, p.text, e.epsilon, e.charged, e.rule, e.description, "
    "e.mechanism, e.detail, e.chain FROM entries AS e LEFT JOIN policies AS p ON p.id = e.policy"
)
_DOCUMENTS = "SELECT number, entry, made, text, sha256, chain FROM documents"


class PostgresStore(Store):
    """One transaction, in which bare names mean the ledger's tables; the connection's owner begins and ends it."""

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection

    def open_account(self, account: Account) -> None:
        """Write the first balance."""
        self._connection.execute("INSERT INTO account VALUES (1, %s, %s, %s, %s, %s, %s, %s)", account_row(account))

    def hold(self) -> None:
        """Wait for other writers, and keep them waiting until the transaction ends."""
        self._connection.execute("SELECT FROM account FOR UPDATE")

    def account(self) -> Account:
        """Read the one row."""
        row = self._connection.execute(_ACCOUNT).fetchone()
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
        row = self._connection.execute(f"{_ENTRIES} WHERE e.key = %s", (key,)).fetchone()
        return None if row is None else read_entry(row)

    def entries(self) -> Iterator[Entry]:
        """Go through the entries by number."""
        return map(read_entry, self._connection.execute(f"{_ENTRIES} ORDER BY e.number"))

    def document(self, entry: int) -> Document | None:
        """Look up the entry."""
        row = self._connection.execute(f"{_DOCUMENTS} WHERE entry = %s", (entry,)).fetchone()
        return None if row is None else read_document(row)

    def documents(self) -> Iterator[Document]:
        """Go through the documents by number."""
        return map(read_document, self._connection.execute(f"{_DOCUMENTS} ORDER BY number"))

    def append(self, row: Entry | Document, *, before: Account, after: Account) -> None:
        """Swap the balance and add the row."""
        swapped = self._connection.execute(
            "UPDATE account SET spent = %s, entries = %s, entries_head = %s, documents = %s, documents_head = %s "
            "WHERE spent = %s AND entries = %s AND entries_head = %s AND documents = %s AND documents_head = %s",
            (*account_row(after)[2:], *account_row(before)[2:]),
        )
        if swapped.rowcount != 1:
            raise LedgerError("the balance changed while it was being charged.", hint="try again with the same key.")
        if isinstance(row, Entry):
            self._append_entry(row)
        else:
            values = (row.number, row.entry, row.made, row.text, row.sha256, row.chain)
            self._connection.execute("INSERT INTO documents VALUES (%s, %s, %s, %s, %s, %s)", values)

    def _append_entry(self, row: Entry) -> None:
        policy = row.policy.hash, row.policy.canonical, row.policy.text
        self._connection.execute(
            "INSERT INTO policies (hash, canonical, text) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", policy
        )
        self._connection.execute(
            "INSERT INTO entries SELECT %s, %s, %s, id, %s, %s, %s, %s, %s, %s, %s FROM policies "
            "WHERE hash = %s AND text = %s",
            entry_row(row),
        )

    def damage(self) -> list[str]:
        """Look for references to rows that are not there, which only a damaged disk leaves behind."""
        loose = {
            "entries": "SELECT FROM entries AS e LEFT JOIN policies AS p ON p.id = e.policy WHERE p.id IS NULL",
            "documents": "SELECT FROM documents AS d LEFT JOIN entries AS e ON e.number = d.entry "
            "WHERE e.number IS NULL",
        }
        return [
            f"a row of the table {table} refers to a missing one."
            for table, query in loose.items()
            if self._connection.execute(query.encode()).fetchone() is not None
        ]
