"""Intervals for the rectangles of a finished release, from simulated releases of a stand-in for the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.constraints import Correction
from blowfish_privacy.mechanisms.grid.grid_family import GridFamily
from blowfish_privacy.mechanisms.grid.known_parts import KnownParts, known_bounds
from blowfish_privacy.mechanisms.grid.rectangles import Corners, areas, between, rectangles_of, sums_of
from blowfish_privacy.mechanisms.intervals import Errors, IntervalWidths, checked_level, normal_width
from blowfish_privacy.mechanisms.ordered.range_intervals import stand_in
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.privacy.public_totals import records_total
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number
from blowfish_privacy.support.progress import task

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
