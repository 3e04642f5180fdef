"""Components that read other rows than values along ordered attributes: what a record changes, squared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod

from blowfish_privacy.domain import Cell
from blowfish_privacy.graphs.graph import Edge, SecretGraph
from blowfish_privacy.mechanisms.tables.gaussian.axis_rows import AxisRows
from blowfish_privacy.mechanisms.tables.gaussian.component_form import ComponentForm
from blowfish_privacy.mechanisms.tables.planning.kinds import Axes
from blowfish_privacy.queries.tables import Block, TablesForm
from blowfish_privacy.support.arrays import Integers


@dataclass(frozen=True, eq=False)
class RowsForm(ComponentForm):
    """Every component with one of these axes reads its rows along it."""

    rows: Mapping[int, AxisRows] = field(default_factory=dict[int, AxisRows])
    moves: Mapping[int, int] = field(default_factory=dict[int, int])
    """How far records move at most along each of these axes; over all values, where that is not said."""

    @property
    def labels(self) -> tuple[object, ...]:
        """What two attributes must have in common to be alike."""
        return tuple((axis, "rows") if axis in self.rows else size for axis, size in enumerate(self.shape))

    def times(self, block: Block) -> int:
        """Return how many times what is told the rows of a component are."""
        return prod([self.rows[axis].times if axis in self.rows else self.shape[axis] for axis in block.axes])

    def of_data(self, block: Block, counts: Integers) -> Integers:
        """Turn the counts of a table into rows."""
        counts = TablesForm.of_data(self, block, counts)
        for at, axis in enumerate(block.axes if block.weight else ()):
            size = counts.shape[at]
            plain = axis not in self.rows
            counts = size * counts - counts.sum(axis=at, keepdims=True) if plain else self.rows[axis].read(counts, at)
        return counts

    @cached_property
    def _most_added(self) -> int:
        most = {axis: self.rows[axis].most if axis in self.rows else size for axis, size in enumerate(self.shape)}
        return max((prod([most[axis] for axis in block.axes]) for block in self.blocks if block.weight), default=1)

    def _product(self, axis: int, x: int, y: int) -> Fraction:
        if axis in self.rows:
            return self.rows[axis].product(x, y)
        size = self.shape[axis]
        return Fraction(size - 1 if x == y else -1, size)

    def _products(self, x: Cell, y: Cell) -> list[Fraction]:
        """Return the product of the columns of two records in each component, with its weight."""
        along = [self._product(axis, *ends) for axis, ends in enumerate(zip(x, y, strict=True))]
        return [
            Fraction(block.weight, self.largest) * prod([along[axis] for axis in block.axes], start=Fraction(1))
            for block in self.blocks
        ]

    def squared_change(self, x: Cell, y: Cell) -> Fraction:
        """Return the squared change of a record that moves, each row counted by its weight."""
        return sum(self._products(x, x)) + sum(self._products(y, y)) - 2 * sum(self._products(x, y), Fraction(0))

    def squared_weight(self, x: Cell) -> Fraction:
        """Return the squared change of a record that comes or goes."""
        return sum(self._products(x, x), Fraction(0))

    def heaviest(self) -> Cell:
        """Return a cell with the longest columns."""
        return tuple(self.rows[axis].heaviest if axis in self.rows else 0 for axis in range(len(self.shape)))

    def largest_squared_weight(self) -> Fraction:
        """Return the squared change of the heaviest record: it is so along each axis."""
        return self.squared_weight(self.heaviest())

    def largest_squares(self, graph: SecretGraph) -> tuple[Edge | None, Fraction, bool]:
        """Compare all sets of attributes that may change together, each along the longest moves."""
        moves = {axis: graph.largest_move(self.domain.names[axis]) for axis in self.rows}
        return super(RowsForm, replace(self, moves=moves)).largest_squares(graph)

    def _move(self, axis: int) -> int:
        return max(self.moves.get(axis, self.shape[axis] - 1), 1)

    def term(self, number: int, met: Axes) -> tuple[int, int]:
        """Bound the squared change of one component along some of its axes, over all moves.

        Along one axis with rows all moves are compared; where several change at once, their products are bounded.
        """
        place = (self.blocks[number].axes, met)
        if place not in self._terms:
            self._terms[place] = self._term(*place).as_integer_ratio()
        return self._terms[place]

    @cached_property
    def _terms(self) -> dict[tuple[Axes, Axes], tuple[int, int]]:
        return {}

    def _term(self, axes: Axes, met: Axes) -> Fraction:
        norms = {axis: self.rows[axis].norm if axis in self.rows else self._product(axis, 0, 0) for axis in axes}
        around = prod([norms[axis] for axis in axes if axis not in met], start=Fraction(1))
        plain = [axis for axis in met if axis not in self.rows]
        kept = prod([norms[axis] for axis in plain], start=Fraction(1))
        crossed = prod([self._product(axis, 0, 1) for axis in plain], start=Fraction(1))
        read = [axis for axis in met if axis in self.rows]
        if not read:
            return around * 2 * (kept - crossed)
        if len(read) == 1:
            return around * self.rows[read[0]].changed(self._move(read[0]), kept, crossed)[0]
        corners = (crossed * prod(each) for each in product(*(self.rows[axis].products for axis in read)))
        return around * 2 * (kept * prod(norms[axis] for axis in read) - min(corners))

    def witness(self, x: Cell, y: Cell, changed: Axes) -> Edge:
        """Let a record move along some axes, where its rows change most, and be where its columns are longest."""
        x, y = super().witness(x, y, changed)
        ends = [list(x), list(y)]
        for axis, rows in self.rows.items():
            best = rows.heaviest, rows.heaviest
            if axis in changed:
                _, best = rows.changed(self._move(axis), Fraction(1), Fraction(1))
            for end, position in zip(ends, best, strict=True):
                end[axis] = position
        return tuple(ends[0]), tuple(ends[1])
