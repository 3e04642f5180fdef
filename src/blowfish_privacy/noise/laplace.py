"""The discrete Laplace distribution: sampled exactly, and how large it is.

``P(Z = z)`` is proportional to ``exp(-|z| / scale)`` over all integers, for a rational scale. Z is put
together from independent digits: a sign, digits of weight 1, 1024, 1024^2, ... and an unbounded leading
digit. Each has its own small exact table (:mod:`blowfish_privacy.noise.digit`), so that the cost grows with
the number of digits only. No floating-point number decides a probability.

Laplace noise of scales a > b, added up, exceeds t in size with probability (a^2 exp(-t/a) - b^2 exp(-t/b)) / (a^2 -
b^2). A discrete draw is the whole part of a continuous one plus some number between 0 and 1, with the same sign, so the
two are at most 1 apart (docs/proofs/mean_offsets.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, log
from typing import ClassVar

import numpy as np

from blowfish_privacy.errors import QueryError
from blowfish_privacy.noise.bits import BitSource, Interval, SystemSource, exp_negative, multiply
from blowfish_privacy.noise.digit import Digit, in_batches
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import Number, exact, positive, scientific, show


@dataclass(frozen=True)
class GeometricLaw:
    """``P(D = k)`` proportional to ``exp(-rate k)`` on 0 .. size - 1, or on all k >= 0 when size is None."""

    searched_past_the_table: ClassVar[bool] = False

    rate: Fraction
    size: int | None = None

    def survival(self, index: int, bits: int) -> Interval:
        """Enclose ``2^bits * P(D > index)``."""
        return self._truncate(exp_negative(self.rate * (index + 1), bits), self._end(bits), bits)

    def survivals(self, count: int, bits: int) -> Iterator[Interval]:
        """Enclose ``2^bits * P(D > index)`` for index 0 .. count - 1, far faster than one at a time."""
        ratio = power = exp_negative(self.rate, bits)
        end = self._end(bits)
        for _ in range(count):
            yield self._truncate(power, end, bits)
            power = multiply(power, ratio, bits)

    def _end(self, bits: int) -> Interval:
        return Interval(0, 0) if self.size is None else exp_negative(self.rate * self.size, bits)

    def _truncate(self, power: Interval, end: Interval, bits: int) -> Interval:
        """Enclose ``(power - end) / (1 - end)``, which falls as ``end`` grows."""
        if self.size is None:
            return power
        one = 1 << bits
        # Positive for every scale allowed: 1 - end is above 2^-50 and is known to 2^-90.
        low = (max(0, power.low - end.high) << bits) // (one - end.high)
        return Interval(low, -((end.low - power.high << bits) // (one - end.low)))


# Up to this scale a draw exceeds 64 bits with a probability below exp(-4000); such a draw is refused.
LARGEST_SCALE = 2**50
_LARGEST_MAGNITUDE = 2**62

_RADIX = 1024
# The leading table ends where a probability of 2^-20 is left: the rest is too rare to cost time.
_TAIL = 20 * math.log(2)


def discrete_laplace(scale: Number, size: int | Sequence[int], *, source: BitSource | None = None) -> Integers:
    """Draw independent integers with ``P(z)`` proportional to ``exp(-|z| / scale)``, exactly.

    ``scale`` is any positive number up to 2^50, taken exactly (a float at its printed value); ``size`` is a
    count or a shape. The bits come from the operating system unless a test gives another source.

    Error: variance ``2 q / (1 - q)^2`` with ``q = exp(-1 / scale)``, see ``noise.variance``.
    Cost: 64 random bits per sample up to scale 1024, then 32 more for each further factor of 1024;
    memory for the result and 3 MB. The first draw with a new scale builds its tables, in milliseconds.
    Numerics: exact; integers and intervals of integers decide every comparison.
    Proof: ``docs/proofs/discrete_laplace.md``.
    """
    sampler = _sampler(checked_scale(scale))
    bits = SystemSource() if source is None else source
    return in_batches(size, lambda count: sampler.draw(count, bits))


def checked_scale(scale: object) -> Fraction:
    """Turn a noise scale into a fraction, or refuse it."""
    number = positive(scale, "the noise scale", error=QueryError)
    if number > LARGEST_SCALE:
        raise QueryError(
            f"the noise scale must be at most 2^50 (about 1.1e15), got {scientific(number)}.",
            hint="larger noise would not fit 64-bit integers; spend more epsilon or count in larger units.",
        )
    return number


@dataclass(frozen=True, eq=False)
class _Sampler:
    """The digits of one scale, the most significant first."""

    leading: Digit
    digits: tuple[Digit, ...]
    sign: Digit

    def draw(self, count: int, source: BitSource) -> Integers:
        """Draw ``count`` samples: the sign digit turns a magnitude m into m or -1 - m."""
        magnitude = self._draw_leading(count, source)
        for digit in self.digits:
            magnitude *= _RADIX
            magnitude += digit.draw(count, source)
        # In two's complement, m XOR -1 is -1 - m and m XOR 0 is m.
        magnitude ^= -self.sign.draw(count, source)
        return magnitude

    def _draw_leading(self, count: int, source: BitSource) -> Integers:
        """Draw the unbounded digit; a draw past the table starts again from there, because the digit is memoryless."""
        span = self.leading.beyond
        values = self.leading.draw(count, source).astype(np.int64)
        beyond = np.flatnonzero(values == span)
        reached = span
        while beyond.size:
            reached += span
            if reached * _RADIX ** len(self.digits) > _LARGEST_MAGNITUDE:
                raise QueryError(
                    "a noise draw does not fit 64-bit integers.",
                    hint="this has a probability below exp(-4000); check the source of random bits.",
                )
            more = self.leading.draw(len(beyond), source)
            values[beyond] += more
            beyond = beyond[more == span]
        return values


# The most scales kept; one takes about 0.3 MB, and 1 MB at the largest scales.
@lru_cache(maxsize=32)
def _sampler(scale: Fraction) -> _Sampler:
    digits: list[Digit] = []
    weight = 1
    while scale / weight > _RADIX:
        digits.insert(0, Digit.tabulate(GeometricLaw(weight / scale, _RADIX), _RADIX - 1))
        weight *= _RADIX
    # Any length is exact: a float may choose it.
    length = 1 + int(_TAIL * float(scale / weight))
    leading = Digit.tabulate(GeometricLaw(weight / scale), length)
    return _Sampler(leading, tuple(digits), Digit.tabulate(GeometricLaw(1 / scale, 2), 1))


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
    return _quantile(1 / checked_scale(scale), checked_miss(level))


# Many answers with noise of one scale ask for the same one.
@lru_cache(maxsize=1024)
def _quantile(rate: Fraction, miss: Fraction) -> int:
    return least_covering(lambda bound: _covers(bound, rate, miss), _hint(rate, miss))


def least_covering(covers: Callable[[int], bool], guess: int) -> int:
    """Return the smallest whole number from 0 on that covers, as larger ones do, in growing steps from a guess."""
    bound, step = guess, 1
    while not covers(bound):
        bound, step = bound + step, 2 * step
    low, step = -1, 1  # the answer is above low
    while bound - step > low:
        if not covers(bound - step):
            low = bound - step
            break
        bound, step = bound - step, 2 * step
    while bound - low > 1:
        middle = (low + bound) // 2
        low, bound = (low, middle) if covers(middle) else (middle, bound)
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


_HALVINGS = 50
_EQUAL = 1e-6
"""Scales that differ by less than this share are taken for the larger one."""


def each_within(first: Fraction, times: float, second: Fraction, other: float, level: Number) -> float:
    """Return t with ``|times Z| + |other Y| <= t`` with probability ``level`` at least, for draws Z, Y of two scales.

    A scale of 0 means no noise. Each draw stays within a bound of its own with probability (1 + level) / 2.
    """
    share = 1 - checked_miss(level) / 2
    return sum(quantile(scale, share) * abs(factor) for scale, factor in ((first, times), (second, other)) if scale)


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
    if large - small < _EQUAL * large:
        return (1 + bound / (2 * large)) * exp(-bound / large)
    share = (small / large) ** 2
    return (exp(-bound / large) - share * exp(-bound / small)) / (1 - share)
