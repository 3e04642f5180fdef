"""Intervals for the rectangles of a finished release, from simulated releases of a stand-in for the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.constraints import Correction
from blowfish_privacy.mechanisms.error import Error, Errors, IntervalWidths, checked_level, in_short, normal_width
from blowfish_privacy.mechanisms.grid.grid_family import (
    Corners,
    GridFamily,
    areas,
    between,
    over_all_rectangles,
    rectangles_of,
    sums_of,
)
from blowfish_privacy.mechanisms.ordered.range_intervals import stand_in
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.privacy.public_totals import Totals, records_total
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number
from blowfish_privacy.support.progress import task

# What public totals of parts of a grid say of its rectangles.

_CELLS_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class KnownParts:
    """Where the parts of a partition lie that hold records: the smallest rectangle around each, and their numbers."""

    around: Corners
    counts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, totals: Totals, shape: tuple[int, ...]) -> KnownParts:
        """Find the rectangles around the parts of a grid of this shape."""
        places = np.divmod(np.arange(len(totals.labels)), shape[1])
        around = np.empty((len(totals.counts), 4), dtype=np.int64)
        for axis, place in enumerate(places):
            low, high = np.full(len(around), len(place)), np.zeros(len(around), dtype=np.int64)
            np.minimum.at(low, totals.labels, place)
            np.maximum.at(high, totals.labels, place + 1)
            around[:, 2 * axis], around[:, 2 * axis + 1] = low, high
        held = totals.counts > 0
        return cls(around[held], totals.counts[held])

    def bounds(self, corners: Corners) -> Floats:
        """Return at least and at most how many records rectangles hold: of parts inside them, and of those they touch.

        A part that is no rectangle may count as touched although it is not; the bound holds all the same.
        """
        ends = np.zeros((2, len(corners)))
        top, bottom, left, right = corners.T[:, :, None]
        step = max(1, _CELLS_AT_ONCE // max(len(corners), 1))
        for start in range(0, len(self.counts), step):
            first, last, west, east = self.around[start : start + step].T
            counts = self.counts[start : start + step].astype(np.float64)
            ends[0] += ((top <= first) & (bottom >= last) & (left <= west) & (right >= east)) @ counts
            ends[1] += ((top < last) & (bottom > first) & (left < east) & (right > west)) @ counts
        return ends


def known_bounds(parts: Iterable[KnownParts], corners: Corners) -> Floats:
    """Return what several partitions say together: the largest of the least numbers, the smallest of the most."""
    each = [part.bounds(corners) for part in parts]
    least = np.max([bounds[0] for bounds in each], axis=0, initial=0.0)
    most = np.min([bounds[1] for bounds in each], axis=0, initial=np.inf)
    return np.stack([np.broadcast_to(least, len(corners)), np.broadcast_to(most, len(corners))])


_RELEASES = 40
_FEWEST_RELEASES = 6
_MOST_WORK = 2**20
"""How many cells all simulated releases have together, unless that leaves too few releases."""
_RECTANGLES = 1_000
_AT_ONCE = 2**12


def spread_around(cells: Floats) -> Floats:
    """Spread the records of every cell evenly over the empty cells that are nearer to it than to any other."""
    from scipy.ndimage import distance_transform_edt

    filled = cells > 0
    if not filled.any():
        return np.maximum(cells, 0.0)
    nearest: Any = distance_transform_edt(~filled, return_distances=False, return_indices=True)
    owner = np.ravel_multi_index(tuple(nearest), cells.shape)
    many = np.bincount(owner.reshape(-1), minlength=cells.size)
    return (np.maximum(cells, 0.0).reshape(-1) / np.maximum(many, 1))[owner]


@dataclass(frozen=True, eq=False)
class RectangleIntervals:
    """What a release's own noise does to data like its estimate, and the intervals that follow."""

    mechanism: GridFamily
    cells: Floats
    """The estimated counts that are shown."""
    records: int | None
    totals: Correction | None
    selected: Callable[[Floats], Floats]
    """What becomes of an estimate where a condition selects some of the cells."""

    def of(self, corners: Corners, level: Number) -> tuple[Floats, Floats]:
        """Return both ends for rectangles between cut points; in many parts, so that memory is bounded."""
        share = checked_level(level)
        if share not in self._widths:
            self._widths[share] = IntervalWidths.calibrated(share, self._samples)
        ends = np.empty((2, len(corners)))
        for start in range(0, len(corners), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            ends[:, part] = self._ends(corners[part], self._widths[share])
        return ends[0], ends[1]

    def _ends(self, corners: Corners, widths: IntervalWidths) -> Floats:
        least, most = known_bounds(self._known, corners)
        most = np.where(between(self._open, corners) > 0, most, 0.0)
        # Rounding may put the estimate past a bound.
        value, area = np.clip(between(self._sums, corners), least, most), areas(corners)
        half = widths.of(area, between(self._errors, corners))
        high = np.where(value < 0.5, np.maximum(value + half, self._hidden(corners, widths.level)), value + half)
        return np.clip([value - half, high], least, most)

    def _hidden(self, corners: Corners, level: Fraction) -> Floats:
        """Return how many records may be in a rectangle of which the estimate says that it is empty.

        The noise may hide as many as there are nearby on average, but no more than the unbiased estimate would show.
        """
        nearby, deviations = np.maximum(between(self._nearby, corners), 0), normal_width(level)
        shown = np.sqrt(self.mechanism.rectangle_variances(corners))
        return np.minimum(nearby + deviations * np.sqrt(nearby), deviations * shown)

    @cached_property
    def _open(self) -> Floats:
        """How many cells before each cut point a condition leaves open."""
        return sums_of(self.selected(np.ones(self.cells.shape)))

    @cached_property
    def _known(self) -> list[KnownParts]:
        totals = [] if self.records is None else [records_total(self.cells.size, self.records)]
        if self.totals is not None:
            totals += self.totals.constraints.totals
        return [KnownParts.of(each, self.cells.shape) for each in totals]

    @cached_property
    def _sums(self) -> Floats:
        return sums_of(self.cells)

    @cached_property
    def _even(self) -> Floats:
        return spread_around(self.cells)

    @cached_property
    def _nearby(self) -> Floats:
        return sums_of(self._even)

    @cached_property
    def _widths(self) -> dict[Fraction, IntervalWidths]:
        return {}

    @cached_property
    def _errors(self) -> npt.NDArray[np.float32]:
        """The errors of simulated releases, added up before all cut points; everybody simulates the same."""
        many = max(_FEWEST_RELEASES, min(_RELEASES, _MOST_WORK // self.cells.size))
        source, shape = SimulationSource("intervals of rectangles"), self._sums.shape
        errors = np.empty((many, *shape), dtype=np.float32)
        with task("Simulating releases of the estimate") as progress:
            counts = self.mechanism.uneven(self._stand_in(source))
            for row in range(many):
                errors[row] = sums_of(self._released(counts, source) - counts)
                if progress is not None:
                    progress((row + 1) / many)
        return errors

    def _stand_in(self, source: SimulationSource) -> npt.NDArray[np.int64]:
        """Find whole counts whose releases are as uneven as this one, added up row after row."""
        cuts, even = (np.append(0.0, np.cumsum(cells)) for cells in (np.maximum(self.cells, 0), self._even))

        def released(counts: npt.NDArray[np.int64]) -> Floats:
            return np.append(0.0, np.cumsum(np.maximum(self._released(counts.reshape(self.cells.shape), source), 0)))

        return stand_in(cuts, even, released).reshape(self.cells.shape)

    def _released(self, counts: npt.NDArray[np.int64], source: SimulationSource) -> Floats:
        noisy = self.mechanism.measure(counts, source)
        records = None if self.records is None else int(counts.sum())
        stated = None if self.totals is None else self.totals.constraints.of_table(counts.reshape(-1))
        return self.selected(self.mechanism.shown_estimate(noisy, records, self.totals, stated))

    @cached_property
    def _sampled(self) -> list[tuple[float, Corners]]:
        """Rectangles of areas in steps of about two, of any proportions, anywhere."""
        source = SimulationSource("rectangles")
        areas = [2**power for power in range(self.cells.size.bit_length()) if 2**power <= 0.8 * self.cells.size] or [1]
        return [(float(area), rectangles_of(area, self.cells.shape, _RECTANGLES, source)) for area in areas]

    @cached_property
    def _samples(self) -> list[tuple[float, Errors]]:
        return [(area, between(self._errors, corners)) for area, corners in self._sampled]


# The typical error of the grid that is shown: simulated, since it depends on the data.
#
# Before a release the data are public synthetic shapes of the same number of records; after it, the released estimate
# itself stands in for the truth (a parametric bootstrap). Neither touches private data.

_DRAWS = 8
_MOST_TRIAL_WORK = 1_000_000
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
        draws = max(2, min(_DRAWS, _MOST_TRIAL_WORK // self.counts.size))
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
