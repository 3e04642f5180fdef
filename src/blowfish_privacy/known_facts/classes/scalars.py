"""Whole numbers assigned to values, with their extremes in each class of values that known facts distinguish."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, Domain, Subset
from blowfish_privacy.known_facts.classes.classes import Classes
from blowfish_privacy.support.arrays import Integers

Whole: TypeAlias = npt.NDArray[np.object_]
"""Whole numbers of any length."""


class Scalar(ABC):
    """A whole number assigned to each value, with its extremes in each class."""

    def __init__(self, classes: Classes) -> None:
        self.classes = classes

    @abstractmethod
    def value(self, cell: Cell) -> int:
        """Return the number of a value."""

    @abstractmethod
    def values(self, cells: Integers) -> Integers:
        """Return the numbers of many values, given one per row."""

    @abstractmethod
    def _piece_ends(self) -> tuple[Integers, Integers]:
        """Return the lowest and the highest number in each piece."""

    @abstractmethod
    def _cell_in(self, piece: int, *, highest: bool) -> Cell:
        """Return a value in a piece at which the number is lowest or highest."""

    @cached_property
    def _ends(self) -> tuple[Integers, Integers]:
        lows, highs = self._piece_ends()
        return _first_of_each(self.classes.pieces, lows), _first_of_each(self.classes.pieces, -highs)

    @cached_property
    def low(self) -> Whole:
        """The lowest number in each class."""
        return self._piece_ends()[0][self._ends[0]].astype(object)

    @cached_property
    def high(self) -> Whole:
        """The highest number in each class."""
        return self._piece_ends()[1][self._ends[1]].astype(object)

    def lowest(self, label: int) -> Cell:
        """Return a value in a class at which the number is lowest."""
        return self._cell_in(int(self._ends[0][label]), highest=False)

    def highest(self, label: int) -> Cell:
        """Return a value in a class at which the number is highest."""
        return self._cell_in(int(self._ends[1][label]), highest=True)


class Ranked(Scalar):
    """A number that increases by the same amount with every position of one attribute."""

    def __init__(self, classes: Classes, name: str, lowest: int = 0, growth: int = 1) -> None:
        super().__init__(classes)
        self._axis, self._lowest, self._growth = classes.domain.axis(name), lowest, growth

    def value(self, cell: Cell) -> int:
        """Grow from the lowest number with the position."""
        return self._lowest + cell[self._axis] * self._growth

    def values(self, cells: Integers) -> Integers:
        """Grow from the lowest number with the positions."""
        return self._lowest + cells[:, self._axis] * self._growth

    def _piece_ends(self) -> tuple[Integers, Integers]:
        groups, along = self.classes.groups[self._axis], self.classes.along(self._axis)
        first, last = (
            np.array(ends, dtype=np.int64) for ends in zip(*((g.first, g.last) for g in groups), strict=True)
        )
        return first[along] * self._growth + self._lowest, last[along] * self._growth + self._lowest

    def _cell_in(self, piece: int, *, highest: bool) -> Cell:
        groups = self.classes.piece(piece)
        cell = [group.first for group in groups]
        cell[self._axis] = groups[self._axis].last if highest else groups[self._axis].first
        return tuple(cell)


class Tabled(Scalar):
    """A number given by a table over some attributes."""

    def __init__(self, classes: Classes, domain: Domain, table: npt.NDArray[Any]) -> None:
        super().__init__(classes)
        self._axes = [classes.domain.axis(name) for name in domain.names]
        self._table = table.reshape(domain.shape)

    def value(self, cell: Cell) -> int:
        """Look up the number of a value in the table."""
        return int(self._table[tuple(cell[axis] for axis in self._axes)])

    def values(self, cells: Integers) -> Integers:
        """Look up the numbers of many values in the table."""
        return self._table[tuple(cells[:, axis] for axis in self._axes)]

    def _piece_ends(self) -> tuple[Integers, Integers]:
        return self._by_piece

    @cached_property
    def _by_piece(self) -> tuple[Integers, Integers]:
        projected = projected_pieces(self.classes, self._axes)
        low, high = self._table, self._table
        for dimension, axis in enumerate(self._axes):
            order, starts = _in_groups(self.classes.groups[axis])
            low = np.minimum.reduceat(low.take(order, axis=dimension), starts, axis=dimension)
            high = np.maximum.reduceat(high.take(order, axis=dimension), starts, axis=dimension)
        return low.reshape(-1)[projected], high.reshape(-1)[projected]

    def _cell_in(self, piece: int, *, highest: bool) -> Cell:
        groups = self.classes.piece(piece)
        part = self._table[np.ix_(*([*groups[axis]] for axis in self._axes))]
        indices = np.unravel_index(int(part.argmax() if highest else part.argmin()), part.shape)
        cell = [group.first for group in groups]
        for axis, number in zip(self._axes, indices, strict=True):
            cell[axis] = [*groups[axis]][int(number)]
        return tuple(cell)


def projected_pieces(classes: Classes, axes: Sequence[int]) -> Integers:
    """Number the projection of each piece onto some attributes."""
    projected = np.zeros(len(classes.pieces), dtype=np.int64)
    for axis in axes:
        projected = projected * len(classes.groups[axis]) + classes.along(axis)
    return projected


def _in_groups(groups: Sequence[Subset]) -> tuple[Integers, Integers]:
    """Return all positions, group by group, and the index at which each group starts."""
    order = np.concatenate([np.concatenate([np.arange(*run) for run in group.runs]) for group in groups])
    return order, np.cumsum([0, *(len(group) for group in groups)])[:-1]


def _first_of_each(labels: Integers, keys: Integers) -> Integers:
    """Return the index of the smallest key of each label."""
    order = np.lexsort((keys, labels))
    return order[np.searchsorted(labels[order], np.arange(int(labels.max()) + 1))]
