"""What a release would cost a budget, and what it would leave: worked out alike before a charge and for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from blowfish_privacy.ledger.account import Account, OverBudgetError
from blowfish_privacy.ledger.amounts import rounded_charge
from blowfish_privacy.ledger.composition import Price, same_policy
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import EVERY, Loss, PairClass, largest_overlap
from blowfish_privacy.privacy.measure import EPSILON, Budget

MOST_REGIONS = 200
"""Regions of one class that are kept apart; a charge on more is lost on the class wherever its pairs lie."""

_CONVERTED = "a loss in epsilon costs the rho that bounds it"
_MERGED = f"more than {MOST_REGIONS} regions of a class are not kept apart, so new ones are charged wherever pairs lie"


@dataclass(frozen=True)
class Quote:
    """The price of a release, from which its charge follows."""

    price: Price
    charged: Loss
    """What the release costs on the classes of secret pairs of the ledger's policy."""
    before: Loss
    """What was lost before, on the classes it is charged to if not on all."""
    terms: Budget
    spent: Fraction
    """The most that any secret pair had lost before."""
    rule: str
    """Why it costs that."""

    @classmethod
    def of(cls, price: Price, losses: Iterable[Loss], before: Loss, account: Account) -> Quote:
        """Quote the price of one or several releases for a ledger in a given state."""
        asked = tuple(losses)
        costs = [price.charged(loss, account.measure) for loss in asked]
        due = Loss.total((rounded(cost, account.budget) for cost in costs), account.measure)
        charged = _with_few_regions(due, before)
        rule = price.rule if charged == due else f"{price.rule}; {_MERGED}"
        if account.measure is not EPSILON and any(loss.measure is EPSILON for loss in asked):
            rule = f"{rule}; {_CONVERTED}"
        return cls(price, charged, before, account.terms, account.spent, rule)

    @classmethod
    def fresh(cls, losses: Iterable[Loss], budget: Budget, policy: Policy) -> Quote:
        """Quote the price of releases for a ledger that is not made yet: its policy will be theirs."""
        return cls.of(same_policy(policy), losses, Loss.of({}, budget.measure), Account.opening(budget, ""))

    @property
    def budget(self) -> Fraction:
        """The amount of the budget, in its measure."""
        return self.terms.amount

    @cached_property
    def after(self) -> Loss:
        """What will have been lost."""
        return self.before + self.charged

    @cached_property
    def largest(self) -> Fraction:
        """The most that any secret pair will have lost.

        Other classes than those it is charged to lose only what is charged to every class. Where overlaps of regions
        are too many to search, sums of bounds are bounds too.
        """
        touched = max((self.after.on(pairs) for pairs in self._touched), default=Fraction(0))
        return min(max(self.spent + self.charged.on(EVERY), touched), self.spent + self.charged.largest)

    @property
    def cost(self) -> Fraction:
        """What it will take from the budget that is left."""
        return self.largest - self.spent

    @property
    def fits(self) -> bool:
        """Whether no secret pair will have lost more than the budget."""
        return self.largest <= self.budget

    @property
    def short(self) -> PairClass:
        """The class whose pairs will have lost the most."""
        return next((pairs for pairs in self._touched if self.after.on(pairs) >= self.largest), EVERY)

    def check(self, what: str = "the release costs") -> None:
        """Refuse what does not fit, and say which secret pairs are short."""
        if not self.fits:
            requested = self.charged.on(self.short)
            raise OverBudgetError.of(
                self.short, requested, requested - (self.largest - self.budget), budget=self.terms, what=what
            )

    @cached_property
    def _touched(self) -> list[PairClass]:
        return sorted({pairs.whole for pairs, _ in self.charged}, key=lambda pairs: pairs.order)


def rounded(cost: Loss, budget: Fraction) -> Loss:
    """Round what a release costs up, class by class, as it is charged."""
    return Loss.of({pairs: rounded_charge(amount, budget) for pairs, amount in cost}, cost.measure)


def _with_few_regions(charged: Loss, before: Loss) -> Loss:
    """Charge new regions of a class on all of it, once it has too many: no pair loses more than the worst of them."""
    kept, known = dict(charged), {pairs for pairs, _ in before if pairs.within}
    for whole in {pairs.whole for pairs in kept}:
        new = [pairs for pairs in kept if pairs.within and pairs.among(whole) and pairs not in known]
        if new and sum(pairs.among(whole) for pairs in known) + len(new) > MOST_REGIONS:
            worst = largest_overlap([(pairs.within, kept.pop(pairs)) for pairs in new])
            kept[whole] = kept.get(whole, Fraction(0)) + worst
    return Loss.of(kept, charged.measure)
