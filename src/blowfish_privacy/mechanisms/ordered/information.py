"""What noisy rows tell about the cumulative histogram: the inverse of the covariance of its best linear estimate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel, Level
from blowfish_privacy.support.arrays import Floats, dense

_FINE = 16


def cumulative_information(size: int, leaf: float, coarse: Sequence[Level], total: float) -> Floats:
    """Add up what leaf, coarser levels and a noisy total (variance 0: none) tell about S at all positions."""
    told = np.diag(np.full(size, 1 / leaf))
    if total:
        told += 1 / total
    sums = [level for level in coarse if isinstance(level, CumulativeLevel)]
    for level in coarse:
        if level not in sums:
            told += _squares(level, size) / level.variance
    # A count is the difference of two cumulative counts.
    told[:-1] -= told[1:]
    told[:, :-1] -= told[:, 1:]
    for level in sums:
        for start in range(0, size, level.spacing):
            told[start : start + level.spacing, start : start + level.spacing] += 1 / level.spacing**2 / level.variance
    return told


def _squares(level: Level, size: int) -> Floats:
    """Multiply the rows of a level with themselves: as arrays where they are long."""
    hats = level.hats(size) if level.spacing < _FINE else dense(level.hats(size))
    return dense(hats.T @ hats)
