"""One random digit, drawn exactly and many at a time.

A digit D takes the values 0, 1, 2, ... with probabilities that its law encloses. It is drawn by inversion: D is
the number of k with ``F_k = P(D <= k) <= U`` for a uniform U. Only the first 32 bits of U are drawn at first.
They settle D unless they equal the first 32 bits of some ``F_k``; then, and only then, further bits of the same
U are drawn until the comparison is certain. See ``docs/proofs/discrete_laplace.md``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Protocol, SupportsIndex, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.errors import QueryError, brief
from blowfish_privacy.noise.bits import GUARD_BITS, WORD_BITS, BitSource, Interval, Uniform, Words
from blowfish_privacy.support.arrays import Integers

# Temporary arrays of this length stay in the processor's cache, however many samples are asked for.
_BATCH = 1 << 16


def in_batches(size: int | Sequence[int], draw: Callable[[int], Integers]) -> Integers:
    """Fill an array of this size with what ``draw(count)`` returns, a batch at a time."""
    shape = tuple(_length(length) for length in size) if isinstance(size, tuple | list) else (_length(size),)
    result = np.empty(math.prod(shape), dtype=np.int64)
    for start in range(0, len(result), _BATCH):
        batch = result[start : start + _BATCH]
        batch[:] = draw(len(batch))
    return result.reshape(shape)


def _length(length: object) -> int:
    """Read a count, or refuse it."""
    try:
        number = -1 if isinstance(length, bool) else operator.index(cast(SupportsIndex, length))
    except TypeError:
        number = -1
    if number < 0:
        raise QueryError(
            f"the number of noise draws must be a whole number, 0 or above, or a shape; got {brief(length)}."
        )
    return number


Values: TypeAlias = NDArray[np.int16]

_GUIDE_BITS = 16
_UNSETTLED = -1
_LARGEST_VALUE = np.iinfo(np.int16).max
# A table that more bits than these do not settle is refused.
_MOST_BITS = 4096


class DigitLaw(Protocol):
    """The distribution of a digit, known by enclosures as narrow as anybody asks for.

    The lower end of an enclosure is always below the true probability, never equal to it.
    """

    searched_past_the_table: ClassVar[bool]
    """Whether a draw past the table is searched for with the same bits; otherwise its value is ``beyond``."""

    def survival(self, index: int, bits: int) -> Interval:
        """Enclose ``2^bits * P(D > index)``."""
        ...

    def survivals(self, count: int, bits: int) -> Iterator[Interval]:
        """Enclose ``2^bits * P(D > index)`` for index 0 .. count - 1."""
        ...


@dataclass(frozen=True, eq=False)
class Digit:
    """A distribution and its table.

    ``thresholds[k]`` holds the first 32 bits of ``F_k`` and ``following[k]`` the next 32, both exact.
    ``guide[h]`` is the digit of every word that begins with the 16 bits h, or -1 where a threshold begins with
    them. A value past the table is ``beyond``, or is searched for, as the law says.
    """

    law: DigitLaw
    thresholds: Words
    following: Words
    guide: Values

    @classmethod
    def tabulate(cls, law: DigitLaw, count: int) -> Digit:
        """Build the table of the first ``count`` thresholds (at most 32,767)."""
        floors = np.array(_floors(law, count), dtype=np.uint64)
        thresholds = (floors >> np.uint64(WORD_BITS)).astype(np.uint32)
        within = np.bincount(thresholds >> (WORD_BITS - _GUIDE_BITS), minlength=1 << _GUIDE_BITS)
        before = np.cumsum(within) - within
        guide = np.where(within == 0, before, _UNSETTLED).astype(np.int16)
        digit = cls(law, thresholds, floors.astype(np.uint32), guide)
        # The tables are cached and shared between threads.
        for table in (digit.thresholds, digit.following, digit.guide):
            table.setflags(write=False)
        return digit

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
        equal = self.thresholds.take(values, mode="clip") == words
        for index in np.flatnonzero(equal):
            values[index] = self._resolve(int(values[index]), int(words[index]), source)
        return values.astype(np.int16)

    def _resolve(self, index: int, word: int, source: BitSource) -> int:
        """Settle a draw U whose first bits are those of ``F_index``, and of no threshold before it."""
        following = int(source.words(1)[0])
        while index < self.beyond and self.thresholds[index] == word and self.following[index] < following:
            index += 1
        if index < self.beyond:
            settled = self.thresholds[index] != word or self.following[index] != following
        else:
            settled = not self.law.searched_past_the_table
        return index if settled else self._search_on(index, Uniform(word << WORD_BITS | following, 64, source))

    def _search_on(self, index: int, uniform: Uniform) -> int:
        """Settle a draw that 64 bits do not settle, from ``index`` on."""
        end = _LARGEST_VALUE if self.law.searched_past_the_table else self.beyond
        while index < end and not uniform.below(partial(self._cumulative, index)):
            index += 1
        if index == _LARGEST_VALUE:
            raise QueryError(
                f"a digit of a noise draw is {_LARGEST_VALUE:,} or more.",
                hint="this has a probability below exp(-500); check the source of random bits.",
            )
        return index

    def _cumulative(self, index: int, bits: int) -> Interval:
        """Enclose ``2^bits F_index``."""
        one, survival = 1 << bits, self.law.survival(index, bits)
        return Interval(one - survival.high, one - survival.low)


def _floors(law: DigitLaw, count: int) -> list[int]:
    """Compute the true ``floor(2^64 F_k)``, with as many bits as it takes to be certain of every one."""
    bits = 2 * WORD_BITS + GUARD_BITS
    while bits <= _MOST_BITS:
        shift, one = bits - 2 * WORD_BITS, 1 << bits
        enclosures = list(law.survivals(count, bits))
        lower = [one - survival.high >> shift for survival in enclosures]
        # F_k lies strictly below the upper end.
        upper = [one - survival.low - 1 >> shift for survival in enclosures]
        if lower == upper:
            return lower
        bits *= 2
    raise QueryError(
        "a probability of this noise is too close to a multiple of 2^-64 to be tabulated.",
        hint="no such noise is known; change a far digit of its scale.",
    )
