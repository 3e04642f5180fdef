"""A distribution: the share of records at or below each value, and beside it the density; both with their bands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, inf
from typing import Any, NamedTuple

import numpy as np

from blowfish_privacy.domain import Attribute, Binned, Domain, Numeric
from blowfish_privacy.results.pictures.figure import (
    BLUE,
    ORANGE,
    Drawing,
    add_grid,
    label_numbers,
    label_part,
    label_values,
    plain_text,
    round_steps,
    start_figure,
)
from blowfish_privacy.support.arrays import Floats, Integers

# The density of an estimated distribution: counts of bins that are as narrow as the noise permits.

_FEWEST_BINS, _MOST_BINS = 8, 250
_COARSE = 16
"""Parts in which the neighbours of a record are counted, whatever the noise on single values."""
_VISIBLE = 0.15
"""How large the interval of a bin may be, as a share of its count, for the shape of a distribution to be seen."""


@dataclass(frozen=True, eq=False)
class Density:
    """Neighbouring bins, and the records that a value has on average in each, with 95 % intervals."""

    domain: Domain
    """The attribute."""
    width: int
    """How many values a bin has; the first and the last may have more or fewer, for others to begin at round ones."""
    edges: Integers
    """The cut points between bins: as many values lie below each."""
    values: Floats
    low: Floats
    high: Floats

    def draw(self, axes: Any) -> None:
        """Draw the records at each value."""
        edges, noisy = self.edges - 0.5, bool((self.high > self.low).any())
        if noisy:
            axes.stairs(self.high, edges, baseline=self.low, fill=True, color=ORANGE, alpha=0.55, lw=0)
            axes.stairs(self.high, edges, baseline=None, color=DARK, lw=0.4)
            axes.stairs(self.low, edges, baseline=None, color=DARK, lw=0.4)
        axes.stairs(self.values, edges, baseline=None, color=BLUE, lw=1.2)
        label_values(axes.xaxis, self.domain)
        each = "bin" if isinstance(self.domain.attributes[0], Binned) else "value"
        mean = f", mean of {self.width:,} neighbours" if self.width > 1 else ""
        label_numbers(axes.yaxis, f"records at each {each}{mean},\n{_WITH if noisy else 'exact'}")
        axes.set_ylim(bottom=0)
        axes.margins(x=0.01)
        add_grid(axes)


def density(
    domain: Domain,
    cuts: Floats,
    errors: Callable[[Sequence[int]], Floats],
    intervals: Callable[[Integers, Integers], tuple[Floats, Floats]],
) -> Density:
    """Add up the records between cut points in bins whose noise leaves something to be seen.

    ``errors`` says how wrong ranges of some widths are, ``intervals`` bounds the records between cut points. All of it
    is post-processing of what was released.
    """
    attribute = domain.attributes[0]
    # The smallest round width at which the bin of a typical record is told from its neighbours.
    coarse = bin_edges(attribute, max(attribute.size // _COARSE, 1))
    counts = np.maximum(np.diff(cuts[coarse]), 0)
    crowd = float((counts**2 / np.diff(coarse)).sum() / max(counts.sum(), 1))
    width = 1
    for width in round_steps():
        seen = 2 * float(errors([width])[0]) <= _VISIBLE * width * crowd and attribute.size <= _MOST_BINS * width
        if seen or attribute.size < 2 * _FEWEST_BINS * width:
            break
    edges = bin_edges(attribute, width)
    values, (low, high) = np.diff(cuts[edges]), intervals(edges[:-1], edges[1:])
    many = np.diff(edges)
    return Density(domain, width, edges, values / many, low / many, high / many)


def bin_edges(attribute: Attribute, width: int) -> Integers:
    """Cut where numbers are multiples of so many steps; what is left at the ends joins its neighbour."""
    start = -floor(attribute.lowest / attribute.spacing) % width if isinstance(attribute, Numeric) else 0
    inner = np.arange(start, attribute.size, width, dtype=np.int64)
    room = (width + 1) // 2
    kept = inner[(inner >= room) & (inner <= attribute.size - room)]
    return np.concatenate([[0], kept, [attribute.size]])


# The share of records at or below each value, and quantiles, written where the rising curve leaves room.

DARK = "#8A4B00"
_APART, _LETTER, _ASIDE = 11.0, 5.0, 8.0
"""The distance of two lines of text, the width of a letter and the distance of a text from its point, in points."""
MOST_POINTS = 1000
"""Places along a curve that are drawn; more are not told apart in print."""
_THIN = 0.02
"""A band of at most this share is enlarged in a corner: it would hide below the line."""
_FEWEST = 8
"""Values of which some are the middle."""
_WITH = "with 95 % interval"


class Mark(NamedTuple):
    """A quantile: what is written beside it, where it is, and the ends of its interval."""

    text: str
    place: int
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class DistributionDrawing(Drawing):
    """The records at or below each value of an attribute, with the quantiles that are marked."""

    domain: Domain
    below: Floats
    """The records at or below each value."""
    total: float
    bounds: Callable[[Integers, Integers], tuple[Floats, Floats]]
    """Bounds the records between cut points."""
    density: Callable[[], Density]
    """Works out how many records each value has, which takes time."""
    title: str
    marks: Sequence[Mark] = ()

    def bounds_below(self, positions: Integers) -> tuple[Floats, Floats]:
        """Bound the records at or below some values, which takes time where they are many."""
        # By position: a first value that is cut by the bounds of its attribute cannot begin a range.
        return self.bounds(np.zeros_like(positions), positions + 1)

    @cached_property
    def shares(self) -> tuple[Floats, Floats, Floats]:
        """The share of records at or below each value, and the ends of its 95 % interval."""
        low, high = self.bounds_below(np.arange(len(self.below)))
        return self.below / self.total, np.clip(low / self.total, 0, 1), np.clip(high / self.total, 0, 1)

    @property
    def _shift(self) -> float:
        """How far after a position all of its records are counted: those of a bin at its upper edge."""
        return 0.5 if isinstance(self.domain.attributes[0], Binned) else 0.0

    def draw(self, axes: Any) -> None:
        """Draw the shares with their band, enlarged where it is thin."""
        share, low, high = self.shares
        self._draw_steps(axes, np.unique(np.linspace(0, len(share) - 1, MOST_POINTS).astype(np.int64)))
        label_values(axes.xaxis, self.domain)
        noisy = bool((high > low).any())
        label_numbers(axes.yaxis, f"share of records at or below,\n{_WITH if noisy else 'exact'}")
        # Where most records share the lowest value the rest would otherwise be a flat line.
        flat = share[0] >= 0.5 and len(share) >= _FEWEST
        bottom = share[0] - 0.05 * (1 - share[0]) - (high[0] - low[0]) if flat else -0.02
        axes.set_ylim(bottom, 1.02)
        add_grid(axes)
        if self.marks:
            self._draw_marks(axes)
        elif noisy and len(share) >= _FEWEST and float(np.median(high - low)) < _THIN:
            self._enlarge_middle(axes)

    def figure(self) -> Any:
        """Draw the density beside it."""
        figure, (left, right) = start_figure(10.5, 4.2, columns=2)
        self.draw(left)
        self.density().draw(right)
        return figure

    def _draw_steps(self, axes: Any, positions: Integers) -> None:
        places = positions + self._shift
        share, low, high = (each[positions] for each in self.shares)
        if len(places) < _FEWEST:
            # Few values: from nothing below the first to all above the last, or a single one would be a point.
            places = np.concatenate([[places[0] - 0.5 - self._shift], places, [places[-1] + 0.5]])
            share, low, high = (np.concatenate([[0.0], each, each[-1:]]) for each in (share, low, high))
        if (high > low).any():
            look: dict[str, Any] = {"color": ORANGE, "alpha": 0.55, "edgecolor": DARK, "lw": 0.4}
            axes.fill_between(places, low, high, step="post", **look)
        axes.step(places, share, where="post", color=BLUE, lw=1.0)

    def _draw_marks(self, axes: Any) -> None:
        """Draw quantiles with their intervals; their texts stand below and above the curve, none over another."""
        share, shift = self.shares[0], self._shift
        for each in self.marks:
            reach = [[each.place - each.first], [each.last - each.place]]
            axes.errorbar([each.place + shift], [share[each.place]], xerr=reach, fmt="D", ms=4, color=DARK)
        # A rising curve leaves room to the right below it, and to the left above it.
        low, high = axes.get_xlim()
        width = axes.get_window_extent().width / axes.figure.dpi * 72
        below: list[Mark] = []
        above: list[Mark] = []
        for each in sorted(self.marks, key=lambda each: each.place):
            end = (each.place + shift - low) / (high - low) * width + _ASIDE + _LETTER * len(each.text)
            (below if end <= width else above).append(each)
        self._write(axes, below[::-1], side=1)
        self._write(axes, above, side=-1)

    def _write(self, axes: Any, marks: Sequence[Mark], side: int) -> None:
        """Write texts on one side of the curve, each at least a line further from it than the one before."""
        low, high = axes.get_ylim()
        height = axes.get_window_extent().height / axes.figure.dpi * 72
        before = side * inf
        for each in marks:
            up = self.shares[0][each.place]
            point = (up - low) / (high - low) * height
            line = point - side * 9
            line = min(line, before - _APART) if side > 0 else max(line, before + _APART)
            before = line
            look: dict[str, Any] = {"fontsize": 8, "color": DARK, "ha": "left" if side > 0 else "right", "va": "center"}
            if abs(line - point) > _APART:
                look["arrowprops"] = {"arrowstyle": "-", "lw": 0.5, "color": DARK, "shrinkA": 0, "shrinkB": 3}
            aside = (side * _ASIDE, line - point)
            across = each.place + self._shift
            axes.annotate(plain_text(each.text), (across, up), aside, textcoords="offset points", **look)
        if side < 0 and before + _APART > height:
            # Room above the curve, which ends at 1.
            axes.set_ylim(low, high + (before + _APART - height) / height * (high - low))

    def _enlarge_middle(self, axes: Any) -> None:
        """Draw the middle again in a corner that is empty, so large that a thin band is seen."""
        share, low, high = self.shares
        middle = min(int(np.searchsorted(share, 0.5)), len(share) - 1)
        band = float(high[middle] - low[middle]) or _THIN
        reach = 1
        while reach < len(share) // 20 and self._rise(middle, reach) < 6 * band:
            reach += 1
        first, last = max(middle - reach, 0), min(middle + reach + 1, len(share) - 1)
        right = middle < 0.6 * len(share)
        inset = axes.inset_axes((0.61, 0.14, 0.36, 0.34) if right else (0.1, 0.59, 0.36, 0.34))
        self._draw_steps(inset, np.arange(first, last + 1))
        inset.set_xlim(first + self._shift, last + self._shift)
        near = min(max(self._rise(middle, reach), 2 * band), 8 * band)
        inset.set_ylim(share[middle] - near / 1.6, share[middle] + near / 1.6)
        label_part(inset.xaxis, self.domain, first + self._shift, last + self._shift)
        label_numbers(inset.yaxis, "", most=3)
        inset.tick_params(labelsize=7, length=2)
        inset.set_title("around the median, enlarged", fontsize=7, pad=2)
        frame = axes.indicate_inset_zoom(inset, edgecolor="0.3", alpha=0.7)
        # Lines to the corners would cross the title or the labels of the enlarged part.
        for line in frame.connectors:
            line.set_visible(False)

    def _rise(self, middle: int, reach: int) -> float:
        share = self.shares[0]
        return float(share[min(middle + reach, len(share) - 1)] - share[max(middle - reach, 0)])
