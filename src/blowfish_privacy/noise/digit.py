"""One random digit, drawn exactly and many at a time.

A digit D takes the values 0, 1, 2, ... with ``P(D = k)`` proportional to ``exp(-rate k)``. It is drawn by
inversion: D is the number of k with ``F_k = P(D <= k) <= U`` for a uniform U. Only the first 32 bits of U are
drawn at first. They settle D unless they equal the first 32 bits of some ``F_k``; then, and only then,
further bits of the same U are drawn until the comparison is certain. See ``docs/proofs/discrete_laplace.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.noise.exponential import Interval, exp_negative, multiply
from blowfish_privacy.noise.source import WORD_BITS, BitSource, Words

Values: TypeAlias = NDArray[np.int16]

_GUIDE_BITS = 16
_UNSETTLED = -1
_GUARD_BITS = 64


@dataclass(frozen=True)
class DigitLaw:
    """``P(D = k)`` proportional to ``exp(-rate k)`` on 0 .. size - 1, or on all k >= 0 when size is None."""

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


@dataclass(frozen=True, eq=False)
class Digit:
    """A distribution and its table.

    ``thresholds[k]`` is the true ``floor(2^32 F_k)``. ``guide[h]`` is the digit of every word that begins
    with the 16 bits h, or -1 where a threshold begins with them. A value past the table is ``beyond``.
    """

    law: DigitLaw
    thresholds: Words
    guide: Values

    @classmethod
    def tabulate(cls, law: DigitLaw, count: int) -> Digit:
        """Build the table of the first ``count`` thresholds (at most 32,767)."""
        thresholds = np.array(_thresholds(law, count), dtype=np.uint32)
        within = np.bincount(thresholds >> (WORD_BITS - _GUIDE_BITS), minlength=1 << _GUIDE_BITS)
        before = np.cumsum(within) - within
        guide = np.where(within == 0, before, _UNSETTLED).astype(np.int16)
        # The tables are cached and shared between threads.
        thresholds.setflags(write=False)
        guide.setflags(write=False)
        return cls(law, thresholds, guide)

    @property
    def beyond(self) -> int:
        """The value of every draw past the last threshold."""
        return len(self.thresholds)

    def draw(self, count: int, source: BitSource) -> Values:
        """Draw ``count`` independent digits."""
        words = source.words(count)
        values = self.guide.take(words >> (WORD_BITS - _GUIDE_BITS))
        unsettled = np.flatnonzero(values == _UNSETTLED)
        if unsettled.size:
            values[unsettled] = self._search(words[unsettled], source)
        return values

    def _search(self, words: Words, source: BitSource) -> Values:
        values = np.searchsorted(self.thresholds, words, side="left")
        equal = np.searchsorted(self.thresholds, words, side="right") != values
        for index in np.flatnonzero(equal):
            values[index] = self._resolve(int(values[index]), int(words[index]), source)
        return values.astype(np.int16)

    def _resolve(self, index: int, word: int, source: BitSource) -> int:
        """Settle a draw U whose first bits are those of ``F_index``, and of no threshold before it."""
        drawn, bits = word, WORD_BITS  # drawn <= 2^bits U < drawn + 1
        while index < self.beyond:
            survival = self.law.survival(index, bits + _GUARD_BITS)
            one = 1 << bits + _GUARD_BITS
            if drawn + 1 << _GUARD_BITS <= one - survival.high:
                return index
            if drawn << _GUARD_BITS >= one - survival.low:
                index += 1
            else:
                drawn = drawn << WORD_BITS | int(source.words(1)[0])
                bits += WORD_BITS
        return index


def _thresholds(law: DigitLaw, count: int) -> list[int]:
    """Compute the true ``floor(2^32 F_k)``, with as many bits as it takes to be certain of every one."""
    bits = WORD_BITS + _GUARD_BITS
    while True:
        shift, one = bits - WORD_BITS, 1 << bits
        enclosures = list(law.survivals(count, bits))
        lower = [one - survival.high >> shift for survival in enclosures]
        # F_k is irrational, so it lies strictly below the upper end.
        upper = [one - survival.low - 1 >> shift for survival in enclosures]
        if lower == upper:
            return lower
        bits *= 2
