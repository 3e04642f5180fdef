"""Bounds on the errors of ranges and rectangles by their size, since one for all would fit few of them."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from blowfish_privacy.mechanisms.interval_widths import checked_level
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number

SIZES = {"below 1 %": (0.0, 0.01), "1 to 5 %": (0.01, 0.05), "5 to 25 %": (0.05, 0.25), "above": (0.25, 1.0)}
"""Classes of sizes: shares of all values, or of all cells."""
_QUANTILES = 50


def sizes_up_to(largest: int) -> list[int]:
    """List sizes from 1 on in even steps on a logarithmic scale, for a picture."""
    return sorted({min(largest, round(2 ** (step / 2))) for step in range(2 * largest.bit_length() + 1)})


def bounds_by_size(shares: Floats, errors: Floats, level: Number, what: str) -> dict[str, float]:
    """Bound the errors of each class of sizes with probability ``level``.

    ``errors`` has a row, of one or several draws, for each of the ranges that cover these ``shares`` of all.
    """
    wanted, bounds = float(checked_level(level)), dict[str, float]()
    for name, (least, most) in SIZES.items():
        # What covers everything is mostly public.
        chosen = errors[(least < shares) & (shares <= most) & (shares < 1)]
        if chosen.size:
            bounds[f"{name} of the {what}" if not bounds else name] = float(np.quantile(np.abs(chosen), wanted))
    return bounds


def normal_errors(deviations: Floats) -> Floats:
    """Return, for each standard deviation, the absolute values of a normal error at even steps of probability."""
    steps = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    return np.outer(deviations, [NormalDist().inv_cdf((1 + step) / 2) for step in steps])
