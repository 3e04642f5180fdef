"""A ledger in one SQLite file.

Every operation opens a new connection, so nothing is shared between threads or across a fork. Nothing but SQLite ever
opens the file: closing any other handle on it would drop the locks of this process's connections.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
import warnings
from collections.abc import Collection, Generator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blowfish_privacy.errors import BlowfishWarning, LedgerError
from blowfish_privacy.ledger.account import Account, Balance
from blowfish_privacy.ledger.entry import Entry, Row
from blowfish_privacy.ledger.ledger import EXISTS, MISSING, TIMEOUT, Ledger
from blowfish_privacy.ledger.store import FORMAT, Store, tables
from blowfish_privacy.ledger.verification import Rows, verify_rows
from blowfish_privacy.privacy.measure import Budget
from blowfish_privacy.support.files import make_durable

# Where the file of a ledger is: noticing a second path, a copy, a file put back.
#
# SQLite names its journal by the path that a file is opened under. One file under two paths has two journals, and what
# one path leaves behind in a crash would later undo what was charged through the other. So a ledger records its place
# and is only used there: its folder, its name in that folder, and the file itself. A folder mounted elsewhere is the
# same folder, and a safe mount.

LOGS = ("-journal", "-wal")
"""What SQLite adds to a file's name for what is not yet, or no longer, in the file."""


@dataclass(frozen=True)
class Place:
    """A folder, a name in it, and a file, by their inode numbers; the numbers of devices change at a restart."""

    folder: str
    name: str
    file: str

    @classmethod
    def of(cls, path: Path) -> Place:
        """Find the place of a file; refuse a file with a second name."""
        state = os.lstat(path)
        if not stat.S_ISREG(state.st_mode):
            raise LedgerError(f"{path.name} is not a file.", hint="give the ledger a name that no other file has.")
        if state.st_nlink > 1:
            raise LedgerError(
                f"{path.name} has {state.st_nlink} names (hard links), but a ledger may have only one.",
                hint="remove the others. A crash while it was made may leave one beside it, named .ledger-...",
            )
        return cls(str(os.stat(path.parent).st_ino), path.name, str(state.st_ino))

    def check(self, recorded: Place) -> None:
        """Refuse a file that is not where it was recorded to be."""
        if self == recorded:
            return
        if (self.folder, self.name) == (recorded.folder, recorded.name):
            raise LedgerError(
                f"{self.name} is not the file that was there before: it was restored from a backup, or replaced by a "
                "copy. Charges made since the copy are not in it, and could be spent again.",
                hint="put the right file back. Where it is lost, count what your records say is missing as spent, "
                f"release no more than the rest, and run: blowfish ledger moved {self.name}.",
            )
        raise LedgerError(
            f"{self.name} is not in its place: the ledger was recorded as {recorded.name} in "
            f"{'this' if self.folder == recorded.folder else 'another'} folder. It was moved or copied, or this is "
            "a second name or a mount of the single file. Two copies in use would spend the budget twice.",
            hint="use it where it was, and mount its folder, not the file. If it was moved, and no other copy or name "
            f"of it is in use any more, run: blowfish ledger moved {self.name}.",
        )

    def check_move(self, recorded: Place, path: Path) -> None:
        """Refuse a move that evidently left the original or its log behind."""
        old = path.with_name(recorded.name)
        if self.folder != recorded.folder or self.name == recorded.name:
            return
        if old.exists() and str(old.stat().st_ino) == recorded.file:
            raise LedgerError(
                f"{path.name} is a copy of {old.name}, which still exists: both would spend the budget twice.",
                hint=f"use {old.name}, or remove it first.",
            )
        for log in logs(old):
            raise LedgerError(
                f"{path.name} was moved without its log {log.name}.",
                hint="give both their old names back, then open it.",
            )


def logs(path: Path) -> list[Path]:
    """List the logs beside a ledger's path that are not empty."""
    found: list[Path] = []
    for log in (path.with_name(path.name + ending) for ending in LOGS):
        # A writer that finishes removes its journal at any moment.
        with suppress(FileNotFoundError):
            found += [log] if log.stat().st_size else []
    return found


# A transaction on the tables of a ledger in SQLite.

_SMALL = "account", "balances", "failures", "place"
"""The tables that a charge relies on as a whole; how many charges there are makes no difference to their size."""
_ENDS = (
    "SELECT (SELECT max(number) FROM entries), (SELECT max(number) FROM documents), (SELECT max(entry) FROM documents)"
)
"""Where the next charge and its document are added, in the tables and in the index of documents."""


class SqliteStore(Store):
    """One transaction; the connection's owner begins and ends it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def commit(self) -> None:
        """Make what was done durable."""
        self._connection.execute("COMMIT")

    def append(self, row: Row, *, before: Account, after: Account, balances: Collection[Balance] = ()) -> None:
        if isinstance(row, Entry):
            self._check_pages(before)
        super().append(row, before=before, after=after, balances=balances)

    def _check_pages(self, account: Account) -> None:
        checks = (self._ask(f"PRAGMA integrity_check({table})") for table in _SMALL)
        sound = all(line == ("ok",) for check in checks for line in check)
        entries, documents, _ = self._ask(_ENDS).fetchone()
        if not sound or (entries or 0, documents or 0) != (account.entries, account.documents):
            raise _damaged()

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
        broken = [str(line) for (line,) in self._connection.execute("PRAGMA integrity_check(10)") if line != "ok"]
        orphans = self._connection.execute("PRAGMA foreign_key_check").fetchall()
        return [*broken, *(f"a row of the table {table} refers to a row that is missing." for table, *_ in orphans)]


# Access to the file of a ledger: connections, transactions where the ledger belongs, and SQLite's errors in words.
#
# The journal is SQLite's rollback journal: the locks are on the file itself, whatever it is called, and what is
# committed is in the file. ``synchronous = EXTRA`` makes the removal of the journal durable too: a journal that comes
# back after a power failure would undo a charge that was confirmed.

_DAMAGED = ("the ledger file is damaged or cut short", "restore it from a backup.")
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
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: ("the file is not a ledger", "give the ledger a name that no other file has."),
}


def _damaged(where: str = "") -> LedgerError:
    words, hint = _DAMAGED
    return LedgerError(f"{where}{words}.", hint=hint)


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
        # Half-written by a writer that was killed, whose journal will repair it.
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
        raise _damaged(f"{path.name}: ") from None


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


# The tables of a ledger in SQLite, and the rules that SQLite itself keeps: rows are only ever added.

APPLICATION = int.from_bytes(b"BPLg")
"""Marks a SQLite file as a ledger of ours."""

_ALSO = (
    """CREATE TABLE place (
        one INTEGER PRIMARY KEY CHECK (one = 1), folder TEXT NOT NULL, name TEXT NOT NULL, file TEXT NOT NULL)""",
    "CREATE UNIQUE INDEX policies_once ON policies (hash, text)",
    "CREATE UNIQUE INDEX balances_once ON balances (kind, attribute, within)",
    "CREATE INDEX entries_of_policy ON entries (policy)",
)
_CHANGES = "UPDATE", "DELETE"
_GROWING = "policies", "entries", "documents", "failures"
_RULES = (
    *((f"{verb} ON {table}", "rows of a ledger are only ever added") for table in _GROWING for verb in _CHANGES),
    ("UPDATE OF one, measure, budget, created ON account", "the budget of a ledger is fixed"),
    ("DELETE ON account", "a ledger keeps its balance"),
    ("UPDATE OF kind, attribute, within ON balances", "the balances of a ledger are only ever added to"),
    ("DELETE ON balances", "a ledger keeps its balances"),
)
"""What must not be done to rows, and what is said to who tries."""


def _contents(account: Account, place: Place) -> bytes:
    """Return the contents of the file of a new ledger."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("BEGIN")
        for name, columns in tables(number="INTEGER", amount="TEXT").items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
        for statement in _ALSO:
            connection.execute(statement)
        for number, (change, reason) in enumerate(_RULES):
            refusal = f"SELECT RAISE(ABORT, '{reason}')"
            connection.execute(f"CREATE TRIGGER rule_{number} BEFORE {change} BEGIN {refusal}; END")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        store = SqliteStore(connection)
        store.open_account(account)
        store.record_place(place)
        connection.execute("COMMIT")
        return connection.serialize()


# Making the file of a ledger, opening an existing one, and recording that it was moved.


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
            # With a handle of the folder the link to the file is followed, not named.
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.link(f"/proc/self/fd/{handle}", path.name, dst_dir_fd=folder)
            finally:
                os.close(folder)
    except FileExistsError:
        raise _exists(path) from None
    finally:
        os.close(handle)
        if named:
            # A ledger with two names is refused.
            os.unlink(named)


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


def _check_format(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse other databases, and ledgers of another format."""
    ((application,), (version,)) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    if application != APPLICATION:
        raise LedgerError(
            f"{path.name} is a database of another program, not a ledger.",
            hint="give the ledger a name that no other file has.",
        )
    if version != FORMAT:
        raise LedgerError(
            f"{path.name} has ledger format {version}, and this version reads format {FORMAT}.",
            hint="use the version of blowfish-privacy that made it.",
        )


class SqliteLedger(Ledger):
    """A ledger in one SQLite file; make it with :meth:`create`, open it with :meth:`open`."""

    def __init__(self, place: Path, terms: Budget, **options: Any) -> None:
        super().__init__(place, terms, **options)
        self.path = place
        self.values_folder = place.with_name(f"{place.name}.values")

    @classmethod
    def _located(cls, where: str | os.PathLike[str]) -> Path:
        """Follow symbolic links: they name the same file in the same place."""
        with wording_file_errors(Path(where)):
            return Path(os.path.realpath(where))

    @classmethod
    def _make(cls, place: Path, account: Account, timeout: float) -> None:  # a new file is nobody else's
        """Make a ledger without a name first: it appears complete or not at all, and nothing is ever overwritten."""
        with wording_sqlite_errors(place), wording_file_errors(place):
            check_no_orphan_log(place)
            if not place.parent.is_dir():
                raise LedgerError(f"{place.name}: the folder {place.parent} does not exist.", hint="make it first.")
            if place.exists():
                raise _exists(place)
            with _draft(place) as handle:
                folder, file = place.parent.stat(), os.fstat(handle)
                _write(handle, _contents(account, Place(str(folder.st_ino), place.name, str(file.st_ino))))
            make_durable(place.parent)

    @classmethod
    def _inspect(cls, place: Path, timeout: float) -> Account:
        with wording_sqlite_errors(place), wording_file_errors(place):
            check_no_orphan_log(place)
            found = place_to_open(place)
            if place.stat().st_size == 0:
                raise LedgerError(
                    f"{place.name} is empty: it is not a ledger, or has lost its contents.",
                    hint="restore it from a backup, or choose another name.",
                )
            with closing(connect(place, timeout)) as connection:
                connection.execute("BEGIN")
                _check_format(place, connection)
                store = SqliteStore(connection)
                found.check(store.place())
                (page,) = connection.execute("PRAGMA page_size").fetchone()
                if place.stat().st_size % page:
                    # The last page is cut short, which SQLite does not notice.
                    raise _damaged(f"{place.name}: ")
                account = store.account()
            if os.name == "posix" and stat.S_IMODE(place.stat().st_mode) & 0o077:
                warnings.warn(
                    f"the ledger {place.name} is open to other users of this machine. Hint: chmod 600 it.",
                    BlowfishWarning,
                    stacklevel=3,
                )
        return account

    @classmethod
    def moved(cls, path: str | os.PathLike[str], *, timeout: float = TIMEOUT) -> SqliteLedger:
        """Record that a ledger was moved to this path, if its rows verify, and open it.

        Only the custodian can know that no other copy or name of it is in use: two would spend the budget twice.
        """
        place = cls._located(path)
        with wording_sqlite_errors(place), wording_file_errors(place):
            check_no_orphan_log(place)
            found = Place.of(place)
            for log in logs(place):
                raise LedgerError(
                    f"beside {place.name} there is a log {log.name}, which a crash left behind.",
                    hint=f"if it was moved together with this file, let SQLite apply it: sqlite3 {place.name} .tables. "
                    "If it belongs to another copy, move it away: it would undo charges.",
                )
            with closing(connect(place, timeout)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                _check_format(place, connection)
                store = SqliteStore(connection)
                found.check_move(store.place(), place)
                for problem in (*store.damage(), *verify_rows(Rows.of(store)).problems):
                    raise LedgerError(
                        f"{place.name}: {problem}", hint="restore the ledger, with its log, from a backup."
                    )
                store.record_place(found)
                store.commit()
        return cls.open(place, timeout=timeout)

    @property
    def name(self) -> str:
        return self.path.name

    def __repr__(self) -> str:
        return f"SqliteLedger({str(self.path)!r}, budget={self.terms.words})"

    @contextmanager
    def _reading(self) -> Generator[SqliteStore]:
        with transaction(self.path, self._timeout, "BEGIN") as store:
            yield store

    @contextmanager
    def _writing(self) -> Generator[SqliteStore]:
        with transaction(self.path, self._timeout, "BEGIN IMMEDIATE") as store:
            yield store
            store.commit()
