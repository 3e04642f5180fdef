"""What a release under one policy costs a budget that belongs to another.

A budget bounds the loss between neighbours of the ledger's policy: tables that differ in one person, moved along one
edge of its graph G1 (without known facts). A release that is epsilon-private for a policy with graph G2 loses at most
epsilon * d_G2(x, y) between a person's values x and y: walk the shortest chain, epsilon per step. So it costs epsilon
times the *stretch*, the largest d_G2 over the edges of G1. Where that is infinite, or none of these rules finds it,
the charge is refused. A loss in rho grows with the square of the steps. What a release costs on the ledger's secret
pairs is worked out in its own measure, and then converted to that of the budget.

Options of the policies, when neither has known facts:

- rows per person: if m1 rows of a person move along G1 and the release protects any m2 rows moving together, the m1
  rows are moved in ceil(m1 / m2) groups, each along its chain: the factor is the stretch times that number;
- an unknown number of records adds a value "absent" next to all others: whatever is unconnected is then two steps
  apart, and the steps from and to "absent" are edges of the ledger's graph too if its number of records is secret. A
  release that treats the number of records as public cannot be charged to a ledger that keeps it secret.

With known facts tables with one person changed need not be neighbours at all, so only equal policies add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, inf, lcm
from typing import TypeAlias

from blowfish_privacy.errors import LedgerError, RefusalError
from blowfish_privacy.graphs.graph import steps_covering
from blowfish_privacy.ledger.account import Account, OverBudgetError
from blowfish_privacy.ledger.entry import StoredPolicy
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import EVERY, Loss, PairClass, largest_overlap
from blowfish_privacy.privacy.measure import EPSILON, Budget, Measure

_OWN_LEDGER = (
    "release under the ledger's policy. A second ledger does not make the loss smaller: on every pair of values the "
    "losses of both add up and must be reported together."
)


@dataclass(frozen=True)
class Price:
    """How many times its loss a release costs, and the rule that says so."""

    factor: int
    rule: str
    by_class: bool = True
    """Whether it is charged class by class: each class of its secret pairs is one of the ledger's."""
    rows: int = 1
    """The rows of a person under the ledger's policy."""

    def charged(self, loss: Loss, measure: Measure) -> Loss:
        """Say what a release costs on the secret pairs of the ledger's policy, in the measure of its budget."""
        lost = loss if self.by_class else Loss.alike((EVERY,), loss.largest, loss.measure)
        return lost.over(self.factor).measured_in(measure, self.rows)


SAME_POLICY = Price(1, "same policy: losses add up")


def same_policy(policy: Policy) -> Price:
    """Say what a release under the ledger's own policy costs."""
    return replace(SAME_POLICY, rows=policy.rows_per_person)


def price(base: Policy, policy: Policy) -> Price:
    """Say what a release under ``policy`` costs a budget that belongs to ``base``; refuse where no rule covers it."""
    if base.hash == policy.hash:
        return same_policy(base)
    if base.known or policy.known:
        raise RefusalError(
            "this is not the ledger's policy, and with known facts only releases under equal policies add up.",
            hint=_OWN_LEDGER,
        )
    if base.canonical()["domain"] != policy.canonical()["domain"]:
        raise RefusalError("this policy's domain is not that of the ledger's policy.", hint=_OWN_LEDGER)
    if base.domain != policy.domain:
        raise RefusalError(
            "this policy declares the ledger's domain in a different order.",
            hint="declare attributes and categories in the same order.",
        )
    if base.size == "unknown" and policy.size != "unknown":
        raise RefusalError(
            "the ledger's policy keeps the number of records secret, and this policy makes it public.", hint=_OWN_LEDGER
        )
    if isinstance(base.size, int) and isinstance(policy.size, int) and base.size != policy.size:
        raise RefusalError(f"the ledger's policy states {base.size} records and this one {policy.size}.")
    along = steps = steps_covering(base.graph, policy.graph)
    if policy.size == "unknown":
        steps = 2 if steps is None else min(steps, 2)
    if steps is None:
        raise RefusalError(
            "no rule tells how much this policy's releases reveal about the secret pairs of the ledger's policy.",
            hint=_OWN_LEDGER,
        )
    if steps == inf:
        raise RefusalError(
            "the ledger's policy keeps values secret from each other that this policy does not protect at all.",
            hint=_OWN_LEDGER,
        )
    groups = -(-base.rows_per_person // policy.rows_per_person)
    factor = int(steps) * groups
    # In a product the shortest chain between two values changes nothing but what they differ in.
    products = all(each.graph.homogeneous and each.graph.one_at_a_time for each in (base, policy))
    by_class = products and steps == along
    grouped = f" in {groups} groups of rows" if groups > 1 else ""
    rule = f"another policy: a secret pair of the ledger's is up to {steps} steps apart{grouped}"
    if factor == 1:
        rule = "another policy that protects every secret pair of the ledger's"
    return Price(factor, rule, by_class, base.rows_per_person)


# The policies of a ledger's entries, read back from what is stored, and what they cost.

PolicyLoader: TypeAlias = Callable[[str], Policy]
"""Reads a policy back from the text that was given with a charge."""


class PolicyCache:
    """Policies by their hash, and prices by pairs of hashes: each is read back, or worked out, once."""

    def __init__(self, load_policy: PolicyLoader | None) -> None:
        self.load_policy = load_policy
        self._policies: dict[str, Policy] = {}
        self._prices: dict[tuple[str, str], Price] = {}

    def add(self, policy: Policy) -> None:
        """Keep a policy that a caller has at hand, so that it need not be read back."""
        self._policies[policy.hash] = policy

    def policy(self, stored: StoredPolicy) -> Policy:
        """Return a stored policy, read back if necessary."""
        if stored.hash not in self._policies:
            name = stored.hash[:12]
            if self.load_policy is None or not stored.text:
                raise LedgerError(
                    f"the policy {name} of an earlier charge cannot be read back from the ledger.",
                    hint="open the ledger with load_policy, and charge with policy_text.",
                )
            policy = self.load_policy(stored.text)
            if policy.hash != stored.hash:
                raise LedgerError(
                    f"the text stored for the policy {name} describes a different policy.",
                    hint="run 'blowfish ledger verify'.",
                )
            self.add(policy)
        return self._policies[stored.hash]

    def readable(self, stored: StoredPolicy | None) -> Policy | None:
        """Return a stored policy if it can be read back."""
        at_hand = stored is not None and (stored.hash in self._policies or (self.load_policy and stored.text))
        return self.policy(stored) if stored is not None and at_hand else None

    def price(self, base: StoredPolicy | None, policy: Policy) -> Price:
        """Say what releases under a policy cost, given the policy of the first entry."""
        if base is None or base.hash == policy.hash:
            return same_policy(policy)
        pair = base.hash, policy.hash
        if pair not in self._prices:
            self._prices[pair] = price(self.policy(base), policy)
        return self._prices[pair]


# What a release would cost a budget, and what it would leave: worked out alike before a charge and for it.

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
        requested = tuple(losses)
        costs = [price.charged(loss, account.measure) for loss in requested]
        due = Loss.total((rounded(cost, account.budget) for cost in costs), account.measure)
        charged = _with_few_regions(due, before)
        rule = price.rule if charged == due else f"{price.rule}; {_MERGED}"
        if account.measure is not EPSILON and any(loss.measure is EPSILON for loss in requested):
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
        return sorted({pairs.whole for pairs, _ in self.charged.amounts}, key=lambda pairs: pairs.order)


_FINE = lcm(*range(1, 41)) * 10**24


def rounded_charge(amount: Fraction, budget: Fraction) -> Fraction:
    """Round a charge up to a fixed fine denominator, so that sums stay short however many unlike charges there are.

    Decimals of 24 digits, and the budget divided by up to 40, are charged exactly.
    """
    fine = _FINE * budget.denominator
    return Fraction(ceil(amount * fine), fine)


def rounded(cost: Loss, budget: Fraction) -> Loss:
    """Round what a release costs up, class by class, as it is charged."""
    return Loss.of({pairs: rounded_charge(amount, budget) for pairs, amount in cost.amounts}, cost.measure)


def _with_few_regions(charged: Loss, before: Loss) -> Loss:
    """Charge new regions of a class on all of it, once it has too many: no pair loses more than the worst of them."""
    kept, known = dict(charged), {pairs for pairs, _ in before if pairs.within}
    for whole in {pairs.whole for pairs in kept}:
        new = [pairs for pairs in kept if pairs.within and pairs.among(whole) and pairs not in known]
        if new and sum(pairs.among(whole) for pairs in known) + len(new) > MOST_REGIONS:
            worst = largest_overlap([(pairs.within, kept.pop(pairs)) for pairs in new])
            kept[whole] = kept.get(whole, Fraction(0)) + worst
    return Loss.of(kept, charged.measure)
