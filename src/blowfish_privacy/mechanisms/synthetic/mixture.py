"""Mixtures of products: groups of records in each of which the attributes are independent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.mechanisms.synthetic.mixture_fit import Grouping, Reals, fitted, gathered
from blowfish_privacy.mechanisms.synthetic.model import Axes, Measurement, Zeros, given_columns
from blowfish_privacy.support.arrays import Floats, Integers

MOST_MADE_UP = 50.0
"""A component makes up for others at most by getting a value so many times as often as it expects."""
MOST_CELLS = 4_000_000
"""Chances of components for single records that are held at once."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Components with weights, in each of which the attributes are independent.

    ``shares`` holds for each attribute a row for each component and a column for each group of values.
    """

    shape: tuple[int, ...]
    total: float
    weights: Floats
    shares: tuple[Floats, ...]
    groupings: tuple[Grouping, ...]
    zeros: tuple[Zeros, ...] = ()

    def row(self, axis: int, component: int) -> Floats:
        """Return the shares of all values of an attribute in one component."""
        grouping = self.groupings[axis]
        return self.shares[axis][component, grouping.of_values] * grouping.within

    def value(self, axis: int, components: Integers, generator: np.random.Generator) -> Integers:
        """Draw a value of an attribute for each of some components, independently."""
        found = np.empty(len(components), np.int64)
        for component in np.unique(components):
            members = np.flatnonzero(components == component)
            cumulative = np.cumsum(self.row(axis, component))
            points = generator.random(len(members)) * cumulative[-1]
            found[members] = np.minimum(np.searchsorted(cumulative, points, side="right"), self.shape[axis] - 1)
        return found

    def table(self, axes: Axes) -> Floats:
        """Return the expected counts of a table of distinct attributes in any order; they sum to the total.

        Impossible combinations of the table's own attributes have count 0, at the expense of all other cells equally.
        """
        groups = self._grouped(axes)
        for place, axis in enumerate(axes):
            grouping = self.groupings[axis]
            if grouping.many < len(grouping.of_values):
                along = [1] * len(axes)
                along[place] = self.shape[axis]
                groups = np.take(groups, grouping.of_values, axis=place) * grouping.within.reshape(along)
        possible = self._without_impossible(axes, groups)
        return possible * (self.total / possible.sum())

    def _grouped(self, axes: Axes) -> Floats:
        """Return the shares of all combinations of groups, some components at a time."""
        sizes = [self.groupings[axis].many for axis in axes]
        cells = prod(sizes[:-1])
        found, step = np.zeros((cells, sizes[-1]) if axes else (1, 1)), max(1, MOST_CELLS // max(cells, 1))
        for first in range(0, len(self.weights), step):
            some = slice(first, first + step)
            products = self.weights[some, None]
            for axis in axes[:-1]:
                products = (products[:, :, None] * self.shares[axis][some, None, :]).reshape(len(products), -1)
            found += products.T @ (self.shares[axes[-1]][some] if axes else np.ones((len(products), 1)))
        return found.reshape(sizes)

    def _without_impossible(self, axes: Axes, shares: Floats) -> Floats:
        """Set impossible combinations to 0, unless nothing would be left."""
        found = shares
        for each in self.zeros:
            if set(each.axes) <= set(axes):
                places = [axes.index(axis) for axis in each.axes]
                ascending = np.transpose(each.impossible, np.argsort(places))
                sizes = [self.shape[axis] if axis in each.axes else 1 for axis in axes]
                found = np.where(ascending.reshape(sizes), 0.0, found)
        return found if found.sum() > 0 else shares

    def records(self, many: int, generator: np.random.Generator, kept: Integers | None = None) -> Integers:
        """Draw records, one row of positions for each; columns of ``kept`` without -1 are taken as they are."""
        drawn, components = mixture_records(self, many, generator, kept)
        closer = exchanged(drawn, components, self, given_columns(kept), generator)
        return only_possible(closer, self, generator, kept)


# Records drawn from a mixture of products, with less error than independent draws have.
#
# Components get as many records as they weigh, rounded, and so does every value of an attribute. Inside a component
# each value occurs as often as expected, rounded up or down by chance, where what other components have rounded is made
# up for: so single attributes are met nearly exactly. Which record of a component gets which value is random.


def mixture_records(
    mixture: Mixture, many: int, generator: np.random.Generator, kept: Integers | None = None
) -> tuple[Integers, Integers]:
    """Draw records, and return the component of each with them.

    Columns of ``kept`` without -1 are given, and decide which components the records may belong to.
    """
    given = given_columns(kept)
    drawn = np.empty((many, len(mixture.shape)), np.int64, order="F")
    if kept is None or not given:
        sizes = _rounded(mixture.weights, many, generator)
        components = generator.permutation(np.repeat(np.arange(len(sizes)), sizes))
    else:
        components = likely_components(mixture, kept, given, generator)
        sizes = np.bincount(components, minlength=len(mixture.weights))
    for axis in range(len(mixture.shape)):
        if kept is not None and axis in given:
            drawn[:, axis] = kept[:, axis]
        else:
            # Components are whole numbers, random ones lie in [0, 1): one sort shuffles the records of each component.
            order = np.argsort(components + generator.random(many))
            drawn[order, axis] = _shared_out(mixture, axis, sizes, generator)
    return drawn, components


def _rounded(weights: Floats, many: int, generator: np.random.Generator) -> Integers:
    """Share out records among components: each as many as it weighs, rounded up or down."""
    ends = np.floor(np.cumsum(weights) / weights.sum() * many + generator.random()).astype(np.int64)
    ends[-1] = many
    return np.diff(np.minimum(ends, many), prepend=0)


def _shared_out(mixture: Mixture, axis: int, sizes: Integers, generator: np.random.Generator) -> Integers:
    """List the values of an attribute for the records of all components, one component behind the other.

    What earlier components have lacked of a value later ones make up for, each in proportion to its own share of it: a
    value goes nowhere where it is not at home. Components come in random order, another one for each attribute.
    """
    found = np.empty(int(sizes.sum()), np.int64)
    if not len(found):
        return found
    ends, values = np.cumsum(sizes), np.arange(mixture.shape[axis])
    order = generator.permutation(np.flatnonzero(sizes)).tolist()
    expected = np.zeros(len(values))
    for component in order:
        expected += mixture.row(axis, component) * sizes[component]
    left = whole_counts(expected, len(found), generator).astype(np.float64)
    for component in order:
        size = int(sizes[component])
        row = mixture.row(axis, component) * size
        ratio = np.clip(left / np.maximum(expected, 1e-9), 0.0, MOST_MADE_UP)
        times = whole_counts(row * ratio if (row * ratio).any() else row, size, generator)
        expected, left = expected - row, left - times
        found[ends[component] - size : ends[component]] = np.repeat(values, times)
    return found


def whole_counts(expected: Floats, size: int, generator: np.random.Generator) -> Integers:
    """Round counts in proportion to what is expected, such that they add up to a size.

    Every count is rounded up with the chance of its remainder, at points of equal distance from a random start, so
    that values with little chance have it in few records too.
    """
    wanted = expected * (size / expected.sum())
    down = np.floor(wanted)
    order = generator.permutation(len(wanted))
    ends = np.cumsum((wanted - down)[order])
    # The remainders add up to what is missing but for rounding: with their sum set to it, so do the points.
    ends *= (size - down.sum()) / max(ends[-1], 1e-9)
    ends[ends > size - down.sum() - 1e-9] = size - down.sum()
    up = np.diff(np.floor(ends + generator.random()), prepend=0.0)
    times = down.astype(np.int64)
    times[order] += up.astype(np.int64)
    return times


def likely_components(
    mixture: Mixture, kept: Integers, given: Sequence[int], generator: np.random.Generator
) -> Integers:
    """Draw a component for each record by its chances, given the columns that are known.

    Records that are equal in these follow each other, and take the components at points of equal distance.
    """
    distinct, inverse = np.unique(kept[:, given], axis=0, return_inverse=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    points = (np.arange(len(kept)) * ((5**0.5 - 1) / 2) + generator.random()) % 1.0
    found = np.empty(len(kept), np.int64)
    for first, cumulative in _chances(mixture, distinct, given):
        members = order[slice(*np.searchsorted(inverse.ravel()[order], [first, first + len(cumulative)]))]
        lines = cumulative + np.arange(len(cumulative))[:, None]
        of_members = inverse.ravel()[members] - first
        places = np.searchsorted(lines.ravel(), of_members + points[members], side="right")
        found[members] = np.minimum(places - of_members * len(mixture.weights), len(mixture.weights) - 1)
    return found


def _chances(mixture: Mixture, distinct: Integers, given: Sequence[int]) -> Iterator[tuple[int, Floats]]:
    """Yield the cumulative chances of all components for some of the distinct rows, with the number of the first."""
    logarithms = [np.log(np.maximum(mixture.shares[axis].T, 1e-30)) for axis in given]
    step = max(1, MOST_CELLS // len(mixture.weights))
    for first in range(0, len(distinct), step):
        some = distinct[first : first + step]
        score = np.tile(np.log(np.maximum(mixture.weights, 1e-30)), (len(some), 1))
        for column, (axis, logarithm) in enumerate(zip(given, logarithms, strict=True)):
            score += logarithm[mixture.groupings[axis].of_values[some[:, column]]]
        chances = np.exp(score - score.max(axis=1, keepdims=True))
        cumulative = np.cumsum(chances, axis=1)
        yield first, cumulative / cumulative[:, -1:]


# Values exchanged between records of one component, so that all pairs of attributes come closer to the mixture.
#
# Given the component, the attributes of a mixture are independent: which of its records has which value of an attribute
# is arbitrary, and two records may exchange theirs. They do if that lowers the sum, over cells of all pairs, of the
# squared difference from the expected count, divided by one more than it. No single attribute changes. That removes a
# part of the error which comes from drawing records, and from nothing else.
#
# Cells where few records are expected do not count. Most of them are empty and should be; one that is not would look
# wrong, and rare combinations would disappear from the records.

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
    drawn: Integers, components: Integers, mixture: Mixture, given: Sequence[int], generator: np.random.Generator
) -> Integers:
    """Let records of the same component exchange values, except in given columns."""
    many, attributes = drawn.shape
    free = [axis for axis in range(attributes) if axis not in given]
    if many * attributes**2 > MOST_WORK or attributes < 2:
        return drawn
    sizes = [grouping.many for grouping in mixture.groupings]
    starts = np.cumsum(sizes) - sizes
    places = np.stack(
        [grouping.of_values[drawn[:, axis]] + starts[axis] for axis, grouping in enumerate(mixture.groupings)], axis=1
    )
    cells = _counted(places, mixture, sum(sizes))
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


def _counted(places: Integers, mixture: Mixture, values: int) -> _Cells:
    """Count all pairs of the records, and subtract what is expected."""
    shares: Reals = np.concatenate(mixture.shares, axis=1).astype(np.float32)
    times: Reals = (mixture.weights * len(places)).astype(np.float32)
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


# Records without impossible combinations: those that have one are drawn again.

ROUNDS = 60
_MOST_CHANGES = 100


def impossible_records(records: Integers, zeros: Sequence[Zeros]) -> NDArray[np.bool_]:
    """Say which records have an impossible combination."""
    found = np.zeros(len(records), dtype=bool)
    for each in zeros:
        found |= each.impossible[tuple(records[:, axis] for axis in each.axes)]
    return found


def only_possible(drawn: Integers, mixture: Mixture, generator: np.random.Generator, kept: Integers | None) -> Integers:
    """Draw records with impossible combinations again from the mixture, which is to draw from what is possible of it.

    What is still impossible after many rounds takes the values of a possible record, one that is equal in the given
    columns; where there is none, single values are changed. Where the given columns exclude each other, it stays.
    """
    given = given_columns(kept)
    for _ in range(ROUNDS):
        wrong = np.flatnonzero(impossible_records(drawn, mixture.zeros))
        if not len(wrong):
            return drawn
        if kept is not None and given:
            components = likely_components(mixture, kept[wrong], given, generator)
        else:
            components = generator.choice(len(mixture.weights), len(wrong), p=mixture.weights)
        for axis in range(len(mixture.shape)):
            if axis not in given:
                drawn[wrong, axis] = mixture.value(axis, components, generator)
    copied = _copied(drawn, impossible_records(drawn, mixture.zeros), given, generator)
    for place in np.flatnonzero(impossible_records(copied, mixture.zeros)):
        copied[place] = mended(copied[place], mixture.shape, mixture.zeros, given, generator)
    return copied


def _copied(
    drawn: Integers, wrong: NDArray[np.bool_], given: Sequence[int], generator: np.random.Generator
) -> Integers:
    """Replace impossible records by possible ones that are equal in the given columns."""
    keys = np.unique(drawn[:, given], axis=0, return_inverse=True)[1].ravel() if given else np.zeros(len(drawn), int)
    right = np.flatnonzero(~wrong)
    right = right[np.argsort(keys[right], kind="stable")]
    for place in np.flatnonzero(wrong):
        first, last = np.searchsorted(keys[right], [keys[place], keys[place] + 1])
        if first < last:
            drawn[place] = drawn[right[generator.integers(first, last)]]
    return drawn


def mended(
    record: Integers, shape: Sequence[int], zeros: Sequence[Zeros], given: Sequence[int], generator: np.random.Generator
) -> Integers:
    """Change one value after the other that is not given, each to one with fewest impossible combinations."""
    for _ in range(_MOST_CHANGES):
        wrong = [each for each in zeros if each.impossible[tuple(record[axis] for axis in each.axes)]]
        free = sorted({axis for each in wrong for axis in each.axes if axis not in given})
        if not free:
            return record
        tried = [_changed(record, axis, shape[axis]) for axis in free]
        counts = [sum(each.impossible[tuple(some[:, axis] for axis in each.axes)] for each in zeros) for some in tried]
        least = min(int(np.min(count)) for count in counts)
        best = np.concatenate([some[count == least] for some, count in zip(tried, counts, strict=True)])
        record = best[generator.integers(len(best))]
    return record


def _changed(record: Integers, axis: int, size: int) -> Integers:
    """List the record with every value along an axis."""
    listed = np.repeat(record[None, :], size, axis=0)
    listed[:, axis] = np.arange(size)
    return listed


def fit_mixture(
    shape: tuple[int, ...], total: float, measurements: Sequence[Measurement], zeros: Sequence[Zeros] = ()
) -> Mixture:
    """Fit a mixture to measured tables: all that these contain about single attributes and pairs."""
    from threadpoolctl import threadpool_limits  # it looks through all libraries that are loaded, so only when needed

    # These matrices are small: on a busy machine several threads wait for each other far longer than they work. With
    # one, sums do not depend on the number of cores either.
    with threadpool_limits(limits=1):
        evidence = gathered(shape, total, measurements, zeros)
        found = fitted(evidence, total)
    ends = np.cumsum([len(margin) for margin in evidence.margins])
    shares = np.split(found.shares.astype(np.float64), ends[:-1], axis=1)
    weights = found.weights.astype(np.float64)
    return Mixture(
        shape,
        total,
        weights / weights.sum(),
        tuple(part / part.sum(axis=1, keepdims=True) for part in shares),
        evidence.groupings,
        tuple(zeros),
    )
