"""What noisy tables tell about each component, and the tables that are put together from them.

The component of a set S of attributes is the part of its table that is in no smaller one: the counts, less whatever
follows from the tables of fewer attributes if these are spread evenly. Every table is the sum of its components, each
spread evenly over the table's other attributes. Noise of different components is uncorrelated, so the best linear
unbiased estimate of each is the mean of all that measured it, weighted by precision (docs/proofs/tables.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import inf, prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import QueryError
from blowfish_privacy.queries.tables_form import Block

Axes: TypeAlias = tuple[int, ...]
Floats = npt.NDArray[np.float64]


def subsets(axes: Axes) -> Iterator[Axes]:
    """Go through all subsets, smaller ones first."""
    return (chosen for many in range(len(axes) + 1) for chosen in combinations(axes, many))


@dataclass(frozen=True, eq=False)
class Components:
    """How precisely each component of some tables is known from noisy ones."""

    shape: tuple[int, ...]
    """The number of values of each attribute."""
    blocks: tuple[Block, ...]
    """The tables that were measured."""
    variances: tuple[float, ...]
    """The variance of the noise in a cell of each; 0 where it is exact."""
    tables: tuple[Axes, ...]
    """The tables that are put together."""
    counted: bool
    """Whether the number of records is known exactly."""

    @cached_property
    def shares(self) -> dict[Axes, list[tuple[int, float]]]:
        """For each component, the tables that measured it and the weight of each in their mean."""
        return {
            component: [(number, precision / total) for number, precision in self._weighed(found)]
            for component, found in self._precisions.items()
            if (total := sum(precision for _, precision in self._weighed(found)))
        }

    @cached_property
    def spread(self) -> dict[Axes, float]:
        """For each component, the variance of a cell before it is made to sum to zero along each attribute."""
        return {
            component: 0.0 if any(precision == inf for _, precision in found) else 1 / sum(p for _, p in found)
            for component, found in self._precisions.items()
        }

    @staticmethod
    def _weighed(found: list[tuple[int, float]]) -> list[tuple[int, float]]:
        """Of tables that are exact, one is enough."""
        exact = [(number, 1.0) for number, precision in found if precision == inf]
        return exact[:1] or found

    @cached_property
    def _precisions(self) -> dict[Axes, list[tuple[int, float]]]:
        wanted = {tuple(sorted(component)) for table in self.tables for component in subsets(tuple(sorted(table)))}
        found: dict[Axes, list[tuple[int, float]]] = {component: [] for component in wanted}
        if self.counted:
            found[()] = [(-1, inf)]
        for number, (block, variance) in enumerate(zip(self.blocks, self.variances, strict=True)):
            cells = prod(self.shape[axis] for axis in block.counted)
            for part in subsets(block.counted):
                component = tuple(sorted((*part, *block.signs)))
                if component in found and not (self.counted and not component):
                    summed = cells // prod(self.shape[axis] for axis in part)
                    found[component].append((number, 2 ** len(block.signs) / (variance * summed) if variance else inf))
        if not all(found.values()):
            raise QueryError("the tables that are measured do not tell all the tables asked for.")
        return found

    def estimate(self, measured: Sequence[npt.NDArray[np.int64]], records: int | None) -> dict[Axes, Floats]:
        """Return the best estimate of every component, given the noisy tables in the order of the blocks."""
        components = {
            component: np.zeros([self.shape[axis] for axis in component], dtype=np.float64)
            for component in self._precisions
        }
        if records is not None:
            components[()] = np.asarray(float(records))
        for number, parts in self._told.items():
            values = measured[number].astype(np.float64)
            block = self.blocks[number]
            for part, share in parts:
                component = tuple(sorted((*part, *block.signs)))
                components[component] += share * self._component(values, block, part)
        return components

    @cached_property
    def _told(self) -> dict[int, list[tuple[Axes, float]]]:
        """For each table that was measured, the components it has a share in, signs left out."""
        told: dict[int, list[tuple[Axes, float]]] = {}
        for component, shares in self.shares.items():
            for number, share in shares:
                if number >= 0:
                    signs = self.blocks[number].signs
                    part = tuple(axis for axis in component if axis not in signs)
                    told.setdefault(number, []).append((part, share))
        return told

    def _component(self, values: Floats, block: Block, part: Axes) -> Floats:
        """Sum a table down to some of its attributes, and take away the mean along each of them."""
        summed = values.sum(axis=tuple(at for at, axis in enumerate(block.counted) if axis not in part))
        axes = [axis for axis in block.counted if axis in part]
        for at in range(len(axes)):
            summed = summed - summed.mean(axis=at, keepdims=True)
        for _ in block.signs:
            summed = np.stack([summed / 2, -summed / 2], axis=-1)
        order = [*axes, *block.signs]
        return np.asarray(summed).transpose([order.index(axis) for axis in sorted(order)])

    def table(self, components: dict[Axes, Floats], axes: Axes) -> Floats:
        """Put a table together from its components, with its axes in this order."""
        total = np.zeros([self.shape[axis] for axis in sorted(axes)], dtype=np.float64)
        for component in subsets(tuple(sorted(axes))):
            shape = [self.shape[axis] if axis in component else 1 for axis in sorted(axes)]
            spread = prod(self.shape[axis] for axis in axes if axis not in component)
            total += components[component].reshape(shape) / spread
        return total.transpose([sorted(axes).index(axis) for axis in axes])

    def variance(self, axes: Axes, cells: Sequence[int] | None = None) -> float:
        """Return the variance of a cell of a table, or of a sum of so many values along each of its axes."""
        many = dict(zip(axes, cells or [1] * len(axes), strict=True))
        total = 0.0
        for component in subsets(tuple(sorted(axes))):
            inside = prod(many[axis] * (1 - many[axis] / self.shape[axis]) for axis in component)
            outside = prod((many[axis] / self.shape[axis]) ** 2 for axis in axes if axis not in component)
            total += self.spread[component] * inside * outside
        return total
