"""How wrong ranges and rectangles of a finished release are: simulated, since what is shown depends on the data.

Before a release the data are public synthetic shapes of the same number of records; after it, the released estimate
itself is a proxy for the truth (a parametric bootstrap). Neither touches private data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.random import PCG64, Generator

from blowfish_privacy.mechanisms.constraints import Correction
from blowfish_privacy.mechanisms.error import (
    Error,
    Errors,
    IntervalWidths,
    NoiseError,
    checked_level,
    normal_width,
)
from blowfish_privacy.mechanisms.grid.grid_family import (
    Corners,
    GridFamily,
    areas,
    between,
    over_all_rectangles,
    rectangles_of,
    sums_of,
)
from blowfish_privacy.mechanisms.ordered.ordered_family import OrderedFamily, RangeError
from blowfish_privacy.noise import BitSource, SimulationSource
from blowfish_privacy.privacy.public_totals import Totals, records_total
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.exact import Number
from blowfish_privacy.support.progress import task

Family: TypeAlias = OrderedFamily | GridFamily


def released(
    mechanism: Family, counts: Integers, records: int | None, totals: Correction | None, source: BitSource
) -> Floats:
    """Simulate a release of public counts and return the estimate that would be shown."""
    stated = None if totals is None else totals.constraints.of_table(counts.reshape(-1))
    return mechanism.shown_estimate(mechanism.measure(counts, source), records, totals, stated)


# A proxy for the truth whose releases look like one that was made: what an error is simulated on.
#
# An estimate that never decreases is a staircase where noise hides the shape. Taken for the truth it is too sparse:
# ordering removes more noise from a staircase than from a slope. So steps are spread over the values beside them as far
# as simulated releases of the result are as uneven as the estimate is. Records are then drawn from that density: real
# counts are no smoother than chance makes them, and a mechanism that smooths would otherwise seem to be exact.

_SPREAD = (0.0, 0.5, 1.0)
"""How far steps are spread in the simulations between which is interpolated."""
_SEED = 20
"""Everybody draws the same proxy from the same release."""
_PROXY_DRAWS = 4
_LONG = 50_000
"""With this many values or more, one simulated release shows well enough how uneven releases are."""


def spread_evenly(cuts: Floats, known: Integers) -> Floats:
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


def proxy(cuts: Floats, even: Floats, release: Callable[[Integers], Floats]) -> Integers:
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


def _drawn(cuts: Floats, dice: Generator) -> Integers:
    """Draw as many records as there are from the density between the cut points."""
    weights = np.maximum(np.diff(cuts), 0.0)
    return dice.multinomial(max(round(cuts[-1]), 1), weights / weights.sum())


# What public totals of parts of a grid say of its rectangles.

_CELLS_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class KnownParts:
    """Where the parts of a partition lie that hold records: the smallest rectangle around each, and their numbers."""

    around: Corners
    counts: Integers

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
_AT_ONCE = 2**12


class Sums(NamedTuple):
    """What lies before all cut points, added up."""

    shown: Floats
    """The estimate."""
    nearby: Floats
    """The estimate, spread over what is empty."""
    open: Floats
    """How many values or cells a condition leaves open."""


@dataclass(frozen=True, eq=False)
class SimulatedIntervals(ABC):
    """What a release's own noise does to data like its estimate, and the intervals that follow.

    Ranges are rows of two cut points, rectangles rows of four.
    """

    mechanism: Any
    estimate: Floats
    """What is shown: the numbers of records below each cut point of a line, from 0 on, or the cells of a grid."""
    records: int | None
    totals: Correction | None
    selected: Callable[[Floats], Floats]
    """What becomes of an estimate where a condition selects some of the values."""

    topic: ClassVar[str]
    fewest: ClassVar[int]
    """So many releases are simulated at least."""
    most_numbers: ClassVar[int]
    """How many numbers all simulated releases have together, unless that leaves too few releases."""

    def of(self, boxes: Corners, level: Number) -> tuple[Floats, Floats]:
        """Return both ends for ranges or rectangles; in many parts, so that memory is bounded."""
        share = checked_level(level)
        if share not in self._widths:
            samples = [(size, between(self._errors, sampled)) for size, sampled in self._sampled]
            self._widths[share] = IntervalWidths.calibrated(share, samples)
        ends = np.empty((2, len(boxes)))
        for start in range(0, len(boxes), _AT_ONCE):
            ends[:, start : start + _AT_ONCE] = self._ends(boxes[start : start + _AT_ONCE], self._widths[share])
        return ends[0], ends[1]

    def _ends(self, boxes: Corners, widths: IntervalWidths) -> Floats:
        least, most = self._bounds(boxes)
        # Nothing lies outside a condition.
        most = np.where(between(self._sums.open, boxes) > 0, most, 0.0)
        # Rounding may put the estimate past a bound.
        value = np.clip(between(self._sums.shown, boxes), least, most)
        half = widths.of(areas(boxes), between(self._errors, boxes))
        high = np.where(value < 0.5, np.maximum(value + half, self._hidden(boxes, widths.level)), value + half)
        return np.clip([value - half, high], least, most)

    def _hidden(self, boxes: Corners, level: Fraction) -> Floats:
        """Return how many records may be where the estimate says that there is none.

        The noise may hide as many as there are nearby on average, but no more than the unbiased estimate would show.
        """
        nearby, deviations = np.maximum(between(self._sums.nearby, boxes), 0), normal_width(level)
        return np.minimum(nearby + deviations * np.sqrt(nearby), deviations * self._unbiased(boxes))

    @cached_property
    def _widths(self) -> dict[Fraction, IntervalWidths]:
        return {}

    @cached_property
    def _errors(self) -> Errors:
        """The errors of simulated releases, added up before all cut points; everybody simulates the same."""
        many = max(self.fewest, min(_RELEASES, self.most_numbers // self.estimate.size))
        errors = np.empty((many, *self._sums.shown.shape), dtype=np.float32)
        source = SimulationSource(self.topic)
        with task("Simulating releases of the estimate") as progress:
            counts = self._proxy(source)
            for row in range(many):
                errors[row] = self._error(counts, source)
                if progress is not None:
                    progress((row + 1) / many)
        return errors

    def _released(self, counts: Integers, source: BitSource) -> Floats:
        records = None if self.records is None else int(counts.sum())
        return self.selected(released(self.mechanism, counts, records, self.totals, source))

    @cached_property
    @abstractmethod
    def _sums(self) -> Sums:
        """What is known of the estimate at all cut points."""

    @abstractmethod
    def _bounds(self, boxes: Corners) -> Floats:
        """Return at least and at most how many records there are, by what is public."""

    @abstractmethod
    def _proxy(self, source: BitSource) -> Integers:
        """Find whole counts whose releases are as uneven as this one."""

    @abstractmethod
    def _error(self, counts: Integers, source: BitSource) -> Floats:
        """Simulate a release and return its errors, added up before all cut points."""

    @cached_property
    @abstractmethod
    def _sampled(self) -> list[tuple[float, Corners]]:
        """Ranges or rectangles of sizes in steps of about two, anywhere."""

    @abstractmethod
    def _unbiased(self, boxes: Corners) -> Floats:
        """Return the typical errors of the unbiased estimate."""


def _sizes(size: int, most: float) -> list[int]:
    return [2**power for power in range(size.bit_length()) if 2**power <= most * size] or [1]


_POSITIONS = 1_500
_UNBIASED = 4


class RangeIntervals(SimulatedIntervals):
    """The intervals of ranges."""

    mechanism: OrderedFamily
    topic = "intervals of ranges"
    fewest = 16
    most_numbers = 2**23

    @cached_property
    def _sums(self) -> Sums:
        opened = np.append(0.0, self.selected(np.arange(1.0, self.mechanism.size + 1)))
        return Sums(self.estimate, spread_evenly(self.estimate, self._known), opened)

    def _bounds(self, boxes: Corners) -> Floats:
        first, last = boxes.T
        known, below = self._known, self.estimate[self._known]
        inside = below[np.searchsorted(known, last, side="right") - 1]
        after = np.append(below, np.inf)
        least = inside - after[np.searchsorted(known, first)]
        most = after[np.searchsorted(known, last)] - below[np.searchsorted(known, first, side="right") - 1]
        return np.stack([np.maximum(least, 0.0), most])

    @cached_property
    def _known(self) -> Integers:
        """The cut points below which the number of records is public."""
        known = np.zeros(self.mechanism.size + 1, dtype=bool)
        known[[0, *self.mechanism.public_ends()]] = True
        if self.totals is not None:
            known[1:] |= self.totals.constraints.known_ends()
        return np.flatnonzero(known)

    def _proxy(self, source: BitSource) -> Integers:
        return proxy(self.estimate, self._sums.nearby, lambda made: np.append(0.0, self._released(made, source)))

    def _error(self, counts: Integers, source: BitSource) -> Floats:
        return np.append(0.0, self._released(counts, source) - np.cumsum(counts))

    @cached_property
    def _sampled(self) -> list[tuple[float, Corners]]:
        sampled: list[tuple[float, Corners]] = []
        for width in _sizes(self.mechanism.size, 0.9):
            first = np.unique(np.linspace(0, self.mechanism.size - width, _POSITIONS).astype(np.int64))
            sampled.append((float(width), np.stack([first, first + width], axis=1)))
        return sampled

    def _unbiased(self, boxes: Corners) -> Floats:
        widths = [width for width, _ in self._sampled]
        return np.interp(np.log2(areas(boxes)), np.log2(widths), self._unbiased_by_width)

    @cached_property
    def _unbiased_by_width(self) -> list[float]:
        source = SimulationSource("unbiased estimates of ranges")
        errors = np.stack([np.append(0.0, self.mechanism.simulated_error(source)) for _ in range(_UNBIASED)])
        return [float(np.sqrt(np.mean(between(errors, ranges) ** 2))) for _, ranges in self._sampled]


_RECTANGLES = 1_000


class RectangleIntervals(SimulatedIntervals):
    """The intervals of rectangles."""

    mechanism: GridFamily
    topic = "intervals of rectangles"
    fewest = 6
    most_numbers = 2**20

    @cached_property
    def _sums(self) -> Sums:
        opened = self.selected(np.ones(self.estimate.shape))
        return Sums(sums_of(self.estimate), sums_of(self._even), sums_of(opened))

    @cached_property
    def _even(self) -> Floats:
        return spread_around(self.estimate)

    def _bounds(self, boxes: Corners) -> Floats:
        return known_bounds(self._known, boxes)

    @cached_property
    def _known(self) -> list[KnownParts]:
        totals = [] if self.records is None else [records_total(self.estimate.size, self.records)]
        if self.totals is not None:
            totals += self.totals.constraints.totals
        return [KnownParts.of(each, self.estimate.shape) for each in totals]

    def _proxy(self, source: BitSource) -> Integers:
        # Cells are added up row after row.
        cuts, even = (np.append(0.0, np.cumsum(cells)) for cells in (np.maximum(self.estimate, 0), self._even))

        def release(counts: Integers) -> Floats:
            return np.append(0.0, np.cumsum(np.maximum(self._released(counts.reshape(self.estimate.shape), source), 0)))

        return self.mechanism.uneven(proxy(cuts, even, release).reshape(self.estimate.shape))

    def _error(self, counts: Integers, source: BitSource) -> Floats:
        return sums_of(self._released(counts, source) - counts)

    @cached_property
    def _sampled(self) -> list[tuple[float, Corners]]:
        source, shape = SimulationSource("rectangles"), self.estimate.shape
        sizes = _sizes(self.estimate.size, 0.8)
        return [(float(area), rectangles_of(area, shape, _RECTANGLES, source)) for area in sizes]

    def _unbiased(self, boxes: Corners) -> Floats:
        return np.sqrt(self.mechanism.rectangle_variances(boxes))


# The typical error of what is shown, before a release and after it.

_DRAWS = 8
_MOST_SIMULATED = 300_000
"""Cells of a grid beyond which a plan simulates nothing: it should answer within seconds."""


def shapes(shape: tuple[int, ...], records: int) -> dict[str, Integers]:
    """Make public tables of ``records`` records: even, falling off from a corner, a peak, and most in one place."""
    places = np.indices(shape)
    from_peak = ((along - size / 3) / (size / 12 + 1) for along, size in zip(places, shape, strict=True))
    corner = places.sum(axis=0) == 0
    densities = {
        "even": np.ones(shape),
        "falling off": 1 / np.prod(1.0 + places, axis=0),
        "a peak": np.exp(-0.5 * sum(along**2 for along in from_peak)),
        f"most {'at one value' if len(shape) == 1 else 'in one cell'}": np.where(
            corner, 0.9, 0.1 / max(corner.size - 1, 1)
        ),
    }
    # The order of operations decides how halves are rounded.
    if len(shape) == 1:
        return {name: _steps(np.cumsum(each) / each.sum() * records) for name, each in densities.items()}
    return {name: whole_cells(each / each.sum() * records) for name, each in densities.items()}


def whole_cells(cells: Floats) -> Integers:
    """Round counts that are not negative so that sums row by row stay within half a record of what they were."""
    return _steps(np.cumsum(cells)).reshape(cells.shape)


def _steps(ends: Floats) -> Integers:
    return np.diff(np.rint(ends).astype(np.int64), prepend=0)


def typical_errors(mechanism: Family, records: int) -> dict[str, float]:
    """Return the root mean squared error of a random range or rectangle on each public shape; none for large grids."""
    domain, totals = mechanism.form.domain, None
    if isinstance(mechanism, GridFamily):
        if domain.size > _MOST_SIMULATED:
            return {}
        totals = mechanism.known_total(records)
    with task("Simulating on public synthetic data"):
        made = {name: simulated(mechanism, counts, 2, totals) for name, counts in shapes(domain.shape, records).items()}
    return {name: sqrt(float(np.mean([*map(_over_all, errors)]))) for name, errors in made.items()}


def simulated(mechanism: Family, counts: Integers, draws: int, totals: Correction | None = None) -> list[Floats]:
    """Release public counts several times and return the errors: at all cut points of a line, or of all cells."""
    line, errors = isinstance(mechanism, OrderedFamily), list[Floats]()
    source = SimulationSource("ordered data" if line else "grids")
    # Without totals the number of records in a grid is secret.
    records = int(counts.sum()) if line or totals is not None else None
    truth = np.cumsum(counts) if line else counts
    with task("Simulating the release on itself") as progress:
        for number in range(draws):
            error = released(mechanism, counts, records, totals, source) - truth
            errors.append(np.append(0.0, error) if line else error)
            if progress is not None:
                progress((number + 1) / draws)
    return errors


def over_all_ranges(error: Floats) -> float:
    """Return the mean squared error over all ranges between cut points."""
    cuts = len(error)
    return float((cuts * error @ error - error.sum() ** 2) / (cuts * (cuts - 1) / 2))


def _over_all(error: Floats) -> float:
    return over_all_ranges(error) if error.ndim == 1 else over_all_rectangles(error)


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedError(NoiseError):
    """The estimated error of a finished release, and the error that is guaranteed."""

    mechanism: Any
    counts: Integers
    """The released estimate, in whole records."""
    guaranteed: Error
    """The error of the linear estimate, which holds whatever the data."""
    totals: Correction | None = None
    """Public totals that the estimate meets beside those of the mechanism."""
    distribution: str = "that of the estimate, simulated on itself"
    unit: Fraction = Fraction(1)

    most_work: ClassVar[int]
    """Numbers of all draws together, from which on two draws must do."""

    @property
    def of(self) -> str:
        """What the error refers to."""
        return self.guaranteed.of

    def _simulated(self, draws: int) -> list[Floats]:
        draws = max(2, min(draws, self.most_work // self.counts.size))
        return simulated(self.mechanism, self.counts, draws, self.totals)

    @cached_property
    def errors(self) -> list[Floats]:
        """The errors in each simulated release: at all cut points of a line, or of all cells."""
        return self._simulated(_DRAWS)

    @cached_property
    def _squares(self) -> list[float]:
        return [*map(_over_all, self.errors)]

    @property
    def mse(self) -> float:
        return float(np.mean(self._squares))

    @property
    def precision(self) -> float:
        return float(np.std(self._squares) / max(self.mse, 1e-12) / sqrt(len(self._squares) - 1))

    def bound(self, level: Fraction) -> float:
        """Return the bound of the guaranteed error, which holds whatever the data."""
        return self.guaranteed.interval(level)


class GridBootstrapError(ReleasedError):
    """The error of a random rectangle of a finished release."""

    mechanism: GridFamily
    most_work = 1_000_000


_DRAWS_BY_VALUE = 40
_TYPICAL_DRAWS = 8
"""For how many draws the typical error of all values counts in that of one value."""


class BootstrapError(ReleasedError):
    """The error of a random range of a finished release."""

    mechanism: OrderedFamily
    guaranteed: RangeError
    most_work = 4_000_000

    def by_width(self, widths: Sequence[int]) -> Floats:
        """Return the estimated root mean squared error of ranges of each width."""
        return np.sqrt([np.mean([np.mean((e[w:] - e[: len(e) - w]) ** 2) for e in self.errors]) for w in widths])

    def by_value(self) -> Floats:
        """Return the estimated root mean squared error of the number of records at or below each value.

        That is 0 where the number is public. Few draws say little of one value, so the mean over all is mixed in.
        """
        noisy = np.ones(self.mechanism.size, dtype=bool)
        noisy[[end - 1 for end in self.mechanism.public_ends()]] = False
        if self.totals is not None:
            noisy &= ~self.totals.constraints.known_ends()
        errors = self._simulated(_DRAWS_BY_VALUE)
        squares = np.mean([error[1:] ** 2 for error in errors], axis=0)
        typical = float(squares[noisy].mean()) if noisy.any() else 0.0
        mixed = (len(errors) * squares + _TYPICAL_DRAWS * typical) / (len(errors) + _TYPICAL_DRAWS)
        return np.where(noisy, np.sqrt(mixed), 0.0)
