"""The error of sets of tables, known before any data are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod, sqrt

import numpy as np

from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.tables.components import Axes, Components, Floats, subsets
from blowfish_privacy.noise import SimulationSource, discrete_laplace
from blowfish_privacy.support.exact import Number, exact

_DRAWN = 40_000
_MOST_DRAWN = 16
"""Noise of more cells than this is added up as normal, and so is what makes up little of the whole."""
_LITTLE = 0.002


@dataclass(frozen=True, eq=False)
class TablesError:
    """The error of the cells of several tables; it is the same for all cells of a table."""

    components: Components
    scales: tuple[Fraction, ...]
    """The scale of the noise of each table that was measured."""
    worst: bool
    """Whether the error stated is that of the worst table, and not the mean over all cells."""
    unit: Fraction = Fraction(1)
    distribution: str = "sums of discrete Laplace draws, simulated"
    precision: float = 0.0

    @property
    def of(self) -> str:
        """What the error refers to."""
        if len(self.components.tables) == 1:
            return "a cell"
        return "a cell of the worst table" if self.worst else "a cell of all tables"

    @property
    def mse(self) -> float:
        """The mean squared error."""
        if self.worst:
            return max(self.by_table)
        cells = [prod(self.components.shape[axis] for axis in axes) for axes in self.components.tables]
        return sum(many * variance for many, variance in zip(cells, self.by_table, strict=True)) / sum(cells)

    @property
    def rmse(self) -> float:
        """The root of the mean squared error: the typical size of the error."""
        return sqrt(self.mse)

    @cached_property
    def by_table(self) -> tuple[float, ...]:
        """The variance of a cell of each table."""
        return tuple(self.components.variance(axes) for axes in self.components.tables)

    def interval(self, level: Number = "0.95") -> float:
        """Return a bound on the error of a cell of the worst table that holds with probability ``level``."""
        worst = max(range(len(self.by_table)), key=lambda number: self.by_table[number])
        return self.interval_of(self.components.tables[worst], level)

    def interval_of(self, axes: Axes, level: Number = "0.95") -> float:
        """Return a bound on the error of a cell of a table that holds with probability ``level``; simulated."""
        share = exact(level, "the level", error=QueryError)
        if not 0 < share < 1:
            raise QueryError("the level must lie between 0 and 1.", hint="write it like 0.95.")
        return float(np.quantile(self._sampled(axes), float(share))) if self.components.variance(axes) else 0.0

    def _sampled(self, axes: Axes) -> Floats:
        """Draw errors of a cell: noise that weighs much as it is, all that weighs little as one normal variable."""
        # Fixed bits, so that everyone computes the same error for the same noise scales.
        source = SimulationSource("tables")
        total = self.components.variance(axes)
        drawn, rest = np.zeros(_DRAWN), total
        for number, coefficient, many in self.loads(axes):
            variance = self.components.variances[number] * coefficient**2
            if variance > _LITTLE * total and many <= _MOST_DRAWN:
                noise = discrete_laplace(self.scales[number], (many, _DRAWN), source=source)
                drawn += coefficient * noise.sum(axis=0)
                rest -= many * variance
        normal = np.random.default_rng(17).standard_normal(_DRAWN)
        return np.abs(drawn + sqrt(max(rest, 0.0)) * normal)

    def loads(self, axes: Axes) -> Iterator[tuple[int, float, int]]:
        """Say how much of the noise of each measured table is in a cell: with which factor, from how many cells.

        Cells of one measured table have the same factor where they agree with the cell along the same attributes.
        """
        shape, blocks = self.components.shape, self.components.blocks
        shares = self._shares(axes)
        for number, parts in shares.items():
            block = blocks[number]
            common = tuple(axis for axis in block.counted if axis in axes)
            others = prod(shape[axis] for axis in block.counted if axis not in axes)
            for same in product((True, False), repeat=len(common)):
                agrees = dict(zip(common, same, strict=True))
                many = others * prod(1 if agrees[axis] else shape[axis] - 1 for axis in common)
                factor = 0.0
                for component, share in parts:
                    inside = prod(0.5 if axis in block.signs else agrees[axis] - 1 / shape[axis] for axis in component)
                    factor += share * inside / prod(shape[axis] for axis in axes if axis not in component)
                if many and factor:
                    yield number, factor, many

    def _shares(self, axes: Axes) -> dict[int, list[tuple[Axes, float]]]:
        """For each measured table, the components of a table that it has a share in."""
        found: dict[int, list[tuple[Axes, float]]] = {}
        for component in subsets(tuple(sorted(axes))):
            for number, share in self.components.shares.get(component, ()):
                if number >= 0 and self.components.variances[number]:
                    found.setdefault(number, []).append((component, share))
        return found
