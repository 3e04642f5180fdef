"""What measured tables contain about single attributes and pairs of them, cleared of most of their noise.

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

from blowfish_privacy.mechanisms.constraints import nearest_in_parts
from blowfish_privacy.mechanisms.synthetic.model import Axes, Measurement, Zeros, raked
from blowfish_privacy.mechanisms.synthetic.tree import Step, spanning, tree_records
from blowfish_privacy.privacy.public_totals import records_total
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.progress import task

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
class PairTable:
    """The shares of all combinations of groups of two attributes, and the deviation of the noise in one cell."""

    axes: tuple[int, int]
    shares: Floats
    deviation: float
    excluded: NDArray[np.bool_]
    """Which cells hold impossible combinations only."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of each attribute, by groups of its values, and of pairs."""

    groupings: tuple[Grouping, ...]
    margins: tuple[Floats, ...]
    pairs: tuple[PairTable, ...]


def gathered(
    shape: tuple[int, ...], total: float, measurements: Sequence[Measurement], zeros: Sequence[Zeros] = ()
) -> Evidence:
    """Put together what tables of any number of attributes contain about single ones and pairs."""
    records = max(total, 1.0)
    fine = [_margin(axis, size, records, measurements) for axis, size in enumerate(shape)]
    most = MOST_GROUPS
    while most > 2 and sum(min(size, most) for size in shape) > MOST_IN_ALL:
        most -= 1
    groupings = tuple(_grouping(margin, most) for margin in fine)
    margins = tuple(grouping.summed(margin, 0) for grouping, margin in zip(groupings, fine, strict=True))
    wanted = sorted({pair for each in measurements for pair in combinations(each.axes, 2)})
    containing: dict[Axes, list[Measurement]] = {pair: [] for pair in wanted}
    for each in measurements:
        for pair in combinations(each.axes, 2):
            containing[pair].append(each)
    pairs: list[PairTable] = []
    for one, other in wanted:
        sides = (groupings[one], groupings[other])
        noisy, variance = _mean((one, other), containing[one, other], sides)
        independent = np.outer(margins[one], margins[other])
        shares = _shrunk(noisy / records, independent, sqrt(variance) / records, sides)
        excluded = _excluded((one, other), zeros, sides)
        if excluded.any():
            sums = [(1, margins[one][:, None]), (0, margins[other][None, :])]
            shares = raked(np.where(excluded, 0.0, np.maximum(shares, 0.0)), sums, RAKING)
        pairs.append(PairTable((one, other), shares, sqrt(variance) / records, excluded))
    return Evidence(groupings, margins, tuple(pairs))


def _margin(axis: int, size: int, records: float, measurements: Sequence[Measurement]) -> Floats:
    """Return the shares of the values of an attribute; equal ones if no table contains it."""
    tables = [each for each in measurements if axis in each.axes]
    if not tables:
        return np.full(size, 1 / size)
    mean, _ = _mean((axis,), tables, ())
    # The nearest numbers that are not negative and sum to 1.
    shares = nearest_in_parts(mean / records, records_total(size, 1))
    return shares / shares.sum()


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


def _mean(axes: Axes, tables: Sequence[Measurement], sides: Sequence[Grouping]) -> tuple[Floats, float]:
    """Return the mean of tables that contain some axes, weighted by precision, and its variance in one cell of values.

    ``sides`` are the groups along each axis; without them, each value is its own group.
    """
    weighted, precision = np.zeros(()), 0.0
    for each in tables:
        others = tuple(place for place, axis in enumerate(each.axes) if axis not in axes)
        variance = max(each.variance, LEAST_VARIANCE) * prod(each.noisy.shape[place] for place in others)
        counts = each.noisy.sum(axis=others).astype(np.float64)
        for at, side in enumerate(sides):
            counts = side.summed(counts, at)
        weighted = weighted + counts / variance
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
    return independent + cleared(residual, deviation, residual.shape) * rows[:, None] * columns


def cleared(residual: Floats, deviation: float, shape: tuple[int, ...]) -> Floats:
    """Shrink the singular values of a residual to what is not noise; see :func:`shrunk_values`."""
    left, singular, right = np.linalg.svd(residual, full_matrices=False)
    return (left * shrunk_values(singular, deviation, shape)) @ right


def shrunk_values(singular: Floats, deviation: float, shape: tuple[int, ...]) -> Floats:
    """Shrink singular values of a matrix whose rows and columns sum to 0, with noise of this deviation in each cell."""
    short, long = min(shape) - 1, max(shape) - 1
    ratio, unit = short / max(long, 1), deviation * sqrt(max(long, 1))
    # In units of the noise; what is much larger than it stays as it is, even where powers of it would overflow.
    scaled = np.clip(singular / max(unit, 1e-300), 1.0, 1e50)
    square = scaled * scaled - ratio - 1
    factor = np.sqrt(np.maximum(square * square - 4 * ratio, 0.0)) / (scaled * scaled)
    return np.where(scaled > 1 + sqrt(ratio), singular * factor, 0.0)


def _excluded(axes: tuple[int, int], zeros: Sequence[Zeros], sides: tuple[Grouping, Grouping]) -> NDArray[np.bool_]:
    """Say which cells of groups hold impossible combinations only."""
    found = np.zeros((sides[0].many, sides[1].many), dtype=bool)
    for each in zeros:
        if each.axes == axes:
            possible = sides[1].summed(sides[0].summed((~each.impossible).astype(np.float64), 0), 1)
            found |= possible == 0
    return found


# Where the fit of a mixture starts: at records of the tree of attributes that depend on each other most.
#
# Mixtures with the same pairs differ in larger tables, and the fit ends near where it starts. Records of a tree hold
# what its pairs imply for larger tables and nothing else; the tree is the one with the most mutual information
# [chow1968].

Reals = NDArray[np.float32]

LEAST_INFORMATION = 1e-6
"""Attributes with less mutual information are taken as independent."""


def tree_start(evidence: Evidence, many: int, generator: np.random.Generator) -> Reals:
    """Return the logarithms of the shares of components: each half-way between the margins and a record of a tree."""
    records = tree_records(tree_steps(evidence), many, generator)
    sizes = [len(margin) for margin in evidence.margins]
    places = records + (np.cumsum(sizes, dtype=np.int64) - np.array(sizes, dtype=np.int64))
    shares = np.tile(np.concatenate(evidence.margins), (many, 1))
    shares[np.arange(many)[:, None], places] += 1.0
    return np.log(shares / 2 + 1e-7).astype(np.float32)


def tree_steps(evidence: Evidence) -> list[Step]:
    """Cut the tree into one step for each attribute, given the attribute that it hangs on."""
    near: dict[int, list[PairTable]] = {axis: [] for axis in range(len(evidence.margins))}
    of_axes: dict[Axes, PairTable] = {pair.axes: pair for pair in evidence.pairs}
    amounts = {axes: information(evidence, pair) for axes, pair in of_axes.items()}
    dependent = {axes: amount for axes, amount in amounts.items() if amount > LEAST_INFORMATION}
    for axes in spanning(dependent, len(evidence.margins)):
        for axis in axes:
            near[axis].append(of_axes[axes])
    steps: list[Step] = []
    seen: set[int] = set()
    for root in near:
        waiting = [] if root in seen else [Step(root, (), evidence.margins[root])]
        while waiting:
            step = waiting.pop()
            steps.append(step)
            seen.add(step.axis)
            for pair in near[step.axis]:
                one, other = pair.axes
                child, table = (other, pair.shares) if one == step.axis else (one, pair.shares.T)
                if child not in seen:
                    waiting.append(Step(child, (step.axis,), np.maximum(table, 0.0)))
    return steps


def information(evidence: Evidence, pair: PairTable) -> float:
    """Return the mutual information of two attributes, in natural units."""
    shares = np.maximum(pair.shares, 0.0)
    shares = shares / max(float(shares.sum()), 1e-300)
    independent = np.outer(*(evidence.margins[axis] for axis in pair.axes))
    return float((shares * np.log(np.maximum(shares, 1e-12) / np.maximum(independent, 1e-12))).sum())


# A mixture of products, fitted to all pairs of attributes at once.
#
# A record belongs to one of m components, and given the component its attributes are independent. With the weights w of
# the components and their shares S (a row for each, the values of all attributes side by side) the tables of all pairs
# are the blocks of one Gram matrix S' diag(w) S. So the squared error of all pairs together, and its gradient, cost two
# products of matrices, however many pairs there are, and no tree is needed.
#
# Many mixtures have the same pairs. Of these the one is wanted that says least beyond them: sum_z w_z KL(S_z | margins)
# bounds from above the information that the attributes of the mixture have about each other. It is added with a factor
# in proportion to the noise, so that what noise alone explains fades into independence.
#
# The minimum is sought by Adam [kingma2015], a fixed number of steps from a fixed start: the same measurements give the
# same mixture.

STEPS = 600
RATE = 0.2
"""How far a logarithm moves in the first step."""
PENALTY = 15.0
"""The factor of the information, in deviations of a cell times values; settled on data of several kinds."""
SAMPLED = 2.0
"""Records by which a cell is off even without noise, since those counted are a sample themselves."""
WORK = 2e7
FEWEST, MOST = 250, 1000
"""Components: so many that a step costs the same for up to 280 values of all attributes together."""
IMPOSSIBLE = 30.0
"""How many times as much a cell counts that holds impossible combinations only."""
HEAVIEST = 2.0
"""Pairs that are known exactly count at most this many times as much as the average pair."""
_LEAST = np.float32(1e-12)


@dataclass(frozen=True, eq=False)
class MixtureComponents:
    """The weights of the components, and the shares of all values in each, attributes side by side."""

    weights: Reals
    shares: Reals


@dataclass(frozen=True, eq=False)
class _Goal:
    """Pairs as blocks of one matrix, how much each cell counts, single attributes, and penalties of each value."""

    pairs: Reals
    counts: Reals
    margins: Reals
    singles: float
    penalties: Reals
    starts: NDArray[np.intp]
    attributes: NDArray[np.intp]


def fitted(evidence: Evidence, records: float) -> MixtureComponents:
    """Fit weights and shares to what is known of pairs and single attributes."""
    goal = _goal(evidence, max(records, 1.0))
    values = len(goal.margins)
    many = int(np.clip(WORK / values**2, FEWEST, MOST))
    # Where the descent starts is no secret: always the same, so that equal numbers give equal models.
    shares = _Descent(tree_start(evidence, many, np.random.default_rng(0)))
    weights = _Descent(np.zeros(many, np.float32))
    with task("Fitting a mixture to pairs of attributes") as progress:
        for step in range(STEPS):
            found = _components(goal, weights.place, shares.place)
            along_weights, along_shares = _slopes(goal, found)
            rate = RATE * (1 - step / STEPS) ** 0.5
            shares.move(along_shares, rate)
            weights.move(along_weights, rate)
            if progress is not None:
                progress((step + 1) / STEPS)
    return _components(goal, weights.place, shares.place)


def _goal(evidence: Evidence, records: float) -> _Goal:
    """Lay out what is known as one matrix."""
    sizes = np.array([len(margin) for margin in evidence.margins])
    ends = np.cumsum(sizes)
    starts, values, attributes = ends - sizes, int(ends[-1]), len(sizes)
    pairs, counts = (np.zeros((values, values), np.float32) for _ in range(2))
    deviations = np.array([pair.deviation for pair in evidence.pairs]) + SAMPLED / records
    precisions = np.minimum(deviations.mean() / deviations, HEAVIEST) if len(deviations) else deviations
    noise, tables = np.zeros(attributes), np.zeros(attributes)
    for pair, deviation, precision in zip(evidence.pairs, deviations, precisions, strict=True):
        rows, columns = (slice(starts[axis], ends[axis]) for axis in pair.axes)
        pairs[rows, columns], pairs[columns, rows] = pair.shares, pair.shares.T
        counts[rows, columns] = precision * np.where(pair.excluded, IMPOSSIBLE, 1.0)
        counts[columns, rows] = counts[rows, columns].T
        noise[list(pair.axes)] += deviation
        tables[list(pair.axes)] += 1
    # Cells are smaller the more values there are, and so is what the same penalty may take from them.
    penalties = PENALTY * noise / np.maximum(tables, 1) / np.sqrt(sizes * sizes.mean())
    of_values = np.repeat(np.arange(attributes), sizes)
    margins = np.concatenate(evidence.margins).astype(np.float32)
    return _Goal(
        pairs, counts, margins, float(max(attributes, 2)), penalties[of_values].astype(np.float32), starts, of_values
    )


def _components(goal: _Goal, weights: Reals, shares: Reals) -> MixtureComponents:
    """Turn logarithms into weights and shares that sum to 1."""
    largest = np.maximum.reduceat(shares, goal.starts, axis=1)
    powers = np.exp(shares - largest[:, goal.attributes])
    powers /= np.add.reduceat(powers, goal.starts, axis=1)[:, goal.attributes]
    parts = np.exp(weights - weights.max())
    return MixtureComponents(parts / parts.sum(), powers)


def _slopes(goal: _Goal, found: MixtureComponents) -> tuple[Reals, Reals]:
    """Return the gradient along the logarithms of weights and shares, times the number of components."""
    weights, shares = found.weights, found.shares
    weighted = weights[:, None] * shares
    error = shares.T @ weighted
    error -= goal.pairs
    error *= goal.counts
    of_pairs = shares @ error
    of_singles = np.float32(2 * goal.singles) * (weighted.sum(axis=0) - goal.margins)
    information = goal.penalties * np.log(np.maximum(shares, _LEAST) / np.maximum(goal.margins, _LEAST))
    # A component enters the pairs once through its weight and twice through its shares, and each pair is there twice.
    along_weights = ((2 * of_pairs + of_singles + information) * shares).sum(axis=1)
    along_shares = 4 * of_pairs + of_singles + information
    along_shares *= (weights * len(weights))[:, None]
    inner = np.add.reduceat(along_shares * shares, goal.starts, axis=1)
    along_shares -= inner[:, goal.attributes]
    along_shares *= shares
    return weights * len(weights) * (along_weights - weights @ along_weights), along_shares


class _Descent:
    """Where the search for logarithms is, with running means of the slopes and their squares."""

    def __init__(self, place: Reals) -> None:
        self.place = place
        self._mean, self._square = np.zeros_like(place), np.zeros_like(place)
        self._steps = 0

    def move(self, slope: Reals, rate: float) -> None:
        """Take a step downhill; its length depends on how steady the slope is, not on how steep."""
        self._steps += 1
        self._mean *= np.float32(0.9)
        self._mean += np.float32(0.1) * slope
        self._square *= np.float32(0.99)
        self._square += np.float32(0.01) * slope * slope
        size = np.sqrt(self._square / np.float32(1 - 0.99**self._steps)) + _LEAST
        self.place -= np.float32(rate / (1 - 0.9**self._steps)) * self._mean / size
