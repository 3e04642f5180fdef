"""Several tables of counts as one linear form: what a record adds to each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, Domain
from blowfish_privacy.graphs.graph import Edge, SecretGraph, differing
from blowfish_privacy.queries.query import LinearForm

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Block:
    """One table of counts: its attributes, by their number in a domain, in the order of the table's axes."""

    axes: tuple[int, ...]
    signs: tuple[int, ...] = ()
    """Of these, attributes of two values that are not counted but compared: the first value's count less the second's.

    They come last.
    """
    weight: int = 1
    """How often the table counts when changes are added up."""

    @property
    def counted(self) -> tuple[int, ...]:
        """The attributes that are counted."""
        return self.axes[: len(self.axes) - len(self.signs)]

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """Return the number of values along each axis that is counted."""
        return tuple(domain.shape[axis] for axis in self.counted)

    def of_counts(self, counts: Integers) -> Integers:
        """Compare the values of the signs, given the counts of all attributes."""
        for _ in self.signs:
            counts = counts[..., 0] - counts[..., 1]
        return counts


@dataclass(frozen=True, eq=False)
class TablesForm(LinearForm):
    """A record adds one to its own cell of every table, or takes one away where signs say so."""

    domain: Domain
    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        # Changes are counted in those of the table that counts most.
        largest = max((block.weight for block in self.blocks), default=0)
        object.__setattr__(self, "unit", Fraction(1, largest or 1))

    @property
    def outputs(self) -> int:
        """The number of cells of all tables."""
        return sum(self.sizes)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each table."""
        return tuple(prod(block.shape(self.domain)) for block in self.blocks)

    def column(self, x: Cell) -> Sequence[int]:
        """Return, table by table, the weight for the record's own cell and 0 elsewhere."""
        outputs: list[int] = []
        for block, size in zip(self.blocks, self.sizes, strict=True):
            cells = [0] * size
            number, value = self._place(block, x)
            cells[number] = value
            outputs += cells
        return outputs

    def _place(self, block: Block, x: Cell) -> tuple[int, int]:
        """Return the cell of a table that a record is in, and what it adds there."""
        number = 0
        for axis in block.counted:
            number = number * self.domain.shape[axis] + x[axis]
        return number, block.weight * (-1) ** sum(x[axis] for axis in block.signs)

    @cached_property
    def _meets(self) -> npt.NDArray[np.int64]:
        """The attributes of each table, one row each, filled up with a number that none has."""
        most = max((len(block.axes) for block in self.blocks), default=0)
        none = len(self.domain.shape)
        rows = [[*block.axes, *([none] * (most - len(block.axes)))] for block in self.blocks]
        return np.array(rows, dtype=np.int64).reshape(len(rows), most)

    @cached_property
    def _weights(self) -> Integers:
        return np.array([block.weight for block in self.blocks], dtype=np.int64)

    def change(self, x: Cell, y: Cell) -> Fraction:
        """Return twice the weight of every table with an attribute that changes.

        Where two signs of one table change at once it is an upper bound: they may cancel.
        """
        changed = np.zeros(len(self.domain.shape) + 1, dtype=bool)
        changed[differing(x, y)] = True
        return 2 * self.unit * int(self._weights[changed[self._meets].any(axis=1)].sum())

    def weight(self, x: Cell) -> Fraction:
        """Return the weight of all tables: one cell of each changes by one."""
        return self.unit * int(self._weights.sum())

    def net_change(self, net: Mapping[Cell, int]) -> int:
        """Sum what the cells of all tables gain and lose."""
        total = 0
        for block in self.blocks:
            gained: dict[int, int] = {}
            for cell, count in net.items():
                number, value = self._place(block, cell)
                gained[number] = gained.get(number, 0) + count * value
            total += sum(map(abs, gained.values()))
        return total

    def worst_edge(self, graph: SecretGraph) -> tuple[Edge | None, bool]:
        """Compare edges that change as many attributes at once as any: the more change, the more tables do."""
        edges, listed = graph.broadest()
        worst = max(edges, key=lambda edge: self.change(*edge), default=None)
        return worst, listed and (worst is None or not self._cancel(worst))

    def _cancel(self, edge: Edge) -> bool:
        """Say whether signs of some table may cancel each other along an edge."""
        changed = {*differing(*edge)}
        met = (changed.intersection(block.axes) for block in self.blocks)
        return any(len(axes) > 1 and axes <= {*block.signs} for axes, block in zip(met, self.blocks, strict=True))

    def heaviest(self) -> Cell:
        """Return any cell: all weigh the same."""
        return (0,) * len(self.domain.shape)

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Sum the counts of all cells down to every table, weights left out."""
        table = counts.reshape(self.domain.shape)
        every = range(len(self.domain.shape))
        tables: list[Integers] = []
        for block in self.blocks:
            summed = np.asarray(table.sum(axis=tuple(axis for axis in every if axis not in block.axes), dtype=np.int64))
            order = [sorted(block.axes).index(axis) for axis in block.axes]
            tables.append(block.of_counts(summed.transpose(order)).reshape(-1))
        return np.concatenate(tables)
