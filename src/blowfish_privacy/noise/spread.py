"""How large the noise is: the variance and the quantiles that a plan states before anything is drawn."""

from __future__ import annotations

import math
from fractions import Fraction

from blowfish_privacy.errors import QueryError
from blowfish_privacy.noise.discrete_laplace import checked_scale
from blowfish_privacy.noise.exponential import exp_negative
from blowfish_privacy.support.exact import Number, exact, show

# exp(-x) is below the smallest float from here on.
_UNDERFLOW = 1000


def variance(scale: Number) -> float:
    """Return the variance ``2 q / (1 - q)^2`` of one draw, q = exp(-1 / scale), to about 13 digits.

    It equals ``1 / (2 sinh(1 / (2 scale))^2)`` and is therefore below ``2 scale^2``, the variance of the
    continuous Laplace distribution: whole numbers cost no accuracy.
    """
    rate = float(min(1 / checked_scale(scale), Fraction(_UNDERFLOW)))
    return 2 * math.exp(-rate) / math.expm1(-rate) ** 2


def quantile(scale: Number, level: Number) -> int:
    """Return the smallest integer t with ``P(|Z| <= t) >= level``, for 0 < level < 1, exactly."""
    rate = 1 / checked_scale(scale)
    miss = checked_miss(level)
    bound = _hint(rate, miss)
    while not _covers(bound, rate, miss):
        bound += 1
    while bound > 0 and _covers(bound - 1, rate, miss):
        bound -= 1
    return bound


def checked_miss(level: Number) -> Fraction:
    """Return 1 - level, for a level between 0 and 1."""
    miss = 1 - exact(level, "the level", error=QueryError)
    if not 0 < miss < 1:
        given = show(1 - miss)
        raise QueryError(f"the level must lie between 0 and 1, got {given}.", hint="write it as 0.95, for example.")
    return miss


def _hint(rate: Fraction, miss: Fraction) -> int:
    """Solve ``2 q^(t + 1) / (1 + q) = miss`` in floats, to start the exact search nearby."""
    log_miss = math.log(miss.numerator) - math.log(miss.denominator)
    q = math.exp(-float(min(rate, Fraction(_UNDERFLOW))))
    return max(0, int(Fraction(math.log(2 / (1 + q)) - log_miss) / rate))


def _covers(bound: int, rate: Fraction, miss: Fraction) -> bool:
    """Decide ``P(|Z| > bound) = 2 q^(bound + 1) / (1 + q) <= miss``; equality is impossible for rationals."""
    bits = 64
    while True:
        power, ratio = exp_negative(rate * (bound + 1), bits), exp_negative(rate, bits)
        one = 1 << bits
        if 2 * power.high <= miss * (one + ratio.low):
            return True
        if 2 * power.low > miss * (one + ratio.high):
            return False
        bits *= 2
