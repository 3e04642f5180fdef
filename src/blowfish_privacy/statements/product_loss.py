"""What all releases of a ledger lost together: on each class of secret pairs, on a whole record, on values far apart.

The amounts are the ledger's balances: each is the most that one pair of a class has lost. Steps along several pairs add
up, so two values that differ in several attributes have lost at most the sum of these (docs/proofs/classes.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, isinf

from blowfish_privacy.domain import quoted
from blowfish_privacy.errors import LedgerError, RefusalError
from blowfish_privacy.graphs.graph import Hops
from blowfish_privacy.ledger.balance import by_class
from blowfish_privacy.policies.distances import furthest, furthest_apart, furthest_together
from blowfish_privacy.policies.name_only import name_only
from blowfish_privacy.privacy.classes import ALL, EVERY, PRESENCE, PairClass, changing, one_attribute_at_a_time
from blowfish_privacy.privacy.measure import EPSILON
from blowfish_privacy.privacy.strength import Strength
from blowfish_privacy.release.far_apart import left_in_name_only
from blowfish_privacy.release.product import Product
from blowfish_privacy.statements.card_words import MOST_LISTED
from blowfish_privacy.statements.ledger import lost_on_pair


def pairs_named(pairs: PairClass) -> str:
    """Name a class of secret pairs by what they change."""
    if pairs.kind == "attribute":
        return quoted(pairs.attribute)
    said = {PRESENCE.kind: "whether a person is in the table", EVERY.kind: "every attribute"}
    return said.get(pairs.kind, "any attributes")


@dataclass(frozen=True)
class FarApart:
    """Two values that are several secret steps apart, and what was lost between them."""

    pair: str
    hops: Hops
    lost: Strength | None
    """None where nothing protects them from each other."""
    steps: Hops
    """Over how many steps that is to be counted: one where it is the loss between the two already."""
    worst: Strength
    """What the secret pair that lost the most has lost."""

    @property
    def factor(self) -> str | None:
        """The factor that odds may have changed by, never less than it is."""
        return None if self.lost is None else self.lost.factor(self.steps)

    @property
    def words(self) -> str:
        """Say how far apart the two are, and what that means."""
        apart = f"{self.pair} are {self.hops:,} secret steps apart"
        if self.lost is None:
            return f"{apart}, and some release protects them not at all."
        if self.lost.exponent(self.steps) <= self.worst.exponent():
            return f"{apart}, and all the same protected no less than Strength says."
        return f"{apart} and protected less: a factor {self.factor}."


@dataclass(frozen=True, eq=False)
class ProductLoss:
    """What a product lost, for use in sentences and tables."""

    product: Product

    @property
    def most(self) -> Strength:
        """What the secret pair that lost the most has lost."""
        return self.strength(self.product.spent)

    def strength(self, amount: Fraction) -> Strength:
        """Return a loss in the measure of the ledger, for use in sentences."""
        return Strength(self.product.measure, amount)

    @cached_property
    def classes(self) -> dict[PairClass, Fraction]:
        """The most that a pair of each class has lost."""
        return by_class(self.product.lost, self.product.policy)

    @cached_property
    def whole_record(self) -> Fraction | None:
        """Bound the loss on records that differ in all that is secret, by one secret step in each attribute.

        None where a secret pair changes some attributes at once and it takes several to change all, and where known
        facts leave no proof that steps add up.
        """
        policy, measure = self.product.policy, self.product.measure
        if not policy.steps_add_up:
            return None
        if not one_attribute_at_a_time(policy):
            one_step = policy.graph.connected and furthest_apart(policy) is None
            return self.classes.get(ALL) if one_step and policy.graph.has_edges else None
        steps = [(amount, 1) for pairs, amount in self.classes.items() if pairs.kind == "attribute"]
        chains = [steps] if steps else []
        if PRESENCE in self.classes:
            # One record is removed, and another is added.
            chains.append([(self.classes[PRESENCE], 2)])
        return min((measure.along(chain) for chain in chains), default=None)

    def in_name_only(self) -> Iterator[str]:
        """Say which values all releases together protect in name only; no attribute is left out."""
        product, after = self.product, "all releases"
        if product.measure is EPSILON:
            yield from left_in_name_only(product.policy, product.lost, after)
            return
        # In rho much depends on the rows that each release measured.
        for each in self.far_apart(None):
            if each.lost is None:
                yield each.words
            else:
                factor, exponent = each.lost.factor(each.steps), each.lost.exponent(each.steps)
                yield from name_only([(each.pair, each.hops, exponent, factor)], after)

    def far_apart(self, most: int | None = MOST_LISTED) -> Iterator[FarApart]:
        """Go through values that are many steps apart: of each attribute, the first few of many, then of all."""
        policy = self.product.policy
        ends = [(domain, first, last) for domain, first, last, hops in policy.ends if 1 < hops < inf]
        for (domain, pair, hops), (_, first, last) in list(zip(furthest(policy), ends, strict=True))[:most]:
            yield self._between(pair, hops, domain.names, (domain.record(first), domain.record(last)))
        together, records = furthest_together(policy), furthest_apart(policy)
        if together is not None and records is not None:
            yield self._between(*together, policy.domain.names, records[:2])

    def _between(
        self, pair: str, hops: Hops, names: tuple[str, ...], records: tuple[dict[str, object], dict[str, object]]
    ) -> FarApart:
        policy = self.product.policy
        if policy.known:
            alone = len(names) == 1 and policy.size != "unknown" and one_attribute_at_a_time(policy)
            lost = self.classes.get(changing(names[0]), Fraction(0)) if alone else self.product.spent
            return FarApart(pair, hops, self.strength(lost), hops, self.most)
        try:
            amount = lost_on_pair(self.product.ledger, *records).amount
        except (RefusalError, LedgerError):
            # A charge under other facts, or a policy without its text: the balances bound every step all the same.
            return FarApart(pair, hops, self.most, hops, self.most)
        return FarApart(pair, hops, None if isinf(amount) else self.strength(Fraction(amount)), 1, self.most)
