"""The natural logarithm with proven bounds, in integers only."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

_BITS = 160


@lru_cache(maxsize=1024)
def enclosed_log(number: Fraction) -> tuple[Fraction, Fraction]:
    """Return a number just below and one just above the logarithm of a number above 0."""
    # number = 2^doublings * part, with a part between 1/2 and 2; log(part) = 2 artanh((part - 1) / (part + 1)).
    doublings = number.numerator.bit_length() - number.denominator.bit_length()
    part = number / Fraction(2) ** doublings
    ratio = (part - 1) / (part + 1)
    low, high = _artanh(abs(ratio))
    low, high = (low, high) if ratio >= 0 else (-high, -low)
    two_low, two_high = _artanh(Fraction(1, 3))
    low += doublings * (two_low if doublings >= 0 else two_high)
    high += doublings * (two_high if doublings >= 0 else two_low)
    return Fraction(2 * low, 1 << _BITS), Fraction(2 * high, 1 << _BITS)


def _artanh(ratio: Fraction) -> tuple[int, int]:
    """Enclose ``2^bits * artanh(ratio)``, for a ratio from 0 to 1/3, by its series ratio^n / n over odd n."""
    top, bottom = ratio.numerator**2, ratio.denominator**2
    scaled = ratio.numerator << _BITS
    low, high = scaled // ratio.denominator, -(-scaled // ratio.denominator)
    total_low, total_high, order = low, high, 1
    while high > 1:
        low, high, order = low * top // bottom, -(-high * top // bottom), order + 2
        total_low, total_high = total_low + low // order, total_high - (-high // order)
    # The terms that are left fall at least ninefold each: together they are below the last, which is at most 1.
    return total_low, total_high + 1
