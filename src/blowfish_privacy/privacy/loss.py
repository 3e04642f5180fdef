"""What a release tells about secret pairs: how much, measured how, about which of them.

A loss is a number for every class of secret pairs (:mod:`blowfish_privacy.privacy.classes`). Losses of several releases
add up class by class; a budget bounds the largest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.classes import EVERY, PRESENCE, PairClass, classes_met
from blowfish_privacy.privacy.measure import EPSILON, Measure
from blowfish_privacy.privacy.regions import contains, largest_overlap, meet


@dataclass(frozen=True)
class Loss:
    """How much is lost on each class of secret pairs; on those not listed, nothing."""

    measure: Measure
    amounts: tuple[tuple[PairClass, Fraction], ...]

    @classmethod
    def of(cls, amounts: Mapping[PairClass, Fraction], measure: Measure = EPSILON) -> Loss:
        """Keep the amounts that are not zero, in the order of their classes."""
        classes = sorted(amounts, key=lambda pairs: pairs.order)
        return cls(measure, tuple((pairs, amounts[pairs]) for pairs in classes if amounts[pairs]))

    @classmethod
    def alike(cls, classes: Iterable[PairClass], amount: Fraction, measure: Measure = EPSILON) -> Loss:
        """Lose the same amount on several classes; on every class, if none is named."""
        return cls.of(dict.fromkeys(tuple(classes) or (EVERY,), amount), measure)

    @classmethod
    def total(cls, losses: Iterable[Loss], measure: Measure = EPSILON) -> Loss:
        """Add up class by class: what several releases lose together."""
        sums: dict[PairClass, Fraction] = {}
        for loss in losses:
            if loss.measure != measure:
                raise LedgerError(f"losses in {measure.name} and in {loss.measure.name} do not add up.")
            for pairs, amount in loss:
                sums[pairs] = sums.get(pairs, Fraction(0)) + amount
        return cls.of(sums, measure)

    @property
    def largest(self) -> Fraction:
        """The largest loss on any secret pair."""
        return max((self.on(pairs) for pairs in {pairs.whole for pairs, _ in self}), default=Fraction(0))

    def on(self, pairs: PairClass) -> Fraction:
        """Return the most that is lost on a pair of a class."""
        everywhere = sum((amount for other, amount in self if other.kind == EVERY.kind), Fraction(0))
        if pairs == EVERY:
            return everywhere
        regions = ((meet(other.within, pairs.within), amount) for other, amount in self if other.among(pairs))
        return everywhere + largest_overlap((region, amount) for region, amount in regions if region is not None)

    def covers(self, other: Loss) -> bool:
        """Say whether no pair loses more there than here, as far as whole regions show it."""
        mine, theirs = self._beyond(other), other._beyond(self)
        return all(mine._at_least(pairs) >= theirs.on(pairs) for pairs, _ in theirs)

    def _beyond(self, other: Loss) -> Loss:
        """Leave out what another loss has on the very same classes."""
        theirs = dict(other.amounts)
        return Loss.of({pairs: max(amount - theirs.get(pairs, 0), Fraction(0)) for pairs, amount in self}, self.measure)

    def _at_least(self, pairs: PairClass) -> Fraction:
        """Return what every pair of a class loses, in all regions that contain that of the class."""
        amounts = (
            amount
            for mine, amount in self
            if mine == EVERY or (mine.among(pairs) and contains(mine.within, pairs.within))
        )
        return sum(amounts, Fraction(0))

    def __iter__(self) -> Iterator[tuple[PairClass, Fraction]]:
        return iter(self.amounts)

    def __add__(self, other: Loss) -> Loss:
        """Add up class by class: what two releases lose together."""
        return Loss.total((self, other), self.measure)

    def over(self, steps: int) -> Loss:
        """Bound the loss along chains of so many secret pairs of the same class."""
        return Loss.of({pairs: self.measure.over(amount, steps) for pairs, amount in self}, self.measure)

    def measured_in(self, measure: Measure, rows: int = 1) -> Loss:
        """Say what is lost in another measure, class by class, by a person with so many rows.

        A pair may lie in several classes: each takes its share of what all of them cost together, which is never less
        than the sum of what they would cost alone. Several rows may move along pairs of several classes.
        """
        if measure == self.measure:
            return self
        costs, largest = dict[PairClass, Fraction](), self.largest
        for pairs, amount in self:
            together = largest if pairs == EVERY else self.on(pairs)
            if rows == 1:
                cost = measure.converted(together, self.measure)
            else:
                cost = measure.convex_cost(together, self.measure, largest)
            costs[pairs] = cost * amount / together
        return Loss.of(costs, measure)


NOTHING = Loss(EPSILON, ())


def loss_seen(
    policy: Policy,
    names: Collection[str],
    amount: Fraction,
    presence: Fraction | None = None,
    measure: Measure = EPSILON,
) -> Loss:
    """Bound the loss of a release that looks at some attributes: one amount on every pair it may tell apart.

    Where records come and go, ``presence`` is what is lost on that.
    """
    seen = Loss.alike(classes_met(policy, names), amount, measure)
    return (
        seen if presence is None or policy.size != "unknown" else Loss.of({**dict(seen), PRESENCE: presence}, measure)
    )
