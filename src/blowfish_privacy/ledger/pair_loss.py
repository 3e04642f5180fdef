"""What was lost on one pair of values, which may be many steps of secret pairs apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import inf
from typing import TypeAlias

from blowfish_privacy.domain import Cell, Subset
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.ledger.entry import Entry, StoredPolicy
from blowfish_privacy.ledger.policy_cache import PolicyCache
from blowfish_privacy.ledger.quote import Quote
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
RowLoss: TypeAlias = Callable[[Record, Record], Fraction | None]
"""Says what one release loses on a pair by the rows that it hands out, in its own measure; None if it cannot."""
LossByRows: TypeAlias = Callable[[Entry, Record, Record], Fraction | None]
"""Says the same of the release that an entry paid for."""


@dataclass(frozen=True)
class OwnLoss:
    """What a release lost, or would lose, on the secret pairs of its own policy."""

    policy: Policy
    loss: Loss
    by_rows: RowLoss | None = None


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


def pair_loss(made: Iterable[OwnLoss], pair: tuple[Record, Record], measure: Measure) -> PairLoss:
    """Find what releases lose between two values in all: those of a policy, and of all policies."""
    groups = list(_groups(made, measure))
    # A person of more rows than a policy protects together is protected in several groups.
    rows = max((each.policy.rows_per_person for each in groups), default=1)
    losses = list[tuple[Measure, Amount]]()
    for each in groups:
        policy, loss, by_rows = each.policy, each.loss, each.by_rows
        lost, together = _lost_between(policy, loss, *pair), -(-rows // policy.rows_per_person)
        known = by_rows(*pair) if by_rows and rows == 1 and lost < inf else None
        lost = lost if known is None else min(lost, known)
        losses.append((loss.measure, lost if lost == inf else loss.measure.over(Fraction(lost), together)))
    return PairLoss(measure, tuple(losses))


def own_losses(
    policies: PolicyCache, base: StoredPolicy | None, entries: Iterable[Entry], by_rows: LossByRows | None
) -> Iterator[OwnLoss]:
    """Return what the releases of a ledger lost on the secret pairs of their own policies."""
    charged = tuple(entries)
    found: dict[str, StoredPolicy] = {}
    for entry in charged:
        name, stored = entry.policy.hash, entry.policy
        found[name] = found[name] if name in found and found[name].text else stored
    for entry in charged:
        policy = policies.policy(found[entry.policy.hash])
        _check_no_facts(policy)
        asked, factor = entry.asked, policies.price(base, policy).factor
        own = _own_part(entry.loss, factor) if asked is None else asked
        yield OwnLoss(policy, own, partial(by_rows, entry) if by_rows else None)


def as_charged(due: OwnLoss, quote: Quote) -> OwnLoss:
    """Count a release that is not made yet as it would count once it was charged."""
    if due.loss.measure != quote.terms.measure:
        return due
    return replace(due, loss=_own_part(quote.charged, quote.price.factor))


def _own_part(charged: Loss, factor: int) -> Loss:
    """Return what a release lost on its own secret pairs; it paid for those of the ledger's, which are longer."""
    times = charged.measure.over(Fraction(1), factor)
    return Loss.of({pairs: amount / times for pairs, amount in charged}, charged.measure)


def _groups(made: Iterable[OwnLoss], measure: Measure) -> Iterator[OwnLoss]:
    """Put together what can be: losses in epsilon of one policy add up along any chain; others are taken one by one."""
    by_policy: dict[str, list[OwnLoss]] = {}
    for each in made:
        _check_no_facts(each.policy)
        by_policy.setdefault(each.policy.hash, []).append(each)
    for group in by_policy.values():
        if measure is EPSILON and len(group) > 1:
            yield OwnLoss(group[0].policy, Loss.total(each.loss for each in group))
        else:
            yield from group


def _check_no_facts(policy: Policy) -> None:
    if policy.known:
        raise RefusalError(
            "the loss of a single pair is not defined with known facts: other records move along.",
            hint="the budget spent bounds the loss between any two neighbouring tables.",
        )


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
