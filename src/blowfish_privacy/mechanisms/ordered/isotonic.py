"""The nearest estimate that never decreases: in squares, or in absolute values.

For independent Laplace noise on the cumulative counts themselves the nearest in absolute values is the most likely
truth.
"""

from __future__ import annotations

from heapq import heappush, heapreplace

import numpy as np

from blowfish_privacy.support.arrays import Floats

_FEW = 50_000
"""So many values are pooled here faster than the library that does it can be imported."""


def nearest_in_squares(values: Floats) -> Floats:
    """Return the non-decreasing sequence nearest in the sum of squares."""
    if len(values) <= _FEW:
        return _pooled(values.tolist())
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(values).x, dtype=np.float64)


def _pooled(values: list[float]) -> Floats:
    """Pool neighbours that are out of order: the same numbers, to the last bit, as from the library."""
    means, sizes = list[float](), list[int]()
    index = 0
    while index < len(values):
        mean, size = values[index], 1
        if means and means[-1] >= mean:
            last, many = means.pop(), sizes.pop()
            total, size = many * last + mean, 1 + many
            mean = total / size
            while index + 1 < len(values) and mean >= values[index + 1]:
                index += 1
                total, size = total + values[index], size + 1
                mean = total / size
            while means and means[-1] >= mean:
                many = sizes.pop()
                total, size = total + many * means.pop(), size + many
                mean = total / size
        means.append(mean)
        sizes.append(size)
        index += 1
    return np.repeat(np.array(means, dtype=np.float64), sizes)


def nearest_in_absolute(values: Floats) -> Floats:
    """Return the middle of the lowest and the highest non-decreasing sequences nearest in absolute values."""
    return (_nearest(values) - _nearest(-values[::-1])[::-1]) / 2


def _nearest(values: Floats) -> Floats:
    """Return one such sequence, keeping a heap of the values that a later, smaller one may still pull down.

    The largest value of the heap is the best last value so far; on the way back no value may exceed its successor.
    """
    heap: list[float] = []
    best = np.empty(len(values))
    for index, value in enumerate(values.tolist()):
        heappush(heap, -value)
        if -heap[0] > value:
            heapreplace(heap, -value)
        best[index] = -heap[0]
    return np.minimum.accumulate(best[::-1])[::-1]
