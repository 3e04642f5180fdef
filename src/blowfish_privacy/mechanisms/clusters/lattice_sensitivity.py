"""How much one secret move can change the sums on a lattice, in records.

Along one axis a record is shared between two neighbouring nodes; a move changes that by a total variation TV. For a
product of axes TV <= 1 - prod(1 - TV_j) <= sum TV_j, and the sums change by 2 TV in L1. Moves never leave a piece of an
axis, so pieces do not matter. See docs/proofs/soft_grid.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from blowfish_privacy.aggregates import Axis, Lattice
from blowfish_privacy.domain import Cell
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.graphs.graph import Edge
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.sensitivity import Sensitivity, steps

_MOST_POSITIONS = 2**20
_MOST_EDGES = 20_000


def lattice_sensitivity(lattice: Lattice, names: tuple[str, ...], policy: Policy) -> Sensitivity:
    """Bound the L1 change of the sums, in records, over all neighbours; exact where a secret pair attains it."""
    neighbours = steps(policy, names)
    graph = neighbours.graph
    bound = 2 * most_varied(lattice, graph)
    if not bound:
        theorem = "no secret pair changes the lattice [docs/proofs/soft_grid.md]"
        return Sensitivity(Fraction(0), exact=True, theorem=theorem, witness=None)
    worst = max(_candidates(lattice, graph), key=lambda edge: change(lattice, *edge), default=None)
    attained = worst is not None and change(lattice, *worst) == bound and not neighbours.forced
    witness = None
    if worst is not None and attained:
        witness = ((graph.domain.record(worst[0]),), (graph.domain.record(worst[1]),))
    theorem = "shares change by at most twice the total variation of a move [docs/proofs/soft_grid.md]"
    if neighbours.rows > 1:
        theorem += f", times {neighbours.rows} " + (
            "records that move together" if neighbours.forced else "rows per person"
        )
    return Sensitivity(neighbours.rows * bound, attained, theorem, witness)


def change(lattice: Lattice, x: Cell, y: Cell) -> Fraction:
    """Return the L1 change of the sums, in records, when a record moves from x to y: exact."""
    first, second = column(lattice, x), column(lattice, y)
    nodes = {*first, *second}
    return Fraction(sum(abs(first.get(node, 0) - second.get(node, 0)) for node in nodes), lattice.unit)


def column(lattice: Lattice, x: Cell) -> dict[tuple[int, ...], int]:
    """Return the shares that a record at x gives its nodes."""
    parts: list[list[tuple[int, int]]] = []
    for axis, position in zip(lattice.axes, x, strict=True):
        node, share = (int(each[0]) for each in axis.locate(np.array([position])))
        parts.append([(node, axis.resolution - share), *([(node + 1, share)] if share else [])])
    return {tuple(node for node, _ in corner): prod(share for _, share in corner) for corner in product(*parts)}


def most_varied(lattice: Lattice, graph: SecretGraph, moves: Sequence[int] | None = None) -> Fraction:
    """Bound the largest total variation of a secret move, at most 1; ``moves`` are the longest along each axis."""
    if graph.enumerated is not None and len(graph.enumerated) <= _MOST_EDGES:
        return max((change(lattice, *edge) / 2 for edge in graph.enumerated), default=Fraction(0))
    moves = largest_moves(graph) if moves is None else moves
    alone = [along(axis, move) for axis, move in zip(lattice.axes, moves, strict=True)]
    if graph.one_at_a_time:
        return max(alone)
    together = 1 - prod((1 - each for each in alone), start=Fraction(1))
    return min(together, max(_linear(lattice, graph, moves), *alone))


def largest_moves(graph: SecretGraph) -> tuple[int, ...]:
    """Return the most positions that one edge moves along each attribute."""
    return tuple(graph.largest_move(name) for name in graph.domain.names)


def along(axis: Axis, move: int) -> Fraction:
    """Return the largest total variation of a move by this many positions along one axis, inside a piece."""
    if not move or not axis.shared:
        return Fraction(0)
    if axis.size > _MOST_POSITIONS:
        return min(Fraction(1), _slope(axis) * move + Fraction(1, axis.resolution))
    return max(_furthest(axis, move), key=lambda furthest: furthest[0])[0]


@lru_cache(maxsize=256)
def _furthest(axis: Axis, move: int) -> tuple[tuple[Fraction, int, int], ...]:
    """Return for every run the largest total variation of such a move, and the positions that attain it."""
    furthest: list[tuple[Fraction, int, int]] = []
    for run in axis.runs:
        # All pieces of a run are alike.
        start = run.start + np.arange(run.width)
        end = np.minimum(start + move, run.start + run.width - 1)
        (node, share), (beyond, after) = axis.locate(start), axis.locate(end)
        near = axis.resolution - np.minimum(share, axis.resolution - after)
        varied = np.where(beyond == node, after - share, np.where(beyond == node + 1, near, axis.resolution))
        best = int(varied.argmax())
        furthest.append((Fraction(int(varied[best]), axis.resolution), int(start[best]), int(end[best])))
    return tuple(furthest)


def _slope(axis: Axis) -> Fraction:
    return max(Fraction(run.slope, run.step) for run in axis.runs)


def _linear(lattice: Lattice, graph: SecretGraph, moves: Sequence[int]) -> Fraction:
    """Bound sum TV_j by sum |move_j| slope_j over the secret moves, and a share for rounding."""
    moving = [axis for axis, move in zip(lattice.axes, moves, strict=True) if axis.shared and move]
    rounding = sum((Fraction(1, axis.resolution) for axis in moving if not _is_exact(axis)), Fraction(0))
    return rounding + graph.longest_move([_slope(axis) if axis.shared else 0 for axis in lattice.axes])


def _is_exact(axis: Axis) -> bool:
    return all(axis.resolution % run.step == 0 for run in axis.runs)


def _candidates(lattice: Lattice, graph: SecretGraph) -> Iterator[Edge]:
    """Yield secret pairs that are likely to attain the bound: the worst move along each axis, all else equal."""
    if graph.enumerated is not None:
        yield from graph.enumerated if len(graph.enumerated) <= _MOST_EDGES else ()
        return
    origin = (0,) * len(lattice.axes)
    for index, (axis, name) in enumerate(zip(lattice.axes, graph.domain.names, strict=True)):
        widest = graph.widest_edge(name)
        if widest is None:
            continue
        yield widest
        if axis.size <= _MOST_POSITIONS:
            for _, low, high in _furthest(axis, abs(widest[0][index] - widest[1][index])):
                x, y = ((*origin[:index], end, *origin[index + 1 :]) for end in (low, high))
                if low != high and graph.adjacent(x, y):
                    yield x, y
