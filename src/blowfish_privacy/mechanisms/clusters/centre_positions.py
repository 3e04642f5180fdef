"""Where the centres of noisy Lloyd start, and where those without records start again: public and fixed."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

Centres = tuple[tuple[int, ...], ...]
"""The whole-number position of every centre along every axis."""


def spread_evenly(centres: int, sizes: tuple[int, ...]) -> Centres:
    """Spread the first centres evenly over the box, at multiples of the generalised golden ratio."""
    ratio = 2.0
    for _ in range(60):
        ratio = (1 + ratio) ** (1 / (len(sizes) + 1))
    return tuple(
        tuple(int(size * ((0.5 + (number + 1) * ratio ** -(axis + 1)) % 1.0)) for axis, size in enumerate(sizes))
        for number in range(centres)
    )


def step_aside(turn: int, sizes: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Return a step of up to 15 % of the box along every axis, a different one every turn."""
    # Multiples of irrational numbers, the roots of 2, 5, 8, ..., to 16 binary places.
    parts = ((turn + 1) * isqrt((3 * axis + 2) << 32) % 2**16 - 2**15 for axis in range(len(sizes)))
    return np.array([3 * part * size // (10 * 2**16) for part, size in zip(parts, sizes, strict=True)], dtype=np.int64)


def is_position(centre: tuple[Any, ...], sizes: tuple[int, ...]) -> bool:
    """Say whether what a document holds is a position in the box."""
    whole = len(centre) == len(sizes) and all(type(each) is int for each in centre)
    return whole and all(0 <= each < size for each, size in zip(centre, sizes, strict=True))
