"""What is lost on any change of an attribute, or of a whole record: by the rows that were measured themselves.

It bounds the loss between values many steps apart: counts of single cells, say, change as much for any two values.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.graphs import FullDomain, PerAttribute, Public, Secrets
from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.queries import Query, Selection
from blowfish_privacy.release import public_totals

if TYPE_CHECKING:
    from blowfish_privacy.release.plan import Plan

_MOST_PAIRS = 10_000


@dataclass(frozen=True)
class AnyChange:
    """What is lost on any change of some attributes, at most."""

    amount: Fraction
    pair: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None
    """Two records that lose as much, where they are known; they name what the release looks at."""


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
    if public_totals.published(plan.query, policy, plan.mechanism) is not None:
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
