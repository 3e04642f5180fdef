"""One side of a grid of products of hats: its least-squares weights, and what random ranges make of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.ordered.levels import DifferenceLevel
from blowfish_privacy.support.arrays import Floats, dense


@dataclass(frozen=True)
class SideLevel:
    """The rows of one spacing: what they weigh in a random range, squared, added up and averaged over all ranges."""

    alone: float
    """The weights of the range."""
    both: float
    """The products with the weights of the total, times what a range takes of a correction of the total."""
    total: float
    """The weights of the total."""


@dataclass(frozen=True, eq=False)
class Side:
    """An attribute of some size with levels of hats, whose scales say how precise each is compared with the others."""

    pull: Floats
    """How much of a correction of the total each position takes: (A'A)^-1 1."""
    pulled: float
    """What a random range takes of it, squared, on average."""
    levels: tuple[SideLevel, ...]

    @classmethod
    def of(cls, size: int, levels: tuple[DifferenceLevel, ...]) -> Side:
        """Compute them once for every size and levels."""
        return _side(size, levels)


@lru_cache(maxsize=64)
def _side(size: int, levels: tuple[DifferenceLevel, ...]) -> Side:
    inverse = least_squares(size, levels)
    rows = [level.rows(size) for level in levels]
    deviations = np.repeat([1 / sqrt(precision(level)) for level in levels], rows)
    pull = (inverse * deviations) @ (inverse * deviations).sum(axis=0)
    made: list[SideLevel] = []
    for part in np.split(inverse, np.cumsum(rows)[:-1], axis=1):
        of_total = part.sum(axis=0)
        both = _mean_product(pull[:, None], (part @ of_total)[:, None])
        made.append(SideLevel(mean_square(part), both, float(of_total @ of_total)))
    return Side(pull, mean_square(pull[:, None]), tuple(made))


@lru_cache(maxsize=64)
def waves_by_level(size: int, levels: tuple[DifferenceLevel, ...]) -> list[Floats]:
    """Return, for rows of each level with variance 1, the variance of the cosine coefficients of the estimate."""
    from scipy.fft import dct

    coefficients = np.asarray(dct(least_squares(size, levels), axis=0, norm="ortho"), dtype=np.float64)
    ends = np.cumsum([level.rows(size) for level in levels])[:-1]
    return [(part**2).sum(axis=1) for part in np.split(coefficients, ends, axis=1)]


def precision(level: DifferenceLevel) -> float:
    """Return how precise the rows of a level are meant to be, compared with others of the side."""
    return float((level.noise.scaled(Fraction(1), level.unit) / level.scale) ** (2 // level.noise.power))


def _mean_product(first: Floats, second: Floats) -> float:
    """Multiply what the columns of two tables add up to over a range; average over all ranges, add up the columns."""
    sums = [np.pad(np.cumsum(each, axis=0), ((1, 0), (0, 0))) for each in (first, second)]
    cuts = len(sums[0])
    total = cuts * float((sums[0] * sums[1]).sum()) - float((sums[0].sum(axis=0) * sums[1].sum(axis=0)).sum())
    return total / (cuts * (cuts - 1) / 2)


def mean_square(table: Floats) -> float:
    """Square what the columns of a table add up to over a range; average over all ranges, add up the columns."""
    sums = np.cumsum(table, axis=0)
    cuts, totals = len(sums) + 1, sums.sum(axis=0)
    return float(cuts * np.vdot(sums, sums) - totals @ totals) / (cuts * (cuts - 1) / 2)


def whole_hats(size: int, level: DifferenceLevel) -> npt.NDArray[np.int64]:
    """Return whole-number hats along an attribute."""
    return np.rint(dense(level.hats(size)) * level.unit).astype(np.int64)


def hats_of(level: DifferenceLevel, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Answer whole-number hats along the first attribute exactly; most weights are 0, and skipped."""
    from scipy.sparse import csr_array

    hats: Any = csr_array(level.hats(len(counts))) * level.unit
    hats.data = np.rint(hats.data).astype(np.int64)
    return np.asarray(hats @ counts, dtype=np.int64)


def least_squares(size: int, levels: tuple[DifferenceLevel, ...]) -> Floats:
    """Return the matrix that turns rows, in records, into the least-squares estimate along an attribute."""
    rows = np.vstack([whole_hats(size, level) / level.unit for level in levels])
    roots = np.repeat([sqrt(precision(level)) for level in levels], [level.rows(size) for level in levels])[:, None]
    weighed = roots * rows
    if levels[0].unit == levels[0].overlap == 1 and len(rows) < 1.5 * size:
        return _with_leaves(weighed[size:], float(roots[0, 0])) * roots.T
    return np.asarray(np.linalg.solve(weighed.T @ weighed, weighed.T) * roots.T, dtype=np.float64)


def range_products(
    size: int,
    levels: tuple[DifferenceLevel, ...],
    ranges: npt.NDArray[np.int64],
    others: npt.NDArray[np.int64],
) -> Floats:
    """Multiply what rows weigh in the estimates of ranges and of others, and add up each level: a row for each.

    Both are pairs of cut points.
    """
    sums = np.pad(np.cumsum(least_squares(size, levels), axis=0), ((1, 0), (0, 0)))
    first, second = (sums[ends[:, 1]] - sums[ends[:, 0]] for ends in (ranges, others))
    starts = np.cumsum([0, *(level.rows(size) for level in levels[:-1])])
    return np.add.reduceat(first * second, starts, axis=1).T


def _with_leaves(coarse: Floats, root: float) -> Floats:
    """Solve (r^2 + W'W) X = (r, W') for few coarse rows W, beside leaves of weight r, by the smaller matrix W W'."""
    between = root**2 * np.eye(len(coarse)) + coarse @ coarse.T
    hats = np.linalg.solve(between, coarse).T
    leaves = (np.eye(coarse.shape[1]) - hats @ coarse) / root
    return np.concatenate([leaves, hats], axis=1).astype(np.float64, copy=False)
