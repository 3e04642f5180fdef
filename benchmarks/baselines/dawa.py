"""DAWA, made sound: buckets of similar values chosen with a quarter of epsilon, their counts noisy with the rest.

[Li, Hay, Miklau, PVLDB 2014.] As distributed the program gives buckets of one value no noise, and is not
differentially private (`tests/unit/benchmarks/test_benchmarks.py`). Here every bucket gets noise, of scale (what one
record changes its own cost by + 2) / epsilon_1. That is enough: a partition holds exactly one bucket with the changed
value, and given all other noise it wins when that bucket's noise stays below a threshold, which moves by its own
change and by that of a rival, at most 2. With noise everywhere the cheapest partition is one of many small buckets,
whose noise happens to be low; so every bucket costs some scales of noise more, a public number, of which
:data:`PENALTIES` are tried and the best one is taken for each histogram: an advantage that no user has. The counts of
the buckets are measured by HB instead of the greedy tree of the paper. It protects against adding or removing a
record; to promise what bounded differential privacy at epsilon promises it runs at epsilon / 2. The number of records
is taken as public. Scores are floating-point numbers: this is a peer to compare with, not for use.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from baselines.hierarchy import hierarchy_b

PENALTIES = (2.0, 3.0, 3.5, 4.0, 5.0)
_FIRST_SHARE = Fraction(1, 4)
_MOST_AT_ONCE = 4_000_000


class Dawa:
    """A histogram whose buckets were costed once, to be released many times."""

    def __init__(self, counts: np.ndarray) -> None:
        self.counts = np.asarray(counts, dtype=np.int64)
        widths = [2**power for power in range(len(self.counts).bit_length()) if 2**power <= len(self.counts)]
        self.deviations = {width: np.concatenate([*_deviations(self.counts, width)]) for width in widths}

    def release(self, epsilon: Fraction, penalty: float, dice: np.random.Generator) -> np.ndarray:
        """Return the estimated count of every value, when a record may be added or removed."""
        ends = self._partition(float(_FIRST_SHARE * epsilon), float((1 - _FIRST_SHARE) * epsilon), penalty, dice)
        starts = np.append(0, ends[:-1])
        sums = np.add.reduceat(self.counts, starts)
        # hierarchy_b halves nothing by itself: it takes the epsilon of bounded differential privacy.
        estimated = np.diff(hierarchy_b(sums, 2 * (1 - _FIRST_SHARE) * epsilon), prepend=0.0)
        return np.repeat(estimated / (ends - starts), ends - starts)

    def _partition(self, first: float, second: float, penalty: float, dice: np.random.Generator) -> np.ndarray:
        """Return where the buckets of the cheapest partition end."""
        size = len(self.counts)
        costs = np.full((len(self.deviations), size + 1), np.inf)
        widths = np.array([*self.deviations])
        for row, (width, deviation) in enumerate(self.deviations.items()):
            scale = (2 * (1 - 1 / width) + 2) / first
            noise = dice.laplace(scale=scale, size=len(deviation))
            costs[row, width:] = deviation + 1 / second + penalty * scale + noise
        best, chosen = np.zeros(size + 1), np.zeros(size + 1, dtype=np.int64)
        for end in range(1, size + 1):
            fitting = widths[: int(end).bit_length()]
            totals = best[end - fitting] + costs[: len(fitting), end]
            chosen[end] = totals.argmin()
            best[end] = totals[chosen[end]]
        ends, end = [], size
        while end:
            ends.append(end)
            end -= int(widths[chosen[end]])
        return np.array(ends[::-1])


def _deviations(counts: np.ndarray, width: int) -> Iterator[np.ndarray]:
    """Yield how far the values of every bucket of a width are from their mean, added up."""
    windows = sliding_window_view(counts, width)
    step = max(1, _MOST_AT_ONCE // width)
    for start in range(0, len(windows), step):
        part = windows[start : start + step]
        yield np.abs(part - part.mean(axis=1)[:, None]).sum(axis=1)


def hilbert_order(side: int) -> np.ndarray:
    """Return the cells of a square grid, whose side is a power of two, in the order of Hilbert's curve."""
    order = np.zeros((1, 1), dtype=np.int64)
    while len(order) < side:
        many = order.size
        # The curve enters a quarter where it left the one before.
        top = np.concatenate([order.T, order[::-1, ::-1].T + 3 * many], axis=1)
        order = np.concatenate([top, np.concatenate([order + many, order + 2 * many], axis=1)])
    return np.argsort(order.reshape(-1))
