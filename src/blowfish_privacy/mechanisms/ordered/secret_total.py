"""Which levels a smooth hierarchy has where the number of records is secret, chosen from public numbers only.

A record that comes or goes changes a level of weight a by a, one that moves by 2 min(1, theta / g) a; the total is
changed by coming and going alone. What counts is the larger of the two sums, so what moves leave over pays for the
total. The prediction is that of :mod:`~blowfish_privacy.mechanisms.ordered.spacings`, with a noise of its own on every
level and on the total. For few values coarse levels do better than predicted, so that some are compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from math import prod, sqrt
from typing import Any, NamedTuple

from blowfish_privacy.mechanisms.ordered.least_squares import LeastSquares
from blowfish_privacy.mechanisms.ordered.levels import DifferenceLevel, Level, TotalLevel

_MOST_COARSE = 6
_STRETCH = 1.2
_FEW = 150
_USUAL = ((1.0, 1.0, 1.0), (1.0, 1.0, 2.0), (1.0, 1.0, 0.02), (0.7, 1.0, 0.02))
_STEPS = 1000
_LEAST_WEIGHT = 0.02
_ENOUGH = 1 - 1e-3


class _Shape(NamedTuple):
    """Fan-outs from fine to coarse; the weights of the leaf, of the level above each fan-out, and of the total."""

    fans: tuple[int, ...]
    weights: tuple[float, ...]

    @property
    def spacings(self) -> tuple[int, ...]:
        return tuple(prod(self.fans[:height]) for height in range(len(self.fans) + 1))


def levels_with_total(size: int, theta: int, epsilon: Fraction) -> tuple[Level, ...]:
    """Choose levels such that the larger loss, of a move of theta or of a record that comes or goes, is epsilon."""
    return _levels(_choose(size, theta), theta, epsilon)


def _levels(shape: _Shape, theta: int, epsilon: Fraction) -> tuple[Level, ...]:
    largest = max(shape.weights)
    *shares, of_total = (Fraction(max(1, round(_STEPS * weight / largest)), _STEPS) for weight in shape.weights)
    weighed = [*zip(shape.spacings, shares, strict=True)]
    moved = sum((2 * min(Fraction(1), Fraction(theta, g)) * share for g, share in weighed), Fraction(0))
    of_total = max(of_total, moved - sum(shares))
    worst = sum(shares, of_total)
    differences = (DifferenceLevel(g, g * worst / (share * epsilon)) for g, share in weighed)
    return (*differences, TotalLevel(1, worst / (of_total * epsilon)))


@lru_cache(maxsize=256)
def _choose(size: int, theta: int) -> _Shape:
    """Take the shape with the smallest prediction, stretched; for few values, compare its exact error with others."""
    if size == 1:
        return _Shape((), (_LEAST_WEIGHT, 1.0))
    predicted = partial(_predicted, size, theta)
    starts = (_Shape((fan,) * many, (1.0,) * (many + 2)) for many in range(_MOST_COARSE + 1) for fan in (4, 16))
    found = min((_descend(predicted, size, start) for start in starts if prod(start.fans) < size), key=predicted)
    fans = tuple(max(2, round(fan * _STRETCH)) for fan in found.fans)
    if prod(fans) < size:
        found = _descend(predicted, size, _Shape(fans, found.weights), fixed=True)
    if size > _FEW:
        return found
    fan = round(_STRETCH * sqrt(size))
    others = [_Shape((fan,), weights) for weights in _USUAL if 1 < fan < size]
    return min([found, *others], key=partial(_exact, size, theta))


def _exact(size: int, theta: int, shape: _Shape) -> float:
    """Compute the mean squared error of a random range at epsilon 1, but for a factor."""
    leaf, *coarse, total = _levels(shape, theta, Fraction(1))
    trace, together = LeastSquares(size, leaf.variance, tuple(coarse), total.variance).moments()
    return (size + 1) * trace - together


def _predicted(size: int, theta: int, shape: _Shape) -> float:
    """Predict the mean squared error of a random range at epsilon 1."""
    spacings = shape.spacings
    moved = sum(2 * min(1.0, theta / g) * weight for g, weight in zip(spacings, shape.weights, strict=False))
    worst = max(moved, sum(shape.weights))
    gain, *precisions, of_total = ((weight / worst) ** 2 / 2 for weight in shape.weights)
    error = 0.0
    for spacing, fan, precision in zip(spacings, shape.fans, precisions, strict=False):
        error += (((fan * spacing) ** 2 - 1) - fan * (spacing**2 - 1)) / (3 * fan * spacing**2) / gain
        gain = precision + gain / fan
    # So many blocks of the coarsest level, each of variance 1 / gain; the total takes away what it tells of a range.
    spread = size / spacings[-1] / gain
    return error + spread / 3 - spread**2 / 6 / (spread + 1 / of_total)


def _descend(error: Callable[[_Shape], float], size: int, shape: _Shape, *, fixed: bool = False) -> _Shape:
    """Change one fan-out (unless they are fixed) or one weight at a time, while that lowers the error."""
    best, improved = error(shape), True
    while improved:
        improved = False
        for other in (*(() if fixed else _other_fans(shape)), *_other_weights(shape)):
            value = error(other) if prod(other.fans) < size else best
            if value < best * _ENOUGH:
                best, shape, improved = value, other, True
                break
    return shape


def _other_fans(shape: _Shape) -> Iterator[_Shape]:
    for index, fan in enumerate(shape.fans):
        for other in (fan - 1, fan + 1, fan // 2, fan * 2, fan * 3 // 4, fan * 4 // 3 + 1):
            yield _Shape(_with(shape.fans, index, max(2, other)), shape.weights)


def _other_weights(shape: _Shape) -> Iterator[_Shape]:
    for index, weight in enumerate(shape.weights):
        for factor in (0.5, 2.0, 0.8, 1.25, 0.95, 1.05):
            changed = _with(shape.weights, index, weight * factor)
            if min(changed) >= _LEAST_WEIGHT * max(changed):
                yield _Shape(shape.fans, changed)


def _with(numbers: Sequence[Any], index: int, other: Any) -> tuple[Any, ...]:
    return (*numbers[:index], other, *numbers[index + 1 :])
