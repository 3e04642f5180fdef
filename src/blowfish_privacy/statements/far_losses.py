"""What several releases lose together between values some secret steps apart: said alike of plans and of a product."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import inf, isinf
from typing import TypeAlias

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import DomainError, LedgerError, RefusalError
from blowfish_privacy.graphs.graph import Hops
from blowfish_privacy.ledger.pair_loss import PairLoss
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import furthest, furthest_apart, furthest_together
from blowfish_privacy.policies.name_only import name_only, presence_in_name_only
from blowfish_privacy.privacy.classes import PRESENCE
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.strength import Strength
from blowfish_privacy.release.far_apart import lost_on, one_by_one

OnPair: TypeAlias = Callable[[Mapping[str, object], Mapping[str, object]], PairLoss]
"""Says what releases lose between two values; refuses where facts are known, or a policy cannot be read back."""


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
    """What releases of a ledger lose on the values of its policy that are furthest apart."""

    policy: Policy
    """The policy of the ledger: steps are those along its secret pairs."""
    balances: Loss
    """What they lose on each class of these pairs, in the measure of the ledger."""
    spent: Fraction
    """The most that one of them loses."""
    on_pair: OnPair

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

    def _of_attributes(self, least: int) -> Iterator[FarApart]:
        ends = [(first, last) for _, first, last, hops in self.policy.ends if least <= hops < inf]
        for (domain, pair, hops), (first, last) in zip(furthest(self.policy, least=least), ends, strict=True):
            one, other = domain.record(first), domain.record(last)
            yield self._between(pair, hops, one, other) or self._by_steps(pair, hops, domain)

    def _of_all(self) -> Iterator[FarApart]:
        together, records = furthest_together(self.policy), furthest_apart(self.policy)
        if together is not None and records is not None:
            yield self._between(*together, *records[:2]) or self._by_steps(*together, self.policy.domain)

    def _between(
        self, pair: str, hops: Hops, first: Mapping[str, object], second: Mapping[str, object]
    ) -> FarApart | None:
        try:
            amount = self.on_pair(first, second).amount
        except (RefusalError, LedgerError, DomainError):
            # Another policy's secrets may depend on attributes that these two values leave open.
            return None
        lost = None if isinf(amount) else self._strength(Fraction(amount))
        return FarApart(pair, hops, lost, self._strength(self.spent))

    def _by_steps(self, pair: str, hops: Hops, domain: Domain) -> FarApart:
        """Let the balances bound every step: known facts tie records together, or a policy cannot be read back."""
        each = lost_on(self.policy, self.balances, domain)
        bounds = [self.balances.measure.over(each.amount, int(hops))]
        if len(domain.names) == len(self.policy.domain.names) > 1:
            by_attributes = one_by_one(self.policy, self.balances)
            bounds += [] if by_attributes is None else [by_attributes]
        return FarApart(pair, hops, self._strength(min(bounds)), self._strength(self.spent))

    def _strength(self, amount: Fraction) -> Strength:
        return Strength(self.balances.measure, amount)
