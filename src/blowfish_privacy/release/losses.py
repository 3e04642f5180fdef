"""What releases lose between values several secret steps apart: along the steps, and by the rows that were measured.

The rows bound the loss on any change of an attribute, or of a whole record: counts of single cells, say, change as much
for any two values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import combinations
from math import inf, isinf
from operator import ge
from typing import TypeAlias

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import BlowfishError, DomainError, LedgerError, RefusalError
from blowfish_privacy.graphs import FullDomain, PerAttribute, Public, Secrets
from blowfish_privacy.graphs.graph import Hops
from blowfish_privacy.known_facts.facts import crosses
from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.ledger.pair_loss import (
    Amount,
    AnyChange,
    OwnLoss,
    PairLoss,
    Record,
    any_pair_loss,
    pair_loss,
)
from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import (
    Far,
    effectively_unprotected,
    furthest_apart,
    furthest_together,
    pair_words,
)
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import (
    ALL,
    PRESENCE,
    Loss,
    PairClass,
    changing,
    classes_met,
    one_attribute_at_a_time,
)
from blowfish_privacy.privacy.measure import EPSILON, RHO, Strength
from blowfish_privacy.queries import Query, Selection
from blowfish_privacy.queries.query import ALL_RECORDS, joined, looked_at
from blowfish_privacy.release import document
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.release.reading import Release, parse, read_proof
from blowfish_privacy.release.verification import Product

Made: TypeAlias = Plan | Release
"""A release, planned or made: what it loses is the same."""
_MOST_PAIRS = 10_000


def any_change(
    mechanism: Mechanism, query: Query, policy: Policy, selection: Selection, names: Collection[str] | None = None
) -> AnyChange | None:
    """Certify the noise for any change of some attributes, of all that a secret pair changes unless they are named.

    None where it does not hide that, or no proof tells. Several attributes may change at once if the noise hides any
    change of a record, or else one after the other: others may be published exactly.
    """
    if selection or policy.known:
        return None
    changed = [name for name in policy.domain if (policy.graph.changes(name) if names is None else name in names)]
    if len(changed) == 1:
        others = {other: Public() for other in policy.domain if other not in changed}
        full = PerAttribute({changed[0]: FullDomain(), **others}) if others else FullDomain()
        certified = _found(_certified(mechanism, policy, full))
        alone = query.on(policy.domain).domain.names == (changed[0],) and mechanism.independent_rows
        return certified or (_of_each_pair(mechanism, policy, changed[0]) if alone else None)
    at_once = _found(_certified(mechanism, policy, FullDomain()))
    if at_once is not None:
        return at_once
    parts = [any_change(mechanism, query, policy, selection, [name]) for name in changed]
    known = [part.amount for part in parts if part is not None]
    return AnyChange(mechanism.counted_in.along((part, 1) for part in known)) if len(known) == len(parts) else None


@lru_cache(maxsize=16)
def _of_each_pair(mechanism: Mechanism, policy: Policy, name: str) -> AnyChange | None:
    """Look at all values of an attribute, the only one that is looked at, that chains of secret pairs connect."""
    domain, graph = policy.domain.project([name]), policy.graph.project([name])
    if domain.size * (domain.size - 1) // 2 > _MOST_PAIRS:
        return None
    label = {cell: 0 if policy.size == "unknown" else graph.component(cell) for cell in domain.cells()}
    worst = AnyChange(Fraction(0))
    try:
        for x, y in combinations(label, 2):
            if label[x] == label[y] and (lost := mechanism.loss(x, y)) > worst.amount:
                worst = AnyChange(lost, (domain.record(x), domain.record(y)))
    except BlowfishError:
        return None
    return replace(worst, amount=mechanism.counted_in.over(worst.amount, policy.rows_per_person))


def full_domain(plan: Plan) -> Fraction | None:
    """Say what the same release loses under the full domain: on any change of a person's whole record.

    None where it does not hide that: where some of it is published exactly, or is about some records only, since
    which these are may be public.
    """
    if plan.selection or not plan.amount:
        return None
    policy = plan.population.policy
    if document.published(plan.query, policy, plan.mechanism) is not None:
        return None
    certificate = _certified(plan.mechanism, policy, FullDomain())
    return None if certificate is None else certificate.amount


def _found(certificate: Certificate | None) -> AnyChange | None:
    if certificate is None:
        return None
    worst = certificate.sensitivity
    before, after = worst.witness if worst.exact and worst.witness is not None else ((), ())
    (pair,) = zip(before, after, strict=True) if len(before) == len(after) == 1 else (None,)
    return AnyChange(certificate.amount, pair)


@lru_cache(maxsize=16)
def _certified(mechanism: Mechanism, policy: Policy, secrets: Secrets) -> Certificate | None:
    changed = Policy(policy.domain, secrets=secrets, size=policy.size, rows_per_person=policy.rows_per_person)
    try:
        return mechanism.certify(changed)
    except BlowfishError:
        return None


# What a release lost on two values by the rows that it handed out: often less than along a chain of secret pairs.
#
# Two values many steps apart change the rows of a table no more than two neighbours do, so with noise on each row they
# lose as much as these, and not so many times as much.


@dataclass(frozen=True)
class MeasuredRows:
    """The rows of a release of all records."""

    mechanism: Mechanism
    query: Query
    policy: Policy
    noisy: bool
    """Whether there is any noise: else no secret shows in them."""

    def between(self, first: Mapping[str, object], second: Mapping[str, object]) -> Fraction | None:
        """Say what is lost on two values, in the release's own measure; None where the rows do not show it."""
        if not self.noisy:
            return Fraction(0)
        if not self.mechanism.independent_rows:
            return None
        try:
            return self._between(first, second)
        except BlowfishError:
            return None

    def any_change(self, names: Collection[str]) -> AnyChange | None:
        """Say what is lost at most between two values that differ in some attributes; None where no proof tells."""
        if not self.noisy:
            return AnyChange(Fraction(0))
        return any_change(self.mechanism, self.query, self.policy, ALL_RECORDS, names)

    def _between(self, first: Mapping[str, object], second: Mapping[str, object]) -> Fraction | None:
        named = self.query.on(self.policy.domain).domain
        if not set(named.names) <= set(first):
            # Whatever the attributes are that are not named, they are equal: any change of the others bounds the loss.
            changed = [name for name in self.policy.domain if name in first and first[name] != second[name]]
            parts = [self.any_change([name]) for name in changed]
            known = [part.amount for part in parts if part is not None]
            several = len(known) == len(parts)
            return self.mechanism.counted_in.along((part, 1) for part in known) if several else None
        x, y = (named.cell({name: record[name] for name in named.names}) for record in (first, second))
        return self.mechanism.loss(x, y)


def rows_released(ledger: Ledger, entry: Entry) -> MeasuredRows | None:
    """Read the rows of a release from its document; None where that does not show what they lost."""
    text = ledger.document(entry.key)
    if text is None:
        return None
    try:
        release = read_proof(parse(text))
    except BlowfishError:
        # A document of another version, or one that was never read by this one: the chain is a bound too.
        return None
    proved = release.certificate.loss
    if release.policy.hash != entry.policy.hash or (proved.measure, proved.largest) != entry.requested:
        return None
    return rows_of(release)


def rows_of(made: Made) -> MeasuredRows | None:
    """Return the rows of a release, or of a plan as its document will show them; None where they show nothing.

    They are about all records, and have independent noise or are certified in rho for any change of a record.
    """
    certified = made.mechanism.independent_rows or made.certificate.loss.measure is RHO
    if made.selection != ALL_RECORDS or made.policy.known or not certified:
        return None
    return MeasuredRows(made.mechanism, made.query, made.policy, bool(made.certificate.amount))


def losses_of(ledger: Ledger, due: Sequence[OwnLoss] = ()) -> tuple[OwnLoss, ...] | None:
    """Return what each release of a ledger lost by itself, and what those due will; None where that is not defined."""
    try:
        losses = (*ledger.own_losses(partial(rows_released, ledger)), *due)
    except (LedgerError, RefusalError):
        return None
    return None if any(each.policy.known for each in losses) else losses


# Which attributes a release tells about, and what one step along them loses.


def attributes_seen(made: Made) -> tuple[str, ...] | None:
    """Name the attributes that a release looks at, where the others do not matter to it; None if all may.

    They do not where secrets are those of each attribute by itself and no facts tie records together: the answer
    depends on a record through the attributes that it looks at alone (docs/proofs/classes.md).
    """
    policy = made.policy
    if not (policy.graph.homogeneous and one_attribute_at_a_time(policy)):
        return None
    names = _looked_at(made)
    return None if len(names) == len(policy.domain.names) else names


def _looked_at(made: Made) -> tuple[str, ...]:
    domain = made.policy.domain
    seen = {domain.axis(name) for name in looked_at(joined(made.query, made.selection))}
    return tuple(name for axis, name in enumerate(domain) if axis in seen)


def lost_on(policy: Policy, loss: Loss, domain: Domain) -> Strength:
    """Return the loss on each step between values of some attributes; none on an attribute that no release looks at."""
    alone = _alone(policy, domain)
    return Strength(loss.measure, loss.largest if alone is None else loss.on(changing(alone)))


def one_by_one(policy: Policy, loss: Loss) -> Fraction | None:
    """Bound what is lost between records that differ in all that is secret: one attribute after the other changes."""
    ends = [(domain, int(hops)) for domain, _, _, hops in policy.ends if 0 < hops < inf]
    if any(_alone(policy, domain) is None for domain, _ in ends):
        return None
    return loss.measure.along((lost_on(policy, loss, domain).amount, hops) for domain, hops in ends)


def _alone(policy: Policy, domain: Domain) -> str | None:
    """Name the attribute whose values no chain of secret pairs connects but through itself; None if there is no such.

    Where records come and go, a chain may lead through a person who is not there.
    """
    name, *more = domain.names
    return None if more or policy.size == "unknown" or not one_attribute_at_a_time(policy) else name


# What releases lose together between values some secret steps apart: of one plan or release, of several, of a ledger.

_FEW_PAIRS = 200
"""Every pair of values is looked at where there are so few of them, counted once for each release."""

Pair: TypeAlias = tuple[Record, Record]


@dataclass(frozen=True)
class FarApart(Far):
    """Two values, or records, that are some secret steps apart, and what is lost between them at most."""

    lost: Amount
    names: tuple[str, ...]
    """The attributes in which they differ."""


@dataclass(frozen=True, eq=False)
class FarLosses:
    """What releases lose at most between values of a policy: that of a ledger, or of one release."""

    policy: Policy
    """Steps are those along its secret pairs."""
    balances: Loss
    """What they lose together on each class of these pairs."""
    losses: tuple[OwnLoss, ...] | None
    """What each release loses by itself; None where known facts tie records together, or a policy is not readable."""
    seen_alone: tuple[str, ...] | None = None
    """The attributes that they tell about where no other changes; None if these may be all."""
    seen: tuple[str, ...] | None = None
    """The attributes that they tell about; None if these may be all."""

    @classmethod
    def of(cls, made: Made) -> FarLosses:
        """Look at one release."""
        policy, loss = made.policy, made.certificate.loss
        # A document states in epsilon what its policy promises along secret steps, and no more.
        rows = None if isinstance(made, Release) and loss.measure is EPSILON else rows_of(made)
        losses = None if policy.known else (OwnLoss(policy, loss, rows),)
        # No pair that changes other attributes alone can change the answer, if nobody has to move along.
        alone = None if crosses(policy) or not policy.graph.homogeneous else _looked_at(made)
        return cls(policy, loss, losses, alone, attributes_seen(made))

    def of_attributes(self, least: int = 2) -> Iterator[FarApart]:
        """Go through the attributes: for each, two values ``least`` steps apart or more that are protected least."""
        for domain, first, last, hops in self.policy.ends:
            seen = self.seen_alone is None or {*domain.names} <= {*self.seen_alone}
            if seen and least <= hops < inf:
                ends = domain.record(first), domain.record(last)
                yield self._worst(pair_words(domain, first, last), hops, domain, ends, least)

    def of_all(self) -> Iterator[FarApart]:
        """Find two records more steps apart than any that differ in a single attribute; nothing if there are none."""
        together, records = furthest_together(self.policy, self.seen), furthest_apart(self.policy, self.seen)
        if together is not None and records is not None:
            yield self._worst(*together, self.policy.domain.project(tuple(records[0])), records[:2])

    def weakest(self) -> Iterator[FarApart]:
        """Go through the values that are protected least, of each attribute and of all together.

        They may be a secret pair: one step may lose as much as the noise hides at all.
        """
        yield from self.of_attributes(least=1)
        yield from self.of_all()

    def unprotected(self, after: str) -> Iterator[str]:
        """Say which values are effectively unprotected, secret pairs too where one step loses as much."""
        presence = Strength(self.balances.measure, self.balances.on(PRESENCE))
        return effectively_unprotected(self.policy, (presence.exponent(), presence.factor()), self.weakest(), after)

    def between_any(self, names: Collection[str], most: int = _FEW_PAIRS) -> tuple[PairLoss, ...]:
        """Bound what is lost between any two values that differ in some attributes; exactly where they are few."""
        losses, measure = self.losses or (), self.balances.measure
        bound = any_pair_loss(losses, self.policy, measure, names)
        each = {tuple(amount for _, amount in lost.losses): lost for _, lost in self._on_each(names, most)}
        if max((lost.amount for lost in each.values()), default=inf) > bound.amount:
            return (bound,)
        # What costs most in rho need not mean the largest epsilon, so all are kept that no other is as bad as.
        return tuple(
            lost
            for amounts, lost in each.items()
            if not any(
                other != amounts and len(other) == len(amounts) and all(map(ge, other, amounts)) for other in each
            )
        )

    def _on_each(self, names: Collection[str], most: int) -> Iterator[tuple[Pair, PairLoss]]:
        """Go through all values that chains of secret pairs connect, unless there are too many."""
        losses, domain = self.losses or (), self.policy.domain.project(tuple(names))
        if domain.size * (domain.size - 1) // 2 * max(len(losses), 1) > most:
            return
        records = [domain.record(cell) for cell in domain.cells()]
        for pair in combinations(records, 2):
            if self.policy.distance(*pair) < inf:
                yield pair, pair_loss(losses, pair, self.balances.measure)

    def _worst(self, pair: str, hops: Hops, domain: Domain, ends: Pair, least: int = 2) -> FarApart:
        """Bound what any two values of some attributes lose; name the ends, or those that lose more if they show.

        Those that are named are at least ``least`` steps apart.
        """
        measure = self.balances.measure

        def apart(pair: str, hops: Hops, lost: Amount) -> FarApart:
            if isinf(lost):
                return FarApart(pair, hops, inf, None, lost, domain.names)
            strength = Strength(measure, Fraction(lost))
            return FarApart(pair, hops, strength.exponent(), strength.factor(), lost, domain.names)

        # The balances bound every step.
        most = measure.over(lost_on(self.policy, self.balances, domain).amount, int(hops))
        if len(domain.names) > 1 and (by_attributes := one_by_one(self.policy, self.balances)) is not None:
            most = min(most, by_attributes)
        if self.losses is None:
            return apart(pair, hops, most)
        most = min(most, any_pair_loss(self.losses, self.policy, measure, domain.names).amount)
        try:
            every = [(one, lost.amount) for one, lost in self._on_each(domain.names, _FEW_PAIRS)]
            shown = [ends, *self._shown(domain.names)]
            at_ends, *others = [(one, pair_loss(self.losses, one, measure).amount) for one in shown]
        except DomainError:
            # Another policy's secrets may depend on attributes that these two values leave open.
            return apart(pair, hops, most)
        most = min(most, max(amount for _, amount in every)) if every else most
        others = [each for each in (*others, *every) if self.policy.distance(*each[0]) >= least]
        worst, amount = max((at_ends, *others), key=lambda each: each[1])
        if amount > at_ends[1]:
            one, other = (domain.cell(record) for record in worst)
            return apart(pair_words(domain, one, other), self.policy.distance(*worst), most)
        return apart(pair, hops, most)

    def _shown(self, names: Collection[str]) -> Iterator[Pair]:
        """Go through the values that single releases hide least, as their rows show."""
        for each in self.losses or ():
            shown = each.by_rows.any_change(names) if each.by_rows else None
            pair = None if shown is None else shown.pair
            if pair is not None and {*names} <= {*pair[0]}:
                one, other = ({name: record[name] for name in names} for record in pair)
                if self.policy.distance(one, other) < inf:
                    yield one, other


@dataclass(frozen=True, eq=False)
class ProductLoss:
    """What all releases of a ledger lost together: the amounts are the ledger's balances."""

    product: Product

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

        Steps along several pairs add up, so it is at most the sum of what each attribute lost (docs/proofs/classes.md).
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

    @cached_property
    def far(self) -> FarLosses:
        """What was lost between values several secret steps apart."""
        product = self.product
        return FarLosses(product.policy, product.lost, losses_of(product.ledger))
