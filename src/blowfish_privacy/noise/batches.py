"""How many draws: a count or a shape, made in batches that stay in the processor's cache."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import SupportsIndex, cast

import numpy as np

from blowfish_privacy.errors import QueryError, brief
from blowfish_privacy.support.arrays import Integers

# Temporary arrays of this length stay in the processor's cache, however many samples are asked for.
_BATCH = 1 << 16


def in_batches(size: int | Sequence[int], draw: Callable[[int], Integers]) -> Integers:
    """Fill an array of this size with what ``draw(count)`` returns, a batch at a time."""
    shape = checked_shape(size)
    result = np.empty(math.prod(shape), dtype=np.int64)
    for start in range(0, len(result), _BATCH):
        batch = result[start : start + _BATCH]
        batch[:] = draw(len(batch))
    return result.reshape(shape)


def checked_shape(size: int | Sequence[int]) -> tuple[int, ...]:
    """Read a count or a shape, or refuse it."""
    return tuple(_length(length) for length in size) if isinstance(size, tuple | list) else (_length(size),)


def _length(length: object) -> int:
    try:
        number = -1 if isinstance(length, bool) else operator.index(cast(SupportsIndex, length))
    except TypeError:
        number = -1
    if number < 0:
        raise QueryError(
            f"the number of noise draws must be a whole number, 0 or above, or a shape; got {brief(length)}."
        )
    return number
