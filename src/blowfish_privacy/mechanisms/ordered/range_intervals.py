"""Intervals for the ranges of a finished release, from simulated releases of a stand-in for the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.constraints import Correction
from blowfish_privacy.mechanisms.intervals import Errors, IntervalWidths, checked_level, normal_width
from blowfish_privacy.mechanisms.ordered.ordered_family import OrderedFamily
from blowfish_privacy.mechanisms.ordered.stand_in import spread_evenly, stand_in
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number
from blowfish_privacy.support.progress import task

_RELEASES = 40
_FEWEST_RELEASES = 16
_MOST_NUMBERS = 2**23
"""How many errors are kept, at 4 bytes each, unless that leaves too few releases."""
_POSITIONS = 1_500
_UNBIASED = 4
_AT_ONCE = 2**14


@dataclass(frozen=True, eq=False)
class RangeIntervals:
    """What a release's own noise does to data like its estimate, and the intervals that follow."""

    mechanism: OrderedFamily
    cuts: Floats
    """The estimated number of records below each cut point, from 0 to the number of values."""
    records: int | None
    totals: Correction | None
    selected: Callable[[Floats], Floats]
    """What becomes of an estimate where a condition selects some of the values."""

    def of(self, first: npt.NDArray[np.int64], last: npt.NDArray[np.int64], level: Number) -> tuple[Floats, Floats]:
        """Return both ends for ranges between cut points; in many parts, so that memory is bounded."""
        share = checked_level(level)
        if share not in self._widths:
            self._widths[share] = IntervalWidths.calibrated(share, self._samples)
        ends = np.empty((2, len(first)))
        for start in range(0, len(first), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            ends[:, part] = self._ends(first[part], last[part], self._widths[share])
        return ends[0], ends[1]

    def _ends(self, first: npt.NDArray[np.int64], last: npt.NDArray[np.int64], widths: IntervalWidths) -> Floats:
        value = self.cuts[last] - self.cuts[first]
        half = widths.of(last - first, self._errors[:, last] - self._errors[:, first])
        low, high = value - half, value + half
        hidden = np.where(value < 0.5, self._hidden(first, last, normal_width(widths.level)), 0.0)
        least, most = self._bounds(first, last)
        # The estimate itself is inside, also where rounding puts it past a bound.
        return np.stack([np.clip(low, np.minimum(least, value), value), np.clip(np.maximum(high, hidden), value, most)])

    def _hidden(self, first: npt.NDArray[np.int64], last: npt.NDArray[np.int64], deviations: float) -> Floats:
        """Return how many records may be in a range of which the estimate says that it is empty.

        The noise may hide as many as there are nearby on average, but no more than the unbiased estimate would show.
        """
        nearby = np.maximum(self._even[last] - self._even[first], 0)
        shown = np.interp(np.log2(last - first), np.log2(self._sampled_widths), self._unbiased)
        return np.minimum(nearby + deviations * np.sqrt(nearby), deviations * shown)

    def _bounds(self, first: npt.NDArray[np.int64], last: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return what the public counts below known cut points say of a range; nothing lies outside a condition."""
        known, below = self._known, self.cuts[self._known]
        inside = below[np.searchsorted(known, last, side="right") - 1]
        after = np.append(below, np.inf)
        least = inside - after[np.searchsorted(known, first)]
        most = after[np.searchsorted(known, last)] - below[np.searchsorted(known, first, side="right") - 1]
        return np.maximum(least, 0.0), np.where(self._open[last] > self._open[first], most, 0.0)

    @cached_property
    def _open(self) -> Floats:
        """How many values below each cut point a condition leaves open."""
        return np.append(0.0, self.selected(np.arange(1.0, self.mechanism.size + 1)))

    @cached_property
    def _known(self) -> npt.NDArray[np.int64]:
        """The cut points below which the number of records is public."""
        known = np.zeros(self.mechanism.size + 1, dtype=bool)
        known[[0, *self.mechanism.public_ends()]] = True
        if self.totals is not None:
            known[1:] |= self.totals.constraints.known_ends()
        return np.flatnonzero(known)

    @cached_property
    def _even(self) -> Floats:
        return spread_evenly(self.cuts, self._known)

    @cached_property
    def _widths(self) -> dict[Fraction, IntervalWidths]:
        return {}

    @cached_property
    def _errors(self) -> npt.NDArray[np.float32]:
        """The errors of simulated releases at all cut points; everybody simulates the same."""
        many = max(_FEWEST_RELEASES, min(_RELEASES, _MOST_NUMBERS // len(self.cuts)))
        source = SimulationSource("intervals of ranges")
        errors = np.empty((many, len(self.cuts)), dtype=np.float32)
        with task("Simulating releases of the estimate") as progress:
            counts = stand_in(self.cuts, self._even, lambda made: self._released(made, source))
            truth = np.append(0, np.cumsum(counts))
            for row in range(many):
                errors[row] = self._released(counts, source) - truth
                if progress is not None:
                    progress((row + 1) / many)
        return errors

    def _released(self, counts: npt.NDArray[np.int64], source: SimulationSource) -> Floats:
        noisy = self.mechanism.measure(counts, source)
        records = None if self.records is None else int(counts.sum())
        stated = None if self.totals is None else self.totals.constraints.of_table(counts)
        return np.append(0.0, self.selected(self.mechanism.ordered_estimate(noisy, records, self.totals, stated)))

    @property
    def _sampled_widths(self) -> list[int]:
        """Widths in steps of about two."""
        size = self.mechanism.size
        return [2**power for power in range(size.bit_length()) if 2**power <= 0.9 * size] or [1]

    def _sampled(self, errors: Errors, width: int) -> Errors:
        """Return the errors of ranges of a width, at even distances."""
        first = np.unique(np.linspace(0, self.mechanism.size - width, _POSITIONS).astype(np.int64))
        return errors[:, first + width] - errors[:, first]

    @cached_property
    def _samples(self) -> list[tuple[float, Errors]]:
        return [(float(width), self._sampled(self._errors, width)) for width in self._sampled_widths]

    @cached_property
    def _unbiased(self) -> list[float]:
        """The typical errors of the unbiased estimate of ranges of each of the widths."""
        source = SimulationSource("unbiased estimates of ranges")
        errors = np.stack([np.append(0.0, self.mechanism.simulated_error(source)) for _ in range(_UNBIASED)])
        return [float(np.sqrt(np.mean(self._sampled(errors, width) ** 2))) for width in self._sampled_widths]
