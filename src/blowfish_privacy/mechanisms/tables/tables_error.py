"""The error of sets of tables, known before any data are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np

from blowfish_privacy.domain import Subset
from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.error import in_short
from blowfish_privacy.mechanisms.tables.components import Components
from blowfish_privacy.mechanisms.tables.nesting import Axes
from blowfish_privacy.noise import SimulationSource, discrete_laplace
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number, exact

DRAWN = 40_000
MOST_DRAWN = 16
"""Noise of more cells than this is added up as normal, and so is what makes up little of the whole."""
LITTLE = 0.002


@dataclass(frozen=True, eq=False)
class TablesError:
    """The error of the cells of several tables: the same for all cells of one, unless attributes have levels."""

    components: Components
    scales: tuple[Fraction, ...]
    """The scale of the noise of each table that was measured."""
    worst: bool
    """Whether the error stated is that of the worst table, and not the mean over all cells."""
    unit: Fraction = Fraction(1)
    distribution: str = "sums of discrete Laplace draws, simulated"
    precision: float = 0.0

    def __repr__(self) -> str:
        return in_short(self)

    @property
    def of(self) -> str:
        """What the error refers to."""
        if len(self.components.tables) == 1:
            return "a cell"
        return "a cell of the worst table" if self.worst else "a cell of all tables"

    def standard_error(self, axes: Axes, chosen: Sequence[Subset] | None = None) -> float:
        """Return the standard error of a cell of a table, or of the sum of the cells that are chosen."""
        return sqrt(self.components.variance(axes, None if chosen is None else [list(subset) for subset in chosen]))

    def standard_errors(self, axes: Axes) -> Floats:
        """Return the standard error of every cell of a table."""
        return np.sqrt(self.components.cell_variances(axes))

    @property
    def mse(self) -> float:
        """The mean squared error."""
        return self.components.objective("worst" if self.worst else "mean")

    @property
    def rmse(self) -> float:
        """The root of the mean squared error: the typical size of the error."""
        return sqrt(self.mse)

    @property
    def by_table(self) -> tuple[float, ...]:
        """The variance of a cell of each table."""
        return self.components.table_variances

    def interval(self, level: Number = "0.95") -> float:
        """Return a bound on the error of a cell of the worst table that holds with probability ``level``."""
        worst = max(range(len(self.by_table)), key=lambda number: self.by_table[number])
        return self.interval_of(self.components.tables[worst], level)

    def interval_of(self, axes: Axes, level: Number = "0.95") -> float:
        """Return a bound on the error of a cell of a table that holds with probability ``level``; simulated."""
        return self._quantile(self._sampled(axes) if self.components.variance(axes) else np.zeros(1), level)

    @staticmethod
    def _quantile(errors: Floats, level: Number) -> float:
        share = exact(level, "the level", error=QueryError)
        if not 0 < share < 1:
            raise QueryError("the level must lie between 0 and 1.", hint="write it like 0.95.")
        return float(np.quantile(errors, float(share)))

    def _sampled(self, axes: Axes) -> Floats:
        """Draw errors of a cell: noise that weighs much as it is, all that weighs little as one normal variable."""
        # Fixed bits, so that everyone computes the same error for the same noise scales.
        source = SimulationSource("tables")
        total = self.components.variance(axes)
        worst = np.unravel_index(int(self.components.cell_variances(axes).argmax()), self._shape(axes))
        drawn, rest = np.zeros(DRAWN), total
        for number, factors, counts in self.components.loads(axes):
            factor, many = float(factors[worst]), round(float(counts[worst]))
            variance = self.components.variances[number] * factor**2
            if variance > LITTLE * total and many <= MOST_DRAWN:
                noise = discrete_laplace(self.scales[number], (many, DRAWN), source=source)
                drawn += factor * noise.sum(axis=0)
                rest -= many * variance
        normal = np.random.default_rng(17).standard_normal(DRAWN)
        return np.abs(drawn + sqrt(max(rest, 0.0)) * normal)

    def _shape(self, axes: Axes) -> tuple[int, ...]:
        return tuple(self.components.shape[axis] for axis in axes)
