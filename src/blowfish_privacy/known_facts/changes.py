"""Whole numbers assigned to values, with their extremes in each class of values that known facts distinguish."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, Domain
from blowfish_privacy.graphs.graph import Edge
from blowfish_privacy.known_facts.fact_model import Classes, projections
from blowfish_privacy.queries.query import LinearForm, Pattern
from blowfish_privacy.support.arrays import Integers

WholeNumbers: TypeAlias = npt.NDArray[np.object_]
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

    @cached_property
    @abstractmethod
    def _piece_ends(self) -> tuple[Integers, Integers]:
        """The lowest and the highest number in each piece."""

    @abstractmethod
    def _cell_in(self, piece: int, *, highest: bool) -> Cell:
        """Return a value in a piece at which the number is lowest or highest."""

    @cached_property
    def _ends(self) -> tuple[Integers, Integers]:
        lows, highs = self._piece_ends
        return _first_of_each(self.classes.pieces, lows), _first_of_each(self.classes.pieces, -highs)

    @cached_property
    def low(self) -> WholeNumbers:
        """The lowest number in each class."""
        return self._piece_ends[0][self._ends[0]].astype(object)

    @cached_property
    def high(self) -> WholeNumbers:
        """The highest number in each class."""
        return self._piece_ends[1][self._ends[1]].astype(object)

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
        return self._lowest + cell[self._axis] * self._growth

    def values(self, cells: Integers) -> Integers:
        return self._lowest + cells[:, self._axis] * self._growth

    @cached_property
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
        return int(self._table[tuple(cell[axis] for axis in self._axes)])

    def values(self, cells: Integers) -> Integers:
        return self._table[tuple(cells[:, axis] for axis in self._axes)]

    @cached_property
    def _piece_ends(self) -> tuple[Integers, Integers]:
        projected = projections(self.classes.labels.shape, self._axes)
        low, high = self._table, self._table
        for dimension, axis in enumerate(self._axes):
            groups = self.classes.groups[axis]
            order = np.concatenate([np.arange(*run) for group in groups for run in group.runs])
            starts = np.cumsum([0, *(len(group) for group in groups)])[:-1]
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


def _first_of_each(labels: Integers, keys: Integers) -> Integers:
    """Return the index of the smallest key of each label."""
    order = np.lexsort((keys, labels))
    return order[np.searchsorted(labels[order], np.arange(int(labels.max()) + 1))]


# How far a query can change while a record stays in its class.
#
# A compensating record may move anywhere, but whatever passes through a class enters it at one value and leaves it at
# another. So what counts is the *span* of each class: for a single number, its lowest and highest value in the class;
# for several outputs, the largest distance between two values of the class.

_MOST_SIGNS = 10
_FEW_OUTPUTS = 5
"""Histograms with at most this many cells are treated as single numbers, which is exact."""
_CANDIDATES = 6


@dataclass(frozen=True, eq=False)
class Span:
    """How much a query can change inside each class and between classes, in units."""

    diameters: WholeNumbers
    """For each class, a bound on the change when a record moves inside it."""
    largest: int
    """A bound on the change when a record moves, wherever it goes."""
    scalars: tuple[Scalar, ...]
    """Numbers whose largest change is the query's change; empty where there would be too many."""
    guides: tuple[Scalar, ...]
    """Numbers that never change by more than the query does."""
    injective: bool
    """Whether the query is a histogram that distinguishes all classes."""
    ranked: bool = False
    """Whether the change between two values is the difference of their only guide."""

    def between(self, a: int, b: int) -> int:
        """Bound the change when a record moves from one class to another."""
        if not self.ranked:
            return self.largest
        (scalar,) = self.guides
        return int(max(scalar.high[b] - scalar.low[a], scalar.high[a] - scalar.low[b]))


def span_of(form: LinearForm, classes: Classes) -> Span:
    """Work out how much a query can change inside the classes and between them."""
    (first, *_) = form.domain.names
    match form.pattern:
        case Pattern.LINE:
            (lowest,), (next_one,) = form.column((0,)), form.column((min(1, form.domain.size - 1),))
            return _of_scalars([Ranked(classes, first, lowest, next_one - lowest)])
        case Pattern.RANKS if form.outputs > _FEW_OUTPUTS:
            ranked = Ranked(classes, first)
            return Span(ranked.high - ranked.low, form.domain.size - 1, (), (ranked,), injective=False, ranked=True)
        case Pattern.CELLS:
            return _of_histogram(form, classes)
        case _:
            return _of_matrix(form, classes)


def _of_scalars(scalars: Sequence[Scalar]) -> Span:
    ranges = [scalar.high - scalar.low for scalar in scalars]
    widest = np.maximum.reduce(ranges)
    largest = max(int(scalar.high.max() - scalar.low.min()) for scalar in scalars)
    return Span(widest, largest, tuple(scalars), tuple(scalars), injective=False)


def _of_matrix(form: LinearForm, classes: Classes) -> Span:
    matrix = form.as_matrix()
    if form.outputs <= _MOST_SIGNS:
        return _of_scalars(_signed(form.domain, matrix, classes))
    outputs = [Tabled(classes, form.domain, row) for row in matrix]
    ranges = np.sum([scalar.high - scalar.low for scalar in outputs], axis=0)
    largest = sum(int(scalar.high.max() - scalar.low.min()) for scalar in outputs)
    guides = [*outputs[:_MOST_SIGNS], Tabled(classes, form.domain, matrix.sum(axis=0))]
    return Span(ranges, largest, (), tuple(guides), injective=False)


def _signed(domain: Domain, matrix: Integers, classes: Classes) -> list[Scalar]:
    """Return all signed sums of the rows: the largest of their changes is the L1 change of the rows."""
    signs = [(1, *rest) for rest in product((1, -1), repeat=len(matrix) - 1)]
    return [Tabled(classes, domain, table) for table in np.array(signs, dtype=np.int64) @ matrix]


def _of_histogram(form: LinearForm, classes: Classes) -> Span:
    names = form.domain.names
    axes = [classes.domain.axis(name) for name in names]
    separates = all(len(groups) == 1 for axis, groups in enumerate(classes.groups) if axis not in axes)
    if not separates and form.outputs <= _FEW_OUTPUTS:
        return _of_scalars(_signed(form.domain, form.as_matrix(), classes))
    projected = projections(classes.labels.shape, axes)
    shape = [len(classes.groups[axis]) for axis in axes]
    several = np.zeros(shape, dtype=bool)
    for dimension, axis in enumerate(axes):
        wide = np.array([len(group) > 1 for group in classes.groups[axis]])
        several |= wide.reshape([-1 if other == dimension else 1 for other in range(len(axes))])
    seen = np.unique(classes.pieces * np.int64(several.size) + projected)
    label, piece = seen // several.size, seen % several.size
    values = np.bincount(label, weights=1 + several.reshape(-1)[piece], minlength=classes.size)
    diameters = np.where(values > 1, 2, 0).astype(object)
    return Span(diameters, 2 if form.domain.size > 1 else 0, (), (), injective=separates)


def candidates(classes: Classes, label: int) -> list[Cell]:
    """List a few different values of a class, including its extremes."""
    cells: dict[Cell, None] = {}
    pieces = np.flatnonzero(classes.pieces == label)
    for number in {*pieces[:_CANDIDATES].tolist(), *pieces[-1:].tolist()}:
        groups = classes.piece(int(number))
        low, high = tuple(group.first for group in groups), tuple(group.last for group in groups)
        cells |= {low: None, high: None}
        for axis, group in enumerate(groups):
            cells |= {(*low[:axis], at, *low[axis + 1 :]): None for at in islice(group, _CANDIDATES)}
    return [*cells]


# How much a query changes when records move together, and the largest such change that was found.

Moves: TypeAlias = tuple[Edge, ...]
"""Records that move together: from where and to where."""


@dataclass(frozen=True)
class LargestChange:
    """The largest change of a query between neighbouring tables, or a bound on it."""

    value: int
    """In units of the query."""
    exact: bool
    """Whether some neighbours attain it; otherwise no neighbours exceed it."""
    method: str
    """The theorem that it follows from, in words."""
    moves: Moves | None = None
    """Records that attain it, where they are known."""
    together: bool = True
    """Whether several records may have to move together."""


def project(form: LinearForm, classes: Classes, cell: Cell) -> Cell:
    """Return the part of a value that a query looks at."""
    return tuple(cell[classes.domain.axis(name)] for name in form.domain.names)


def change(form: LinearForm, classes: Classes, moves: Sequence[Edge]) -> int:
    """Return how much a query changes, in units, when records move together."""
    net: Counter[Cell] = Counter()
    for x, y in moves:
        net[project(form, classes, y)] += 1
        net[project(form, classes, x)] -= 1
    return form.net_change(net)
