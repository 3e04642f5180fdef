"""The heaviest simple cycle of a directed graph: how much a query can change when records move in a ring.

Finding it is hard in general, so the graph is split first. A cycle lies in one strongly connected component and,
ignoring directions, in one biconnected part of it. Inside a part one vertex is often adjacent to most others (the
class outside all boxes): a cycle through such a *hub* is a path in the rest, and a path crosses the rest's own
biconnected parts one after another, see :mod:`.hubs`. Parts are searched in order of the most that they could weigh,
until none can beat the best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from blowfish_privacy.known_facts.search.hubs import Tree, among, biconnected, heavier, through_hub, weigh
from blowfish_privacy.known_facts.search.paths import (
    LARGEST,
    SMALL,
    Clock,
    Route,
    Weights,
    at_most,
    heaviest_cycle_within,
    there_and_back,
)
from blowfish_privacy.known_facts.search.tours import long_cycle
from blowfish_privacy.support.progress import task


@dataclass(frozen=True)
class Cycle:
    """The heaviest cycle, or a bound on its weight and the best cycle found."""

    weight: int
    """No cycle weighs more."""
    exact: bool
    """Whether ``nodes`` is a cycle of this weight."""
    nodes: tuple[int, ...]
    """The best cycle found, in order; empty only if the search was cut short and no two nodes have arcs both ways."""


def heaviest_cycle(
    size: int,
    arcs: Mapping[tuple[int, int], int],
    nodes: Sequence[int],
    *,
    longest: int | None = None,
    seconds: float = 8,
) -> Cycle | None:
    """Find the simple cycle (two nodes suffice) with the largest sum of arc and node weights; None if there is none.

    ``longest`` is the most nodes it may have. If the solver runs out of ``seconds``, which it counts itself, the weight
    is a proven bound.
    """
    most = size if longest is None else min(longest, size)
    joint = {(a, b): weight + nodes[b] for (a, b), weight in arcs.items() if a != b}
    if most < 2 or not joint:
        return None
    shift = max(0, sum(map(abs, joint.values())).bit_length() - LARGEST.bit_length() + 1)
    weights = {arc: -(-weight >> shift) for arc, weight in joint.items()}
    with task("Looking for the most records that move together"):
        route = _heaviest(weights, most, Clock(seconds))
    if route is None:
        return None
    bound, ring = route.bound << shift, route.vertices or there_and_back(joint) or ()
    weighs = [joint[arc] for arc in zip(ring, ring[1:] + ring[:1], strict=True)]
    return Cycle(bound, bool(ring) and sum(weighs) == bound, ring)


def _heaviest(weights: Weights, most: int, clock: Clock) -> Route | None:
    """Search the parts that could contain the heaviest cycle."""
    parts = [(at_most(sorted(part), inner, most), sorted(part), inner) for part, inner in _parts(weights)]
    best: Route | None = None
    for limit, part, inner in sorted(parts, key=lambda entry: -entry[0]):
        if best is not None and limit <= best.bound:
            break
        route = _within(part, inner, most, clock)
        best = heavier(weights, best, route and Route(min(route.bound, limit), route.vertices))
    return best


def _parts(weights: Weights) -> Iterator[tuple[set[int], Weights]]:
    """Split the graph into parts such that every cycle lies within one of them."""
    import networkx as nx

    directed: nx.DiGraph[int] = nx.DiGraph(list(weights))
    for strong in nx.strongly_connected_components(directed):
        if len(strong) > 1:
            for part in biconnected(directed.subgraph(strong).edges):
                yield part, among(weights, part)


def _within(part: list[int], weights: Weights, most: int, clock: Clock) -> Route | None:
    """Search one biconnected part, without its hub if that splits it, unless a cycle visits all vertices."""
    if len(part) > SMALL and most >= len(part):
        hub = Counter(end for arc in weights for end in arc).most_common(1)[0][0]
        rest = among(weights, set(part) - {hub})
        tree = Tree.of(rest)
        if len(tree.blocks) > 1:
            ring, limit = long_cycle(part, weights, None), at_most(part, weights, most)
            if weigh(weights, ring) == limit:
                return Route(limit, ring)
            return heavier(weights, through_hub(hub, tree, weights, clock), _heaviest(rest, most, clock))
    return heaviest_cycle_within(part, weights, most, clock)
