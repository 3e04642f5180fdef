"""The discrete Gaussian distribution, sampled exactly.

``P(Z = z)`` is proportional to ``exp(-z^2 / (2 sigma^2))`` over all integers, for a rational sigma^2. Up to sigma
1024 the magnitude has an exact table (:mod:`blowfish_privacy.noise.digit`) and the sign is a bit. Above, a table
gives the leading digit, random bits the rest, and a candidate is accepted with the probability that makes up for
what the digit leaves out. No floating-point number decides a probability: floats settle an acceptance only where
their proven error leaves no doubt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.errors import QueryError
from blowfish_privacy.noise.batches import in_batches
from blowfish_privacy.noise.digit import Digit, Values
from blowfish_privacy.noise.exponential import exp_negative
from blowfish_privacy.noise.half_gaussian import HalfGaussianLaw
from blowfish_privacy.noise.source import WORD_BITS, BitSource, SystemSource, Words
from blowfish_privacy.noise.uniform import Uniform
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.exact import Number, positive, scientific

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


class _Sampler(Protocol):
    def draw(self, count: int, source: BitSource) -> Integers:
        """Draw ``count`` samples."""
        ...


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
        uniform = words * 2.0**-WORD_BITS
        accepted = uniform + 2.0**-WORD_BITS <= below - _GUARD
        known = (far <= _FARTHEST) & (exponent <= 1) & (accepted | (uniform >= above + _GUARD))
        for index in np.flatnonzero(~known):
            place = int(digits[index]), int(magnitude[index])
            accepted[index] = self._decide_exactly(*place, Uniform(int(words[index]), WORD_BITS, source))
        return accepted

    def _decide_exactly(self, digit: int, magnitude: int, uniform: Uniform) -> bool:
        exponent = (magnitude**2 / self.sigma_squared - Fraction(digit, self.width) ** 2) / 2
        return uniform.below(lambda bits: exp_negative(exponent, bits))


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
def _sampler(sigma_squared: Fraction) -> _Sampler:
    if sigma_squared > _LARGEST_TABLE:
        return _Composed.of(sigma_squared)
    law = HalfGaussianLaw(sigma_squared, Fraction(1, 2))
    return _Tabulated(Digit.tabulate(law, law.length(_TABLE_BITS)))


# There are 32 of them, from 33 to 64.
@lru_cache(maxsize=32)
def _leading(width: int) -> Digit:
    law = HalfGaussianLaw(Fraction(width**2), Fraction(1))
    return Digit.tabulate(law, law.length(_TABLE_BITS))
