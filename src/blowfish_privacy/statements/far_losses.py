"""What several releases lose together between values some secret steps apart: said alike of plans and of a product."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, islice
from math import inf, isinf
from operator import ge
from typing import TypeAlias

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import DomainError
from blowfish_privacy.graphs.graph import Hops
from blowfish_privacy.ledger.pair_loss import OwnLoss, PairLoss, Record, any_pair_loss, pair_loss
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import (
    furthest,
    furthest_apart,
    furthest_together,
    name_only,
    pair_words,
    presence_in_name_only,
)
from blowfish_privacy.privacy.loss import PRESENCE, Loss
from blowfish_privacy.privacy.measure import Strength
from blowfish_privacy.release.losses import lost_on, one_by_one

_FEW = 200
"""Every pair of values is looked at where there are so few of them, counted once for each release."""

Pair: TypeAlias = tuple[Record, Record]


@dataclass(frozen=True)
class FarApart:
    """Two values that are some secret steps apart, and what is lost between them."""

    pair: str
    hops: Hops
    lost: Strength | None
    """None where nothing protects them from each other."""
    worst: Strength
    """What the secret pair that lost the most has lost."""

    @property
    def factor(self) -> str | None:
        """The factor that odds may have changed by, never less than it is."""
        return None if self.lost is None else self.lost.factor()

    @property
    def words(self) -> str:
        """Say how far apart the two are, and what that means."""
        apart = f"{self.pair} are {self.hops:,} secret steps apart"
        if self.lost is None:
            return f"{apart}, and some release protects them not at all."
        if self.lost.exponent() <= self.worst.exponent():
            return f"{apart}, and all the same protected no less than Strength says."
        return f"{apart} and protected less: a factor {self.factor}."

    def name_only(self, after: str) -> Iterator[str]:
        """Say so if the two are protected in name only, or not at all."""
        if self.lost is None:
            yield self.words
        else:
            yield from name_only([(self.pair, self.hops, self.lost.exponent(), self.lost.factor())], after)


@dataclass(frozen=True, eq=False)
class FarLosses:
    """What releases of a ledger lose at most between values of its policy."""

    policy: Policy
    """The policy of the ledger: steps are those along its secret pairs."""
    balances: Loss
    """What they lose on each class of these pairs, in the measure of the ledger."""
    spent: Fraction
    """The most that one of them loses."""
    made: tuple[OwnLoss, ...] | None
    """What each release loses by itself; None where known facts tie records together, or a policy is not readable."""

    def some(self, most: int) -> Iterator[FarApart]:
        """Go through values that are many steps apart: of each attribute, the first few of many, then of all."""
        yield from islice(self._of_attributes(least=2), most)
        yield from self._of_all()

    def in_name_only(self, after: str) -> Iterator[str]:
        """Say which values are protected in name only, secret pairs too where one step loses as much."""
        presence = self._strength(self.balances.on(PRESENCE))
        yield from presence_in_name_only(self.policy, presence.exponent(), presence.factor(), after)
        for each in (*self._of_attributes(least=1), *self._of_all()):
            yield from each.name_only(after)

    def between_any(self, names: Collection[str], most: int = _FEW) -> tuple[PairLoss, ...]:
        """Bound what is lost between any two values that differ in some attributes; exactly where they are few."""
        made, measure = self.made or (), self.balances.measure
        bound = any_pair_loss(made, self.policy, measure, names)
        each = {tuple(amount for _, amount in lost.losses): lost for _, lost in self._on_each(names, most)}
        if max((lost.amount for lost in each.values()), default=inf) > bound.amount:
            return (bound,)
        # What costs most in rho need not mean the largest epsilon, so all are kept that no other is as bad as.
        return tuple(lost for amounts, lost in each.items() if not any(_as_bad(other, amounts) for other in each))

    def _on_each(self, names: Collection[str], most: int) -> Iterator[tuple[Pair, PairLoss]]:
        """Go through all values that chains of secret pairs connect, unless there are too many."""
        made, domain = self.made or (), self.policy.domain.project(tuple(names))
        if domain.size * (domain.size - 1) // 2 * max(len(made), 1) > most:
            return
        records = [domain.record(cell) for cell in domain.cells()]
        for pair in combinations(records, 2):
            if self.policy.distance(*pair) < inf:
                yield pair, pair_loss(made, pair, self.balances.measure)

    def _of_attributes(self, least: int) -> Iterator[FarApart]:
        ends = [(first, last) for _, first, last, hops in self.policy.ends if least <= hops < inf]
        for (domain, pair, hops), (first, last) in zip(furthest(self.policy, least=least), ends, strict=True):
            yield self._worst(pair, hops, domain, (domain.record(first), domain.record(last)))

    def _of_all(self) -> Iterator[FarApart]:
        together, records = furthest_together(self.policy), furthest_apart(self.policy)
        if together is not None and records is not None:
            yield self._worst(*together, self.policy.domain.project(tuple(records[0])), records[:2])

    def _worst(self, pair: str, hops: Hops, domain: Domain, ends: Pair) -> FarApart:
        """Bound what any two values of some attributes lose; name the ends, or those that lose more if they show."""
        most = self._by_steps(domain, hops)
        if self.made is None:
            return self._apart(pair, hops, most)
        most = min(most, any_pair_loss(self.made, self.policy, self.balances.measure, domain.names).amount)
        try:
            each = [(one, lost.amount) for one, lost in self._on_each(domain.names, _FEW)]
            shown = [ends, *self._shown(domain.names)]
            at_ends, *others = [(one, pair_loss(self.made, one, self.balances.measure).amount) for one in shown]
        except DomainError:
            # Another policy's secrets may depend on attributes that these two values leave open.
            return self._apart(pair, hops, most)
        most = min(most, max(amount for _, amount in each)) if each else most
        worst, amount = max((at_ends, *others, *each), key=lambda found: found[1])
        if amount > at_ends[1]:
            one, other = (domain.cell(record) for record in worst)
            return self._apart(pair_words(domain, one, other), self.policy.distance(*worst), most)
        return self._apart(pair, hops, most)

    def _shown(self, names: Collection[str]) -> Iterator[Pair]:
        """Go through the values that single releases hide least, as their rows show."""
        for each in self.made or ():
            shown = each.by_rows.any_change(names) if each.by_rows else None
            pair = None if shown is None else shown.pair
            if pair is not None and {*names} <= {*pair[0]}:
                one, other = ({name: record[name] for name in names} for record in pair)
                if self.policy.distance(one, other) < inf:
                    yield one, other

    def _by_steps(self, domain: Domain, hops: Hops) -> Fraction:
        """Let the balances bound every step."""
        each = lost_on(self.policy, self.balances, domain)
        bounds = [self.balances.measure.over(each.amount, int(hops))]
        if len(domain.names) > 1:
            by_attributes = one_by_one(self.policy, self.balances)
            bounds += [] if by_attributes is None else [by_attributes]
        return min(bounds)

    def _apart(self, pair: str, hops: Hops, amount: Fraction | float) -> FarApart:
        lost = None if isinf(amount) else self._strength(Fraction(amount))
        return FarApart(pair, hops, lost, self._strength(self.spent))

    def _strength(self, amount: Fraction) -> Strength:
        return Strength(self.balances.measure, amount)


def _as_bad(other: tuple[Fraction | float, ...], amounts: tuple[Fraction | float, ...]) -> bool:
    return other != amounts and len(other) == len(amounts) and all(map(ge, other, amounts))
