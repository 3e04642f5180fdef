"""A quick heuristic for a long cycle: extend a path at both ends, and rotate an end that is stuck (Pósa's rotations).

In dense graphs it often visits every vertex, so that nothing is left to search; elsewhere it is a starting point.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from random import Random

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
