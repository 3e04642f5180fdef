"""Choosing a mechanism, and the smallest amount for an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log10
from typing import Any

from blowfish_privacy.errors import BlowfishError, QueryError, RefusalError
from blowfish_privacy.mechanisms import Mechanism, TooFewError
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Population
from blowfish_privacy.privacy.measure import RHO, Measure
from blowfish_privacy.privacy.sensitivity import sensitivity
from blowfish_privacy.queries import Asked, Query
from blowfish_privacy.queries.query import split
from blowfish_privacy.release.spending import Spending
from blowfish_privacy.support.exact import readable
from blowfish_privacy.support.progress import task


@dataclass(frozen=True, eq=False)
class Calibration:
    """Finds the mechanism for what may be lost: the most accurate of several, for all groups of records together."""

    query: Query
    population: Population
    kinds: Sequence[type[Mechanism]]
    records: int | None
    named: bool
    """Whether the mechanism was asked for by name, so that it is taken even where others suit better."""
    spending: Spending

    def __call__(self, amount: Fraction) -> Chosen:
        """Choose and calibrate such that the records' release loses what may be lost, in one measure or another."""
        made: dict[Measure, Mechanism] = {}
        refusal: BlowfishError | None = None
        for measure, lost in self.spending.choices(amount).items():
            try:
                made[measure] = self._made(measure, lost)
            except (RefusalError, QueryError) as error:
                # What is said of the noise that was asked for comes first, and that there is none comes last.
                refusal = error if refusal is None or isinstance(refusal, _NoneError) else refusal
        if not made:
            raise refusal or RefusalError("nothing may be lost, so there is no release.")
        best = min(made.values(), key=lambda mechanism: mechanism.compared_error())
        if best.blind:
            raise TooFewError.of(self.records or 0, amount)
        return Chosen(best, {measure: each.expected_error().rmse for measure, each in made.items()})

    def solve(self, error: Fraction) -> Fraction:
        """Find the smallest amount of three digits for a root mean squared error."""
        if self.query.divisor_measured or (self.query.divided and self.population.policy.size == "unknown"):
            weighted = "the sum of the weights, which is not known beforehand."
            number = weighted if self.query.divisor_measured else "the number of records, which is secret here."
            raise RefusalError(
                f"how wrong a mean is depends on {number}",
                hint="state epsilon instead of error.",
            )
        with task("Solving for an error"):
            return smallest_amount(lambda amount: self(amount).mechanism, error)

    def _made(self, measure: Measure, amount: Fraction) -> Mechanism:
        kinds = [kind for kind in self.kinds if kind.counted_in is measure]
        if not kinds and self.named:
            kind, other = self.kinds[0], self.kinds[0].counted_in.name
            raise _NoneError(f"the mechanism {kind.name} loses {other}, not {measure.name}.", hint=_GIVE[other])
        if not kinds:
            noise = "Gaussian" if measure is RHO else "Laplace"
            raise _NoneError(f"there is no mechanism with {noise} noise for this query.", hint="allow the other noise.")
        first = self._chosen(kinds, measure, amount)
        if self.population.box or self.population.groups:
            return self._spending_all(kinds, first, amount)
        return first

    def _spending_all(self, kinds: Sequence[type[Mechanism]], first: Mechanism, wanted: Fraction) -> Mechanism:
        """Give one group as much as lets all groups together lose what they may.

        Losses grow in proportion to what one group is given, but for the choice between mechanisms.
        """
        mechanism, amount = first, wanted
        for _ in range(_MOST_TRIES):
            lost = self.population.certificate(mechanism.certify(self.population.policy)).amount
            if lost in (0, wanted):
                return mechanism
            amount *= wanted / lost
            mechanism = self._chosen(kinds, first.counted_in, amount)
        # A record that moves is one that goes and one that comes.
        return self._chosen(kinds, first.counted_in, wanted / 2)

    def _chosen(self, kinds: Sequence[type[Mechanism]], measure: Measure, amount: Fraction) -> Mechanism:
        policy = self.population.policy
        given: dict[str, Any] = {measure.name: amount, "records": self.records}
        suited = [kind for kind in kinds if self.named or kind.suits(self.query, policy, **given)]
        if not self.named:
            suited = self._preferred(suited)
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
        return min(made, key=lambda mechanism: mechanism.compared_error())

    def _preferred(self, suited: Sequence[type[Mechanism]]) -> list[type[Mechanism]]:
        """Leave out what others stand in for, or the others where an error is asked for, which is to be guaranteed."""
        if self.spending.error is not None:
            return [kind for kind in suited if not kind.stands_in_for]
        replaced = {kind.stands_in_for for kind in suited}
        return [kind for kind in suited if kind.name not in replaced]


@dataclass(frozen=True, eq=False)
class Chosen:
    """The mechanism that was chosen, and the typical errors of the kinds of noise that it was chosen from."""

    mechanism: Mechanism
    errors: Mapping[Measure, float]


_MOST_TRIES = 4
_GIVE = {"rho": "give rho, or delta beside epsilon.", "epsilon": "give epsilon, or allow Laplace noise."}


class _NoneError(QueryError):
    """No mechanism has this noise."""


def smallest_amount(calibrate: Callable[[Fraction], Mechanism], wanted: Fraction) -> Fraction:
    """Find the smallest amount of three digits whose root mean squared error is at most what is wanted."""

    def good(amount: Fraction) -> bool:
        try:
            return calibrate(amount).expected_error().rmse <= wanted
        except (QueryError, TooFewError):  # noise too large to be drawn is too large to be wanted
            return False

    # Errors shrink about as fast as the amount grows, or its root, so the error at 1 says where to look.
    power = _power_of_ten(calibrate, wanted)
    while power > _SMALLEST and good(power / 10):
        power /= 10
    while not good(power):
        power *= 10
        if power > _LARGEST:
            raise RefusalError(
                f"no amount up to a million makes the error as small as {readable(wanted)}.",
                hint="allow a larger error.",
            )
    # Now power / 10 < amount <= power; search among 101, 102, .., 1000 thousandths of power.
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
