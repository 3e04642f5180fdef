"""How far two independent draws of discrete Laplace noise, each times a number, may be off together.

Laplace noise of scales a > b, added up, exceeds t in size with probability (a^2 exp(-t/a) - b^2 exp(-t/b)) / (a^2 -
b^2). A discrete draw is the whole part of a continuous one plus some number between 0 and 1, with the same sign, so the
two are at most 1 apart (docs/proofs/mean_offsets.md).
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

from blowfish_privacy.noise.spread import checked_miss, quantile
from blowfish_privacy.support.exact import Number

_HALVINGS = 50
_ALIKE = 1e-6
"""Scales that differ by less than this share are taken for the larger one."""


def each_within(first: Fraction, times: float, second: Fraction, other: float, level: Number) -> float:
    """Return t with ``|times Z| + |other Y| <= t`` with probability ``level`` at least, for draws Z, Y of two scales.

    A scale of 0 means no noise. Each draw stays within a bound of its own with probability (1 + level) / 2.
    """
    each = 1 - checked_miss(level) / 2
    return sum(quantile(scale, each) * abs(factor) for scale, factor in ((first, times), (second, other)) if scale)


def both_within(first: Fraction, times: float, second: Fraction, other: float, level: Number) -> float:
    """Return t with ``|times Z + other Y| <= t`` with probability ``level`` at least, for draws Z and Y of two scales.

    A scale of 0 means no noise.
    """
    miss = checked_miss(level)
    drawn = [(scale, abs(factor)) for scale, factor in ((first, times), (second, other)) if scale and factor]
    if len(drawn) < 2:
        return sum(quantile(scale, 1 - miss) * factor for scale, factor in drawn)
    scales = [float(scale) * factor for scale, factor in drawn]
    together = _added(max(scales), min(scales), float(miss)) + sum(factor for _, factor in drawn)
    return min(each_within(first, times, second, other, level), together)


def _added(large: float, small: float, miss: float) -> float:
    """Return what Laplace noise of two scales exceeds with this probability at most, by bisection."""
    low, high = 0.0, (large + small) * log(2 / miss)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _beyond(middle, large, small) <= miss else (middle, high)
    return high


def _beyond(bound: float, large: float, small: float) -> float:
    if large - small < _ALIKE * large:
        return (1 + bound / (2 * large)) * exp(-bound / large)
    share = (small / large) ** 2
    return (exp(-bound / large) - share * exp(-bound / small)) / (1 - share)
