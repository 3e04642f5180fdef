"""Rectangles of a grid: what is in them, how large they are, and random ones."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.noise import BitSource
from blowfish_privacy.support.arrays import Floats

Corners: TypeAlias = npt.NDArray[np.int64]
"""Rows of four cut points: top, bottom, left, right."""


def between(sums: Any, corners: Corners) -> Any:
    """Add up the cells of rectangles, from sums up to each cut point along the last two axes."""
    top, bottom, left, right = corners.T
    return sums[..., bottom, right] - sums[..., top, right] - sums[..., bottom, left] + sums[..., top, left]


def sums_of(cells: Floats) -> Floats:
    """Add up the cells before each cut point."""
    return np.pad(np.cumsum(np.cumsum(cells, axis=0), axis=1), ((1, 0), (1, 0)))


def areas(corners: Corners) -> npt.NDArray[np.int64]:
    """Count the cells of rectangles."""
    return (corners[:, 1] - corners[:, 0]) * (corners[:, 3] - corners[:, 2])


def rectangles_of(area: int, shape: tuple[int, ...], many: int, source: BitSource) -> Corners:
    """Draw rectangles of about an area, their heights evenly on a logarithmic scale."""
    dice = source.words(3 * many).reshape(3, -1) / 2**32
    low, high = np.log(max(1, area / shape[1])), np.log(min(shape[0], area))
    height = np.clip(np.rint(np.exp(low + dice[0] * (high - low))), 1, shape[0]).astype(np.int64)
    width = np.clip(np.rint(area / height), 1, shape[1]).astype(np.int64)
    top = (dice[1] * (shape[0] - height + 1)).astype(np.int64)
    left = (dice[2] * (shape[1] - width + 1)).astype(np.int64)
    return np.stack([top, top + height, left, left + width], axis=1)


def random_rectangles(shape: tuple[int, ...], many: int, source: BitSource) -> Corners:
    """Draw rectangles between any two cut points along each side, all equally likely; some draws give none."""
    dice = source.words(4 * many).reshape(4, many)
    down, across = (np.sort(pair % (size + 1), axis=0) for pair, size in zip((dice[:2], dice[2:]), shape, strict=True))
    corners = np.concatenate([down, across]).T.astype(np.int64)
    return corners[areas(corners) > 0]
