"""Attributes that tables look at on several levels: which level lies inside which, and how noise spreads between them.

Every level of an attribute is an axis of its own, with a number. A table has at most one level of an attribute. Its
component on a level is what the counts there tell beyond the next coarser level, if counts there are split evenly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, pairwise, product
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.queries.tables_form import TablesForm

Axes: TypeAlias = tuple[int, ...]
Floats = npt.NDArray[np.float64]
Positions: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pattern:
    """Values of a measured level that agree with each value of an axis on the same levels."""

    many: Floats
    """How many such values there are, for each value of the axis."""
    factors: Mapping[int | None, Floats]
    """The factor of their noise in each value of the axis, for every component that they have a share in."""


@dataclass(frozen=True, eq=False)
class Nesting:
    """For each axis that is finer than another one, that other, and where each value lies on it."""

    parents: Mapping[int, int] = field(default_factory=dict[int, int])
    above: Mapping[int, Positions] = field(default_factory=dict[int, Positions])

    def chain(self, axis: int) -> Axes:
        """Return an axis and all coarser levels of the same attribute, the coarsest first."""
        return (*self.chain(self.parents[axis]), axis) if axis in self.parents else (axis,)

    def family(self, axis: int) -> int:
        """Return what the levels of one attribute have in common: the coarsest."""
        return self.chain(axis)[0]

    def nested(self, axes: Sequence[int]) -> bool:
        """Say whether some of these axes have coarser or finer levels."""
        return any(axis in self.parents or axis in self.parents.values() for axis in axes)

    def parts(self, axes: Axes) -> Iterator[Axes]:
        """Go through the components of a table: of each attribute one of its levels, or none; in ascending order."""
        if not self.parents:
            ordered = sorted(axes)
            yield from chain.from_iterable(combinations(ordered, many) for many in range(len(ordered) + 1))
            return
        for chosen in product(*((None, *self.chain(axis)) for axis in axes)):
            yield tuple(sorted(axis for axis in chosen if axis is not None))

    def positions(self, fine: int, coarse: int) -> Positions:
        """Return where each value of a level lies on a coarser one."""
        if fine == coarse:
            raise KeyError(fine)
        up = self.above[fine]
        return up if self.parents[fine] == coarse else self.positions(self.parents[fine], coarse)[up]

    def summed(self, values: Floats, at: int, fine: int, coarse: int) -> Floats:
        """Add up a table along one of its axes, from a level to a coarser one."""
        if fine == coarse:
            return values
        where = self.positions(fine, coarse)
        moved = np.moveaxis(values, at, 0)
        total = np.zeros((int(where.max()) + 1, *moved.shape[1:]), dtype=values.dtype)
        np.add.at(total, where, moved)
        return np.moveaxis(total, 0, at)

    def contrast(self, values: Floats, at: int, axis: int) -> Floats:
        """Take away along one axis what an even split of the next coarser level would give."""
        if axis not in self.parents:
            return values - values.mean(axis=at, keepdims=True)
        parent = self.parents[axis]
        return values - self.split(self.summed(values, at, axis, parent), at, parent, axis)

    def split(self, values: Floats, at: int, coarse: int, fine: int) -> Floats:
        """Split the counts of a level evenly, level by level, down to a finer one."""
        if coarse == fine:
            return values
        halfway = self.split(values, at, coarse, self.parents[fine])
        shape = [1] * values.ndim
        shape[at] = -1
        return np.take(halfway, self.above[fine], axis=at) * self.even(fine).reshape(shape)

    def even(self, axis: int) -> Floats:
        """Return the share of its parent that each value of a level has in an even split."""
        up = self.above[axis]
        return 1 / np.bincount(up)[up]

    def shares(self, coarse: int | None, fine: int, size: int) -> Floats:
        """Return the share of its ancestor on a coarser level, or of everything, that each value has when split."""
        if coarse == fine:
            return np.ones(size)
        if fine not in self.parents:
            return np.full(size, 1 / size)
        up = self.above[fine]
        return self.even(fine) * self.shares(coarse, self.parents[fine], int(up.max()) + 1)[up]

    def patterns(self, axis: int, measured: int | None, shape: Sequence[int]) -> list[Pattern]:
        """Say how the noise of a measured level gets into each value of an axis, component by component.

        Values of the measured level have the same factor for a value of the axis if they agree with it on the same
        levels; ``measured`` is None where the attribute was not looked at.
        """
        size = shape[axis]
        whole = self.shares(None, axis, size)
        if measured is None:
            return [Pattern(np.ones(size), {None: whole})]
        common = [level for level in self.chain(measured) if level in self.chain(axis)]
        under = [np.full(size, float(shape[measured]))]
        siblings: list[Floats] = []
        for level in common:
            own = np.arange(size) if level == axis else self.positions(axis, level)
            many = np.ones(shape[level]) if level == measured else np.bincount(self.positions(measured, level))
            under.append(many[own].astype(np.float64))
            siblings.append(
                (1 / self.even(level) if level in self.parents else np.full(shape[level], shape[level]))[own]
            )
        found: list[Pattern] = []
        for depth in range(len(common) + 1):
            factors: dict[int | None, Floats] = {None: whole}
            for number, level in enumerate(common):
                kept = (depth > number) - (depth >= number) / siblings[number]
                factors[level] = self.shares(level, axis, size) * kept
            found.append(Pattern(under[depth] - (under[depth + 1] if depth < len(common) else 0.0), factors))
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
            on_level = on_level - np.asarray(np.bincount(up, on_level * self.even(component)), dtype=np.float64)[up]
        else:
            on_level = on_level - on_level.mean()
        return on_level if component == measured else on_level[self.positions(measured, component)]


def nesting(form: TablesForm) -> Nesting:
    """Say which levels of attributes that tables look at lie inside which: finer ones have more values."""
    parents: dict[int, int] = {}
    above: dict[int, Positions] = {}
    views = list(enumerate(form.views, len(form.domain.shape)))
    for attribute in {view.axis for view in form.views}:
        levels = sorted(((number, view) for number, view in views if view.axis == attribute), key=lambda e: e[1].size)
        for (coarse, outer), (fine, inner) in pairwise(levels):
            parents[fine] = coarse
            above[fine] = np.zeros(inner.size, dtype=np.int64)
            above[fine][inner.positions] = outer.positions
        parents[attribute], above[attribute] = levels[-1][0], levels[-1][1].positions
    return Nesting(parents, above)
