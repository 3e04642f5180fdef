"""What the mechanisms for ordered data share: they estimate the whole cumulative histogram from noisy rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import heappush, heapreplace
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import coarser
from blowfish_privacy.errors import QueryError, RefusalError, brief
from blowfish_privacy.mechanisms.constraints import Constraints, Correction
from blowfish_privacy.mechanisms.error import NoiseError, bounds_by_size, sizes_up_to
from blowfish_privacy.mechanisms.mechanism import Mechanism
from blowfish_privacy.mechanisms.row_noise import LAPLACE_ROWS, RowNoise
from blowfish_privacy.noise import BitSource, SimulationSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.public_totals import Totals
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.counts import CumulativeForm
from blowfish_privacy.queries.query import Pattern
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.exact import Number
from blowfish_privacy.support.limits import ORDERED_VALUES
from blowfish_privacy.support.progress import task

# The nearest estimate that never decreases: in squares, or in absolute values.
#
# For independent Laplace noise on the cumulative counts themselves the nearest in absolute values is the most likely
# truth.

_FEW = 50_000
"""So many values are pooled here faster than the library that does it can be imported."""


def nearest_in_squares(values: Floats) -> Floats:
    """Return the non-decreasing sequence nearest in the sum of squares."""
    if len(values) <= _FEW:
        return _pooled(values.tolist())
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(values).x, dtype=np.float64)


def _pooled(values: list[float]) -> Floats:
    """Pool neighbours that are out of order: the same numbers, to the last bit, as from the library."""
    means, sizes = list[float](), list[int]()
    index = 0
    while index < len(values):
        mean, size = values[index], 1
        if means and means[-1] >= mean:
            last, many = means.pop(), sizes.pop()
            total, size = many * last + mean, 1 + many
            mean = total / size
            while index + 1 < len(values) and mean >= values[index + 1]:
                index += 1
                total, size = total + values[index], size + 1
                mean = total / size
            while means and means[-1] >= mean:
                many = sizes.pop()
                total, size = total + many * means.pop(), size + many
                mean = total / size
        means.append(mean)
        sizes.append(size)
        index += 1
    return np.repeat(np.array(means, dtype=np.float64), sizes)


def nearest_in_absolute(values: Floats) -> Floats:
    """Return the middle of the lowest and the highest non-decreasing sequences nearest in absolute values."""
    return (_nearest(values) - _nearest(-values[::-1])[::-1]) / 2


def _nearest(values: Floats) -> Floats:
    """Return one such sequence, keeping a heap of the values that a later, smaller one may still pull down.

    The largest value of the heap is the best last value so far; on the way back no value may exceed its successor.
    """
    heap: list[float] = []
    best = np.empty(len(values))
    for index, value in enumerate(values.tolist()):
        heappush(heap, -value)
        if -heap[0] > value:
            heapreplace(heap, -value)
        best[index] = -heap[0]
    return np.minimum.accumulate(best[::-1])[::-1]


# The error of ranges answered from a cumulative estimate: of a random one, and by width.

_RANGES = 40_000
_RANGE_DRAWS = 20
_QUICK_SIZE = 1_000
_QUICK_WORK = 600_000


@dataclass(frozen=True, eq=False, repr=False)
class RangeError(NoiseError):
    """The error of the linear step over ranges S_b - S_a between cut points 0 <= a < b <= size.

    With C the covariance of the cumulative estimate (zero at cut point 0) and K cut points, the mean squared error of a
    uniformly random range is (K tr C - 1'C1) / (K (K - 1) / 2).
    """

    estimate: OrderedFamily
    of: str = "a random range"
    unit: Fraction = Fraction(1)

    @property
    def distribution(self) -> str:
        """How its spread was estimated."""
        return f"a sum of {self.estimate.noise.law.name} draws, simulated"

    @property
    def size(self) -> int:
        """The number of positions."""
        return self.estimate.size

    @cached_property
    def _moments(self) -> tuple[float, float, float]:
        return self.estimate.moments()

    @property
    def mse(self) -> float:
        trace, together, _ = self._moments
        return ((self.size + 1) * trace - together) / (self.size * (self.size + 1) / 2)

    @property
    def precision(self) -> float:
        return self._moments[2]

    def bound(self, level: Fraction) -> float:
        """Bound the error of a random range, from simulated noise."""
        return float(np.quantile(np.abs(self._sampled[1]), float(level))) if self.mse else 0.0

    def within_by_size(self, level: Number = "0.95") -> dict[str, float]:
        """Bound the errors of random ranges of several classes of widths with probability ``level``."""
        widths, errors = self._sampled
        return bounds_by_size(widths / self.size, errors, level, "values") if self.mse else {}

    def by_width(self, widths: Sequence[int]) -> Floats:
        """Return the root mean squared error of ranges of each width, averaged over their positions."""
        for width in widths:
            if type(width) is not int or not 1 <= width <= self.size:
                raise QueryError(f"a range is 1 to {self.size:,} positions wide, got {width}.")
        if self.estimate.exact:
            # At all cut points, from 0 to size.
            spread = np.pad(self.estimate.covariance(), ((1, 0), (1, 0)))
            diagonal = np.diag(spread)
            apart = (diagonal[w:] + diagonal[: len(diagonal) - w] - 2 * np.diag(spread, w) for w in widths)
            return np.sqrt([max(float(np.mean(squares)), 0.0) for squares in apart])
        return self._simulated_by_width(widths, self._draws)

    def sketched(self, widths: Sequence[int]) -> Floats:
        """Return the same for a picture: quickly, from simulated noise beyond a thousand positions."""
        if self.size <= _QUICK_SIZE:
            return self.by_width(widths)
        return self._simulated_by_width(widths, max(3, min(_RANGE_DRAWS, _QUICK_WORK // self.size)))

    @property
    def _draws(self) -> int:
        return _RANGE_DRAWS if self.size < 200_000 else 3

    def _simulated_by_width(self, widths: Sequence[int], draws: int) -> Floats:
        source = SimulationSource("widths")
        drawn = [np.append(0.0, self.estimate.simulated_error(source)) for _ in range(draws)]
        return np.sqrt([np.mean([np.mean((e[w:] - e[: len(e) - w]) ** 2) for e in drawn]) for w in widths])

    @cached_property
    def _sampled(self) -> tuple[Floats, Floats]:
        """Widths and errors of random ranges, with fresh noise for each batch."""
        # Small domains need many draws of the noise, large ones average within each.
        draws = min(1_500, max(200_000 // self.size, self._draws))
        # Fixed bits, so that everyone computes the same error for the same noise scales.
        source = SimulationSource("ranges")
        drawn, words = list[npt.NDArray[Any]](), list[npt.NDArray[Any]]()
        for _ in range(draws):
            drawn.append(self.estimate.drawn(source))
            words.append(source.words(2 * (_RANGES // draws)))
        starts, ends = np.swapaxes(np.stack(words).reshape(draws, 2, -1) % (self.size + 1), 0, 1)
        errors = np.pad(self.estimate.errors(np.stack(drawn)), ((0, 0), (1, 0)))
        rows, kept = np.arange(draws)[:, None], starts != ends
        return np.abs(starts.astype(np.float64) - ends)[kept], (errors[rows, starts] - errors[rows, ends])[kept]


EXACT_SIZE = 6_000
"""Errors are computed exactly up to this many positions, and from simulated noise beyond."""


class OrderedFamily(Mechanism):
    """A mechanism whose noisy rows give a linear estimate of the number of records at or below every value."""

    form: CumulativeForm
    gives = ("cumulative",)
    noise: ClassVar[RowNoise] = LAPLACE_ROWS

    @property
    def size(self) -> int:
        """The number of values."""
        return self.form.domain.size

    @abstractmethod
    def estimate(self, noisy: Integers, records: int | None) -> Floats:
        """Return the linear, unbiased estimate of the number of records at or below each value."""

    @abstractmethod
    def moments(self) -> tuple[float, float, float]:
        """Return trace and sum of the estimate's covariance, and the relative standard error of both."""

    @property
    def exact(self) -> bool:
        """Whether there are few enough values for :meth:`covariance`."""
        return self.size <= EXACT_SIZE

    @abstractmethod
    def covariance(self) -> Floats:
        """Return the estimate's covariance matrix; only for small sizes."""

    def drawn(self, source: BitSource) -> npt.NDArray[Any]:
        """Draw the noise once: nobody is counted, so that every answer is its noise."""
        return self.measure(np.zeros(self.size, dtype=np.int64), source)

    def errors(self, drawn: npt.NDArray[Any]) -> Floats:
        """Return the errors of the estimate for several draws, one in each row."""
        return np.stack([self.estimate(noise, 0) for noise in drawn])

    def simulated_error(self, source: BitSource) -> Floats:
        """Draw the noise once and return the error of the estimate."""
        return self.errors(self.drawn(source)[None])[0]

    def public_ends(self) -> list[int]:
        """List the positions (exclusive) below which the number of records is public and exact."""
        return [self.size]

    def spread(self, weights: Floats) -> Floats:
        """Multiply columns of weights of single values by the covariance of their estimated counts."""
        if not self.exact:
            return weights
        lower = weights - np.pad(weights[1:], ((0, 1), (0, 0)))
        return np.diff(self.covariance() @ lower, axis=0, prepend=0.0)

    def meeting(self, linear: Floats, totals: Correction | None, stated: Constraints | None = None) -> Floats:
        """Make the linear estimate meet totals of values as well; ``stated`` may be those of another table."""
        if totals is None:
            return linear
        met = np.cumsum(totals(np.diff(linear, prepend=0.0), stated))
        ends = np.array(self.public_ends()) - 1
        met[ends] = linear[ends]
        return met

    def shown_estimate(
        self,
        noisy: Integers,
        records: int | None,
        totals: Correction | None = None,
        stated: Constraints | None = None,
    ) -> Floats:
        """Return the nearest estimate that never decreases and keeps the public counts, at no privacy cost."""
        with task("Estimating the cumulative histogram"):
            linear = self.meeting(self.estimate(noisy, records), totals, stated)
            ordered, start, below = np.empty_like(linear), 0, 0.0
            for end in self.public_ends():
                top = float(linear[end - 1])
                ordered[start:end] = np.clip(self.nearest(linear[start:end]), below, top)
                ordered[end - 1] = top
                start, below = end, top
            if start < self.size:
                ordered[start:] = np.maximum(self.nearest(linear[start:]), below)
        if totals is None or records is None:
            return ordered
        counts = (stated or totals.constraints).scaled(np.maximum(np.diff(ordered, prepend=0.0), 0))
        return np.append(np.cumsum(counts)[:-1], records)

    def with_ends(self, constraints: Constraints, linear: Floats) -> Constraints | None:
        """Add the counts between public ends; None where no total says more than they do."""
        ends = np.array(self.public_ends())
        labels = np.searchsorted(ends, np.arange(self.size), side="right")
        between = Totals(labels, np.rint(np.diff(linear[ends - 1], prepend=0.0)).astype(np.int64))
        joined = Constraints.of([between, *constraints.totals])
        return None if joined.totals == (between,) else joined

    def nearest(self, linear: Floats) -> Floats:
        """Return the nearest sequence that never decreases."""
        return nearest_in_squares(linear)

    def expected_error(self) -> RangeError:
        return self._error

    def within_by_size(self, level: Number = "0.95") -> dict[str, float]:
        return self.expected_error().within_by_size(level)

    sized_in = "values"

    def errors_by_size(self) -> dict[int, float]:
        widths = [width for width in sizes_up_to(self.size) if width < self.size] or [1]
        return dict(zip(widths, self.expected_error().sketched(widths).tolist(), strict=True))

    @cached_property
    def _error(self) -> RangeError:
        return RangeError(self)


def ordered_form(query: Query, policy: Policy, *, total: bool = True) -> CumulativeForm:
    """Bind a query that asks for the cumulative histogram; ``total`` says whether that needs a public total."""
    form = query.on(policy.domain)
    if query.answer != "cumulative" or form.pattern is not Pattern.RANKS:
        raise RefusalError(f"the ordered mechanisms answer cumulative histograms, not {brief(query)}.")
    if policy.size == "unknown" and total:
        raise RefusalError(
            "a noisy prefix shows everybody below it, so this mechanism needs a public number of records.",
            hint='use mechanism="smooth-hierarchy", which needs none.',
        )
    if form.domain.size > ORDERED_VALUES:
        (name,) = form.domain.names
        raise QueryError(
            f"a cumulative histogram has at most {ORDERED_VALUES:,} values, and {name} has {form.domain.size:,}.",
            hint=coarser(name, form.domain[name], ORDERED_VALUES),
        )
    return cast(CumulativeForm, form)
