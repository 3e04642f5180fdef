"""Values several secret steps apart: how strongly a release protects them, and when in name only."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import TypeAlias

from blowfish_privacy.domain import Domain
from blowfish_privacy.graphs.graph import Hops
from blowfish_privacy.known_facts.facts import crosses
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import (
    furthest,
    furthest_together,
    name_only,
    pair_words,
    presence_in_name_only,
)
from blowfish_privacy.privacy.loss import PRESENCE, Loss, changing, one_attribute_at_a_time
from blowfish_privacy.privacy.measure import RHO, Strength
from blowfish_privacy.queries.query import joined, looked_at
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.release.reading import Release
from blowfish_privacy.release.whole_record import AnyChange, any_change

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


def in_name_only(made: Made, after: str = "this release") -> Iterator[str]:
    """Say which values a release protects in name only."""
    loss = made.certificate.loss
    presence = Strength(loss.measure, loss.on(PRESENCE))
    yield from presence_in_name_only(made.policy, presence.exponent(), presence.factor(), after)
    yield from name_only(((each.pair, each.hops, each.exponent, each.factor) for each in weakest(made)), after)


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
