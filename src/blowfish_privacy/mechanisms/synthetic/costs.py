"""What noise and choices cost, in epsilon or in rho."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import isqrt, pi, prod, sqrt

import numpy as np

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import PolicyError, RefusalError
from blowfish_privacy.mechanisms.row_noise import GAUSSIAN_ROWS, LAPLACE_ROWS, RowNoise
from blowfish_privacy.mechanisms.synthetic.model import MODEL_CELLS, Axes, Zeros, tables_within
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import PairClass, classes_met, one_attribute_at_a_time
from blowfish_privacy.queries import Synthetic
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.queries.query import LinearForm
from blowfish_privacy.queries.synthetic import impossible_cells
from blowfish_privacy.support.limits import SYNTHETIC_DRAWN

_BITS = 40
Changes = Mapping[PairClass, Fraction]
"""How much the counts of a table change along the secret pairs of each class; classes that change none are left out."""


@dataclass(frozen=True)
class TableNoise:
    """The noise on tables, and what it and choices cost, in its measure."""

    rows: RowNoise
    choice_share: Fraction
    """The share of a round that pays for the choice."""
    finer: Fraction
    """How many times as much the next round may use where one added too little."""

    @property
    def power(self) -> float:
        """The standard deviation is proportional to the amount to the power of minus this."""
        return 1 / self.rows.power

    def weights(self, form: LinearForm, policy: Policy) -> Changes:
        """Say what noise of scale one on a table costs each class; of scale b it costs ``1 / b`` times as much."""
        changes = self.rows.by_class(form, policy, self.rows.sensitivity(form, policy).value)
        return {pairs: self.rows.lost(change, Fraction(1)) for pairs, change in changes.items() if change}

    def variance(self, scale: Fraction) -> float:
        """Return the variance of noise of a scale; that of no noise is 0, and of any other more than 0."""
        return max(self.rows.variance(scale), 1e-60) if scale else 0.0

    def size(self, scale: Fraction) -> float:
        """Return the mean absolute value of noise of a scale, about."""
        return float(scale) if self.rows.power == 1 else sqrt(2 / pi * float(scale))

    def of_choice(self, reach: Fraction) -> Fraction:
        """Say what a choice costs along whose pairs the logarithm of any probability changes by at most ``reach``."""
        return reach if self.rows.power == 1 else reach**2 / 8

    def reach_for(self, amount: Fraction) -> Fraction:
        """Return a reach that costs at most an amount."""
        if self.rows.power == 1:
            return amount
        bits = max(_BITS, amount.denominator.bit_length())
        grown = 8 * amount * 4**bits
        return Fraction(isqrt(grown.numerator // grown.denominator), 2**bits)


LAPLACE = TableNoise(LAPLACE_ROWS, choice_share=Fraction(1, 5), finer=Fraction(3, 2))
GAUSSIAN = TableNoise(GAUSSIAN_ROWS, choice_share=Fraction(1, 10), finer=Fraction(2))


# Adding up what steps cost, where each may depend on what the ones before it returned.


class Accountant:
    """Keeps, exactly, what every class of secret pairs has lost; no step may bring one above its limit.

    Steps may be chosen by what earlier ones returned: as long as their losses add up to at most the limit whatever is
    returned, all of them together lose at most the limit [feldman2021, for rho; by the chain rule for epsilon].
    """

    def __init__(self, limits: Mapping[PairClass, Fraction]) -> None:
        self.room = dict(limits)

    def charge(self, costs: Changes) -> None:
        """Count a step, before it is taken."""
        short = [pairs for pairs, cost in costs.items() if cost > self.room.get(pairs, 0)]
        if short:
            raise PolicyError(f"this step would lose more on {short[0].words} than it may.")
        for pairs, cost in costs.items():
            self.room[pairs] -= cost


# Sharing what may be lost between tables, so that the noise does least harm.

_ROUNDS, _FILLING = 400, 20
_SETTLED = 1e-12
"""The fixed point is reached when no amount changes by more than such a share."""
_DIGITS = 24
"""Bits to which a scale is rounded up."""
_MOST_SHIFT = 60
MOST_SCALE = 2**50
"""Noise of this scale leaves nothing: a table that could only have such is not measured."""


def allocated(
    weights: Sequence[Changes], importance: Sequence[float], room: Mapping[PairClass, Fraction], power: float
) -> list[Fraction]:
    """Return a scale for each table that minimises the sum of importance times deviation, within every class's room.

    ``weights`` are what noise of scale 1 costs. The multipliers of the classes are found by a fixed point in floating
    point, and what is left then filled; what the scales cost is added up exactly, and they are all enlarged by the
    share they cost too much.
    A table that no class pays for gets 0.
    """
    classes = [pairs for pairs in room if any(pairs in each for each in weights)]
    if not classes:
        return [Fraction(0) for _ in weights]
    matrix = np.array([[float(each.get(pairs, 0)) for each in weights] for pairs in classes])
    paid = matrix.any(axis=0)
    limits = np.array([max(float(room[pairs]), 1e-300) for pairs in classes])
    wanted = np.maximum(np.asarray(importance, dtype=np.float64), 1e-9)
    multipliers = np.ones(len(classes))
    amounts = np.zeros(len(weights))
    for _ in range(_ROUNDS):
        # The least sum of w_S m_S^-p with constraints sum c_S m_S <= room has m_S = (w_S / cost_S)^(1 / (1 + p)).
        costs = np.maximum(multipliers @ matrix, 1e-300)
        before, amounts = amounts, np.where(paid, (wanted / costs) ** (1 / (1 + power)), 0.0)
        if np.allclose(amounts, before, rtol=_SETTLED, atol=0.0):
            break
        multipliers *= np.maximum(matrix @ amounts / limits, 1e-3) ** 0.7
        multipliers = np.maximum(multipliers, 1e-200)
    for _ in range(_FILLING):
        # Each table takes the share that the class with least room leaves it, so that none exceeds its limit.
        left = limits / np.maximum(matrix @ amounts, 1e-300)
        amounts *= np.where(paid, np.where(matrix > 0, left[:, None], np.inf).min(axis=0), 1.0)
    scales = [rounded_up(1 / float(each)) if each else Fraction(0) for each in amounts]
    lost = dict.fromkeys(classes, Fraction(0))
    for scale, changes in zip(scales, weights, strict=True):
        for pairs, change in changes.items():
            lost[pairs] += change / scale
    share = max(lost[pairs] / room[pairs] for pairs in classes)
    return [rounded_up(scale * share) if share > 1 and scale else scale for scale in scales]


def rounded_up(scale: float | Fraction) -> Fraction:
    """Round up to some binary digits, so that scales are short numbers."""
    exact, shift = Fraction(scale), _shift(Fraction(scale))
    return Fraction(-(-(exact.numerator << shift) // exact.denominator), 1 << shift)


def rounded_down(factor: Fraction) -> Fraction:
    """Round down to some binary digits; a very small number becomes 0."""
    shift = _shift(factor)
    return Fraction((factor.numerator << shift) // factor.denominator, 1 << shift)


def _shift(exact: Fraction) -> int:
    return min(max(0, _DIGITS - (exact.numerator.bit_length() - exact.denominator.bit_length())), _MOST_SHIFT)


# What measuring a table, or choosing one, costs each class of secret pairs under a policy.


@dataclass(frozen=True, eq=False)
class Costs:
    """Derives, from the policy, what tables of some attributes cost."""

    policy: Policy
    domain: Domain
    """The attributes of the records."""
    noise: TableNoise
    _weights: dict[Axes, Changes] = field(default_factory=dict[Axes, Changes])
    _changes: dict[Axes, Changes] = field(default_factory=dict[Axes, Changes])

    @cached_property
    def classes(self) -> tuple[PairClass, ...]:
        """The classes of pairs that differ in the attributes."""
        return classes_met(self.policy, self.domain.names)

    @cached_property
    def _one_at_a_time(self) -> bool:
        return one_attribute_at_a_time(self.policy)

    def weights(self, axes: Axes) -> Changes:
        """Say what noise of scale 1 on a table costs; classes that do not change the table are left out."""
        return self._derived(axes, self.noise, self._weights)

    def changes(self, axes: Axes) -> Changes:
        """Say by how much the counts of a table change, added up over its cells."""
        return self._derived(axes, LAPLACE, self._changes)

    def _derived(self, axes: Axes, noise: TableNoise, known: dict[Axes, Changes]) -> Changes:
        """Put the table of several attributes together from those of one, where a pair changes one attribute only.

        Such a pair takes a record from one cell of a table to another just if it does so in the table of the attribute
        that it changes; somebody who comes or goes changes one cell of any table.
        """
        if axes not in known:
            single = axes if len(axes) > 1 and self._one_at_a_time else ()
            every = (self._derived((axis,), noise, known).items() for axis in single)
            together = {pairs: change for changes in every for pairs, change in changes}
            form = HistogramForm(self.domain.project([self.domain.names[axis] for axis in axes]))
            known[axes] = together or noise.weights(form, self.policy)
        return known[axes]

    def of_look(self, axes: Axes, scale: Fraction) -> Changes:
        """Say what noise of a scale on a table costs."""
        return {pairs: weight / scale for pairs, weight in self.weights(axes).items()}

    def of_choice(self, coefficient: Fraction, tables: Collection[Axes]) -> dict[PairClass, Fraction]:
        """Say what a choice among packings of tables costs: no packing has two tables that the same class changes.

        Scores are sums of absolute differences, so that one changes by at most as much as the counts of its table do;
        its weight changes by that factor, and the sum of all weights by that factor the other way.
        """
        reaches = self.largest(tables)
        return {pairs: self.noise.of_choice(2 * coefficient * reach) for pairs, reach in reaches.items()}

    def largest(self, tables: Collection[Axes]) -> dict[PairClass, Fraction]:
        """Return the largest change of any of several tables, for each class that changes one of them."""
        found: dict[PairClass, Fraction] = {}
        for axes in tables:
            for pairs, change in self.changes(axes).items():
                found[pairs] = max(change, found.get(pairs, Fraction(0)))
        return found

    def covered(self, pairs: PairClass, other: Costs, tables: Collection[Axes]) -> PairClass | None:
        """Find a class of another policy on which all tables cost at least as much as they do on a class of this."""
        none = Fraction(0)
        for each in other.classes:
            both = ((of(axes).get(pairs, none), of_other(axes).get(each, none)) for axes in tables for of, of_other in
                    ((self.weights, other.weights), (self.changes, other.changes)))  # fmt: skip
            if all(mine <= theirs for mine, theirs in both):
                return each
        return None


# What synthetic records of a query may look at under a policy: public information alone.

_MOST_KEPT = 2**20
"""The most cells of the attributes that are kept row by row."""
_LARGEST_EXACT = MODEL_CELLS // 4


@dataclass(frozen=True, eq=False)
class Scope:
    """The tables of a query's attributes, and what looking at them costs."""

    query: Synthetic
    policy: Policy
    noise: TableNoise

    @cached_property
    def domain(self) -> Domain:
        """The attributes of the records."""
        return self.query.on(self.policy.domain).domain

    @cached_property
    def costs(self) -> Costs:
        """What looking at tables costs under the policy."""
        return Costs(self.policy, self.domain, self.noise)

    @cached_property
    def single(self) -> list[Axes]:
        """Each attribute by itself."""
        return [(axis,) for axis in range(len(self.domain.names))]

    @cached_property
    def candidates(self) -> list[Axes]:
        """The tables with secrets that may be chosen."""
        return self._secret(triples=True)

    @cached_property
    def pairs(self) -> list[Axes]:
        """The pairs of attributes with secrets, in tables that shall be accurate."""
        return self._secret(triples=False)

    def _secret(self, *, triples: bool) -> list[Axes]:
        tables = tables_within(self.domain.shape, self.query.tables(), triples=triples)
        return [axes for axes in tables if self.costs.weights(axes)]

    @cached_property
    def affected(self) -> list[PairClass]:
        """The classes of secret pairs that change some table."""
        tables = [*self.single, *self.pairs, *self.candidates]
        found = {pairs for axes in tables for pairs in self.costs.weights(axes)}
        return [pairs for pairs in self.costs.classes if pairs in found]

    def cells(self, axes: Axes) -> int:
        """Count the cells of a table."""
        return prod(self.domain.shape[axis] for axis in axes)

    @cached_property
    def exact(self) -> list[Axes]:
        """The tables without secrets, which are taken as they are: what is kept, then public attributes and pairs."""
        public = [axis for (axis,) in self.single if not self.costs.weights((axis,))]
        kept = [self.query.kept()] if self.query.kept() else []
        together = tuple(public)
        if public and not self.costs.weights(together) and self.cells(together) <= _LARGEST_EXACT:
            return [*dict.fromkeys([*kept, together])]
        pairs = [axes for axes in combinations(public, 2) if self.cells(axes) <= _LARGEST_EXACT]
        listed = [*kept, *((axis,) for axis in public), *pairs]
        return [axes for axes in dict.fromkeys(listed) if not self.costs.weights(axes)]

    @cached_property
    def zeros(self) -> list[Zeros]:
        """The impossible combinations."""
        boxes = [(tuple(sorted(box)), box) for box in self.query.boxes(self.policy.domain)]
        return [Zeros(axes, impossible_cells(axes, [box], self.domain.shape)) for axes, box in boxes]

    def check_kept(self, records: int | None) -> None:
        """Refuse columns that cannot be kept row by row."""
        kept = self.query.kept()
        if kept and (records or 0) * len(self.domain.names) > SYNTHETIC_DRAWN:
            raise RefusalError(
                f"{records:,} records of {len(self.domain.names)} attributes are too many to be kept row by row.",
                hint="leave keep out: public tables are met all the same.",
            )
        if kept and self.costs.weights(kept):
            names = ", ".join(self.domain.names[axis] for axis in kept)
            raise RefusalError(
                f"{names} cannot be kept row by row: secret pairs change them.", hint="keep public attributes only."
            )
        if kept and self.cells(kept) > _MOST_KEPT:
            raise RefusalError(
                f"the attributes to be kept have {self.cells(kept):,} combinations; the most is {_MOST_KEPT:,}.",
                hint="keep fewer of them.",
            )
