"""A ledger in one SQLite file.

Every operation opens its own connection, so nothing is shared between threads or across a fork. Nothing but SQLite ever
opens the file: closing any other handle on it would drop the locks of this process's connections.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
import warnings
from collections.abc import Generator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

from blowfish_privacy.errors import BlowfishWarning, LedgerError
from blowfish_privacy.exact import positive, show
from blowfish_privacy.ledger.account import Account
from blowfish_privacy.ledger.ledger import Clock, Ledger, system_clock, write_time
from blowfish_privacy.ledger.shelf import PolicyLoader
from blowfish_privacy.ledger.sqlite_store import APPLICATION, SCHEMA, VERSION, SqliteStore

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
    sqlite3.SQLITE_CORRUPT: ("the ledger file is damaged or cut short", "restore it from a backup."),
    sqlite3.SQLITE_NOTADB: ("the file is not a ledger", "give the ledger a file name of its own."),
}


class SqliteLedger(Ledger):
    """A ledger in one SQLite file; open it with :meth:`open`."""

    def __init__(
        self, path: Path, budget: Fraction, *, load_policy: PolicyLoader | None, timeout: float, clock: Clock | None
    ) -> None:
        super().__init__(budget=budget, load_policy=load_policy, clock=clock)
        self.path = path
        self._timeout = timeout

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        budget: Fraction | None,
        load_policy: PolicyLoader | None = None,
        timeout: float = TIMEOUT,
        clock: Clock | None = None,
    ) -> SqliteLedger:
        """Open a ledger, or make one where there is none and a budget is given.

        ``load_policy`` reads policies back from the texts given with charges; pair losses and charges under other
        policies than the first need it. A wait for other writers ends after ``timeout`` seconds.
        """
        place = Path(os.path.abspath(path))
        if budget is not None:
            budget = positive(budget, "the budget", error=LedgerError)
        with _plainly(place), _findable(place):
            if budget is not None and not place.exists():
                _make(place, Account.opening(budget, write_time((clock or system_clock)())))
            account = _inspect(place, timeout)
        if budget not in (None, account.budget):
            raise LedgerError(
                f"{place.name} has a budget of {show(account.budget)}, not of {show(budget)}.",
                hint="a budget is fixed when its ledger is made: leave it out, or state the same.",
            )
        _warn_if_open_to_others(place)
        return cls(place, account.budget, load_policy=load_policy, timeout=timeout, clock=clock)

    def __repr__(self) -> str:
        return f"SqliteLedger({str(self.path)!r}, budget={show(self.budget)})"

    @contextmanager
    def _reading(self) -> Generator[SqliteStore]:
        with _plainly(self.path), closing(_connect(self.path, self._timeout)) as connection:
            connection.execute("BEGIN")
            yield SqliteStore(connection)

    @contextmanager
    def _writing(self) -> Generator[SqliteStore]:
        with _plainly(self.path), closing(_connect(self.path, self._timeout)) as connection:
            # Closing without a commit undoes everything.
            connection.execute("BEGIN IMMEDIATE")
            yield SqliteStore(connection)
            connection.execute("COMMIT")


def _connect(path: Path, timeout: float) -> sqlite3.Connection:
    # mode=rw: a ledger that was deleted must not come back empty.
    connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=timeout, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _make(path: Path, account: Account) -> None:
    """Make a ledger under another name first: a crash leaves no half-made one, and nothing is ever overwritten."""
    _check_no_remains(path)
    with tempfile.TemporaryDirectory(prefix=".ledger-", dir=path.parent) as folder:
        draft = Path(folder) / "ledger"
        draft.touch(mode=0o600)
        with closing(_connect(draft, TIMEOUT)) as connection:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode != "wal":
                raise LedgerError(f"the folder of {path.name} cannot hold a ledger.", hint="choose a local disk.")
            connection.execute("BEGIN IMMEDIATE")
            for statement in SCHEMA:
                connection.execute(statement)
            SqliteStore(connection).open_account(account)
            connection.execute("COMMIT")
        try:
            os.link(draft, path)
        except FileExistsError:
            return
    _sync_folder(path.parent)


def _check_no_remains(path: Path) -> None:
    """SQLite would play a log that a deleted ledger left behind into the new one."""
    for ending in ("-wal", "-journal"):
        if path.with_name(path.name + ending).exists() and not path.exists():
            raise LedgerError(
                f"{path.name} is missing, but its log {path.name}{ending} is there.",
                hint="restore both from a backup, or choose another name for a new ledger.",
            )


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _inspect(path: Path, timeout: float) -> Account:
    """Read the balance of a file that is certainly a ledger of ours."""
    state = path.stat()
    if not stat.S_ISREG(state.st_mode):
        raise LedgerError(f"{path.name} is not a file.", hint="give the ledger a file name of its own.")
    if state.st_size == 0:
        raise LedgerError(
            f"{path.name} is empty: it is no ledger, or lost its contents.",
            hint="restore it from a backup, or choose another name.",
        )
    with closing(_connect(path, timeout)) as connection:
        connection.execute("BEGIN")
        ((application,), (version,)) = (
            connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
        )
        if application != APPLICATION:
            raise LedgerError(
                f"{path.name} is a database of other software, not a ledger.",
                hint="give the ledger a file name of its own.",
            )
        if version != VERSION:
            raise LedgerError(
                f"{path.name} has ledger format {version}, and this version knows format {VERSION}.",
                hint="use the version of blowfish-privacy that made it, or a newer one.",
            )
        _check_whole(path, connection)
        return SqliteStore(connection).account()


def _check_whole(path: Path, connection: sqlite3.Connection) -> None:
    """Notice a last page cut short, which SQLite does not, unless a log is there to repair it."""
    (page,) = connection.execute("PRAGMA page_size").fetchone()
    log = path.with_name(f"{path.name}-wal")
    if path.stat().st_size % page and not (log.exists() and log.stat().st_size):
        said, hint = _WORDS[sqlite3.SQLITE_CORRUPT]
        raise LedgerError(f"{path.name}: {said}.", hint=hint)


def _warn_if_open_to_others(path: Path) -> None:
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        warnings.warn(
            f"the ledger {path.name} is open to other users of this machine. Hint: chmod 600 it.",
            BlowfishWarning,
            stacklevel=3,
        )


@contextmanager
def _plainly(path: Path) -> Generator[None]:
    """Turn what SQLite says into words, without its traceback."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0)
        said, hint = _WORDS.get(code & 0xFF, ("SQLite failed", "run 'blowfish ledger verify'."))
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        raise LedgerError(f"{path.name}: {said} ({name}).", hint=hint) from None


@contextmanager
def _findable(path: Path) -> Generator[None]:
    """Turn what the operating system says into words, without its traceback."""
    try:
        yield
    except FileNotFoundError:
        raise LedgerError(
            f"there is no ledger {path.name} in {path.parent}.",
            hint="give a budget to make one, and make sure that its folder exists.",
        ) from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "the name cannot be used"
        raise LedgerError(
            f"{path.name}: the ledger cannot be opened or made ({reason}).", hint="check the folder and the name."
        ) from None
