"""How the loss on a secret pair is counted: in epsilon, in rho, or in rho for the sake of an epsilon and a delta.

Losses in epsilon bound the log-ratio of the probabilities of any output; losses in rho bound the Renyi divergence of
every order a by rho a (zero-concentrated, [bun2016]). Amounts of one measure add up from release to release, also where
somebody chooses the next release by what earlier ones said [feldman2021].
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import ceil, exp, isqrt, log, log1p, sqrt
from typing import Any, ClassVar, TypeAlias

from blowfish_privacy.errors import BlowfishError, LedgerError, RefusalError, SpecError, brief, brief_name, nearest
from blowfish_privacy.policies.distances import times
from blowfish_privacy.support.exact import (
    Number,
    enclosed_log,
    exact,
    plain,
    readable,
    rounded_down,
    rounded_up,
    show,
    stated_amount,
)

# What a loss in rho means as (epsilon, delta), and the other way round, with every bound on the safe side.
#
# A loss of rho bounds the Renyi divergence of every order a by rho a. Each order above 1 shows that probabilities grow
# by at most a factor exp(epsilon) plus delta, where
#
#     epsilon = a rho + (log(1 / delta) - log(a)) / (a - 1) + log(1 - 1 / a)        [canonne2020, Proposition 12].
#
# The best order is searched for in floats, which does no harm since every order is valid; what it gives is worked out
# in fractions, with logarithms enclosed from both sides, and rounded towards more loss.

_DIGITS = 6
"""How many digits results have."""
_LEAST, _MOST = -30.0, 60.0
"""Where the logarithm of the best order minus 1 is searched for."""
_THIRDS = 120


@lru_cache(maxsize=256)
def epsilon_of(rho: Fraction, delta: Fraction, pure: tuple[Fraction, ...] = ()) -> Fraction:
    """Return the smallest epsilon, rounded up, such that whatever loses at most rho is (epsilon, delta)-private.

    ``pure`` are what other releases lose in epsilon beside it: their divergence of order a is at most a times half its
    square, and never more than it.
    """
    if not rho and not any(pure):
        return Fraction(0)
    lost, unlikely, others = _float(rho), _log(delta), [_float(epsilon) for epsilon in pure]

    def cost(order: float) -> float:
        linear = sum(min(order * epsilon**2 / 2, epsilon) for epsilon in others)
        return order * lost + linear + _float_offset(order, unlikely)

    def cost_in_rho(order: float) -> float:
        return order * (lost + sum(epsilon**2 for epsilon in others) / 2) + _float_offset(order, unlikely)

    def cost_in_epsilon(order: float) -> float:
        return order * lost + _float_offset(order, unlikely)

    # Each smaller of two amounts turns the cost down again, so that the search may end beside its least value.
    order = min(map(_order, (cost, cost_in_rho, cost_in_epsilon)), key=lambda order: cost(float(order)))
    epsilon = epsilon_at(order, rho + sum(min(lost**2 / 2, lost / order) for lost in pure), delta)
    return epsilon if rho else min(epsilon, round_up(sum(pure, Fraction(0))))


def epsilon_at(order: Fraction, rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon, rounded up, that follows from the divergence of one order alone: at most rho times it."""
    return round_up(max(order * rho + _offset(order, delta), Fraction(0)))


@lru_cache(maxsize=256)
def best_order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the order at which (epsilon, delta) leaves the largest rho; its inverse is a short decimal."""
    allowed, unlikely = _float(epsilon), _log(delta)
    return _order(lambda order: (_float_offset(order, unlikely) - allowed) / order)


@lru_cache(maxsize=256)
def rho_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho, rounded down, such that whatever loses at most rho is (epsilon, delta)-private."""
    order = best_order(epsilon, delta)
    rho = round_down(max((epsilon - _offset(order, delta)) / order, Fraction(0)))
    # The order is valid; that of epsilon_of may differ in its last digit, and its result is rounded too.
    while epsilon_of(rho, delta) > epsilon:
        rho = round_down(rho * (1 - Fraction(1, 10**_DIGITS)))
    return rho


def pure_of(rho: Fraction) -> Fraction:
    """Return the largest epsilon, rounded down, with epsilon^2 / 2 at most rho: it never loses more than rho."""
    if rho <= 0:
        return Fraction(0)
    scale = 10 ** (2 * _DIGITS + max(0, -_magnitude(rho)))
    return round_down(Fraction(isqrt(int(2 * rho * scale**2)), scale))


def round_up(number: Fraction) -> Fraction:
    """Round a number of at least 0 up to a few digits."""
    unit = _unit(number)
    return -(-number // unit) * unit


def round_down(number: Fraction) -> Fraction:
    """Round a number of at least 0 down to a few digits."""
    unit = _unit(number)
    return number // unit * unit


def _offset(order: Fraction, delta: Fraction) -> Fraction:
    """Bound from above by how much epsilon exceeds the divergence of an order."""
    (_, improbable), (small, _), (_, shrunk) = map(enclosed_log, (1 / delta, order, 1 - 1 / order))
    return (improbable - small) / (order - 1) + shrunk


def _float_offset(order: float, log_delta: float) -> float:
    return (-log_delta - log(order)) / (order - 1) + log1p(-1 / order)


def _order(cost: Callable[[float], float]) -> Fraction:
    """Search for the order of least cost: it falls, then rises, so a third of the range can be left out each time."""
    low, high = _LEAST, _MOST
    for _ in range(_THIRDS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if cost(1 + exp(left)) <= cost(1 + exp(right)) else (left, high)
    # Amounts are divided by orders: with an inverse of few digits they stay short decimals.
    return 1 / round_down(1 / (1 + Fraction(exp((low + high) / 2))))


def _unit(number: Fraction) -> Fraction:
    """Return the unit in the last of a number's leading digits."""
    return Fraction(10) ** (_magnitude(number) - _DIGITS + 1)


def _magnitude(number: Fraction) -> int:
    """Return the exponent of the power of ten of a number's first digit."""
    if number == 0:
        return 0
    exponent = len(str(number.numerator)) - len(str(number.denominator))
    return exponent if number >= Fraction(10) ** exponent else exponent - 1


def _log(number: Fraction) -> float:
    return log(number.numerator) - log(number.denominator)


def _float(number: Fraction) -> float:
    """Return a float near a number of any size."""
    return exp(min(max(_log(number), -700.0), 700.0)) if number else 0.0


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
    @lru_cache(maxsize=256)
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
        return sum((amount * steps for amount, steps in chain), Fraction(0))

    def converted(self, amount: Fraction, measure: Measure) -> Fraction:
        if measure is self or not amount:
            return amount
        raise RefusalError(
            "the budget is one of pure epsilon, which promises that nothing fails; Gaussian noise has a small "
            "probability of losing more than any epsilon. Nothing was charged, and no value was read.",
            hint="use Laplace noise, or a ledger with a budget of {rho: ..} or {epsilon: .., delta: ..}.",
        )

    def pure(self, amount: Fraction) -> Fraction:
        return amount


class Rho(Measure):
    """The largest ratio of the Renyi divergence of any order to the order [bun2016, Definition 1.1]."""

    name = "rho"

    def along(self, chain: Iterable[Stretch]) -> Fraction:
        squares: dict[Fraction, int] = {}
        for amount, steps in chain:
            squares[amount] = squares.get(amount, 0) + steps
        terms = [amount * steps**2 for amount, steps in squares.items()]
        mixed = (2 * _root_above(first * second) for first, second in combinations(terms, 2))
        return sum(terms, Fraction(0)) + sum(mixed, Fraction(0))

    def converted(self, amount: Fraction, measure: Measure) -> Fraction:
        if measure is EPSILON:
            return amount**2 / 2
        if measure.unit != self.unit:
            raise RefusalError(f"no rule tells what a loss in {measure.name} means in {self.name}.")
        if measure is not self:
            raise RefusalError("an amount that was counted at one order only bounds no other.")
        return amount

    def pure(self, amount: Fraction) -> Fraction:
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
        return RHO.name

    @property
    def allowed(self) -> Fraction:
        """The largest amount, rounded down, that keeps the promise."""
        return rho_of(self.epsilon, self.delta)

    def epsilon_of(self, amount: Fraction) -> Fraction:
        """Say which epsilon an amount means at the delta of the promise, by the order that it was counted at."""
        return epsilon_at(self.order, amount, self.delta) if amount else Fraction(0)

    def along(self, chain: Iterable[Stretch]) -> Fraction:
        return RHO.along(chain)

    def converted(self, amount: Fraction, measure: Measure) -> Fraction:
        if measure == self or measure is RHO:
            return amount
        return min(RHO.converted(amount, measure), amount / self.order)

    def convex_cost(self, amount: Fraction, measure: Measure, largest: Fraction) -> Fraction:
        linear = measure is EPSILON and largest * self.order > 2
        return amount / self.order if linear else self.converted(amount, measure)

    def pure(self, amount: Fraction) -> Fraction:
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


# Budgets: how much may be lost in all, in which measure, and how that was said.

LARGEST_DELTA = Fraction(1, 100)
"""Deltas above this are refused: with that probability a release may reveal anything."""
DELTAS = tuple(Fraction(1, 10**digits) for digits in (6, 9, 12))
"""The deltas at which it is said what a rho means."""


@dataclass(frozen=True)
class Budget:
    """What a ledger promises: no secret pair loses more than the amount in all releases together."""

    measure: Measure
    amount: Fraction

    @classmethod
    def read(cls, value: object, what: str = "the budget", *, error: type[BlowfishError] = SpecError) -> Budget:
        """Read what a user writes: ``1.0``, ``{"rho": 0.05}``, ``{"epsilon": 1, "delta": "1e-9"}``, or a budget."""
        if isinstance(value, Budget):
            return value
        if not isinstance(value, Mapping):
            return cls(EPSILON, stated_amount(value, what, error=error))
        stated: dict[Any, object] = dict(value)
        _check_keys(stated, what, error)
        if "rho" in stated:
            return cls(RHO, stated_amount(stated["rho"], f"rho of {what}", error=error))
        epsilon = stated_amount(stated["epsilon"], f"epsilon of {what}", error=error)
        return cls.approximate(epsilon, checked_delta(stated["delta"], f"delta of {what}", error=error), error=error)

    @classmethod
    def approximate(cls, epsilon: Fraction, delta: Fraction, *, error: type[BlowfishError] = SpecError) -> Budget:
        """Make the budget of an epsilon and a delta: the rho that keeps this promise."""
        measure = Approximate.of(epsilon, delta)
        if not measure.allowed:
            raise error(f"an epsilon of {brief(epsilon)} at delta {short(delta)} is too small for any release.")
        return cls(measure, measure.allowed)

    @property
    def words(self) -> str:
        """Say it the way it was stated: "1", "rho 0.05", "epsilon 1 at delta 1e-9"."""
        if isinstance(self.measure, Approximate):
            return f"epsilon {readable(self.measure.epsilon)} at delta {short(self.measure.delta)}"
        shown = readable(self.amount)
        return shown if self.measure is EPSILON else f"{self.measure.unit} {shown}"

    @property
    def named(self) -> str:
        """Say it with the name of its measure: "epsilon 1"."""
        return f"{EPSILON.name} {self.words}" if self.measure is EPSILON else self.words

    @property
    def kept(self) -> str:
        """Say it with the amount that it is kept by, where that is not the same."""
        approximate = isinstance(self.measure, Approximate)
        return f"{self.words} ({self.measure.left(self.amount)})" if approximate else self.words

    def left(self, remaining: Fraction) -> str:
        """Say what may still be asked for."""
        if self.measure is EPSILON:
            return "ask for a smaller epsilon."
        pure = rounded_down(self.measure.pure(remaining))
        return f"what is left is enough for {self.measure.left(remaining)}, or for a pure epsilon of {pure}."

    @property
    def written(self) -> Any:
        """Write it as a policy file does."""
        if isinstance(self.measure, Approximate):
            return {"epsilon": plain(self.measure.epsilon), "delta": short(self.measure.delta)}
        return plain(self.amount) if self.measure is EPSILON else {self.measure.name: plain(self.amount)}

    @property
    def view(self) -> Any:
        """Show it as plain values for JSON, exactly; a text alone is one of epsilon."""
        if isinstance(self.measure, Approximate):
            return {"epsilon": str(self.measure.epsilon), "delta": str(self.measure.delta)}
        return str(self.amount) if self.measure is EPSILON else {self.measure.name: str(self.amount)}

    def same(self, other: Budget) -> bool:
        """Say whether another states the same; the order that a promise is kept by may differ between versions."""
        return self.written == other.written


BudgetLike: TypeAlias = Budget | Number | Mapping[str, Number]
"""What a caller may give as a budget."""


def deltas(measure: Measure) -> tuple[Fraction, ...]:
    """Say at which deltas amounts are explained; at none where they are epsilons themselves."""
    if isinstance(measure, Approximate):
        return (measure.delta,)
    return () if measure is EPSILON else DELTAS


def meanings(measure: Measure, amount: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
    """Say which epsilon an amount means at which delta; nothing where it is an epsilon itself."""
    for delta in deltas(measure):
        at_its_order = isinstance(measure, Approximate)
        yield measure.epsilon_of(amount) if at_its_order else epsilon_of(amount, delta), delta


def meanings_view(measure: Measure, amount: Fraction) -> list[dict[str, str]]:
    """Show the same as plain values for JSON."""
    return [{"epsilon": str(epsilon), "delta": str(delta)} for epsilon, delta in meanings(measure, amount)]


def meaning_words(measure: Measure, amount: Fraction) -> Iterator[str]:
    """Say the same in words."""
    for epsilon, delta in meanings(measure, amount):
        yield f"epsilon {rounded_up(epsilon)} at delta {short(delta)}"


def checked_delta(value: object, what: str, *, error: type[BlowfishError]) -> Fraction:
    """Accept a delta that is small enough to promise something."""
    delta = exact(value, what, error=error)
    if not 0 < delta < 1:
        alone = " A budget that nothing may fail is its epsilon alone, as in 1.0." if delta == 0 else ""
        raise error(
            f"{what} must be a probability above 0 and below 1, got {show(delta)}.", hint=f"write it like 1e-9.{alone}"
        )
    if delta > LARGEST_DELTA:
        raise error(
            f"{what} must be at most {show(LARGEST_DELTA)}, got {show(delta)}: any result may be so much "
            "likelier than epsilon allows, so it should be far below one in the number of records.",
            hint="write it like 1e-9.",
        )
    return delta


def short(number: Fraction) -> str:
    """Write a small number with its power of ten where that is exact: 1e-9."""
    digits, _, power = f"{float(number):.6e}".partition("e")
    text = f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    return text if Fraction(text) == number and int(power) < -3 else show(number)


def _check_keys(stated: Mapping[Any, object], what: str, error: type[BlowfishError]) -> None:
    forms = "write 1.0, {rho: 0.05} or {epsilon: 1, delta: 1e-9}."
    known = ("rho", "epsilon", "delta")
    for key in stated:
        if key not in known:
            raise error(f"{what} has an unknown key {brief_name(key)}.", hint=nearest(str(key), known))
    if "rho" in stated and len(stated) > 1:
        raise error(f"{what} states rho beside epsilon or delta: it is one or the other.", hint=forms)
    if "rho" not in stated and set(stated) != {"epsilon", "delta"}:
        missing = "delta" if "epsilon" in stated else "epsilon" if "delta" in stated else "rho, or epsilon and delta"
        raise error(f"{what} lacks {missing}.", hint=forms)


# What a loss means to somebody who guesses: by how much odds change, and how sure one can become.
#
# A loss in epsilon bounds the change of the odds between the values of a secret pair by a factor exp(epsilon), whatever
# is released. A loss in rho bounds it by exp(rho + 2 sqrt(rho log(1 / delta))) but for a probability delta: that is
# Markov's inequality for the Renyi divergence of the best order [bun2016, Lemma 3.5]. Over d steps rho becomes d^2 rho.
# Under a budget of epsilon and delta amounts are counted at one order a, and bound the divergence of that order alone:
# the same inequality gives exp(a rho + log(1 / delta) / (a - 1)), at the delta of the budget.

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

    def exponent(self, steps: float = 1) -> float:
        """Bound the logarithm of the change of odds over some steps."""
        lost = float(self.amount) * (steps if self.measure is EPSILON else steps**2)
        if self.measure is EPSILON:
            return lost
        if isinstance(self.measure, Approximate):
            order = float(self.measure.order)
            return order * lost - log(self.measure.delta) / (order - 1) if lost else 0.0
        return lost + 2 * sqrt(-lost * log(UNLIKELY))

    def factor(self, steps: float = 1) -> str:
        """Write the largest change of odds over some steps, never less than it is."""
        return times(self.exponent(steps))

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
