"""Rows that tables read along an ordered attribute instead of its values: overlapping bins, or sums up to a value."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

import numpy as np

from blowfish_privacy.support.arrays import Integers


class Reading(Protocol):
    """Rows over the positions of one axis, as whole numbers: ``spacing`` times what they count."""

    @property
    def spacing(self) -> int:
        """How many times what is counted a row is."""
        ...

    def rows(self, size: int) -> int:
        """Count the rows over ``size`` positions."""
        ...

    def most(self, distance: int) -> int:
        """Bound the L1 change of the rows over all moves of at most ``distance`` positions."""
        ...

    def weight(self, x: int, size: int) -> int:
        """Return the sum of what a record at x adds to the rows; at 0 it is largest."""
        ...

    def answer(self, counts: Integers) -> Integers:
        """Return the exact rows."""
        ...


@lru_cache(maxsize=64)
def matrix(reading: Reading, size: int) -> Integers:
    """Write the rows out: what a record at each position adds to each."""
    return np.stack([reading.answer(unit) for unit in np.eye(size, dtype=np.int64)], axis=1)


def read_along(counts: Integers, at: int, reading: Reading) -> Integers:
    """Turn the counts of a table into rows, along one of its axes."""
    size = counts.shape[at]
    rows = matrix(reading, size)
    if np.array_equal(rows, np.eye(size)):
        return counts
    return np.moveaxis(np.tensordot(rows, counts, axes=(1, at)), 0, at)
