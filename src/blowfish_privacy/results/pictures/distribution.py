"""A distribution: the share of records at or below each value, and beside it the density; both with their bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blowfish_privacy.domain import Binned, Domain
from blowfish_privacy.results.density import Density
from blowfish_privacy.results.pictures.figure import BLUE, ORANGE
from blowfish_privacy.results.pictures.marks import DARK, Point, draw_marks
from blowfish_privacy.results.pictures.ticks import label_numbers, label_part, label_values
from blowfish_privacy.support.arrays import Floats

MOST_POINTS = 1000
"""Places along a curve that are drawn; more are not told apart in print."""
_THIN = 0.02
"""A band of at most this share is enlarged in a corner: it would hide below the line."""
_FEWEST = 8
"""Values of which some are the middle."""
_WITH = "with 95 % interval"

Mark = tuple[str, int, int, int]
"""What is written beside a quantile; where it is, and the ends of its interval."""


def draw_shares(
    axes: Any, domain: Domain, share: Floats, low: Floats, high: Floats, marks: Sequence[Mark] = ()
) -> None:
    """Draw the share of records at or below each value with its band, enlarged where it is thin."""
    positions = np.unique(np.linspace(0, len(share) - 1, MOST_POINTS).astype(np.int64))
    _steps(axes, positions, share, low, high, _shift(domain))
    label_values(axes.xaxis, domain)
    noisy = bool((high > low).any())
    label_numbers(axes.yaxis, f"share of records at or below,\n{_WITH if noisy else 'exact'}")
    # Where most records share the lowest value the rest would otherwise be a flat line.
    flat = share[0] >= 0.5 and len(share) >= _FEWEST
    bottom = share[0] - 0.05 * (1 - share[0]) - (high[0] - low[0]) if flat else -0.02
    axes.set_ylim(bottom, 1.02)
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    places = ((text, share[place], [each + _shift(domain) for each in (place, *ends)]) for text, place, *ends in marks)
    draw_marks(axes, [Point(text, at[0], up, at[1], at[2]) for text, up, at in places])


def draw_density(axes: Any, domain: Domain, density: Density) -> None:
    """Draw the records at each value, on average over bins, with the interval of each."""
    edges = density.edges - 0.5
    if (density.high > density.low).any():
        axes.stairs(density.high, edges, baseline=density.low, fill=True, color=ORANGE, alpha=0.55, lw=0)
        axes.stairs(density.high, edges, baseline=None, color=DARK, lw=0.4)
        axes.stairs(density.low, edges, baseline=None, color=DARK, lw=0.4)
    axes.stairs(density.values, edges, baseline=None, color=BLUE, lw=1.2)
    label_values(axes.xaxis, domain)
    label_numbers(axes.yaxis, _density_words(domain, density))
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
    axes.grid(color="0.92")
    axes.set_axisbelow(True)


def _density_words(domain: Domain, density: Density) -> str:
    each = "bin" if isinstance(domain.attributes[0], Binned) else "value"
    mean = f", mean of {density.width:,} neighbours" if density.width > 1 else ""
    return f"records at each {each}{mean},\n{_WITH if (density.high > density.low).any() else 'exact'}"


def _shift(domain: Domain) -> float:
    """Return how far after a position all of its records are counted: those of a bin at its upper edge."""
    return 0.5 if isinstance(domain.attributes[0], Binned) else 0.0


def _steps(axes: Any, positions: Any, share: Floats, low: Floats, high: Floats, shift: float) -> None:
    places = positions + shift
    share, low, high = (each[positions] for each in (share, low, high))
    if len(places) < _FEWEST:
        # Few values: from nothing below the first to all above the last, or a single one would be a point.
        places = np.concatenate([[places[0] - 0.5 - shift], places, [places[-1] + 0.5]])
        share, low, high = (np.concatenate([[0.0], each, each[-1:]]) for each in (share, low, high))
    if (high > low).any():
        look: dict[str, Any] = {"color": ORANGE, "alpha": 0.55, "edgecolor": DARK, "lw": 0.4}
        axes.fill_between(places, low, high, step="post", **look)
    axes.step(places, share, where="post", color=BLUE, lw=1.0)


def enlarge_middle(axes: Any, domain: Domain, share: Floats, low: Floats, high: Floats) -> None:
    """Draw the middle of a distribution again in a corner that is empty, so large that a thin band is seen."""
    if not (high > low).any() or len(share) < _FEWEST or float(np.median(high - low)) >= _THIN:
        return
    middle = min(int(np.searchsorted(share, 0.5)), len(share) - 1)
    band = float(high[middle] - low[middle]) or _THIN
    reach = 1
    while reach < len(share) // 20 and _rise(share, middle, reach) < 6 * band:
        reach += 1
    first, last = max(middle - reach, 0), min(middle + reach + 1, len(share) - 1)
    right = middle < 0.6 * len(share)
    inset = axes.inset_axes((0.61, 0.14, 0.36, 0.34) if right else (0.1, 0.59, 0.36, 0.34))
    _steps(inset, np.arange(first, last + 1), share, low, high, _shift(domain))
    inset.set_xlim(first + _shift(domain), last + _shift(domain))
    near = min(max(_rise(share, middle, reach), 2 * band), 8 * band)
    inset.set_ylim(share[middle] - near / 1.6, share[middle] + near / 1.6)
    label_part(inset.xaxis, domain, first + _shift(domain), last + _shift(domain))
    label_numbers(inset.yaxis, "", most=3)
    inset.tick_params(labelsize=7, length=2)
    inset.set_title("around the median, enlarged", fontsize=7, pad=2)
    frame = axes.indicate_inset_zoom(inset, edgecolor="0.3", alpha=0.7)
    # Lines to the corners would cross the title or the labels of the enlarged part.
    for line in frame.connectors:
        line.set_visible(False)


def _rise(share: Floats, middle: int, reach: int) -> float:
    return float(share[min(middle + reach, len(share) - 1)] - share[max(middle - reach, 0)])
