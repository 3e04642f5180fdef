"""The law of a magnitude of Gaussian noise: weights ``exp(-k^2 / (2 sigma^2))``, summed with a proven error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import ClassVar, NamedTuple

from blowfish_privacy.noise.exponential import Interval, exp_negative


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


class TailSums(NamedTuple):
    """Sums of weights: ``sums[k] < 2^bits * sum over j > k of exp(-j^2 / (2 sigma^2)) <= sums[k] + slack``."""

    sums: list[int]
    slack: int


# A draw that needs more bits than the table holds asks for all of its comparisons with the same bits.
@lru_cache(maxsize=2)
def tail_sums(sigma_squared: Fraction, bits: int) -> TailSums:
    """Add up the weights. All of them are rounded down; ``slack`` bounds what that and the end leave out.

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
    return TailSums(sums, (width + 1) * last * (last + 1) * (last + 2) // 6 + last + 2)


def _last(sigma_squared: Fraction, bits: int) -> int:
    """Return an index behind which every weight is below ``2^-bits``: 0.7 is more than log 2."""
    return math.isqrt(int(Fraction(7, 5) * sigma_squared * bits))
