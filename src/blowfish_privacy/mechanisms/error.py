"""The error to expect of an answer, known before any data are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, sqrt
from statistics import NormalDist
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import RefusalError
from blowfish_privacy.noise import DISCRETE_LAPLACE, Law
from blowfish_privacy.noise.laplace import both_within, checked_miss, each_within
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number, about


class Error(Protocol):
    """The error of an answer, whichever mechanism gave it."""

    @property
    def of(self) -> str:
        """What the error refers to: a cell, the sum, a random range, ..."""
        ...

    @property
    def distribution(self) -> str:
        """The law that the error follows, or how its spread was estimated."""
        ...

    @property
    def unit(self) -> Fraction:
        """What one whole number of the release stands for."""
        ...

    @property
    def mse(self) -> float:
        """The mean squared error."""
        ...

    @property
    def rmse(self) -> float:
        """The root of the mean squared error: the typical size of the error."""
        ...

    @property
    def precision(self) -> float:
        """The relative standard error of :attr:`mse` itself; 0 where it is computed exactly."""
        ...

    def interval(self, level: Number = "0.95") -> float:
        """Return a bound on the error that holds with probability ``level``."""
        ...


def shown(bound: float, error: Error) -> str:
    """Write the size of an error, over what the answer will be divided by where that is not known beforehand."""
    divisor = error.divisor if isinstance(error, MeanError) else ""
    return f"{about(bound)} / {divisor}" if divisor else about(bound)


def checked_level(level: Number) -> Fraction:
    """Read the probability with which an interval is to hold the truth."""
    return 1 - checked_miss(level)


class NoiseError(ABC):
    """An error that follows from the noise: what is the same for all once the squares and the quantiles are known."""

    @property
    @abstractmethod
    def mse(self) -> float:
        """The mean squared error."""

    @property
    def rmse(self) -> float:
        """The root of the mean squared error: the typical size of the error."""
        return sqrt(self.mse)

    @property
    def precision(self) -> float:
        """The relative standard error of :attr:`mse` itself; 0 where it is computed exactly."""
        return 0.0

    def interval(self, level: Number = "0.95") -> float:
        """Return a bound on the error that holds with probability ``level`` at least."""
        return self.bound(checked_level(level))

    @abstractmethod
    def bound(self, level: Fraction) -> float:
        """Return the same for a probability that was checked."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {cast(Error, self).of}: {about(self.rmse)} (root mean squared)>"


@dataclass(frozen=True, repr=False)
class ExpectedError(NoiseError):
    """The error of one answer with noise of one scale, counted in units. A scale of 0 means an exact answer."""

    scale: Fraction
    unit: Fraction
    of: str
    """What the error refers to: a cell, the sum, ..."""
    law: Law = DISCRETE_LAPLACE

    @property
    def distribution(self) -> str:
        """The law of the noise."""
        return self.law.name

    @property
    def mse(self) -> float:
        return self.law.variance(self.scale) * float(self.unit) ** 2 if self.scale else 0.0

    def bound(self, level: Fraction) -> float:
        return float(self.law.quantile(self.scale, level) * self.unit) if self.scale else 0.0


# The error of a mean whose count is noisy too.

_ROUNDS = 60
_NEAR = 1e-6
"""The share of the range below which going on is not worth it."""


@dataclass(frozen=True, repr=False)
class MeanError(NoiseError):
    """The error of (sum + e) / (count + f), which is exactly (e - offset f) / (count + f), offset the true mean's.

    Before a release neither the count nor the offset is known: the error is then that of the mean times the number of
    records, or that of the mean at a count that is assumed, for an offset that may be anywhere in the range. After it,
    both are taken as released (delta method).
    """

    sum_scale: Fraction
    """In half steps."""
    count_scale: Fraction
    """0 where the count is exact."""
    width: int
    """The width of the range of values, in steps."""
    offset: float | None = None
    """The released distance, in steps, of the mean from the middle of the range; None before a release."""
    records: int = 1
    """The released count; 0 is exact, and leaves the mean open."""
    step: Fraction = Fraction(1)
    """The distance between neighbouring values."""
    assumed: int | None = None
    """The count that is assumed before a release; None where there is nothing to assume it from."""
    weighted: bool = False
    """Whether what is counted are units of the weights, rather than records."""

    distribution = "two discrete Laplace draws, at the count that is released"
    unit = Fraction(1)

    @property
    def of(self) -> str:
        """The mean, or what can be said of it before the count is released."""
        if self.divisor:
            return f"the mean times the {self.divisor}"
        if self.offset is not None:
            return "the weighted mean" if self.weighted else "the mean"
        return f"the mean of a group of {self.assumed:,} records, as if all groups had the same size"

    @property
    def divisor(self) -> str:
        """What the answer will be divided by, where that is not known before a release."""
        if self._within_range:
            return ""
        return "sum of the weights" if self.weighted else "number of records"

    @property
    def _count(self) -> int:
        return self.records if self.offset is not None else self.assumed or 1

    @property
    def _within_range(self) -> bool:
        """Whether the error is that of a mean, which lies in the range, and so is never further off than its width."""
        return self.offset is not None or self.assumed is not None

    @property
    def mse(self) -> float:
        squared = self.width**2 / 12 if self.offset is None else self.offset**2
        of_sum, of_count = (DISCRETE_LAPLACE.variance(s) if s else 0.0 for s in (self.sum_scale, self.count_scale))
        squares = (of_sum / 4 + squared * of_count) / self._count**2 if self._count else inf
        return float(self.step) ** 2 * (min(squares, float(self.width) ** 2) if self._within_range else squares)

    def bound(self, level: Fraction) -> float:
        """Bound the error whatever the data.

        The released sum minus the true offset times the released count is noise alone. The offsets for which it is no
        larger than such noise is with that probability are the interval; what lies furthest from the mean bounds it.
        """
        if self.offset is None:
            worst = each_within(self.sum_scale, 0.5, self.count_scale, self.width / 2, level) / self._count
            return (min(worst, self.width) if self._within_range else worst) * float(self.step)
        # A noisy count of 1 may stand for one below.
        if self.records <= (1 if self.count_scale else 0):
            return self.width * float(self.step)
        ends = (self._furthest(sign, level) for sign in (1, -1))
        return min(self.width, max(ends)) * float(self.step)

    def _furthest(self, sign: int, level: Fraction) -> float:
        """Go from an end of the range towards the released offset, as far as noise, which grows with it, permits."""
        released = self.offset or 0.0
        end = sign * self.width / 2
        for _ in range(_ROUNDS):
            # The noise on the sum less an offset times that on the count, in steps.
            noise = both_within(self.sum_scale, 0.5, self.count_scale, max(abs(end), released), level)
            nearer = released + sign * noise / self.records
            if sign * (end - nearer) <= _NEAR * self.width:
                break
            end = nearer
        return sign * (end - released)


def no_mean() -> RefusalError:
    """Return the refusal of a mean of nobody."""
    return RefusalError("a mean of no records does not exist.", hint="state size, or give data with rows.")


# How wide an interval must be, learned from simulated releases whose truth is known.
#
# The half-width of an interval is a factor times a typical error. The typical error of one range mixes its own over
# the simulated releases with that of all ranges of its size; the factor of a size is such that intervals of the
# wanted share of the simulated ranges hold the truth, where the error of one release is compared with the typical
# error of the others.

Errors: TypeAlias = npt.NDArray[np.floating[Any]]
"""A row for each simulated release, a column for each range."""

_SHARED_RELEASES = 10
"""As how many simulated releases the typical error of all ranges of a size counts in that of one range. Settled on the
five histograms of 4,096 values that DPBench distributes (Adult's capital loss, HepTh, MedCost, NetTrace, search logs)
and on made-up flat, smooth, spiky and Zipf data, at epsilon 0.01 to 1 and thresholds 1, 16 and none."""

_LEAST_WIDTH = 0.77
"""An interval is at least this many times as wide as the normal one for its own typical error: where most ranges of a
size are empty and exact, the factor alone would be near 0 for those that are not. Settled on the same data."""


def normal_width(level: Fraction) -> float:
    """Return the half-width of a normal interval, in standard deviations."""
    return NormalDist().inv_cdf((1 + float(level)) / 2)


@dataclass(frozen=True, eq=False)
class IntervalWidths:
    """Half-widths of intervals by size and by own typical error, for one level."""

    level: Fraction
    sizes: Floats
    """The sizes at which the two others are known, increasing."""
    factors: Floats
    typical: Floats
    """The root mean squared error of all ranges of each size."""

    @classmethod
    def calibrated(cls, level: Fraction, samples: Sequence[tuple[float, Errors]]) -> IntervalWidths:
        """Learn from the errors of ranges of several sizes."""
        measured = [_factor(errors, float(level)) for _, errors in samples]
        factors = np.array([factor for factor, _ in measured])
        # Wide ranges of one release are much alike, so that few releases say little of a single size.
        padded = np.pad(factors, 1, mode="edge")
        smooth = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
        return cls(level, np.array([size for size, _ in samples]), smooth, np.array([each for _, each in measured]))

    def of(self, sizes: npt.NDArray[np.number], errors: Errors) -> Floats:
        """Return half-widths of ranges of these sizes with these errors in the simulated releases."""
        places, known = np.log2(np.maximum(sizes, self.sizes[0])), np.log2(self.sizes)
        single = np.mean(errors.astype(np.float64) ** 2, axis=0)
        of_all = np.interp(places, known, self.typical) ** 2
        wide = np.interp(places, known, self.factors) * np.sqrt(_mixed(single, of_all, len(errors)))
        return np.maximum(wide, _LEAST_WIDTH * normal_width(self.level) * np.sqrt(single))


def _factor(errors: Errors, level: float) -> tuple[float, float]:
    """Return the quantile of the errors over the typical error of the other releases, and that of all ranges."""
    squares = errors.astype(np.float64) ** 2
    of_all = float(squares.mean())
    if not of_all:
        return 0.0, 0.0
    others = (squares.sum(axis=0) - squares) / (len(squares) - 1)
    ratios = np.sqrt(squares / _mixed(others, of_all, len(squares)))
    return float(np.quantile(ratios, level)), float(np.sqrt(of_all))


def _mixed(single: Floats, of_all: npt.ArrayLike, releases: int) -> Floats:
    shared = _SHARED_RELEASES / (releases + _SHARED_RELEASES)
    return (1 - shared) * single + shared * np.asarray(of_all)


# Bounds on the errors of ranges and rectangles by their size, since one for all would fit few of them.

SIZES = {"below 1 %": (0.0, 0.01), "1 to 5 %": (0.01, 0.05), "5 to 25 %": (0.05, 0.25), "above": (0.25, 1.0)}
"""Classes of sizes: shares of all values, or of all cells."""

_QUANTILES = 50


def sizes_up_to(largest: int) -> list[int]:
    """List sizes from 1 on in even steps on a logarithmic scale, for a picture."""
    return sorted({min(largest, round(2 ** (step / 2))) for step in range(2 * largest.bit_length() + 1)})


def bounds_by_size(shares: Floats, errors: Floats, level: Number, what: str) -> dict[str, float]:
    """Bound the errors of each class of sizes with probability ``level``.

    ``errors`` has a row, of one or several draws, for each of the ranges that cover these ``shares`` of all.
    """
    wanted, bounds = float(checked_level(level)), dict[str, float]()
    for name, (least, most) in SIZES.items():
        # What covers everything is mostly public.
        chosen = errors[(least < shares) & (shares <= most) & (shares < 1)]
        if chosen.size:
            bounds[f"{name} of the {what}" if not bounds else name] = float(np.quantile(np.abs(chosen), wanted))
    return bounds


def normal_errors(deviations: Floats) -> Floats:
    """Return, for each standard deviation, the absolute values of a normal error at even steps of probability."""
    steps = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    return np.outer(deviations, [NormalDist().inv_cdf((1 + step) / 2) for step in steps])
