"""The dearest move within a distance, when positions along several attributes have prices.

A secret pair may spend a distance of at most theta on moves along the attributes. The total price of the dearest one
bounds the privacy loss of a strategy whose rows change with the positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

_MOST_MOVES = 4_096


@dataclass(frozen=True)
class PricedAxis:
    """An attribute along which an edge can move."""

    price: Fraction
    """The price of one position."""
    distance: Fraction
    """How much of theta one position uses up; for bins, at least this much, and the first is free."""
    most: int
    """The largest number of positions that an edge moves along the attribute."""
    binned: bool


def furthest(axes: Sequence[PricedAxis], theta: Fraction) -> Fraction:
    """Bound the largest total price of a move of at most theta; exact for whole numbers of equal weight."""
    if any(axis.binned for axis in axes):
        return _linear(axes, theta)
    if len({axis.distance for axis in axes}) == 1:
        return _greedy(axes, theta)
    if len(axes) == 2 and axes[0].most <= _MOST_MOVES:
        return _enumerated(axes[0], axes[1], theta)
    return _linear(axes, theta)


def _greedy(axes: Sequence[PricedAxis], theta: Fraction) -> Fraction:
    """Take the dearest positions first: all use up the same distance."""
    left, total = int(theta / axes[0].distance), Fraction(0)
    for axis in sorted(axes, key=lambda axis: axis.price, reverse=True):
        taken = min(left, axis.most)
        total, left = total + taken * axis.price, left - taken
    return total


def _enumerated(first: PricedAxis, second: PricedAxis, theta: Fraction) -> Fraction:
    """Combine every move along one attribute with the longest that theta still allows along the other."""
    rests = ((move, int((theta - first.distance * move) / second.distance)) for move in range(first.most + 1))
    return max(first.price * move + second.price * min(rest, second.most) for move, rest in rests)


def _linear(axes: Sequence[PricedAxis], theta: Fraction) -> Fraction:
    """Allow fractions of positions; neighbouring bins have distance 0."""
    free = sum((axis.price for axis in axes if axis.binned), Fraction(0))
    return free + theta * max((axis.price / axis.distance for axis in axes), default=Fraction(0))
