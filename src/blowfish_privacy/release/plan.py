"""A plan: everything about a release that can be said before a value is read."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms import Error, Mechanism, candidates
from blowfish_privacy.mechanisms.error import MeanError, shown
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate, Population
from blowfish_privacy.privacy.measure import Measure
from blowfish_privacy.queries import ALL_RECORDS, Asked, Query, Selection
from blowfish_privacy.queries.query import asked_to_file, split
from blowfish_privacy.release.calibration import Calibration
from blowfish_privacy.release.public_sizes import PublicSizes
from blowfish_privacy.release.spending import Spending
from blowfish_privacy.support.exact import positive

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Asks = TypeVar("Asks", bound=Query, covariant=True, default=Query)
else:
    from typing import TypeVar

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
        return replace(error, assumed=self.assumed) if isinstance(error, MeanError) else error

    def plain_error(self) -> Error | None:
        """Say how wrong plain differential privacy would be; None if out of reach, or where the policy is just that."""
        from blowfish_privacy.release.rival import plain_error

        return plain_error(self)

    def typical_errors(self) -> dict[str, float]:
        """Say how wrong a random range or rectangle typically is, on public shapes; empty but for ordered data."""
        from blowfish_privacy.release.simulations import typical_errors

        return typical_errors(self)

    def typical_ratios(self) -> dict[str, float]:
        """Say how much larger clusters' squared distances typically are, on public points; empty but for clusters."""
        from blowfish_privacy.release.simulations import typical_ratios

        return typical_ratios(self)

    @property
    def notices(self) -> list[str]:
        """What must not be overlooked, such as an answer without noise."""
        from blowfish_privacy.release.notices import notices

        return notices(self)

    def __repr__(self) -> str:
        from blowfish_privacy.release.checks import selected

        lost, error = self.certificate.loss.measure.words(self.amount), self.expected_error()
        how = f"{self.certificate.mechanism}, {lost}" if self.amount else "exact, without noise"
        asked = f"{self.query.noun} of {self.query.subject}{selected(self.selection)}"
        return f"<Plan {self.name!r}: {asked}; {how}; typical error {shown(error.rmse, error)}>"

    def explain(self) -> str:
        """Say in plain words what will be released, how, at what cost, and how wrong it will be."""
        from blowfish_privacy.release.explain import explain_plan

        return explain_plan(self)


def make_plan(
    asked: Asked,
    policy: Policy,
    *,
    spending: Spending | None = None,
    mechanism: str | None = None,
    records: int | None = None,
    sizes: PublicSizes | None = None,
    name: str = "release",
    key: str | None = None,
    **stated: Any,
) -> Plan:
    """Choose and calibrate a mechanism for what may be spent, stated as in :meth:`.Spending.of`.

    ``records`` is the public number of records, and ``sizes`` that of each part with a size of its own, where known.
    Groups whose sizes are secret are assumed to be equally large, where an error is stated.
    """
    if not isinstance(name, str) or (mechanism is not None and not isinstance(mechanism, str)):
        raise QueryError("the names of a release and of a mechanism are text.")
    query, selection = split(asked)
    options: dict[str, Any] = {"spending": spending or Spending.of(**stated), "mechanism": mechanism, "name": name}
    if key is not None:
        options["key"] = key
    if selection:
        from blowfish_privacy.release.groups import plan_groups

        return plan_groups(query, selection, policy, all_records=records, sizes=sizes, **options)
    return plan_population(query, Population(policy, {}, (), policy), records=records, **options)


def plan_population(
    query: Query,
    population: Population,
    *,
    spending: Spending,
    mechanism: str | None,
    records: int | None,
    **labels: Any,
) -> Plan:
    """Plan one release of some records."""
    kinds, named = candidates(query, mechanism), mechanism is not None
    calibrate = Calibration(query, population, kinds, records, named, spending)
    if spending.error is not None:
        amount = calibrate.solve(spending.error)
    else:
        amount = positive(spending.amount, spending.unit.name, error=QueryError)
    chosen = calibrate(amount)
    certificate = population.certificate(chosen.mechanism.certify(population.policy))
    labels["errors"] = chosen.errors
    return Plan(query, population.whole, chosen.mechanism, certificate, records, population, **labels)
