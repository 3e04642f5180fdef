"""Which classes come within theta of each other, derived from the distances between rectangles.

Along each attribute the runs of all groups tile the positions, so the pieces of a class are cells of a grid. Merged
into rectangles they are few (for disjoint boxes in a plane: one each, and about three times as many for what lies
outside), and the distance between two rectangles is the sum of the gaps along the attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Attribute, Binned, Domain, Subset
from blowfish_privacy.graphs.class_pairs import Pieces
from blowfish_privacy.support.arrays import Integers

Bools: TypeAlias = npt.NDArray[np.bool_]

_CHUNK = 1_000_000
_MOST_PAIRS = 200_000_000
_LARGEST = 2**60


@dataclass(frozen=True, eq=False)
class Near:
    """The pairs of classes within theta of each other, and the classes of which at least two values are involved."""

    first: Integers
    second: Integers
    ends: Bools


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


def near(domain: Domain, theta: Fraction, weights: Sequence[Fraction], pieces: Pieces) -> Near | None:
    """Compare the rectangles of all classes; None if the numbers are too large or there are too many pairs."""
    weighted = [*zip(domain.attributes, weights, strict=True)]
    unit = _unit(theta, weighted)
    cuts = [_runs(groups) for groups in pieces.groups]
    if any(weight * unit * _extent(attribute) > _LARGEST for attribute, weight in weighted):
        return None
    axes = [
        _axis(attribute, weight * unit, starts, stops)
        for (attribute, weight), (starts, stops, _) in zip(weighted, cuts, strict=True)
    ]
    rectangles = _merged(pieces.labels[np.ix_(*(group for _, _, group in cuts))])
    return _compare(axes, rectangles, int(theta * unit), pieces.classes)


def _unit(theta: Fraction, weighted: Sequence[tuple[Attribute, Fraction]]) -> int:
    denominators = [theta.denominator]
    for attribute, weight in weighted:
        bounds = attribute.bounds if isinstance(attribute, Binned) else (attribute.gap(0, 1),)
        denominators += [(weight * bound).denominator for bound in bounds]
    return lcm(*denominators)


def _extent(attribute: Attribute) -> Fraction:
    if isinstance(attribute, Binned):
        return max(abs(bound) for bound in attribute.bounds) + 1
    return attribute.size * attribute.gap(0, 1)


def _runs(groups: Sequence[Subset]) -> tuple[Integers, Integers, Integers]:
    runs = sorted((start, stop, number) for number, group in enumerate(groups) for start, stop in group.runs)
    starts, stops, numbers = np.array(runs, dtype=np.int64).T
    return starts, stops, numbers


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


def _compare(axes: Sequence[_Axis], rectangles: _Rectangles, theta: int, classes: int) -> Near | None:
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
        gaps = [_gap(axis, low[:, a], high[:, a], one, two) for a, axis in enumerate(axes)]
        distance = np.sum(gaps, axis=0)
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
    return Near(keys // classes, keys % classes, ends)


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


def _gap(axis: _Axis, low: Integers, high: Integers, one: Integers, two: Integers) -> Integers:
    before = axis.left[low[two]] - axis.right[high[one] - 1]
    after = axis.left[low[one]] - axis.right[high[two] - 1]
    return np.maximum(np.maximum(before, after), 0)


def _touched(
    axes: Sequence[_Axis], low: Integers, high: Integers, side: Integers, other: Integers, slack: Integers
) -> tuple[Bools, Integers]:
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
