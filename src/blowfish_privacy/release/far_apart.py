"""Values several secret steps apart: how strongly a release protects them, and when in name only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import TypeAlias

from blowfish_privacy.domain import Domain
from blowfish_privacy.graphs.graph import Hops
from blowfish_privacy.known_facts.crossed import crosses
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import furthest, furthest_apart, furthest_together
from blowfish_privacy.policies.name_only import name_only, presence_in_name_only
from blowfish_privacy.privacy.classes import PRESENCE, changing, one_attribute_at_a_time
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.privacy.strength import Strength
from blowfish_privacy.queries.asked import joined, looked_at
from blowfish_privacy.release.loss_by_rows import planned_loss_by_rows
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.release.reading import Release
from blowfish_privacy.release.whole_record import along, whole_record

Made: TypeAlias = Plan | Release
Record: TypeAlias = Mapping[str, object]


@dataclass(frozen=True)
class FarApart:
    """Two values, or records, many steps apart."""

    pair: str
    hops: Hops
    strength: Strength
    """The loss on each step."""
    most: Fraction | None = None
    """A bound on what is lost between them in all; None if there is none but the steps."""

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


def in_name_only(made: Made, after: str = "this release") -> Iterator[str]:
    """Say which values a release protects in name only, secret pairs too where one step loses as much."""
    policy, loss = made.policy, made.certificate.loss
    # No pair that changes other attributes alone can change the answer, if nobody has to move along.
    names = None if crosses(policy) or not policy.graph.homogeneous else _looked_at(made)
    together, presence = _together(made), Strength(loss.measure, loss.on(PRESENCE))
    yield from presence_in_name_only(policy, presence.exponent(), presence.factor(), after)
    yield from _said([*_alone_apart(made, names, least=1), *([] if together is None else [together])], after)


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
    ends = {domain.names: (domain.record(first), domain.record(last)) for domain, first, last, _ in policy.ends}
    found: list[FarApart] = []
    for domain, pair, hops in furthest(policy, names, least):
        each = FarApart(pair, hops, lost_on(policy, loss, domain))
        if each.strength.amount:
            found.append(replace(each, most=_by_rows(made, domain, *ends[domain.names])))
    return found


def _together(made: Made) -> FarApart | None:
    policy, loss = made.policy, made.certificate.loss
    together = furthest_together(policy, attributes_seen(made))
    if together is None:
        return None
    bounds = [bound for bound in (_whole_by_rows(made), one_by_one(policy, loss)) if bound is not None]
    return FarApart(*together, Strength(loss.measure, loss.largest), min(bounds, default=None))


def _said(found: list[FarApart], after: str) -> Iterator[str]:
    return name_only(((each.pair, each.hops, each.exponent, each.factor) for each in found), after)


def _by_rows(made: Made, domain: Domain, first: Record, second: Record) -> Fraction | None:
    """Bound a loss by the rows measured: in epsilon for plans, beside which the same is said of what a ledger lost."""
    if made.certificate.loss.measure is not RHO:
        return planned_loss_by_rows(made, first, second) if isinstance(made, Plan) else None
    alone = _alone(made.policy, domain)
    return None if alone is None else along(made.mechanism, made.policy, made.selection, alone)


def _whole_by_rows(made: Made) -> Fraction | None:
    if made.certificate.loss.measure is RHO:
        return whole_record(made.mechanism, made.policy, made.selection)
    records = furthest_apart(made.policy, attributes_seen(made)) if isinstance(made, Plan) else None
    return planned_loss_by_rows(made, *records[:2]) if isinstance(made, Plan) and records is not None else None


def _alone(policy: Policy, domain: Domain) -> str | None:
    """Name the attribute whose values no chain of secret pairs connects but through itself; None if there is no such.

    Where records come and go, a chain may lead through a person who is not there.
    """
    name, *more = domain.names
    return None if more or policy.size == "unknown" or not one_attribute_at_a_time(policy) else name
