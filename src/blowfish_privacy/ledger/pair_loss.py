"""What was lost on one pair of values, which may be many steps of secret pairs apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import TypeAlias

from blowfish_privacy.domain import Cell, Subset
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.ledger.entry import Entry, StoredPolicy
from blowfish_privacy.ledger.policy_cache import PolicyCache
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import cells
from blowfish_privacy.privacy.classes import PRESENCE, PairClass, one_attribute_at_a_time
from blowfish_privacy.privacy.conversion import epsilon_of
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import EPSILON, RHO, Measure
from blowfish_privacy.privacy.regions import Region, region_of

Amount: TypeAlias = Fraction | float
"""What is lost on one pair of values; ``math.inf`` where nothing is protected."""
Record: TypeAlias = Mapping[str, object]
LossByRows: TypeAlias = Callable[[Entry, Record, Record], Fraction | None]
"""Says what one release lost on a pair by the rows that it handed out, in its own measure; None if it cannot."""


@dataclass(frozen=True)
class PairLoss:
    """What each release lost on a pair of values, in its own measure; ``math.inf`` where it protects nothing."""

    measure: Measure
    """That of the ledger."""
    losses: tuple[tuple[Measure, Amount], ...]

    @cached_property
    def amount(self) -> Amount:
        """What was lost in all, in the measure of the ledger."""
        return sum((_converted(self.measure, lost, own) for own, lost in self.losses), Fraction(0))

    def epsilon(self, delta: Fraction) -> Amount:
        """Say which epsilon that means at a delta, by the order that suits it best."""
        if self.amount == inf:
            return inf
        lost = [(own, Fraction(amount)) for own, amount in self.losses]
        rho = sum((amount for own, amount in lost if own is RHO), Fraction(0))
        return epsilon_of(rho, delta, tuple(amount for own, amount in lost if own is EPSILON))


def pair_loss(
    policies: PolicyCache,
    base: StoredPolicy | None,
    entries: Iterable[Entry],
    pair: tuple[Record, Record],
    measure: Measure,
    by_rows: LossByRows | None = None,
) -> PairLoss:
    """Find what the releases of a ledger lost between two values: those of a policy, and of all policies."""
    groups = list(_groups(policies, base, entries, measure))
    # A person of more rows than a policy protects together is protected in several groups.
    rows = max((policy.rows_per_person for policy, _, _ in groups), default=1)
    losses = list[tuple[Measure, Amount]]()
    for policy, loss, entry in groups:
        lost, together = _lost_between(policy, loss, *pair), -(-rows // policy.rows_per_person)
        known = by_rows(entry, *pair) if by_rows and entry and rows == 1 and lost < inf else None
        lost = lost if known is None else min(lost, known)
        losses.append((loss.measure, lost if lost == inf else loss.measure.over(Fraction(lost), together)))
    return PairLoss(measure, tuple(losses))


def _groups(
    policies: PolicyCache, base: StoredPolicy | None, entries: Iterable[Entry], measure: Measure
) -> Iterator[tuple[Policy, Loss, Entry | None]]:
    """Return what releases lost on the secret pairs of their own policy, in their own measure.

    Losses in epsilon add up along any chain, so all of a policy are taken together; others are taken one by one.
    """
    found: dict[str, StoredPolicy] = {}
    by_policy: dict[str, list[Entry]] = {}
    for entry in entries:
        name, stored = entry.policy.hash, entry.policy
        found[name] = found[name] if name in found and found[name].text else stored
        by_policy.setdefault(name, []).append(entry)
    for name, stored in found.items():
        policy = policies.policy(stored)
        if policy.known:
            raise RefusalError(
                "the loss of a single pair is not defined with known facts: other records move along.",
                hint="the budget spent bounds the loss between any two neighbouring tables.",
            )
        factor = policies.price(base, policy).factor
        losses = [(entry, _own(entry, factor)) for entry in by_policy[name]]
        if measure is EPSILON and len(losses) > 1:
            yield policy, Loss.total(loss for _, loss in losses), None
        else:
            yield from ((policy, loss, entry) for entry, loss in losses)


def _own(entry: Entry, factor: int) -> Loss:
    """Return what a release lost on its own secret pairs; it paid for those of the ledger's, which are longer."""
    if (asked := entry.asked) is not None:
        return asked
    times = entry.loss.measure.over(Fraction(1), factor)
    return Loss.of({pairs: amount / times for pairs, amount in entry.loss}, entry.loss.measure)


def _lost_between(policy: Policy, lost: Loss, x: Record, y: Record) -> Amount:
    """Bound the loss between two values: along a chain of secret pairs, or of one who leaves and one who comes."""
    first, second = cells(policy, x, y)
    # A release that costs nothing still shows exactly what its policy does not protect.
    bounds: list[Amount] = [inf]
    if policy.graph.hops(first, second) < inf:
        bounds += [_along(policy, lost, start, end, x) for start, end in ((first, second), (second, first))]
    if policy.size == "unknown":
        ends = (PairClass(PRESENCE.kind, within=_at(policy, cell, x)) for cell in (first, second))
        come_and_gone = lost.measure.along([(lost.on(end), 1) for end in ends])
        bounds.append(come_and_gone if first != second else Fraction(0))
    return min(bounds)


def _along(policy: Policy, lost: Loss, start: Cell, end: Cell, named: Record) -> Fraction:
    """Bound the loss of a chain that changes one attribute after the other, or of so many of the worst steps."""
    if not (policy.graph.homogeneous and one_attribute_at_a_time(policy)):
        worst = max((lost.on(pairs.whole) for pairs, _ in lost if pairs.kind != "presence"), default=Fraction(0))
        return lost.measure.over(worst, int(policy.graph.hops(start, end)))
    chain, here = list[tuple[Fraction, int]](), start
    for axis, name in enumerate(policy.domain):
        there = (*here[:axis], end[axis], *here[axis + 1 :])
        if there != here:
            amount = lost.on(PairClass("attribute", name, _at(policy, here, named)))
            chain.append((amount, int(policy.graph.hops(here, there))))
        here = there
    return lost.measure.along(chain)


def _at(policy: Policy, cell: Cell, named: Record) -> Region:
    """Return the region of one value; attributes that are not named may have any."""
    positions = zip(policy.domain, cell, strict=True)
    return region_of(policy.domain, {name: Subset.of([at]) for name, at in positions if name in named})


def _converted(measure: Measure, lost: Amount, own: Measure) -> Amount:
    return lost if lost == inf else measure.converted(Fraction(lost), own)
