"""How many steps of length at most theta lead from one value to another.

Every step must land on declared values, so ``ceil(distance / theta)`` is only a lower bound: with scale 3 and theta 4
a move of 12 takes 4 steps, not 3. Turning back never helps, so a step along several attributes is a choice of how
many positions to advance along each, and the question becomes: pack the advances into as few steps as possible.

- one attribute: advance as far as theta allows, again and again;
- whole numbers whose units divide one another (all equal, in particular): a closed form, proved below;
- whole numbers in general: an integer program over the maximal steps (cutting stock);
- bins: a search over the furthest positions reachable. If that search grows too large, the count of a greedy walk is
  used: it is never too small, so every promise made from it still holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, pairwise
from math import inf, lcm
from typing import Any

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
    import numpy as np
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
        frontier = _undominated(reached)
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


def _undominated(candidates: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
    kept: list[tuple[int, ...]] = []
    for candidate in sorted(candidates, reverse=True):
        if not any(all(a >= b for a, b in zip(other, candidate, strict=True)) for other in kept):
            kept.append(candidate)
    return set(kept)
