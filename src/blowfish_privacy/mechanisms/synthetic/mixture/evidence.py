"""What measured tables tell about single attributes and pairs of them, cleared of most of their noise.

The shares of single attributes are means over all tables, weighted by precision, projected onto the non-negative ones
that sum to 1. Of a pair only the residual from independence is taken: its rows and columns sum to 0. Noise that is the
same in every cell spreads evenly over all its singular values, a true dependence over few: each singular value is
shrunk by the rule that has the least squared error for large tables [gavish2017].

Attributes of very many values are looked at in groups: frequent values by themselves, others with their neighbours.
Within a group the values keep their shares, whatever the rest of the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.mechanisms.synthetic.model import Axes, Measurement, Zeros
from blowfish_privacy.support.arrays import Floats, Integers

MOST_GROUPS = 512
"""The most groups of one attribute."""
MOST_IN_ALL = 4096
"""The most groups of all attributes; the square of this number is held in memory a few times."""
RAKING = 20
"""Rounds in which rows and columns of a pair with impossible cells are brought to their margins."""
LEAST_VARIANCE = 1e-6
"""Exact tables get this variance, so that they outweigh every noisy one and still compare with one another."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """The group of each value of an attribute, how many values each group has, and each value's share of its group."""

    of_values: Integers
    sizes: Integers
    within: Floats

    @property
    def many(self) -> int:
        """The number of groups."""
        return len(self.sizes)

    def summed(self, values: Floats, axis: int) -> Floats:
        """Add up the values of each group, along one axis."""
        if self.many == len(self.of_values):
            return values
        arranged = np.take(values, np.argsort(self.of_values, kind="stable"), axis=axis)
        return np.add.reduceat(arranged, np.cumsum(self.sizes) - self.sizes, axis=axis)


@dataclass(frozen=True, eq=False)
class Pair:
    """The shares of all combinations of groups of two attributes, and the deviation of the noise in one cell."""

    axes: tuple[int, int]
    shares: Floats
    deviation: float
    excluded: NDArray[np.bool_]
    """Which cells hold impossible combinations only."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of each attribute, by groups of its values, and of pairs."""

    shape: tuple[int, ...]
    groupings: tuple[Grouping, ...]
    margins: tuple[Floats, ...]
    pairs: tuple[Pair, ...]


def gathered(
    shape: tuple[int, ...], total: float, measurements: Sequence[Measurement], zeros: Sequence[Zeros] = ()
) -> Evidence:
    """Put together what tables of any number of attributes tell about single ones and pairs."""
    records = max(total, 1.0)
    fine = [_margin(axis, size, records, measurements) for axis, size in enumerate(shape)]
    most = _most_groups(shape)
    groupings = tuple(_grouping(margin, most) for margin in fine)
    margins = tuple(grouping.summed(margin, 0) for grouping, margin in zip(groupings, fine, strict=True))
    wanted = sorted({pair for each in measurements for pair in combinations(each.axes, 2)})
    containing: dict[Axes, list[Measurement]] = {pair: [] for pair in wanted}
    for each in measurements:
        for pair in combinations(each.axes, 2):
            containing[pair].append(each)
    pairs: list[Pair] = []
    for one, other in wanted:
        sides = (groupings[one], groupings[other])
        noisy, variance = _mean((one, other), containing[one, other], sides)
        independent = np.outer(margins[one], margins[other])
        shares = _shrunk(noisy / records, independent, sqrt(variance) / records, sides)
        excluded = _excluded((one, other), zeros, sides)
        if excluded.any():
            shares = _raked(np.where(excluded, 0.0, np.maximum(shares, 0.0)), margins[one], margins[other])
        pairs.append(Pair((one, other), shares, sqrt(variance) / records, excluded))
    return Evidence(shape, groupings, margins, tuple(pairs))


def _margin(axis: int, size: int, records: float, measurements: Sequence[Measurement]) -> Floats:
    """Return the shares of the values of an attribute; equal ones if no table contains it."""
    weighted, precision = np.full(size, 0.0), 0.0
    for each in measurements:
        if axis in each.axes:
            kept = each.axes.index(axis)
            others = tuple(place for place in range(len(each.axes)) if place != kept)
            variance = max(each.variance, LEAST_VARIANCE) * (each.noisy.size // size)
            weighted += each.noisy.sum(axis=others) / variance
            precision += 1 / variance
    return on_simplex(weighted / precision / records) if precision else np.full(size, 1 / size)


def on_simplex(values: Floats) -> Floats:
    """Return the nearest shares: non-negative numbers that sum to 1."""
    descending = np.sort(values)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, len(values) + 1)
    last = int(np.flatnonzero(descending > excess)[-1])
    shares = np.maximum(values - excess[last], 0.0)
    return shares / shares.sum()


def _most_groups(shape: tuple[int, ...]) -> int:
    """Return the largest number of groups of one attribute with which all attributes stay within the limit."""
    most = MOST_GROUPS
    while most > 2 and sum(min(size, most) for size in shape) > MOST_IN_ALL:
        most -= 1
    return most


def _grouping(margin: Floats, most: int) -> Grouping:
    """Leave the most frequent values by themselves, and cut the others into stretches of about equal shares."""
    size = len(margin)
    if size <= most:
        return Grouping(np.arange(size), np.ones(size, np.int64), np.ones(size))
    alone = np.argsort(-margin, kind="stable")[: most // 2]
    rest = np.setdiff1d(np.arange(size), alone)
    # Half of the weight is even: otherwise all values that never occur would be one group.
    weight = margin[rest] / max(margin[rest].sum(), 1e-300) + 1 / len(rest)
    stretches = most - len(alone)
    group = np.empty(size, np.int64)
    group[alone] = np.arange(len(alone))
    group[rest] = len(alone) + np.minimum(np.cumsum(weight) / weight.sum() * stretches, stretches - 1).astype(np.int64)
    _, of_values, sizes = np.unique(group, return_inverse=True, return_counts=True)
    shares = np.bincount(of_values, margin)[of_values]
    within = np.where(shares > 0, margin / np.where(shares > 0, shares, 1.0), 1 / sizes[of_values])
    return Grouping(of_values.astype(np.int64), sizes.astype(np.int64), within)


def _mean(axes: Axes, tables: Sequence[Measurement], sides: tuple[Grouping, Grouping]) -> tuple[Floats, float]:
    """Return the mean of tables that contain a pair, weighted by precision, and its variance in one cell of values."""
    weighted, precision = np.zeros((sides[0].many, sides[1].many)), 0.0
    for each in tables:
        others = tuple(place for place, axis in enumerate(each.axes) if axis not in axes)
        variance = max(each.variance, LEAST_VARIANCE) * prod(each.noisy.shape[place] for place in others)
        counts = each.noisy.sum(axis=others).astype(np.float64)
        weighted += sides[1].summed(sides[0].summed(counts, 0), 1) / variance
        precision += 1 / variance
    return weighted / precision, 1 / precision


def _shrunk(shares: Floats, independent: Floats, deviation: float, sides: tuple[Grouping, Grouping]) -> Floats:
    """Return independence plus the shrunk residual from it.

    The noise in a cell of groups adds up that of its values, so cells are divided by the roots of the groups' sizes
    before, which makes it the same everywhere, and multiplied after.
    """
    rows, columns = (np.sqrt(side.sizes) for side in sides)
    residual = (shares - independent) / rows[:, None] / columns
    residual -= np.outer(rows, rows @ residual) / (rows @ rows)
    residual -= np.outer(residual @ columns, columns) / (columns @ columns)
    left, singular, right = np.linalg.svd(residual, full_matrices=False)
    shrunk = (left * shrunk_values(singular, deviation, residual.shape)) @ right
    return independent + shrunk * rows[:, None] * columns


def shrunk_values(singular: Floats, deviation: float, shape: tuple[int, ...]) -> Floats:
    """Shrink singular values of a matrix whose rows and columns sum to 0, with noise of this deviation in each cell."""
    short, long = min(shape) - 1, max(shape) - 1
    ratio, unit = short / max(long, 1), deviation * sqrt(max(long, 1))
    # In units of the noise; what is much larger than it stays as it is, even where powers of it would overflow.
    scaled = np.clip(singular / max(unit, 1e-300), 1.0, 1e50)
    square = scaled * scaled - ratio - 1
    factor = np.sqrt(np.maximum(square * square - 4 * ratio, 0.0)) / (scaled * scaled)
    return np.where(scaled > 1 + sqrt(ratio), singular * factor, 0.0)


def _raked(shares: Floats, rows: Floats, columns: Floats) -> Floats:
    """Scale rows and columns in turn until they sum to the margins, as far as impossible cells let them."""
    for _ in range(RAKING):
        for axis, margin in ((1, rows[:, None]), (0, columns[None, :])):
            sums = shares.sum(axis=axis, keepdims=True)
            shares = shares * np.divide(margin, sums, out=np.ones_like(sums), where=sums > 0)
    return shares


def _excluded(axes: tuple[int, int], zeros: Sequence[Zeros], sides: tuple[Grouping, Grouping]) -> NDArray[np.bool_]:
    """Say which cells of groups hold impossible combinations only."""
    found = np.zeros((sides[0].many, sides[1].many), dtype=bool)
    for each in zeros:
        if each.axes == axes:
            possible = sides[1].summed(sides[0].summed((~each.impossible).astype(np.float64), 0), 1)
            found |= possible == 0
    return found
