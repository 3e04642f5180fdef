"""Junction trees: sets of attributes put together so that a distribution over all of them is never written out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log, prod

from blowfish_privacy.mechanisms.synthetic.model import Axes


@dataclass(frozen=True, eq=False)
class JunctionTree:
    """Cliques of attributes, each but the first below one that holds all it shares with those before it."""

    shape: tuple[int, ...]
    cliques: tuple[Axes, ...]
    parents: tuple[int, ...]
    """The clique above each; -1 for the first."""
    separators: tuple[Axes, ...]
    """What each clique shares with the one above it."""

    @classmethod
    def of(cls, shape: Sequence[int], sets: Collection[Axes]) -> JunctionTree:
        """Build a tree in which every set lies in one clique."""
        cliques = cliques_of(shape, sets)
        members = [frozenset(clique) for clique in cliques]
        weights = [log(size) + 1e-9 for size in shape]
        order, parents = [0], [-1]
        nearest = {other: (_weight(members[0] & members[other], weights), 0) for other in range(1, len(cliques))}
        while nearest:
            # A spanning tree of the heaviest separators has the running intersection property.
            chosen = max(nearest, key=lambda each: nearest[each][0])
            parents.append(nearest.pop(chosen)[1])
            order.append(chosen)
            for other, (weight, _) in nearest.items():
                shared = _weight(members[chosen] & members[other], weights)
                if shared > weight:
                    nearest[other] = (shared, len(order) - 1)
        ordered = [cliques[number] for number in order]
        separators = [
            () if above < 0 else tuple(sorted({*clique} & {*ordered[above]}))
            for clique, above in zip(ordered, parents, strict=True)
        ]
        return cls(tuple(shape), tuple(ordered), tuple(parents), tuple(separators))

    @cached_property
    def cells(self) -> int:
        """The number of cells of all cliques."""
        return cells_of(self.shape, self.cliques)

    @cached_property
    def _members(self) -> list[frozenset[int]]:
        return [frozenset(clique) for clique in self.cliques]

    def home(self, axes: Collection[int]) -> int | None:
        """Return the smallest clique that holds all of some attributes; None if there is none."""
        wanted = frozenset(axes)
        holding = [number for number, members in enumerate(self._members) if wanted <= members]
        return min(holding, key=lambda number: prod(self.sizes(number)), default=None)

    def sizes(self, number: int) -> tuple[int, ...]:
        """Return the shape of a clique's table."""
        return tuple(self.shape[axis] for axis in self.cliques[number])


def cells_of(shape: Sequence[int], cliques: Collection[Axes]) -> int:
    """Count the cells of several tables."""
    return sum(prod(shape[axis] for axis in clique) for clique in cliques)


def cliques_of(shape: Sequence[int], sets: Collection[Axes]) -> list[Axes]:
    """Fill in the graph of attributes that share a set, by always leaving out the one that is cheapest to leave out.

    The cliques are those of the graph with the edges filled in: each set lies in one of them.
    """
    weights = [log(size) for size in shape]
    neighbours: list[set[int]] = [set() for _ in shape]
    for axes in sets:
        for axis in axes:
            neighbours[axis].update(axes)
    for axis, near in enumerate(neighbours):
        near.discard(axis)
    costs = {axis: weights[axis] + _weight(near, weights) for axis, near in enumerate(neighbours)}
    found: list[frozenset[int]] = []
    while costs:
        axis = min(costs, key=lambda each: (costs[each], each))
        del costs[axis]
        near = neighbours[axis]
        clique = frozenset((axis, *near))
        if not any(clique <= larger for larger in found):
            found.append(clique)
        for other in near:
            neighbours[other] |= near
            neighbours[other] -= {other, axis}
        for other in near:
            costs[other] = weights[other] + _weight(neighbours[other], weights)
    return [tuple(sorted(clique)) for clique in found]


def _weight(axes: Collection[int], weights: Sequence[float]) -> float:
    return sum(weights[axis] for axis in axes)
