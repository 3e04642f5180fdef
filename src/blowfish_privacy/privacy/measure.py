"""How the loss on a secret pair is counted: in epsilon, in rho, or in rho for the sake of an epsilon and a delta.

Losses in epsilon bound the log-ratio of the probabilities of any output; losses in rho bound the Renyi divergence of
every order a by rho a (zero-concentrated, [bun2016]). Amounts of one measure add up from release to release, also where
somebody chooses the next release by what earlier ones said [feldman2021].
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import isqrt
from typing import Any, ClassVar, TypeAlias

from blowfish_privacy.errors import LedgerError, RefusalError
from blowfish_privacy.privacy.conversion import best_order, epsilon_at, pure_of, rho_of, round_down, round_up
from blowfish_privacy.support.exact import rounded_down, rounded_up

Stretch: TypeAlias = tuple[Fraction, int]
"""Some steps of a chain of secret pairs, each of which loses the amount."""


class Measure(ABC):
    """How the loss on a secret pair is counted."""

    name: str
    """What identifies the measure, in a ledger too."""
    kinds: ClassVar[dict[str, Measure]] = {}
    """Every measure of one kind only, by its name."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Make a measure known by its name."""
        super().__init_subclass__(**options)
        name = vars(cls).get("name")
        if not isinstance(name, str):
            return
        if name in Measure.kinds:
            raise LedgerError(f"there is a measure {name!r} already: budgets would change their meaning.")
        Measure.kinds[name] = cls()

    @staticmethod
    def named(name: str) -> Measure:
        """Find a measure by its name."""
        measure = Measure.kinds.get(name) or Approximate.read(name)
        if measure is None:
            raise LedgerError("a loss or a budget has an unknown measure.", hint="use a newer version.")
        return measure

    def __repr__(self) -> str:
        return f"<measure {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy is the same measure: there is one of each kind."""
        return Measure.named, (self.name,)

    @property
    def unit(self) -> str:
        """What an amount is called in a sentence."""
        return self.name

    @abstractmethod
    def along(self, chain: Iterable[Stretch]) -> Fraction:
        """Bound the loss between the two ends of a chain of secret pairs."""

    def over(self, amount: Fraction, steps: int) -> Fraction:
        """Bound the loss between two values several secret pairs apart, where each pair loses the amount."""
        return self.along([(amount, steps)])

    @abstractmethod
    def converted(self, amount: Fraction, measure: Measure) -> Fraction:
        """Say what a loss in another measure costs in this one; refuse where no amount bounds it."""

    def convex_cost(self, amount: Fraction, measure: Measure, largest: Fraction) -> Fraction:
        """Bound the cost of an amount by a convex function, which is that of :meth:`converted` for the largest amount.

        What a person's rows lose together is a mean of the losses on the classes that they move along: a convex cost
        of the mean is at most the mean of the costs (docs/proofs/classes.md).
        """
        del largest
        return self.converted(amount, measure)

    @abstractmethod
    def pure(self, amount: Fraction) -> Fraction:
        """Return the largest loss in epsilon, rounded down, that costs no more than an amount."""

    def number(self, amount: Fraction) -> str:
        """Write an amount that is lost, alone: never less than it is."""
        return rounded_up(amount)

    def words(self, amount: Fraction) -> str:
        """Write an amount with the name of its measure."""
        return f"{self.unit} {self.number(amount)}"

    def brief(self, amount: Fraction) -> str:
        """Write an amount; epsilon is what a number alone means."""
        return self.number(amount) if self is EPSILON else self.words(amount)

    def left(self, amount: Fraction) -> str:
        """Write what is left like :meth:`brief`, but never more than it is."""
        return rounded_down(amount) if self is EPSILON else f"{self.unit} {rounded_down(amount)}"


class Epsilon(Measure):
    """The largest log-ratio of the probabilities of any output [he2014, Definition 4.2]."""

    name = "epsilon"

    def along(self, chain: Iterable[Stretch]) -> Fraction:
        """Log-ratios add up along a chain."""
        return sum((amount * steps for amount, steps in chain), Fraction(0))

    def converted(self, amount: Fraction, measure: Measure) -> Fraction:
        """Refuse all others, unless nothing is lost: they leave a small probability of any log-ratio."""
        if measure is self or not amount:
            return amount
        raise RefusalError(
            "the budget is one of pure epsilon, which promises that nothing fails; Gaussian noise has a small "
            "probability of losing more than any epsilon. Nothing was charged, and no value was read.",
            hint="use Laplace noise, or a ledger with a budget of {rho: ..} or {epsilon: .., delta: ..}.",
        )

    def pure(self, amount: Fraction) -> Fraction:
        """Return the amount, which is one."""
        return amount


class Rho(Measure):
    """The largest ratio of the Renyi divergence of any order to the order [bun2016, Definition 1.1]."""

    name = "rho"

    def along(self, chain: Iterable[Stretch]) -> Fraction:
        """Let the square roots add up, as they do by the triangle inequality of [bun2016, Proposition 11]."""
        squares: dict[Fraction, int] = {}
        for amount, steps in chain:
            squares[amount] = squares.get(amount, 0) + steps
        whole = [amount * steps**2 for amount, steps in squares.items()]
        mixed = (2 * _root_above(first * second) for first, second in combinations(whole, 2))
        return sum(whole, Fraction(0)) + sum(mixed, Fraction(0))

    def converted(self, amount: Fraction, measure: Measure) -> Fraction:
        """Half its square is what a loss of epsilon costs at most [bun2016, Proposition 1.4]."""
        if measure is EPSILON:
            return amount**2 / 2
        if measure.unit != self.unit:
            raise RefusalError(f"no rule tells what a loss in {measure.name} means in {self.name}.")
        if measure is not self:
            raise RefusalError("an amount that was counted at one order only bounds no other.")
        return amount

    def pure(self, amount: Fraction) -> Fraction:
        """Return the epsilon whose square is twice the amount."""
        return pure_of(amount)


@dataclass(frozen=True, repr=False)
class Approximate(Measure):
    """The Renyi divergence of one order, divided by the order: what a promise of (epsilon, delta) is kept by.

    The order is fixed when the promise is made, so sums bound the divergence of whatever is chosen in between. A
    release that loses epsilon costs epsilon / order where that is less than half its square.
    """

    epsilon: Fraction
    delta: Fraction
    order: Fraction

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction) -> Approximate:
        """Choose the best order for a promise."""
        return cls(epsilon, delta, best_order(epsilon, delta))

    @classmethod
    def read(cls, name: str) -> Approximate | None:
        """Read a measure back from its name."""
        stated = _APPROXIMATE.fullmatch(name)
        measure = None if stated is None else cls(*map(Fraction, stated.groups()))
        right = measure is not None and measure.name == name and measure.order > 1 and 0 < measure.delta < 1
        return measure if right else None

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # one for each promise
        """The promise and the order, exactly: amounts of different orders must never be added."""
        return f"rho for epsilon {self.epsilon} at delta {self.delta}, order {self.order}"

    @property
    def unit(self) -> str:
        """Gaussian noise costs its rho."""
        return RHO.name

    @property
    def allowed(self) -> Fraction:
        """The largest amount, rounded down, that keeps the promise."""
        return rho_of(self.epsilon, self.delta)

    def epsilon_of(self, amount: Fraction) -> Fraction:
        """Say which epsilon an amount means at the delta of the promise, by the order that it was counted at."""
        return epsilon_at(self.order, amount, self.delta) if amount else Fraction(0)

    def along(self, chain: Iterable[Stretch]) -> Fraction:
        """Bound it as if all of it were rho: what costs epsilon / order grows with the steps, not with their square."""
        return RHO.along(chain)

    def converted(self, amount: Fraction, measure: Measure) -> Fraction:
        """Take the smaller bound of the divergence of this order: by the square of epsilon, or epsilon itself."""
        if measure == self or measure is RHO:
            return amount
        return min(RHO.converted(amount, measure), amount / self.order)

    def convex_cost(self, amount: Fraction, measure: Measure, largest: Fraction) -> Fraction:
        """Take one bound for all amounts, the smaller one for the largest: the minimum of both is not convex."""
        linear = measure is EPSILON and largest * self.order > 2
        return amount / self.order if linear else self.converted(amount, measure)

    def pure(self, amount: Fraction) -> Fraction:
        """Return the larger of the epsilons of both bounds."""
        return max(pure_of(amount), round_down(amount * self.order))


EPSILON = Measure.kinds[Epsilon.name]
RHO = Measure.kinds[Rho.name]
_NUMBER = r"([1-9][0-9]{0,1000}(?:/[1-9][0-9]{0,1000})?)"
_APPROXIMATE = re.compile(rf"rho for epsilon {_NUMBER} at delta {_NUMBER}, order {_NUMBER}", re.ASCII)


def _root_above(number: Fraction) -> Fraction:
    """Return the square root of a number: exactly if it is a fraction, else rounded up."""
    top, bottom = isqrt(number.numerator), isqrt(number.denominator)
    if top**2 == number.numerator and bottom**2 == number.denominator:
        return Fraction(top, bottom)
    scale = 10**20 * (bottom // (top + 1) + 1)
    return round_up(Fraction(isqrt(int(number * scale**2)) + 1, scale))
