"""What was lost on one pair of values, which may be many steps of secret pairs apart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Protocol, TypeAlias

from blowfish_privacy.domain import Cell, Subset
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.ledger.composition import PolicyCache, Quote
from blowfish_privacy.ledger.entry import Entry, StoredPolicy
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import longest_chain
from blowfish_privacy.policies.policy import cells
from blowfish_privacy.privacy.loss import PRESENCE, Loss, PairClass, Region, one_attribute_at_a_time, region_of
from blowfish_privacy.privacy.measure import EPSILON, RHO, Measure, epsilon_of

Amount: TypeAlias = Fraction | float
"""What is lost on one pair of values; ``math.inf`` where nothing is protected."""
Record: TypeAlias = Mapping[str, object]


@dataclass(frozen=True)
class AnyChange:
    """What is lost on any change of some attributes, at most."""

    amount: Fraction
    pair: tuple[Record, Record] | None = None
    """Two records that lose as much, where they are known; they name what the release looks at."""


class RowLoss(Protocol):
    """Knows what one release loses by the rows that it hands out, in its own measure."""

    def between(self, first: Record, second: Record) -> Fraction | None:
        """Say what it loses on a pair; None if it cannot."""
        ...

    def any_change(self, names: Collection[str]) -> AnyChange | None:
        """Say what it loses at most on two values that differ in some attributes; None if it cannot."""
        ...


RowsOf: TypeAlias = Callable[[Entry], RowLoss | None]
"""Finds the rows of the release that an entry paid for."""


@dataclass(frozen=True, eq=False)
class OwnLoss:
    """What a release lost, or would lose, on the secret pairs of its own policy."""

    policy: Policy
    loss: Loss
    by_rows: RowLoss | None = None
    charged: Loss | None = None
    """What it lost on the secret pairs of the ledger's policy; None where that is its own."""


@dataclass(frozen=True)
class PairLoss:
    """What each release lost on a pair of values, in its own measure; ``math.inf`` where it protects nothing."""

    measure: Measure
    """That of the ledger."""
    losses: tuple[tuple[Measure, Amount], ...]

    @cached_property
    def amount(self) -> Amount:
        """What was lost in all, in the measure of the ledger."""
        if any(lost == inf for _, lost in self.losses):
            return inf
        return sum((self.measure.converted(Fraction(lost), measure) for measure, lost in self.losses), Fraction(0))

    def epsilon(self, delta: Fraction) -> Amount:
        """Say which epsilon that means at a delta, by the order that suits it best."""
        if self.amount == inf:
            return inf
        lost = [(measure, Fraction(amount)) for measure, amount in self.losses]
        rho = sum((amount for measure, amount in lost if measure is RHO), Fraction(0))
        return epsilon_of(rho, delta, tuple(amount for measure, amount in lost if measure is EPSILON))


def pair_loss(losses: Sequence[OwnLoss], pair: tuple[Record, Record], measure: Measure) -> PairLoss:
    """Find what releases lose between two values in all: those of a policy, and of all policies."""
    # A person of more rows than a policy protects together is protected in several groups.
    rows = max((each.policy.rows_per_person for each in losses), default=1)

    def lost(each: OwnLoss) -> Amount:
        amount, together = _lost_between(each.policy, each.loss, *pair), -(-rows // each.policy.rows_per_person)
        known = each.by_rows.between(*pair) if each.by_rows and rows == 1 and amount < inf else None
        amount = amount if known is None else min(amount, known)
        return amount if amount == inf else each.loss.measure.over(Fraction(amount), together)

    return _least(measure, losses, lost)


def _least(measure: Measure, losses: Sequence[OwnLoss], lost: Callable[[OwnLoss], Amount]) -> PairLoss:
    """Add up what releases of one policy lose together, or one by one where rows show that this is less."""
    ways = [tuple(_groups(losses, measure)), *([tuple(losses)] if any(each.by_rows for each in losses) else [])]
    sums = [PairLoss(measure, tuple((each.loss.measure, lost(each)) for each in way)) for way in ways]
    return min(sums, key=lambda each: each.amount)


def any_pair_loss(losses: Sequence[OwnLoss], policy: Policy, measure: Measure, names: Collection[str]) -> PairLoss:
    """Bound what releases lose between any two values of a policy that differ in some attributes alone.

    They are those between which some chain of the policy's secret pairs leads.
    """
    rows = max((each.policy.rows_per_person for each in losses), default=1)

    def lost(each: OwnLoss) -> Amount:
        shown = each.by_rows.any_change(names) if each.by_rows and each.policy.rows_per_person == rows else None
        by_steps = _by_steps(each, policy, names)
        return by_steps if shown is None else min(by_steps, shown.amount)

    return _least(measure, losses, lost)


def _by_steps(release: OwnLoss, policy: Policy, names: Collection[str]) -> Amount:
    """Bound a loss by the longest chains between any two values: of the ledger's secret pairs, or of its own."""
    same = release.policy.hash == policy.hash
    bounds = [_along_all(policy, release.charged or release.loss, names)] if same or release.charged is not None else []
    graph = release.policy.graph
    joined = graph.project(tuple(names)).connected if graph.homogeneous else graph.connected
    if not same and (release.policy.size == "unknown" or joined):
        bounds.append(_along_all(release.policy, release.loss, names))
    return min(bounds, default=inf)


def _along_all(policy: Policy, lost: Loss, names: Collection[str]) -> Amount:
    graph, measure = policy.graph, lost.measure
    names = names if graph.homogeneous else policy.domain.names
    bounds: list[Amount] = []
    if policy.size != "unknown" or graph.project(tuple(names)).connected:
        if graph.homogeneous and one_attribute_at_a_time(policy):
            chains = ((PairClass("attribute", name), longest_chain(policy, [name])) for name in names)
            bounds.append(measure.along((lost.on(pairs), hops) for pairs, hops in chains))
        else:
            worst = max((lost.on(pairs.whole) for pairs, _ in lost if pairs.kind != "presence"), default=Fraction(0))
            bounds.append(measure.over(worst, longest_chain(policy, names)))
    if policy.size == "unknown":
        # One who leaves, and one who comes.
        bounds.append(measure.over(lost.on(PRESENCE), 2))
    return min(bounds)


def own_losses(
    policies: PolicyCache, base: StoredPolicy | None, entries: Iterable[Entry], by_rows: RowsOf | None
) -> Iterator[OwnLoss]:
    """Return what the releases of a ledger lost on the secret pairs of their own policies."""
    charged = tuple(entries)
    readable: dict[str, StoredPolicy] = {}
    for entry in charged:
        name, stored = entry.policy.hash, entry.policy
        readable[name] = readable[name] if name in readable and readable[name].text else stored
    for entry in charged:
        policy = policies.policy(readable[entry.policy.hash])
        _check_no_facts(policy)
        requested, price = entry.asked, policies.price(base, policy)
        loss = _own_part(entry.loss, price.factor) if requested is None else requested
        charged = entry.loss if requested is None else price.charged(requested, requested.measure)
        yield OwnLoss(policy, loss, by_rows(entry) if by_rows else None, charged)


def as_charged(due: OwnLoss, quote: Quote) -> OwnLoss:
    """Count a release that is not made yet as it would count once it was charged."""
    if due.loss.measure != quote.terms.measure:
        return replace(due, charged=quote.price.charged(due.loss, due.loss.measure))
    return replace(due, loss=_own_part(quote.charged, quote.price.factor), charged=quote.charged)


def _own_part(charged: Loss, factor: int) -> Loss:
    """Return what a release lost on its own secret pairs; it paid for those of the ledger's, which are longer."""
    times = charged.measure.over(Fraction(1), factor)
    return Loss.of({pairs: amount / times for pairs, amount in charged}, charged.measure)


def _groups(losses: Iterable[OwnLoss], measure: Measure) -> Iterator[OwnLoss]:
    """Put together what can be: losses in epsilon of one policy add up along any chain; others are taken one by one.

    Together they may lose less: where they are about different records, no pair loses what each of them does.
    """
    by_policy: dict[str, list[OwnLoss]] = {}
    for each in losses:
        _check_no_facts(each.policy)
        by_policy.setdefault(each.policy.hash, []).append(each)
    for group in by_policy.values():
        if measure is EPSILON and len(group) > 1:
            paid = Loss.total(each.charged or each.loss for each in group)
            charged = None if any(each.charged is None for each in group) else paid
            yield OwnLoss(group[0].policy, Loss.total(each.loss for each in group), charged=charged)
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
