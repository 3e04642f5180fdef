"""Which bins an adaptive release looks at, and which leaves follow from the noisy look."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.ordered.roughness import Roughness
from blowfish_privacy.mechanisms.ordered.spacings import choose_shape

LEAST_SIGNAL = 600
"""Below so many records times epsilon a look cannot find what it would have to: smooth bins of all widths are better.

This and the numbers below were settled on the shapes of `benchmarks/shapes.py` and on histograms of 4,096 values
(DPBench's, flights, diamonds, weather, and clusters, spikes and mixtures) with n epsilon from 50 to 100,000.
"""
MOST_SIGNAL = Fraction(1, 4)
"""With more records times epsilon for each value than this, single counts stand out from the noise by themselves."""
NARROWEST_FIRST, WIDEST_FIRST = 16, 64
"""Where the widest bins would be narrower there is little to gain by leaving them whole; where they would be wider, the
look would have three widths or more, too little of epsilon for each, and miss lone values with many records."""
LOOK_SHARE = Fraction(1, 10)
"""The share of epsilon for the look."""
_WIDEST_BINS = Fraction(9, 4)
"""There are at least as many of the widest bins as the root of this times n epsilon."""
_FAN = 8
"""Into how many parts a bin is cut."""
_FIRST_LIMIT = Fraction(5, 2)
"""One of the widest bins is cut where its noisy roughness is beyond so many scales of the noise."""
_NEXT_LIMIT = Fraction(1, 2)
"""A part of one that was cut is likely to be rough as well, and too coarse a leaf costs more than one too many."""
_ROOT_STEPS = 1_000


def pays(size: int, theta: int, signal: Fraction) -> bool:
    """Say whether a look is expected to pay: enough records, wide bins, and a threshold too wide to be of use."""
    enough = LEAST_SIGNAL <= signal <= MOST_SIGNAL * size
    fitting = enough and NARROWEST_FIRST <= widest(size, signal) <= WIDEST_FIRST
    return fitting and not choose_shape(size, theta).cumulative


def widest(size: int, signal: Fraction) -> int:
    """Return the width of the widest bins, a power of two: fewer where n epsilon is smaller, but at least two."""
    many = max(2, isqrt(int(_WIDEST_BINS * signal)))
    width = 2
    while -(-size // (2 * width)) >= many:
        width *= 2
    return width


def calibrated_look(size: int, signal: Fraction, epsilon: Fraction) -> tuple[Roughness, ...]:
    """Choose widths, scales and limits of a look that loses epsilon on the worst move of one record.

    There is nothing to look at where the widest bins would be all there is.
    What a bin that should have been cut adds to the error is proportional to its width, so the noise in records may
    grow as the root of the width falls: shares are in proportion to that root.
    """
    widths = [widest(size, signal)]
    if widths[0] >= size:
        return ()
    while widths[-1] >= 2 * _FAN:
        widths.append(widths[-1] // _FAN)
    weights = [isqrt(width * _ROOT_STEPS**2) for width in widths]
    look: list[Roughness] = []
    for width, weight in zip(widths, weights, strict=True):
        bins = Roughness(width, Fraction(0), 0)
        scale = bins.most(size) * sum(weights) / (weight * epsilon)
        look.append(Roughness(width, scale, int((_NEXT_LIMIT if look else _FIRST_LIMIT) * scale)))
    return tuple(look)


def leaf_ends(look: Sequence[Roughness], noisy: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """Cut bins from the widest to the narrowest where the noisy look says so; return where the leaves end."""
    starts = np.zeros(size + 1, dtype=np.bool_)
    starts[size] = True
    bins = np.arange(0, size, look[0].width if look else 1)
    row = 0
    for level, narrower in zip(look, [*(each.width for each in look[1:]), 1][: len(look)], strict=True):
        starts[bins] = True
        rough = noisy[row : row + level.rows(size)] > level.limit
        row += level.rows(size)
        cut = bins[rough[bins // level.width]]
        bins = (cut[:, None] + np.arange(0, level.width, narrower)).reshape(-1)
        bins = bins[bins < size]
    starts[bins] = True
    return np.flatnonzero(starts)[1:]
