"""The components of tables as rows of whole numbers: what a record changes, squared.

The rows of the component S are the product over its attributes of k I - J, for k values: prod(k) times the part of the
table of S that is in no smaller table. Proof: ``docs/proofs/tables.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations, product
from math import prod

import numpy as np

from blowfish_privacy.domain import Cell
from blowfish_privacy.graphs.graph import Edge, SecretGraph, differing
from blowfish_privacy.mechanisms.tables.planning.kinds import Axes, Kinds, alike
from blowfish_privacy.queries.tables import Block, TablesForm
from blowfish_privacy.support.arrays import Integers

MOST_CHANGES = 1 << 16
"""So many sets of changed attributes are all looked at: beyond that a sum of largest changes bounds them."""
MOST_WORK = 400_000_000
"""The most multiplications for that."""
NEAR = 1e-6
"""Floats leave out changes that are smaller than the largest by this share; they are wrong by much less."""


@dataclass(frozen=True, eq=False)
class ComponentForm(TablesForm):
    """Blocks of a weight are components that are measured so precisely, those of weight 0 are tables of exact counts.

    Squares count each row of a component by its weight / prod(k)^2, which is one over its variance but for a scale;
    those of the largest weight are counted as they are.
    """

    def __post_init__(self) -> None:
        """Count changes as they are: squares have weights of their own."""

    def of_data(self, block: Block, counts: Integers) -> Integers:
        """Turn the counts of a table into rows."""
        counts = super().of_data(block, counts)
        for at, size in enumerate(counts.shape if block.weight else ()):
            counts = size * counts - counts.sum(axis=at, keepdims=True)
        return counts

    def answer(self, counts: Integers) -> Integers:
        """Sum the counts of all cells down to every block, weights left out."""
        table = counts.reshape(self.domain.shape)
        rows = (self.of_data(block, self.marginal(table, block)).reshape(-1) for block in self.blocks)
        return np.concatenate([np.zeros(0, dtype=np.int64), *rows])

    def column(self, x: Cell) -> Sequence[int]:
        """Return what a record adds to each row."""
        counts = np.zeros(self.domain.shape, dtype=np.int64)
        counts[x] = 1
        return self.answer(counts).tolist()

    @cached_property
    def largest(self) -> int:
        """The largest weight."""
        return max((block.weight for block in self.blocks), default=0) or 1

    def times(self, block: Block) -> int:
        """Return how many times what is told the rows of a component are."""
        return prod([self.shape[axis] for axis in block.axes])

    def most_added(self) -> int:
        """Return the cells of the largest component: no row of a record is larger, nor what it is made of."""
        return self._most_added

    @cached_property
    def _most_added(self) -> int:
        return max((size for block, size in zip(self.blocks, self.sizes, strict=True) if block.weight), default=1)

    def squared_change(self, x: Cell, y: Cell) -> Fraction:
        """Return the squared change of a record that moves, each row counted by its weight."""
        return self.squares(differing(x, y))

    def squared_weight(self, x: Cell) -> Fraction:
        """Return the squared change of a record that comes or goes, the same for all."""
        return self.largest_squared_weight()

    def largest_squared_weight(self) -> Fraction:
        """Add up prod (1 - 1/k) over all components."""
        kept = Counter[tuple[int, int]]()
        for block, same, cells in zip(self.blocks, self._contrasts, self.sizes, strict=True):
            kept[same, cells] += block.weight
        return _total(kept) / self.largest

    def squares(self, changed: Iterable[int]) -> Fraction:
        """Return the squared change of a record that moves along exactly these axes."""
        moved = frozenset(changed)
        if moved not in self._known:
            kept = Counter[tuple[int, int]]()
            alone = tuple(moved) if len(moved) == 1 else ()
            for number in self._meeting(moved):
                block = self.blocks[number]
                met = alone or tuple([axis for axis in block.axes if axis in moved])
                kept[self.term(number, met)] += block.weight
            self._known[moved] = _total(kept) / self.largest
        return self._known[moved]

    def term(self, number: int, met: Axes) -> tuple[int, int]:
        """Return the squared change of one component along some of its axes, above and below the line."""
        same = self._contrasts[number]
        return 2 * (same - same // prod([1 - self.shape[axis] for axis in met])), self.sizes[number]

    @cached_property
    def _contrasts(self) -> list[int]:
        """The product of k - 1 over the axes of each block."""
        return [prod([self.shape[axis] - 1 for axis in block.axes]) for block in self.blocks]

    @cached_property
    def _known(self) -> dict[frozenset[int], Fraction]:
        """Squared changes that were asked for before."""
        return {}

    def bound(self, changed: Iterable[int]) -> Fraction:
        """Bound the squared change along any of these axes: the largest of each component, added up."""
        moved = frozenset(changed)
        kept = Counter[tuple[int, int]]()
        for number in self._meeting(moved):
            parts = _nonempty([axis for axis in self.blocks[number].axes if axis in moved])
            largest = max((self.term(number, part) for part in parts), key=lambda term: Fraction(*term))
            kept[largest] += self.blocks[number].weight
        return _total(kept) / self.largest

    def _meeting(self, changed: frozenset[int]) -> Iterable[int]:
        """Number the components that have one of these axes."""
        if len(changed) == 1:
            return self._with.get(next(iter(changed)), [])
        return sorted({number for axis in changed for number in self._with.get(axis, [])})

    @cached_property
    def _with(self) -> dict[int, list[int]]:
        """Number the components with each axis."""
        found: dict[int, list[int]] = {}
        for number, block in enumerate(self.blocks):
            for axis in block.axes if block.weight else ():
                found.setdefault(axis, []).append(number)
        return found

    def worst_edge(self, graph: SecretGraph) -> tuple[Edge | None, bool]:
        """Return the edge with the largest squared change."""
        edge, _, attained = self.largest_squares(graph)
        return edge, attained

    def largest_squares(self, graph: SecretGraph) -> tuple[Edge | None, Fraction, bool]:
        """Compare all sets of attributes that may change together, or bound them where these are many.

        Parts of what a pair changes are looked at too: they may change more. Where no secret pair changes such a part
        alone, the largest is an upper bound only.
        """
        found: list[tuple[Fraction, bool, Edge]] = []
        edges, listed = graph.broadest()
        for x, y in edges:
            value, changed = self._largest(tuple(differing(x, y)))
            edge = self.witness(x, y, changed)
            attained = listed and self.squared_change(*edge) == value and (edge == (x, y) or graph.adjacent(*edge))
            found.append((value, attained, edge))
        if not found:
            return None, Fraction(0), True
        value, attained, edge = max(found, key=lambda each: each[:2])
        return edge, value, attained

    def witness(self, x: Cell, y: Cell, changed: Axes) -> Edge:
        """Let a record move along some axes only of those along which two cells differ."""
        return x, tuple(y[axis] if axis in changed else x[axis] for axis in range(len(x)))

    def _largest(self, together: Axes) -> tuple[Fraction, Axes]:
        """Return the largest squared change of any nonempty part of a set of axes, and that part."""
        if len(together) <= 1:
            return self.squares(together), together
        kinds = self._kinds(together)
        shapes = list(_parts(kinds, together))
        if shapes and len(shapes) * sum(len(block.axes) for block in self.blocks) <= MOST_WORK:
            near = self._nearest(shapes)
            return max(((self.squares(changed), changed) for changed in near), key=lambda each: each[0])
        return self.bound(together), together

    def _kinds(self, together: Axes) -> Kinds:
        """Sort the attributes into kinds: swapping two of a kind changes no component and no weight."""
        weights: dict[Axes, float] = {}
        for block in self.blocks:
            if block.weight:
                weights[block.axes] = weights.get(block.axes, 0.0) + block.weight
        return alike(self.labels, weights, [together])

    @property
    def labels(self) -> tuple[object, ...]:
        """What two attributes must have in common to be alike."""
        return self.shape

    def _nearest(self, parts: Sequence[Axes]) -> list[Axes]:
        """Leave out the parts whose squared change is certainly not the largest, by floats.

        Each term is exact until it is rounded, and none is negative, so their sum is right to many more digits.
        """
        moved = np.zeros((len(self.shape), len(parts)), dtype=bool)
        for number, axes in enumerate(parts):
            moved[list(axes), number] = True
        total = np.zeros(len(parts))
        for number, block in enumerate(self.blocks):
            if block.weight:
                which = sum((moved[axis].astype(np.int64) << place for place, axis in enumerate(block.axes)), 0)
                values = [0.0]
                for chosen in range(1, 2 ** len(block.axes)):
                    met = tuple([axis for place, axis in enumerate(block.axes) if chosen >> place & 1])
                    values.append(float(Fraction(*self.term(number, met))))
                total += block.weight * np.array(values)[which]
        return [parts[number] for number in np.flatnonzero(total >= total.max() * (1 - NEAR)).tolist()]


def _parts(kinds: Kinds, together: Axes) -> Iterator[Axes]:
    """List the nonempty parts of a set of axes, one of each shape; none if they are too many."""
    inside = [[axis for axis in axes if axis in together] for axes in kinds.members]
    inside = [axes for axes in inside if axes]
    if prod([len(axes) + 1 for axes in inside]) > MOST_CHANGES:
        return
    for counts in product(*(range(len(axes) + 1) for axes in inside)):
        part = [axis for axes, count in zip(inside, counts, strict=True) for axis in axes[:count]]
        if part:
            yield tuple(sorted(part))


def _nonempty(axes: Sequence[int]) -> Iterator[Axes]:
    """Go through the nonempty parts of some axes."""
    return chain.from_iterable(combinations(axes, many) for many in range(1, len(axes) + 1))


def _total(kept: Counter[tuple[int, int]]) -> Fraction:
    """Add up fractions, each so many times."""
    by_size = Counter[int]()
    for (above, below), times in kept.items():
        by_size[below] += above * times
    return sum((Fraction(above, below) for below, above in by_size.items()), Fraction(0))
