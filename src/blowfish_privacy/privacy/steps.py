"""What neighbouring tables look like to a mechanism that goes by the edges of a graph itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from blowfish_privacy.graphs import FullDomain, Public, SecretGraph
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries.counts import HistogramForm


@dataclass(frozen=True)
class Steps:
    """What neighbouring tables look like to a query of some attributes: so many records each move along an edge."""

    graph: SecretGraph
    rows: int
    forced: bool
    """Whether known facts force records to move together, so that this is a bound."""


@lru_cache(maxsize=64)
def steps(policy: Policy, names: tuple[str, ...]) -> Steps:
    """Say along which pairs, and how many, records move as far as some attributes can see.

    Where known facts force records to move together, the histogram of these attributes changes by at most some S:
    S / 2 records, then, have moved, anywhere. Under secret-moves all records that move follow secret pairs.
    """
    graph = policy.graph.project(names)
    if not policy.known:
        return Steps(graph, policy.rows_per_person, forced=False)
    from blowfish_privacy.known_facts.theorems import most_secret_moves, under_facts

    form = HistogramForm(policy.domain.project(names))
    change = under_facts(form, policy)
    if change is None or not change.together:
        return Steps(graph, policy.rows_per_person, forced=change is not None)
    if not change.value:
        return Steps(Public().on(form.domain), 1, forced=True)
    moved = most_secret_moves(policy, names)
    if moved is not None:
        return Steps(graph, moved, forced=True)
    return Steps(FullDomain().on(form.domain), change.value // 2, forced=True)
