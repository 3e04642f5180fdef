"""What a loss means to somebody who guesses: by how much odds change, and how sure one can become.

A loss in epsilon bounds the change of the odds between the values of a secret pair by a factor exp(epsilon), whatever
is released. A loss in rho bounds it by exp(rho + 2 sqrt(rho log(1 / delta))) but for a probability delta: that is
Markov's inequality for the Renyi divergence of the best order [bun2016, Lemma 3.5]. Over d steps rho becomes d^2 rho.
Under a budget of epsilon and delta amounts are counted at one order a, and bound the divergence of that order alone:
the same inequality gives exp(a rho + log(1 / delta) / (a - 1)), at the delta of the budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, log, sqrt

from blowfish_privacy.policies.name_only import times
from blowfish_privacy.privacy.budget import short
from blowfish_privacy.privacy.measure import EPSILON, Approximate, Measure
from blowfish_privacy.support.exact import rounded_up

LARGE = 3
"""Above this exponent odds may change by more than 20 times."""
NO_PROTECTION = 10
"""Above this exponent odds may change by more than 20,000 times."""
UNLIKELY = Fraction(1, 10**9)
"""The probability that a promise in rho is put into words with."""


@dataclass(frozen=True)
class Strength:
    """A loss on secret pairs, for use in sentences."""

    measure: Measure
    amount: Fraction

    @property
    def words(self) -> str:
        """The amount with its name."""
        return f"{self.measure.unit} {rounded_up(self.amount)}"

    def exponent(self, steps: float = 1, most: Fraction | None = None) -> float:
        """Bound the logarithm of the change of odds over some steps, where no more than ``most`` is lost on them."""
        lost = float(self.amount) * (steps if self.measure is EPSILON else steps**2)
        lost = lost if most is None else min(lost, float(most))
        if self.measure is EPSILON:
            return lost
        if isinstance(self.measure, Approximate):
            order = float(self.measure.order)
            return order * lost - log(self.measure.delta) / (order - 1) if lost else 0.0
        return lost + 2 * sqrt(-lost * log(UNLIKELY))

    def factor(self, steps: float = 1, most: Fraction | None = None) -> str:
        """Write the largest change of odds over some steps, never less than it is."""
        return times(self.exponent(steps, most))

    @property
    def certainty(self) -> str:
        """Write how sure, in hundredths, somebody undecided between two values can become, never less than it is."""
        return str(ceil(100 / (1 + exp(-self.exponent()))))

    @property
    def but(self) -> str:
        """Say with which probability a promise about odds may fail; nothing if it never does."""
        if self.measure is EPSILON:
            return ""
        unlikely = short(self.measure.delta) if isinstance(self.measure, Approximate) else "one in a billion"
        return f", but for a probability of {unlikely}"

    @property
    def grade(self) -> str:
        """Say in a few words what a large loss means; nothing for others."""
        exponent = self.exponent()
        # In rho an exponent is exceeded once in a billion times, so that twice as much means as little.
        large, none = (LARGE, NO_PROTECTION) if self.measure is EPSILON else (2 * LARGE, 2 * NO_PROTECTION)
        return "" if exponent <= large else "weakly" if exponent <= none else "in effect not at all"
