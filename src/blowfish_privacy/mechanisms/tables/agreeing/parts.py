"""How a coarser table lies in a finer one: summing down to it, and spreading its counts evenly again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.tables.nesting import Axes, Nesting, Positions
from blowfish_privacy.support.arrays import Floats


@dataclass(frozen=True, eq=False)
class Part:
    """A table that another one contains: it has fewer attributes, or coarser levels of them."""

    sizes: tuple[int, ...]
    """The number of values of each axis there is."""
    nesting: Nesting
    axes: Axes
    """The axes of the finer table."""
    component: Axes
    """The axes of the coarser one."""

    @cached_property
    def _levels(self) -> tuple[int | None, ...]:
        """For each axis of the finer table, the axis of the coarser one that it adds up to."""
        level = {self.nesting.family(axis): axis for axis in self.component}
        return tuple(level.get(self.nesting.family(axis)) for axis in self.axes)

    @cached_property
    def _left_out(self) -> Axes:
        return tuple(at for at, level in enumerate(self._levels) if level is None)

    @cached_property
    def _coarser(self) -> list[tuple[int, int, int]]:
        pairs = zip(range(len(self.axes)), self.axes, self._levels, strict=True)
        return [(at, axis, level) for at, axis, level in pairs if level is not None and level != axis]

    @cached_property
    def _kept(self) -> Axes:
        """The axes of the coarser table, in the order of the finer one."""
        return tuple(level for level in self._levels if level is not None)

    @cached_property
    def spread(self) -> float:
        """Over how many cells a count of the coarser table is spread, on average."""
        return prod(self.sizes[axis] for axis in self.axes) / prod(self.sizes[axis] for axis in self.component)

    def sums(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sum the finer table down to the coarser one."""
        for at, axis, level in self._coarser:
            values = self.nesting.summed(values, at, axis, level)
        values = np.asarray(values.sum(axis=self._left_out))
        return values.transpose([self._kept.index(axis) for axis in self.component])

    def lifted(self, values: Floats) -> Floats:
        """Spread the counts of the coarser table evenly over the finer one; along some axes only to be broadcast."""
        values = values.transpose([self.component.index(axis) for axis in self._kept])
        values = np.expand_dims(values, self._left_out)
        for at in self._left_out:
            axis = self.axes[at]
            if axis in self.nesting.parents:
                shares = self.nesting.shares(None, axis, self.sizes[axis])
                values = values * shares.reshape([-1 if other == at else 1 for other in range(len(self.axes))])
            else:
                values = values / self.sizes[axis]
        for at, axis, level in self._coarser:
            values = self.nesting.split(values, at, level, axis)
        return values

    def places(self) -> Positions:
        """Number the cell of the coarser table that each cell of the finer one adds to."""
        along = np.indices([self.sizes[axis] for axis in self.axes])
        for at, axis, level in self._coarser:
            along[at] = self.nesting.positions(axis, level)[along[at]]
        shape = tuple(self.sizes[axis] for axis in self.component)
        order = [self._levels.index(axis) for axis in self.component]
        return np.ravel_multi_index(tuple(along[order]), shape).reshape(-1) if order else np.zeros(along[0].size, int)
