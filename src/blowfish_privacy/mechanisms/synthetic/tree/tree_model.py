"""A distribution of records that a junction tree holds: one table for each clique, which agree where they meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log, prod
from typing import Any

import numpy as np

from blowfish_privacy.mechanisms.synthetic.model import Axes
from blowfish_privacy.mechanisms.synthetic.tree.junction_tree import JunctionTree
from blowfish_privacy.mechanisms.synthetic.tree.tree_records import Step, tree_records
from blowfish_privacy.support.arrays import Floats, Integers

_TINY = 1e-300
_MOST_PASSED = 2**20
"""Cells that a clique passes up at once."""


@dataclass(frozen=True, eq=False)
class TreeModel:
    """Probabilities of the cells of every clique, and how many records they stand for."""

    tree: JunctionTree
    beliefs: tuple[Floats, ...]
    total: float

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each attribute."""
        return self.tree.shape

    def table(self, axes: Axes) -> Floats:
        """Return the expected counts of any table, one dimension for each axis in the order given."""
        home = self.tree.home(axes)
        if home is None:
            return self.total * self._joined(axes)
        clique = self.tree.cliques[home]
        summed = self.beliefs[home].sum(axis=tuple(place for place, axis in enumerate(clique) if axis not in axes))
        left = [axis for axis in clique if axis in axes]
        return self.total * summed.transpose([left.index(axis) for axis in axes])

    @cached_property
    def _conditionals(self) -> list[Floats]:
        """The table of each clique, given what it shares with the one above it."""
        return [
            belief / np.maximum(belief.sum(axis=_others(clique, separator), keepdims=True), _TINY)
            for clique, separator, belief in zip(self.tree.cliques, self.tree.separators, self.beliefs, strict=True)
        ]

    @cached_property
    def _children(self) -> list[list[int]]:
        below: list[list[int]] = [[] for _ in self.tree.cliques]
        for number, above in enumerate(self.tree.parents):
            if above >= 0:
                below[above].append(number)
        return below

    def _joined(self, axes: Axes, fixed: tuple[tuple[int, int], ...] = ()) -> Floats:
        """Sum everything but some attributes out of the tree, from its leaves up; others may have a fixed value.

        What is passed up may be far larger than the table: then it is put together value by value of one attribute.
        """
        if len(axes) > 1 and self._largest_passed(axes, fixed) > _MOST_PASSED:
            widest = max(axes, key=lambda axis: self.shape[axis])
            others = tuple(axis for axis in axes if axis != widest)
            parts = [self._joined(others, (*fixed, (widest, value))) for value in range(self.shape[widest])]
            return np.stack(parts, axis=axes.index(widest))
        passed: dict[int, tuple[Axes, Floats]] = {}
        for number, below, left in self._messages(axes, fixed):
            clique = self.tree.cliques[number]
            table = self._conditionals[number]
            for axis, value in fixed:
                if axis in clique and axis not in self.tree.separators[number]:
                    table = table * (np.arange(self.shape[axis]) == value).reshape(
                        spread_over(self.shape, (axis,), clique)
                    )
            passed[number] = (left, _contracted([(clique, table), *(passed[child] for child in below)], left))
        left, table = passed[0]
        return table.transpose([left.index(axis) for axis in axes])

    def _messages(self, axes: Axes, fixed: Sequence[tuple[int, int]]) -> Iterator[tuple[int, list[int], Axes]]:
        """List the cliques that pass something up: their number, who passes to them, and which attributes they pass."""
        tree, wanted, told = self.tree, {*axes}, {*axes, *(axis for axis, _ in fixed)}
        passing: dict[int, Axes] = {}
        for number in reversed(range(len(tree.cliques))):
            below = [child for child in self._children[number] if child in passing]
            seen = {*tree.cliques[number]}.union(*(passing[child] for child in below))
            shared = {*tree.separators[number]}
            # A part below that holds none of the attributes asked for sums to one, whatever is above it.
            if below or seen & told - shared or number == 0:
                passing[number] = tuple(sorted(seen & (wanted | shared)))
                yield number, below, passing[number]

    def _largest_passed(self, axes: Axes, fixed: Sequence[tuple[int, int]]) -> int:
        return max(prod(self.shape[axis] for axis in left) for _, _, left in self._messages(axes, fixed))

    def records(self, many: int, generator: np.random.Generator, kept: Integers | None = None) -> Integers:
        """Draw records by controlled rounding; attributes that are kept are given for every record."""
        given = () if kept is None else tuple(axis for axis in range(len(self.shape)) if (kept[:, axis] >= 0).all())
        return tree_records(self.steps(given), many, generator, kept)

    def steps(self, first: Axes = ()) -> list[Step]:
        """Cut the tree into conditional tables, attribute by attribute, those of ``first`` in front.

        The attributes of ``first`` must lie in one clique.
        """
        tree, start = self.tree, self.tree.home(first) or 0
        order, above = _rooted(tree, start)
        steps: list[Step] = []
        placed: list[int] = []
        for number in order:
            clique = tree.cliques[number]
            shared = () if above[number] < 0 else tuple(sorted({*clique} & {*tree.cliques[above[number]]}))
            new = [axis for axis in clique if axis not in shared]
            for axis in sorted(new, key=lambda axis: (axis not in first, axis)):
                parents = tuple(each for each in clique if each in placed)
                steps.append(Step(axis, parents, self.table((*parents, axis))))
                placed.append(axis)
        return steps


def beliefs_of(tree: JunctionTree, potentials: Sequence[Floats]) -> tuple[float, list[Floats]]:
    """Return the logarithm of the sum of exp(potentials) over all cells, and the probabilities of every clique's cells.

    Messages go up the tree and down again; each is scaled to sum to one.
    """
    logarithm = 0.0
    tables: list[Floats] = []
    for potential in potentials:
        largest = float(potential.max())
        logarithm += largest
        tables.append(np.exp(potential - largest))
    sent: list[Floats] = [np.ones(())] * len(tables)
    places = _places(tree)
    for number in range(len(tables) - 1, 0, -1):
        place = places[number]
        message = tables[number].sum(axis=place.summed)
        scale = max(float(message.sum()), _TINY)
        logarithm += log(scale)
        sent[number] = message / scale
        tables[tree.parents[number]] *= sent[number].reshape(place.spread_above)
    scale = max(float(tables[0].sum()), _TINY)
    tables[0] /= scale
    for number in range(1, len(tables)):
        place = places[number]
        margin = tables[tree.parents[number]].sum(axis=place.summed_above)
        ratio = np.divide(margin, sent[number], out=np.zeros_like(margin), where=sent[number] > 0)
        tables[number] *= ratio.reshape(place.spread)
        tables[number] /= max(float(tables[number].sum()), _TINY)
    return logarithm + log(scale), tables


@dataclass(frozen=True)
class _Place:
    """How a separator lies in its clique and in the clique above."""

    summed: Axes
    summed_above: Axes
    spread: tuple[int, ...]
    spread_above: tuple[int, ...]


def _places(tree: JunctionTree) -> list[_Place]:
    places: list[_Place] = []
    for clique, above, shared in zip(tree.cliques, tree.parents, tree.separators, strict=True):
        higher = tree.cliques[max(above, 0)]
        places.append(
            _Place(
                _others(clique, shared),
                _others(higher, shared),
                spread_over(tree.shape, shared, clique),
                spread_over(tree.shape, shared, higher),
            )
        )
    return places


def _others(clique: Axes, shared: Axes) -> Axes:
    return tuple(place for place, axis in enumerate(clique) if axis not in shared)


def spread_over(shape: Sequence[int], axes: Axes, clique: Axes) -> tuple[int, ...]:
    """Return the shape in which a table of some of a clique's attributes is added to the clique's table."""
    return tuple(shape[axis] if axis in axes else 1 for axis in clique)


def _contracted(parts: Sequence[tuple[Axes, Floats]], left: Axes) -> Floats:
    # Axes are numbered anew: numpy tells at most 52 apart.
    numbers = {axis: number for number, axis in enumerate(sorted({axis for axes, _ in parts for axis in axes}))}
    operands: list[Any] = [each for axes, table in parts for each in (table, [numbers[axis] for axis in axes])]
    left_over = [numbers[axis] for axis in left]
    return np.einsum(*operands, left_over, optimize="greedy" if len(parts) > 1 else False)


def _rooted(tree: JunctionTree, start: int) -> tuple[list[int], dict[int, int]]:
    """Order the cliques from another one down; return the order and the clique above each."""
    near: list[list[int]] = [[] for _ in tree.cliques]
    for number, above in enumerate(tree.parents):
        if above >= 0:
            near[number].append(above)
            near[above].append(number)
    order, above_of = [start], {start: -1}
    for number in order:
        for other in near[number]:
            if other not in above_of:
                above_of[other] = number
                order.append(other)
    return order, above_of
