"""Choosing a mechanism, and the smallest epsilon for an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log10
from typing import Any

from blowfish_privacy.errors import BlowfishError, QueryError, RefusalError
from blowfish_privacy.mechanisms import Mechanism, TooFewError
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.population import Population
from blowfish_privacy.privacy.sensitivity import sensitivity
from blowfish_privacy.queries import Asked, Query
from blowfish_privacy.queries.asked import split
from blowfish_privacy.support.exact import show
from blowfish_privacy.support.progress import task


@dataclass(frozen=True, eq=False)
class Calibration:
    """Finds the mechanism for an epsilon: the most accurate of several, for all groups of records together."""

    query: Query
    population: Population
    kinds: Sequence[type[Mechanism]]
    records: int | None
    named: bool
    """Whether the mechanism was asked for by name, so that it is taken even where others suit better."""

    def __call__(self, epsilon: Fraction) -> Mechanism:
        """Choose and calibrate such that the records' release loses epsilon."""
        best = self._chosen(epsilon)
        if self.population.box or self.population.groups:
            best = self._spending_all(best, epsilon)
        if best.blind:
            raise TooFewError.of(self.records or 0, epsilon)
        return best

    def solve(self, error: Fraction) -> Fraction:
        """Find the smallest epsilon of three digits for a root mean squared error."""
        if self.query.divided and self.population.policy.size == "unknown":
            raise RefusalError(
                "how wrong a mean is depends on the number of records, which is secret here.",
                hint="state epsilon instead of error.",
            )
        with task("Solving for epsilon"):
            return solve_epsilon(self, error)

    def _spending_all(self, first: Mechanism, epsilon: Fraction) -> Mechanism:
        """Give one group as much as lets all groups together lose epsilon.

        Losses grow in proportion to what one group is given, but for the choice between mechanisms.
        """
        mechanism, amount = first, epsilon
        for _ in range(_MOST_TRIES):
            lost = self.population.certificate(mechanism.certify(self.population.policy)).amount
            if lost in (0, epsilon):
                return mechanism
            amount *= epsilon / lost
            mechanism = self._chosen(amount)
        # A record that moves is one that goes and one that comes.
        return self._chosen(epsilon / 2)

    def _chosen(self, epsilon: Fraction) -> Mechanism:
        policy = self.population.policy
        given: dict[str, Any] = {"epsilon": epsilon, "records": self.records}
        suited = [kind for kind in self.kinds if self.named or kind.suits(self.query, policy, **given)]
        if len(suited) == 1:
            return suited[0].calibrated(self.query, policy, **given)
        made: list[Mechanism] = []
        refusal: BlowfishError = RefusalError("no mechanism answers this query under this policy.")
        for kind in suited:
            try:
                made.append(kind.calibrated(self.query, policy, **given))
            except (RefusalError, QueryError) as error:
                refusal = error
        if not made:
            raise refusal
        return min(made, key=lambda mechanism: mechanism.expected_error().mse)


_MOST_TRIES = 4


def solve_epsilon(calibrate: Callable[[Fraction], Mechanism], wanted: Fraction) -> Fraction:
    """Find the smallest epsilon of three digits whose root mean squared error is at most what is wanted."""

    def good(amount: Fraction) -> bool:
        try:
            return calibrate(amount).expected_error().rmse <= wanted
        except (QueryError, TooFewError):  # noise too large to be drawn is too large to be wanted
            return False

    # Errors shrink about as fast as epsilon grows, so the error at 1 says where to look.
    power = _power_of_ten(calibrate, wanted)
    while power > _SMALLEST and good(power / 10):
        power /= 10
    while not good(power):
        power *= 10
        if power > _LARGEST:
            raise RefusalError(
                f"no epsilon up to a million makes the error as small as {show(wanted)}.", hint="allow a larger error."
            )
    # Now power / 10 < epsilon <= power; search among 101, 102, .., 1000 thousandths of power.
    low, high = 100, 1000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(power * middle / 1000) else (middle, high)
    return power * high / 1000


_SMALLEST, _LARGEST = Fraction(1, 10**9), Fraction(10**6)


def _power_of_ten(calibrate: Callable[[Fraction], Mechanism], wanted: Fraction) -> Fraction:
    try:
        guess = calibrate(Fraction(1)).expected_error().rmse / float(wanted)
    except TooFewError:
        guess = 1.0
    power = Fraction(10) ** ceil(log10(guess)) if guess > 0 else _SMALLEST
    return min(max(power, _SMALLEST), _LARGEST)


def costs(asked: Asked, policy: Policy) -> bool:
    """Say, before anything is known of the data, whether a release is sure to cost the epsilon asked for.

    Where no secret pair shows in the answer it costs nothing; where this cannot be told, a plan refuses with a reason.
    """
    query, selection = split(asked)
    try:
        return not selection and sensitivity(query, policy).value > 0
    except BlowfishError:
        return False
