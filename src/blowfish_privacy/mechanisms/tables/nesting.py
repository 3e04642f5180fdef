"""Attributes that tables look at on several levels: which level lies inside which, and how noise spreads between them.

Every level of an attribute is an axis of its own, with a number. A table has at most one level of an attribute. Its
component on a level is what the counts there add to the next coarser level, if counts there are split evenly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.tables.shapes import Axes, parts
from blowfish_privacy.queries.tables import Block, TablesForm, added_up
from blowfish_privacy.support.arrays import Floats, Integers

_SMALLEST = 1e-60


def beside(values: Floats, at: int, axes: int) -> Floats:
    """Lay values along one of several axes."""
    return values.reshape([-1 if other == at else 1 for other in range(axes)])


@dataclass(frozen=True, eq=False)
class LevelPattern:
    """Values of a measured level that agree with each value of an axis on the same levels."""

    many: Floats
    """How many such values there are, for each value of the axis."""
    factors: Mapping[int | None, Floats]
    """The factor of their noise in each value of the axis, for every component that they have a share in."""


@dataclass(frozen=True, eq=False)
class Nesting:
    """For each axis that is finer than another one, that other, and where each value lies on it."""

    parents: Mapping[int, int] = field(default_factory=dict[int, int])
    above: Mapping[int, Integers] = field(default_factory=dict[int, Integers])
    weights: Mapping[int, Floats] = field(default_factory=dict[int, Floats])
    """How the counts of a coarser level, or of all, are split among the values of a level; evenly if not stated."""

    def chain(self, axis: int) -> Axes:
        """Return an axis and all coarser levels of the same attribute, the coarsest first."""
        return (*self.chain(self.parents[axis]), axis) if axis in self.parents else (axis,)

    def family(self, axis: int) -> int:
        """Return what the levels of one attribute have in common: the coarsest."""
        while axis in self.parents:
            axis = self.parents[axis]
        return axis

    def depth(self, axes: Axes) -> int:
        """Count the levels on which a component lies below the table of all records."""
        return sum(len(self.chain(axis)) for axis in axes)

    def levels(self, axes: Iterable[int]) -> dict[int, int]:
        """Return the level of each attribute, by its family."""
        return {self.family(axis): axis for axis in axes}

    def parts(self, axes: Axes) -> Iterator[Axes]:
        """Go through the components of a table: of each attribute one of its levels, or none; in ascending order."""
        if not self.parents:
            yield from parts(tuple(sorted(axes)))
            return
        for chosen in product(*((None, *self.chain(axis)) for axis in axes)):
            yield tuple(sorted(axis for axis in chosen if axis is not None))

    def positions(self, fine: int, coarse: int) -> Integers:
        """Return where each value of a level lies on a coarser one."""
        if fine == coarse:
            raise KeyError(fine)
        up = self.above[fine]
        return up if self.parents[fine] == coarse else self.positions(self.parents[fine], coarse)[up]

    def summed(self, values: Floats, at: int, fine: int, coarse: int) -> Floats:
        """Add up a table along one of its axes, from a level to a coarser one."""
        return values if fine == coarse else added_up(values, at, self.positions(fine, coarse))

    def contrast(self, values: Floats, at: int, axis: int) -> Floats:
        """Take away along one axis what an even split of the next coarser level would give."""
        if axis not in self.parents:
            shares = beside(self.part(axis, values.shape[at]), at, values.ndim)
            return values - values.sum(axis=at, keepdims=True) * shares
        parent = self.parents[axis]
        return values - self.split(self.summed(values, at, axis, parent), at, parent, axis)

    def split(self, values: Floats, at: int, coarse: int, fine: int) -> Floats:
        """Split the counts of a level evenly, level by level, down to a finer one."""
        if coarse == fine:
            return values
        halfway = self.split(values, at, coarse, self.parents[fine])
        return np.take(halfway, self.above[fine], axis=at) * beside(self.part(fine), at, values.ndim)

    def part(self, axis: int, size: int = 0) -> Floats:
        """Return the share of its parent, or of everything, that each value of a level has when that is split."""
        known = self.weights.get(axis)
        if known is None and axis not in self.parents:
            return np.full(size, 1 / size)
        up = self.above[axis] if axis in self.parents else None
        if known is None:
            known = np.ones(len(up if up is not None else ()))
        return known / (known.sum() if up is None else np.bincount(up, known)[up])

    def even(self, axis: int) -> bool:
        """Say whether all values of an axis have the same share of everything."""
        return axis not in self.parents and axis not in self.weights

    def shares(self, coarse: int | None, fine: int, size: int) -> Floats:
        """Return the share of its ancestor on a coarser level, or of everything, that each value has when split."""
        if coarse == fine:
            return np.ones(size)
        if fine not in self.parents:
            return self.part(fine, size)
        up = self.above[fine]
        return self.part(fine) * self.shares(coarse, self.parents[fine], int(up.max()) + 1)[up]

    def patterns(self, axis: int, measured: int | None, shape: Sequence[int]) -> list[LevelPattern]:
        """Say how the noise of a measured level gets into each value of an axis, component by component.

        Values of the measured level have the same factor for a value of the axis if they agree with it on the same
        levels; ``measured`` is None where the attribute was not looked at.
        """
        size = shape[axis]
        whole = self.shares(None, axis, size)
        if measured is None:
            return [LevelPattern(np.ones(size), {None: whole})]
        common = [level for level in self.chain(measured) if level in self.chain(axis)]
        under = [np.full(size, float(shape[measured]))]
        parts: list[Floats] = []
        for level in common:
            own = np.arange(size) if level == axis else self.positions(axis, level)
            many = np.ones(shape[level]) if level == measured else np.bincount(self.positions(measured, level))
            under.append(many[own].astype(np.float64))
            parts.append(self.part(level, shape[level])[own])
        found: list[LevelPattern] = []
        for depth in range(len(common) + 1):
            factors: dict[int | None, Floats] = {None: whole}
            for number, level in enumerate(common):
                kept = (depth > number) - (depth >= number) * parts[number]
                factors[level] = self.shares(level, axis, size) * kept
            found.append(LevelPattern(under[depth] - (under[depth + 1] if depth < len(common) else 0.0), factors))
        return found

    def response(
        self, weights: Floats, axis: int, component: int | None, measured: int | None, shape: Sequence[int]
    ) -> Floats:
        """Return the factor of each value of a measured level in a weighted sum over an axis, for one component."""
        if component is None:
            total = float(weights @ self.shares(None, axis, shape[axis]))
            return np.full(1 if measured is None else shape[measured], total)
        if measured is None:
            raise KeyError(component)
        split = weights * self.shares(component, axis, shape[axis])
        where = np.arange(len(weights)) if component == axis else self.positions(axis, component)
        on_level = np.asarray(np.bincount(where, split, minlength=shape[component]), dtype=np.float64)
        if component in self.parents:
            up = self.above[component]
            on_level = on_level - np.asarray(np.bincount(up, on_level * self.part(component)), dtype=np.float64)[up]
        else:
            on_level = on_level - float(on_level @ self.part(component, shape[component]))
        return on_level if component == measured else on_level[self.positions(measured, component)]


def nesting(form: TablesForm) -> Nesting:
    """Say which levels of attributes that tables look at lie inside which: finer ones have more values."""
    parents: dict[int, int] = {}
    above: dict[int, Integers] = {}
    views = list(enumerate(form.views, len(form.domain.shape)))
    for attribute in {view.axis for view in form.views}:
        levels = sorted(((number, view) for number, view in views if view.axis == attribute), key=lambda e: e[1].size)
        for (coarse, outer), (fine, inner) in pairwise(levels):
            parents[fine] = coarse
            above[fine] = np.zeros(inner.size, dtype=np.int64)
            above[fine][inner.positions] = outer.positions
        parents[attribute], above[attribute] = levels[-1][0], levels[-1][1].positions
    return Nesting(parents, above)


def weighed(levels: Nesting, shape: Sequence[int], blocks: Sequence[Block], variances: Sequence[float]) -> Nesting:
    """Split counts in proportion to how uncertain the values of each level are, given the tables that were measured.

    That is the best split where they were measured on one level; an even one is far from it in uneven trees.
    """
    weights: dict[int, Floats] = {}
    for family in (levels.chain(axis) for axis in levels.parents if axis not in levels.parents.values()):
        for at, level in enumerate(family):
            precision = np.zeros(shape[level])
            for block, variance in zip(blocks, variances, strict=True):
                measured = next((axis for axis in block.counted if axis in family[at:]), None)
                if measured is not None:
                    others = prod(shape[axis] for axis in block.counted if axis != measured)
                    under = 1 if measured == level else np.bincount(levels.positions(measured, level))
                    precision += 1 / (max(variance, _SMALLEST) * others * under)
            if precision.all():
                weights[level] = 1 / precision
    return replace(levels, weights=weights)


# How a coarser table lies in a finer one: summing down to it, and spreading its counts evenly again.


@dataclass(frozen=True, eq=False)
class CoarserTable:
    """A table that another one contains: it has fewer attributes, or coarser levels of them."""

    sizes: tuple[int, ...]
    """The number of values of each axis there is."""
    nesting: Nesting
    axes: Axes
    """The axes of the finer table."""
    component: Axes
    """The axes of the coarser one."""

    @cached_property
    def _places(self) -> tuple[Axes, Axes, list[tuple[int, int, int]]]:
        """Where the finer table has axes that the coarser one leaves out, its other axes, and what gets coarser.

        The other axes are those of the coarser table, in the order of the finer one; what gets coarser is a place, an
        axis and the level that it adds up to.
        """
        wanted = self.nesting.levels(self.component)
        levels = [(at, axis, wanted.get(self.nesting.family(axis))) for at, axis in enumerate(self.axes)]
        left_out = tuple([at for at, _, level in levels if level is None])
        kept = tuple([level for _, _, level in levels if level is not None])
        return left_out, kept, [(at, axis, level) for at, axis, level in levels if level is not None and level != axis]

    @cached_property
    def spread(self) -> float:
        """Over how many cells a count of the coarser table is spread, on average."""
        return prod(self.sizes[axis] for axis in self.axes) / prod(self.sizes[axis] for axis in self.component)

    def sums(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sum the finer table down to the coarser one."""
        left_out, kept, coarser = self._places
        for at, axis, level in coarser:
            values = self.nesting.summed(values, at, axis, level)
        return np.asarray(values.sum(axis=left_out)).transpose([kept.index(axis) for axis in self.component])

    def lifted(self, values: Floats) -> Floats:
        """Split the counts of the coarser table over the finer one; along some axes only to be broadcast."""
        left_out, kept, coarser = self._places
        values = np.expand_dims(values.transpose([self.component.index(axis) for axis in kept]), left_out)
        for at in left_out:
            axis = self.axes[at]
            if self.nesting.even(axis):
                values = values / self.sizes[axis]
            else:
                shares = self.nesting.shares(None, axis, self.sizes[axis])
                values = values * beside(shares, at, len(self.axes))
        for at, axis, level in coarser:
            values = self.nesting.split(values, at, level, axis)
        return values

    def contrasts(self, values: Floats) -> Floats:
        """Keep of the coarser table what no still coarser one shows."""
        for at, axis in enumerate(self.component):
            values = self.nesting.contrast(values, at, axis)
        return values

    def places(self) -> Integers:
        """Number the cell of the coarser table that each cell of the finer one adds to."""
        left_out, kept, coarser = self._places
        along = np.indices([self.sizes[axis] for axis in self.axes])
        if not kept:
            return np.zeros(along[0].size, int)
        for at, axis, level in coarser:
            along[at] = self.nesting.positions(axis, level)[along[at]]
        shown = np.delete(along, left_out, axis=0)[[kept.index(axis) for axis in self.component]]
        return np.ravel_multi_index(tuple(shown), tuple(self.sizes[axis] for axis in self.component)).reshape(-1)
