"""What must not be overlooked in a release: what has no noise, what weights cost, and groups published exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from blowfish_privacy.domain import quoted
from blowfish_privacy.known_facts.facts import crosses
from blowfish_privacy.privacy.sensitivity import sensitivity
from blowfish_privacy.support.exact import about

if TYPE_CHECKING:
    from blowfish_privacy.release.plan import Plan

NO_NOISE = "NO NOISE"
_LISTED = 10


def notices(plan: Plan) -> list[str]:
    """Say loudly what must not be overlooked, in any group."""
    return [*planned_exactly(plan), *own_notices(plan)]


def own_notices(plan: Plan) -> list[str]:
    """Say the same of a plan, or of the costliest of its groups, as documents do: each group has its own there."""
    said: list[str] = []
    if plan.amount == 0 and plan.policy.known and plan.policy.graph.project(plan.query.attributes).has_edges:
        said.append(
            "NO NOISE: no secret pair that the known facts leave possible changes this answer, so it will be "
            "published exactly. It may tell any other values apart."
        )
    elif plan.amount == 0:
        attributes = ", ".join(map(quoted, plan.query.attributes))
        said.append(
            f"NO NOISE: under this policy nothing in this answer about {attributes} is secret, so it will be "
            "published exactly. If that is not what you want, change the policy."
        )
    selection = plan.selection
    which = "in each group" if selection.by else "that are selected"
    records = f"The number of records {which}" if selection else "The number of records"
    said += [*plan.mechanism.notices_for(records), *_weights(plan)]
    if plan.amount and crosses(plan.policy):
        said.append(
            "Plain differential privacy does not keep its promise against somebody who knows this policy's facts; "
            "a comparison with it is one of accuracy only."
        )
    if not plan.certificate.sensitivity.exact:
        said.append("The sensitivity is an upper bound: the true privacy loss may be smaller than stated.")
    return said


def _weights(plan: Plan) -> Iterator[str]:
    """Say what weights cost: the noise covers the heaviest record that the domain declares."""
    weight, policy = plan.query.weighted_by, plan.population.policy
    if weight is None or not plan.amount:
        return
    largest = policy.domain[weight].show(policy.domain[weight].size - 1)
    less = f"A smaller declared range of {weight} (outside: clamp) means less noise."
    usual = sensitivity(plan.query.unweighted(), policy).value
    if not usual or plan.query.divisor_measured or policy.known:
        yield f"Weights reach {largest}, and the noise covers the heaviest record. {less}"
    else:
        times = about(float(sensitivity(plan.query, policy).value / usual))
        yield f"Weights reach {largest}, so the noise is {times} times that of an answer without weights. {less}"


def planned_exactly(plan: Plan) -> list[str]:
    """Say which groups of a plan will be published exactly, where others will not."""
    if not plan.parts or not plan.amount:
        return []
    by = plan.policy.domain.project(plan.selection.by)
    said = of_groups((by.say(cell), part.notices) for cell, part in plan.parts.items())
    return [notice for notice in said if notice.startswith(NO_NOISE)]


def of_groups(said: Iterable[tuple[str, Iterable[str]]]) -> list[str]:
    """Say of some groups only that they have no noise; what else is said is said of the release."""
    every, by_notice = 0, dict[str, list[str]]()
    for group, notices in said:
        every += 1
        for notice in notices:
            by_notice.setdefault(notice, []).append(group)
    return [
        _named(notice, groups) if notice.startswith(NO_NOISE) and len(groups) < every else notice
        for notice, groups in by_notice.items()
    ]


def _named(notice: str, groups: Sequence[str]) -> str:
    more = len(groups) - _LISTED
    listed = "; ".join(groups[:_LISTED]) + (f"; and {more:,} more groups" if more > 0 else "")
    return f"{NO_NOISE} for {listed}{notice.removeprefix(NO_NOISE)}"
