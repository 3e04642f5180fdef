"""Making the file of a ledger, opening an existing one, and recording that it was moved."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import SystemRandom
from typing import TypeVar

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger.account import Account
from blowfish_privacy.ledger.hints import EXISTS
from blowfish_privacy.ledger.place import Place, logs
from blowfish_privacy.ledger.sqlite_access import DAMAGED, TIMEOUT, check_no_orphan_log, connect, place_to_open
from blowfish_privacy.ledger.sqlite_formats import APPLICATION, VERSION, create_tables, migrate
from blowfish_privacy.ledger.sqlite_store import SqliteStore
from blowfish_privacy.ledger.verification import Rows, verify_rows
from blowfish_privacy.support.files import make_durable

Result = TypeVar("Result")


def make(path: Path, account: Account) -> None:
    """Make a ledger under another name first: it appears complete or not at all, and nothing is ever overwritten."""
    check_no_orphan_log(path)
    if not path.parent.is_dir():
        raise LedgerError(f"{path.name}: the folder {path.parent} does not exist.", hint="make it first.")
    if path.exists():
        raise _exists(path)
    with tempfile.TemporaryDirectory(prefix=".ledger-", dir=path.parent) as folder:
        draft = Path(folder) / "ledger"
        draft.touch(mode=0o600)
        _write(draft, account, Place(str(path.parent.stat().st_ino), path.name, str(draft.stat().st_ino)))
        make_durable(draft)
        _check_draft(draft, account)
        try:
            os.link(draft, path)
        except FileExistsError:
            raise _exists(path) from None
        # A ledger with two names is refused.
        draft.unlink()
    make_durable(path.parent)


def inspect(path: Path, timeout: float) -> Account:
    """Read the balance, once it is certain that the file is one of our ledgers, of this version's format."""
    check_no_orphan_log(path)
    place = place_to_open(path)
    if path.stat().st_size == 0:
        raise LedgerError(
            f"{path.name} is empty: it is not a ledger, or has lost its contents.",
            hint="restore it from a backup, or choose another name.",
        )
    if _read(path, timeout, _format) < VERSION:
        _leave_write_ahead_log(path, timeout)
        with closing(connect(path, timeout)) as connection:
            migrate(connection, place)

    def account(path: Path, connection: sqlite3.Connection) -> Account:
        place.check(SqliteStore(connection).place())
        _check_whole(path, connection)
        return SqliteStore(connection).account()

    return _read(path, timeout, account)


def record_move(path: Path, timeout: float) -> None:
    """Record the current place of a ledger, if its rows verify."""
    check_no_orphan_log(path)
    place = Place.of(path)
    for log in logs(path):
        raise LedgerError(
            f"beside {path.name} there is a log {log.name}, which a crash left behind.",
            hint=f"if it was moved together with this file, let SQLite apply it: sqlite3 {path.name} .tables. "
            "If it belongs to another copy, move it away: it would undo charges.",
        )
    with closing(connect(path, timeout)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        version = _format(path, connection)
        if version == 1:
            # It records no place: opening the file will.
            return
        if version < VERSION:
            connection.execute("ROLLBACK")
            migrate(connection, place)
            connection.execute("BEGIN IMMEDIATE")
        store = SqliteStore(connection)
        place.check_move(store.place(), path)
        for problem in (*store.damage(), *verify_rows(Rows.of(store)).problems):
            raise LedgerError(f"{path.name}: {problem}", hint="restore the ledger, with its log, from a backup.")
        store.record_place(place)
        connection.execute("COMMIT")


def _write(draft: Path, account: Account, place: Place) -> None:
    with closing(connect(draft, TIMEOUT)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        create_tables(connection)
        store = SqliteStore(connection)
        store.open_account(account)
        store.record_place(place)
        connection.execute("COMMIT")


def _check_draft(draft: Path, account: Account) -> None:
    """Read back what was written before it becomes a ledger: a disk may fail silently."""
    with closing(connect(draft, TIMEOUT)) as connection:
        connection.execute("BEGIN")
        store = SqliteStore(connection)
        _check_whole(draft, connection)
        if _format(draft, connection) != VERSION or store.account() != account or store.damage():
            raise LedgerError(
                "the new ledger differs from what was written.", hint="check the disk and its free space."
            )


def _exists(path: Path) -> LedgerError:
    return LedgerError(f"{path.name} already exists.", hint=EXISTS)


def _format(path: Path, connection: sqlite3.Connection) -> int:
    """Say which format a ledger has; refuse other databases and formats of the future."""
    ((application,), (version,)) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    if application != APPLICATION:
        raise LedgerError(
            f"{path.name} is a database of another program, not a ledger.",
            hint="give the ledger a name that no other file has.",
        )
    if not 1 <= version <= VERSION:
        raise LedgerError(
            f"{path.name} has ledger format {version}, and this version reads formats up to {VERSION}.",
            hint="use the version of blowfish-privacy that made it, or a newer one.",
        )
    return version


def _check_whole(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a file whose last page is cut short, which SQLite does not notice."""
    (page,) = connection.execute("PRAGMA page_size").fetchone()
    if path.stat().st_size % page:
        said, hint = DAMAGED
        raise LedgerError(f"{path.name}: {said}.", hint=hint)


def _read(path: Path, timeout: float, look: Callable[[Path, sqlite3.Connection], Result]) -> Result:
    with closing(connect(path, timeout)) as connection:
        connection.execute("BEGIN")
        return look(path, connection)


def _leave_write_ahead_log(path: Path, timeout: float) -> None:
    """Apply and stop using the write-ahead log of format 1, as soon as nobody else has the file open."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            with closing(connect(path, timeout)) as connection:
                if connection.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",):
                    return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
        # Others who are waiting for this get a moment without our connection.
        time.sleep(SystemRandom().uniform(0.002, 0.03))
    raise LedgerError(
        f"{path.name} must be migrated to ledger format {VERSION}, but other processes are using it.",
        hint="end them, and try again.",
    )
