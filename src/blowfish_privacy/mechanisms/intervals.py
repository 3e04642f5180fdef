"""How wide an interval must be, learned from simulated releases whose truth is known.

The half-width of an interval is a factor times a typical error. The typical error of one range mixes its own over the
simulated releases with that of all ranges of its size; the factor of a size is such that intervals of the wanted share
of the simulated ranges hold the truth, where the error of one release is compared with the typical error of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import QueryError
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number, exact

Errors: TypeAlias = npt.NDArray[np.floating[Any]]
"""A row for each simulated release, a column for each range."""

_SHARED_RELEASES = 10
"""As how many simulated releases the typical error of all ranges of a size counts in that of one range. Settled on the
five histograms of 4,096 values that DPBench distributes (Adult's capital loss, HepTh, MedCost, NetTrace, search logs)
and on made-up flat, smooth, spiky and Zipf data, at epsilon 0.01 to 1 and thresholds 1, 16 and none."""
_OWN_LEAST = 0.77
"""An interval is at least so many normal ones wide of its own typical error: where most ranges of a size are empty and
exact, the factor alone would be near 0 for those that are not. Settled on the same data."""


def checked_level(level: Number) -> Fraction:
    """Read the probability with which an interval is to hold the truth."""
    share = exact(level, "the level", error=QueryError)
    if not 0 < share < 1:
        raise QueryError("the level must lie between 0 and 1.", hint="write it like 0.95.")
    return share


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
        # Wide ranges of one release are much alike, so that few releases tell little of a single size.
        padded = np.pad(factors, 1, mode="edge")
        smooth = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
        return cls(level, np.array([size for size, _ in samples]), smooth, np.array([each for _, each in measured]))

    def of(self, sizes: npt.NDArray[np.number], errors: Errors) -> Floats:
        """Return half-widths of ranges of these sizes with these errors in the simulated releases."""
        places, known = np.log2(np.maximum(sizes, self.sizes[0])), np.log2(self.sizes)
        own = np.mean(errors.astype(np.float64) ** 2, axis=0)
        alike = np.interp(places, known, self.typical) ** 2
        wide = np.interp(places, known, self.factors) * np.sqrt(_mixed(own, alike, len(errors)))
        return np.maximum(wide, _OWN_LEAST * normal_width(self.level) * np.sqrt(own))


def _factor(errors: Errors, level: float) -> tuple[float, float]:
    """Return the quantile of the errors over the typical error of the other releases, and that of all ranges."""
    squares = errors.astype(np.float64) ** 2
    alike = float(squares.mean())
    if not alike:
        return 0.0, 0.0
    others = (squares.sum(axis=0) - squares) / (len(squares) - 1)
    ratios = np.sqrt(squares / _mixed(others, alike, len(squares)))
    return float(np.quantile(ratios, level)), float(np.sqrt(alike))


def _mixed(own: Floats, alike: npt.ArrayLike, releases: int) -> Floats:
    shared = _SHARED_RELEASES / (releases + _SHARED_RELEASES)
    return (1 - shared) * own + shared * np.asarray(alike)


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
