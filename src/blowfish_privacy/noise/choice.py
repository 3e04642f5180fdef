"""One of several alternatives, with probabilities exactly proportional to their weights, which have proven bounds.

A choice among alternatives compares weights such as ``exp(10^15)`` with each other. A weight is held as two
integers and a power of two, ``low 2^exponent <= weight <= high 2^exponent``: lower ends are rounded down and upper
ends up at every step, so the true weight never escapes. See ``docs/proofs/packings.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from blowfish_privacy.noise.bits import WORD_BITS, BitSource, Interval, Uniform, ceiling_shift, exp_negative


class Weight(NamedTuple):
    """Two integers and a power of two that enclose a positive number."""

    low: int
    high: int
    exponent: int


ONE = Weight(1, 1, 0)


def exponential_weight(power: Fraction, bits: int) -> Weight:
    """Enclose ``exp(power)`` with about so many bits: ``2^halvings exp(-rest)``, where the rest is from 0 to 1."""
    # The whole part of the power needs its own bits; steps of 64 let most calls share one logarithm.
    working = 64 * (2 + (bits + int(abs(power)).bit_length()) // 64)
    logarithm = logarithm_of_two(working)
    scaled = power * 2**working
    # Rounded up and by the end that makes it largest, so that the rest is never negative.
    halvings = -int(-scaled // (logarithm.low if power >= 0 else logarithm.high))
    ends = sorted((halvings * logarithm.low, halvings * logarithm.high))
    smallest, largest = int((ends[0] - scaled) // 1), -int((scaled - ends[1]) // 1)
    low, high = exp_negative(Fraction(largest, 2**working), bits)
    # exp(-x) falls by less than its argument rises.
    return Weight(low, high + 1 + (largest - smallest >> working - bits), halvings - bits)


def product(left: Weight, right: Weight) -> Weight:
    """Enclose a product; it has the bits of both factors."""
    return Weight(left.low * right.low, left.high * right.high, left.exponent + right.exponent)


def total(weights: Sequence[Weight], bits: int) -> Weight:
    """Enclose a sum, with so many bits at most."""
    enclosures, exponent = aligned(weights, bits)
    low, high = sum(number.low for number in enclosures), sum(number.high for number in enclosures)
    excess = max(0, high.bit_length() - bits)
    return Weight(low >> excess, ceiling_shift(high, excess), exponent + excess)


def aligned(weights: Sequence[Weight], bits: int) -> tuple[list[Interval], int]:
    """Enclose weights as multiples of one power of two, which is also returned, at most ``bits`` below the largest."""
    largest = max(weight.exponent + weight.high.bit_length() for weight in weights)
    exponent = max(largest - bits, min(weight.exponent for weight in weights))
    return [_shifted(weight, exponent - weight.exponent) for weight in weights], exponent


def _shifted(weight: Weight, shift: int) -> Interval:
    if shift <= 0:
        return Interval(weight.low << -shift, weight.high << -shift)
    # A weight that is far too small for the others, however far, becomes the enclosure from 0 to 1.
    return Interval(weight.low >> shift, ceiling_shift(weight.high, shift))


@lru_cache(maxsize=16)
def logarithm_of_two(bits: int) -> Interval:
    """Enclose ``2^bits log(2)``, which is twice the sum of ``1 / (j 3^j)`` over the odd j."""
    power, odd, low = (2 << bits) // 3, 1, 0
    while power:
        low += power // odd
        power //= 9
        odd += 2
    # Each term is rounded down by less than 1, and those left out are less than 2 together.
    return Interval(low, low + odd // 2 + 2)


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
    first, last = 0, len(shares.lows) - 1
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

    def cumulative(self, index: int, bits: int) -> Interval:
        """Enclose ``2^bits`` times the share of all weights up to this one."""
        while self._bits < bits + _SPARE_BITS:
            self._enclose(2 * self._bits)
        low, high = self.lows[index], self._highs[index]
        return Interval((low << bits) // self._highs[-1], -((-high << bits) // self.lows[-1]))

    def _enclose(self, bits: int) -> None:
        enclosures, _ = aligned(self._weights(bits), bits)
        self._bits = bits
        self.lows = list(accumulate(number.low for number in enclosures))
        self._highs = list(accumulate(number.high for number in enclosures))
