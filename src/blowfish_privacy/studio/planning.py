"""The plans of a whole file, one by one: what cannot be planned says why, and does not stop the others.

Planning again is quick: what was planned before is kept by its content.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from time import monotonic, perf_counter
from typing import Any, TypeAlias, TypeVar

from blowfish_privacy.aggregates.aggregates import AttributeSets
from blowfish_privacy.batch import keyed, ledger_location, try_release
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines import Engine, located, open_engine
from blowfish_privacy.errors import BlowfishError, DataError, LedgerError, UnconfirmedServerError
from blowfish_privacy.ledger import Entry, Ledger, open_ledger
from blowfish_privacy.ledger.composition import Quote
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import Budget, Measure
from blowfish_privacy.queries.query import asked_to_file, split
from blowfish_privacy.release.plan import CautiousNumbers, Plan, PublicSizes
from blowfish_privacy.release.spec import PlannedRelease, PolicyFile
from blowfish_privacy.session import load_policy
from blowfish_privacy.statements.plan import (
    FACTORS,
    accuracy_view,
    budget_shares,
    by_amount,
    by_part,
    by_size,
    sketched,
)
from blowfish_privacy.studio.draft import Problem, is_remote
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import about

# What could not be reached a moment ago: a server that does not answer is not asked at every move of a slider.

Answer = TypeVar("Answer")
PATIENCE = 10.0
"""Seconds for which a failure is believed."""


class RecentFailures:
    """Remembers failures for some seconds, and repeats them instead of trying again."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._failed: dict[Hashable, tuple[float, BlowfishError]] = {}

    def attempt(self, key: Hashable, act: Callable[[], Answer]) -> Answer:
        """Do something, unless it failed a moment ago: then fail in the same way at once."""
        with self._lock:
            at, error = self._failed.get(key, (0.0, None))
        if error is not None and self._clock() - at < PATIENCE:
            raise error
        try:
            return act()
        except UnconfirmedServerError:
            # Nobody was asked; that may change at once.
            raise
        except BlowfishError as failure:
            with self._lock:
                self._failed[key] = self._clock(), failure
            raise


# What the data said when they were asked for public numbers: asked once, however often a file is planned.


class PublicAnswers:
    """Remembers the public numbers of data files; a file that has changed is asked again."""

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], Any] = {}
        self._lock = Lock()
        self._failures = RecentFailures()

    def of(self, data: str | None, folder: Path) -> Asking:
        """Return what may be asked for the public numbers of the data that a file in a folder names."""
        if data is None:
            raise DataError("the file names no data.")
        return Asking(located(data, folder), self)

    def answer(self, key: tuple[object, ...], ask: Callable[[], Any]) -> Any:
        """Return the answer that is kept, or ask and keep it."""
        with self._lock:
            if key in self._kept:
                return self._kept[key]
        answer = self._failures.attempt(key[0], ask) if is_remote(str(key[0])) else ask()
        with self._lock:
            return self._kept.setdefault(key, answer)


class Asking:
    """Asks one table, and only what has not been asked before."""

    def __init__(self, data: str, answers: PublicAnswers) -> None:
        self._data, self._answers = data, answers
        try:
            found = Path(data).stat()
            self._state = found.st_mtime_ns, found.st_size
        except (OSError, ValueError):
            # What is no file is asked once.
            self._state = 0, 0

    def rows(self) -> int:
        """Return the number of rows."""
        return self._asked("rows", lambda engine: engine.rows())

    def counts(self, domain: Domain, sets: AttributeSets) -> list[Integers]:
        """Return the table of each set of attributes."""
        # What is counted depends on how the attributes are declared, treatment of undeclared values included.
        declared = tuple((tuple(names), repr([domain.project([name]) for name in names])) for names in sets)
        return self._asked(declared, lambda engine: engine.counts(domain, sets))

    def _asked(self, question: object, ask: Callable[[Engine], Any]) -> Any:
        def answer() -> Any:
            # Opened for one question: files, memory and connections are let go after it.
            with closing(open_engine(self._data)) as engine:
                return ask(engine)

        return self._answers.answer((self._data, *self._state, question), answer)


# The ledger that a file names, as far as it is there: what a plan would cost it, and why it cannot say.


@dataclass(frozen=True, eq=False)
class LedgerState:
    """A ledger that is open, or missing, or cannot be used."""

    location: str | Path | None = None
    """Where the file says that it is."""
    ledger: Ledger | None = None
    """The ledger, if it is there and can be used."""
    problem: Problem | None = None
    """Why it cannot be used, if it is there."""
    entries: tuple[Entry, ...] = ()
    """What was charged so far."""

    @property
    def name(self) -> str:
        """How a person calls it."""
        return self.location.name if isinstance(self.location, Path) else str(self.location)

    @property
    def shown(self) -> tuple[object, ...]:
        """What a page says of it, to be compared."""
        terms = None if self.ledger is None else self.ledger.terms
        return str(self.location), terms, self.problem, len(self.entries)

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
            return cls(location, problem=Problem.of(error))

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


_KEPT = 200
_QUICK = 0.1
"""Seconds within which a plan is made of which many others are made for a picture."""


class Said:
    """What can be said of a plan, each part worked out when it is first asked for; the accuracy is quick."""

    def __init__(self, plan: Plan, release: PlannedRelease, sizes: PublicSizes | None, seconds: float) -> None:
        self.plan, self.seconds = plan, seconds
        self._release, self._sizes = release, sizes

    @cached_property
    def accuracy(self) -> Mapping[str, Any]:
        """The typical error, beside that of plain differential privacy, and which secret pairs it is lost on."""
        return accuracy_view(self.plan)

    @cached_property
    def by_size(self) -> Mapping[str, Any] | None:
        """The typical error by the size of a range or rectangle, if it depends on that."""
        return by_size(self.plan)

    @cached_property
    def by_part(self) -> list[dict[str, Any]]:
        """The typical errors of several tables."""
        return by_part(self.plan)

    @cached_property
    def by_amount(self) -> list[dict[str, Any]]:
        """The typical error if more or less were spent."""
        # What takes long to plan once is planned for few other amounts.
        factors = FACTORS if self.seconds < _QUICK else FACTORS[::4]
        return by_amount(self.plan, self._release.target, sizes=self._sizes, factors=factors)

    def preview(self, key: str, amount: float) -> str:
        """Say in a few words what another amount would give, if other amounts have been planned already."""
        rows = self.__dict__.get("by_amount", [])
        if key == "error":
            spent = sketched(rows, error=amount)
            return "" if spent is None else f"takes about {rows[0]['measure']} {about(spent)}"
        error = sketched(rows, amount=amount) if rows and rows[0]["measure"] == key else None
        return "" if error is None else f"typical error about {about(error)}"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of planning one release: a plan and what is shown of it, or the reason why there is none."""

    release: PlannedRelease
    plan: Plan | None = None
    said: Said | None = None
    """What can be said of the plan."""
    problem: BlowfishError | None = None
    """Why it cannot be planned."""
    paid: Entry | None = None
    """The ledger's entry that paid for it before: it is handed out again for nothing."""

    @property
    def name(self) -> str:
        """The name of the release."""
        return self.release.name

    @property
    def due(self) -> bool:
        """Whether it will be charged when it is published."""
        return self.plan is not None and self.paid is None


class PlanCache:
    """Keeps what planning gave, by content, and what the data were asked for; shared by all threads of a studio."""

    def __init__(self) -> None:
        self.answers, self.failures = PublicAnswers(), RecentFailures()
        self._kept: OrderedDict[_Content, Outcome] = OrderedDict()
        self._lock = Lock()

    def get(self, content: _Content) -> Outcome | None:
        """Return what was planned for some content, if it is kept."""
        with self._lock:
            if content in self._kept:
                self._kept.move_to_end(content)
            return self._kept.get(content)

    def keep(self, content: _Content, outcome: Outcome, together: int) -> Outcome:
        """Keep an outcome; the one that was not asked for the longest gives way.

        ``together`` is how many are planned at a time: as many and as many again are kept, so that none is lost.
        """
        with self._lock:
            self._kept[content] = outcome
            while len(self._kept) > max(_KEPT, 2 * together):
                self._kept.popitem(last=False)
        return outcome


@dataclass(frozen=True, eq=False)
class Planning:
    """All that can be said of a file before a value is read; nothing is spent."""

    file: PolicyFile
    outcomes: tuple[Outcome, ...]
    """One for each release of the file, in its order."""
    state: LedgerState
    """The ledger that the file names."""
    quote: Quote | None
    """What the releases that are due cost together and leave; None where the ledger or the budget cannot say."""
    notes: tuple[str, ...] = ()
    """What was asked of the data, or could not be, in sentences."""

    @classmethod
    def of(cls, file: PolicyFile, folder: Path, cache: PlanCache | None = None) -> Planning:
        """Plan a file that lies in a folder; give the same cache every time."""
        cache = cache or PlanCache()
        notes: dict[str, None] = {}
        state = LedgerState.of(file, folder, cache.failures)
        data = partial(cache.answers.of, file.data, folder)
        ask = CautiousNumbers(file.policy, data, lambda said: notes.update({said: None}))
        outcomes = tuple(_with_entry(_planned(each, file, ask, state.measure, cache), state) for each in file.releases)
        found = cls(file, outcomes, state, None, tuple(notes))
        quote = found.quoted([outcome.name for outcome in outcomes])
        return replace(found, quote=quote) if isinstance(quote, Quote) else found

    def outcome(self, name: str) -> Outcome | None:
        """Return what became of the release with this name."""
        return next((outcome for outcome in self.outcomes if outcome.name == name), None)

    @property
    def plans(self) -> list[Plan]:
        """The plans that could be made, in the order of the file."""
        return [outcome.plan for outcome in self.outcomes if outcome.plan is not None]

    def quoted(self, names: Collection[str]) -> Quote | BlowfishError | None:
        """Say what some of the releases would cost together. Nothing is spent.

        An error says why a ledger cannot tell: it may belong to a policy that does not add up with this one.
        """
        losses = [
            outcome.plan.certificate.loss
            for outcome in self.outcomes
            if outcome.plan is not None and outcome.due and outcome.name in names
        ]
        return self.state.quote(losses, self.file)

    def shares(self, names: Collection[str]) -> list[dict[str, Any]] | BlowfishError | None:
        """Say for each class of secret pairs what some of the releases would take from it, one after the other."""
        start = self.quoted([])
        if not isinstance(start, Quote):
            return start
        quotes, taken = list[tuple[str, Quote]](), list[str]()
        for outcome in self.outcomes:
            if outcome.due and outcome.name in names:
                taken.append(outcome.name)
                quote = self.quoted(taken)
                if not isinstance(quote, Quote):
                    return quote
                quotes.append((outcome.name, quote))
        return budget_shares(quotes, start, self.file.policy)


_Content: TypeAlias = tuple[object, ...]


def _planned(
    release: PlannedRelease, file: PolicyFile, ask: CautiousNumbers, measure: Measure | None, cache: PlanCache
) -> Outcome:
    records, sizes = ask.records(release.query), ask.sizes(release.query)
    content: _Content = (
        file.policy.hash,
        file.policy.domain.names,
        release.name,
        json.dumps(asked_to_file(*split(release.query), file.policy.domain), default=str),
        repr(release.target),
        release.target.ledger if measure is None else measure,
        release.mechanism,
        file.data,
        records,
        None if sizes is None else sizes.table.tobytes(),
    )
    kept = cache.get(content)
    if kept is not None:
        return kept
    start = perf_counter()
    planned = try_release(release, file, ask, measure)
    if isinstance(planned, BlowfishError):
        return cache.keep(content, Outcome(release, problem=planned), len(file.releases))
    plan = keyed(planned, file)
    said = Said(plan, release, sizes, perf_counter() - start)
    # Rooms show it at once, so it is worked out here, not where pages are built.
    _ = said.accuracy
    return cache.keep(content, Outcome(release, plan, said), len(file.releases))


def _with_entry(outcome: Outcome, state: LedgerState) -> Outcome:
    """Note whether the ledger holds the release already."""
    if outcome.plan is None:
        return outcome
    paid = next((entry for entry in state.entries if entry.key == outcome.plan.key), None)
    return replace(outcome, paid=paid)
