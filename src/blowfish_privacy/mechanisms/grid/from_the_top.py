"""Counts that are not negative, found from the whole grid down to its cells.

The nearest non-negative grid pulls what it adds to the many cells of empty regions out of the full ones. Here every
quarter of a square is settled before its parts are looked at, so a correction stays in the smallest square that needs
it, and large rectangles keep the exactness of the linear estimate. docs/proofs/adaptive_grid.md
"""

from __future__ import annotations

import numpy as np

from blowfish_privacy.mechanisms.grid.blocks import Blocks
from blowfish_privacy.support.arrays import Floats


def settled_from_the_top(estimate: Floats, weights: Floats) -> Floats:
    """Return counts that are not negative and add up to what the estimate does, or to 0 if that is negative.

    Squares of 2^j cells are split into four, until single cells are left. Within each, the estimates of the parts
    become the nearest that are not negative and add up to what the square got, where a part moves in proportion to
    the weights of its cells. Cells of weight 0 stay empty, whatever their estimate.
    """
    pyramid = [(np.where(weights > 0, estimate, 0.0), weights)]
    while pyramid[-1][0].size > 1:
        shape = pyramid[-1][0].shape
        halves = Blocks((shape[0], shape[1]), 2)
        pyramid.append((halves.sums(pyramid[-1][0]), halves.sums(pyramid[-1][1])))
    counts = np.maximum(pyramid[-1][0], 0.0)
    for values, each in reversed(pyramid[:-1]):
        parts = _near(_quarters(values), _quarters(each), counts.reshape(-1))
        rows, columns = counts.shape
        whole = parts.reshape(rows, columns, 2, 2).transpose(0, 2, 1, 3).reshape(2 * rows, 2 * columns)
        counts = whole[: values.shape[0], : values.shape[1]]
    return counts


def _quarters(table: Floats) -> Floats:
    """List the four parts of every square; parts beyond the end are 0."""
    rows, columns = (-(-size // 2) for size in table.shape)
    padded = np.pad(table, ((0, 2 * rows - table.shape[0]), (0, 2 * columns - table.shape[1])))
    return padded.reshape(rows, 2, columns, 2).transpose(0, 2, 1, 3).reshape(-1, 4)


def _near(values: Floats, weights: Floats, totals: Floats) -> Floats:
    """Project each row of four on the parts that are not negative and add up to its total.

    All parts move by the same multiple of their weights; those that end below zero are emptied, and the rest moves
    on. At most three parts can be emptied.
    """
    kept = weights > 0
    moved = values
    for _ in range(4):
        free = np.where(kept, weights, 0.0)
        gap = totals - np.where(kept, values, 0.0).sum(axis=1)
        moved = values + free * (gap / np.maximum(free.sum(axis=1), 1e-300))[:, None]
        kept = kept & (moved > 0)
    settled = np.where(kept, moved, 0.0)
    # Rounding may leave nothing of a total that is next to nothing.
    even = totals[:, None] * weights / np.maximum(weights.sum(axis=1), 1e-300)[:, None]
    left = kept.sum(axis=1, keepdims=True) > 0
    return np.where(left, settled, even)
