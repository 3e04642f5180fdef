"""Intervals for the ranges of a finished release, from simulated releases of a stand-in for the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt

import numpy as np
import numpy.typing as npt
from numpy.random import PCG64, Generator

from blowfish_privacy.mechanisms.constraints import Correction
from blowfish_privacy.mechanisms.error import Errors, IntervalWidths, checked_level, in_short, normal_width
from blowfish_privacy.mechanisms.ordered.ordered_family import OrderedFamily
from blowfish_privacy.mechanisms.ordered.segment import RangeError
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number
from blowfish_privacy.support.progress import task

# A made-up truth whose releases look like one that was made: what an error is simulated on.
#
# An estimate that never decreases is a staircase where noise hides the shape. Taken for the truth it is too sparse:
# ordering removes more noise from a staircase than from a slope. So steps are spread over the values beside them as far
# as simulated releases of the result are as uneven as the estimate is. Records are then drawn from that density: real
# counts are no smoother than chance makes them, and a mechanism that smooths would otherwise seem to be exact.

_SPREAD = (0.0, 0.5, 1.0)
"""How far steps are spread in the simulations between which is interpolated."""
_SEED = 20
"""Everybody draws the same stand-in from the same release."""
_PROXY_DRAWS = 4
_LONG = 50_000
"""From so many values on, one simulated release says enough of how uneven releases are."""


def spread_evenly(cuts: Floats, known: npt.NDArray[np.int64]) -> Floats:
    """Spread every step of a staircase over the values up to the middles of the gaps beside it.

    ``cuts`` are the numbers of records below each cut point; those at the ``known`` ones are kept.
    """
    steps = np.flatnonzero(np.diff(cuts) > 0)
    if len(steps) < 2:
        return cuts
    middles = (steps[1:] + steps[:-1] + 1) / 2
    places = np.concatenate([middles, known])
    heights = np.concatenate([cuts[steps[1:]], cuts[known]])
    order = np.lexsort((heights, places))
    return np.interp(np.arange(len(cuts)), places[order], heights[order])


def stand_in(cuts: Floats, even: Floats, release: Callable[[npt.NDArray[np.int64]], Floats]) -> npt.NDArray[np.int64]:
    """Mix an estimate with its spread version so that ``release`` of the whole counts is as uneven as the estimate.

    ``release`` makes a simulated release of a histogram and returns its estimate at the cut points.
    """
    wanted, draws, dice = _evenness(cuts), range(_PROXY_DRAWS if len(cuts) < _LONG else 1), Generator(PCG64(_SEED))
    if not wanted:
        return np.zeros(len(cuts) - 1, dtype=np.int64)
    mixed = [(1 - share) * cuts + share * even for share in _SPREAD]
    seen = [np.mean([_evenness(release(_drawn(each, dice))) for _ in draws]) for each in mixed]
    share = float(np.interp(wanted, np.maximum.accumulate(seen), _SPREAD))
    return _drawn((1 - share) * cuts + share * even, dice)


def _evenness(cuts: Floats) -> float:
    """Add up the roots of the counts: of as many records, the more evenly they are spread the larger."""
    return float(np.sqrt(np.maximum(np.diff(cuts), 0)).sum())


def _drawn(cuts: Floats, dice: Generator) -> npt.NDArray[np.int64]:
    """Draw as many records as there are from the density between the cut points."""
    weights = np.maximum(np.diff(cuts), 0.0)
    return dice.multinomial(max(round(cuts[-1]), 1), weights / weights.sum())


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


# The typical error of an ordered estimate: simulated, since the isotonic step depends on the data.
#
# Before a release the data are public synthetic shapes of the same number of records; after it, the released estimate
# itself stands in for the truth (a parametric bootstrap). Neither touches private data.

_DRAWS = 8
_MOST_WORK = 4_000_000
_DRAWS_BY_VALUE = 40
_TYPICAL_DRAWS = 8
"""For how many draws the typical error of all values counts in that of one value."""


def shapes(size: int, records: int) -> dict[str, npt.NDArray[np.int64]]:
    """Make public histograms of ``records`` records: even, falling off, a peak, and most at one value."""
    x = np.arange(size)
    densities = {
        "even": np.ones(size),
        "falling off": 1 / (1 + x),
        "a peak": np.exp(-0.5 * ((x - size / 3) / (size / 12 + 1)) ** 2),
        "most at one value": np.where(x == 0, 0.9, 0.1 / max(size - 1, 1)),
    }
    made: dict[str, npt.NDArray[np.int64]] = {}
    for name, density in densities.items():
        ends = np.rint(np.cumsum(density) / density.sum() * records).astype(np.int64)
        made[name] = np.diff(ends, prepend=0)
    return made


def typical_errors(mechanism: OrderedFamily, records: int) -> dict[str, float]:
    """Return the root mean squared error of a random range on each public shape, after the isotonic step."""
    return {
        name: sqrt(float(np.mean([over_all_ranges(e) for e in simulated(mechanism, counts, 2)])))
        for name, counts in shapes(mechanism.size, records).items()
    }


def simulated(
    mechanism: OrderedFamily, counts: npt.NDArray[np.int64], draws: int, totals: Correction | None = None
) -> list[Floats]:
    """Release a public histogram several times and return the errors at all cut points."""
    truth, records = np.cumsum(counts), int(counts.sum())
    stated = None if totals is None else totals.constraints.of_table(counts)
    errors: list[Floats] = []
    source = SimulationSource("ordered data")
    for _ in range(draws):
        estimate = mechanism.ordered_estimate(mechanism.measure(counts, source), records, totals, stated)
        errors.append(np.append(0.0, estimate - truth))
    return errors


def over_all_ranges(error: Floats) -> float:
    """Return the mean squared error over all ranges between cut points."""
    cuts = len(error)
    return float((cuts * error @ error - error.sum() ** 2) / (cuts * (cuts - 1) / 2))


@dataclass(frozen=True, eq=False)
class BootstrapError:
    """The estimated error of a finished release, and the error that is guaranteed."""

    mechanism: OrderedFamily
    counts: npt.NDArray[np.int64]
    """The released estimate, in whole records."""
    totals: Correction | None = None
    """Public totals that the estimate meets beside those of the mechanism."""
    of: str = "a random range"
    distribution: str = "that of the estimate, simulated on itself"
    unit: Fraction = Fraction(1)

    def __repr__(self) -> str:
        return in_short(self)

    @property
    def guaranteed(self) -> RangeError:
        """The error before the isotonic step, which holds whatever the data."""
        return self.mechanism.expected_error()

    @cached_property
    def _errors(self) -> list[Floats]:
        draws = max(2, min(_DRAWS, _MOST_WORK // self.mechanism.size))
        return simulated(self.mechanism, self.counts, draws, self.totals)

    @property
    def mse(self) -> float:
        """The estimated mean squared error of a random range."""
        return float(np.mean([over_all_ranges(error) for error in self._errors]))

    @property
    def rmse(self) -> float:
        """The root of the mean squared error: the typical size of the error."""
        return sqrt(self.mse)

    @property
    def precision(self) -> float:
        """The relative standard error of the estimate itself."""
        values = [over_all_ranges(error) for error in self._errors]
        return float(np.std(values) / max(np.mean(values), 1e-12) / sqrt(len(values) - 1))

    def interval(self, level: Number = "0.95") -> float:
        """Return the interval of the guaranteed error, which holds whatever the data."""
        return self.guaranteed.interval(level)

    def by_width(self, widths: Sequence[int]) -> Floats:
        """Return the estimated root mean squared error of ranges of each width."""
        return np.sqrt([np.mean([np.mean((e[w:] - e[: len(e) - w]) ** 2) for e in self._errors]) for w in widths])

    def by_value(self) -> Floats:
        """Return the estimated root mean squared error of the number of records at or below each value.

        That is 0 where the number is public. Few draws tell little of one value, so what is typical of all is mixed in.
        """
        noisy = np.ones(self.mechanism.size, dtype=bool)
        noisy[[end - 1 for end in self.mechanism.public_ends()]] = False
        if self.totals is not None:
            noisy &= ~self.totals.constraints.known_ends()
        draws = max(2, min(_DRAWS_BY_VALUE, _MOST_WORK // self.mechanism.size))
        errors = simulated(self.mechanism, self.counts, draws, self.totals)
        squares = np.mean([error[1:] ** 2 for error in errors], axis=0)
        typical = float(squares[noisy].mean()) if noisy.any() else 0.0
        mixed = (draws * squares + _TYPICAL_DRAWS * typical) / (draws + _TYPICAL_DRAWS)
        return np.where(noisy, np.sqrt(mixed), 0.0)
