"""Which levels a smooth hierarchy has, chosen from public numbers only.

The prediction below follows the recursion from the finest level up: e collects, in units of the noise variance, what
each level leaves unresolved for the next, G what the levels so far say about one node. Searching fan-outs under it is
quick; the true optimum has fan-outs about a fifth larger (measured over k = 400 and 4357 and all thresholds of the
table in docs/proofs/smooth_hierarchy.md, where the stretched choice is within 1 % of the best found).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, prod, sqrt

from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel, DifferenceLevel, Level

_MOST_LEVELS = 8
_STRETCH = 1.2
_SHARE_STEPS = 1000
_EIGHTS = tuple(8**exponent for exponent in range(1, 21))


@dataclass(frozen=True)
class Shape:
    """The spacings above the leaf, finest first, and whether the coarsest level is cumulative."""

    spacings: tuple[int, ...]
    cumulative: bool


def choose_levels(size: int, theta: int, epsilon: Fraction, records: int | None) -> tuple[Level, ...]:
    """Choose spacings and budget shares for ``size`` positions and moves of at most ``theta``."""
    if size == 1:
        return ()
    if theta == 0:
        return (DifferenceLevel(1, Fraction(0)),)
    shape = choose_shape(size, theta)
    sparse = records is not None and 2 * records * epsilon < size
    if sparse and not shape.cumulative:
        # The threshold is too wide to help, and most bins are empty.
        shape = Shape(tuple(g for g in _EIGHTS if g < size and (g <= 512 or 8 * g <= size)), cumulative=False)
    return calibrated_levels(shape, size, theta, epsilon, records)


def calibrated_levels(shape: Shape, size: int, theta: int, epsilon: Fraction, records: int | None) -> tuple[Level, ...]:
    """Give each level its share of epsilon; the shares add up to exactly epsilon over a move of theta.

    A difference level of share a gets scale (T / (a epsilon)) min(g, theta) and loses 2 a epsilon / T on such a move,
    the cumulative level (share 1) gets (T / epsilon) theta and loses epsilon / T; T is twice the sum of the shares,
    plus 1 for a cumulative level.
    """
    # A cumulative level with nothing below it is the ordered mechanism.
    spacings = (1, *shape.spacings)
    differences = spacings[:-1] if shape.cumulative else spacings
    # Where records are fewer than units of noise, nothing is left of them but what the noise leaves of a range: below a
    # cumulative level that comes from the single counts.
    seen = max(records, ceil(1 / epsilon)) if records is not None and shape.cumulative else records
    shares = {g: _share(g, size, theta, epsilon, seen) for g in differences}
    total = 2 * sum(shares.values(), Fraction(0)) + int(shape.cumulative)
    levels: list[Level] = [DifferenceLevel(g, total / (a * epsilon) * min(g, theta)) for g, a in shares.items()]
    if shape.cumulative:
        levels.append(CumulativeLevel(spacings[-1], total / epsilon * theta))
    return tuple(levels)


def _share(spacing: int, size: int, theta: int, epsilon: Fraction, records: int | None) -> Fraction:
    """Spend less on fine levels where bins are mostly empty: isotonic regression removes that noise anyway."""
    if records is None:
        return Fraction(1)
    signal = float(records * epsilon) * spacing / size * max(1.0, spacing / theta)
    share = min(1.0, max(0.02, 0.4 * signal**0.25))
    return Fraction(round(share * _SHARE_STEPS), _SHARE_STEPS)


@lru_cache(maxsize=256)
def choose_shape(size: int, theta: int) -> Shape:
    """Search for the fan-outs with the smallest predicted error, then stretch them."""
    candidates = [
        (predicted(size, theta, fans, cumulative), fans, cumulative) for fans, cumulative in _fans(size, theta)
    ]
    _, fans, cumulative = min(candidates, key=lambda candidate: candidate[0])
    spacings: list[int] = []
    for fan in reversed(fans):
        spacings.append((spacings[-1] if spacings else 1) * max(2, round(fan * _STRETCH)))
    return Shape(tuple(g for g in spacings if g < size), cumulative)


def predicted(size: int, theta: int, fans: tuple[int, ...], cumulative: bool) -> float:  # noqa: FBT001
    """Predict the mean squared error of a random range at epsilon 1, for fan-outs from coarse to fine."""
    if cumulative and not fans:
        return 4.0 * theta**2 * (size - 1) / (size + 1)
    levels = len(fans) if cumulative else len(fans) + 1
    noise = 2 * levels + int(cumulative)
    error, spacing, gain = 0.0, 1, 1.0
    for depth, fan in reversed(list(enumerate(fans))):
        error += (((fan * spacing) ** 2 - 1) - fan * (spacing**2 - 1)) / (3 * fan * spacing**2) / gain
        spacing *= fan
        gain = (0 if cumulative and depth == 0 else 1) + gain / fan
    if not cumulative:
        return 2 * noise**2 * (error + size / spacing / (6 * gain))
    ratio = (spacing / theta) ** 2
    q = ratio / gain
    rho = 1 + q / 2 - sqrt(q + q * q / 4)
    return 2 * noise**2 * (error + 2 * (2 + rho) / 3 / sqrt(ratio**2 + 4 * ratio * gain))


def _fans(size: int, theta: int) -> Iterator[tuple[tuple[int, ...], bool]]:
    """Yield locally best fan-outs for every number of levels, with and without a cumulative top."""
    for cumulative in (False, True):
        yield (), cumulative
        for height in range(1, _MOST_LEVELS + 1):
            for start in (2, 4, 8, 16, 32):
                fans = (start,) * height
                if prod(fans) < size:
                    yield _descend(size, theta, fans, cumulative), cumulative


def _descend(size: int, theta: int, fans: tuple[int, ...], cumulative: bool) -> tuple[int, ...]:  # noqa: FBT001
    best, improved = predicted(size, theta, fans, cumulative), True
    while improved:
        improved = False
        for changed in _nearby(fans):
            value = predicted(size, theta, changed, cumulative) if prod(changed) < size else best
            if value < best:
                best, fans, improved = value, changed, True
    return fans


def _nearby(fans: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for index, fan in enumerate(fans):
        for other in (fan - 1, fan + 1, fan // 2, fan * 2, fan * 3 // 4, fan * 4 // 3 + 1):
            yield (*fans[:index], max(2, other), *fans[index + 1 :])
