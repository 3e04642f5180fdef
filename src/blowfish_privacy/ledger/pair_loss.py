"""What was lost on one pair of values, which may be many steps of secret pairs apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import inf
from typing import TypeAlias

from blowfish_privacy.domain import Cell, Subset
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.ledger.entry import Entry, StoredPolicy
from blowfish_privacy.ledger.policy_cache import PolicyCache
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import cells
from blowfish_privacy.privacy.classes import PRESENCE, PairClass, one_attribute_at_a_time
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import EPSILON
from blowfish_privacy.privacy.regions import Region, region_of

PairLoss: TypeAlias = Fraction | float
"""What is lost on one pair of values; ``math.inf`` where nothing is protected."""
Record: TypeAlias = Mapping[str, object]


def pair_loss(
    policies: PolicyCache, base: StoredPolicy | None, entries: Iterable[Entry], x: Record, y: Record
) -> PairLoss:
    """Add up over the policies of the entries what their releases lost between two values."""
    losses = [(policy, _lost_between(policy, loss, x, y)) for policy, loss in _by_policy(policies, base, entries)]
    # A person of more rows than a policy protects together is protected in several groups.
    rows = max((policy.rows_per_person for policy, _ in losses), default=1)
    return sum((-(-rows // policy.rows_per_person) * loss for policy, loss in losses), Fraction(0))


def _by_policy(
    policies: PolicyCache, base: StoredPolicy | None, entries: Iterable[Entry]
) -> Iterator[tuple[Policy, Loss]]:
    """For each policy, return what its releases lost on its own secret pairs."""
    found: dict[str, StoredPolicy] = {}
    losses: dict[str, list[Loss]] = {}
    for entry in entries:
        name, stored = entry.policy.hash, entry.policy
        found[name] = found[name] if name in found and found[name].text else stored
        losses.setdefault(name, []).append(entry.loss)
    for name, stored in found.items():
        policy = policies.policy(stored)
        if policy.known:
            raise RefusalError(
                "the loss of a single pair is not defined with known facts: other records move along.",
                hint="the budget spent bounds the loss between any two neighbouring tables.",
            )
        # It was charged so many times what it lost, for secret pairs of the ledger's policy that are longer.
        factor, lost = policies.price(base, policy).factor, Loss.total(losses[name])
        yield policy, Loss.of({pairs: amount / factor for pairs, amount in lost})


def _lost_between(policy: Policy, lost: Loss, x: Record, y: Record) -> PairLoss:
    """Bound the loss between two values: along a chain of secret pairs, or of one who leaves and one who comes."""
    first, second = cells(policy, x, y)
    # A release that costs nothing still shows exactly what its policy does not protect.
    bounds: list[PairLoss] = [inf]
    if policy.graph.hops(first, second) < inf:
        bounds += [_along(policy, lost, start, end, x) for start, end in ((first, second), (second, first))]
    if policy.size == "unknown":
        ends = (PairClass(PRESENCE.kind, within=_at(policy, cell, x)) for cell in (first, second))
        bounds.append(sum(map(lost.on, ends), Fraction(0)) if first != second else Fraction(0))
    return min(bounds)


def _along(policy: Policy, lost: Loss, start: Cell, end: Cell, named: Record) -> Fraction:
    """Add up the losses of a chain that changes one attribute after the other, or so many times the largest."""
    if not (policy.graph.homogeneous and one_attribute_at_a_time(policy)):
        worst = max((lost.on(pairs.whole) for pairs, _ in lost if pairs.kind != "presence"), default=Fraction(0))
        return EPSILON.over(worst, int(policy.graph.hops(start, end)))
    total, here = Fraction(0), start
    for axis, name in enumerate(policy.domain):
        there = (*here[:axis], end[axis], *here[axis + 1 :])
        if there != here:
            amount = lost.on(PairClass("attribute", name, _at(policy, here, named)))
            total += EPSILON.over(amount, int(policy.graph.hops(here, there)))
        here = there
    return total


def _at(policy: Policy, cell: Cell, named: Record) -> Region:
    """Return the region of one value; attributes that are not named may have any."""
    positions = zip(policy.domain, cell, strict=True)
    return region_of(policy.domain, {name: Subset.of([at]) for name, at in positions if name in named})
