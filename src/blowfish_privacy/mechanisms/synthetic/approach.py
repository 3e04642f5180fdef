"""Two ways to synthetic records: choosing tables in rounds, or measuring all pairs at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import sqrt

from blowfish_privacy.mechanisms.synthetic.candidates import MODEL_CELLS
from blowfish_privacy.mechanisms.synthetic.claims import with_fewer_claims
from blowfish_privacy.mechanisms.synthetic.impossible import fit_a_tree
from blowfish_privacy.mechanisms.synthetic.mixture.mixture import fit_mixture
from blowfish_privacy.mechanisms.synthetic.model import Axes, Measurement, Model, combined
from blowfish_privacy.mechanisms.synthetic.scope import Scope
from blowfish_privacy.mechanisms.synthetic.steps.all_pairs import importance_of, measure_all_pairs
from blowfish_privacy.mechanisms.synthetic.steps.allocation import allocated
from blowfish_privacy.mechanisms.synthetic.steps.looks import Looks
from blowfish_privacy.mechanisms.synthetic.steps.rounds import FIRST, Rounds
from blowfish_privacy.mechanisms.synthetic.steps.transcript import Step
from blowfish_privacy.mechanisms.synthetic.tree.noisy_tree import noisy_tree
from blowfish_privacy.mechanisms.synthetic.tree.tree_fit import fit_tree
from blowfish_privacy.privacy.loss import PairClass

Limits = Mapping[PairClass, Fraction]
Report = Callable[[float | None], None]

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
        """List the tables to choose from."""
        return scope.candidates

    def run(self, looks: Looks, scope: Scope, total: int | None, report: Report | None) -> list[Step]:
        """Choose, measure and fit in rounds."""
        return Rounds(looks, total, scope.zeros, scope.candidates, report).run(scope.exact)

    def fit(self, scope: Scope, total: float, measurements: Sequence[Measurement]) -> Model:
        """Fit the distribution of largest entropy near the tables."""
        return fit_tree(scope.domain.shape, total, combined(measurements), scope.zeros).model

    def first(self, scope: Scope, limits: Limits) -> list[Fraction]:
        """Share a part of the limits between the attributes."""
        weights = [scope.costs.weights(axes) for axes in scope.single]
        room = {pairs: FIRST * limit for pairs, limit in limits.items()}
        return allocated(weights, [float(size) for size in scope.domain.shape], room, scope.tariff.power)

    def words(self, scope: Scope) -> str:
        """Describe the rounds."""
        return (
            f"then, in rounds, those of {len(scope.candidates):,} larger tables are chosen and measured from which a "
            "model of the records is farthest; last, all that the model holds is measured again"
        )


class PairsApproach(Approach):
    """Measures all pairs at once, and fits a mixture of products or a tree, whichever claims less beyond them."""

    name, chooses = "pairs", False

    def tables(self, scope: Scope) -> list[Axes]:
        """List the pairs."""
        return scope.pairs

    def run(self, looks: Looks, scope: Scope, total: int | None, report: Report | None) -> list[Step]:
        """Measure everything once."""
        return measure_all_pairs(looks, scope.exact, scope.pairs)

    def fit(self, scope: Scope, total: float, measurements: Sequence[Measurement]) -> Model:
        """Fit a mixture and, unless attributes are too many, a tree; what was measured decides between them."""
        shape, known = scope.domain.shape, combined(measurements)
        mixture = fit_mixture(shape, total, measurements, scope.zeros)
        tree = noisy_tree(shape, total, known, scope.zeros)
        together = {pair for axes in known for pair in combinations(axes, 2)}
        return mixture if tree is None else with_fewer_claims(mixture, tree, together)

    def first(self, scope: Scope, limits: Limits) -> list[Fraction]:
        """Share the limits between the attributes and the pairs."""
        return self.scales(scope, limits)[: len(scope.single)]

    def scales(self, scope: Scope, limits: Limits) -> list[Fraction]:
        """Return the scales of all attributes, and then of all pairs."""
        tables, shape = [*scope.single, *scope.pairs], scope.domain.shape
        weights = [scope.costs.weights(axes) for axes in tables]
        return allocated(weights, [importance_of(shape, axes) for axes in tables], limits, scope.tariff.power)

    def words(self, scope: Scope) -> str:
        """Describe the pairs."""
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
    return PAIRS if clearness(scope, limits, records) >= _CLEAR else TREE


def clearness(scope: Scope, limits: Limits, records: int) -> float:
    """Compare the records with the noise of a pair when all pairs are measured, the root over all of its cells."""
    scales = PAIRS.scales(scope, limits)[len(scope.single) :]
    noise = [
        sqrt(scope.tariff.variance(scale) * scope.cells(axes)) for axes, scale in zip(scope.pairs, scales, strict=True)
    ]
    return records * len(noise) / max(sum(noise), 1e-300)
