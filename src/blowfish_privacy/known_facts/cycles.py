"""A quick heuristic for a long cycle: extend a path at both ends, and rotate an end that is stuck (Pósa's rotations).

In dense graphs it often visits every vertex, so that nothing is left to search; elsewhere it is a starting point.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

import numpy as np

from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.progress import task

_STEPS = 60
"""How many steps are tried per vertex."""
_TURN = 0.8
"""How often a stuck end is rotated; otherwise the other end is tried."""


def long_cycle(vertices: Sequence[int], arcs: Mapping[tuple[int, int], int], through: int | None) -> tuple[int, ...]:
    """Look for a long cycle along arcs that exist both ways, through a given vertex if any; empty if none is found."""
    near: defaultdict[int, list[int]] = defaultdict(list)
    for a, b in arcs:
        if (b, a) in arcs and b != through:
            near[a].append(b)
    path = [min((v for v in vertices if v != through), key=lambda vertex: len(near[vertex]))]
    best = _closed(path, near, through)
    # Any order will do, as long as it is always the same.
    random = Random(0)  # noqa: S311
    for _ in range(_STEPS * len(vertices)):
        index = {vertex: number for number, vertex in enumerate(path)}
        fresh = [v for v in near[path[-1]] if v not in index]
        if fresh:
            path.append(min(fresh, key=lambda vertex: sum(v not in index for v in near[vertex])))
            continue
        best = max(best, _closed(path, near, through), key=len)
        if len(best) == len(vertices):
            break
        turns = [at for v in near[path[-1]] if (at := index[v] + 1) < len(path) - 1]
        onward = [at for at in turns if any(v not in index for v in near[path[at]])]
        if turns and (onward or random.random() < _TURN):
            at = random.choice(onward or turns)
            path[at:] = path[: at - 1 : -1]
        else:
            path.reverse()
    return best


def _closed(path: Sequence[int], near: Mapping[int, Sequence[int]], through: int | None) -> tuple[int, ...]:
    """Shorten a path until it closes to a cycle."""
    home = set(near[path[0] if through is None else through])
    closing = [index for index, vertex in enumerate(path) if vertex in home]
    if through is not None:
        return (through, *path[closing[0] : closing[-1] + 1]) if len(closing) > 1 else ()
    return tuple(path[: closing[-1] + 1]) if closing and closing[-1] > 1 else ()


# The heaviest simple path and the heaviest simple cycle of a small part of a graph.
#
# Up to a dozen or so vertices, dynamic programming over all subsets (Held and Karp); beyond that, OR-tools' circuit
# constraint, whose bound is proven even if its time runs out. Without OR-tools a sum of weights is the bound.

Weights: TypeAlias = Mapping[tuple[int, int], int]

SMALL = 13
"""Up to this many vertices are searched by subsets."""
LARGEST = 2**50
"""The sum of all weights must stay below this, so that sums are exact in floating point, too."""
_NONE = -(2**60)


@dataclass(frozen=True)
class Route:
    """The vertices of the best path or cycle found, and a bound that none exceeds."""

    bound: int
    vertices: tuple[int, ...]


@dataclass
class Clock:
    """How much work may still be spent on the search.

    The solver counts work in deterministic seconds of its own rather than reading a clock, so that the same question
    always has the same answer: a certificate must not depend on how busy the machine was.
    """

    rest: float

    def left(self, shares: int = 1) -> float:
        """Return the share of the remaining work for one of several tasks."""
        return max(self.rest, 0) / max(shares, 1)


def heaviest_path(
    vertices: Sequence[int],
    weights: Weights,
    start: Mapping[int, int],
    end: Mapping[int, int],
    clock: Clock,
    shares: int = 1,
) -> Route | None:
    """Find the heaviest path of at least two vertices, including the weights of its start and its end."""
    if not any(u != v for u in start for v in end):
        return None
    if len(vertices) > SMALL:
        outer = max(vertices) + 1
        closed = dict(weights)
        closed |= {(outer, vertex): weight for vertex, weight in start.items()}
        closed |= {(vertex, outer): weight for vertex, weight in end.items()}
        bound = path_at_most(vertices, weights, start, end)
        cycle = _circuit([*vertices, outer], closed, len(vertices) + 1, bound, (clock, shares), through=outer)
        return cycle and Route(cycle.bound, tuple(vertex for vertex in cycle.vertices if vertex != outer))
    return _by_subsets(list(vertices), weights, start, end, len(vertices))


def heaviest_cycle_within(vertices: Sequence[int], weights: Weights, most: int, clock: Clock) -> Route | None:
    """Find the heaviest cycle of at most ``most`` vertices."""
    if len(vertices) > SMALL:
        route = _circuit(list(vertices), weights, most, at_most(vertices, weights, most), (clock, 1))
        short = there_and_back(weights)
        return heavier(weights, short and Route(weights[short] + weights[short[1], short[0]], short), route)
    best: Route | None = None
    for index, first in enumerate(vertices):
        home = {vertex: weights[vertex, first] for vertex in vertices[index:] if (vertex, first) in weights}
        route = _by_subsets(list(vertices[index:]), weights, {first: 0}, home, most)
        best = heavier(weights, best, route)
    return best


def there_and_back(weights: Weights) -> tuple[int, int] | None:
    """Return the two vertices whose arcs to each other are heaviest; None if no two have arcs both ways."""
    pairs = [(a, b) for a, b in weights if a < b and (b, a) in weights]
    return max(pairs, key=lambda pair: weights[pair] + weights[pair[1], pair[0]], default=None)


def _by_subsets(
    vertices: list[int], weights: Weights, start: Mapping[int, int], end: Mapping[int, int], most: int
) -> Route | None:
    """Compute the heaviest path through each set of vertices, for each choice of the last one."""
    count = len(vertices)
    arcs = np.array([[weights.get((a, b), _NONE) for b in vertices] for a in vertices], dtype=np.int64)
    stop = np.array([end.get(vertex, _NONE) for vertex in vertices], dtype=np.int64)
    sets = np.arange(1 << count)
    sizes = np.bitwise_count(sets)
    table = np.full((1 << count, count), _NONE, dtype=np.int64)
    for index, vertex in enumerate(vertices):
        table[1 << index, index] = start.get(vertex, _NONE)
    best, where = _NONE // 2, (0, 0)
    for size in range(2, min(most, count) + 1):
        for last in range(count):
            now = sets[(sizes == size) & (sets >> last & 1 == 1)]
            table[now, last] = np.maximum((table[now ^ (1 << last)] + arcs[:, last]).max(axis=1), _NONE)
            closed = table[now, last] + stop[last]
            top = int(closed.argmax())
            if closed[top] > best:
                best, where = int(closed[top]), (int(now[top]), last)
    if not where[0]:
        return None
    return Route(best, tuple(vertices[index] for index in _trace(table, arcs, *where)))


def _trace(table: Integers, arcs: Integers, members: int, last: int) -> list[int]:
    path = [last]
    while members & (members - 1):
        value = table[members, last]
        members ^= 1 << last
        last = int(np.flatnonzero(np.maximum(table[members] + arcs[:, last], _NONE) == value)[0])
        path.append(last)
    return path[::-1]


def at_most(vertices: Sequence[int], weights: Weights, most: int) -> int:
    """Return a sum of weights that no cycle of at most ``most`` vertices exceeds."""
    return sum(sorted(_entering(vertices, weights).values(), reverse=True)[:most])


def path_at_most(vertices: Sequence[int], weights: Weights, start: Mapping[int, int], end: Mapping[int, int]) -> int:
    """Return a sum of weights that no path of at least two vertices exceeds; 0 if there is no such path."""
    entering = _entering(vertices, weights)
    # A path enters each of its vertices but the first.
    first = sorted(((weight - entering[vertex], vertex) for vertex, weight in start.items()), reverse=True)[:2]
    last = sorted(((weight, vertex) for vertex, weight in end.items()), reverse=True)[:2]
    ends = [one + other for one, u in first for other, v in last if u != v]
    return sum(entering.values()) + max(ends) if ends else 0


def _entering(vertices: Sequence[int], weights: Weights) -> dict[int, int]:
    entering = dict.fromkeys(vertices, 0)
    for (_, b), weight in weights.items():
        entering[b] = max(entering[b], weight)
    return entering


def _circuit(
    vertices: list[int],
    weights: Weights,
    most: int,
    bound: int,
    share: tuple[Clock, int],
    *,
    through: int | None = None,
) -> Route | None:
    """Ask OR-tools for a cycle of at least three vertices; a path is a cycle through an outer vertex."""
    guess = long_cycle(vertices, weights, through)
    guess = guess if len(guess) <= most else ()
    followed = dict(zip(guess, guess[1:] + guess[:1], strict=True))
    if guess and sum(weights[arc] for arc in followed.items()) == bound:
        return Route(bound, guess)
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        return Route(bound, guess)
    clock, work = share[0], share[0].left(share[1])
    if work <= 0:
        return Route(bound, guess)
    model = cp_model.CpModel()
    number = {vertex: index for index, vertex in enumerate(vertices)}
    used: dict[tuple[int, int], Any] = {arc: model.new_bool_var("") for arc in weights}
    loops = [(number[v], number[v], model.new_bool_var("")) for v in vertices if v != through]
    model.add_circuit([*((number[a], number[b], literal) for (a, b), literal in used.items()), *loops])
    model.add_bool_or(list(used.values()))
    if most < len(vertices):
        model.add(sum(used.values()) <= most)
    for (a, b), literal in used.items():
        if a < b and (b, a) in used:
            # Cycles of two vertices are handled elsewhere; excluding them makes the relaxation far tighter.
            model.add_at_most_one(literal, used[b, a])
    model.maximize(sum(weights[arc] * literal for arc, literal in used.items()))
    for (a, b), literal in used.items():
        if guess:
            model.add_hint(literal, followed.get(a) == b)
    solver = cp_model.CpSolver()
    solver.parameters.max_deterministic_time = work
    solver.parameters.num_workers = 1  # several are only deterministic if they wait for each other, which is slower
    solver.parameters.random_seed = 1
    solver.parameters.linearization_level = 2
    status = solver.solve(model)
    clock.rest -= solver.response_proto.deterministic_time
    if status == cp_model.INFEASIBLE:
        return None
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Route(bound, guess)
    following = {a: b for (a, b), literal in used.items() if solver.value(literal)}
    proven = round(solver.objective_value if status == cp_model.OPTIMAL else np.floor(solver.best_objective_bound))
    cycle = [next(iter(following)) if through is None else through]
    while following[cycle[-1]] != cycle[0]:
        cycle.append(following[cycle[-1]])
    return Route(min(bound, int(proven)), tuple(cycle))


# The heaviest cycle through one vertex, the hub.
#
# Without the hub the cycle is a path. Ignoring directions, the rest of the graph is a tree of biconnected blocks that
# meet in single vertices, and a path crosses each block at most once. From the leaves of this tree to its root, the
# best *legs* are kept for each vertex where blocks meet: from the hub to it, and from it to the hub, inside the
# subtree. A block then sees the hub as close to each of its vertices as their legs say; a path that turns where several
# blocks hang is found in the last of them. A leg's weight is a proven bound, so what is put together from legs is one
# too.


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

    components: Any = nx.biconnected_components(nx.Graph(list(arcs)))
    return list(components)


@dataclass(frozen=True)
class BlockTree:
    """The blocks of a graph without its hub, each listed after its parent."""

    blocks: tuple[tuple[int, ...], ...]
    doors: tuple[int | None, ...]
    """The vertex through which each block is left towards the root."""

    @classmethod
    def of(cls, weights: Weights) -> BlockTree:
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


def through_hub(hub: int, tree: BlockTree, weights: Weights, clock: Clock) -> Route | None:
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

        if best is None or path_at_most(block, inner, _bounds(starts), _bounds(ends)) > best.bound:
            route = search(starts, ends)
            best = heavier(weights, best, route and Route(route.bound, route.vertices and (hub, *route.vertices)))
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


# The heaviest simple cycle of a directed graph: how much a query can change when records move in a ring.
#
# Finding it is hard in general, so the graph is split first. A cycle lies in one strongly connected component and,
# ignoring directions, in one biconnected part of it. Inside a part one vertex is often adjacent to most others (the
# class outside all boxes): a cycle through such a *hub* is a path in the rest, and a path crosses the rest's own
# biconnected parts one after another. Parts are searched in order of the most that they could weigh,
# until none can beat the best.


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
    components = [(at_most(sorted(part), inner, most), sorted(part), inner) for part, inner in _components(weights)]
    best: Route | None = None
    for limit, part, inner in sorted(components, key=lambda entry: -entry[0]):
        if best is not None and limit <= best.bound:
            break
        route = _within(part, inner, most, clock)
        best = heavier(weights, best, route and Route(min(route.bound, limit), route.vertices))
    return best


def _components(weights: Weights) -> Iterator[tuple[set[int], Weights]]:
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
        tree = BlockTree.of(rest)
        if len(tree.blocks) > 1:
            ring, limit = long_cycle(part, weights, None), at_most(part, weights, most)
            if weigh(weights, ring) == limit:
                return Route(limit, ring)
            return heavier(weights, through_hub(hub, tree, weights, clock), _heaviest(rest, most, clock))
    return heaviest_cycle_within(part, weights, most, clock)
