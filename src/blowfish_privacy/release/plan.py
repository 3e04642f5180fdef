"""A plan: everything about a release that can be said before a value is read."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, log10
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates.aggregates import AttributeSets
from blowfish_privacy.domain import Box, Cell, Domain, HierarchyLevel, quoted
from blowfish_privacy.errors import BlowfishError, DataError, QueryError, RefusalError, UnconfirmedServerError
from blowfish_privacy.known_facts.facts import crosses
from blowfish_privacy.mechanisms import (
    Error,
    GridFamily,
    Mechanism,
    OrderedFamily,
    Synopsis,
    TooFewError,
    candidates,
    intervals,
)
from blowfish_privacy.mechanisms.clusters import centres as clusters
from blowfish_privacy.mechanisms.error import MeanError, shown
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate, Population
from blowfish_privacy.privacy.measure import RHO, Measure
from blowfish_privacy.privacy.sensitivity import sensitivity
from blowfish_privacy.queries import ALL_RECORDS, Asked, Query, Selection
from blowfish_privacy.queries.query import asked_to_file, split
from blowfish_privacy.release.target import Target
from blowfish_privacy.support.exact import about, positive, readable
from blowfish_privacy.support.progress import task

# How many records the parts of a table have, where everybody may know it.

Number = TypeVar("Number")


@dataclass(frozen=True, eq=False)
class PublicSizes:
    """The number of records with each value of some attributes that no secret pair changes."""

    domain: Domain
    """That of these attributes alone."""
    table: npt.NDArray[np.int64]

    def inside(self, box: Box) -> int:
        """Add up the records inside a box on these attributes."""
        return int(sliced(self.table, self.domain, box).sum())


def sizes_needed(asked: Asked, policy: Policy) -> tuple[str, ...]:
    """Name the attributes whose table a plan needs, where it is public and the policy may not state it.

    A query of all records needs their number alone, and names none.
    """
    query, selection = split(asked)
    if not query.needs_records or policy.size == "unknown" or selection.is_everything(policy.domain):
        return ()
    names = tuple(name for name in selection.attributes if policy.domain.resolves(name))
    if policy.compensation == "anywhere" and crosses(policy):
        # Records that move along may change what no secret pair changes.
        return ()
    return () if any(policy.graph.changes(name) for name in names) else names


class Countable(Protocol):
    """What may be asked for public numbers: an engine, or what remembers its answers."""

    def rows(self) -> int:
        """Return the number of rows."""
        ...

    def counts(self, domain: Domain, sets: AttributeSets) -> list[npt.NDArray[np.int64]]:
        """Return the table of each set of attributes."""
        ...


class PublicNumbers:
    """Reads from the data the public numbers of records that a plan needs and the policy does not state.

    Each is read once, and nothing else is. ``report`` is called with each, in words.
    """

    def __init__(
        self, policy: Policy, engine: Callable[[], Countable], report: Callable[[str], None] = lambda words: None
    ) -> None:
        self._policy, self._engine, self._report = policy, engine, report
        self._sizes: dict[tuple[str, ...], PublicSizes] = {}
        self._reported: set[str] = set()

    def _report_once(self, words: str) -> None:
        if words not in self._reported:
            self._reported.add(words)
            self._report(words)

    def records(self, asked: Asked) -> int | None:
        """Return the number of records, where a plan needs it."""
        query, selection = split(asked)
        unstated = self._policy.records is None and self._policy.size == "known"
        # Of groups whose sizes are secret an error is stated at their share of the records.
        groups = query.divided and not selection.where and any(map(self._policy.graph.changes, selection.by))
        asks = unstated and query.needs_records and (groups or selection.is_everything(self._policy.domain))
        return self._rows if asks else self._policy.records

    def sizes(self, asked: Asked) -> PublicSizes | None:
        """Return the numbers of records of parts, where a plan needs them."""
        names = sizes_needed(asked, self._policy)
        if names and names not in self._sizes:
            (table,) = self._engine().counts(self._policy.domain, [names])
            self._sizes[names] = PublicSizes(self._policy.domain.project(names), table)
            self._report_once(
                f"Asked the data for the numbers of records by {', '.join(names)} alone, which are public here."
            )
        return self._sizes.get(names)

    @cached_property
    def _rows(self) -> int:
        rows = self._engine().rows()
        self._report_once(f"Asked the data for the number of records alone, which is public here: {rows:,}.")
        return rows


class CautiousNumbers(PublicNumbers):
    """Goes without a number where the data cannot be asked for it, and says so."""

    def records(self, asked: Asked) -> int | None:
        return self._or_none(lambda: super(CautiousNumbers, self).records(asked))

    def sizes(self, asked: Asked) -> PublicSizes | None:
        return self._or_none(lambda: super(CautiousNumbers, self).sizes(asked))

    def _or_none(self, ask: Callable[[], Number]) -> Number | None:
        try:
            return ask()
        except UnconfirmedServerError:
            # It waits for the user, who can let it be asked.
            raise
        except DataError as error:
            self._report_once(f"Planned without the number of records: {error.message}")
            return None


def sliced(table: npt.NDArray[Any], domain: Domain, box: Box) -> npt.NDArray[Any]:
    """Keep the cells of a table that lie inside a box; the others become 0.

    A box on a hierarchy whose levels the table has is made of values of the lowest of these.
    """
    for axis, name in enumerate(domain.names):
        subset, level = box.get(domain.column(name)), domain[name]
        if subset is not None:
            inside = np.zeros(table.shape[axis], dtype=np.int64)
            for start, stop in subset.runs:
                inside[level.positions[start:stop] if isinstance(level, HierarchyLevel) else slice(start, stop)] = 1
            table = table * inside.reshape([-1 if other == axis else 1 for other in range(table.ndim)])
    return table


# Choosing a mechanism, and the smallest amount for an error.


@dataclass(frozen=True, eq=False)
class Calibration:
    """Finds the mechanism for what may be lost: the most accurate of several, for all groups of records together."""

    query: Query
    population: Population
    kinds: Sequence[type[Mechanism]]
    records: int | None
    named: bool
    """Whether the mechanism was asked for by name, so that it is taken even where others suit better."""
    target: Target

    def __call__(self, amount: Fraction) -> Chosen:
        """Choose and calibrate such that the records' release loses what may be lost, in one measure or another."""
        mechanisms: dict[Measure, Mechanism] = {}
        refusal: BlowfishError | None = None
        for measure, lost in self.target.choices(amount).items():
            try:
                mechanisms[measure] = self._calibrated(measure, lost)
            except (RefusalError, QueryError) as error:
                # What is said of the noise that was asked for comes first, and that there is none comes last.
                refusal = error if refusal is None or isinstance(refusal, _NoneError) else refusal
        if not mechanisms:
            raise refusal or RefusalError("nothing may be lost, so there is no release.")
        best = min(mechanisms.values(), key=lambda mechanism: mechanism.compared_error())
        if best.blind:
            raise TooFewError.of(self.records or 0, amount)
        return Chosen(best, {measure: each.expected_error().rmse for measure, each in mechanisms.items()})

    def solve(self, error: Fraction) -> Fraction:
        """Find the smallest amount of three digits for a root mean squared error."""
        if self.query.divisor_measured or (self.query.divided and self.population.policy.size == "unknown"):
            weighted = "the sum of the weights, which is not known beforehand."
            number = weighted if self.query.divisor_measured else "the number of records, which is secret here."
            raise RefusalError(
                f"how wrong a mean is depends on {number}",
                hint="state epsilon instead of error.",
            )
        with task("Solving for an error"):
            return smallest_amount(lambda amount: self(amount).mechanism, error)

    def _calibrated(self, measure: Measure, amount: Fraction) -> Mechanism:
        kinds = [kind for kind in self.kinds if kind.counted_in is measure]
        if not kinds and self.named:
            kind, other = self.kinds[0], self.kinds[0].counted_in.name
            raise _NoneError(f"the mechanism {kind.name} loses {other}, not {measure.name}.", hint=_GIVE[other])
        if not kinds:
            noise = "Gaussian" if measure is RHO else "Laplace"
            raise _NoneError(f"there is no mechanism with {noise} noise for this query.", hint="allow the other noise.")
        first = self._chosen(kinds, measure, amount)
        if self.population.box or self.population.groups:
            return self._spending_all(kinds, first, amount)
        return first

    def _spending_all(self, kinds: Sequence[type[Mechanism]], first: Mechanism, wanted: Fraction) -> Mechanism:
        """Give one group as much as lets all groups together lose what they may.

        Losses grow in proportion to what one group is given, but for the choice between mechanisms.
        """
        mechanism, amount = first, wanted
        for _ in range(_MOST_TRIES):
            lost = self.population.certificate(mechanism.certify(self.population.policy)).amount
            if lost in (0, wanted):
                return mechanism
            amount *= wanted / lost
            mechanism = self._chosen(kinds, first.counted_in, amount)
        # A record that moves is one that goes and one that comes.
        return self._chosen(kinds, first.counted_in, wanted / 2)

    def _chosen(self, kinds: Sequence[type[Mechanism]], measure: Measure, amount: Fraction) -> Mechanism:
        policy = self.population.policy
        given: dict[str, Any] = {measure.name: amount, "records": self.records}
        suited = [kind for kind in kinds if self.named or kind.suits(self.query, policy, **given)]
        if not self.named:
            suited = self._preferred(suited)
        if len(suited) == 1:
            return suited[0].calibrated(self.query, policy, **given)
        mechanisms: list[Mechanism] = []
        refusal: BlowfishError = RefusalError("no mechanism answers this query under this policy.")
        for kind in suited:
            try:
                mechanisms.append(kind.calibrated(self.query, policy, **given))
            except (RefusalError, QueryError) as error:
                refusal = error
        if not mechanisms:
            raise refusal
        return min(mechanisms, key=lambda mechanism: mechanism.compared_error())

    def _preferred(self, suited: Sequence[type[Mechanism]]) -> list[type[Mechanism]]:
        """Leave out what others stand in for, or the others where an error is asked for, which is to be guaranteed."""
        if self.target.error is not None:
            return [kind for kind in suited if not kind.stands_in_for]
        replaced = {kind.stands_in_for for kind in suited}
        return [kind for kind in suited if kind.name not in replaced]


@dataclass(frozen=True, eq=False)
class Chosen:
    """The mechanism that was chosen, and the typical errors of the kinds of noise that it was chosen from."""

    mechanism: Mechanism
    errors: Mapping[Measure, float]


_MOST_TRIES = 4

_GIVE = {"rho": "give rho, or delta beside epsilon.", "epsilon": "give epsilon, or allow Laplace noise."}


class _NoneError(QueryError):
    """No mechanism has this noise."""


def smallest_amount(calibrate: Callable[[Fraction], Mechanism], wanted: Fraction) -> Fraction:
    """Find the smallest amount of three digits whose root mean squared error is at most what is wanted."""

    def good(amount: Fraction) -> bool:
        try:
            return calibrate(amount).expected_error().rmse <= wanted
        except (QueryError, TooFewError):  # noise too large to be drawn is too large to be wanted
            return False

    # Errors shrink about as fast as the amount grows, or its root, so the error at 1 says where to look.
    try:
        guess = calibrate(Fraction(1)).expected_error().rmse / float(wanted)
    except TooFewError:
        guess = 1.0
    power = Fraction(10) ** ceil(log10(guess)) if guess > 0 else _SMALLEST
    power = min(max(power, _SMALLEST), _LARGEST)
    while power > _SMALLEST and good(power / 10):
        power /= 10
    while not good(power):
        power *= 10
        if power > _LARGEST:
            raise RefusalError(
                f"no amount up to a million makes the error as small as {readable(wanted)}.",
                hint="allow a larger error.",
            )
    # Now power / 10 < amount <= power; search among 101, 102, .., 1000 thousandths of power.
    low, high = 100, 1000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(power * middle / 1000) else (middle, high)
    return power * high / 1000


_SMALLEST, _LARGEST = Fraction(1, 10**9), Fraction(10**6)


def costs(asked: Asked, policy: Policy) -> bool:
    """Say, before anything is known of the data, whether a release is sure to cost the epsilon asked for.

    Where no secret pair shows in the answer it costs nothing; where this cannot be known, a plan refuses with a reason.
    """
    query, selection = split(asked)
    try:
        return not selection and sensitivity(query, policy).value > 0
    except BlowfishError:
        return False


if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Asks = TypeVar("Asks", bound=Query, covariant=True, default=Query)
else:
    Asks = TypeVar("Asks", covariant=True)


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Generic[Asks]):
    """A query, the mechanism that will answer it, and what that proves and costs.

    A plan is a ticket for one release: releasing it again returns what it gave the first time and costs nothing,
    and so does another plan of a session with the same content.
    """

    query: Asks
    policy: Policy
    mechanism: Mechanism
    certificate: Certificate
    records: int | None
    """The public number of records, where the plan needed it or the policy states it."""
    population: Population
    """The records it is about, and what governs them."""
    name: str = "release"
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    selection: Selection = ALL_RECORDS
    parts: Mapping[Cell, Plan] = field(default_factory=dict[Cell, "Plan"])
    """For a release of groups, the plan of each, by the positions of the attributes they are made by."""
    errors: Mapping[Measure, float] = field(default_factory=dict[Measure, float])
    """The typical errors of the kinds of noise that it was chosen from, by what they lose."""
    assumed: int | None = None
    """The size of a group that errors of means are stated for, where groups' sizes are secret: the share of each."""

    @property
    def amount(self) -> Fraction:
        """What the release will cost, in epsilon or in rho."""
        return self.certificate.amount

    @property
    def epsilon(self) -> Fraction | None:
        """What the release will cost, where that is counted in epsilon."""
        return self.certificate.epsilon

    @property
    def rho(self) -> Fraction | None:
        """What the release will cost, where that is counted in rho."""
        return self.certificate.rho

    def asked(self) -> dict[str, Any]:
        """Write what is asked in the form of a policy file."""
        return asked_to_file(self.query, self.selection, self.policy.domain)

    def expected_error(self) -> Error:
        """Return the error that the noise will cause."""
        error = self.mechanism.expected_error()
        if isinstance(error, MeanError) and not error.weighted:
            return replace(error, assumed=self.assumed)
        return error

    def plain_error(self) -> Error | None:
        """Say how wrong plain differential privacy would be; None if out of reach, or where the policy is just that."""
        from blowfish_privacy.release.explain import plain_error  # it makes plans itself

        return plain_error(self)

    def typical_errors(self) -> dict[str, float]:
        """Say how wrong a random range or rectangle typically is, on public shapes; empty but for ordered data.

        They are simulated on synthetic shapes with as many records; nothing is read.
        """
        if self.records is None or not self.amount or not isinstance(self.mechanism, OrderedFamily | GridFamily):
            return {}
        return intervals.typical_errors(self.mechanism, self.records)

    def typical_ratios(self) -> dict[str, float]:
        """Say how much larger clusters' squared distances typically are, on public points; empty but for clusters."""
        if not isinstance(self.mechanism, Synopsis) or not self.records or not self.amount:
            return {}
        with task("Simulating on public synthetic points"):
            return clusters.typical_ratios(self.mechanism, getattr(self.query, "k", 1), self.records)

    @property
    def notices(self) -> list[str]:
        """What must not be overlooked, such as an answer without noise."""
        return [notice.as_planned for notice in (*_planned_exactly(self), *plan_notices(self))]

    def __repr__(self) -> str:
        lost, error = self.certificate.loss.measure.words(self.amount), self.expected_error()
        how = f"{self.certificate.mechanism}, {lost}" if self.amount else "exact, without noise"
        asked = query_words(self.query, self.selection)
        return f"<Plan {self.name!r}: {asked}; {how}; typical error {shown(error.rmse, error)}>"

    def explain(self) -> str:
        """Say in plain words what will be released, how, at what cost, and how wrong it will be."""
        from blowfish_privacy.release.explain import explain_plan  # it makes plans itself

        return explain_plan(self)


def make_plan(
    asked: Asked,
    policy: Policy,
    *,
    target: Target | None = None,
    mechanism: str | None = None,
    records: int | None = None,
    sizes: PublicSizes | None = None,
    name: str = "release",
    key: str | None = None,
    **stated: Any,
) -> Plan:
    """Choose and calibrate a mechanism for what may be spent, stated as in :meth:`.Target.of`.

    ``records`` is the public number of records, and ``sizes`` that of each part with a size of its own, where known.
    Groups whose sizes are secret are assumed to be equally large, where an error is stated.
    """
    if not isinstance(name, str) or (mechanism is not None and not isinstance(mechanism, str)):
        raise QueryError("the names of a release and of a mechanism are text.")
    query, selection = split(asked)
    options: dict[str, Any] = {"target": target or Target.of(**stated), "mechanism": mechanism, "name": name}
    if key is not None:
        options["key"] = key
    if selection:
        from blowfish_privacy.release.groups import plan_groups  # it makes a plan of each group

        return plan_groups(query, selection, policy, all_records=records, sizes=sizes, **options)
    return plan_population(query, Population(policy, {}, (), policy), records=records, **options)


def plan_population(
    query: Query,
    population: Population,
    *,
    target: Target,
    mechanism: str | None,
    records: int | None,
    **labels: Any,
) -> Plan:
    """Plan one release of some records."""
    kinds, named = candidates(query, mechanism), mechanism is not None
    calibrate = Calibration(query, population, kinds, records, named, target)
    if target.error is not None:
        amount = calibrate.solve(target.error)
    else:
        amount = positive(target.amount, target.unit.name, error=QueryError)
    chosen = calibrate(amount)
    certificate = population.certificate(chosen.mechanism.certify(population.policy))
    labels["errors"] = chosen.errors
    return Plan(query, population.whole, chosen.mechanism, certificate, records, population, **labels)


# What is asked, in words.


def title(name: str, query: Query, selection: Selection) -> str:
    """Describe a release in the ledger: what can be said before it is planned."""
    return f"{name}: {query.keyword} of {query.subject}{selected(selection)}"


def query_words(query: Query, selection: Selection) -> str:
    """Say what is asked, as people call it."""
    return f"{query.noun} of {query.subject}{selected(selection)}"


def selected(selection: Selection) -> str:
    """Name the attributes that records are selected and grouped by."""
    where = f" where {', '.join(selection.where)}" if selection.where else ""
    return where + (f" by {', '.join(selection.by)}" if selection.by else "")


# What must not be overlooked in a release: what has no noise, what weights cost, and groups published exactly.

_LISTED = 10


@dataclass(frozen=True)
class Notice:
    """What must not be overlooked in a release, worded for those who plan it and for those who read it."""

    planned: str
    published: str
    exact: bool = False
    """Whether it is about numbers without noise."""
    groups: str = ""
    """The groups that it is about, in words; empty if it is about all."""

    @property
    def as_planned(self) -> str:
        """What plans and documents say."""
        return self._headed(self.planned)

    @property
    def as_published(self) -> str:
        """What is said of a release that was published."""
        return self._headed(self.published)

    def _headed(self, words: str) -> str:
        return f"NO NOISE{self.groups}: {words}" if self.exact else words


def plan_notices(plan: Plan) -> list[Notice]:
    """List the notices of a plan or, as documents do, of the costliest of its groups: each group states its own."""
    notices: list[Notice] = []
    if plan.amount == 0 and plan.policy.known and plan.policy.graph.project(plan.query.attributes).has_edges:
        why = "no secret pair that the known facts leave possible changes this answer, so it"
        exactly = "published exactly. It may tell any other values apart."
        notices.append(Notice(f"{why} will be {exactly}", f"{why} is {exactly}", exact=True))
    elif plan.amount == 0:
        attributes = ", ".join(map(quoted, plan.query.attributes))
        why = f"under this policy nothing in this answer about {attributes} is secret, so it"
        change = "If that is not what you want, change the policy."
        notices.append(Notice(f"{why} will be published exactly. {change}", f"{why} is published exactly.", exact=True))
    selection = plan.selection
    which = "in each group" if selection.by else "that are selected"
    records = f"The number of records {which}" if selection else "The number of records"
    worded = (plan.mechanism.notices_for(records, be) for be in ("will be", "is"))
    notices += (Notice(planned, published) for planned, published in zip(*worded, strict=True))
    remarks = [*_weights(plan)]
    if plan.amount and crosses(plan.policy):
        remarks.append(
            "Plain differential privacy does not keep its promise against somebody who knows this policy's facts; "
            "a comparison with it is one of accuracy only."
        )
    if not plan.certificate.sensitivity.exact:
        remarks.append("The sensitivity is an upper bound: the true privacy loss may be smaller than stated.")
    return [*notices, *(Notice(each, each) for each in remarks)]


def _weights(plan: Plan) -> Iterator[str]:
    """Say what weights cost: the noise covers the heaviest record that the domain declares."""
    weight, policy = plan.query.weighted_by, plan.population.policy
    if weight is None or not plan.amount:
        return
    largest = policy.domain[weight].show(policy.domain[weight].size - 1)
    less = f"A smaller declared range of {weight} (outside: clamp) means less noise."
    usual = sensitivity(plan.query.unweighted(), policy).value
    if not usual or plan.query.divisor_measured or policy.known:
        yield f"Weights reach {largest}, and the noise covers the heaviest record. {less}"
    else:
        times = about(float(sensitivity(plan.query, policy).value / usual))
        yield f"Weights reach {largest}, so the noise is {times} times that of an answer without weights. {less}"


def _planned_exactly(plan: Plan) -> list[Notice]:
    """Find which groups of a plan will be published exactly, where others will not."""
    if not plan.parts or not plan.amount:
        return []
    by = plan.policy.domain.project(plan.selection.by)
    notices = of_groups((by.say(cell), plan_notices(part)) for cell, part in plan.parts.items())
    return [notice for notice in notices if notice.exact]


def of_groups(listed: Iterable[tuple[str, Iterable[Notice]]]) -> list[Notice]:
    """Name the groups that have no noise where others have; what else is said is said of the release."""
    every, by_notice = 0, dict[Notice, list[str]]()
    for group, notices in listed:
        every += 1
        for notice in notices:
            by_notice.setdefault(notice, []).append(group)
    return [
        replace(notice, groups=_named(groups)) if notice.exact and len(groups) < every else notice
        for notice, groups in by_notice.items()
    ]


def _named(groups: Sequence[str]) -> str:
    more = len(groups) - _LISTED
    return f" for {'; '.join(groups[:_LISTED])}" + (f"; and {more:,} more groups" if more > 0 else "")
