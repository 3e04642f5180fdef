"""A uniform random number, of which only as many bits are drawn as a comparison takes."""

from __future__ import annotations

from collections.abc import Callable

from blowfish_privacy.errors import QueryError
from blowfish_privacy.noise.exponential import Interval
from blowfish_privacy.noise.source import WORD_BITS, BitSource

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
            self._draw_word()

    def _draw_word(self) -> None:
        if self._bits >= _MOST_BITS:
            raise QueryError(
                f"a noise draw is still open after {_MOST_BITS:,} bits.",
                hint="this has a probability below 2^-2000; check the source of random bits.",
            )
        self._drawn = self._drawn << WORD_BITS | int(self._source.words(1)[0])
        self._bits += WORD_BITS
