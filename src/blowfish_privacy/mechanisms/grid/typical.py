"""The typical error of the grid that is shown: simulated, since it depends on the data.

Before a release the data are public synthetic shapes of the same number of records; after it, the released estimate
itself stands in for the truth (a parametric bootstrap). Neither touches private data.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.constraints import Correction
from blowfish_privacy.mechanisms.error import Error, in_short
from blowfish_privacy.mechanisms.grid.grid_error import over_all_rectangles
from blowfish_privacy.mechanisms.grid.grid_family import GridFamily
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number
from blowfish_privacy.support.progress import task

_DRAWS = 8
_MOST_WORK = 1_000_000
"""Cells of all draws together, from which on two draws must do."""
_MOST_SIMULATED = 300_000
"""Cells of a grid beyond which a plan simulates nothing: it should answer within seconds."""


def whole_cells(cells: Floats) -> npt.NDArray[np.int64]:
    """Round a grid without negative counts so that sums row by row stay within half a record of what they were."""
    ends = np.rint(np.cumsum(cells)).astype(np.int64)
    return np.diff(ends, prepend=0).reshape(cells.shape)


def shapes(shape: tuple[int, ...], records: int) -> dict[str, npt.NDArray[np.int64]]:
    """Make public grids of ``records`` records: even, falling off from a corner, a peak, and most in one cell."""
    rows, columns = np.meshgrid(*map(np.arange, shape), indexing="ij")
    down, across = ((axis - size / 3) / (size / 12 + 1) for axis, size in zip((rows, columns), shape, strict=True))
    densities = {
        "even": np.ones(shape),
        "falling off": 1 / ((1.0 + rows) * (1.0 + columns)),
        "a peak": np.exp(-0.5 * (down**2 + across**2)),
        "most in one cell": np.where(rows + columns == 0, 0.9, 0.1 / max(rows.size - 1, 1)),
    }
    return {name: whole_cells(density / density.sum() * records) for name, density in densities.items()}


def typical_errors(mechanism: GridFamily, records: int) -> dict[str, float]:
    """Return the root mean squared error of a random rectangle on each public shape; none for very large grids."""
    if mechanism.form.domain.size > _MOST_SIMULATED:
        return {}
    total = mechanism.known_total(records)
    with task("Simulating on public synthetic grids"):
        made = {
            name: simulated(mechanism, counts, 2, total)
            for name, counts in shapes(mechanism.form.domain.shape, records).items()
        }
    return {name: sqrt(float(np.mean([*map(over_all_rectangles, errors)]))) for name, errors in made.items()}


def simulated(
    mechanism: GridFamily, counts: npt.NDArray[np.int64], draws: int, totals: Correction | None = None
) -> list[Floats]:
    """Release a public grid several times and return the errors of all cells; without totals, their sum is secret."""
    stated = None if totals is None else totals.constraints.of_table(counts.reshape(-1))
    records = None if totals is None else int(counts.sum())
    source, errors = SimulationSource("grids"), list[Floats]()
    with task("Simulating the release on itself") as progress:
        for number in range(draws):
            noisy = mechanism.measure(counts, source)
            errors.append(mechanism.shown_estimate(noisy, records, totals, stated) - counts)
            if progress is not None:
                progress((number + 1) / draws)
    return errors


@dataclass(frozen=True, eq=False)
class GridBootstrapError:
    """The estimated error of a finished release of a grid, and the error that is guaranteed."""

    mechanism: GridFamily
    counts: npt.NDArray[np.int64]
    """The released estimate, in whole records."""
    guaranteed: Error
    """The error of the linear estimate, which holds whatever the data."""
    totals: Correction | None = None
    """Public totals that the estimate meets."""
    of: str = "a random rectangle"
    distribution: str = "that of the estimate, simulated on itself"
    unit: Fraction = Fraction(1)

    def __repr__(self) -> str:
        return in_short(self)

    @cached_property
    def errors(self) -> list[Floats]:
        """The errors of all cells in each simulated release."""
        draws = max(2, min(_DRAWS, _MOST_WORK // self.counts.size))
        return simulated(self.mechanism, self.counts, draws, self.totals)

    @cached_property
    def _squares(self) -> list[float]:
        return [over_all_rectangles(error) for error in self.errors]

    @property
    def mse(self) -> float:
        """The estimated mean squared error of a random rectangle."""
        return float(np.mean(self._squares))

    @property
    def rmse(self) -> float:
        """The root of the mean squared error: the typical size of the error."""
        return sqrt(self.mse)

    @property
    def precision(self) -> float:
        """The relative standard error of the estimate itself."""
        return float(np.std(self._squares) / max(self.mse, 1e-12) / sqrt(len(self._squares) - 1))

    def interval(self, level: Number = "0.95") -> float:
        """Return the interval of the guaranteed error, which holds whatever the data."""
        return self.guaranteed.interval(level)
