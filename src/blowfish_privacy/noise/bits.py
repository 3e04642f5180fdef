"""Where random bits come from, numbers with proven bounds, and how uniform numbers are compared with these.

Noise is only as secret as its bits. The one source for real releases is the operating system's generator; a
seeded source for tests lives in :mod:`blowfish_privacy.testing.seeded` and marks what it touches. Of a uniform number
only as many bits are drawn as a comparison takes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.errors import QueryError

WORD_BITS = 32
Words: TypeAlias = NDArray[np.uint32]


class BitSource(Protocol):
    """Independent, uniformly random 32-bit words.

    ``kind`` is written into every release document. ``private`` is False for a source whose words somebody
    can predict: a release made with it protects nobody and must say so.
    """

    kind: ClassVar[str]
    private: ClassVar[bool]

    def words(self, count: int) -> Words:
        """Return ``count`` fresh words; no word is ever handed out twice."""
        ...


class SystemSource:
    """The operating system's generator, ``os.urandom``.

    It keeps no state in this process, so a forked child cannot repeat its parent's noise and threads cannot
    share a word.
    """

    kind: ClassVar[str] = "operating system"
    private: ClassVar[bool] = True

    def words(self, count: int) -> Words:
        """Return ``count`` fresh words."""
        return np.frombuffer(os.urandom(count * (WORD_BITS // 8)), dtype=np.uint32)


class SimulationSource:
    """A :class:`BitSource` that everybody can reproduce: for public numbers only, never for a release.

    ``topic`` says what is simulated; different topics have independent sequences.
    """

    kind: ClassVar[str] = "simulation, not private"
    private: ClassVar[bool] = False

    def __init__(self, topic: str) -> None:
        self._generator = np.random.PCG64(int.from_bytes(sha256(topic.encode()).digest(), "big"))

    def words(self, count: int) -> Words:
        """Return the next ``count`` words of the topic's sequence."""
        return self._generator.random_raw((count + 1) // 2).astype("<u8").view("<u4")[:count]


# The exponential function with proven bounds, in integers only.
#
# Every probability of the sampler is made of ``exp(-x)`` for rational x. A number is held as an interval of integers
# ``low <= 2^bits * number <= high``: lower ends are rounded down and upper ends up at every step, so the true value
# never escapes. The width of the interval only matters for speed: a caller that cannot decide a question from it asks
# again with more bits.


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


# Uniform numbers of which only as many bits are drawn as a comparison takes.

GUARD_BITS = 64
# A true uniform number agrees so far with a given one with a probability of 2^-2048.
_MOST_BITS = 2048


class Uniform:
    """U in [0, 1), known as ``drawn <= 2^bits U < drawn + 1``; further bits come from the source when needed."""

    def __init__(self, drawn: int, bits: int, source: BitSource) -> None:
        self._drawn = drawn
        self._bits = bits
        self._source = source

    def below(self, enclose: Callable[[int], Interval]) -> bool:
        """Decide U < x, where ``enclose(bits)`` encloses ``2^bits x`` ever more narrowly."""
        while True:
            number = enclose(self._bits + GUARD_BITS)
            if self._drawn + 1 << GUARD_BITS <= number.low:
                return True
            if self._drawn << GUARD_BITS >= number.high:
                return False
            if self._bits >= _MOST_BITS:
                raise QueryError(
                    f"a noise draw is still open after {_MOST_BITS:,} bits.",
                    hint="this has a probability below 2^-2000; check the source of random bits.",
                )
            self._drawn = self._drawn << WORD_BITS | int(self._source.words(1)[0])
            self._bits += WORD_BITS
