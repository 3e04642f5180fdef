"""The tables of a set, each by the axes that it has and by what is counted or read along them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import DataError
from blowfish_privacy.graphs.graph import differing
from blowfish_privacy.queries.query import LARGEST_ANSWER
from blowfish_privacy.queries.readings import Reading, matrix, read_along
from blowfish_privacy.support.arrays import Integers


@dataclass(frozen=True, eq=False)
class View:
    """An attribute looked at on a coarser level: an axis of its own, numbered after all attributes."""

    name: str
    axis: int
    """The attribute, by its number in a domain."""
    positions: Integers
    """Where each value of the attribute lies on the level."""
    named: bool = True
    """Whether the domain knows the level; it does not know the blocks of a policy."""

    @property
    def size(self) -> int:
        """The number of values on the level."""
        return int(self.positions.max()) + 1

    def summed(self, counts: Integers, at: int) -> Integers:
        """Add up the counts of the attribute's values, which lie along one axis, to those of the level."""
        moved = np.moveaxis(counts, at, 0)
        level = np.zeros((self.size, *moved.shape[1:]), dtype=np.int64)
        np.add.at(level, self.positions, moved)
        return np.moveaxis(level, 0, at)


@dataclass(frozen=True)
class Block:
    """One table of counts: its axes, by their number, in the order of the table."""

    axes: tuple[int, ...]
    signs: tuple[int, ...] = ()
    """Of these, attributes of two values that are not counted but compared: the first value's count less the second's.

    They come last.
    """
    weight: int = 1
    """How often the table counts when changes are added up."""
    readings: tuple[tuple[int, Reading], ...] = ()
    """Axes of which not the values are counted, but other rows."""

    @cached_property
    def reading(self) -> dict[int, Reading]:
        """What is read along some axes, by their number."""
        return dict(self.readings)

    @property
    def spacing(self) -> int:
        """How many times what is counted a number of the table is."""
        return prod(reading.spacing for _, reading in self.readings)

    @property
    def counted(self) -> tuple[int, ...]:
        """The attributes that are counted."""
        return self.axes[: len(self.axes) - len(self.signs)]

    def heaviest(self, shape: Mapping[int, int] | Sequence[int], without: int | None = None) -> int:
        """Return the most that a record adds to the numbers of the table, times its spacing; one axis may be left out.

        ``shape`` has the number of values of each axis.
        """
        return prod(reading.weight(0, shape[axis]) for axis, reading in self.readings if axis != without)

    def of_counts(self, counts: Integers) -> Integers:
        """Compare the values of the signs, and read rows, given the counts of all attributes."""
        shape = dict(zip(self.axes, counts.shape, strict=True))
        # Checked against the number of records alone, so that no error depends on anyone's values.
        if self.readings and int(counts.sum()) * self.heaviest(shape) >= LARGEST_ANSWER:
            raise DataError("the answers may be too large for 64-bit arithmetic.")
        for axis, reading in self.readings:
            counts = read_along(counts, self.axes.index(axis), reading)
        for _ in self.signs:
            counts = counts[..., 0] - counts[..., 1]
        return counts

    def places(self, x: Cell, shape: Sequence[int]) -> list[tuple[int, int]]:
        """Return the numbers of the table that a record changes, given its place on each axis, and what it adds."""
        places = [(0, (-1) ** sum(x[axis] for axis in self.signs))]
        for axis in self.counted:
            size, along = shape[axis], [(x[axis], 1)]
            if axis in self.reading:
                rows = matrix(self.reading[axis], size)
                size, added = len(rows), rows[:, x[axis]]
                along = [(row, int(added[row])) for row in np.flatnonzero(added).tolist()]
            places = [(number * size + at, value * times) for (number, value), (at, times) in product(places, along)]
        return places

    def most(self, x: Cell, y: Cell, shape: Sequence[int]) -> int:
        """Bound the change of a move that is no longer along each axis, given the places on each axis.

        It is at most what one axis after the other changes, and what a record adds here and takes away there.
        """
        total = 0
        for axis in differing(x, y):
            if axis in self.axes:
                reading = self.reading.get(axis)
                change = 2 if reading is None else reading.most(abs(x[axis] - y[axis]))
                total += self.heaviest(shape, without=axis) * change
        return min(total, 2 * self.heaviest(shape))
