"""Distance-threshold secrets: values at most theta apart are secret pairs.

Every step must land on declared values, so ``ceil(distance / theta)`` is only a lower bound: with scale 3 and theta 4
a move of 12 takes 4 steps, not 3. Turning back never helps, so a step along several attributes is a choice of how
many positions to advance along each, and the question becomes: pack the advances into as few steps as possible.

- one attribute: advance as far as theta allows, again and again;
- whole numbers whose units divide one another (all equal, in particular): a closed form, proved below;
- whole numbers in general: an integer program over the maximal steps (cutting stock);
- bins: a search over the furthest positions reachable. If that search grows too large, the count of a greedy walk is
  used: it is never too small, so every promise made from it still holds.

A secret pair may spend a distance of at most theta on moves along the attributes. The largest total cost of such a move
bounds the privacy loss of a strategy whose rows change with the positions.

Along each attribute the runs of all groups tile the positions, so the pieces of a class are cells of a grid. Merged
into rectangles they are few (for disjoint boxes in a plane: one each, and about three times as many for what lies
outside), and the distance between two rectangles is the sum of the gaps along the attributes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, islice, pairwise
from math import gcd, inf, lcm
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Attribute, Binned, Cell, Domain, Subset, quoted
from blowfish_privacy.errors import PolicyError, brief, brief_name
from blowfish_privacy.graphs.class_pairs import ClassPairs, Pieces, everything, keys_of
from blowfish_privacy.graphs.graph import (
    Edge,
    FrozenMapping,
    Hops,
    Rows,
    Rule,
    SecretGraph,
    Secrets,
    Steepest,
    Words,
    along_axis,
    check_declared,
    edge_along,
    inside_windows,
    shifted,
    steepest_of,
)
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import Number, plain, positive, show
from blowfish_privacy.support.file_forms import Above0, Form, Positive, Wanted


def within(attribute: Attribute, distance: Fraction) -> Iterator[tuple[int, int]]:
    """Yield every position with the last position that is at most ``distance`` above it."""
    if not isinstance(attribute, Binned):
        _, reach = widest(attribute, distance)
        yield from ((first, min(first + reach, attribute.size - 1)) for first in range(attribute.size))
        return
    last = 0
    for first in range(attribute.size):
        last = max(last, first)
        while last + 1 < attribute.size and attribute.gap(first, last + 1) <= distance:
            last += 1
        yield first, last


def widest(attribute: Attribute, distance: Fraction) -> tuple[int, int]:
    """Return two positions at most ``distance`` apart, with as many positions as possible between them."""
    if not isinstance(attribute, Binned):
        return 0, min(int(distance / attribute.gap(0, 1)), attribute.size - 1)
    return max(within(attribute, distance), key=lambda pair: pair[1] - pair[0])


_MOST_STATES = 2_000
_MOST_PATTERNS = 5_000


@dataclass(frozen=True)
class Stride:
    """A move along one attribute: ``length`` positions of equal ``unit`` cost, or across bins with these bounds."""

    length: int
    unit: Fraction | None
    bounds: tuple[Fraction, ...] | None

    def cost(self, start: int, end: int) -> Fraction:
        """Return the distance between two positions of the move."""
        if self.unit is not None:
            return self.unit * (end - start)
        if self.bounds is None or start == end:
            return Fraction(0)
        return self.bounds[end] - self.bounds[start + 1]

    def furthest(self, start: int, budget: Fraction) -> int:
        """Return the furthest position within a budget."""
        if self.unit is not None:
            return min(self.length, start + int(budget / self.unit))
        end = start
        while end < self.length and self.cost(start, end + 1) <= budget:
            end += 1
        return end


def fewest_steps(theta: Fraction, strides: Sequence[Stride]) -> int | float:
    """Return the smallest number of steps that make all the moves together."""
    units = [stride.unit for stride in strides if stride.unit is not None]
    if any(unit > theta for unit in units):
        return inf
    if not strides:
        return 0
    if len(strides) == 1:
        return _walk(theta, strides)
    if len(units) == len(strides):
        # In whole multiples of a common unit the question is about integers only.
        common = lcm(*(unit.denominator for unit in units), theta.denominator)
        return _pack(
            int(theta * common),
            [(int(unit * common), s.length) for unit, s in zip(units, strides, strict=True)],
        )
    steps = _search(theta, strides)
    return _walk(theta, strides) if steps is None else steps


def _walk(theta: Fraction, strides: Sequence[Stride]) -> int:
    """Advance greedily, the first attribute first; exact for one attribute, never too few steps for more."""
    positions = [0] * len(strides)
    steps = 0
    while left := [axis for axis, stride in enumerate(strides) if positions[axis] < stride.length]:
        budget = theta
        ends = list(positions)
        for axis in left:
            ends[axis] = strides[axis].furthest(positions[axis], budget)
            budget -= strides[axis].cost(positions[axis], ends[axis])
        moved = [axis for axis in left if ends[axis] > positions[axis]]
        # Along whole numbers the same step can be repeated.
        again = min((strides[axis].length - positions[axis]) // (ends[axis] - positions[axis]) for axis in moved)
        again = again if all(strides[axis].unit is not None for axis in left) else 1
        positions = [start + again * (end - start) for start, end in zip(positions, ends, strict=True)]
        steps += again
    return steps


def _pack(capacity: int, items: Sequence[tuple[int, int]]) -> int:
    """Pack ``count`` items of each ``size`` into as few steps of a capacity as possible.

    Where sizes divide one another, put the largest in first. When a step is opened for an item of size s, every
    earlier step is filled to the last multiple of s that fits, so the largest of the bounds below is attained.
    """
    items = sorted(items, reverse=True)
    sizes = [size for size, _ in items]
    if all(large % small == 0 for large, small in pairwise(sizes)):
        total = most = 0
        for size, count in items:
            total += size * count
            most = max(most, -(-total // (capacity // size * size)))
        return most
    return _cutting_stock(capacity, items)


def _cutting_stock(capacity: int, items: Sequence[tuple[int, int]]) -> int:
    patterns = list(_maximal_patterns(capacity, items))
    greedy = _walk(Fraction(capacity), [Stride(count, Fraction(size), None) for size, count in items])
    if len(patterns) > _MOST_PATTERNS:
        return greedy
    from scipy.optimize import Bounds, LinearConstraint, milp

    needed: Any = np.array([count for _, count in items])
    solved = milp(
        np.ones(len(patterns)),
        constraints=LinearConstraint(np.array(patterns).T, lb=needed),
        integrality=np.ones(len(patterns)),
        bounds=Bounds(0, np.inf),
        options={"mip_rel_gap": 0.0},
    )
    if solved.status != 0:
        return greedy
    # The solver works in floating point: accept a packing only if an exact count confirms it.
    times = [round(value) for value in solved.x]
    held = [sum(n * pattern[kind] for n, pattern in zip(times, patterns, strict=True)) for kind in range(len(items))]
    return sum(times) if all(have >= need for have, (_, need) in zip(held, items, strict=True)) else greedy


def _maximal_patterns(capacity: int, items: Sequence[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    """Yield the steps to which nothing can be added, stopping soon after there are too many."""
    (size, count), rest = items[0], items[1:]
    if not rest:
        yield (min(count, capacity // size),)
        return
    produced = 0
    for taken in range(min(count, capacity // size), -1, -1):
        for tail in _maximal_patterns(capacity - taken * size, rest):
            yield (taken, *tail)
            produced += 1
            if produced > _MOST_PATTERNS:
                return


def _search(theta: Fraction, strides: Sequence[Stride]) -> int | None:
    """Keep, after each step, the reachable positions that no other is ahead of in every attribute."""
    goal = tuple(stride.length for stride in strides)
    frontier = {(0,) * len(strides)}
    steps = visited = 0
    while goal not in frontier:
        ahead = (reached for positions in frontier for reached in _advances(theta, strides, positions))
        reached = set(islice(ahead, _MOST_STATES + 1))
        visited += len(reached)
        if visited > _MOST_STATES:
            return None
        frontier = set[tuple[int, ...]]()
        for candidate in sorted(reached, reverse=True):
            if not any(all(a >= b for a, b in zip(other, candidate, strict=True)) for other in frontier):
                frontier.add(candidate)
        steps += 1
    return steps


def _advances(theta: Fraction, strides: Sequence[Stride], positions: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    stride, start = strides[0], positions[0]
    if len(strides) == 1:
        yield (stride.furthest(start, theta),)
        return
    for end in range(stride.furthest(start, theta), start - 1, -1):
        for tail in _advances(theta - stride.cost(start, end), strides[1:], positions[1:]):
            yield (end, *tail)


_MOST_MOVES = 4_096


@dataclass(frozen=True)
class CostedAxis:
    """An attribute along which an edge can move."""

    cost: Fraction
    """The cost of one position."""
    distance: Fraction
    """How much of theta one position uses up; for bins, at least this much, and the first is free."""
    most: int
    """The largest number of positions that an edge moves along the attribute."""
    binned: bool


def furthest(axes: Sequence[CostedAxis], theta: Fraction) -> Fraction:
    """Bound the largest total cost of a move of at most theta; exact for whole numbers of equal weight."""
    spaced = not any(axis.binned for axis in axes)
    if spaced and len({axis.distance for axis in axes}) == 1:
        # All positions use up the same distance, so those of the largest cost come first.
        left, total = int(theta / axes[0].distance), Fraction(0)
        for axis in sorted(axes, key=lambda axis: axis.cost, reverse=True):
            taken = min(left, axis.most)
            total, left = total + taken * axis.cost, left - taken
        return total
    if spaced and len(axes) == 2 and axes[0].most <= _MOST_MOVES:
        # Every move along one attribute is combined with the longest that theta still allows along the other.
        first, second = axes
        rests = ((move, int((theta - first.distance * move) / second.distance)) for move in range(first.most + 1))
        return max(first.cost * move + second.cost * min(rest, second.most) for move, rest in rests)
    # Fractions of positions are allowed; neighbouring bins have distance 0.
    free = sum((axis.cost for axis in axes if axis.binned), Fraction(0))
    return free + theta * max((axis.cost / axis.distance for axis in axes), default=Fraction(0))


_CHUNK = 1_000_000
_MOST_PAIRS = 200_000_000
_LARGEST = 2**60


@dataclass(frozen=True, eq=False)
class _Axis:
    """The runs along one attribute; distances are whole multiples of a unit shared by all attributes."""

    starts: Integers
    stops: Integers
    left: Integers
    """Where the first position of each run begins: two positions p < q are left(q) - right(p) apart."""
    right: Integers
    """Where the last position of each run ends."""
    inner_left: Integers
    """Where the second position of each run begins."""
    inner_right: Integers
    """Where the second-last position of each run ends."""
    step: int
    """The gap between neighbouring positions."""


@dataclass(frozen=True, eq=False)
class _Rectangles:
    low: Integers
    """The first run along each attribute."""
    high: Integers
    """The run after the last one."""
    label: Integers


def near(domain: Domain, theta: Fraction, weights: Sequence[Fraction], pieces: Pieces) -> ClassPairs | None:
    """Find the classes within theta of each other; None if the numbers are too large or there are too many pairs."""
    denominators, extents = [theta.denominator], list[Fraction]()
    for attribute, weight in zip(domain.attributes, weights, strict=True):
        binned = isinstance(attribute, Binned)
        marks = attribute.bounds if binned else (attribute.gap(0, 1),)
        denominators += [(weight * mark).denominator for mark in marks]
        extents.append(weight * (max(map(abs, marks)) + 1 if binned else attribute.size * marks[0]))
    unit = lcm(*denominators)
    if max(extents) * unit > _LARGEST:
        return None
    axes: list[_Axis] = []
    numbers: list[Integers] = []
    for attribute, weight, groups in zip(domain.attributes, weights, pieces.groups, strict=True):
        runs = sorted((start, stop, number) for number, group in enumerate(groups) for start, stop in group.runs)
        starts, stops, of_runs = np.array(runs, dtype=np.int64).T
        axes.append(_axis(attribute, weight * unit, starts, stops))
        numbers.append(of_runs)
    return _compare(axes, _merged(pieces.labels[np.ix_(*numbers)]), int(theta * unit), pieces.classes)


def _axis(attribute: Attribute, weight: Fraction, starts: Integers, stops: Integers) -> _Axis:
    if isinstance(attribute, Binned):
        bounds = np.array([int(bound * weight) for bound in attribute.bounds], dtype=np.int64)
        return _Axis(starts, stops, bounds[starts], bounds[stops], bounds[starts + 1], bounds[stops - 1], 0)
    step = int(weight * attribute.gap(0, 1))
    left, right = starts * step, (stops - 1) * step
    return _Axis(starts, stops, left, right, left + step, right - step, step)


def _merged(labels: Integers) -> _Rectangles:
    """Merge cells of the same class along the last attribute, then equal strips along the others."""
    flat = labels.reshape(-1)
    width = labels.shape[-1]
    fresh = np.ones(len(flat), dtype=bool)
    fresh[1:] = flat[1:] != flat[:-1]
    fresh[::width] = True
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(flat)) - 1
    low = np.stack(np.unravel_index(first, labels.shape), axis=1).astype(np.int64)
    high = np.stack(np.unravel_index(last, labels.shape), axis=1).astype(np.int64) + 1
    merged = _Rectangles(low, high, flat[first])
    for axis in reversed(range(labels.ndim - 1)):
        merged = _merged_along(merged, axis)
    return merged


def _merged_along(rectangles: _Rectangles, axis: int) -> _Rectangles:
    others = [other for other in range(rectangles.low.shape[1]) if other != axis]
    sides = np.column_stack([rectangles.label, rectangles.low[:, others], rectangles.high[:, others]])
    order = np.lexsort([rectangles.low[:, axis], *sides.T])
    sides, low, high = sides[order], rectangles.low[order], rectangles.high[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (sides[1:] != sides[:-1]).any(axis=1) | (low[1:, axis] != high[:-1, axis])
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(order)) - 1
    return _Rectangles(low[first], high[last], sides[first, 0])


def _compare(axes: Sequence[_Axis], rectangles: _Rectangles, theta: int, classes: int) -> ClassPairs | None:
    order = np.argsort(axes[0].left[rectangles.low[:, 0]], kind="stable")
    low, high, label = rectangles.low[order], rectangles.high[order], rectangles.label[order]
    lefts = axes[0].left[low[:, 0]]
    reach = np.searchsorted(lefts, axes[0].right[high[:, 0] - 1] + theta, side="right")
    counts = reach - np.arange(len(order)) - 1
    if int(counts.sum()) > _MOST_PAIRS:
        return None
    pairs: list[Integers] = []
    ends = np.zeros(classes, dtype=bool)
    touched: list[Integers] = []
    for one, two in _candidates(counts):
        differ = label[one] != label[two]
        one, two = one[differ], two[differ]
        distance = np.zeros(len(one), dtype=np.int64)
        for a, axis in enumerate(axes):
            left, right = axis.left[low[:, a]], axis.right[high[:, a] - 1]
            distance += np.maximum(np.maximum(left[two] - right[one], left[one] - right[two]), 0)
        close = distance <= theta
        one, two, distance = one[close], two[close], distance[close]
        pairs.append(np.unique(label[one] * classes + label[two]))
        for side, other in ((one, two), (two, one)):
            several, points = _touched(axes, low, high, side, other, theta - distance)
            ends[label[side[several]]] = True
            touched.append(np.unique(np.column_stack([label[side], points])[~several], axis=0))
    points = np.unique(np.concatenate(touched), axis=0) if touched else np.zeros((0, 1), dtype=np.int64)
    ends |= np.bincount(points[:, 0], minlength=classes) >= 2
    keys = np.unique(np.concatenate(pairs)) if pairs else np.zeros(0, dtype=np.int64)
    return ClassPairs(keys_of(keys // classes, keys % classes, classes), ends)


def _candidates(counts: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Yield pairs of a rectangle and one of the next ``counts`` ones, in chunks."""
    totals = np.cumsum(counts)
    start = 0
    while start < len(counts):
        before = int(totals[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(totals, before + _CHUNK, side="right")))
        chunk = counts[start:stop]
        one = np.repeat(np.arange(start, stop), chunk)
        offset = np.arange(len(one)) - np.repeat(np.cumsum(chunk) - chunk, chunk)
        yield one, one + 1 + offset
        start = stop


def _touched(
    axes: Sequence[_Axis], low: Integers, high: Integers, side: Integers, other: Integers, slack: Integers
) -> tuple[npt.NDArray[np.bool_], Integers]:
    """Say whether at least two values of one rectangle are within theta of the other; if not, which one is."""
    several = np.zeros(len(side), dtype=bool)
    points = np.zeros((len(side), len(axes)), dtype=np.int64)
    for a, axis in enumerate(axes):
        lo, hi, lo2, hi2 = low[side, a], high[side, a] - 1, low[other, a], high[other, a] - 1
        start, stop, start2, stop2 = axis.starts[lo], axis.stops[hi], axis.starts[lo2], axis.stops[hi2]
        before, after = stop <= start2, start >= stop2
        common = np.minimum(stop, stop2) - np.maximum(start, start2)
        # The extra cost of the second-closest position.
        more = np.where(common >= 2, 0, axis.step)
        more = np.where(before, axis.right[hi] - axis.inner_right[hi], more)
        more = np.where(after, axis.inner_left[lo] - axis.left[lo], more)
        several |= (stop - start >= 2) & (more <= slack)
        points[:, a] = np.where(before, stop - 1, np.maximum(start, start2))
    return several, points


_MOST_FREE = 10
"""Of more attributes that may move, the sets that may move together are not listed."""


@dataclass(frozen=True)
class ThresholdGraph(SecretGraph):
    """Pairs with weighted L1 distance at most theta."""

    domain: Domain
    theta: Fraction
    weights: tuple[Fraction, ...]
    always_homogeneous = True

    @cached_property
    def one_at_a_time(self) -> bool:
        shortest = sorted(self._shortest[axis] for axis in self._free)
        return sum(shortest[:2]) > self.theta or len(shortest) < 2

    def adjacent(self, x: Cell, y: Cell) -> bool:
        axes = zip(self.domain.attributes, self.weights, x, y, strict=True)
        return x != y and sum(weight * attribute.gap(a, b) for attribute, weight, a, b in axes) <= self.theta

    def hops(self, x: Cell, y: Cell) -> Hops:
        axes = zip(self.domain.attributes, self.weights, x, y, strict=True)
        return fewest_steps(self.theta, [_stride(attribute, w, a, b) for attribute, w, a, b in axes if a != b])

    @cached_property
    def _shortest(self) -> tuple[Fraction, ...]:
        """The distance between the first two values of each attribute; 0 if there are not two."""
        axes = zip(self.domain.attributes, self.domain.shape, self.weights, strict=True)
        return tuple(weight * attribute.gap(0, 1) if size > 1 else Fraction(0) for attribute, size, weight in axes)

    @cached_property
    def _free(self) -> tuple[int, ...]:
        """The attributes along which a secret pair moves."""
        steps = zip(self.domain.shape, self._shortest, strict=True)
        return tuple(axis for axis, (size, step) in enumerate(steps) if size > 1 and step <= self.theta)

    def component(self, x: Cell) -> Hashable:
        return tuple(position for axis, position in enumerate(x) if axis not in self._free)

    @property
    def has_edges(self) -> bool:
        return bool(self._free)

    @property
    def connected(self) -> bool:
        return len(self._free) == sum(size > 1 for size in self.domain.shape)

    def project(self, names: Sequence[str]) -> ThresholdGraph:
        return ThresholdGraph(
            self.domain.project(names), self.theta, tuple(self.weights[self.domain.axis(n)] for n in names)
        )

    def widest_edge(self, name: str) -> Edge | None:
        axis = self.domain.axis(name)
        if axis not in self._free:
            return None
        return edge_along(self.domain, name, *widest(self.domain[name], self.theta / self.weights[axis]))

    def broadest(self) -> tuple[tuple[Edge, ...], bool]:
        if sum(self._shortest[axis] for axis in self._free) > self.theta and len(self._free) > _MOST_FREE:
            return super().broadest()
        together: list[set[int]] = []
        for many in range(len(self._free), 0, -1):
            for axes in combinations(self._free, many):
                close = sum(self._shortest[axis] for axis in axes) <= self.theta
                if close and not any(larger.issuperset(axes) for larger in together):
                    together.append({*axes})
        x = tuple(0 for _ in self.weights)
        return tuple((x, tuple(int(axis in axes) for axis in range(len(x)))) for axes in together), True

    def joins(self, name: str, first: Subset, second: Subset) -> tuple[int, int] | None:
        axis = self.domain.axis(name)
        attribute, weight = self.domain[name], self.weights[axis]
        for pair in _closest(first, second):
            if weight * attribute.gap(*pair) <= self.theta:
                return pair
        return None

    def largest_move(self, name: str) -> int:
        return self._moves[self.domain.axis(name)]

    @cached_property
    def _moves(self) -> tuple[int, ...]:
        return tuple(super(ThresholdGraph, self).largest_move(name) for name in self.domain.names)

    def longest_move(self, costs: Sequence[Fraction | int]) -> Fraction:
        alone = super().longest_move(costs)
        if self.one_at_a_time:
            return alone
        axes: list[CostedAxis] = []
        for attribute, weight, move, cost in zip(self.domain.attributes, self.weights, self._moves, costs, strict=True):
            if move and cost:
                binned = isinstance(attribute, Binned)
                least = min(high - low for low, high in pairwise(attribute.bounds)) if binned else attribute.gap(0, 1)
                axes.append(CostedAxis(Fraction(cost), weight * least, move, binned))
        return min(alone, furthest(axes, self.theta))

    def covers(self, other: SecretGraph) -> bool:
        """Compare the weights in units of theta.

        If weight / theta is at most the other's for each attribute, then so is distance / theta, which is at most 1 on
        an edge of the other graph.
        """
        if super().covers(other) or not isinstance(other, ThresholdGraph):
            return super().covers(other)
        pairs = zip(self.weights, other.weights, strict=True)
        return all(new / self.theta <= old / other.theta for new, old in pairs)

    def steps_along(self, other: SecretGraph) -> Hops | None:
        """Count the steps along the other graph's widest edge, or from end to end.

        Steps between whole numbers depend on the distance only and grow with it, so the widest edge is the worst. The
        furthest bin within reach grows with the bin one starts from, so no walk takes longer than from end to end.
        """
        (attribute,) = self.domain.attributes
        widest = other.widest_edge(self.domain.names[0]) if attribute.gap(0, 1) else None
        return self.hops(*(widest or ((0,), (attribute.size - 1,))))

    def edges(self) -> Iterator[Edge]:
        listed = super().edges()
        if len(self.domain.names) > 1:
            return listed
        windows = within(self.domain.attributes[0], self.theta / self.weights[0])
        return (((first,), (other,)) for first, last in windows for other in range(first + 1, last + 1))

    def steepest(self, rows: Rows) -> Steepest | None:
        if len(self.weights) == 1:
            (attribute,), (weight,) = self.domain.attributes, self.weights
            ends = [last for _, last in within(attribute, self.theta / weight)]
            return inside_windows(rows, np.array(ends, dtype=np.intp))
        if self.one_at_a_time:
            alone = [self.project([name]) for name in self.domain.names]
            return steepest_of(along_axis(rows, axis, graph.steepest) for axis, graph in enumerate(alone))
        if any(isinstance(attribute, Binned) for attribute in self.domain.attributes):
            return None

        def near_enough(offset: tuple[int, ...]) -> bool:
            return sum(unit * abs(step) for unit, step in zip(self._shortest, offset, strict=True)) <= self.theta

        return shifted(rows, self._moves, near_enough)

    def class_pairs(self, pieces: Pieces) -> ClassPairs:
        return near(self.domain, self.theta, self.weights, pieces) or everything(pieces)

    def _canonical(self) -> Any:
        if not self.has_edges:
            return "public"
        axes = [*zip(self.domain.names, self.domain.attributes, self.weights, strict=True)]
        sizes = self.domain.shape
        if sum(w * a.gap(0, size - 1) for (_, a, w), size in zip(axes, sizes, strict=True)) <= self.theta:
            return "full"
        if self.one_at_a_time and len(self.domain.names) > 1:
            return {"per_attribute": {name: self.project([name]).canonical() for name in self.domain.names}}
        theta = self.theta
        if not any(isinstance(attribute, Binned) for _, attribute, _ in axes):
            # Distances are multiples of the greatest common divisor of the weighted steps.
            steps = [weight * attribute.gap(0, 1) for _, attribute, weight in axes]
            denominator = lcm(*(step.denominator for step in steps))
            common = Fraction(gcd(*(int(step * denominator) for step in steps)), denominator)
            theta = theta // common * common
        elif len(self.domain.names) == 1:
            # All thresholds from the largest distance within reach up to the next distance are equivalent.
            (attribute,), (weight,) = self.domain.attributes, self.weights
            theta = weight * max(attribute.gap(first, last) for first, last in within(attribute, theta / weight))
        return {"threshold": {name: str(theta / weight) for name, _, weight in axes}}

    def _words(self) -> Words:
        protected: list[Rule] = []
        unprotected: list[str] = []
        for axis, (name, attribute) in enumerate(zip(self.domain.names, self.domain.attributes, strict=True)):
            edge = self.widest_edge(name)
            if edge is None and attribute.size > 1:
                unprotected.append(
                    f"{quoted(name)}: not protected at all: its values are further apart than the threshold allows."
                )
            elif edge is not None and edge[1][axis] - edge[0][axis] == attribute.size - 1:
                protected.append(Rule(f"{quoted(name)}: every two values are a secret pair"))
            elif edge is not None:
                reach = attribute.distance(self.theta / self.weights[axis])
                protected.append(
                    Rule(
                        f"{quoted(name)}: values at most {reach} apart are secret pairs",
                        " and ".join(attribute.say(end[axis]) for end in edge),
                        "; values further apart take several steps",
                    )
                )
        added = "A change of several attributes at once counts with the sum of their distances, each in its unit."
        return Words(tuple(protected), tuple(unprotected), (added,) if len(protected) > 1 else ())


def _closest(first: Subset, second: Subset) -> Iterator[tuple[int, int]]:
    """Yield pairs of positions, one from each set, that include a closest pair."""
    if first == second:
        yield from ((start, start + 1) for start, stop in first.runs if stop - start > 1)
        yield from ((before[1] - 1, after[0]) for before, after in pairwise(first.runs))
        return
    runs = sorted([*((run, 0) for run in first.runs), *((run, 1) for run in second.runs)])
    for (before, one), (after, other) in pairwise(runs):
        if one != other:
            low, high = before[1] - 1, after[0]
            yield (low, high) if one == 0 else (high, low)


def _stride(attribute: Attribute, weight: Fraction, start: int, end: int) -> Stride:
    low, high = min(start, end), max(start, end)
    if not isinstance(attribute, Binned):
        return Stride(high - low, weight * attribute.gap(0, 1), None)
    crossed = [weight * bound for bound in attribute.bounds[low : high + 2]]
    # The order of the bins matters when several attributes move at once, so a move down is mirrored, not reversed.
    return Stride(high - low, None, tuple(crossed if start < end else [-bound for bound in reversed(crossed)]))


class DistanceThreshold(Secrets):
    """Nobody may tell apart two values that are at most ``theta`` apart, in the units of the values.

    With several attributes the distance is the sum of the distances along each, weighted by ``scale``:
    ``DistanceThreshold(10, scale={"lat": 1, "lon": 1})``. Bins are as far apart as their closest members.
    """

    keyword = "threshold"
    file_form = Form(
        {"threshold": Positive},
        {
            "scale": Annotated[
                dict[str, Above0] | None, Wanted("a number for each attribute", "write scale: {lat: 1, lon: 2}.")
            ]
        },
        example="{threshold: 5}",
    )

    def __init__(self, theta: Number, *, scale: Mapping[str, Number] | None = None) -> None:
        self.theta: Fraction = positive(theta, "the threshold theta", error=PolicyError)
        if scale is not None and not isinstance(scale, Mapping):
            raise PolicyError(
                f"scale must map attributes to numbers, got {brief(scale)}.", hint="scale={'lat': 1, 'lon': 1}."
            )
        strange = next((name for name in scale or () if not isinstance(name, str)), None)
        if strange is not None:
            raise PolicyError(f"scale names attributes by text, got {brief_name(strange)}.")
        self.scale: Mapping[str, Fraction] | None = None
        if scale is not None:
            weights = ((name, positive(w, f"the scale of {name}", error=PolicyError)) for name, w in scale.items())
            self.scale = FrozenMapping(dict(weights))

    def __repr__(self) -> str:
        scale = "" if self.scale is None else f", scale={ {name: show(w) for name, w in self.scale.items()} }"
        return f"DistanceThreshold({show(self.theta)}{scale})"

    def on(self, domain: Domain) -> ThresholdGraph:
        for name, attribute in zip(domain.names, domain.attributes, strict=True):
            if not attribute.ordered:
                raise PolicyError(
                    f"{name} is categorical, and categories have no distance.",
                    hint="use per_attribute, with full, partition or edges for the categories.",
                )
        check_declared(self.scale or (), domain, "scale names")
        lacking = [] if self.scale is None else [name for name in domain if name not in self.scale]
        if lacking:
            raise PolicyError(
                f"scale has no entry for {', '.join(lacking)}.",
                hint="give every attribute a scale, or none.",
            )
        weights = (Fraction(1) if self.scale is None else self.scale[name] for name in domain)
        return ThresholdGraph(domain, self.theta, tuple(weights))

    def to_file(self) -> dict[str, Any]:
        written: dict[str, Any] = {"threshold": plain(self.theta)}
        if self.scale is not None:
            written["scale"] = {name: plain(weight) for name, weight in self.scale.items()}
        return written

    @classmethod
    def from_file(cls, body: Any, domain: Domain) -> DistanceThreshold:
        return cls(body["threshold"], scale=body.get("scale"))
