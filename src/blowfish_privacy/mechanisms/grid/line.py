"""Noise along one line of a grid's edges, made so that sums over stretches of the line stay small.

The line has k edges. Leaf noise e is one integer per edge; hat noise h one per node of a coarser spacing g. With G the
whole-number hats (times g) and any matrix B, the flow ``z = e + B (h - G e)`` has the property on which everything
rests: adding a unit to edge j of e and column j of G to h adds exactly a unit to z_j, because the bracket does not
change. B is the least-squares weight of h, rounded to multiples of 1 / Q, so that Q z is a whole number, computed
exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import sqrt

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.ordered.least_squares import Floats
from blowfish_privacy.mechanisms.ordered.levels import DifferenceLevel
from blowfish_privacy.noise import BitSource, discrete_laplace

DIVISIONS = 2**20
"""Q: a flow is a whole number of 1 / Q records."""
_LARGEST = 2**61
_LARGEST_SCALE = 2**24


@dataclass(frozen=True)
class Line:
    """The noise of one line: ``length`` edges, a spacing (1: leaf noise alone), and the loss of a unit on an edge."""

    length: int
    spacing: int
    loss: Fraction

    @property
    def leaf_scale(self) -> Fraction:
        """Leaf noise takes half of the loss, or all of it where there is no coarser level."""
        return (1 if self.spacing == 1 else 2) / self.loss

    @property
    def hat_scale(self) -> Fraction:
        """A unit on an edge adds up to g over the whole-number hats, so their noise is g times as large."""
        return 2 * self.spacing / self.loss

    def check(self) -> None:
        """Refuse, before anything is charged, noise whose flows could exceed 64 bits."""
        if max(self.leaf_scale, self.hat_scale) > _LARGEST_SCALE:
            raise QueryError("the noise scale of a flow must be at most 2^24.", hint="spend more epsilon.")

    @cached_property
    def hats(self) -> npt.NDArray[np.int64]:
        """The whole-number hats G: one row for each node."""
        if self.spacing == 1:
            return np.zeros((0, self.length), dtype=np.int64)
        scaled = DifferenceLevel(self.spacing, Fraction(1)).hats(self.length).toarray() * self.spacing
        return np.rint(scaled).astype(np.int64)

    @cached_property
    def weights(self) -> npt.NDArray[np.int64]:
        """Q B: the least-squares weight of the hats' noise, in whole numbers."""
        unit = self.hats / self.spacing
        gain = np.linalg.solve(np.eye(self.length) + unit.T @ unit, unit.T) / self.spacing
        return np.rint(DIVISIONS * gain).astype(np.int64)

    def draw(self, lines: int, source: BitSource) -> npt.NDArray[np.int64]:
        """Draw the flows of several lines, one a row, in units of 1 / Q."""
        leaf = discrete_laplace(self.leaf_scale, (lines, self.length), source=source)
        if self.spacing == 1:
            return DIVISIONS * leaf
        hats = discrete_laplace(self.hat_scale, (lines, len(self.hats)), source=source)
        return self.flow(leaf, hats)

    def flow(self, leaf: npt.NDArray[np.int64], hats: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Combine leaf and hat noise into a flow, exactly."""
        gap = hats - leaf @ self.hats.T
        largest = int(np.abs(gap).max(initial=0)) * int(np.abs(self.weights).max(initial=0)) * max(len(self.hats), 1)
        if largest + DIVISIONS * int(np.abs(leaf).max(initial=0)) < _LARGEST:
            return DIVISIONS * leaf + gap @ self.weights.T
        # Intermediate sums may exceed 64 bits, so they are added as Python integers.
        whole = DIVISIONS * leaf.astype(object) + gap.astype(object) @ self.weights.T.astype(object)
        return whole.astype(np.int64)

    @cached_property
    def covariance(self) -> Floats:
        """The covariance of the flows of one line, in records."""
        from blowfish_privacy.noise import variance

        back = self.weights / DIVISIONS
        rest = np.eye(self.length) - back @ self.hats
        return variance(self.leaf_scale) * (rest @ rest.T) + variance(self.hat_scale) * (back @ back.T)

    @cached_property
    def range_variance(self) -> float:
        """The mean variance of the sum over a uniformly random stretch of the line."""
        from blowfish_privacy.noise import variance

        leaf, hat = _range_shares(self.length, self.spacing)
        return variance(self.leaf_scale) * leaf + (variance(self.hat_scale) * hat if self.spacing > 1 else 0.0)


@lru_cache(maxsize=256)
def _range_shares(length: int, spacing: int) -> tuple[float, float]:
    """Return the mean variance of the sum over a random stretch for leaf and for hat noise of variance 1."""
    line = Line(length, spacing, Fraction(1))
    back = line.weights / DIVISIONS
    rest = np.eye(length) - back @ line.hats
    return _mean_over_stretches(rest @ rest.T), _mean_over_stretches(back @ back.T)


def _mean_over_stretches(spread: Floats) -> float:
    sums: Floats = np.pad(np.cumsum(np.cumsum(spread, axis=0), axis=1), ((1, 0), (1, 0)))
    cuts = len(sums)
    return float((cuts * np.trace(sums) - sums.sum()) / (cuts * (cuts - 1) / 2))


def best_line(length: int, loss: Fraction) -> Line:
    """Choose the spacing with the smallest mean variance; it is near 1.25 times the root of the length."""
    root = sqrt(length)
    spacings = {1, *(round(root * factor) for factor in (0.9, 1.05, 1.15, 1.25, 1.35, 1.5))}
    lines = [Line(length, spacing, loss) for spacing in sorted(spacings) if spacing == 1 or 2 < spacing < length]
    return min(lines, key=lambda line: line.range_variance)
