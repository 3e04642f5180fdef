"""Noise along one line of a grid's edges, made so that sums over stretches of the line stay small.

The line has k edges. Leaf noise e is one integer per edge; hat noise h one per node of coarser levels. With G the
whole-number hats and any matrix B, the flow ``z = e + B (h - G e)`` has the property on which everything rests: adding
a unit to edge j of e and column j of G to h adds exactly a unit to z_j, because the bracket does not change. B is the
least-squares weight of h, rounded to multiples of 1 / Q, so that Q z is a whole number, computed exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import sqrt

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.grid.side import mean_square
from blowfish_privacy.mechanisms.ordered.level_choice import precise_line
from blowfish_privacy.mechanisms.ordered.levels import DifferenceLevel
from blowfish_privacy.noise import BitSource
from blowfish_privacy.support.arrays import Floats, dense

DIVISIONS = 2**20
"""Q: a flow is a whole number of 1 / Q records."""
_LARGEST = 2**61
_EXACT_FLOATS = 2**53
_LARGEST_SCALE = 2**24


@dataclass(frozen=True)
class Line:
    """The noise of one line: ``length`` edges, leaf noise on each, and hats of coarser levels, if any."""

    length: int
    leaf: DifferenceLevel
    coarse: tuple[DifferenceLevel, ...]

    @property
    def levels(self) -> tuple[DifferenceLevel, ...]:
        """The leaf and the coarser levels."""
        return (self.leaf, *self.coarse)

    @cached_property
    def loss(self) -> Fraction:
        """What a unit on an edge loses at most: it adds one to the leaf, and most to the hats where all have a node."""
        return sum((level.lost(level.weight(0, self.length)) for level in self.levels), Fraction(0))

    def check(self) -> None:
        """Refuse, before anything is charged, noise whose flows could exceed 64 bits."""
        for level in self.levels:
            if level.scale > level.noise.scaled(Fraction(1), _LARGEST_SCALE):
                hint = f"spend more {level.noise.counted_in.name}."
                raise QueryError("the noise scale of a flow must be at most 2^24.", hint=hint)

    @cached_property
    def hats(self) -> npt.NDArray[np.int64]:
        """The whole-number hats G: one row for each node."""
        scaled = [dense(level.hats(self.length)) * level.unit for level in self.coarse]
        return np.rint(np.concatenate([np.zeros((0, self.length)), *scaled])).astype(np.int64)

    @cached_property
    def weights(self) -> npt.NDArray[np.int64]:
        """Q B: the least-squares weight of the hats' noise, in whole numbers."""
        units = np.repeat([level.unit for level in self.coarse], self._rows)[:, None]
        roots = np.repeat([sqrt(self._precision(level)) for level in self.coarse], self._rows)[:, None]
        weighed = roots * (self.hats / units)
        # (1 + W'W)^-1 W' = W' (1 + W W')^-1, and there are fewer hats than edges.
        between = np.eye(len(weighed)) + weighed @ weighed.T
        gain = np.linalg.solve(between, weighed).T * roots.T / units.T
        return np.rint(DIVISIONS * gain).astype(np.int64)

    @property
    def _rows(self) -> list[int]:
        return [level.rows(self.length) for level in self.coarse]

    def _precision(self, level: DifferenceLevel) -> Fraction:
        """How precise a level is, in records, compared with the leaf."""
        return (level.noise.scaled(self.leaf.scale, level.unit) / level.scale) ** (2 // level.noise.power)

    def draw(self, lines: int, source: BitSource) -> npt.NDArray[np.int64]:
        """Draw the flows of several lines, one a row, in units of 1 / Q."""
        leaf = self.leaf.noise.draw(self.leaf.scale, (lines, self.length), source)
        if not self.coarse:
            return DIVISIONS * leaf
        hats = [
            level.noise.draw(level.scale, (lines, rows), source)
            for level, rows in zip(self.coarse, self._rows, strict=True)
        ]
        return self.flow(leaf, np.concatenate(hats, axis=1))

    def flow(self, leaf: npt.NDArray[np.int64], hats: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Combine leaf and hat noise into a flow, exactly."""
        gap = hats - leaf @ self.hats.T
        largest = int(np.abs(gap).max(initial=0)) * int(np.abs(self.weights).max(initial=0)) * max(len(self.hats), 1)
        if largest < _EXACT_FLOATS:
            # All sums are whole numbers that a float holds, whatever their order.
            return DIVISIONS * leaf + (gap.astype(np.float64) @ self.weights.T.astype(np.float64)).astype(np.int64)
        if largest + DIVISIONS * int(np.abs(leaf).max(initial=0)) < _LARGEST:
            return DIVISIONS * leaf + gap @ self.weights.T
        # Intermediate sums may exceed 64 bits, so they are added as Python integers.
        whole = DIVISIONS * leaf.astype(object) + gap.astype(object) @ self.weights.T.astype(object)
        return whole.astype(np.int64)

    @cached_property
    def covariance(self) -> Floats:
        """The covariance of the flows of one line, in records."""
        spread = np.zeros((self.length, self.length))
        for level, part in zip(self.levels, self.parts(), strict=True):
            spread += level.noise.variance(level.scale) * (part @ part.T)
        return spread

    def parts(self) -> list[Floats]:
        """Return by what the noise of each level is multiplied."""
        back = self.weights / DIVISIONS
        rest = np.eye(self.length) - back @ self.hats
        return [rest, *np.split(back, np.cumsum(self._rows)[:-1], axis=1)] if self.coarse else [rest]

    @cached_property
    def range_variance(self) -> float:
        """The mean variance of the sum over a uniformly random stretch of the line."""
        alike = (replace(level, scale=level.scale / self.leaf.scale) for level in self.coarse)
        shares = _range_shares(Line(self.length, replace(self.leaf, scale=Fraction(1)), tuple(alike)))
        return sum(level.noise.variance(level.scale) * share for level, share in zip(self.levels, shares, strict=True))


@lru_cache(maxsize=256)
def _range_shares(line: Line) -> list[float]:
    """Return the mean variance of the sum over a random stretch for noise of variance 1 on each level."""
    return [mean_square(part) for part in line.parts()]


def laplace_line(length: int, spacing: int, loss: Fraction) -> Line:
    """Make a line of one spacing (1: leaf noise alone) of which a unit on an edge loses so much.

    Leaf noise takes half of the loss, or all of it where there is no coarser level. A unit on an edge adds up to g over
    the whole-number hats, so their noise is g times as large.
    """
    if spacing == 1:
        return Line(length, DifferenceLevel(1, 1 / loss), ())
    return Line(length, DifferenceLevel(1, 2 / loss), (DifferenceLevel(spacing, 2 * spacing / loss),))


def best_laplace_line(length: int, loss: Fraction) -> Line:
    """Choose the spacing with the smallest mean variance; it is near 1.25 times the root of the length."""
    root = sqrt(length)
    spacings = {1, *(round(root * factor) for factor in (0.9, 1.05, 1.15, 1.25, 1.35, 1.5))}
    lines = [
        laplace_line(length, spacing, loss) for spacing in sorted(spacings) if spacing == 1 or 2 < spacing < length
    ]
    return min(lines, key=lambda line: line.range_variance)


def gaussian_line(length: int, loss: Fraction) -> Line:
    """Make a line with Gaussian noise of which a unit on an edge loses so much, with the best levels."""
    leaf, *coarse = (replace(level, scale=level.scale / loss) for level in precise_line(length))
    return Line(length, leaf, tuple(coarse))
