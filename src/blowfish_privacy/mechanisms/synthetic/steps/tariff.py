"""What noise and choices cost, in epsilon or in rho."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from math import isqrt, pi, sqrt

from blowfish_privacy.noise.law import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE, Law
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import PairClass
from blowfish_privacy.privacy.measure import EPSILON, RHO, Measure
from blowfish_privacy.privacy.sensitivity import (
    sensitivity_by_class,
    sensitivity_of,
    squared_by_class,
    squared_sensitivity,
)
from blowfish_privacy.queries.query import LinearForm

_BITS = 40
Changes = Mapping[PairClass, Fraction]
"""How much the counts of a table change along the secret pairs of each class; classes that it does not tell are out."""


class Tariff(ABC):
    """One law of noise, and what is lost by it and by choices, in its measure."""

    measure: Measure
    law: Law
    power: float
    """The standard deviation is proportional to the amount to the power of minus this."""
    choice_share: Fraction
    """The share of a round that pays for the choice."""
    finer: Fraction
    """How many times as much the next round may use where one told too little."""

    @abstractmethod
    def weights(self, form: LinearForm, policy: Policy) -> Changes:
        """Say what noise of scale one on a table costs each class; of scale b it costs ``1 / b`` times as much."""

    @abstractmethod
    def of_choice(self, reach: Fraction) -> Fraction:
        """Say what a choice costs along whose pairs the logarithm of any probability changes by at most ``reach``."""

    @abstractmethod
    def reach_for(self, amount: Fraction) -> Fraction:
        """Return a reach that costs at most an amount."""

    @abstractmethod
    def size(self, scale: Fraction) -> float:
        """Return the mean absolute value of noise of a scale, about."""

    def variance(self, scale: Fraction) -> float:
        """Return the variance of noise of a scale; that of no noise is 0, and of any other more than 0."""
        return max(self.law.variance(scale), 1e-60) if scale else 0.0


class LaplaceTariff(Tariff):
    """Discrete Laplace noise, in epsilon: changes over the scale; a choice costs its reach."""

    measure, law, power = EPSILON, DISCRETE_LAPLACE, 1.0
    choice_share, finer = Fraction(1, 5), Fraction(3, 2)

    def weights(self, form: LinearForm, policy: Policy) -> Changes:
        """Say by how much the counts change in all."""
        return _told(sensitivity_by_class(form, policy, sensitivity_of(form, policy).value))

    def of_choice(self, reach: Fraction) -> Fraction:
        """Charge the reach."""
        return reach

    def reach_for(self, amount: Fraction) -> Fraction:
        """Return the amount."""
        return amount

    def size(self, scale: Fraction) -> float:
        """Return the scale."""
        return float(scale)


class GaussianTariff(Tariff):
    """Discrete Gaussian noise, in rho: squared changes over twice the variance; a choice costs its reach^2 / 8."""

    measure, law, power = RHO, DISCRETE_GAUSSIAN, 0.5
    choice_share, finer = Fraction(1, 10), Fraction(2)

    def weights(self, form: LinearForm, policy: Policy) -> Changes:
        """Halve the squared change of the counts."""
        squares = squared_by_class(form, policy, squared_sensitivity(form, policy).value)
        return _told({pairs: change / 2 for pairs, change in squares.items()})

    def of_choice(self, reach: Fraction) -> Fraction:
        """Charge an eighth of the square, since the range of the losses is bounded (docs/proofs/packings.md)."""
        return reach**2 / 8

    def reach_for(self, amount: Fraction) -> Fraction:
        """Take the root of eight times the amount, rounded down."""
        grown = 8 * amount * 4 ** max(_BITS, amount.denominator.bit_length())
        return Fraction(isqrt(grown.numerator // grown.denominator), 2 ** max(_BITS, amount.denominator.bit_length()))

    def size(self, scale: Fraction) -> float:
        """Return that of the normal distribution."""
        return sqrt(2 / pi * float(scale))


def _told(changes: Changes) -> Changes:
    return {pairs: change for pairs, change in changes.items() if change}


LAPLACE, GAUSSIAN = LaplaceTariff(), GaussianTariff()
