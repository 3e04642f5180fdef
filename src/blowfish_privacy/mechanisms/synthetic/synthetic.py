"""Synthetic records: tables chosen and measured in rounds, or all pairs at once, and a model fitted to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import prod, sqrt
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Aggregates, AttributeSets, TableAggregates
from blowfish_privacy.domain import Cell, Domain, quoted
from blowfish_privacy.errors import DataError, PolicyError, QueryError, SpecError
from blowfish_privacy.mechanisms.error import ExpectedError
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, NO_NOISE, Mechanism
from blowfish_privacy.mechanisms.synthetic.costs import (
    GAUSSIAN,
    LAPLACE,
    MOST_SCALE,
    Accountant,
    Costs,
    Scope,
    TableNoise,
    allocated,
)
from blowfish_privacy.mechanisms.synthetic.mixture import Mixture, fit_mixture, impossible_records, mended
from blowfish_privacy.mechanisms.synthetic.mixture_fit import cleared
from blowfish_privacy.mechanisms.synthetic.model import (
    MODEL_CELLS,
    MOST_GROWTH,
    REFILLED,
    ROOM_COST,
    Axes,
    Known,
    Measurement,
    Zeros,
    combined,
    raked,
)
from blowfish_privacy.mechanisms.synthetic.rounds import (
    FIRST,
    Look,
    Looks,
    Rounds,
    Step,
    TableChoice,
    decoded,
    encoded,
    estimated_total,
    importance_of,
)
from blowfish_privacy.mechanisms.synthetic.tree import JunctionTree, TreeFit, TreeModel, fit_tree, spanning, tree_cells
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import Loss, PairClass
from blowfish_privacy.privacy.measure import EPSILON, RHO
from blowfish_privacy.privacy.sensitivity import Sensitivity, sensitivity_of
from blowfish_privacy.queries import Query, Synthetic
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.queries.tables import listed_tables
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.exact import exact, rounded
from blowfish_privacy.support.progress import Report, task

Model: TypeAlias = Mixture | TreeModel
"""A distribution of records, fitted to what was measured."""

# Choosing between a tree and a mixture by what they claim beyond pairs.
#
# A mixture meets pairs better than a tree, which has no room for all of them. But pairs do not settle larger tables: a
# mixture that is to meet the pairs of a long chain of attributes puts its records into few places, and its triples are
# wrong. Nothing that was measured shows it. So both are compared with triples that claim nothing beyond pairs: those of
# largest entropy with the mixture's pairs, which are the best estimates of the pairs that there are. A tree is off
# where it misses pairs, a mixture where it claims more than pairs say; the one that is off less is taken.

_MOST_TRIPLES = 60
_MOST_CELLS = 30_000
"""Of one triple."""
_NOISE_OF_PAIRS = 0.7
"""A tree is off for the noise of the mixture's pairs too, which the mixture shares with what it is compared with."""
_RAKING = 10
"""Rounds in which a triple is brought to its three pairs."""


def with_fewer_claims(mixture: Mixture, tree: TreeModel, pairs: Collection[Axes]) -> Model:
    """Return the model whose triples are nearer to those that pairs imply; the mixture if there are no triples."""
    of_mixture = of_tree = 0.0
    for axes in triples_of(mixture.shape, pairs):
        claimed = mixture.table(axes)
        implied = implied_by_pairs(claimed)
        of_mixture += float(np.abs(claimed - implied).sum())
        of_tree += float(np.abs(tree.table(axes) - implied).sum())
    return tree if _NOISE_OF_PAIRS * of_tree < of_mixture else mixture


def triples_of(shape: Sequence[int], pairs: Collection[Axes]) -> list[Axes]:
    """List triples of which all pairs are known, evenly chosen where they are many."""
    known = {*pairs}
    found = [
        axes
        for axes in combinations(range(len(shape)), 3)
        if known.issuperset(combinations(axes, 2)) and prod(shape[axis] for axis in axes) <= _MOST_CELLS
    ]
    many = min(len(found), _MOST_TRIPLES)
    return [found[number * len(found) // many] for number in range(many)]


def implied_by_pairs(triple: Floats) -> Floats:
    """Return the table of largest entropy among those with the same pairs, about."""
    pairs = [(axis, triple.sum(axis=axis, keepdims=True)) for axis in range(3)]
    return raked(np.ones_like(triple), pairs, _RAKING)


# Impossible combinations taken together: how large a tree they need, and whether they leave anything possible.

LARGEST_TREE = MODEL_CELLS // 4
"""The most cells that impossible combinations may take of a tree, so that there is room for tables."""
_TRIED = 50


def fit_a_tree(shape: Sequence[int], zeros: Sequence[Zeros]) -> bool:
    """Say whether a tree can hold all impossible combinations, and tables beside them."""
    return tree_cells(shape, [each.axes for each in zeros]) <= LARGEST_TREE


def check_possible(shape: Sequence[int], zeros: Sequence[Zeros]) -> None:
    """Refuse combinations that leave nothing possible, or nothing that is found where too many hang together."""
    if zeros and not (_some_possible(shape, zeros) if fit_a_tree(shape, zeros) else _some_found(shape, zeros)):
        raise QueryError("the impossible combinations leave no record possible.", hint="take some of them back.")


def _some_found(shape: Sequence[int], zeros: Sequence[Zeros]) -> bool:
    """Look for a possible record by changing single values of others, always from the same ones."""
    generator = np.random.default_rng(0)
    tried = generator.integers(0, shape, (_TRIED, len(shape)))
    return any(not impossible_records(mended(record, shape, zeros, (), generator)[None], zeros)[0] for record in tried)


def _some_possible(shape: Sequence[int], zeros: Sequence[Zeros]) -> bool:
    """Pass what is possible from the leaves of a tree up to its root."""
    tree = JunctionTree.of(shape, [each.axes for each in zeros])
    possible = [np.ones(tree.sizes(number), dtype=np.bool_) for number in range(len(tree.cliques))]
    for each in zeros:
        home = tree.home(each.axes) or 0
        possible[home] &= ~each.impossible.reshape(tree.spread(home, each.axes))
    for number in range(len(possible) - 1, 0, -1):
        shared, above = tree.separators[number], tree.parents[number]
        message = possible[number].any(axis=tree.others(number, shared))
        possible[above] &= np.reshape(message, tree.spread(above, shared))
    return bool(possible[0].any())


# A junction tree for pairs that have all been measured: which of them it holds is decided by the noisy counts alone.
#
# The tree grows from the attributes by themselves. In each round the pairs are found from which it is farthest: the
# difference of a noisy pair from the model is cleared of noise by shrinking its singular values [gavish2017], and what
# is left, in records, is what the pair adds. First come pairs that close no circle, then a few at a time, as long as
# there is room. Everything that lies in one of its cliques is fitted.

FEW_ATTRIBUTES = 40
"""Of more, the tree is one of pairs that close no circle: scoring all pairs by a model takes too long."""
_MOST_ROUNDS = 8
_FITTING, _LAST_FITTING = 60, 120
"""Steps of a fit between two rounds, which starts from the one before, and of the last one."""
_LEAST_ADDED = 0.002
"""The share of the records that a pair must add to the model."""
_ABOVE_NOISE = 0.25
"""What a pair must add besides, as a share of the records that its noise misplaces: fitting it brings noise in."""


def noisy_tree(
    shape: tuple[int, ...], total: float, known: Mapping[Axes, Known], zeros: Sequence[Zeros] = ()
) -> TreeModel | None:
    """Choose pairs for a junction tree by their noisy counts, and fit it; None if what it must hold is too large."""
    from threadpoolctl import threadpool_limits  # as in the fit of a mixture

    first = [axes for axes, each in known.items() if len(axes) == 1 or each.variance == 0]
    growth = _Growth(shape, total, known, zeros, first)
    if growth.cells() > MODEL_CELLS:
        return None
    with threadpool_limits(limits=1):
        fit = growth.fitted(None, _FITTING)
        for number in range(_MOST_ROUNDS if len(shape) <= FEW_ATTRIBUTES else 1):
            scores = growth.scores(fit.model)
            if not growth.take(spanning(scores, len(shape)) if number == 0 else disjoint(scores)):
                break
            fit = growth.fitted(fit, _FITTING)
        return growth.fitted(fit, _LAST_FITTING).model


@dataclass(eq=False)
class _Growth:
    """A tree that grows pair by pair."""

    shape: tuple[int, ...]
    total: float
    known: Mapping[Axes, Known]
    zeros: Sequence[Zeros]
    held: list[Axes]
    """The tables that the tree is built for."""

    def _sets(self) -> list[Axes]:
        return [*self.held, *(each.axes for each in self.zeros)]

    def cells(self, *more: Axes) -> int:
        """Count the cells that the tree has, or would have with more pairs."""
        return tree_cells(self.shape, [*self._sets(), *more])

    def fitted(self, before: TreeFit | None, rounds: int) -> TreeFit:
        """Fit the tree to all tables that lie in its cliques."""
        tree = JunctionTree.of(self.shape, self._sets())
        inside = {axes: each for axes, each in self.known.items() if tree.home(axes) is not None}
        start = before.factors if before else None
        return fit_tree(self.shape, self.total, inside, self.zeros, start=start, rounds=rounds)

    def scores(self, model: TreeModel) -> dict[Axes, float]:
        """Say how many records each pair adds to the model, less what its room costs; only those worth it."""
        found: dict[Axes, float] = {}
        for axes, each in self.known.items():
            if len(axes) != 2 or model.tree.home(axes) is not None or each.counts.size > MOST_GROWTH * MODEL_CELLS:
                continue
            expected, deviation = model.table(axes), sqrt(each.variance)
            # Rows and columns of this residual do not sum to 0, so that none of its dimensions is lost.
            sizes = (expected.shape[0] + 1, expected.shape[1] + 1)
            added = float(np.abs(cleared(each.counts - expected, deviation, sizes)).sum())
            noise = float(np.minimum(deviation, REFILLED * expected).sum())
            if added > _LEAST_ADDED * self.total + _ABOVE_NOISE * noise:
                alone = max(map(len, model.tree.cliques)) == 1
                growth = (each.counts.size if alone else max(0, self.cells(axes) - model.tree.cells)) / MODEL_CELLS
                found[axes] = added - ROOM_COST * growth * self.total
        return {axes: score for axes, score in found.items() if score > 0}

    def take(self, pairs: Sequence[Axes]) -> bool:
        """Add pairs in their order as far as there is room; say whether there was any."""
        before, many = self.cells(), len(self.held)
        for axes in pairs:
            cells = self.cells(axes)
            if cells <= min(MODEL_CELLS, before + MOST_GROWTH * MODEL_CELLS):
                self.held.append(axes)
                before = cells
        return len(self.held) > many


def disjoint(scores: Mapping[Axes, float]) -> list[Axes]:
    """Take the pairs with the highest scores that share no attribute."""
    taken: set[int] = set()
    chosen: list[Axes] = []
    for axes in sorted(scores, key=lambda axes: (-scores[axes], axes)):
        if taken.isdisjoint(axes):
            chosen.append(axes)
            taken.update(axes)
    return chosen


# The two ways: what each measures, and what is fitted to it.

Limits: TypeAlias = Mapping[PairClass, Fraction]

_MOST_PAIRS_TO_CHOOSE_FROM = 600
_SMALL_DOMAIN = 10 * MODEL_CELLS
"""Up to here a tree has room for nearly all that there is to know."""
_CLEAR = 40.0
"""From here on all pairs at once are better: the records over the noise of a pair, its root over all cells."""


class Approach(ABC):
    """What is measured, and which model is fitted to it."""

    name: str
    chooses: bool
    """Whether the tables that are measured are chosen among others."""

    @abstractmethod
    def tables(self, scope: Scope) -> list[Axes]:
        """List the tables of several attributes with secrets that may be measured."""

    @abstractmethod
    def run(self, looks: Looks, scope: Scope, total: int | None, report: Report | None) -> list[Step]:
        """Take all steps."""

    @abstractmethod
    def fit(self, scope: Scope, total: float, measurements: Sequence[Measurement]) -> Model:
        """Fit a model to all that was measured."""

    @abstractmethod
    def first(self, scope: Scope, limits: Limits) -> list[Fraction]:
        """Return the scales of the noise on each attribute by itself, when it is measured first."""

    @abstractmethod
    def words(self, scope: Scope) -> str:
        """Say what is measured after that, and what is fitted."""


class TreeApproach(Approach):
    """Chooses tables in rounds, and fits a junction tree."""

    name, chooses = "tree", True

    def tables(self, scope: Scope) -> list[Axes]:
        return scope.candidates

    def run(self, looks: Looks, scope: Scope, total: int | None, report: Report | None) -> list[Step]:
        return Rounds(looks, total, scope.zeros, scope.candidates, report).run(scope.exact)

    def fit(self, scope: Scope, total: float, measurements: Sequence[Measurement]) -> Model:
        return fit_tree(scope.domain.shape, total, combined(measurements), scope.zeros).model

    def first(self, scope: Scope, limits: Limits) -> list[Fraction]:
        weights = [scope.costs.weights(axes) for axes in scope.single]
        room = {pairs: FIRST * limit for pairs, limit in limits.items()}
        return allocated(weights, [float(size) for size in scope.domain.shape], room, scope.noise.power)

    def words(self, scope: Scope) -> str:
        return (
            f"then, in rounds, those of {len(scope.candidates):,} larger tables are chosen and measured from which a "
            "model of the records is farthest; last, all that the model holds is measured again"
        )


class PairsApproach(Approach):
    """Measures all pairs at once, and fits a mixture of products or a tree, whichever claims less beyond them."""

    name, chooses = "pairs", False

    def tables(self, scope: Scope) -> list[Axes]:
        return scope.pairs

    def run(self, looks: Looks, scope: Scope, total: int | None, report: Report | None) -> list[Step]:
        looks.take(scope.exact)
        shape, tables = scope.domain.shape, [axes for axes in (*scope.single, *scope.pairs) if axes not in looks.known]
        looks.share(tables, [importance_of(shape, axes) for axes in tables], Fraction(1))
        return looks.steps

    def fit(self, scope: Scope, total: float, measurements: Sequence[Measurement]) -> Model:
        shape, known = scope.domain.shape, combined(measurements)
        mixture = fit_mixture(shape, total, measurements, scope.zeros)
        tree = noisy_tree(shape, total, known, scope.zeros)
        together = {pair for axes in known for pair in combinations(axes, 2)}
        return mixture if tree is None else with_fewer_claims(mixture, tree, together)

    def first(self, scope: Scope, limits: Limits) -> list[Fraction]:
        return self.scales(scope, limits)[: len(scope.single)]

    def scales(self, scope: Scope, limits: Limits) -> list[Fraction]:
        """Return the scales of all attributes, and then of all pairs."""
        tables, shape = [*scope.single, *scope.pairs], scope.domain.shape
        weights = [scope.costs.weights(axes) for axes in tables]
        return allocated(weights, [importance_of(shape, axes) for axes in tables], limits, scope.noise.power)

    def words(self, scope: Scope) -> str:
        return (
            f"so is each of {len(scope.pairs):,} pairs of attributes, at once; a mixture of groups, in each of which "
            "the attributes are independent, is fitted to all of them, or a tree of attributes where that is better by "
            "the noisy counts; what more attributes have in common beyond their pairs is not measured"
        )


TREE, PAIRS = TreeApproach(), PairsApproach()
APPROACHES: Mapping[str, Approach] = {each.name: each for each in (TREE, PAIRS)}


def chosen_approach(scope: Scope, limits: Limits, records: int | None) -> Approach:
    """Choose by public information: all pairs where records stand out from their noise, or attributes are many.

    Where all combinations are few, or the number of records is secret, tables are chosen.
    """
    if len(scope.pairs) > _MOST_PAIRS_TO_CHOOSE_FROM or scope.cells(scope.query.kept()) > MODEL_CELLS // 4:
        return PAIRS
    if not fit_a_tree(scope.domain.shape, scope.zeros):
        return PAIRS
    if not scope.pairs or scope.domain.size <= _SMALL_DOMAIN or not records:
        return TREE
    scales = PAIRS.scales(scope, limits)[len(scope.single) :]
    noise = [
        sqrt(scope.noise.variance(scale) * scope.cells(axes)) for axes, scale in zip(scope.pairs, scales, strict=True)
    ]
    return PAIRS if records * len(noise) / max(sum(noise), 1e-300) >= _CLEAR else TREE


# What both have in common: what they may lose, what they hand out, and how that is read.


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
        scope = Scope(_synthetic(query, policy), policy, cls.noise)
        scope.check_kept(records)
        check_possible(scope.domain.shape, scope.zeros)
        limits = dict.fromkeys(scope.affected, amount)
        mechanism = cls(scope, limits, chosen_approach(scope, limits, records))
        if max(mechanism.first, default=Fraction(0)) >= MOST_SCALE / 2**10:
            raise QueryError("so small an amount leaves nothing but noise.", hint="allow more.")
        return mechanism

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

        Under another policy, a class loses at most what a class of the first loses that changes all tables at least as
        much.
        """
        if policy.size != self.scope.policy.size:
            raise PolicyError("what is fitted to a public number of records certifies nothing where it is secret.")
        costs = self.costs if policy.hash == self.scope.policy.hash else Costs(policy, self.domain, self.noise)
        tables = self._counted
        affected = [pairs for pairs in costs.classes if any(pairs in costs.weights(axes) for axes in tables)]
        if costs is self.costs and any(pairs not in self.limits for pairs in affected):
            raise PolicyError(NO_NOISE)
        amounts: dict[PairClass, Fraction] = {}
        for pairs in affected:
            like = pairs if costs is self.costs else costs.covered(pairs, self.costs, tables)
            if like is None or like not in self.limits:
                raise PolicyError(NO_NOISE)
            amounts[pairs] = self.limits[like]
        # What is stated of the attributes by themselves; the losses are those of all steps.
        sensitivity = self._sensitivity(policy, tables)
        return self.certified(policy, Loss.of(amounts, self.counted_in), sensitivity, *self.first)

    def _sensitivity(self, policy: Policy, tables: Sequence[Axes]) -> Sensitivity:
        """Derive that of the attributes by themselves, or of a table where facts state these already."""
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
        """Say whether steps cover every attribute, and cost no class more than its limit; if one does, it raises.

        What was chosen must be a packing of classes that were paid for, and no other table of secrets is looked at.
        """
        accountant, costs, tables = Accountant(self.limits), self.costs, self.approach.tables(self.scope)
        allowed: set[Axes] = {*self.scope.single, *self.scope.exact, *([] if self.approach.chooses else tables)}
        for step in steps:
            if isinstance(step, TableChoice):
                paid = [costs.classes[number] for number in step.classes if number >= 0]
                affected = [pairs for axes in step.chosen for pairs in costs.changes(axes)]
                known = self.approach.chooses and {*step.chosen} <= {*tables}
                if not known or not paid or not {*affected} <= {*paid} or len(affected) != len({*affected}):
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
        scope, approach = Scope(_synthetic(query, policy), policy, cls.noise), APPROACHES[written["approach"]]
        if not limits.keys() <= {*scope.affected}:
            raise SpecError("the document is damaged: it limits what its tables do not contain.")
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


def _synthetic(query: Query, policy: Policy) -> Synthetic:
    if not isinstance(query, Synthetic):
        raise QueryError(f"this mechanism makes synthetic records, and does not answer {query.keyword}.")
    query.on(policy.domain)
    return query
