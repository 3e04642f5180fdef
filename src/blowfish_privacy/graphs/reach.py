"""How far a given distance reaches along one ordered attribute."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from blowfish_privacy.domain import Attribute, Binned


def within(attribute: Attribute, distance: Fraction) -> Iterator[tuple[int, int]]:
    """Yield every position with the last position that is at most ``distance`` above it."""
    last = 0
    for first in range(attribute.size):
        last = max(last, first)
        while last + 1 < attribute.size and attribute.gap(first, last + 1) <= distance:
            last += 1
        yield first, last


def widest(attribute: Attribute, distance: Fraction) -> tuple[int, int]:
    """Return two positions at most ``distance`` apart, with as many positions as possible between them."""
    if not isinstance(attribute, Binned):
        return 0, min(int(distance / attribute.gap(0, 1)), attribute.size - 1)
    return max(within(attribute, distance), key=lambda pair: pair[1] - pair[0])


def largest_gap(attribute: Attribute, distance: Fraction) -> Fraction:
    """Return the largest distance between two bins up to ``distance``: thresholds in between are equivalent."""
    return max(attribute.gap(first, last) for first, last in within(attribute, distance))


def narrowest(attribute: Attribute) -> Fraction:
    """Return the least distance that one more position costs; for bins the first position is free."""
    if not isinstance(attribute, Binned):
        return attribute.gap(0, 1)
    return min(high - low for low, high in pairwise(attribute.bounds))
