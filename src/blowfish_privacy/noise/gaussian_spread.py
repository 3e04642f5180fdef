"""How large Gaussian noise is: the variance and the quantiles that a plan states before anything is drawn."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from blowfish_privacy.noise.discrete_gaussian import checked_variance
from blowfish_privacy.noise.exponential import Interval, exp_negative
from blowfish_privacy.noise.half_gaussian import HalfGaussianLaw
from blowfish_privacy.noise.spread import checked_miss
from blowfish_privacy.support.exact import Number

# From here on the variance is sigma^2 to more digits than a float has.
_SMOOTH = 4
# exp(-x) is below the smallest float from here on.
_UNDERFLOW = 1000
# Sums over all values are quick up to here.
_LARGEST_SUM = 2**20
_MOST_BITS = 1 << 14


def gaussian_variance(sigma_squared: Number) -> float:
    """Return the variance of one draw to about 13 digits.

    It is below ``sigma_squared``, the variance of the continuous Gaussian, and equal to it in all digits that a
    float has from sigma = 2 on: by Poisson's summation formula it differs by a factor of about
    ``8 pi^2 sigma^2 exp(-2 pi^2 sigma^2)``.
    """
    number = checked_variance(sigma_squared)
    if number >= _SMOOTH:
        return float(number)
    rate = float(min(1 / (2 * number), Fraction(_UNDERFLOW)))
    values = range(1, 40)  # exp(-40^2 / 8) is 10^-87
    weights = [math.exp(-rate * value**2) for value in values]
    return 2 * math.fsum(v**2 * w for v, w in zip(values, weights, strict=True)) / (1 + 2 * math.fsum(weights))


def gaussian_quantile(sigma_squared: Number, level: Number) -> int:
    """Return the smallest integer t with ``P(|Z| <= t) >= level``, for 0 < level < 1.

    Exact up to sigma 1024. Above, it may be 1 too large where the level is within ``1 / sigma^2`` of a
    probability that can be reached; it is never too small.
    """
    number = checked_variance(sigma_squared)
    miss = checked_miss(level)
    bound = _hint(number, miss)
    step = 1
    while not _covers(bound, number, miss):
        bound, step = bound + step, 2 * step
    low, step = -1, 1  # the answer is above low
    while bound - step > low:
        if not _covers(bound - step, number, miss):
            low = bound - step
            break
        bound, step = bound - step, 2 * step
    while bound - low > 1:
        middle = (low + bound) // 2
        low, bound = (low, middle) if _covers(middle, number, miss) else (middle, bound)
    return bound


def _hint(sigma_squared: Fraction, miss: Fraction) -> int:
    """Solve the question for the continuous Gaussian in floats, to start the search nearby."""
    if miss > 1e-300:
        deviations = -NormalDist().inv_cdf(float(miss) / 2)
    else:
        log_miss = math.log(miss.numerator) - math.log(miss.denominator)
        deviations = math.sqrt(-2 * log_miss - math.log(-2 * log_miss))
    return max(0, int(deviations * math.sqrt(sigma_squared)))


def _covers(bound: int, sigma_squared: Fraction, miss: Fraction) -> bool:
    """Decide ``P(|Z| > bound) <= miss``; what cannot be decided counts as false."""
    bits = 64 + miss.denominator.bit_length()
    if sigma_squared >= max(64, bits):
        decided = _compare(_tail_by_integral(bound, sigma_squared, bits), miss, bits)
        if decided is not None or sigma_squared > _LARGEST_SUM:
            return bool(decided)
    law = HalfGaussianLaw(sigma_squared, Fraction(1, 2))
    while bits <= _MOST_BITS:
        decided = _compare(law.survival(bound, bits), miss, bits)
        if decided is not None:
            return decided
        bits *= 2
    return False


def _compare(probability: Interval, miss: Fraction, bits: int) -> bool | None:
    wanted = miss * (1 << bits)
    if probability.high <= wanted:
        return True
    return False if probability.low > wanted else None


def _tail_by_integral(bound: int, sigma_squared: Fraction, bits: int) -> Interval:
    """Enclose ``2^bits P(|Z| > bound)`` where sigma^2 is at least 64 and at least ``bits``.

    With g(x) = exp(-x^2 / (2 sigma^2)) and T = bound + 1/2, the sum of g above the bound is the integral of g
    from T on, up to an eighth of the integral of ``|g''|``, which is at most g(T) max(2 / sigma, T / sigma^2).
    The sum over all integers is ``sigma sqrt(2 pi)``, and larger by a factor of at most 1 + 2^-bits.
    """
    start = bound + Fraction(1, 2)
    precision = 2 * bits + 32
    weight = exp_negative(start**2 / (2 * sigma_squared), precision)
    half = _half_integral(sigma_squared, precision)
    inner = _inner_integral(start, sigma_squared, weight, precision)
    error = math.ceil(weight.high * max(Fraction(2, math.isqrt(int(sigma_squared))), start / sigma_squared) / 8)
    low = max(0, half.low - inner.high - error)
    # The integral from T on is also at most g(T) sigma^2 / T, which decides where the difference is too coarse.
    high = min(half.high - inner.low, math.ceil(weight.high * sigma_squared / start)) + error
    return Interval((low << bits) // (half.high + (half.high >> bits) + 1), -(-(high << bits) // half.low))


def _inner_integral(start: Fraction, sigma_squared: Fraction, weight: Interval, precision: int) -> Interval:
    """Enclose the integral of g from 0 to T: ``T g(T) (1 + x/3 + x^2/(3 5) + ..)``, x = T^2 / sigma^2.

    The remainder after a term is below that term once ``x <= n``, where each is at most half of the one before.
    """
    x = start**2 / sigma_squared
    numerator, denominator = x.numerator, x.denominator
    low = high = low_total = high_total = 1 << precision
    order = 0
    while order < x or high > 1:
        order += 1
        divisor = denominator * (2 * order + 1)
        low, high = low * numerator // divisor, -(-high * numerator // divisor)
        low_total, high_total = low_total + low, high_total + high
    bottom = start.numerator * weight.low * low_total // start.denominator >> precision
    top = -(-start.numerator * weight.high * (high_total + high) // start.denominator) >> precision
    return Interval(bottom, top + 1)


def _half_integral(sigma_squared: Fraction, precision: int) -> Interval:
    """Enclose ``sigma sqrt(pi / 2)``, the integral of g from 0 on."""
    pi = _pi(2 * precision)
    low = math.isqrt(pi.low * sigma_squared.numerator // (2 * sigma_squared.denominator))
    return Interval(low, math.isqrt(pi.high * sigma_squared.numerator // (2 * sigma_squared.denominator)) + 1)


@lru_cache(maxsize=8)
def _pi(bits: int) -> Interval:
    """Enclose ``2^bits pi`` by Machin's formula ``16 arctan(1/5) - 4 arctan(1/239)``."""
    guard = 16
    fifth, small = _arctangent(5, bits + guard), _arctangent(239, bits + guard)
    low, high = 16 * fifth.low - 4 * small.high, 16 * fifth.high - 4 * small.low
    return Interval(low >> guard, (high >> guard) + 1)


def _arctangent(divisor: int, bits: int) -> Interval:
    """Enclose ``2^bits arctan(1 / divisor)`` by its alternating series."""
    power, total, order = (1 << bits) // divisor, 0, 0
    while power:
        total += power // (2 * order + 1) * (-1) ** order
        power //= divisor**2
        order += 1
    # Each term is at most 2 too low, and the remainder is below 1.
    return Interval(total - 2 * order - 1, total + 2 * order + 1)
