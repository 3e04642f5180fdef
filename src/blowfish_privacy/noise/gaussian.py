"""The discrete Gaussian distribution: sampled exactly, and how large it is.

``P(Z = z)`` is proportional to ``exp(-z^2 / (2 sigma^2))`` over all integers, for a rational sigma^2. Up to sigma
1024 the magnitude has an exact table (:mod:`blowfish_privacy.noise.digit`) and the sign is a bit. Above, a table
gives the leading digit, random bits the rest, and a candidate is accepted with the probability that makes up for
what the digit leaves out. No floating-point number decides a probability: floats settle an acceptance only where
their proven error leaves no doubt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate
from statistics import NormalDist
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.errors import QueryError
from blowfish_privacy.noise.bits import WORD_BITS, BitSource, Interval, SystemSource, Uniform, Words, exp_negative
from blowfish_privacy.noise.digit import Digit, Values, in_batches
from blowfish_privacy.noise.laplace import checked_miss, least_covering
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.exact import Number, positive, scientific


@dataclass(frozen=True)
class HalfGaussianLaw:
    """``P(D = k)`` proportional to ``exp(-k^2 / (2 sigma_squared))`` for k = 1, 2, .. and to ``zero`` for k = 0.

    ``zero`` is 1 for the half of the bell from 0 on, and 1/2 for the magnitude of a discrete Gaussian, whose
    other values all come with two signs.
    """

    searched_past_the_table: ClassVar[bool] = True

    sigma_squared: Fraction
    zero: Fraction

    def survival(self, index: int, bits: int) -> Interval:
        """Enclose ``2^bits * P(D > index)``."""
        return self._encloser(bits)(index)

    def survivals(self, count: int, bits: int) -> Iterator[Interval]:
        """Enclose ``2^bits * P(D > index)`` for index 0 .. count - 1."""
        return map(self._encloser(bits), range(count))

    def _encloser(self, bits: int) -> Callable[[int], Interval]:
        """Return what encloses ``S_index / (zero + S_0)``, of which the sums give both S too low by up to slack."""
        sums, slack = tail_sums(self.sigma_squared, bits)
        largest = int(self.zero * (1 << bits)) + sums[0] + slack
        # The two ends differ by at most 2 slack / (zero + S_0), and zero is at least 1/2.
        width = 4 * slack + 1

        def enclose(index: int) -> Interval:
            low = (sums[index] << bits) // largest if index < len(sums) else 0
            return Interval(low, low + width)

        return enclose

    def length(self, bits: int) -> int:
        """How many values come before a tail of about ``2^-bits``."""
        return _last(self.sigma_squared, bits) + 1


# A draw that needs more bits than the table holds asks for all of its comparisons with the same bits.
@lru_cache(maxsize=2)
def tail_sums(sigma_squared: Fraction, bits: int) -> tuple[list[int], int]:
    """Add up weights: ``sums[k] < 2^bits * sum over j > k of exp(-j^2 / (2 sigma^2)) <= sums[k] + slack``.

    All of them are rounded down; ``slack`` bounds what that and the end leave out.
    Weights follow from ``w_(j+1) = w_j r_j`` and ``r_(j+1) = r_j q``. If r_0 and q are at most ``width`` too
    low, then r_j is at most (width + 1)(j + 1) too low and w_j at most (width + 1) j (j + 1) / 2.
    """
    ratio, step = exp_negative(1 / (2 * sigma_squared), bits), exp_negative(1 / sigma_squared, bits)
    width = max(ratio.high - ratio.low, step.high - step.low)
    last = _last(sigma_squared, bits)
    weight, factor, constant = 1 << bits, ratio.low, step.low
    weights: list[int] = []
    for _ in range(last):
        weight = weight * factor >> bits
        factor = factor * constant >> bits
        weights.append(weight)
    weights.reverse()
    sums = list(accumulate(weights, initial=0))
    sums.reverse()
    # The weights behind the last sum to less than last + 2.
    return sums, (width + 1) * last * (last + 1) * (last + 2) // 6 + last + 2


def _last(sigma_squared: Fraction, bits: int) -> int:
    """Return an index behind which every weight is below ``2^-bits``: 0.7 is more than log 2."""
    return math.isqrt(int(Fraction(7, 5) * sigma_squared * bits))


Decisions: TypeAlias = NDArray[np.bool_]
HalfWords: TypeAlias = NDArray[np.uint16]

# Up to here every draw fits 64 bits: a leading digit below 2^15, and at most 44 more bits.
LARGEST_VARIANCE = 2**100

_LARGEST_TABLE = 2**20
_LEADING_SIGMA = 64
_TABLE_BITS = 64
_HALF_BITS = 16
# Floats decide where they are further than this from the boundary; their error is below 2^-40, see the proof.
_GUARD = 2.0**-40
_FARTHEST = 16.0


def discrete_gaussian(sigma_squared: Number, size: int | Sequence[int], *, source: BitSource | None = None) -> Integers:
    """Draw independent integers with ``P(z)`` proportional to ``exp(-z^2 / (2 sigma_squared))``, exactly.

    ``sigma_squared`` is any positive number up to 2^100, taken exactly (a float at its printed value); ``size`` is
    a count or a shape. The bits come from the operating system unless a test gives another source.

    Error: a variance of at most ``sigma_squared``, see ``noise.gaussian_variance``.
    Cost: 33 random bits per sample up to sigma 1024, then about 66 to 100; memory for the result and 4 MB. The first
    draw with a new sigma up to 1024 builds its table, in milliseconds.
    Numerics: exact; integers, and floats with a proven error, decide every comparison.
    Proof: ``docs/proofs/discrete_gaussian.md``.
    """
    sampler = _sampler(checked_variance(sigma_squared))
    bits = SystemSource() if source is None else source
    return in_batches(size, lambda count: sampler.draw(count, bits))


def checked_variance(sigma_squared: object) -> Fraction:
    """Turn sigma^2 into a fraction, or refuse it."""
    number = positive(sigma_squared, "sigma^2 of the noise", error=QueryError)
    if number > LARGEST_VARIANCE:
        raise QueryError(
            f"sigma^2 of the noise must be at most 2^100 (about 1.3e30), got {scientific(number)}.",
            hint="larger noise would not fit 64-bit integers; spend more of the budget or count in larger units.",
        )
    return number


@dataclass(frozen=True, eq=False)
class _Tabulated:
    """A table of all magnitudes."""

    magnitude: Digit

    def draw(self, count: int, source: BitSource) -> Integers:
        """Draw magnitudes and signs; the magnitude 0 is the same with either sign."""
        values = self.magnitude.draw(count, source).astype(np.int64)
        negative = _bits(count, source)
        # In two's complement, (m XOR -1) + 1 is -m.
        values ^= -negative
        values += negative
        return values


@dataclass(frozen=True, eq=False)
class _Composed:
    """A leading digit q, ``shift`` uniform bits r and a sign s make z = m or -1 - m from m = 2^shift q + r.

    Candidates come with a probability proportional to ``exp(-(q / width)^2 / 2)``. They are accepted with the
    probability ``exp(-E)``, E = ((m + s)^2 / sigma^2 - (q / width)^2) / 2, and m + s is the magnitude of z.
    ``accepted[q] / 2^16`` is below that probability for every r and s.
    """

    sigma_squared: Fraction
    shift: int
    width: int
    leading: Digit
    accepted: HalfWords

    @classmethod
    def of(cls, sigma_squared: Fraction) -> _Composed:
        """Choose digits such that width * 2^shift is the least multiple of 2^shift from sigma on."""
        shift = 0
        while _LEADING_SIGMA**2 << 2 * shift < sigma_squared:
            shift += 1
        width = math.isqrt(math.ceil(sigma_squared / 4**shift) - 1) + 1
        leading = _leading(width)
        # The exponent is largest at r + s = 2^shift.
        scale = 2 * sigma_squared.numerator * width**2
        near = sigma_squared.denominator * width**2 << 2 * shift
        exponents = [near * (q + 1) ** 2 - sigma_squared.numerator * q**2 for q in range(leading.beyond)]
        accepted = [max(0, (scale - exponent << _HALF_BITS) // scale) for exponent in exponents]
        # Digits past the table come last, and are left to the exact decision.
        return cls(sigma_squared, shift, width, leading, np.array([*accepted, 0], dtype=np.uint16))

    def draw(self, count: int, source: BitSource) -> Integers:
        """Draw candidates until ``count`` are accepted."""
        values = np.empty(count, dtype=np.int64)
        filled = 0
        while filled < count:
            accepted = self._candidates(count - filled, source)
            values[filled : filled + len(accepted)] = accepted
            filled += len(accepted)
        return values

    def _candidates(self, count: int, source: BitSource) -> Integers:
        """Draw ``count`` candidates and return those accepted."""
        digits = self.leading.draw(count, source)
        magnitude = digits.astype(np.int64)
        _append_bits(magnitude, self.shift, source)
        negative = _bits(count, source)
        uniform = _half_words(count, source)
        accepted = uniform < self.accepted.take(digits, mode="clip")
        open_ = np.flatnonzero(~accepted)
        if open_.size:
            words = uniform[open_] * np.uint32(1 << _HALF_BITS) + _half_words(open_.size, source)
            accepted[open_] = self._decide(digits[open_], magnitude[open_] + negative[open_], words, source)
        # In two's complement, m XOR -1 is -1 - m.
        magnitude ^= np.negative(negative, out=negative)
        return magnitude[accepted]

    def _decide(self, digits: Values, magnitude: Integers, words: Words, source: BitSource) -> Decisions:
        """Decide U < exp(-E) for uniform numbers U that begin with ``words``."""
        far = magnitude * (1 / math.sqrt(self.sigma_squared))
        near = digits / self.width
        exponent = (far - near) * (far + near) / 2
        below, above = _exponential_bounds(exponent)
        begun = words * 2.0**-WORD_BITS
        accepted = begun + 2.0**-WORD_BITS <= below - _GUARD
        known = (far <= _FARTHEST) & (exponent <= 1) & (accepted | (begun >= above + _GUARD))
        for index in np.flatnonzero(~known):
            apart = int(magnitude[index]) ** 2 / self.sigma_squared - Fraction(int(digits[index]), self.width) ** 2
            uniform = Uniform(int(words[index]), WORD_BITS, source)
            accepted[index] = uniform.below(partial(exp_negative, apart / 2))
        return accepted


def _exponential_bounds(exponent: Floats) -> tuple[Floats, Floats]:
    """Return two sums of the series of ``exp(-x)``, which lie below and above it for every x >= 0."""
    below = np.ones_like(exponent)
    for term in range(7, 0, -1):
        below = 1 - exponent / term * below
    fourth = exponent * exponent * exponent * exponent
    return below, below + fourth * fourth / math.factorial(8)


def _bits(count: int, source: BitSource) -> Integers:
    """Draw ``count`` fair bits."""
    words = source.words(-(-count // WORD_BITS))
    return np.unpackbits(words.view(np.uint8), count=count).astype(np.int64)


def _append_bits(values: Integers, bits: int, source: BitSource) -> None:
    """Append uniform bits to each value."""
    while bits:
        taken = min(bits, _HALF_BITS)
        values <<= taken
        values |= _half_words(len(values), source) >> np.uint16(_HALF_BITS - taken)
        bits -= taken


def _half_words(count: int, source: BitSource) -> HalfWords:
    """Draw uniform 16-bit words, two of them from each word."""
    return source.words(-(-count // 2)).view(np.uint16)[:count]


# The most tables kept; one takes about 0.2 MB.
@lru_cache(maxsize=32)
def _sampler(sigma_squared: Fraction) -> _Tabulated | _Composed:
    if sigma_squared > _LARGEST_TABLE:
        return _Composed.of(sigma_squared)
    law = HalfGaussianLaw(sigma_squared, Fraction(1, 2))
    return _Tabulated(Digit.tabulate(law, law.length(_TABLE_BITS)))


# There are 32 of them, from 33 to 64.
@lru_cache(maxsize=32)
def _leading(width: int) -> Digit:
    law = HalfGaussianLaw(Fraction(width**2), Fraction(1))
    return Digit.tabulate(law, law.length(_TABLE_BITS))


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
    return least_covering(lambda bound: _covers(bound, number, miss), _hint(number, miss))


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
