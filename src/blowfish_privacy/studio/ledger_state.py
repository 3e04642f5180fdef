"""The ledger that a file names, as far as it is there: what a plan would cost it, and why it cannot say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from blowfish_privacy.batch import ledger_location
from blowfish_privacy.errors import BlowfishError, LedgerError
from blowfish_privacy.ledger import Entry, Ledger, open_ledger
from blowfish_privacy.ledger.composition import Quote
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import Budget, Measure
from blowfish_privacy.release.spec import PolicyFile
from blowfish_privacy.session import load_policy
from blowfish_privacy.studio.recent_failures import RecentFailures


@dataclass(frozen=True, eq=False)
class LedgerState:
    """A ledger that is open, or missing, or cannot be used."""

    location: str | Path | None = None
    """Where the file says that it is."""
    ledger: Ledger | None = None
    """The ledger, if it is there and can be used."""
    problem: BlowfishError | None = None
    """Why it cannot be used, if it is there."""
    entries: tuple[Entry, ...] = ()
    """What was charged so far."""

    @property
    def missing(self) -> bool:
        """Whether the file names a ledger that has not been made yet."""
        return self.location is not None and self.ledger is None and self.problem is None

    @property
    def measure(self) -> Measure | None:
        """How the ledger counts; None where there is none, so that the file's budget decides."""
        return None if self.ledger is None else self.ledger.measure

    @classmethod
    def of(cls, file: PolicyFile, folder: Path, failures: RecentFailures) -> LedgerState:
        """Open the ledger that a file names; a server that did not answer a moment ago is left in peace."""
        location = ledger_location(file, folder)
        if location is None or (isinstance(location, Path) and not location.exists()):
            return cls(location)
        try:
            if isinstance(location, Path):
                return cls._opened(file, location)
            stated = "" if file.budget is None else file.budget.words
            return failures.attempt((location, stated), lambda: cls._opened(file, location))
        except BlowfishError as error:
            return cls(location, problem=error)

    @classmethod
    def _opened(cls, file: PolicyFile, location: str | Path) -> LedgerState:
        ledger = open_ledger(location, budget=file.budget, load_policy=load_policy)
        return cls(location, ledger, entries=ledger.entries())

    def quote(self, losses: Iterable[Loss], file: PolicyFile) -> Quote | BlowfishError | None:
        """Say what releases would cost together; a new ledger's budget, where there is none yet."""
        budget: Budget | None = file.budget
        if self.problem is not None:
            # What that ledger holds is not known: as for a new one, the sum would be a promise that nobody can keep.
            return LedgerError("the ledger cannot be used, so nobody can say what is spent and what will be left.")
        try:
            if self.ledger is not None:
                return self.ledger.quote(list(losses), file.policy)
            return None if budget is None else Quote.fresh(losses, budget, file.policy)
        except BlowfishError as error:
            return error
