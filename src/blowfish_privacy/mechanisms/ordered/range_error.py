"""The error of ranges answered from a cumulative estimate: of a random one, and by width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.error import in_short
from blowfish_privacy.mechanisms.intervals import bounds_by_size
from blowfish_privacy.noise import BitSource, SimulationSource
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number, exact

EXACT_SIZE = 6_000
"""Errors are computed exactly up to this many positions, and from simulated noise beyond."""
_RANGES = 40_000
_DRAWS = 20
_QUICK_SIZE = 1_000
_QUICK_WORK = 600_000


class Estimate(Protocol):
    """A linear estimate of the cumulative histogram, whose error does not depend on the data."""

    @property
    def size(self) -> int:
        """The number of positions."""
        ...

    @property
    def exact(self) -> bool:
        """Whether there are few enough positions for :meth:`covariance`."""
        ...

    def moments(self) -> tuple[float, float, float]:
        """Return trace and sum of the covariance at positions 0..size - 1, and the relative standard error of both."""
        ...

    def covariance(self) -> Floats:
        """Return the covariance matrix itself; only for small sizes."""
        ...

    def simulated_error(self, source: BitSource) -> Floats:
        """Draw the noise once and return the error at positions 0..size - 1."""
        ...

    def drawn(self, source: BitSource) -> npt.NDArray[Any]:
        """Draw the noise once, as :meth:`errors` takes it."""
        ...

    def errors(self, drawn: npt.NDArray[Any]) -> Floats:
        """Return the errors at positions 0..size - 1 for several draws, one in each row."""
        ...


@dataclass(frozen=True, eq=False)
class RangeError:
    """The error of the linear step over ranges S_b - S_a between cut points 0 <= a < b <= size.

    With C the covariance of the cumulative estimate (zero at cut point 0) and K cut points, the mean squared error of a
    uniformly random range is (K tr C - 1'C1) / (K (K - 1) / 2).
    """

    estimate: Estimate
    of: str = "a random range"
    distribution: str = "a sum of discrete Laplace draws, simulated"
    unit: Fraction = Fraction(1)

    def __repr__(self) -> str:
        return in_short(self)

    @property
    def size(self) -> int:
        """The number of positions."""
        return self.estimate.size

    @cached_property
    def _moments(self) -> tuple[float, float, float]:
        return self.estimate.moments()

    @property
    def mse(self) -> float:
        """The mean squared error of a uniformly random range."""
        trace, together, _ = self._moments
        return ((self.size + 1) * trace - together) / (self.size * (self.size + 1) / 2)

    @property
    def rmse(self) -> float:
        """The root of the mean squared error: the typical size of the error."""
        return sqrt(self.mse)

    @property
    def precision(self) -> float:
        """The relative standard error of :attr:`mse`: 0 up to a few thousand positions, where it is exact."""
        return self._moments[2]

    def interval(self, level: Number = "0.95") -> float:
        """Return a bound on the error of a random range that holds with probability ``level``, from simulated noise."""
        share = exact(level, "the level", error=QueryError)
        if not 0 < share < 1:
            raise QueryError("the level must lie between 0 and 1.", hint="write it like 0.95.")
        if self.mse == 0:
            return 0.0
        return float(np.quantile(np.abs(self._sampled[1]), float(share)))

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
            spread = self.covariance()
            diagonal = np.diag(spread)
            apart = (diagonal[w:] + diagonal[: len(diagonal) - w] - 2 * np.diag(spread, w) for w in widths)
            return np.sqrt([max(float(np.mean(squares)), 0.0) for squares in apart])
        return self._simulated_by_width(widths, _DRAWS if self.size < 200_000 else 3)

    def sketched(self, widths: Sequence[int]) -> Floats:
        """Return the same for a picture: quickly, from simulated noise beyond a thousand positions."""
        if self.size <= _QUICK_SIZE:
            return self.by_width(widths)
        return self._simulated_by_width(widths, max(3, min(_DRAWS, _QUICK_WORK // self.size)))

    def _simulated_by_width(self, widths: Sequence[int], draws: int) -> Floats:
        source = SimulationSource("widths")
        drawn = [self.simulated(source) for _ in range(draws)]
        return np.sqrt([np.mean([np.mean((e[w:] - e[: len(e) - w]) ** 2) for e in drawn]) for w in widths])

    def covariance(self) -> Floats:
        """Return the covariance of S at all cut points, from 0 to size."""
        return np.pad(self.estimate.covariance(), ((1, 0), (1, 0)))

    def simulated(self, source: BitSource) -> Floats:
        """Draw the noise once and return the error of S at all cut points."""
        return np.concatenate([[0.0], self.estimate.simulated_error(source)])

    @cached_property
    def _sampled(self) -> tuple[Floats, Floats]:
        """Widths and errors of random ranges, with fresh noise for each batch."""
        # Small domains need many draws of the noise, large ones average within each.
        draws = min(1_500, max(200_000 // self.size, _DRAWS if self.size < 200_000 else 3))
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
