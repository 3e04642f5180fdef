"""Several tables of counts as one linear form: what a record adds to each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, Domain, Subset, quoted
from blowfish_privacy.graphs.graph import Edge, SecretGraph, differing
from blowfish_privacy.queries.query import LinearForm
from blowfish_privacy.queries.tables_blocks import Block, View
from blowfish_privacy.support.arrays import Integers

__all__ = ["Block", "TablesForm", "View"]


@dataclass(frozen=True, eq=False)
class TablesForm(LinearForm):
    """A record adds one to its own cell of every table, or takes one away where signs say so."""

    domain: Domain
    blocks: tuple[Block, ...]
    views: tuple[View, ...] = ()
    ranges: frozenset[int] = frozenset()
    """Axes of which sums over neighbouring values are asked for."""

    def __post_init__(self) -> None:
        # Changes are counted in those of the table that counts most.
        largest = max((block.weight for block in self.blocks), default=0)
        object.__setattr__(self, "unit", Fraction(1, (largest or 1) * self._common))

    @cached_property
    def _common(self) -> int:
        """A multiple of every table's spacing, so that changes are whole numbers."""
        return lcm(*(block.spacing for block in self.blocks if block.readings))

    def factor(self, block: Block) -> int:
        """Return how many units a change of one number of a table is."""
        return block.weight * (self._common // block.spacing if block.readings else self._common)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each axis: of the attributes, then of the views of them."""
        return (*self.domain.shape, *(view.size for view in self.views))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each axis."""
        return (*self.domain.names, *(view.name for view in self.views))

    def title(self, axis: int) -> str:
        """Call an axis by its name in a sentence."""
        view = self.views[axis - len(self.domain.shape)] if axis >= len(self.domain.shape) else None
        if view is None or view.named:
            return quoted(self.names[axis])
        return f"the {view.size:,} blocks of {quoted(self.domain.names[view.axis])} that no secret pair leaves"

    def asked_of_data(self, block: Block) -> list[str]:
        """Name the attributes, or levels of them, whose counts tell a table."""
        first = len(self.domain.shape)
        views = {first + number: view for number, view in enumerate(self.views) if not view.named}
        return [self.domain.names[views[axis].axis] if axis in views else self.names[axis] for axis in block.axes]

    def of_data(self, block: Block, counts: Integers) -> Integers:
        """Make a table of the counts that :meth:`asked_of_data` names."""
        first = len(self.domain.shape)
        for at, axis in enumerate(block.axes):
            if axis >= first and not self.views[axis - first].named:
                counts = self.views[axis - first].summed(counts, at)
        return block.of_counts(counts)

    def of(self, blocks: tuple[Block, ...]) -> TablesForm:
        """Return other tables of the same attributes and views."""
        return TablesForm(self.domain, blocks, self.views, self.ranges)

    def shape_of(self, block: Block) -> tuple[int, ...]:
        """Return the number of values or rows along each axis of a table that is counted."""
        if not block.readings:
            return tuple([self.shape[axis] for axis in block.counted])
        rows = ((axis, block.reading.get(axis)) for axis in block.counted)
        return tuple(self.shape[axis] if read is None else read.rows(self.shape[axis]) for axis, read in rows)

    def fits(self, block: Block) -> bool:
        """Say whether a table has each attribute on one level, and signs of two values that are no levels or rows."""
        own = [
            self.views[axis - len(self.domain.shape)].axis if axis >= len(self.domain.shape) else axis
            for axis in block.axes
        ]
        several = {view.axis for view in self.views}
        plain = all(self.shape[axis] == 2 and axis not in several for axis in block.signs)
        read = {axis for axis, _ in block.readings}
        apart = read <= {*block.counted} & self.ranges and len(read) == len(block.readings)
        return len(set(own)) == len(own) and plain and apart and max(block.signs, default=0) < len(self.domain.shape)

    def seen(self, x: Cell) -> Cell:
        """Return where a cell lies on each axis."""
        return (*x, *(int(view.positions[x[view.axis]]) for view in self.views))

    @property
    def outputs(self) -> int:
        """The number of cells of all tables."""
        return sum(self.sizes)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each table."""
        return tuple(prod(self.shape_of(block)) for block in self.blocks)

    def column(self, x: Cell) -> Sequence[int]:
        """Return, table by table, what a record adds to each of its numbers, in units."""
        outputs: list[int] = []
        x = self.seen(x)
        for block, size in zip(self.blocks, self.sizes, strict=True):
            cells = [0] * size
            for number, value in block.places(x, self.shape):
                cells[number] = self.factor(block) * value
            outputs += cells
        return outputs

    @cached_property
    def _meets(self) -> npt.NDArray[np.int64]:
        """The attributes of each table, one row each, filled up with a number that none has."""
        most = max((len(block.axes) for block in self.blocks), default=0)
        none = len(self.shape)
        rows = [[*block.axes, *([none] * (most - len(block.axes)))] for block in self.blocks]
        return np.array(rows, dtype=np.int64).reshape(len(rows), most)

    @cached_property
    def _weights(self) -> Integers:
        return np.array([0 if block.readings else self.factor(block) for block in self.blocks], dtype=np.int64)

    @cached_property
    def _read(self) -> list[Block]:
        """The tables that read rows along some axis."""
        return [block for block in self.blocks if block.readings]

    def change(self, x: Cell, y: Cell) -> Fraction:
        """Return twice the weight of every table with an attribute that changes.

        Where two signs of one table change at once it is an upper bound: they may cancel. For rows it is the largest
        change of any move that is no longer along each axis.
        """
        changed = np.zeros(len(self.shape) + 1, dtype=bool)
        changed[differing(self.seen(x), self.seen(y))] = True
        plain = 2 * int(self._weights[changed[self._meets].any(axis=1)].sum())
        return self.unit * (plain + sum(self.most(block, x, y) for block in self._read))

    def most(self, block: Block, x: Cell, y: Cell) -> int:
        """Bound the change of one table, in units."""
        return self.factor(block) * block.most(self.seen(x), self.seen(y), self.shape)

    def weight(self, x: Cell) -> Fraction:
        """Return the weight of all tables: one cell of each changes by one, or all rows that a record is in."""
        read = sum(
            self.factor(block) * prod(reading.weight(x[axis], self.shape[axis]) for axis, reading in block.readings)
            for block in self._read
        )
        return self.unit * (int(self._weights.sum()) + read)

    def net_change(self, net: Mapping[Cell, int]) -> int:
        """Sum what the cells of all tables gain and lose."""
        return sum(self._gained(block, net) for block in self.blocks)

    def _gained(self, block: Block, net: Mapping[Cell, int]) -> int:
        """Sum what the numbers of one table gain and lose."""
        gained: dict[int, int] = {}
        for cell, count in net.items():
            for number, value in block.places(self.seen(cell), self.shape):
                gained[number] = gained.get(number, 0) + count * value
        return self.factor(block) * sum(map(abs, gained.values()))

    def worst_edge(self, graph: SecretGraph) -> tuple[Edge | None, bool]:
        """Compare edges that change as many axes at once as any: the more change, the more tables do."""
        edges, listed = self.broadest(graph)
        worst = max(edges, key=lambda edge: self.change(*edge), default=None)
        return worst, listed and (worst is None or not self._cancel(worst))

    def broadest(self, graph: SecretGraph) -> tuple[tuple[Edge, ...], bool]:
        """Return edges such that whatever axes any edge changes together, one of these changes all of them."""
        edges, listed = graph.broadest()
        moves = {axis: self._coarsest_move(graph, axis) for axis in {view.axis for view in self.views}}
        for axis, move in moves.items():
            if move is not None:
                edges = tuple(_moved(edge, axis, move) if edge[0][axis] != edge[1][axis] else edge for edge in edges)
        for axis in {axis for block in self._read for axis in block.reading}:
            # Rows change most along the longest move, and as much as they can if it starts at the first position.
            move = (0, graph.largest_move(self.domain.names[axis]))
            edges = tuple(_moved(edge, axis, move) if edge[0][axis] != edge[1][axis] else edge for edge in edges)
        return edges, listed and all(graph.adjacent(*edge) for edge in edges)

    def _coarsest_move(self, graph: SecretGraph, axis: int) -> tuple[int, int] | None:
        """Return two positions of a secret pair that differ on the coarsest level possible, and so on finer ones."""
        name = self.domain.names[axis]
        own = graph.project([name])
        labels = [own.component((value,)) for value in range(self.domain.shape[axis])]
        for view in sorted((view for view in self.views if view.axis == axis), key=lambda view: view.size):
            # Some edge crosses from one group to another exactly if some component lies in several groups.
            if len(set(zip(labels, view.positions.tolist(), strict=True))) > len(set(labels)):
                return next(move for group in range(view.size) if (move := _crossing(own, view, group)) is not None)
        return None

    def _cancel(self, edge: Edge) -> bool:
        """Say whether signs or rows of some table may cancel each other along an edge."""
        x, y = edge
        if any(self._gained(block, {x: 1, y: -1}) < self.most(block, x, y) for block in self._read):
            return True
        changed = {*differing(self.seen(edge[0]), self.seen(edge[1]))}
        if len(changed) == 1:
            return False
        met = (changed.intersection(block.axes) for block in self.blocks)
        return any(len(axes) > 1 and axes <= {*block.signs} for axes, block in zip(met, self.blocks, strict=True))

    def most_added(self) -> int:
        """Return the most that a record adds to a single number; rows that are read are checked one by one."""
        return 1

    def heaviest(self) -> Cell:
        """Return the first cell: all weigh the same, but for sums up to a value, which count the first most often."""
        return (0,) * len(self.domain.shape)

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Sum the counts of all cells down to every table, weights left out."""
        table = counts.reshape(self.domain.shape)
        answers = (block.of_counts(self.marginal(table, block)).reshape(-1) for block in self.blocks)
        return np.concatenate([np.zeros(0, dtype=np.int64), *answers])

    def marginal(self, table: Integers, block: Block) -> Integers:
        """Sum the counts of all cells down to one table, on its levels."""
        own = [self.views[axis - len(table.shape)].axis if axis >= len(table.shape) else axis for axis in block.axes]
        others = tuple(axis for axis in range(table.ndim) if axis not in own)
        summed = np.asarray(table.sum(axis=others, dtype=np.int64)).transpose([sorted(own).index(axis) for axis in own])
        for at, axis in enumerate(block.axes):
            if axis >= table.ndim:
                summed = self.views[axis - table.ndim].summed(summed, at)
        return summed


def _crossing(own: SecretGraph, view: View, group: int) -> tuple[int, int] | None:
    """Return two positions of a secret pair, one in a group and one outside."""
    inside, outside = (
        Subset.of(np.flatnonzero(where).tolist()) for where in (view.positions == group, view.positions != group)
    )
    return own.joins(own.domain.names[0], inside, outside)


def _moved(edge: Edge, axis: int, move: tuple[int, int]) -> Edge:
    """Let an edge move between two positions along an axis."""
    x, y = ((*end[:axis], position, *end[axis + 1 :]) for end, position in zip(edge, move, strict=True))
    return x, y
