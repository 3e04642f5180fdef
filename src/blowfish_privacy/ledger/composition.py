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

from dataclasses import dataclass, replace
from math import inf

from blowfish_privacy.errors import RefusalError
from blowfish_privacy.graphs.covering import steps_covering
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import EVERY, Loss
from blowfish_privacy.privacy.measure import Measure

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
    _check_comparable(base, policy)
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


def _check_comparable(base: Policy, policy: Policy) -> None:
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
