"""The heaviest simple path and the heaviest simple cycle of a small part of a graph.

Up to a dozen or so vertices, dynamic programming over all subsets (Held and Karp); beyond that, OR-tools' circuit
constraint, whose bound is proven even if its time runs out. Without OR-tools a sum of weights is the bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from blowfish_privacy.known_facts.search.tours import long_cycle
from blowfish_privacy.support.arrays import Integers

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
        return _heavier(short and Route(weights[short] + weights[short[1], short[0]], short), route)
    best: Route | None = None
    for index, first in enumerate(vertices):
        home = {vertex: weights[vertex, first] for vertex in vertices[index:] if (vertex, first) in weights}
        route = _by_subsets(list(vertices[index:]), weights, {first: 0}, home, most)
        best = _heavier(best, route)
    return best


def _heavier(first: Route | None, second: Route | None) -> Route | None:
    routes = [route for route in (first, second) if route is not None]
    return max(routes, key=lambda route: route.bound, default=None)


def there_and_back(weights: Weights) -> tuple[int, int] | None:
    """Return the two vertices whose arcs to each other are heaviest; None if no two have arcs both ways."""
    pairs = [(a, b) for a, b in weights if a < b and (b, a) in weights]
    return max(pairs, key=lambda pair: weights[pair] + weights[pair[1], pair[0]], default=None)


def _by_subsets(
    vertices: list[int], weights: Weights, start: Mapping[int, int], end: Mapping[int, int], most: int
) -> Route | None:
    """Compute the heaviest path through each set of vertices, for each choice of the last one."""
    count = len(vertices)
    arcs = _matrix(vertices, weights)
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


def _matrix(vertices: Sequence[int], weights: Weights) -> Integers:
    return np.array([[weights.get((a, b), _NONE) for b in vertices] for a in vertices], dtype=np.int64)


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
    return Route(min(bound, int(proven)), _walk(following, through))


def _walk(following: Mapping[int, int], through: int | None) -> tuple[int, ...]:
    start = through if through is not None else next(iter(following))
    walk = [start]
    while following[walk[-1]] != start:
        walk.append(following[walk[-1]])
    return tuple(walk)
