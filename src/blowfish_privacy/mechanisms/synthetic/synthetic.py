"""Synthetic records: tables chosen and measured in rounds under one charge, and a model fitted to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Aggregates, AttributeSets, TableAggregates
from blowfish_privacy.domain import Cell, Domain, quoted
from blowfish_privacy.errors import DataError, PolicyError, QueryError, SpecError
from blowfish_privacy.mechanisms.error import ExpectedError
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, NO_NOISE, Mechanism
from blowfish_privacy.mechanisms.synthetic.approach import APPROACHES, Approach, Limits, check_possible, chosen_approach
from blowfish_privacy.mechanisms.synthetic.costs import (
    GAUSSIAN,
    LAPLACE,
    MOST_SCALE,
    Accountant,
    Costs,
    Scope,
    TableNoise,
)
from blowfish_privacy.mechanisms.synthetic.model import Axes, Measurement, Model, combined
from blowfish_privacy.mechanisms.synthetic.rounds import (
    Look,
    Looks,
    Step,
    TableChoice,
    decoded,
    encoded,
    estimated_total,
)
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import Loss, PairClass
from blowfish_privacy.privacy.measure import EPSILON, RHO
from blowfish_privacy.privacy.sensitivity import Sensitivity, sensitivity_of
from blowfish_privacy.queries import Query, Synthetic
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.queries.tables import listed_tables
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import exact, rounded
from blowfish_privacy.support.progress import task


@dataclass(frozen=True, eq=False)
class SyntheticMechanism(Mechanism):
    """Measures tables of records, from which a model and synthetic records follow."""

    scope: Scope
    """What may be looked at, and what it costs under the policy of the release."""
    limits: Limits
    """What each class of secret pairs may lose."""
    approach: Approach
    noise: ClassVar[TableNoise]

    gives = ("records",)
    proof = "docs/proofs/synthetic.md"
    independent_rows = False

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, records: int | None, **amounts: Fraction) -> Self:
        (amount,) = amounts.values()
        if policy.size != "unknown" and not records:
            raise QueryError("synthetic records need a table with at least one record.")
        scope = Scope(_asked(query, policy), policy, cls.noise)
        scope.check_kept(records)
        check_possible(scope.domain.shape, scope.zeros)
        limits = dict.fromkeys(scope.told, amount)
        made = cls(scope, limits, chosen_approach(scope, limits, records))
        if max(made.first, default=Fraction(0)) >= MOST_SCALE / 2**10:
            raise QueryError("so small an amount leaves nothing but noise.", hint="allow more.")
        return made

    @property
    def domain(self) -> Domain:
        """The attributes of the records."""
        return self.scope.domain

    @property
    def costs(self) -> Costs:
        """What looking at tables costs under the policy."""
        return self.scope.costs

    @cached_property
    def first(self) -> tuple[Fraction, ...]:
        """The scales of the noise on the attributes by themselves, when they are measured first."""
        return tuple(self.approach.first(self.scope, self.limits))

    def certify(self, policy: Policy) -> Certificate:
        """Say what each class may lose: no step is taken that would bring one above its limit.

        Under another policy, a class loses at most what a class of the first loses that all tables tell at least as
        well.
        """
        if policy.size != self.scope.policy.size:
            raise PolicyError("what is fitted to a public number of records certifies nothing where it is secret.")
        costs = self.costs if policy.hash == self.scope.policy.hash else Costs(policy, self.domain, self.noise)
        tables = self._counted
        told = [pairs for pairs in costs.classes if any(pairs in costs.weights(axes) for axes in tables)]
        if costs is self.costs and any(pairs not in self.limits for pairs in told):
            raise PolicyError(NO_NOISE)
        amounts: dict[PairClass, Fraction] = {}
        for pairs in told:
            like = pairs if costs is self.costs else costs.covered(pairs, self.costs, tables)
            if like is None or like not in self.limits:
                raise PolicyError(NO_NOISE)
            amounts[pairs] = self.limits[like]
        # What is stated of the attributes by themselves; the losses are those of all steps.
        sensitivity = self._sensitivity(policy, tables)
        return self.certified(policy, Loss.of(amounts, self.counted_in), sensitivity, *self.first)

    def _sensitivity(self, policy: Policy, tables: Sequence[Axes]) -> Sensitivity:
        """Derive that of the attributes by themselves, or of a table where facts tell these already."""
        single = sensitivity_of(self.scope.query.on(policy.domain), policy)
        if single.value:
            return single
        forms = (HistogramForm(self.domain.project(self._named(axes))) for axes in tables)
        return next((each for form in forms if (each := sensitivity_of(form, policy)).value), single)

    def loss(self, x: Cell, y: Cell) -> Fraction:
        if x == y:
            return Fraction(0)
        whole_domain, names = self.scope.policy.domain, self.domain.names
        # A level of an attribute changes with the attribute itself, which classes are named after.
        changed = {
            whole_domain.names[whole_domain.axis(names[axis])] for (axis,) in self.scope.single if x[axis] != y[axis]
        }
        whole = [limit for pairs, limit in self.limits.items() if pairs.kind == "all"]
        several = [limit for pairs, limit in self.limits.items() if pairs.attribute in changed]
        return whole[0] if whole else self.counted_in.along([(limit, 1) for limit in several])

    def presence(self, x: Cell) -> Fraction:
        return next((limit for pairs, limit in self.limits.items() if pairs.kind == "presence"), Fraction(0))

    @property
    def rows(self) -> int:
        return sum(self.domain.shape)

    def tables(self, query: Query) -> AttributeSets:
        return [self._named(axes) for axes in self._counted]

    @cached_property
    def _counted(self) -> list[Axes]:
        return [*dict.fromkeys([*self.scope.single, *self.scope.exact, *self.approach.tables(self.scope)])]

    def _named(self, axes: Axes) -> list[str]:
        return [self.domain.names[axis] for axis in axes]

    def draw(self, aggregates: Aggregates, source: BitSource) -> npt.NDArray[Any]:
        counts = dict(zip(self._counted, aggregates.tables([*map(self._named, self._counted)]), strict=True))
        records = int(counts[(0,)].sum())
        if records >= LARGEST_ANSWER:
            raise DataError("the answers may be too large for 64-bit arithmetic.")
        total = None if self.scope.policy.size == "unknown" else records
        with task("Choosing, measuring and fitting tables") as report:
            looks = Looks(self.costs, self.limits, counts, source)
            return encoded(self.approach.run(looks, self.scope, total, report))

    def measure(self, counts: npt.NDArray[np.int64], source: BitSource) -> npt.NDArray[Any]:
        return self.draw(TableAggregates(self.domain, counts.reshape(self.domain.shape)), source)

    def fits(self, noisy: Integers) -> bool:
        try:
            return self._hold(self.steps(noisy))
        except (PolicyError, SpecError, IndexError):
            return False

    def _hold(self, steps: Sequence[Step]) -> bool:
        """Say whether steps tell about every attribute, and cost no class more than its limit; if one does, it raises.

        What was chosen must be a packing of classes that were paid for, and no other table of secrets is looked at.
        """
        accountant, costs, tables = Accountant(self.limits), self.costs, self.approach.tables(self.scope)
        allowed: set[Axes] = {*self.scope.single, *self.scope.exact, *([] if self.approach.chooses else tables)}
        for step in steps:
            if isinstance(step, TableChoice):
                paid = [costs.classes[number] for number in step.classes if number >= 0]
                told = [pairs for axes in step.chosen for pairs in costs.changes(axes)]
                known = self.approach.chooses and {*step.chosen} <= {*tables}
                if not known or not paid or not {*told} <= {*paid} or len(told) != len({*told}):
                    return False
                charges = costs.of_choice(step.coefficient, tables)
                accountant.charge({pairs: charges[pairs] for pairs in paid if pairs in charges})
                allowed |= {*step.chosen}
            elif step.axes not in allowed or (not step.scale and costs.weights(step.axes)):
                return False
            elif step.scale:
                accountant.charge(costs.of_look(step.axes, step.scale))
        seen = {axis for step in steps if isinstance(step, Look) for axis in step.axes}
        return seen == {axis for (axis,) in self.scope.single}

    def steps(self, noisy: Integers) -> list[Step]:
        """Read what was chosen and measured."""
        return decoded(noisy, self.domain.shape)

    def measurements(self, noisy: Integers) -> list[Measurement]:
        """Read the tables that were measured, in their order."""
        looks = [step for step in self.steps(noisy) if isinstance(step, Look)]
        return [Measurement(look.axes, look.noisy, self.noise.variance(look.scale)) for look in looks]

    def model(self, noisy: Integers, records: int | None) -> Model:
        """Fit a model to all that was measured; the same numbers give the same model."""
        measurements = self.measurements(noisy)
        total = estimated_total(combined(measurements)) if records is None else float(records)
        with task("Fitting a model"):
            return self.approach.fit(self.scope, total, measurements)

    @property
    def notices(self) -> list[str]:
        return [
            "Synthetic records are made up: they are not people. Their error is not covered by a closed form; that of "
            "the tables that were measured is."
        ]

    def without_noise(self) -> str | None:
        exact = [[quoted(name) for name in self._named(axes)] for axes in self.scope.exact]
        return listed_tables(exact) if exact and self.limits else None

    def expected_error(self) -> ExpectedError:
        worst = max(self.first, default=Fraction(0))
        return ExpectedError(worst, Fraction(1), "a count of one attribute, at first", self.noise.rows.law)

    def words(self) -> str:
        error = rounded(Fraction(self.expected_error().rmse))
        return (
            f"First each attribute is counted by itself, with {self.noise.rows.law.name} noise of deviation {error}; "
            f"{self.approach.words(self.scope)}. Records are drawn from it."
        )

    def to_document(self) -> dict[str, Any]:
        limits = [[pairs.kind, pairs.attribute, str(limit)] for pairs, limit in self.limits.items()]
        return {"name": self.name, "approach": self.approach.name, "limits": limits}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        if written.get("approach") not in APPROACHES:
            raise SpecError("the document is damaged: it has no approach that is known.")
        limits: dict[PairClass, Fraction] = {}
        for kind, attribute, amount in written["limits"]:
            limit = exact(amount, "a limit", error=SpecError)
            if limit <= 0:
                raise SpecError("the document is damaged: a limit is not above 0.")
            limits[PairClass(kind, attribute)] = limit
        scope, approach = Scope(_asked(query, policy), policy, cls.noise), APPROACHES[written["approach"]]
        if not limits.keys() <= {*scope.told}:
            raise SpecError("the document is damaged: it limits what its tables do not tell.")
        return cls(scope, limits, approach)


class GaussianSynthetic(SyntheticMechanism):
    """Chooses and measures tables with discrete Gaussian noise, and fits a model from which records are drawn.

    Privacy: (rho, P)-zero-concentrated Blowfish, class by class: an exact accountant takes no step above a limit.
    Sensitivity: of each table by the worst pair of each class, squared; of each choice by the range of its scores.
    Error: of each table measured by its noise; of the model none in closed form.
    Cost: one scan; time by rounds of fitting, memory linear in the cells of the tables to choose from, at most 2^23.
    Numerics: scores, noise and choices are exact whole numbers; the model is fitted to noisy numbers in floating point.
    Proof: docs/proofs/synthetic.md
    """

    name = "synthetic"
    noise = GAUSSIAN
    counted_in = RHO


class LaplaceSynthetic(SyntheticMechanism):
    """Chooses and measures tables with discrete Laplace noise, and fits a model from which records are drawn.

    Privacy: (epsilon, P)-Blowfish, class by class: an exact accountant takes no step above a limit.
    Sensitivity: of each table by the worst pair of each class; of each choice by the range of its scores.
    Error: of each table measured by its noise; of the model none in closed form.
    Cost: one scan; time by rounds of fitting, memory linear in the cells of the tables to choose from, at most 2^23.
    Numerics: scores, noise and choices are exact whole numbers; the model is fitted to noisy numbers in floating point.
    Proof: docs/proofs/synthetic.md
    """

    name = "synthetic-laplace"
    noise = LAPLACE
    counted_in = EPSILON


def _asked(query: Query, policy: Policy) -> Synthetic:
    if not isinstance(query, Synthetic):
        raise QueryError(f"this mechanism makes synthetic records, and does not answer {query.keyword}.")
    query.on(policy.domain)
    return query
