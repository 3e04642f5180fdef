"""A ledger in one SQLite file.

Every operation opens its own connection, so nothing is shared between threads or across a fork. Nothing but SQLite ever
opens the file: closing any other handle on it would drop the locks of this process's connections.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from blowfish_privacy.errors import BlowfishWarning, LedgerError
from blowfish_privacy.ledger.account import Account
from blowfish_privacy.ledger.ledger import Clock, Ledger, system_clock, write_time
from blowfish_privacy.ledger.shelf import PolicyLoader
from blowfish_privacy.ledger.sqlite_access import TIMEOUT, findable, plainly, transaction
from blowfish_privacy.ledger.sqlite_making import inspect, make, record_move
from blowfish_privacy.ledger.sqlite_store import SqliteStore
from blowfish_privacy.support.exact import positive, show


class SqliteLedger(Ledger):
    """A ledger in one SQLite file; make it with :meth:`create`, open it with :meth:`open`."""

    def __init__(
        self, path: Path, budget: Fraction, *, load_policy: PolicyLoader | None, timeout: float, clock: Clock | None
    ) -> None:
        super().__init__(budget=budget, load_policy=load_policy, clock=clock)
        self.path = path
        self._timeout = timeout

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        budget: Fraction,
        load_policy: PolicyLoader | None = None,
        timeout: float = TIMEOUT,
        clock: Clock | None = None,
    ) -> SqliteLedger:
        """Make a ledger and open it; the options are those of :meth:`open`."""
        budget = positive(budget, "the budget", error=LedgerError)
        place = _resolved(path)
        with plainly(place), findable(place):
            make(place, Account.opening(budget, write_time((clock or system_clock)())))
        return cls.open(place, load_policy=load_policy, timeout=timeout, clock=clock)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        budget: Fraction | None = None,
        load_policy: PolicyLoader | None = None,
        timeout: float = TIMEOUT,
        clock: Clock | None = None,
    ) -> SqliteLedger:
        """Open a ledger that is there; ``budget``, if given, must be the one it was made with.

        ``load_policy`` reads policies back from the texts given with charges; pair losses and charges under other
        policies than the first need it. A wait for other writers ends after ``timeout`` seconds.
        """
        place = _resolved(path)
        if budget is not None:
            budget = positive(budget, "the budget", error=LedgerError)
        with plainly(place), findable(place):
            account = inspect(place, timeout)
            _warn_if_open_to_others(place)
        if budget not in (None, account.budget):
            raise LedgerError(
                f"{place.name} has a budget of {show(account.budget)}, not of {show(budget)}.",
                hint="a budget is fixed when its ledger is made: leave it out, or state the same.",
            )
        return cls(place, account.budget, load_policy=load_policy, timeout=timeout, clock=clock)

    @classmethod
    def moved(cls, path: str | os.PathLike[str], *, timeout: float = TIMEOUT) -> SqliteLedger:
        """Record that a ledger was moved here, and open it.

        Only the custodian can know that no other copy or name of it is in use: two would spend the budget twice.
        """
        place = _resolved(path)
        with plainly(place), findable(place):
            record_move(place, timeout)
        return cls.open(place, timeout=timeout)

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    def __repr__(self) -> str:
        return f"SqliteLedger({str(self.path)!r}, budget={show(self.budget)})"

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
    place = Path(path)
    with findable(place):
        return Path(os.path.realpath(place))


def _warn_if_open_to_others(path: Path) -> None:
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        warnings.warn(
            f"the ledger {path.name} is open to other users of this machine. Hint: chmod 600 it.",
            BlowfishWarning,
            stacklevel=3,
        )
