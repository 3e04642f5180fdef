"""The levels of a smooth hierarchy: overlapping bins and block sums, in whole numbers.

A level of spacing g has nodes at 0, g, 2g, ... A record at position x = i g + r adds, times g,

- *difference level*: g - r to node i and r to node i + 1 (a "hat" around each node; g = 1 is the histogram);
  with overlap j the nodes are j times as dense, and every record is in 2 j hats;
- *cumulative level*: min(g, max(0, (i + 1) g - x)) to row i, which makes row i the sum of S over block i.

Both change smoothly with x, so a short move changes them little: that is what a distance threshold pays for. Where the
number of records is secret, its noisy *total* is one more row, which no move changes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.row_noise import LAPLACE_ROWS, RowNoise
from blowfish_privacy.support.arrays import Matrix, diagonal, matrix

_SMALLEST = 1e-60


@dataclass(frozen=True)
class Level(ABC):
    """Rows of one spacing, with noise of one scale on their whole-number form. A scale of 0 means no noise."""

    spacing: int
    scale: Fraction
    noise: RowNoise = LAPLACE_ROWS

    @property
    def unit(self) -> int:
        """What one record adds to a row at most: whole-number rows count in such parts of a record."""
        return self.spacing

    @abstractmethod
    def rows(self, size: int) -> int:
        """Count the rows over ``size`` positions."""

    def places(self, size: int) -> npt.NDArray[np.int64]:
        """Return the nodes of the rows."""
        return self.spacing * np.arange(self.rows(size))

    @abstractmethod
    def change(self, x: int, y: int) -> int:
        """Return the change of the rows, times :attr:`unit` and as the noise counts it, on a move from x to y."""

    @abstractmethod
    def most(self, distance: int) -> int:
        """Bound :meth:`change` over all moves of at most ``distance`` positions; a move from 0 attains the bound."""

    @abstractmethod
    def weight(self, x: int, size: int) -> int:
        """Return what a record at x adds to the rows, as the noise counts it; at 0 it is largest."""

    def lost(self, change: int) -> Fraction:
        """Return the privacy loss on a change of the rows."""
        return self.noise.lost(change, self.scale)

    @abstractmethod
    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the exact rows, times :attr:`unit`."""

    @abstractmethod
    def hats(self, size: int) -> Matrix:
        """Return what the rows observe as a sparse matrix of hats, counted in records."""

    @abstractmethod
    def covariance(self, size: int) -> Matrix:
        """Return the covariance of the noise on what :meth:`hats` observes, as a sparse matrix."""

    @abstractmethod
    def as_hats(self, noisy: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Turn noisy rows into noisy observations of :meth:`hats`."""

    @property
    def variance(self) -> float:
        """The variance of the noise of one row, counted in records."""
        # Noise of a tiny scale is almost always 0; the floor avoids a division by zero in the least squares.
        return max(self.noise.variance(self.scale), _SMALLEST) / self.unit**2 if self.scale else 0.0


@dataclass(frozen=True)
class DifferenceLevel(Level):
    """Overlapping bins: each row is a hat around its node that reaches as many nodes further as the overlap says."""

    overlap: int = 1

    @property
    def unit(self) -> int:
        """How far a hat reaches, which is its height."""
        return self.spacing * self.overlap

    def rows(self, size: int) -> int:
        """Count the nodes of all hats that reach a position, from the first below it to the last beyond it."""
        return 2 * self.overlap - 1 - (-(size - 1) // self.spacing)

    def places(self, size: int) -> npt.NDArray[np.int64]:
        """Return the nodes, the first of which are below position 0 where hats overlap more."""
        return self.spacing * np.arange(1 - self.overlap, self.rows(size) - self.overlap + 1)

    def change(self, x: int, y: int) -> int:
        """Compare the weights that are not zero."""
        weights: dict[int, int] = {}
        for position, sign in ((x, 1), (y, -1)):
            first = position // self.spacing - self.overlap + 1
            for node in range(first, first + 2 * self.overlap):
                weights[node] = weights.get(node, 0) + sign * self._height(node, position)
        return self.noise.change(weights.values())

    def most(self, distance: int) -> int:
        """Compare moves from a node to the nodes within the distance and to its end.

        Between nodes the weights are linear, so the change is convex in both ends of a move: it is largest where they
        are nodes, or the move is as long as possible and one of them is. Two hats away nothing is left in common.
        """
        nodes = range(self.spacing, min(distance, 2 * self.unit) + 1, self.spacing)
        return max(self.change(0, y) for y in (*nodes, min(distance, 2 * self.unit)))

    def weight(self, x: int, size: int) -> int:
        """Add up the weights; with an overlap of 1 and as they are, that is the spacing."""
        first = x // self.spacing - self.overlap + 1
        return self.noise.change(self._height(node, x) for node in range(first, first + 2 * self.overlap))

    def _height(self, node: int, position: int) -> int:
        return self.unit - abs(position - node * self.spacing)

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Add up hats that only touch each other, as often as they overlap."""
        if self.unit == 1:
            return counts.copy()
        answers = np.empty(self.rows(len(counts)), dtype=np.int64)
        for first in range(self.overlap):
            places = answers[first :: self.overlap]
            places[:] = self._touching(counts, (self.overlap - 1 - first) * self.spacing)[: len(places)]
        return answers

    def _touching(self, counts: npt.NDArray[np.int64], before: int) -> npt.NDArray[np.int64]:
        """Add up both sides of every hat, block by block; the first node is some positions before the first count."""
        g = self.unit
        blocks = np.zeros(-(-(before + len(counts)) // g) * g, dtype=np.int64)
        blocks[before : before + len(counts)] = counts
        blocks = blocks.reshape(-1, g)
        total, right = blocks.sum(axis=1), blocks @ np.arange(g, dtype=np.int64)
        answers = np.zeros(len(total) + 1, dtype=np.int64)
        answers[:-1] += g * total - right
        answers[1:] += right
        return answers

    def hats(self, size: int) -> Matrix:
        """Return the rows, counted in records."""
        x = np.arange(size)
        node, rest = np.divmod(x, self.spacing)
        below = [rest + self.spacing * step for step in range(self.overlap)]
        beyond = [self.spacing * step - rest for step in range(1, self.overlap + 1)]
        weights = [*(1 - far / self.unit for far in below), *((self.unit - far) / self.unit for far in beyond)]
        rows = [node - step for step in range(self.overlap)] + [node + step for step in range(1, self.overlap + 1)]
        places = (np.concatenate(rows) + self.overlap - 1, np.tile(x, 2 * self.overlap))
        shape = (int(node[-1]) + 2 * self.overlap, size)
        return matrix(np.concatenate(weights), *places, shape)[: self.rows(size)]

    def covariance(self, size: int) -> Matrix:
        """Return the covariance of the rows' noise, counted in records."""
        return diagonal(np.full(self.rows(size), self.variance))

    def as_hats(self, noisy: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return noisy rows as observations of :meth:`hats`."""
        return noisy / self.unit


@dataclass(frozen=True)
class CumulativeLevel(Level):
    """Block sums of the cumulative histogram; the last, which is public, is left out."""

    def rows(self, size: int) -> int:
        """Count the nodes but for the last."""
        return -(-(size - 1) // self.spacing)

    def change(self, x: int, y: int) -> int:
        """Count in each block the cumulative counts between the two positions: each changes by one."""
        distance = abs(x - y)
        first = min(distance, self.spacing - min(x, y) % self.spacing)
        return self.noise.change((first,)) + self.most(distance - first)

    def most(self, distance: int) -> int:
        """Count as many whole blocks as the distance has, and the rest in one: no other split weighs more."""
        whole, rest = divmod(distance, self.spacing)
        return whole * self.noise.change((self.spacing,)) + self.noise.change((rest,))

    def weight(self, x: int, size: int) -> int:
        """Count the cumulative counts from the position on."""
        return self.change(x, max(x, self.rows(size) * self.spacing))

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Add up the cumulative histogram, block by block; beyond the end it stays at the total."""
        rows = self.rows(len(counts))
        sums = np.cumsum(counts)
        padded = np.full(rows * self.spacing, sums[-1], dtype=np.int64)
        reach = min(len(padded), len(sums))
        padded[:reach] = sums[:reach]
        return padded.reshape(rows, self.spacing).sum(axis=1)

    def hats(self, size: int) -> Matrix:
        """Return the differences of the rows: hats again, counted in records."""
        return DifferenceLevel(self.spacing, self.scale).hats(size)[: self.rows(size)]

    def covariance(self, size: int) -> Matrix:
        """Return the covariance of the differences: each shares its noise with its neighbours."""
        main = np.full(self.rows(size), 2 * self.variance)
        main[:1] = self.variance
        return diagonal(main, beside=-self.variance)

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

    def weight(self, x: int, size: int) -> int:
        """Return one."""
        return 1

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Count all records."""
        return counts.sum(keepdims=True)

    def hats(self, size: int) -> Matrix:
        """Return a row of ones."""
        return np.ones((1, size))

    def covariance(self, size: int) -> Matrix:
        """Return the variance of the one row."""
        return diagonal(np.full(1, self.variance))

    def as_hats(self, noisy: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the noisy number of records."""
        return noisy.astype(np.float64)
