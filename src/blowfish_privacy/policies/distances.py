"""How many steps apart values are, and which are furthest apart: how strong a promise is where it is weakest."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import inf
from typing import TYPE_CHECKING

from blowfish_privacy.domain import Cell, Domain, quoted
from blowfish_privacy.errors import DomainError, brief
from blowfish_privacy.graphs.graph import Hops

if TYPE_CHECKING:
    from blowfish_privacy.policies.policy import Policy

_MOST_NAMED = 4


def furthest(
    policy: Policy, names: Collection[str] | None = None, least: int = 2
) -> Iterator[tuple[Domain, str, Hops]]:
    """For each attribute, describe two values ``least`` steps apart or more but still protected, with their steps.

    Here and below, of some attributes alone if they are named.
    """
    for domain, first, last, hops in _ends_of(policy, names):
        if least <= hops < inf:
            alone = f"{domain.say(first)} and {domain.attributes[0].say(last[0])}"
            pair = alone if len(domain.names) == 1 else f"({domain.say(first)}) and ({domain.say(last)})"
            yield domain, pair, hops


def furthest_apart(
    policy: Policy, names: Collection[str] | None = None
) -> tuple[dict[str, object], dict[str, object], Hops] | None:
    """Find two records that differ in all that is secret and are many steps apart; None if they are no chain apart."""
    one: dict[str, object] = {}
    other: dict[str, object] = {}
    for domain, first, last, hops in _ends_of(policy, names):
        if 0 < hops < inf:
            one.update(domain.record(first))
            other.update(domain.record(last))
    hops = policy.distance(one, other) if one else 0
    return (one, other, hops) if 1 < hops < inf else None


def furthest_together(policy: Policy, names: Collection[str] | None = None) -> tuple[str, Hops] | None:
    """Describe two values more steps apart than any that differ in a single attribute; None if there are none."""
    alone = max((hops for *_, hops in _ends_of(policy, names) if hops < inf), default=0)
    furthest = furthest_apart(policy, names)
    if furthest is None or furthest[-1] <= alone:
        return None
    one, other, hops = furthest
    domain = policy.domain.project(list(one))
    if len(one) <= _MOST_NAMED:
        return f"({domain.say(domain.cell(one))}) and ({domain.say(domain.cell(other))})", hops
    named = ", ".join(map(quoted, domain.names[:_MOST_NAMED]))
    return f"Values that differ as far in {named} and {len(one) - _MOST_NAMED:,} more together", hops


def _ends_of(policy: Policy, names: Collection[str] | None) -> Iterator[tuple[Domain, Cell, Cell, Hops]]:
    return (end for end in policy.ends if names is None or {*end[0].names} <= {*names})


def ends(policy: Policy) -> tuple[tuple[Domain, Cell, Cell, Hops], ...]:
    """Two values many steps apart for each attribute, or for all together if pairs depend on every attribute."""
    if not policy.graph.homogeneous:
        first, last = policy.graph.furthest()
        return ((policy.domain, first, last, _apart(policy, 0, first, last)),)
    ends: list[tuple[Domain, Cell, Cell, Hops]] = []
    for axis, name in enumerate(policy.domain):
        projected = policy.graph.project([name])
        first, last = projected.furthest()
        hops = _apart(policy, axis, first, last)
        if hops == inf:
            # No chain of steps leads from end to end; fall back on a wide secret pair.
            first, last = projected.widest_edge(name) or (first, last)
            hops = _apart(policy, axis, first, last)
        ends.append((projected.domain, first, last, hops))
    return tuple(ends)


def cells(policy: Policy, first: Mapping[str, object], second: Mapping[str, object]) -> tuple[Cell, Cell]:
    """Turn two records into cells; both may omit the same attributes."""
    for record in (first, second):
        if not isinstance(record, Mapping) or not record:
            raise DomainError(f"a value must name at least one attribute, got {brief(record)}.", hint='{"age": 30}.')
    one_sided = set(first) ^ set(second)
    if one_sided:
        raise DomainError(f"only one of the two records names {', '.join(sorted(map(str, one_sided)))}.")
    omitted = [name for name in policy.domain if name not in first]
    if omitted and not policy.graph.homogeneous:
        raise DomainError(f"the secret pairs of this policy depend on every attribute: name {', '.join(omitted)} too.")
    rest = {name: policy.domain[name].value(0) for name in omitted}
    return policy.domain.cell({**rest, **first}), policy.domain.cell({**rest, **second})


def _apart(policy: Policy, axis: int, first: Cell, last: Cell) -> Hops:
    """Count the steps between values of consecutive attributes, starting at ``axis``; the others are equal."""
    zeros = (0,) * len(policy.domain.names)
    x, y = ((*zeros[:axis], *positions, *zeros[axis + len(positions) :]) for positions in (first, last))
    return policy.apart(x, y)
