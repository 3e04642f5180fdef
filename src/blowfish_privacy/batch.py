"""A batch: the releases of a whole policy file, planned together, affordable together, and released one by one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from blowfish_privacy.engines import located
from blowfish_privacy.errors import BlowfishError, DataError, SpecError
from blowfish_privacy.ledger import Entry
from blowfish_privacy.ledger.composition import Quote
from blowfish_privacy.noise import BitSource
from blowfish_privacy.privacy.loss import Loss, classes_met
from blowfish_privacy.privacy.measure import EPSILON, RHO, Measure
from blowfish_privacy.queries.query import looked_at
from blowfish_privacy.release import spec
from blowfish_privacy.release.plan import Plan, PublicNumbers, costs, make_plan
from blowfish_privacy.release.run import content_key, may_be_paid
from blowfish_privacy.release.spec import PlannedRelease, PolicyFile, Unplanned, ledger_location, release_words
from blowfish_privacy.session import Session

_WHAT = "the releases cost"


@dataclass(frozen=True, eq=False)
class Batch:
    """Plans that the budget covers together. What the ledger already holds is released again as it was, for nothing.

    ``Batch.open("people.yaml")`` reads the file, opens its data and its ledger and plans; then release each of
    :attr:`plans`.
    """

    session: Session
    plans: tuple[Plan, ...]
    """One for each release of the file, in its order."""
    earlier: Mapping[str, Entry]
    """The ledger's entries that paid for some of the plans before this batch, by key."""
    quote: Quote
    """What the plans that are due will cost together, and what they will leave."""
    outcomes: tuple[Plan | Unplanned, ...] = ()
    """The plans and, in their places, the releases that cannot be planned: none where the batch was checked."""

    @property
    def cost(self) -> Fraction:
        """What the plans that are due will take from the budget together."""
        return self.quote.cost

    @classmethod
    def open(cls, path: str | Path, *, fresh: bool = False, only: Collection[str] = ()) -> Batch:
        """Plan the releases of a policy file; ``fresh`` spends again on those that the ledger holds, with new noise.

        Nothing is spent and no value is read. What exceeds the budget is refused here, and so is a file in which some
        release cannot be planned, unless ``only`` names those that are meant.
        """
        file = spec.load_in_part(path).only(only) if only else spec.load(path)
        return cls.of(file, open_session(file, Path(path).parent), fresh=fresh)

    @classmethod
    def of(
        cls,
        file: PolicyFile,
        session: Session,
        *,
        fresh: bool = False,
        ask: PublicNumbers | None = None,
        check: bool = True,
    ) -> Batch:
        """Plan the releases of a file in a session; ``ask`` asks for public numbers of rows, where they are needed.

        ``check=False`` plans what exceeds the budget too; :attr:`quote` says that it does. What cannot be planned is
        then among :attr:`outcomes`, and does not stop the others.
        """
        entries = session.ledger.entries()
        if check:
            _refuse_unaffordable(file, session, [] if fresh else entries)
        ask = ask or PublicNumbers(file.policy, lambda: session.engine)
        outcomes = plan_each(file, ask, session.ledger.measure)
        if check:
            refuse_unplanned(outcomes)
        if not fresh:
            outcomes = [keyed(each, file) if isinstance(each, Plan) else each for each in outcomes]
        plans = [each for each in outcomes if isinstance(each, Plan)]
        keys = {plan.key for plan in plans}
        earlier = {entry.key: entry for entry in entries if entry.key in keys}
        quote = session.quote(*(plan for plan in plans if plan.key not in earlier))
        if check:
            quote.check(_WHAT)
        return cls(session, tuple(plans), earlier, quote, tuple(outcomes))

    @property
    def due(self) -> list[Plan]:
        """The plans that have not been paid for."""
        return [plan for plan in self.plans if plan.key not in self.earlier]

    def release(self, plan: Plan) -> Any:
        """Release one of the plans."""
        return self.session.release(plan)


def open_session(file: PolicyFile, folder: Path, *, source: BitSource | None = None) -> Session:
    """Open the data and the ledger that a file names; paths are relative to ``folder``, ``source`` is for tests."""
    data, ledger = data_location(file, folder), ledger_location(file, folder)
    if ledger is None:
        raise SpecError("the file names no ledger.", hint="add ledger: table.ledger and budget: 1.0.")
    return Session(data, file.policy, budget=file.budget, ledger=ledger, source=source)


def data_location(file: PolicyFile, folder: Path) -> Any:
    """Find the data that a file names: an address, or a path relative to ``folder``."""
    if file.data is None:
        raise SpecError("the file names no data.", hint="add data: table.csv.")
    return located(file.data, folder)


def plan_releases(file: PolicyFile, ask: PublicNumbers, ledger: Measure | None = None) -> list[Plan]:
    """Plan every release of a file, for a ledger that counts like this; by default as the file's budget does."""
    outcomes = plan_each(file, ask, ledger)
    refuse_unplanned(outcomes)
    return [each for each in outcomes if isinstance(each, Plan)]


def plan_each(file: PolicyFile, ask: PublicNumbers, ledger: Measure | None = None) -> list[Plan | Unplanned]:
    """Plan every release of a file that can be planned; the others are in their places, with the reason."""
    outcomes: list[Plan | Unplanned] = []
    for release in file.releases:
        planned = try_release(release, file, ask, ledger)
        outcomes.append(planned if isinstance(planned, Plan) else Unplanned(release.name, planned, release.query))
    for number in sorted(file.wrong):
        outcomes.insert(number, file.wrong[number])
    return outcomes


def refuse_unplanned(outcomes: Sequence[object]) -> None:
    """Refuse the first of a file's releases that cannot be read or planned, if there is one."""
    wrong = [each.error for each in outcomes if isinstance(each, Unplanned)]
    if wrong and (len(outcomes) == 1 or isinstance(wrong[0], DataError)):
        raise wrong[0]
    if len(wrong) == 1:
        raise wrong[0].hinting("the others can be released without it, if they are named: --only NAME.")
    if wrong:
        many = "1 other" if len(wrong) == 2 else f"{len(wrong) - 1:,} others"
        rest = " The rest can be released, if they are named: --only NAME." if len(wrong) < len(outcomes) else ""
        raise wrong[0].hinting(f"{many} cannot be planned either: blowfish plan says why.{rest}")


def try_release(
    release: PlannedRelease, file: PolicyFile, ask: PublicNumbers, ledger: Measure | None = None
) -> Plan | BlowfishError:
    """Plan one release of a file, or say within its name why it cannot be planned: the others can be all the same."""
    try:
        return plan_release(release, file, ask, ledger)
    except DataError as error:
        # Of the table, whichever release asks for its rows first.
        return error
    except BlowfishError as error:
        return error.within(release_words(release.name))


def plan_release(release: PlannedRelease, file: PolicyFile, ask: PublicNumbers, ledger: Measure | None = None) -> Plan:
    """Plan one release of a file."""
    return make_plan(
        release.query,
        file.policy,
        target=release.target if ledger is None else replace(release.target, ledger=ledger),
        mechanism=release.mechanism,
        records=ask.records(release.query),
        sizes=ask.sizes(release.query),
        name=release.name,
    )


def keyed(plan: Plan, file: PolicyFile) -> Plan:
    """Name a release by its content and data, so that running a file again finds what it released before."""
    return replace(plan, key=content_key(file.data, plan))


def _refuse_unaffordable(file: PolicyFile, session: Session, entries: Sequence[Entry]) -> None:
    """Refuse what is sure to exceed the budget before anything is read from the data."""
    ledger = session.ledger
    stated = [(release, release.target.certain) for release in file.releases]
    due = [
        (release.query, certain)
        for release, certain in stated
        # A pure budget refuses rho unless Laplace noise is asked for: the plan says so.
        if certain is not None
        and not (ledger.measure is EPSILON and certain[0] is RHO)
        and not may_be_paid(
            entries,
            file.policy,
            name=release.name,
            query=release.query,
            amount=ledger.measure.converted(certain[1], certain[0]),
        )
    ]
    met = [(query, classes_met(file.policy, looked_at(query)), certain) for query, certain in due]
    # One that meets several classes loses as much on one of them, and may lose less on the others.
    losses = [
        (query, Loss.alike(classes, amount, measure)) for query, classes, (measure, amount) in met if len(classes) == 1
    ]
    if not ledger.quote([loss for _, loss in losses], file.policy).fits:
        losses = [(query, loss) for query, loss in losses if costs(query, file.policy)]
        ledger.quote([loss for _, loss in losses], file.policy).check(_WHAT)
