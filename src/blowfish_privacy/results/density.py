"""The density of an estimated distribution: counts of bins that are as narrow as the noise permits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor

import numpy as np

from blowfish_privacy.domain import Attribute, Numeric
from blowfish_privacy.results.pictures.ticks import round_steps
from blowfish_privacy.support.arrays import Floats, Integers

_FEWEST_BINS, _MOST_BINS = 8, 250
_COARSE = 16
"""Parts in which the neighbours of a record are counted, whatever the noise on single values."""
_VISIBLE = 0.15
"""How large the interval of a bin may be, as a share of its count, for the shape of a distribution to be seen."""


@dataclass(frozen=True, eq=False)
class Density:
    """Neighbouring bins, and the records that a value has on average in each, with 95 % intervals."""

    width: int
    """How many values a bin has; the first and the last may have more or fewer, for others to begin at round ones."""
    edges: Integers
    """The cut points between bins: as many values lie below each."""
    values: Floats
    low: Floats
    high: Floats


def density(
    attribute: Attribute,
    cuts: Floats,
    errors: Callable[[Sequence[int]], Floats],
    intervals: Callable[[Integers, Integers], tuple[Floats, Floats]],
) -> Density:
    """Add up the records between cut points in bins whose noise leaves something to be seen.

    ``errors`` says how wrong ranges of some widths are, ``intervals`` bounds the records between cut points. All of it
    is post-processing of what was released.
    """
    width = _fitting_width(attribute, cuts, errors)
    edges = bin_edges(attribute, width)
    values, (low, high) = np.diff(cuts[edges]), intervals(edges[:-1], edges[1:])
    many = np.diff(edges)
    return Density(width, edges, values / many, low / many, high / many)


def bin_edges(attribute: Attribute, width: int) -> Integers:
    """Cut where numbers are multiples of so many steps; what is left at the ends joins its neighbour."""
    start = -floor(attribute.lowest / attribute.spacing) % width if isinstance(attribute, Numeric) else 0
    inner = np.arange(start, attribute.size, width, dtype=np.int64)
    room = (width + 1) // 2
    kept = inner[(inner >= room) & (inner <= attribute.size - room)]
    return np.concatenate([[0], kept, [attribute.size]])


def _fitting_width(attribute: Attribute, cuts: Floats, errors: Callable[[Sequence[int]], Floats]) -> int:
    """Return the smallest round width at which the bin of a typical record is told from its neighbours."""
    coarse = bin_edges(attribute, max(attribute.size // _COARSE, 1))
    counts = np.maximum(np.diff(cuts[coarse]), 0)
    crowd = float((counts**2 / np.diff(coarse)).sum() / max(counts.sum(), 1))
    width = 1
    for width in round_steps():
        seen = 2 * float(errors([width])[0]) <= _VISIBLE * width * crowd and attribute.size <= _MOST_BINS * width
        if seen or attribute.size < 2 * _FEWEST_BINS * width:
            break
    return width
