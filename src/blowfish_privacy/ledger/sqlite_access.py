"""Access to the file of a ledger: connections, transactions where the ledger belongs, and SQLite's errors in words.

The journal is SQLite's rollback journal: the locks are on the file itself, whatever it is called, and what is committed
is in the file. ``synchronous = EXTRA`` makes the removal of the journal durable too: a journal that comes back after a
power failure would undo a charge that was confirmed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger.hints import DAMAGED, MISSING
from blowfish_privacy.ledger.place import LOGS, Place, logs
from blowfish_privacy.ledger.sqlite_store import SqliteStore

TIMEOUT = 60.0
"""Seconds to wait for other writers."""

_WORDS = {
    sqlite3.SQLITE_BUSY: ("other processes kept the ledger locked for too long", "try again."),
    sqlite3.SQLITE_LOCKED: ("other processes kept the ledger locked for too long", "try again."),
    sqlite3.SQLITE_READONLY: ("the ledger cannot be written", "check the permissions of the file and its folder."),
    sqlite3.SQLITE_PERM: ("the ledger cannot be written", "check the permissions of the file and its folder."),
    sqlite3.SQLITE_CANTOPEN: ("the ledger cannot be opened", "check that it exists and that its folder is writable."),
    sqlite3.SQLITE_FULL: ("the disk is full", "free some space; nothing was written."),
    sqlite3.SQLITE_IOERR: (
        "the disk failed to read or write the ledger",
        "check the disk and its free space, then repeat with the same key: what was charged is not charged again.",
    ),
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: ("the file is not a ledger", "give the ledger a name that no other file has."),
}


def connect(path: Path, timeout: float) -> sqlite3.Connection:
    """Open the file, without reading any of it yet."""
    # mode=rw: a ledger that was deleted must not come back empty.
    connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=timeout, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(path: Path, timeout: float, begin: str) -> Generator[SqliteStore]:
    """Begin a transaction on a ledger that is in its place; without a commit its end undoes everything."""
    place = place_to_open(path)
    with wording_sqlite_errors(path), closing(connect(path, timeout)) as connection:
        connection.execute(begin)
        store = SqliteStore(connection)
        place.check(store.place())
        yield store


def place_to_open(path: Path) -> Place:
    """Say where a ledger's file is, once it is certain that SQLite may open it there.

    At the first read, SQLite applies any journal that it finds beside the file. One that was left under a path that the
    ledger no longer has would undo charges, so the recorded place is read first, without touching anything.
    """
    with wording_file_errors(path):
        place, leftovers = Place.of(path), logs(path)
    recorded = _recorded(path) if leftovers else None
    if recorded is None:
        return place
    place.check(recorded)
    for log in leftovers:
        if log.name.endswith("-wal"):
            raise LedgerError(
                f"beside {path.name} there is a log {log.name}, which this version does not write.",
                hint=f"if other software wrote to this ledger, let it end: sqlite3 {path.name} 'PRAGMA "
                "journal_mode = DELETE'. If the log is a leftover of another file, move it away.",
            )
    return place


def _recorded(path: Path) -> Place | None:
    """Read the recorded place and nothing else: immutable means no locks and no journal. None where there is none."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            return SqliteStore(connection).place()
    except (sqlite3.Error, LedgerError):
        # Half-written by a writer that was killed, whose journal will repair it, or of format 1.
        return None


def check_no_orphan_log(path: Path) -> None:
    """Refuse a log that a deleted ledger left behind: SQLite would apply it to the new one."""
    for ending in LOGS:
        if path.with_name(path.name + ending).exists() and not path.exists():
            raise LedgerError(
                f"{path.name} is missing, but its log {path.name}{ending} exists.",
                hint="restore both from a backup, or choose another name for a new ledger.",
            )


@contextmanager
def wording_sqlite_errors(path: Path) -> Generator[None]:
    """Turn SQLite's errors into ours, without their traceback."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0)
        said, hint = _WORDS.get(code & 0xFF, ("SQLite failed", "run 'blowfish ledger verify'."))
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        raise LedgerError(f"{path.name}: {said} ({name}).", hint=hint) from None
    except UnicodeDecodeError:
        # SQLite quotes the damaged text of a table or a trigger in its error, which Python cannot read.
        said, hint = DAMAGED
        raise LedgerError(f"{path.name}: {said}.", hint=hint) from None


@contextmanager
def wording_file_errors(path: Path) -> Generator[None]:
    """Turn the operating system's errors into ours, without their traceback."""
    try:
        yield
    except FileNotFoundError:
        raise LedgerError(
            f"there is no ledger {path.name} in {path.parent}.",
            hint=MISSING,
        ) from None
    except UnicodeDecodeError:
        # Of what is in the file, not of its name.
        raise
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "the name cannot be used"
        raise LedgerError(
            f"{path.name}: the ledger cannot be opened or made ({reason}).", hint="check the folder and the name."
        ) from None
