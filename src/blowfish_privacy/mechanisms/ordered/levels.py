"""The levels of a smooth hierarchy: overlapping bins and block sums, in whole numbers.

A level of spacing g has nodes at 0, g, 2g, ... A record at position x = i g + r adds, times g,

- *difference level*: g - r to node i and r to node i + 1 (a "hat" around each node; g = 1 is the histogram);
- *cumulative level*: min(g, max(0, (i + 1) g - x)) to row i, which makes row i the sum of S over block i.

Both change smoothly with x, so a short move changes them little: that is what a distance threshold pays for. Where the
number of records is secret, its noisy *total* is one more row, which no move changes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.noise import variance

_SMALLEST = 1e-60


@dataclass(frozen=True)
class Level(ABC):
    """Rows of one spacing, with one noise scale on their whole-number form. A scale of 0 means no noise."""

    spacing: int
    scale: Fraction

    @abstractmethod
    def rows(self, size: int) -> int:
        """Count the rows over ``size`` positions."""

    @abstractmethod
    def change(self, x: int, y: int) -> int:
        """Return the L1 change of the rows, times g, when a record moves from x to y."""

    @abstractmethod
    def most(self, distance: int) -> int:
        """Bound :meth:`change` over all moves of at most ``distance`` positions; a move from 0 attains the bound."""

    def weight(self, x: int, size: int) -> int:
        """Return the sum of what a record at x adds to the rows, times g; at 0 it is largest."""
        return self.spacing

    @abstractmethod
    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the exact rows, times g."""

    @abstractmethod
    def hats(self, size: int) -> Any:
        """Return what the rows observe as a sparse matrix of hats, counted in records."""

    @abstractmethod
    def covariance(self, size: int) -> Any:
        """Return the covariance of the noise on what :meth:`hats` observes, as a sparse matrix."""

    @abstractmethod
    def as_hats(self, noisy: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Turn noisy rows into noisy observations of :meth:`hats`."""

    @property
    def variance(self) -> float:
        """The variance of the noise of one row, counted in records."""
        # Noise of a tiny scale is almost always 0; the floor avoids a division by zero in the least squares.
        return max(variance(self.scale), _SMALLEST) / self.spacing**2 if self.scale else 0.0


@dataclass(frozen=True)
class DifferenceLevel(Level):
    """Overlapping bins: each row is a hat around its node."""

    def rows(self, size: int) -> int:
        """Count the nodes up to the first at or beyond the last position."""
        return 1 - (-(size - 1) // self.spacing)

    def change(self, x: int, y: int) -> int:
        """Compare the two non-zero weights of each position."""
        weights: dict[int, int] = {}
        for position, sign in ((x, 1), (y, -1)):
            node, rest = divmod(position, self.spacing)
            weights[node] = weights.get(node, 0) + sign * (self.spacing - rest)
            weights[node + 1] = weights.get(node + 1, 0) + sign * rest
        return sum(map(abs, weights.values()))

    def most(self, distance: int) -> int:
        """Return twice the distance, or twice the spacing where that is less."""
        return 2 * min(distance, self.spacing)

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Add up both sides of every hat, block by block."""
        g, rows = self.spacing, self.rows(len(counts))
        if g == 1:
            return counts.copy()
        blocks = np.zeros(-(-len(counts) // g) * g, dtype=np.int64)
        blocks[: len(counts)] = counts
        blocks = blocks.reshape(-1, g)
        total, right = blocks.sum(axis=1), blocks @ np.arange(g, dtype=np.int64)
        answers = np.zeros(len(total) + 1, dtype=np.int64)
        answers[:-1] += g * total - right
        answers[1:] += right
        return answers[:rows]

    def hats(self, size: int) -> Any:
        """Return the rows as a sparse matrix, counted in records."""
        from scipy.sparse import csr_array

        x = np.arange(size)
        node, rest = np.divmod(x, self.spacing)
        weights = np.concatenate([1 - rest / self.spacing, rest / self.spacing])
        places = (np.concatenate([node, node + 1]), np.concatenate([x, x]))
        return csr_array((weights, places), shape=(int(node[-1]) + 2, size))[: self.rows(size)]

    def covariance(self, size: int) -> Any:
        """Return the covariance of the rows' noise, counted in records."""
        from scipy.sparse import identity

        return self.variance * identity(self.rows(size))

    def as_hats(self, noisy: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return noisy rows as observations of :meth:`hats`."""
        return noisy / self.spacing


@dataclass(frozen=True)
class CumulativeLevel(Level):
    """Block sums of the cumulative histogram; the last, which is public, is left out."""

    def rows(self, size: int) -> int:
        """Count the nodes but for the last."""
        return -(-(size - 1) // self.spacing)

    def change(self, x: int, y: int) -> int:
        """Count the cumulative counts between the two positions: each changes by one."""
        return abs(x - y)

    def most(self, distance: int) -> int:
        """Return the distance: a move changes one cumulative count for each position it passes."""
        return distance

    def weight(self, x: int, size: int) -> int:
        """Count the cumulative counts from the position on."""
        return max(0, self.rows(size) * self.spacing - x)

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Add up the cumulative histogram, block by block; beyond the end it stays at the total."""
        rows = self.rows(len(counts))
        sums = np.cumsum(counts)
        padded = np.full(rows * self.spacing, sums[-1], dtype=np.int64)
        reach = min(len(padded), len(sums))
        padded[:reach] = sums[:reach]
        return padded.reshape(rows, self.spacing).sum(axis=1)

    def hats(self, size: int) -> Any:
        """Return the differences of the rows: hats again, counted in records."""
        return DifferenceLevel(self.spacing, self.scale).hats(size)[: self.rows(size)]

    def covariance(self, size: int) -> Any:
        """Return the covariance of the differences: each shares its noise with its neighbours."""
        from scipy.sparse import diags

        rows = self.rows(size)
        main = np.full(rows, 2.0)
        main[:1] = 1.0
        beside = -np.ones(rows - 1)
        return self.variance * (diags(main) + diags(beside, 1) + diags(beside, -1))

    def as_hats(self, noisy: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return differences of noisy rows as observations of :meth:`hats`."""
        return np.diff(noisy, prepend=0) / self.spacing


@dataclass(frozen=True)
class TotalLevel(Level):
    """The number of records, where it is secret: a single row."""

    def rows(self, size: int) -> int:
        """Return one."""
        return 1

    def change(self, x: int, y: int) -> int:
        """Return zero: who moves stays."""
        return 0

    def most(self, distance: int) -> int:
        """Return zero, whatever the distance."""
        return 0

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Count all records."""
        return counts.sum(keepdims=True)

    def hats(self, size: int) -> Any:
        """Return a row of ones."""
        from scipy.sparse import csr_array

        return csr_array(np.ones((1, size)))

    def covariance(self, size: int) -> Any:
        """Return the variance of the one row."""
        from scipy.sparse import identity

        return self.variance * identity(1)

    def as_hats(self, noisy: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the noisy number of records."""
        return noisy.astype(np.float64)
