"""Junction trees: one table for each clique of attributes, fitted to noisy tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log, prod, sqrt
from typing import Any

import numpy as np

from blowfish_privacy.mechanisms.synthetic.model import Axes, Known, Zeros, given_columns
from blowfish_privacy.support.arrays import Floats, Integers

# Junction trees: sets of attributes put together so that a distribution over all of them is never written out.


@dataclass(frozen=True, eq=False)
class JunctionTree:
    """Cliques of attributes, each but the first below one that holds all it shares with those before it."""

    shape: tuple[int, ...]
    cliques: tuple[Axes, ...]
    parents: tuple[int, ...]
    """The clique above each; -1 for the first."""
    separators: tuple[Axes, ...]
    """What each clique shares with the one above it."""

    @classmethod
    def of(cls, shape: Sequence[int], sets: Collection[Axes]) -> JunctionTree:
        """Build a tree in which every set lies in one clique."""
        cliques = cliques_of(shape, sets)
        members = [frozenset(clique) for clique in cliques]
        weights = [log(size) + 1e-9 for size in shape]
        order, parents = [0], [-1]
        nearest = {other: (_weight(members[0] & members[other], weights), 0) for other in range(1, len(cliques))}
        while nearest:
            # A spanning tree of the heaviest separators has the running intersection property.
            chosen = max(nearest, key=lambda each: nearest[each][0])
            parents.append(nearest.pop(chosen)[1])
            order.append(chosen)
            for other, (weight, _) in nearest.items():
                shared = _weight(members[chosen] & members[other], weights)
                if shared > weight:
                    nearest[other] = (shared, len(order) - 1)
        ordered = [cliques[number] for number in order]
        separators = [
            () if above < 0 else tuple(sorted({*clique} & {*ordered[above]}))
            for clique, above in zip(ordered, parents, strict=True)
        ]
        return cls(tuple(shape), tuple(ordered), tuple(parents), tuple(separators))

    @cached_property
    def cells(self) -> int:
        """The number of cells of all cliques."""
        return cells_of(self.shape, self.cliques)

    @cached_property
    def children(self) -> list[list[int]]:
        """The cliques right below each."""
        below: list[list[int]] = [[] for _ in self.cliques]
        for number, above in enumerate(self.parents[1:], 1):
            below[above].append(number)
        return below

    @cached_property
    def _members(self) -> list[frozenset[int]]:
        return [frozenset(clique) for clique in self.cliques]

    def home(self, axes: Collection[int]) -> int | None:
        """Return the smallest clique that holds all of some attributes; None if there is none."""
        wanted = frozenset(axes)
        holding = [number for number, members in enumerate(self._members) if wanted <= members]
        return min(holding, key=lambda number: prod(self.sizes(number)), default=None)

    def sizes(self, number: int) -> tuple[int, ...]:
        """Return the shape of a clique's table."""
        return tuple(self.shape[axis] for axis in self.cliques[number])

    def others(self, number: int, axes: Axes) -> Axes:
        """Return the places of a clique's other attributes."""
        return tuple(place for place, axis in enumerate(self.cliques[number]) if axis not in axes)

    def spread(self, number: int, axes: Axes) -> tuple[int, ...]:
        """Return the shape in which a table of some of a clique's attributes is added to the clique's table."""
        return tuple(self.shape[axis] if axis in axes else 1 for axis in self.cliques[number])


def cells_of(shape: Sequence[int], cliques: Collection[Axes]) -> int:
    """Count the cells of several tables."""
    return sum(prod(shape[axis] for axis in clique) for clique in cliques)


def tree_cells(shape: Sequence[int], sets: Collection[Axes]) -> int:
    """Count the cells of a tree in which every set lies in one clique."""
    return cells_of(shape, cliques_of(shape, sets))


def cliques_of(shape: Sequence[int], sets: Collection[Axes]) -> list[Axes]:
    """Fill in the graph of attributes that share a set, by always leaving out the one that is cheapest to leave out.

    The cliques are those of the graph with the edges filled in: each set lies in one of them.
    """
    weights = [log(size) for size in shape]
    neighbours: list[set[int]] = [set() for _ in shape]
    for axes in sets:
        for axis in axes:
            neighbours[axis].update(axes)
    for axis, near in enumerate(neighbours):
        near.discard(axis)
    costs = {axis: weights[axis] + _weight(near, weights) for axis, near in enumerate(neighbours)}
    found: list[frozenset[int]] = []
    while costs:
        axis = min(costs, key=lambda each: (costs[each], each))
        del costs[axis]
        near = neighbours[axis]
        clique = frozenset((axis, *near))
        if not any(clique <= larger for larger in found):
            found.append(clique)
        for other in near:
            neighbours[other] |= near
            neighbours[other] -= {other, axis}
        for other in near:
            costs[other] = weights[other] + _weight(neighbours[other], weights)
    return [tuple(sorted(clique)) for clique in found]


def _weight(axes: Collection[int], weights: Sequence[float]) -> float:
    return sum(weights[axis] for axis in axes)


def spanning(scores: Mapping[Axes, float], attributes: int) -> list[Axes]:
    """Take the pairs with the highest scores that close no circle."""
    part = list(range(attributes))
    chosen: list[Axes] = []
    for axes in sorted(scores, key=lambda axes: (-scores[axes], axes)):
        one, other = (part[axis] for axis in axes)
        if one != other:
            chosen.append(axes)
            part = [one if each == other else each for each in part]
    return chosen


# Records made from a chain of conditional tables, with far less error than independent draws have.
#
# A model that is a junction tree says for each attribute how its values are shared out, given those of its parents. The
# records with equal parents are a group. A group of n records gets the values at n points of equal distance below the
# curve of cumulative shares, moved together by a random offset: every value comes out as often as expected, rounded up
# or down, and the group is complete. Which record gets which point is a matter of the other attributes: records equal
# in these get points far apart, so that tables across the parts of the tree come close to what is expected as well.
#
# Nothing here is private: a model is made from noisy tables. Every record has exactly the law of the model (the offset
# and the turn that decides who gets the first point are uniform), so the expected number of records in a cell is that
# of the model, in every table; only the spread around it is smaller.

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: the multiples of it, cut off at 2^64, fill the range evenly wherever one stops."""
_MOST_CODE = 2**62
"""Combined positions stay below, so that 64-bit integers hold them."""


@dataclass(frozen=True, eq=False)
class Step:
    """How the values of one attribute are shared out, given those of attributes that come before it."""

    axis: int
    parents: Axes
    table: Floats
    """Expected counts or probabilities, one dimension for each parent in their order, the last one for ``axis``."""


@dataclass(frozen=True, eq=False)
class _Groups:
    """Records with equal parents, ordered so that those of one group follow each other, the similar ones closely."""

    order: Integers
    codes: Integers
    """The cell of the parents, of each group."""
    starts: Integers
    sizes: Integers


def tree_records(
    steps: Sequence[Step], many: int, generator: np.random.Generator, kept: Integers | None = None
) -> Integers:
    """Draw records by one step for each attribute, parents first; one row for each record, one column for each axis.

    Columns of ``kept`` that are not negative are given and stay as they are, row by row. They must come first in the
    steps, since values are not made up backwards. Without them the records come out in random order.
    """
    drawn = np.zeros((many, len(steps)), dtype=np.int64, order="F")
    if many == 0:
        return drawn
    sizes = {step.axis: step.table.shape[-1] for step in steps}
    before: list[int] = []
    for step in steps:
        if kept is not None and (kept[:, step.axis] >= 0).all():
            drawn[:, step.axis] = kept[:, step.axis]
        else:
            groups = _grouped(drawn, step, before, sizes, generator)
            drawn[groups.order, step.axis] = _shared_out(_conditional(step, groups.codes), groups, generator)
        before.append(step.axis)
    return drawn if kept is not None else generator.permutation(drawn, axis=0)


def _grouped(
    drawn: Integers, step: Step, before: Sequence[int], sizes: dict[int, int], generator: np.random.Generator
) -> _Groups:
    """Sort the records by their parents, and inside a group by the other attributes.

    The order of these attributes, of their values and of equal records is drawn anew in every step. In an order that
    comes back, two attributes of the same parents would get their values side by side, and depend on each other.
    """
    codes = np.zeros(len(drawn), dtype=np.int64)
    for parent, size in zip(step.parents, step.table.shape, strict=False):
        codes = codes * size + drawn[:, parent]
    keys, room = codes, _MOST_CODE // step.table[..., 0].size // len(drawn)
    for other in generator.permutation(sorted(set(before) - set(step.parents))):
        if sizes[other] > room:
            break
        keys = keys * sizes[other] + generator.permutation(sizes[other])[drawn[:, other]]
        room //= sizes[other]
    shuffled = generator.permutation(len(drawn))
    order = shuffled[_sorted_places(keys[shuffled])]
    arranged = codes[order]
    starts = np.flatnonzero(np.diff(arranged, prepend=arranged[0] - 1))
    return _Groups(order, arranged[starts], starts, np.diff(starts, append=len(drawn)))


def _conditional(step: Step, codes: Integers) -> Floats:
    """Return a row of shares for each group; a group that the table holds impossible gets shares of its own."""
    table = np.maximum(step.table, 0.0)
    rows = table.reshape(-1, table.shape[-1])[codes]
    without = rows.sum(axis=1) <= 0
    if without.any():
        rows[without] = _from_single_parents(table, codes[without])
    return rows / rows.sum(axis=1, keepdims=True)


def _from_single_parents(table: Floats, codes: Integers) -> Floats:
    """Share out by each parent alone, as if they were independent given the value: what one of them excludes stays out.

    Only where that leaves nothing the attribute's own distribution is taken, and an even one where even that is empty.
    """
    last = table.ndim - 1
    margin = table.sum(axis=tuple(range(last)))
    margin = margin if margin.sum() > 0 else np.ones_like(margin)
    rows = np.tile(margin, (len(codes), 1))
    for parent, position in enumerate(np.unravel_index(codes, table.shape[:-1]) if last else ()):
        alone = table.sum(axis=tuple(axis for axis in range(last) if axis != parent))[position]
        rows *= np.divide(alone, margin, out=np.zeros_like(alone), where=margin > 0)
        # Only the proportions matter; without this, many parents with small counts would come below what floats hold.
        rows /= np.maximum(rows.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    rows[rows.sum(axis=1) <= 0] = margin
    return rows


def _shared_out(shares: Floats, groups: _Groups, generator: np.random.Generator) -> Integers:
    """Give every record of each group a value, by points of equal distance below the group's cumulative shares."""
    of_records, many = np.repeat(np.arange(len(groups.codes)), groups.sizes), len(groups.order)
    within = np.arange(many) - groups.starts[of_records]
    # Offsets of consecutive groups fill [0, 1) evenly too: otherwise sums over many small groups would wander.
    offsets = (np.arange(len(groups.codes)).astype(np.uint64) * _GOLDEN) / 2.0**64 + generator.random()
    points = (within + (offsets % 1.0)[of_records]) / groups.sizes[of_records]
    found = _below(shares, of_records, points)
    turns = generator.integers(0, groups.sizes)
    ranks = _spread_ranks(of_records, within, groups)
    return found[groups.starts[of_records] + (ranks + turns[of_records]) % groups.sizes[of_records]]


def _below(shares: Floats, of_records: Integers, points: Floats) -> Integers:
    """Find for each point, in [0, 1), the value of its group in whose part of the cumulative shares it lies.

    In whole numbers, with all groups one behind the other on a line: a value of share 0 has no length there.
    """
    groups, values = shares.shape
    length = 2 ** (62 - groups.bit_length())
    cumulative = np.cumsum(shares, axis=1)
    cumulative /= cumulative[:, -1:]
    ends = (cumulative * length).astype(np.int64)
    ends += np.arange(groups)[:, None] * length
    places = np.minimum((points * length).astype(np.int64), length - 1)
    places += of_records * length
    return np.searchsorted(ends.ravel(), places, side="right") - of_records * values


def _spread_ranks(of_records: Integers, within: Integers, groups: _Groups) -> Integers:
    """Number the records of each group so that the numbers of any run of neighbours are spread evenly."""
    bits = 62 - len(groups.codes).bit_length() - len(within).bit_length()
    spread = ((within.astype(np.uint64) * _GOLDEN) >> np.uint64(64 - bits)).astype(np.int64)
    ranks = np.empty(len(within), dtype=np.int64)
    ranks[_sorted_places((of_records << bits) | spread)] = within
    return ranks


def _sorted_places(keys: Integers) -> Integers:
    """Return where the keys lie in ascending order, equal ones in their order; in a third of the time of ``argsort``.

    The keys, times their number, must fit in 63 bits.
    """
    return np.sort(keys * len(keys) + np.arange(len(keys))) % len(keys)


# A distribution of records that a junction tree holds: one table for each clique, which agree where they meet.

_TINY = 1e-300
_MOST_PASSED = 2**20
"""Cells that a clique passes up at once."""


@dataclass(frozen=True, eq=False)
class TreeModel:
    """Probabilities of the cells of every clique, and how many records they stand for."""

    tree: JunctionTree
    beliefs: tuple[Floats, ...]
    total: float

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each attribute."""
        return self.tree.shape

    def table(self, axes: Axes) -> Floats:
        """Return the expected counts of any table, one dimension for each axis in the order given."""
        home = self.tree.home(axes)
        if home is None:
            return self.total * self._joined(axes)
        summed = self.beliefs[home].sum(axis=self.tree.others(home, axes))
        left = [axis for axis in self.tree.cliques[home] if axis in axes]
        return self.total * summed.transpose([left.index(axis) for axis in axes])

    @cached_property
    def _conditionals(self) -> list[Floats]:
        """The table of each clique, given what it shares with the one above it."""
        return [
            belief / np.maximum(belief.sum(axis=self.tree.others(number, shared), keepdims=True), _TINY)
            for number, (shared, belief) in enumerate(zip(self.tree.separators, self.beliefs, strict=True))
        ]

    def _joined(self, axes: Axes, fixed: tuple[tuple[int, int], ...] = ()) -> Floats:
        """Sum everything but some attributes out of the tree, from its leaves up; others may have a fixed value.

        What is passed up may be far larger than the table: then it is put together value by value of one attribute.
        """
        messages = [*self._messages(axes, fixed)]
        if len(axes) > 1 and max(prod(self.shape[axis] for axis in left) for *_, left in messages) > _MOST_PASSED:
            widest = max(axes, key=lambda axis: self.shape[axis])
            others = tuple(axis for axis in axes if axis != widest)
            parts = [self._joined(others, (*fixed, (widest, value))) for value in range(self.shape[widest])]
            return np.stack(parts, axis=axes.index(widest))
        passed: dict[int, tuple[Axes, Floats]] = {}
        for number, below, left in messages:
            clique = self.tree.cliques[number]
            table = self._conditionals[number]
            for axis, value in fixed:
                if axis in clique and axis not in self.tree.separators[number]:
                    table = table * (np.arange(self.shape[axis]) == value).reshape(self.tree.spread(number, (axis,)))
            passed[number] = (left, _contracted([(clique, table), *(passed[child] for child in below)], left))
        left, table = passed[0]
        return table.transpose([left.index(axis) for axis in axes])

    def _messages(self, axes: Axes, fixed: Sequence[tuple[int, int]]) -> Iterator[tuple[int, list[int], Axes]]:
        """List the cliques that pass something up: their number, who passes to them, and which attributes they pass."""
        tree, wanted, needed = self.tree, {*axes}, {*axes, *(axis for axis, _ in fixed)}
        passing: dict[int, Axes] = {}
        for number in reversed(range(len(tree.cliques))):
            below = [child for child in tree.children[number] if child in passing]
            seen = {*tree.cliques[number]}.union(*(passing[child] for child in below))
            shared = {*tree.separators[number]}
            # A part below that holds none of the attributes asked for sums to one, whatever is above it.
            if below or seen & needed - shared or number == 0:
                passing[number] = tuple(sorted(seen & (wanted | shared)))
                yield number, below, passing[number]

    def records(self, many: int, generator: np.random.Generator, kept: Integers | None = None) -> Integers:
        """Draw records by controlled rounding; attributes that are kept are given for every record."""
        return tree_records(self.steps(given_columns(kept)), many, generator, kept)

    def steps(self, first: Axes = ()) -> list[Step]:
        """Cut the tree into conditional tables, attribute by attribute, those of ``first`` in front.

        The attributes of ``first`` must lie in one clique.
        """
        tree, start = self.tree, self.tree.home(first) or 0
        order, above = _rooted(tree, start)
        steps: list[Step] = []
        placed: list[int] = []
        for number in order:
            clique = tree.cliques[number]
            shared = () if above[number] < 0 else tuple(sorted({*clique} & {*tree.cliques[above[number]]}))
            new = [axis for axis in clique if axis not in shared]
            for axis in sorted(new, key=lambda axis: (axis not in first, axis)):
                parents = tuple(each for each in clique if each in placed)
                steps.append(Step(axis, parents, self.table((*parents, axis))))
                placed.append(axis)
        return steps


def beliefs_of(tree: JunctionTree, potentials: Sequence[Floats]) -> tuple[float, list[Floats]]:
    """Return the logarithm of the sum of exp(potentials) over all cells, and the probabilities of every clique's cells.

    Messages go up the tree and down again; each is scaled to sum to one.
    """
    logarithm = 0.0
    tables: list[Floats] = []
    for potential in potentials:
        largest = float(potential.max())
        logarithm += largest
        tables.append(np.exp(potential - largest))
    sent: list[Floats] = [np.ones(())] * len(tables)
    for number in range(len(tables) - 1, 0, -1):
        above, shared = tree.parents[number], tree.separators[number]
        message = tables[number].sum(axis=tree.others(number, shared))
        scale = max(float(message.sum()), _TINY)
        logarithm += log(scale)
        sent[number] = message / scale
        tables[above] *= sent[number].reshape(tree.spread(above, shared))
    scale = max(float(tables[0].sum()), _TINY)
    tables[0] /= scale
    for number in range(1, len(tables)):
        above, shared = tree.parents[number], tree.separators[number]
        margin = tables[above].sum(axis=tree.others(above, shared))
        ratio = np.divide(margin, sent[number], out=np.zeros_like(margin), where=sent[number] > 0)
        tables[number] *= ratio.reshape(tree.spread(number, shared))
        tables[number] /= max(float(tables[number].sum()), _TINY)
    return logarithm + log(scale), tables


def _contracted(parts: Sequence[tuple[Axes, Floats]], left: Axes) -> Floats:
    # Axes are numbered anew: numpy has names for at most 52.
    numbers = {axis: number for number, axis in enumerate(sorted({axis for axes, _ in parts for axis in axes}))}
    operands: list[Any] = [each for axes, table in parts for each in (table, [numbers[axis] for axis in axes])]
    left_over = [numbers[axis] for axis in left]
    return np.einsum(*operands, left_over, optimize="greedy" if len(parts) > 1 else False)


def _rooted(tree: JunctionTree, start: int) -> tuple[list[int], dict[int, int]]:
    """Order the cliques from another one down; return the order and the clique above each."""
    order, above_of = [start], {start: -1}
    for number in order:
        for other in (tree.parents[number], *tree.children[number]):
            if other >= 0 and other not in above_of:
                above_of[other] = number
                order.append(other)
    return order, above_of


# Fitting a junction tree to noisy tables.
#
# Among all distributions that come near the tables, the one of largest entropy is taken: it is a product of factors,
# one for each table, exp(nu). The factors minimise the convex function
#
#     n log Z(nu) - nu . y + sum over tables of (ridge / 2) |nu|^2
#
# where y are the noisy counts and the ridge is a share of the noise's standard deviation, so that what is noise is not
# fitted [docs/proofs/synthetic.md]. Its gradient is n p - y + ridge nu: expected counts differ from the noisy ones by
# about as much as the noise does.

_SHARE = 0.3
"""The ridge of a table, as a share of the standard deviation of its noise."""
_LEAST_RIDGE = 0.05
"""The ridge of exact counts, in records."""
_IMPOSSIBLE = -np.inf
"""The logarithm of no probability at all: a finite one would be outweighed where noisy counts say otherwise."""
_MEMORY = 12
_SWEEPS = 10


@dataclass(frozen=True, eq=False)
class TreeFit:
    """A model, and the factors that it is made of, from which the next fit starts."""

    model: TreeModel
    factors: Mapping[Axes, Floats]


def fit_tree(
    shape: Sequence[int],
    total: float,
    known: Mapping[Axes, Known],
    zeros: Sequence[Zeros] = (),
    *,
    start: Mapping[Axes, Floats] | None = None,
    rounds: int = 1000,
    tolerance: float = 1e-12,
) -> TreeFit:
    """Fit a tree that holds all tables known; impossible combinations get no records."""
    tree = JunctionTree.of(shape, [*known, *(each.axes for each in zeros)])
    problem = _Problem(tree, total, list(known.values()), _fixed(tree, zeros))
    from scipy.optimize import minimize

    found = minimize(
        problem.value_and_slope,
        problem.start(start or {}),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": rounds, "maxfun": 2 * rounds, "ftol": tolerance, "maxcor": _MEMORY},
    )
    factors = problem.factors(found.x)
    beliefs = problem.meeting_exact_tables(factors)
    model = TreeModel(tree, tuple(beliefs), total)
    return TreeFit(model, {each.axes: factor for each, factor in zip(problem.tables, factors, strict=True)})


def _fixed(tree: JunctionTree, zeros: Sequence[Zeros]) -> list[Floats]:
    """Return what the logarithms start from: 0, and minus infinity where no record can be."""
    fixed = [np.zeros(tree.sizes(number)) for number in range(len(tree.cliques))]
    for each in zeros:
        for number, clique in enumerate(tree.cliques):
            if {*each.axes} <= {*clique}:
                impossible = each.impossible.reshape(tree.spread(number, each.axes))
                fixed[number][np.broadcast_to(impossible, fixed[number].shape)] = _IMPOSSIBLE
    return fixed


@dataclass(frozen=True, eq=False)
class _Table:
    """One table to be met, and where it lies in the tree."""

    axes: Axes
    counts: Floats
    ridge: float
    home: int
    spread: tuple[int, ...]
    summed: Axes
    scale: Floats
    """One over the root of the curvature in each cell, about: in these units all directions are equal."""


@dataclass(frozen=True, eq=False)
class _Problem:
    """The function to be minimised."""

    tree: JunctionTree
    total: float
    known: Sequence[Known]
    fixed: Sequence[Floats]

    @cached_property
    def tables(self) -> list[_Table]:
        placed: list[_Table] = []
        for known in self.known:
            axes, home = known.axes, self.tree.home(known.axes) or 0
            spread, summed = self.tree.spread(home, axes), self.tree.others(home, axes)
            ridge = max(_SHARE * sqrt(known.variance), _LEAST_RIDGE)
            scale = 1 / np.sqrt(np.maximum(known.counts, 0.0) + ridge)
            placed.append(_Table(axes, known.counts, ridge, home, spread, summed, scale))
        return placed

    def start(self, factors: Mapping[Axes, Floats]) -> Floats:
        """Start from factors of an earlier fit where there are any."""
        parts = [
            factors[each.axes] / each.scale if each.axes in factors else np.zeros_like(each.counts)
            for each in self.tables
        ]
        return np.concatenate([part.reshape(-1) for part in parts])

    def factors(self, point: Floats) -> list[Floats]:
        """Cut a point into one factor for each table, in their own units."""
        ends = np.cumsum([each.counts.size for each in self.tables])[:-1]
        parts = zip(np.split(point, ends), self.tables, strict=True)
        return [part.reshape(each.counts.shape) * each.scale for part, each in parts]

    def potentials(self, factors: Sequence[Floats]) -> list[Floats]:
        """Add up the factors of each clique."""
        potentials = [part.copy() for part in self.fixed]
        for factor, each in zip(factors, self.tables, strict=True):
            potentials[each.home] += factor.reshape(each.spread)
        return potentials

    def meeting_exact_tables(self, factors: Sequence[Floats]) -> list[Floats]:
        """Scale the cells of tables without noise to their counts, one table after the other, until all are met."""
        potentials = self.potentials(factors)
        _, beliefs = beliefs_of(self.tree, potentials)
        exact = [table for table, known in zip(self.tables, self.known, strict=True) if known.variance == 0]
        for _ in range(_SWEEPS if len(exact) > 1 else len(exact)):
            for each in exact:
                expected = self.total * beliefs[each.home].sum(axis=each.summed)
                possible = (expected > 0) & (each.counts > 0)
                if not possible.any():  # what was declared impossible contradicts the data altogether
                    continue
                ratio = np.divide(each.counts, expected, out=np.zeros_like(expected), where=possible)
                logs = np.log(ratio, out=np.full_like(ratio, -np.inf), where=possible)
                potentials[each.home] += logs.reshape(each.spread)
                _, beliefs = beliefs_of(self.tree, potentials)
        return beliefs

    def value_and_slope(self, point: Floats) -> tuple[float, Floats]:
        """Return the function and its gradient."""
        factors = self.factors(point)
        logarithm, beliefs = beliefs_of(self.tree, self.potentials(factors))
        value, slopes = self.total * logarithm, []
        for factor, each in zip(factors, self.tables, strict=True):
            value += each.ridge / 2 * float((factor * factor).sum()) - float((factor * each.counts).sum())
            expected = self.total * beliefs[each.home].sum(axis=each.summed)
            slopes.append(((expected - each.counts + each.ridge * factor) * each.scale).reshape(-1))
        return value, np.concatenate(slopes)
