"""Rows along an ordered attribute that tell its ranges well: whole numbers, chosen for the moves they have to hide.

Of all matrices B with B 1 = 0 that change by at most 1 along every own move, and whose columns have a squared norm
of at most r, the best for random ranges is found by its Gram matrix G = B'B: it minimises tr(V G^+), a convex problem,
where V says how often a random range contains two values. What is certified is derived from the whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.support.arrays import Floats, Integers

_ROUNDS = 60
_POWER = 0.7


@dataclass(frozen=True, eq=False)
class AxisRows:
    """As many rows as there are values, each of which adds up to 0; ``times`` times what they stand for."""

    matrix: Integers
    times: int

    @property
    def size(self) -> int:
        """The number of values."""
        return self.matrix.shape[1]

    @cached_property
    def gram(self) -> npt.NDArray[Any]:
        """The products of all columns, in whole numbers of any size."""
        exact = self.matrix.astype(object)
        return exact.T @ exact

    def product(self, x: int, y: int) -> Fraction:
        """Return the product of two columns."""
        return Fraction(int(self.gram[x, y]), self.times**2)

    @cached_property
    def heaviest(self) -> int:
        """The value with the longest column."""
        return int(np.argmax(np.diag(self.gram)))

    @property
    def norm(self) -> Fraction:
        """The largest squared norm of a column."""
        return self.product(self.heaviest, self.heaviest)

    def changed(self, move: int, kept: Fraction, crossed: Fraction) -> tuple[Fraction, tuple[int, int]]:
        """Return the largest kept (G_xx + G_yy) - 2 crossed G_xy over moves no longer than that, and that move."""
        known = self._changes.get((move, kept, crossed))
        if known is None:
            below = kept.denominator * crossed.denominator
            a, c = int(kept * below), int(crossed * below)
            norms = np.diag(self.gram)
            changes = a * (norms[:, None] + norms[None, :]) - 2 * c * self.gram
            apart = np.abs(np.subtract.outer(np.arange(self.size), np.arange(self.size)))
            inside = np.argwhere((apart >= 1) & (apart <= move))
            values = changes[inside[:, 0], inside[:, 1]]
            x, y = inside[int(np.argmax(values))].tolist()
            known = Fraction(int(changes[x, y]), below * self.times**2), (x, y)
            self._changes[move, kept, crossed] = known
        return known

    @cached_property
    def _changes(self) -> dict[tuple[int, Fraction, Fraction], tuple[Fraction, tuple[int, int]]]:
        return {}

    @cached_property
    def products(self) -> tuple[Fraction, Fraction]:
        """The smallest and the largest product of two different columns."""
        others = self.gram[~np.eye(self.size, dtype=bool)]
        return Fraction(int(others.min()), self.times**2), Fraction(int(others.max()), self.times**2)

    @property
    def most(self) -> int:
        """The largest number of a row."""
        return int(np.abs(self.matrix).max())

    @cached_property
    def reader(self) -> Floats:
        """The matrix that turns rows into counts less their mean."""
        return np.asarray(np.linalg.pinv(self.matrix / self.times, rcond=1e-9), dtype=np.float64)

    @cached_property
    def covariance(self) -> Floats:
        """That of the counts less their mean, where every row has noise of variance 1."""
        return self.reader @ self.reader.T

    def read(self, counts: Integers, at: int) -> Integers:
        """Turn counts into rows, along one of their axes."""
        return np.moveaxis(np.tensordot(self.matrix, counts, axes=(1, at)), 0, at)

    @property
    def tells(self) -> bool:
        """Whether the rows tell all counts but for their sum, and nothing of the sum."""
        return not self.matrix.sum(axis=1).any() and int(np.linalg.matrix_rank(self.matrix)) == self.size - 1


def in_both(size: int) -> Floats:
    """Return how often a random range contains both of two values."""
    at = np.arange(size)
    return 2 * (np.minimum.outer(at, at) + 1) * (size - np.maximum.outer(at, at)) / (size * (size + 1))


@lru_cache(maxsize=256)
def best_rows(size: int, move: int, norm: float | None, bits: int) -> AxisRows:
    """Find the best rows of squared changes of at most 1 along moves, and columns of at most a squared norm.

    They are rounded to so many bits behind the point.
    """
    gram = _best_gram(size, move, norm)
    lengths, directions = np.linalg.eigh(gram)
    root = (directions * np.sqrt(np.maximum(lengths, 0.0))) @ directions.T
    matrix = np.rint(root * 2**bits).astype(np.int64)
    for row in matrix:
        # What rounding leaves of the sum is taken away, one by one.
        left = int(row.sum())
        row[: abs(left)] -= np.sign(left)
    return AxisRows(matrix, 2**bits)


def _best_gram(size: int, move: int, norm: float | None) -> Floats:
    """Raise the price of what changes most, until all that has a price changes alike; the last is scaled to 1."""
    centred = np.eye(size) - 1 / size
    _, basis = np.linalg.eigh(centred)
    basis = basis[:, 1:]
    wanted = basis.T @ in_both(size) @ basis
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    moves = (apart >= 1) & (apart <= move)
    prices, weights = moves / max(moves.sum(), 1), np.full(size, 1 / size if norm else 0.0)
    gram = centred
    for _ in range(_ROUNDS):
        total = np.diag(prices.sum(axis=1)) - prices + np.diag(weights / (norm or 1.0))
        half, inverse = _roots(basis.T @ total @ basis)
        root, _ = _roots(half @ wanted @ half)
        gram = basis @ (inverse @ root @ inverse) @ basis.T
        norms = np.diag(gram)
        own = np.where(moves, norms[:, None] + norms[None, :] - 2 * gram, 0.0)
        heavy = norms / norm if norm else np.zeros(size)
        gram = gram / max(own.max(), heavy.max())
        prices, weights = prices * own**_POWER, weights * heavy**_POWER
        both = prices.sum() + weights.sum()
        prices, weights = prices / both, weights / both
    return gram


def _roots(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the root of a symmetric matrix, and its inverse."""
    lengths, directions = np.linalg.eigh(matrix)
    roots = np.sqrt(np.maximum(lengths, 1e-14 * lengths[-1]))
    return (directions * roots) @ directions.T, (directions / roots) @ directions.T
