"""A ledger in one SQLite file.

Every operation opens a new connection, so nothing is shared between threads or across a fork. Nothing but SQLite ever
opens the file: closing any other handle on it would drop the locks of this process's connections.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from blowfish_privacy.errors import BlowfishWarning, LedgerError
from blowfish_privacy.ledger.account import Account
from blowfish_privacy.ledger.ledger import Clock, Ledger, check_same_budget, system_clock, write_time
from blowfish_privacy.ledger.policy_cache import PolicyLoader
from blowfish_privacy.ledger.sqlite_access import TIMEOUT, transaction, wording_file_errors, wording_sqlite_errors
from blowfish_privacy.ledger.sqlite_making import inspect, make, record_move
from blowfish_privacy.ledger.sqlite_store import SqliteStore
from blowfish_privacy.privacy.measure import Budget, BudgetLike


class SqliteLedger(Ledger):
    """A ledger in one SQLite file; make it with :meth:`create`, open it with :meth:`open`."""

    def __init__(
        self, path: Path, terms: Budget, *, load_policy: PolicyLoader | None, timeout: float, clock: Clock | None
    ) -> None:
        super().__init__(terms=terms, load_policy=load_policy, clock=clock)
        self.path = path
        self.values_folder = path.with_name(f"{path.name}.values")
        self._timeout = timeout

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        budget: BudgetLike,
        load_policy: PolicyLoader | None = None,
        timeout: float = TIMEOUT,
        clock: Clock | None = None,
    ) -> SqliteLedger:
        """Make a ledger and open it; the options are those of :meth:`open`."""
        terms = Budget.read(budget, error=LedgerError)
        resolved = _resolved(path)
        with wording_sqlite_errors(resolved), wording_file_errors(resolved):
            make(resolved, Account.opening(terms, write_time((clock or system_clock)())))
        return cls.open(resolved, load_policy=load_policy, timeout=timeout, clock=clock)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        budget: BudgetLike | None = None,
        load_policy: PolicyLoader | None = None,
        timeout: float = TIMEOUT,
        clock: Clock | None = None,
    ) -> SqliteLedger:
        """Open an existing ledger; ``budget``, if given, must be the one it was made with.

        ``load_policy`` reads policies back from the texts given with charges; pair losses and charges under other
        policies than the first need it. Waiting for other writers ends after ``timeout`` seconds.
        """
        resolved = _resolved(path)
        terms = None if budget is None else Budget.read(budget, error=LedgerError)
        with wording_sqlite_errors(resolved), wording_file_errors(resolved):
            account = inspect(resolved, timeout)
            _warn_if_open_to_others(resolved)
        check_same_budget(resolved.name, account.terms, terms)
        return cls(resolved, account.terms, load_policy=load_policy, timeout=timeout, clock=clock)

    @classmethod
    def moved(cls, path: str | os.PathLike[str], *, timeout: float = TIMEOUT) -> SqliteLedger:
        """Record that a ledger was moved to this path, and open it.

        Only the custodian can know that no other copy or name of it is in use: two would spend the budget twice.
        """
        resolved = _resolved(path)
        with wording_sqlite_errors(resolved), wording_file_errors(resolved):
            record_move(resolved, timeout)
        return cls.open(resolved, timeout=timeout)

    @property
    def name(self) -> str:
        """The file's name."""
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


def _resolved(path: str | os.PathLike[str]) -> Path:
    """Follow symbolic links: they name the same file in the same place."""
    with wording_file_errors(Path(path)):
        return Path(os.path.realpath(path))


def _warn_if_open_to_others(path: Path) -> None:
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        warnings.warn(
            f"the ledger {path.name} is open to other users of this machine. Hint: chmod 600 it.",
            BlowfishWarning,
            stacklevel=3,
        )
