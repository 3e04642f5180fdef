"""The heaviest cycle through one vertex, the hub.

Without the hub the cycle is a path. Ignoring directions, the rest of the graph is a tree of biconnected blocks that
meet in single vertices, and a path crosses each block at most once. From the leaves of this tree to its root, the best
*legs* are kept for each vertex where blocks meet: from the hub to it, and from it to the hub, inside the subtree. A
block then sees the hub as close to each of its vertices as their legs say; a path that turns where several blocks hang
is found in the last of them. A leg's weight is a proven bound, so what is put together from legs is one too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from blowfish_privacy.known_facts.search.paths import SMALL, Clock, Route, Weights, heaviest_path, path_at_most


def heavier(weights: Weights, first: Route | None, second: Route | None) -> Route | None:
    """Combine the results of two searches: the larger bound and the heavier cycle."""
    if first is None or second is None:
        return first or second
    rings = (first.vertices, second.vertices)
    return Route(max(first.bound, second.bound), max(rings, key=lambda ring: weigh(weights, ring)))


def weigh(weights: Weights, ring: Sequence[int]) -> float:
    """Add up the weights of a cycle's arcs; an unknown cycle weighs less than any other."""
    arcs = zip(ring, [*ring[1:], *ring[:1]], strict=True)
    return sum(weights[arc] for arc in arcs) if ring else float("-inf")


def among(weights: Weights, vertices: set[int]) -> Weights:
    """Keep the arcs between some vertices."""
    return {(a, b): weight for (a, b), weight in weights.items() if a in vertices and b in vertices}


def biconnected(arcs: Iterable[tuple[int, int]]) -> list[set[int]]:
    """Return the biconnected components of a graph, ignoring directions."""
    import networkx as nx

    parts: Any = nx.biconnected_components(nx.Graph(list(arcs)))
    return list(parts)


@dataclass(frozen=True)
class Tree:
    """The blocks of a graph without its hub, each listed after its parent."""

    blocks: tuple[tuple[int, ...], ...]
    doors: tuple[int | None, ...]
    """The vertex through which each block is left towards the root."""

    @classmethod
    def of(cls, weights: Weights) -> Tree:
        """Root the blocks of each connected part at the largest one, which is then searched only once."""
        blocks = sorted((tuple(sorted(block)) for block in biconnected(weights)), key=len, reverse=True)
        holding: defaultdict[int, list[int]] = defaultdict(list)
        for number, block in enumerate(blocks):
            for vertex in block:
                holding[vertex].append(number)
        doors: dict[int, int | None] = {}
        for root in range(len(blocks)):
            queue = [] if root in doors else [root]
            doors.setdefault(root, None)
            for number in queue:
                for vertex in blocks[number]:
                    fresh = [other for other in holding[vertex] if other not in doors]
                    doors |= dict.fromkeys(fresh, vertex)
                    queue += fresh
        return cls(tuple(blocks[number] for number in doors), tuple(doors.values()))


@dataclass
class _Legs:
    """The best legs at each vertex: directly to the hub, or through one of the blocks below it."""

    direct: Mapping[int, int]
    hanging: defaultdict[int, list[Route]] = field(default_factory=lambda: defaultdict(list))

    def within(self, block: Sequence[int]) -> dict[int, Route]:
        """Return the best leg known so far of each vertex of a block."""
        legs: dict[int, Route] = {}
        for vertex in block:
            options = list(self.hanging[vertex])
            if vertex in self.direct:
                options.append(Route(self.direct[vertex], (vertex,)))
            if options:
                legs[vertex] = max(options, key=lambda route: route.bound)
        return legs


def through_hub(hub: int, tree: Tree, weights: Weights, clock: Clock) -> Route | None:
    """Find the heaviest cycle through the hub."""
    into = _Legs({b: weight for (a, b), weight in weights.items() if a == hub})
    out = _Legs({a: weight for (a, b), weight in weights.items() if b == hub})
    best: Route | None = None
    for vertex in into.direct.keys() & out.direct.keys():
        best = heavier(weights, best, Route(into.direct[vertex] + out.direct[vertex], (hub, vertex)))
    tasks = sum(
        1 if door is None else 3 for block, door in zip(tree.blocks, tree.doors, strict=True) if len(block) > SMALL
    )
    for block, door in reversed(list(zip(tree.blocks, tree.doors, strict=True))):
        inner = among(weights, set(block))
        starts, ends = into.within(block), out.within(block)

        def search(first: Mapping[int, Route], last: Mapping[int, Route]) -> Route | None:
            path = heaviest_path(block, inner, _bounds(first), _bounds(last), clock, tasks)  # noqa: B023
            return path and Route(path.bound, _joined(path.vertices, first, last))

        if _could_beat(best, block, inner, starts, ends):
            route = search(starts, ends)
            best = heavier(weights, best, route and Route(route.bound, _closed(hub, route.vertices)))
        if door is not None:
            at_door = {door: Route(0, (door,))}
            for legs, route in ((into, search(starts, at_door)), (out, search(at_door, ends))):
                if route is not None:
                    legs.hanging[door].append(route)
            tasks -= 2 * (len(block) > SMALL)
        tasks -= len(block) > SMALL
    return best


def _bounds(legs: Mapping[int, Route]) -> dict[int, int]:
    return {vertex: leg.bound for vertex, leg in legs.items()}


def _joined(path: tuple[int, ...], first: Mapping[int, Route], last: Mapping[int, Route]) -> tuple[int, ...]:
    """Connect a path with the legs at its ends; empty if one of the three is unknown."""
    if not path:
        return ()
    before, after = first[path[0]].vertices, last[path[-1]].vertices
    return (*before[:-1], *path, *after[1:]) if before and after else ()


def _closed(hub: int, path: tuple[int, ...]) -> tuple[int, ...]:
    return (hub, *path) if path else ()


def _could_beat(
    best: Route | None, block: Sequence[int], weights: Weights, starts: Mapping[int, Route], ends: Mapping[int, Route]
) -> bool:
    return best is None or path_at_most(block, weights, _bounds(starts), _bounds(ends)) > best.bound
