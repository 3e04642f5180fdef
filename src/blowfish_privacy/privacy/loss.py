"""What a release reveals about secret pairs: how much, in which measure, about which of them.

A loss is a number for every class of secret pairs. Losses of several releases add up class by class; a budget bounds
the largest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Literal, TypeAlias

from blowfish_privacy.domain import Domain, Subset
from blowfish_privacy.errors import LedgerError
from blowfish_privacy.known_facts.facts import crosses
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.measure import EPSILON, Measure

# Regions: which values of some attributes the secret pairs of a class have, where only these are told apart.
#
# A release that is filtered to some values says nothing about pairs that lie elsewhere, so amounts are lost on regions.
# On one pair the amounts of all regions that contain it add up; what counts is the largest such sum.

Region: TypeAlias = tuple[tuple[str, Subset], ...]
"""The values that some attributes may have, by the name of the attribute and in the order of the names.

A set is given by canonical positions: those of an ordered attribute, and those in the list of the sorted categories, so
that a region is the same however a policy orders its categories. Attributes that are not named may have any value.
"""
EVERYWHERE: Region = ()
_MOST_STEPS = 20_000


def region_of(domain: Domain, box: Mapping[str, Subset]) -> Region:
    """Return the region of the values in a box, which is given by the positions of a domain."""
    region: list[tuple[str, Subset]] = []
    for name in sorted(name for name, subset in box.items() if len(subset) < domain[name].size):
        attribute, subset = domain[name], box[name]
        if not attribute.ordered:
            # Categories are counted in the order in which a policy's canonical form lists them.
            values = [repr(attribute.value(position)) for position in range(attribute.size)]
            ranks = {position: rank for rank, position in enumerate(sorted(range(len(values)), key=values.__getitem__))}
            subset = Subset.of(ranks[position] for position in subset)
        region.append((name, subset))
    return tuple(region)


def meet(first: Region, second: Region) -> Region | None:
    """Return what two regions have in common; None if that is nothing."""
    if not first or not second:
        return first or second
    shared = dict(first)
    for name, subset in second:
        shared[name] = shared[name] & subset if name in shared else subset
        if not shared[name].runs:
            return None
    return tuple(sorted(shared.items(), key=lambda item: item[0]))


def contains(outer: Region, inner: Region) -> bool:
    """Say whether one region contains another."""
    narrow = dict(inner)
    return all(name in narrow and narrow[name] <= subset for name, subset in outer)


def largest_overlap(amounts: Iterable[tuple[Region, Fraction]]) -> Fraction:
    """Return the largest sum of the amounts of regions that have a point in common.

    Where that takes too long to find out, all amounts that might meet are added up, which is never too small.
    """
    amounts = [(region, amount) for region, amount in amounts if amount]
    unit = lcm(*(amount.denominator for _, amount in amounts))
    steps = 0

    def most(weighted: Sequence[tuple[Region, int]], beat: int) -> int:
        """Return the largest sum of weights at a point, or any number up to ``beat`` if no sum is larger."""
        nonlocal steps
        total = sum(weight for _, weight in weighted)
        names = [region[0][0] for region, _ in weighted if region]
        steps += 1 + len(weighted) // 8
        if total <= beat or not names or steps > _MOST_STEPS:
            return total
        best = beat
        for members in _along(min(names), weighted):
            best = max(best, most(members, best))
        return best

    multiples = [(region, amount.numerator * (unit // amount.denominator)) for region, amount in amounts]
    return Fraction(most(multiples, 0), unit)


def _along(name: str, weighted: Sequence[tuple[Region, int]]) -> Iterable[list[tuple[Region, int]]]:
    """For every value of an attribute that regions tell apart, list the regions with it, without this attribute."""
    everywhere = [item for item in weighted if not item[0] or item[0][0][0] != name]
    begin: dict[int, list[int]] = {}
    end: dict[int, list[int]] = {}
    inside = {number: item for number, item in enumerate(weighted) if item[0] and item[0][0][0] == name}
    for number, (region, _) in inside.items():
        for start, stop in region[0][1].runs:
            begin.setdefault(start, []).append(number)
            end.setdefault(stop, []).append(number)
    active: dict[int, tuple[Region, int]] = {}
    for position in sorted({*begin, *end}):
        for number in end.get(position, []):
            del active[number]
        for number in begin.get(position, []):
            active[number] = inside[number][0][1:], inside[number][1]
        # The sum can only have grown where a run begins.
        if position in begin:
            yield [*everywhere, *active.values()]


# Classes of secret pairs that releases treat alike.
#
# Where every secret pair changes one attribute, a release that looks at some attributes says nothing about the pairs
# that change another. So pairs are classed by the attribute they change, and losses are counted for each class
# separately. Where a pair may change several attributes at once, or known facts make records move together, there is
# one class. What a release of some records costs is lost on the pairs in a region alone.

Kind: TypeAlias = Literal["all", "attribute", "every", "presence"]


@dataclass(frozen=True)
class PairClass:
    """Some of the secret pairs of a policy."""

    kind: Kind
    attribute: str = ""
    """The attribute that these pairs change, in a class of kind "attribute"."""
    within: Region = EVERYWHERE
    """Where these pairs lie: both values of a pair that another one changes, or one value, and then all that chains of
    secret pairs connect with it, of an attribute that it changes itself."""

    @property
    def whole(self) -> PairClass:
        """The class without its region."""
        return PairClass(self.kind, self.attribute) if self.within else self

    def among(self, other: PairClass) -> bool:
        """Say whether it is the same class as another, in whichever region."""
        return self.kind == other.kind and self.attribute == other.attribute

    @property
    def words(self) -> str:
        """What the pairs of the class are called in a sentence, wherever they lie."""
        if self.kind == "attribute":
            return f"the secret pairs that change {self.attribute}"
        presence = "the pairs of a person in the table and the same person not in it"
        return presence if self.kind == "presence" else "the secret pairs"

    @property
    def order(self) -> tuple[object, ...]:
        """What classes are sorted by."""
        return self.kind, self.attribute, tuple((name, subset.runs) for name, subset in self.within)


ALL = PairClass("all")
"""The secret pairs of values, where they are not told apart by the attribute they change."""
EVERY = PairClass("every")
"""Whatever classes there are: what is lost here is lost on each of them, beside what it loses itself."""
PRESENCE = PairClass("presence")
"""A person who is in the table, and the same person who is not."""


def changing(attribute: str) -> PairClass:
    """Return the class of the pairs that change an attribute."""
    return PairClass("attribute", attribute)


def classes_met(policy: Policy, names: Collection[str]) -> tuple[PairClass, ...]:
    """List the classes with pairs that a query of some attributes may tell apart."""
    presence = (PRESENCE,) if policy.size == "unknown" else ()
    if not one_attribute_at_a_time(policy):
        return (*((ALL,) if policy.graph.has_edges else ()), *presence)
    moved = {policy.domain.axis(name) for name in names if policy.domain.resolves(name) and policy.graph.changes(name)}
    return (*(changing(name) for axis, name in enumerate(policy.domain) if axis in moved), *presence)


def one_attribute_at_a_time(policy: Policy) -> bool:
    """Say whether secret pairs are told apart by the attribute they change (docs/proofs/classes.md)."""
    return policy.graph.one_at_a_time and not crosses(policy)


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

    @cached_property
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
        """Convert the loss of a person with some number of rows to another measure, class by class.

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
    if presence is None or policy.size != "unknown":
        return seen
    return Loss.of({**dict(seen), PRESENCE: presence}, measure)
