"""Which levels Gaussian noise goes on, and how precise each is, chosen from public numbers only.

What Gaussian noise has to hide is a sum of squares, to which every level adds in proportion to its precision. Hats that
overlap several times change by almost the same wherever a record is, so that nothing of that sum is wasted. Many
levels are tried (:mod:`~blowfish_privacy.mechanisms.ordered.waves`), and those that hardly matter left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel, DifferenceLevel, Level, TotalLevel
from blowfish_privacy.mechanisms.ordered.waves import Best, Waves
from blowfish_privacy.mechanisms.row_noise import GAUSSIAN_ROWS

_MANY = 50_000
"""Beyond so many values hats overlap less and are fewer: solving for the estimate would take too much memory."""
_LONG = 512
"""Beyond so many values along a side of a grid they are fewer still."""
_STEPS = 10_000
_WORTH_IT = 1.01
_SUMS_PER_STEP = 12
_LEAF = DifferenceLevel(1, Fraction(0), GAUSSIAN_ROWS)
_TOTAL = TotalLevel(1, Fraction(0), GAUSSIAN_ROWS)


def precise_levels(size: int, theta: int, rho: Fraction) -> tuple[Level, ...]:
    """Choose levels such that a move of theta loses rho; the number of records is public."""
    return _spending(*_choose(size, theta), size, theta, rho)


def precise_levels_with_total(size: int, theta: int, rho: Fraction) -> tuple[Level, ...]:
    """Choose levels such that the larger loss, of a move of theta or of a record that comes or goes, is rho."""
    return _spending(*_choose_with_total(size, theta), size, theta, rho)


def precise_sums(theta: int, rho: Fraction) -> tuple[Level, ...]:
    """Measure the cumulative counts alone: a move of theta changes theta of them by one."""
    return (CumulativeLevel(1, theta / (2 * rho), GAUSSIAN_ROWS),)


@lru_cache(maxsize=64)
def precise_line(size: int) -> tuple[DifferenceLevel, ...]:
    """Choose levels of hats such that a unit anywhere loses at most 1, and random ranges have the least error."""
    spacing, fan = (2, 4) if size <= _LONG else (4, 8)
    levels = (_LEAF, *_hats(size, 2, spacing, fan))
    waves = Waves(size)

    def best(some: tuple[Level, ...]) -> Best:
        return waves.best(some, [_floats(_squares(some, size, 0)[1])], total=False)

    found = _fewest(best, levels)
    made = _spending(found.levels, found.precisions.tolist(), size, None, Fraction(1))
    return tuple(level for level in made if isinstance(level, DifferenceLevel))


@lru_cache(maxsize=256)
def _choose(size: int, theta: int) -> tuple[tuple[Level, ...], tuple[float, ...]]:
    sums = CumulativeLevel(max(1, theta // _SUMS_PER_STEP), Fraction(0), GAUSSIAN_ROWS)
    waves = Waves(size)

    def best(some: tuple[Level, ...]) -> Best:
        return waves.best(some, [_floats(_squares(some, size, theta)[0])], total=True)

    found, alone = _fewest(best, (_LEAF, *_fine_hats(size), sums)), best((replace(sums, spacing=1),))
    if alone.error <= _WORTH_IT * found.error:
        found = alone
    return found.levels, tuple(found.precisions.tolist())


@lru_cache(maxsize=256)
def _choose_with_total(size: int, theta: int) -> tuple[tuple[Level, ...], tuple[float, ...]]:
    waves = Waves(size)

    def best(some: tuple[Level, ...]) -> Best:
        return waves.best(some, [_floats(squares) for squares in _squares(some, size, theta)], total=False)

    found = _fewest(best, (_LEAF, *_fine_hats(size), _TOTAL))
    return found.levels, tuple(found.precisions.tolist())


def _fewest(best: Callable[[tuple[Level, ...]], Best], levels: tuple[Level, ...]) -> Best:
    """Leave out the level with the least share, again and again, while the error hardly grows."""
    found = best(levels)
    while True:
        shares = dict(zip(found.levels, found.shares.tolist(), strict=True))
        spare = [level for level in found.levels if level not in (_LEAF, _TOTAL)]
        if not spare:
            return found
        least = min(spare, key=shares.__getitem__)
        fewer = best(tuple(level for level in found.levels if level != least))
        if fewer.error > _WORTH_IT * found.error:
            return found
        found = fewer


def _fine_hats(size: int) -> Iterator[DifferenceLevel]:
    if size > _MANY:
        yield from _hats(size, 2, 4, 8)
    else:
        yield from _hats(size, 2, 1, size)
        yield from _hats(size, 4, 1, 4)


def _hats(size: int, overlap: int, spacing: int, fan: int) -> Iterator[DifferenceLevel]:
    """Yield hats of some sizes, each some times as wide as those before."""
    while overlap * spacing < size:
        yield DifferenceLevel(spacing, Fraction(0), GAUSSIAN_ROWS, overlap)
        spacing *= max(2, fan)


def _squares(levels: Sequence[Level], size: int, theta: int) -> tuple[list[Fraction], list[Fraction]]:
    """Return the squared change of every level in records, on a move of theta and when a record comes or goes."""
    moved = [Fraction(level.most(theta), level.unit**2) for level in levels]
    return moved, [Fraction(level.weight(0, size), level.unit**2) for level in levels]


def _floats(squares: Sequence[Fraction]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array(squares, dtype=np.float64)


def _spending(
    levels: Sequence[Level], precisions: Sequence[float], size: int, theta: int | None, rho: Fraction
) -> tuple[Level, ...]:
    """Give levels precisions in these proportions, so that a move of theta loses rho; None: so that presence does.

    With worst the sum of squared changes times precisions, the whole-number rows of a level of precision a have a
    variance of unit^2 worst / (2 rho a). With a total, worst is the larger of both sums.
    """
    largest = max(precisions)
    shares = [Fraction(max(1, round(_STEPS * each / largest)), _STEPS) for each in precisions]
    moved, presence = (
        sum((square * share for square, share in zip(squares, shares, strict=True)), Fraction(0))
        for squares in _squares(levels, size, theta or 0)
    )
    if levels[-1] == _TOTAL:
        # Moves do not change the total: what they leave over is its.
        shares[-1] += max(moved - presence, Fraction(0))
        worst = max(moved, presence)
    else:
        worst = presence if theta is None else moved
    return tuple(
        replace(level, scale=level.unit**2 * worst / (2 * rho * share))
        for level, share in zip(levels, shares, strict=True)
    )
