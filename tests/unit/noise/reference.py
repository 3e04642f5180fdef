"""What the noise tests compare with: arithmetic that shares no code with the sampler, and scripted bits."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import ClassVar

import numpy as np

from blowfish_privacy.noise.laplace import GeometricLaw

# The decimal module rounds exp correctly, so 200 digits leave an error far below 10^-190 for what follows.
DIGITS = 200


class ScriptedSource:
    """Hands out exactly the words it is given, and fails when asked for one more."""

    kind: ClassVar[str] = "scripted"
    private: ClassVar[bool] = False

    def __init__(self, words: Iterable[int]) -> None:
        self.left = list(words)

    def words(self, count: int) -> np.ndarray:
        if count > len(self.left):
            raise LookupError("the script has no more words")
        taken, self.left = self.left[:count], self.left[count:]
        return np.array(taken, dtype=np.uint32)


def cumulative(law: GeometricLaw, index: int) -> Decimal:
    """P(D <= index), from the decimal module."""
    with localcontext() as context:
        context.prec = DIGITS + 50
        power = _exp(law.rate * (index + 1))
        return (1 - power) if law.size is None else (1 - power) / (1 - _exp(law.rate * law.size))


def floor_times_power_of_two(number: Decimal, bits: int) -> int:
    """floor(2^bits number), refusing when the decimal places do not decide it."""
    with localcontext() as context:
        context.prec = DIGITS + 50
        slack = Decimal(10) ** -(DIGITS - 10)
        ends = {int((end * 2**bits).to_integral_value(ROUND_FLOOR)) for end in (number - slack, number + slack)}
    (only,) = ends
    return only


def invert(law: GeometricLaw, uniform: Fraction, count: int) -> int:
    """The number of k < count with F_k <= uniform: the digit that inversion gives."""
    return sum(Fraction(cumulative(law, index)) <= uniform for index in range(count))


def _exp(exponent: Fraction) -> Decimal:
    return (-Decimal(exponent.numerator) / exponent.denominator).exp()
