"""One of several alternatives, with probabilities exactly proportional to their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import TypeAlias

from blowfish_privacy.noise.exponential import Interval
from blowfish_privacy.noise.source import WORD_BITS, BitSource
from blowfish_privacy.noise.uniform import Uniform
from blowfish_privacy.noise.weight import Weight, aligned

EncloseWeights: TypeAlias = Callable[[int], Sequence[Weight]]
"""Encloses the weights of all alternatives with about so many bits."""

_FIRST_BITS = 128
# Weights are sums over many alternatives, each of them rounded: their last bits are not to be relied upon for speed.
_SPARE_BITS = 32


def choose(weights: EncloseWeights, source: BitSource) -> int:
    """Draw one index: index i with the probability of weight i divided by the sum of all weights.

    It is the number of i with ``F_i <= U`` for one uniform U, where F_i is the share of weights 0 .. i. A comparison
    that the enclosures leave open is made again, with further bits of the same U and narrower weights.
    """
    shares = _Shares(weights)
    first, last = 0, shares.count - 1
    uniform = Uniform(int(source.words(1)[0]), WORD_BITS, source)
    while first < last:
        middle = (first + last) // 2
        if uniform.below(partial(shares.cumulative, middle)):
            last = middle
        else:
            first = middle + 1
    return first


def uniform_below(bound: int, source: BitSource) -> int:
    """Draw a whole number from 0 to bound - 1, each with the same probability."""
    words = -(-bound.bit_length() // WORD_BITS)
    while True:
        number = 0
        for word in source.words(words):
            number = number << WORD_BITS | int(word)
        # Whole rounds of the bound fit below this limit, and what lies beyond is drawn again.
        limit = (1 << words * WORD_BITS) // bound * bound
        if number < limit:
            return number % bound


class _Shares:
    """The cumulative shares of weights, enclosed as narrowly as a comparison takes."""

    def __init__(self, weights: EncloseWeights) -> None:
        self._weights = weights
        self._enclose(_FIRST_BITS)

    @property
    def count(self) -> int:
        return len(self._lows)

    def cumulative(self, index: int, bits: int) -> Interval:
        """Enclose ``2^bits`` times the share of all weights up to this one."""
        while self._bits < bits + _SPARE_BITS:
            self._enclose(2 * self._bits)
        low, high = self._lows[index], self._highs[index]
        return Interval((low << bits) // self._highs[-1], -((-high << bits) // self._lows[-1]))

    def _enclose(self, bits: int) -> None:
        parts, _ = aligned(self._weights(bits), bits)
        self._bits = bits
        self._lows = list(accumulate(part.low for part in parts))
        self._highs = list(accumulate(part.high for part in parts))
