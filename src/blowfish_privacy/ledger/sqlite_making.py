"""Making the file of a ledger, opening an existing one, and recording that it was moved."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from random import SystemRandom
from typing import TypeVar

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger.account import Account
from blowfish_privacy.ledger.hints import DAMAGED, EXISTS
from blowfish_privacy.ledger.place import Place, logs
from blowfish_privacy.ledger.sqlite_access import check_no_orphan_log, connect, place_to_open
from blowfish_privacy.ledger.sqlite_formats import APPLICATION, VERSION, create_tables, migrate
from blowfish_privacy.ledger.sqlite_store import SqliteStore
from blowfish_privacy.ledger.verification import Rows, verify_rows
from blowfish_privacy.support.files import make_durable

Result = TypeVar("Result")


def make(path: Path, account: Account) -> None:
    """Make a ledger without a name first: it appears complete or not at all, and nothing is ever overwritten."""
    check_no_orphan_log(path)
    if not path.parent.is_dir():
        raise LedgerError(f"{path.name}: the folder {path.parent} does not exist.", hint="make it first.")
    if path.exists():
        raise _exists(path)
    with _draft(path) as handle:
        place = Place(str(path.parent.stat().st_ino), path.name, str(os.fstat(handle).st_ino))
        _write(handle, _contents(account, place))
    make_durable(path.parent)


@contextmanager
def _draft(path: Path) -> Generator[int]:
    """Open a file to write, and give it its name at the end.

    Until then it has none, so that nothing is left behind if this process is killed. On a disk that has no files
    without a name it has a hidden one.
    """
    named = ""
    try:
        # By which it gets its name.
        os.stat("/proc/self/fd")
        handle = os.open(path.parent, os.O_TMPFILE | os.O_RDWR, 0o600)
    except (AttributeError, OSError):
        handle, named = tempfile.mkstemp(prefix=".ledger-", dir=path.parent)
    try:
        yield handle
        if named:
            os.link(named, path)
        else:
            _name(handle, path)
    except FileExistsError:
        raise _exists(path) from None
    finally:
        os.close(handle)
        if named:
            # A ledger with two names is refused.
            os.unlink(named)


def _name(handle: int, path: Path) -> None:
    """Name an open file that has no name. With a handle of the folder the link to it is followed, not named."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.link(f"/proc/self/fd/{handle}", path.name, dst_dir_fd=folder)
    finally:
        os.close(folder)


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


def _contents(account: Account, place: Place) -> bytes:
    """Return the contents of the file of a new ledger."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("BEGIN")
        create_tables(connection)
        store = SqliteStore(connection)
        store.open_account(account)
        store.record_place(place)
        connection.execute("COMMIT")
        return connection.serialize()


def _write(handle: int, contents: bytes) -> None:
    """Write a file, and read it back before it becomes a ledger: a disk may fail silently."""
    try:
        with open(handle, "r+b", closefd=False) as file:
            file.write(contents)
            file.flush()
            os.fsync(handle)
            file.seek(0)
            if file.read() == contents:
                return
        reason = "it differs from what was written"
    except OSError as error:
        reason = error.strerror
    raise LedgerError(f"the new ledger cannot be written: {reason}.", hint="check the disk and its free space.")


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
