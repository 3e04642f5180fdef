"""Values exchanged between records of one component, so that all pairs of attributes come closer to the mixture.

Given the component, the attributes of a mixture are independent: which of its records has which value of an attribute
is arbitrary, and two records may exchange theirs. They do if that lowers the sum, over cells of all pairs, of the
squared difference from the expected count, divided by one more than it. No single attribute changes. That removes a
part of the error which comes from drawing records, and from nothing else.

Cells where few records are expected do not count. Most of them are empty and should be; one that is not would look
wrong, and rare combinations would disappear from the records.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.mechanisms.synthetic.mixture.mixture_records import Parts
from blowfish_privacy.support.arrays import Integers

Reals = NDArray[np.float32]

SWEEPS = 3
MOST_WORK = 50_000_000
"""Records times squared attributes up to which values are exchanged: some seconds."""
FEWEST_EXPECTED = 3.0
"""Cells count from here on."""
LARGEST_BATCH = 2048
"""Exchanges that are judged at once, none knowing of the others; few if there are few records."""


@dataclass(frozen=True, eq=False)
class _Cells:
    """All pairs as blocks of one matrix: how far counts are above what is expected, and how much a cell matters."""

    above: Reals
    matters: Reals


def exchanged(
    drawn: Integers, components: Integers, parts: Parts, given: list[int], generator: np.random.Generator
) -> Integers:
    """Let records of the same component exchange values, except in given columns."""
    many, attributes = drawn.shape
    free = [axis for axis in range(attributes) if axis not in given]
    if many * attributes**2 > MOST_WORK or attributes < 2:
        return drawn
    sizes = [grouping.many for grouping in parts.groupings]
    starts = np.cumsum(sizes) - sizes
    places = np.stack(
        [grouping.of_values[drawn[:, axis]] + starts[axis] for axis, grouping in enumerate(parts.groupings)], axis=1
    )
    cells = _counted(places, parts, sum(sizes))
    batch = min(max(many // 32, 64), LARGEST_BATCH)
    for _ in range(SWEEPS):
        for axis in free:
            others = np.array([other for other in range(attributes) if other != axis])
            one, other = _partners(places[:, axis], components, generator)
            for first in range(0, len(one), batch):
                some = slice(first, first + batch)
                better = _exchange(places, cells, axis, others, (one[some], other[some]))
                left, right = one[some][better], other[some][better]
                drawn[left, axis], drawn[right, axis] = drawn[right, axis], drawn[left, axis]
    return drawn


def _counted(places: Integers, parts: Parts, values: int) -> _Cells:
    """Count all pairs of the records, and subtract what is expected."""
    shares: Reals = np.concatenate(parts.shares, axis=1).astype(np.float32)
    times: Reals = (parts.weights * len(places)).astype(np.float32)
    expected: Reals = np.matmul(shares.T, shares * times[:, None])
    above: Reals = np.negative(expected)
    for one, other in combinations(range(places.shape[1]), 2):
        cells, counts = np.unique(places[:, one] * values + places[:, other], return_counts=True)
        above.ravel()[cells] += counts
        above.ravel()[cells % values * values + cells // values] += counts
    matters: Reals = np.where(expected > FEWEST_EXPECTED, 1 / (expected + 1), 0.0).astype(np.float32)
    return _Cells(above, matters)


def _partners(values: Integers, components: Integers, generator: np.random.Generator) -> tuple[Integers, Integers]:
    """Pair records of the same component at random, and leave out pairs that have the same value."""
    order = generator.permutation(len(values))
    order = order[np.argsort(components[order], kind="stable")]
    one, other = order[0 : len(order) - 1 : 2], order[1::2]
    useful = np.flatnonzero((components[one] == components[other]) & (values[one] != values[other]))
    shuffled = generator.permutation(useful)
    return one[shuffled], other[shuffled]


def _exchange(
    places: Integers, cells: _Cells, axis: int, others: Integers, partners: tuple[Integers, Integers]
) -> NDArray[np.bool_]:
    """Exchange the values of one attribute where that lowers the error; say where."""
    one, other = partners
    own = places[one, axis][:, None], places[other, axis][:, None]
    beside = places[one][:, others], places[other][:, others]
    changes = [(own[1], beside[0], 1), (own[0], beside[0], -1), (own[0], beside[1], 1), (own[1], beside[1], -1)]
    worse = sum(cells.matters[row, column] * (2 * sign * cells.above[row, column] + 1) for row, column, sign in changes)
    better = np.where(beside[0] != beside[1], worse, 0.0).sum(axis=1) < 0
    for row, column, sign in changes:
        rows, columns = np.broadcast_to(row[better], column[better].shape), column[better]
        np.add.at(cells.above, (rows, columns), np.float32(sign))
        np.add.at(cells.above, (columns, rows), np.float32(sign))
    places[one[better], axis], places[other[better], axis] = own[1][better, 0], own[0][better, 0]
    return better
