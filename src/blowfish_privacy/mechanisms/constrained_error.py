"""The error of an estimate that meets public totals, where every cell has noise of one scale."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt

import numpy as np

from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.constraints import Constraints, Floats
from blowfish_privacy.mechanisms.error import ExpectedError
from blowfish_privacy.noise import SimulationSource, discrete_laplace
from blowfish_privacy.support.exact import Number, exact

_DRAWN = 40_000


@dataclass(frozen=True, eq=False)
class ConstrainedError:
    """The error of a cell of the estimate nearest in squares; it does not depend on the data."""

    raw: ExpectedError
    """The error of a cell before the totals are used."""
    constraints: Constraints
    distribution: str = "discrete Laplace draws, less what the public totals say of them, simulated"
    precision: float = 0.0

    @property
    def of(self) -> str:
        """What the error refers to."""
        return self.raw.of

    @property
    def unit(self) -> Fraction:
        """What one whole number of the release stands for."""
        return self.raw.unit

    @property
    def mse(self) -> float:
        """The mean squared error, over all cells."""
        return float(np.mean(self.by_cell() ** 2))

    @property
    def rmse(self) -> float:
        """The root of the mean squared error: the typical size of the error."""
        return sqrt(self.mse)

    def by_cell(self) -> Floats:
        """Return the root mean squared error of each cell: 0 where the totals tell the count."""
        left = 1 - self.constraints.leverage
        return np.sqrt(self.raw.mse * np.where(left > 1e-9, left, 0.0))

    def interval(self, level: Number = "0.95") -> float:
        """Return a bound on the error of a random cell that holds with probability ``level``, from simulated noise."""
        share = exact(level, "the level", error=QueryError)
        if not 0 < share < 1:
            raise QueryError("the level must lie between 0 and 1.", hint="write it like 0.95.")
        return float(np.quantile(self._sampled, float(share))) if self.mse else 0.0

    @cached_property
    def _sampled(self) -> Floats:
        # Fixed bits, so that everyone computes the same error for the same noise scales.
        source, cells = SimulationSource("public totals"), self.constraints.cells
        draws = [discrete_laplace(self.raw.scale, cells, source=source) for _ in range(-(-_DRAWN // cells))]
        empty = self.constraints.of_table(np.zeros(cells, dtype=np.int64))
        return np.abs(np.concatenate([empty.nearest(noise) for noise in draws])) * float(self.raw.unit)
