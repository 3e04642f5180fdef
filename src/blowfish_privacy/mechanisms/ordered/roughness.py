"""How unevenly records lie in bins of an ordered attribute: one whole number for each bin.

With S the number of records at or below a position, a bin from a to b = a + w has the deviations

    D_i = w (S_(a+i) - S_a) - i (S_b - S_a),    0 < i < w,

which are zero where the records of the bin lie evenly. Its roughness is the root of the sum of their squares, rounded
down. In records, the root mean squared error of interpolating S inside the bin is the roughness / w^(3/2).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, isqrt, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER
from blowfish_privacy.mechanisms.row_noise import LAPLACE_ROWS

_STEPS = 2_000
_FARTHEST = 12
"""Noise beyond so many scales leaves nothing that matters to :meth:`Roughness.left`."""


@dataclass(frozen=True)
class Roughness:
    """Bins of one width, the scale of the noise on their roughness, and from where on a bin is cut."""

    width: int
    scale: Fraction
    limit: int
    """A bin is cut where its noisy roughness is larger."""

    def rows(self, size: int) -> int:
        """Count the bins over ``size`` positions; the last one may be narrower."""
        return -(-size // self.width)

    def answer(self, counts: npt.NDArray[np.int64], records: int) -> npt.NDArray[np.int64]:
        """Return the exact roughness of every bin; the number of records is public."""
        # Squares beyond 64 bits take numbers of any length, which are slower.
        kind: Any = np.int64 if records**2 * self.width**3 < LARGEST_ANSWER else object
        whole = len(counts) // self.width * self.width
        parts = [counts[:whole].reshape(-1, self.width), counts[None, whole:]]
        roots = [isqrt(square) for part in parts if part.size for square in _squares(part, kind)]
        return np.array(roots, dtype=np.int64)

    def change(self, x: int, y: int, size: int) -> int:
        """Bound the changes of all bins, added up, when a record moves from x to y.

        Inside a bin every deviation between the two changes by the width. Otherwise two bins gain or lose a record.
        The root of a sum of squares changes by no more than the root of the sum of squared changes, and rounding down
        adds less than one.
        """
        if x // self.width == y // self.width:
            return _root_up(self._own(x, size) ** 2 * abs(x - y))
        return sum(_root_up(self._weight(z % self.width, self._own(z, size))) for z in (x, y))

    def most(self, size: int) -> int:
        """Bound :meth:`change` over all moves; a record weighs most at either end of a bin."""
        width = min(self.width, size)
        inside = _root_up(width**2 * (width - 1))
        ends = _root_up(self._weight(0, width)), _root_up(self._weight(0, self._own(size - 1, size)))
        across = 2 * ends[0] if size >= 2 * self.width else sum(ends) if size > self.width else 0
        return max(inside, across)

    def _own(self, position: int, size: int) -> int:
        """Return the width of the bin of a position."""
        return min(self.width, size - position // self.width * self.width)

    @staticmethod
    def _weight(rest: int, width: int) -> int:
        """Add up the squared deviations of one record: i^2 up to its place in the bin, (w - i)^2 beyond it."""
        return _sum_of_squares(rest) + _sum_of_squares(width - 1 - rest)

    def lost(self, change: int) -> Fraction:
        """Return the privacy loss on a change."""
        return LAPLACE_ROWS.lost(change, self.scale)

    def left(self, size: int, records: int) -> float:
        """Bound the mean squared error of interpolating in bins that are not cut, over all data and all positions.

        A bin of roughness r, in scales of the noise, is left whole with probability P(noise <= limit - r). The mean
        over all bins of r^2 times that is at most its maximum over r; and since a bin of c records has at most
        c / sqrt(3), the sum of r over all bins is bounded by the public number of records.
        """
        scale = float(self.scale) / self.width**1.5
        limit = self.limit / float(self.scale)
        share = records / sqrt(3) / self.rows(size) / scale
        tried = ((limit + _FARTHEST) * step / _STEPS for step in range(1, _STEPS + 1))
        return scale**2 * max(min(r * r, r * share) * _at_most(limit - r + 1 / float(self.scale)) for r in tried)


def _squares(bins: npt.NDArray[np.int64], kind: Any) -> list[int]:
    """Add up the squared deviations of bins of one width, a row each."""
    width = bins.shape[1]
    below = np.cumsum(bins, axis=1)
    deviations = width * below - np.arange(1, width + 1) * below[:, -1:]
    return (deviations.astype(kind) ** 2).sum(axis=1).tolist()


def _sum_of_squares(last: int) -> int:
    return last * (last + 1) * (2 * last + 1) // 6


def _root_up(square: int) -> int:
    """Return the root, rounded up."""
    return isqrt(square - 1) + 1 if square else 0


def _at_most(distance: float) -> float:
    """Return the probability that Laplace noise of scale 1 is at most so large."""
    return exp(distance) / 2 if distance < 0 else 1 - exp(-distance) / 2
