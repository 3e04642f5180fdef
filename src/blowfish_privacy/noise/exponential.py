"""The exponential function with proven bounds, in integers only.

Every probability of the sampler is made of ``exp(-x)`` for rational x. A number is held as an interval of
integers ``low <= 2^bits * number <= high``: lower ends are rounded down and upper ends up at every step, so
the true value never escapes. The width of the interval only matters for speed: a caller that cannot decide a
question from it asks again with more bits.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple


class Interval(NamedTuple):
    """Two integers that enclose ``2^bits`` times a number; the caller knows the bits."""

    low: int
    high: int


def exp_negative(exponent: Fraction, bits: int) -> Interval:
    """Enclose ``2^bits * exp(-exponent)`` for an exponent of at least 0."""
    if exponent >= bits:
        # exp(-bits) < 2^-bits. This also keeps a scale of 10^-300 from asking for 10^300 bits.
        return Interval(0, 1)
    # Halve until the argument is at most 1/2, where the series is short, and square back afterwards.
    halvings = int(2 * exponent).bit_length()
    # Each squaring doubles the width of the interval.
    guard = halvings + 16
    low, high = _series(exponent / 2**halvings, bits + guard)
    for _ in range(halvings):
        low = low * low >> bits + guard
        high = ceiling_shift(high * high, bits + guard)
    return Interval(low >> guard, ceiling_shift(high, guard))


def multiply(left: Interval, right: Interval, bits: int) -> Interval:
    """Enclose the product of two non-negative numbers."""
    return Interval(left.low * right.low >> bits, ceiling_shift(left.high * right.high, bits))


def ceiling_shift(number: int, bits: int) -> int:
    """Divide by ``2^bits`` and round up."""
    return -(-number >> bits)


def _series(exponent: Fraction, bits: int) -> Interval:
    """Enclose ``2^bits * exp(-exponent)`` for an exponent from 0 to 1/2 by its alternating Taylor series."""
    numerator, denominator = exponent.numerator, exponent.denominator
    term = total = Interval(1 << bits, 1 << bits)
    order = 0
    while term.high > 1:
        order += 1
        divisor = denominator * order
        term = Interval(term.low * numerator // divisor, -(-term.high * numerator // divisor))
        if order % 2:
            total = Interval(total.low - term.high, total.high - term.low)
        else:
            total = Interval(total.low + term.low, total.high + term.high)
    # The terms alternate and decrease, so the remainder is smaller than the last term, hence smaller than 1.
    return Interval(max(0, total.low - 1), total.high + 1)
