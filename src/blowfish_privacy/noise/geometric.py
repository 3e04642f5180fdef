"""The law of a digit of Laplace noise: each value is less likely than the one before by the same factor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from blowfish_privacy.noise.exponential import Interval, exp_negative, multiply


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
