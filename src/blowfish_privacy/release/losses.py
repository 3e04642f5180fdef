"""What is lost on any change of an attribute, or of a whole record: by the rows that were measured themselves.

It bounds the loss between values many steps apart: counts of single cells, say, change as much for any two values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import inf
from typing import TypeAlias

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.graphs import FullDomain, PerAttribute, Public, Secrets
from blowfish_privacy.graphs.graph import Hops
from blowfish_privacy.known_facts.facts import crosses
from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.ledger.pair_loss import AnyChange
from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import (
    IN_NAME_ONLY,
    Far,
    furthest,
    furthest_together,
    name_only,
    pair_words,
)
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import PRESENCE, Loss, changing, one_attribute_at_a_time
from blowfish_privacy.privacy.measure import RHO, Strength
from blowfish_privacy.queries import Query, Selection
from blowfish_privacy.queries.query import ALL_RECORDS, joined, looked_at
from blowfish_privacy.release import document
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.release.reading import Release, parse, read_proof

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
        found = _found(_certified(mechanism, policy, full))
        alone = query.on(policy.domain).domain.names == (changed[0],) and mechanism.independent_rows
        return found or (_of_each_pair(mechanism, policy, changed[0]) if alone else None)
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
    found = _certified(plan.mechanism, policy, FullDomain())
    return None if found is None else found.amount


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
    """The rows of a release of all records, with independent noise on each."""

    mechanism: Mechanism
    query: Query
    policy: Policy
    noisy: bool
    """Whether there is any noise: else no secret shows in them."""

    def between(self, first: Mapping[str, object], second: Mapping[str, object]) -> Fraction | None:
        """Say what is lost on two values, in the release's own measure; None where the rows do not show it."""
        if not self.noisy:
            return Fraction(0)
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
    """Read the rows of a release from its document; None where that does not show what they lost.

    It shows it for releases of all records whose rows have independent noise.
    """
    text = ledger.document(entry.key)
    if text is None:
        return None
    try:
        release = read_proof(parse(text))
    except BlowfishError:
        # A document of another version, or one that was never read by this one: the chain is a bound too.
        return None
    proved = release.certificate.loss
    other = release.policy.hash != entry.policy.hash or (proved.measure, proved.largest) != entry.requested
    if other or release.selection != ALL_RECORDS or not release.mechanism.independent_rows:
        return None
    return MeasuredRows(release.mechanism, release.query, release.policy, bool(proved.largest))


def rows_planned(plan: Plan) -> MeasuredRows | None:
    """Return the rows of a planned release, as its document will show them."""
    if plan.selection != ALL_RECORDS or plan.policy.known or not plan.mechanism.independent_rows:
        return None
    return MeasuredRows(plan.mechanism, plan.query, plan.policy, bool(plan.amount))


# Values several secret steps apart: how strongly a release protects them, and which it leaves unprotected in effect.

Made: TypeAlias = Plan | Release


@dataclass(frozen=True)
class FarApart:
    """Two values, or records, many steps apart."""

    pair: str
    hops: Hops
    strength: Strength
    """The loss on each step."""
    names: tuple[str, ...]
    """The attributes in which they differ."""
    most: Fraction | None = None
    """What is lost at most between any two values that differ in these; None if no bound is known but the steps."""

    @property
    def factor(self) -> str:
        """The largest change of the odds between them."""
        return self.strength.factor(self.hops, self.most)

    @property
    def exponent(self) -> float:
        """Its logarithm."""
        return self.strength.exponent(self.hops, self.most)


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


def far_apart(made: Made) -> tuple[list[FarApart], FarApart | None]:
    """For each attribute that a release tells about, find values many steps apart, and records apart in all of them."""
    return _alone_apart(made, attributes_seen(made)), _together(made)


def weakest(made: Made) -> list[FarApart]:
    """Find for each attribute that a release may tell about, and for all together, the values that it protects least.

    They may be a secret pair: one step may lose as much as the noise hides at all.
    """
    policy = made.policy
    # No pair that changes other attributes alone can change the answer, if nobody has to move along.
    names = None if crosses(policy) or not policy.graph.homogeneous else _looked_at(made)
    together = _together(made)
    return [*_alone_apart(made, names, least=1), *([] if together is None else [together])]


def in_name_only(made: Made, after: str = "this release", heading: str = IN_NAME_ONLY) -> Iterator[str]:
    """Say which values a release leaves effectively unprotected."""
    loss = made.certificate.loss
    presence = Strength(loss.measure, loss.on(PRESENCE))
    far = (Far(each.pair, each.hops, each.exponent, each.factor) for each in weakest(made))
    return name_only(made.policy, (presence.exponent(), presence.factor()), far, after, heading)


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


def _looked_at(made: Made) -> tuple[str, ...]:
    domain = made.policy.domain
    seen = {domain.axis(name) for name in looked_at(joined(made.query, made.selection))}
    return tuple(name for axis, name in enumerate(domain) if axis in seen)


def _alone_apart(made: Made, names: tuple[str, ...] | None, least: int = 2) -> list[FarApart]:
    policy, loss = made.policy, made.certificate.loss
    found: list[FarApart] = []
    for domain, pair, hops in furthest(policy, names, least):
        each = FarApart(pair, hops, lost_on(policy, loss, domain), domain.names)
        if each.strength.amount:
            found.append(_worst(made, domain, each) if hops > 1 else each)
    return found


def _worst(made: Made, domain: Domain, ends: FarApart) -> FarApart:
    """Bound what is lost between any two values of an attribute; name those that lose it, if others than the ends."""
    most = _by_rows(made, domain.names)
    if most is None:
        return ends
    bounded, form = replace(ends, most=most.amount), made.query.on(made.policy.domain).domain
    alone = _alone(made.policy, domain)
    if most.pair is None or alone is None or alone not in form.names or not made.mechanism.independent_rows:
        return bounded
    ((_, first, last, _),) = (end for end in made.policy.ends if end[0].names == domain.names)
    rest, axis = form.cell(most.pair[0]), form.axis(alone)
    x, y = ((*rest[:axis], end[0], *rest[axis + 1 :]) for end in (first, last))
    if made.mechanism.counted_in.over(made.mechanism.loss(x, y), made.policy.rows_per_person) >= most.amount:
        return bounded
    one, other = (domain.cell({alone: record[alone]}) for record in most.pair)
    hops = made.policy.graph.project([alone]).hops(one, other)
    return replace(bounded, pair=pair_words(domain, *sorted((one, other))), hops=hops) if hops < inf else bounded


def _together(made: Made) -> FarApart | None:
    policy, loss = made.policy, made.certificate.loss
    together = furthest_together(policy, attributes_seen(made))
    if together is None:
        return None
    by_rows = _by_rows(made, None)
    bounds = [None if by_rows is None else by_rows.amount, one_by_one(policy, loss)]
    known = min((bound for bound in bounds if bound is not None), default=None)
    return FarApart(*together, Strength(loss.measure, loss.largest), policy.domain.names, known)


def _by_rows(made: Made, names: Collection[str] | None) -> AnyChange | None:
    """Bound a loss by the rows measured: in epsilon for plans, beside which the same is said of what a ledger lost."""
    if made.certificate.loss.measure is not RHO and not (isinstance(made, Plan) and made.mechanism.independent_rows):
        return None
    return any_change(made.mechanism, made.query, made.policy, made.selection, names)


def _alone(policy: Policy, domain: Domain) -> str | None:
    """Name the attribute whose values no chain of secret pairs connects but through itself; None if there is no such.

    Where records come and go, a chain may lead through a person who is not there.
    """
    name, *more = domain.names
    return None if more or policy.size == "unknown" or not one_attribute_at_a_time(policy) else name
