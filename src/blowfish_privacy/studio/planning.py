"""The plans of a whole file, one by one: what cannot be planned says why, and does not stop the others.

Planning again is quick: what was planned before is kept by its content.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any, TypeAlias

from blowfish_privacy.batch import keyed, try_release
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.ledger import Entry
from blowfish_privacy.ledger.composition import Quote
from blowfish_privacy.privacy.measure import Measure
from blowfish_privacy.queries.query import asked_to_file, split
from blowfish_privacy.release.plan import CautiousNumbers, Plan, PublicSizes
from blowfish_privacy.release.spec import PlannedRelease, PolicyFile
from blowfish_privacy.statements.plan import (
    FACTORS,
    accuracy_view,
    budget_shares,
    by_amount,
    by_part,
    by_size,
    plan_view,
    sketched,
)
from blowfish_privacy.studio.ledger_state import LedgerState
from blowfish_privacy.studio.public_answers import PublicAnswers
from blowfish_privacy.studio.recent_failures import RecentFailures
from blowfish_privacy.support.exact import about

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
        return by_amount(self.plan, self._release.spending, sizes=self._sizes, factors=factors)

    def preview(self, key: str, amount: float) -> str:
        """Say in a few words what another amount would give, if other amounts have been planned already."""
        rows = self.__dict__.get("by_amount", [])
        if key == "error":
            spent = sketched(rows, error=amount)
            return "" if spent is None else f"takes about {rows[0]['measure']} {about(spent)}"
        error = sketched(rows, amount=amount) if rows and rows[0]["measure"] == key else None
        return "" if error is None else f"typical error about {about(error)}"

    @cached_property
    def view(self) -> Mapping[str, Any]:
        """What the command line says of it."""
        return plan_view(self.plan)


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
    def view(self) -> Mapping[str, Any] | None:
        """What ``blowfish plan --json`` says of it; simulated bounds may take some tenths of a second."""
        return None if self.said is None else self.said.view

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
    """What the releases that are due cost together and leave; None without a ledger and without a budget."""
    quote_problem: BlowfishError | None
    """Why the ledger cannot say what they cost: it may belong to a policy that does not add up with this one."""
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
        found = cls(file, outcomes, state, None, None, tuple(notes))
        quote = found.quoted([outcome.name for outcome in outcomes])
        if isinstance(quote, BlowfishError):
            return replace(found, quote_problem=quote)
        return replace(found, quote=quote)

    def outcome(self, name: str) -> Outcome | None:
        """Return what became of the release with this name."""
        return next((outcome for outcome in self.outcomes if outcome.name == name), None)

    @property
    def plans(self) -> list[Plan]:
        """The plans that could be made, in the order of the file."""
        return [outcome.plan for outcome in self.outcomes if outcome.plan is not None]

    def quoted(self, names: Collection[str]) -> Quote | BlowfishError | None:
        """Say what some of the releases would cost together, or why that cannot be said. Nothing is spent."""
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
        repr(release.spending),
        release.spending.ledger if measure is None else measure,
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
