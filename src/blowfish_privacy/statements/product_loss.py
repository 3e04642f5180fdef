"""What all releases of a ledger lost together: on each class of secret pairs, on a whole record, on values far apart.

The amounts are the ledger's balances: each is the most that one pair of a class has lost. Steps along several pairs add
up, so two values that differ in several attributes have lost at most the sum of these (docs/proofs/classes.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from blowfish_privacy.domain import quoted
from blowfish_privacy.policies.distances import furthest_apart
from blowfish_privacy.privacy.loss import ALL, EVERY, PRESENCE, PairClass, classes_met, one_attribute_at_a_time
from blowfish_privacy.privacy.measure import Strength
from blowfish_privacy.release.verification import Product
from blowfish_privacy.statements.card_words import MOST_LISTED
from blowfish_privacy.statements.far_losses import FarApart, FarLosses
from blowfish_privacy.statements.planned_losses import made_by


def pairs_named(pairs: PairClass) -> str:
    """Name a class of secret pairs by what they change."""
    if pairs.kind == "attribute":
        return quoted(pairs.attribute)
    said = {PRESENCE.kind: "whether a person is in the table", EVERY.kind: "every attribute"}
    return said.get(pairs.kind, "any attributes")


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
        """The most that a pair of each class of the ledger's policy has lost.

        What only the policy of some release calls secret, others may have published exactly: nothing is said of it.
        """
        policy, lost = self.product.policy, self.product.lost
        return {pairs: lost.on(pairs) for pairs in classes_met(policy, policy.domain.names)}

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
        return self._far.in_name_only("all releases")

    def far_apart(self) -> Iterator[FarApart]:
        """Go through values that are many steps apart: of each attribute, the first few of many, then of all."""
        return self._far.some(MOST_LISTED)

    @cached_property
    def _far(self) -> FarLosses:
        product = self.product
        return FarLosses(product.policy, product.lost, product.spent, made_by(product.ledger))
