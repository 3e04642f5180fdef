"""The discrete Laplace distribution, sampled exactly.

``P(Z = z)`` is proportional to ``exp(-|z| / scale)`` over all integers, for a rational scale. Z is put
together from independent digits: a sign, digits of weight 1, 1024, 1024^2, ... and an unbounded leading
digit. Each has its own small exact table (:mod:`blowfish_privacy.noise.digit`), so that the cost grows with
the number of digits only. No floating-point number decides a probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from blowfish_privacy.errors import QueryError
from blowfish_privacy.noise.batches import in_batches
from blowfish_privacy.noise.digit import Digit
from blowfish_privacy.noise.geometric import GeometricLaw
from blowfish_privacy.noise.source import BitSource, SystemSource
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import Number, positive, scientific

# Up to this scale a draw exceeds 64 bits with a probability below exp(-4000); such a draw is refused.
LARGEST_SCALE = 2**50
_LARGEST_MAGNITUDE = 2**62

_RADIX = 1024
# The leading table ends where a probability of 2^-20 is left: the rest is too rare to cost time.
_TAIL = 20 * math.log(2)


def discrete_laplace(scale: Number, size: int | Sequence[int], *, source: BitSource | None = None) -> Integers:
    """Draw independent integers with ``P(z)`` proportional to ``exp(-|z| / scale)``, exactly.

    ``scale`` is any positive number up to 2^50, taken exactly (a float at its printed value); ``size`` is a
    count or a shape. The bits come from the operating system unless a test gives another source.

    Error: variance ``2 q / (1 - q)^2`` with ``q = exp(-1 / scale)``, see ``noise.variance``.
    Cost: 64 random bits per sample up to scale 1024, then 32 more for each further factor of 1024;
    memory for the result and 3 MB. The first draw with a new scale builds its tables, in milliseconds.
    Numerics: exact; integers and intervals of integers decide every comparison.
    Proof: ``docs/proofs/discrete_laplace.md``.
    """
    sampler = _sampler(checked_scale(scale))
    bits = SystemSource() if source is None else source
    return in_batches(size, lambda count: sampler.draw(count, bits))


def checked_scale(scale: object) -> Fraction:
    """Turn a noise scale into a fraction, or refuse it."""
    number = positive(scale, "the noise scale", error=QueryError)
    if number > LARGEST_SCALE:
        raise QueryError(
            f"the noise scale must be at most 2^50 (about 1.1e15), got {scientific(number)}.",
            hint="larger noise would not fit 64-bit integers; spend more epsilon or count in larger units.",
        )
    return number


@dataclass(frozen=True, eq=False)
class _Sampler:
    """The digits of one scale, the most significant first."""

    leading: Digit
    digits: tuple[Digit, ...]
    sign: Digit

    def draw(self, count: int, source: BitSource) -> Integers:
        """Draw ``count`` samples: the sign digit turns a magnitude m into m or -1 - m."""
        magnitude = self._draw_leading(count, source)
        for digit in self.digits:
            magnitude *= _RADIX
            magnitude += digit.draw(count, source)
        # In two's complement, m XOR -1 is -1 - m and m XOR 0 is m.
        magnitude ^= -self.sign.draw(count, source)
        return magnitude

    def _draw_leading(self, count: int, source: BitSource) -> Integers:
        """Draw the unbounded digit; a draw past the table starts again from there, because the digit is memoryless."""
        span = self.leading.beyond
        values = self.leading.draw(count, source).astype(np.int64)
        beyond = np.flatnonzero(values == span)
        reached = span
        while beyond.size:
            reached += span
            if reached * _RADIX ** len(self.digits) > _LARGEST_MAGNITUDE:
                raise QueryError(
                    "a noise draw does not fit 64-bit integers.",
                    hint="this has a probability below exp(-4000); check the source of random bits.",
                )
            more = self.leading.draw(len(beyond), source)
            values[beyond] += more
            beyond = beyond[more == span]
        return values


# The most scales kept; one takes about 0.3 MB, and 1 MB at the largest scales.
@lru_cache(maxsize=32)
def _sampler(scale: Fraction) -> _Sampler:
    digits: list[Digit] = []
    weight = 1
    while scale / weight > _RADIX:
        digits.insert(0, Digit.tabulate(GeometricLaw(weight / scale, _RADIX), _RADIX - 1))
        weight *= _RADIX
    # Any length is exact: a float may choose it.
    length = 1 + int(_TAIL * float(scale / weight))
    leading = Digit.tabulate(GeometricLaw(weight / scale), length)
    return _Sampler(leading, tuple(digits), Digit.tabulate(GeometricLaw(1 / scale, 2), 1))
