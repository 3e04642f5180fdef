"""Which levels a smooth hierarchy has, chosen from public numbers only.

The prediction below follows the recursion from the finest level up: e collects, in units of the noise variance, what
each level leaves unresolved for the next, G what the levels so far say about one node. Searching fan-outs under it is
quick; the true optimum has fan-outs about a fifth larger (measured over k = 400 and 4357 and all thresholds of the
table in docs/proofs/smooth_hierarchy.md, where the stretched choice is within 1 % of the best found).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from math import ceil, prod, sqrt
from typing import NamedTuple

import numpy as np

from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel, DifferenceLevel, LeastSquares, Level, TotalLevel
from blowfish_privacy.mechanisms.row_noise import GAUSSIAN_ROWS, LAPLACE_ROWS, RowNoise
from blowfish_privacy.support.arrays import Floats

_MOST_LEVELS = 8
_STRETCH = 1.2
_SHARE_STEPS = 1000
_EIGHTS = tuple(8**exponent for exponent in range(1, 21))


@dataclass(frozen=True)
class Shape:
    """The spacings above the leaf, finest first, and whether the coarsest level is cumulative."""

    spacings: tuple[int, ...]
    cumulative: bool


def choose_levels(
    size: int,
    theta: int,
    amount: Fraction,
    records: int | None,
    noise: RowNoise = LAPLACE_ROWS,
    *,
    prefixes_alone: bool = False,
) -> tuple[Level, ...]:
    """Choose the levels of ``size`` positions whose total is public, so that a move of at most theta loses the amount.

    A move of theta changes theta of the cumulative counts by one, which may be all that is measured.
    """
    if size == 1:
        # Its count is the total.
        return ()
    if theta == 0:
        return (DifferenceLevel(1, Fraction(0), noise),)
    if prefixes_alone:
        return (CumulativeLevel(1, noise.lost(theta, amount), noise),)
    if noise is GAUSSIAN_ROWS:
        return _with_scales(*_choose(size, theta, total=True), size, theta, amount)
    shape = choose_shape(size, theta)
    sparse = records is not None and 2 * records * amount < size
    if sparse and not shape.cumulative:
        # The threshold is too wide to help, and most bins are empty.
        shape = Shape(tuple(g for g in _EIGHTS if g < size and (g <= 512 or 8 * g <= size)), cumulative=False)
    return calibrated_levels(shape, size, theta, amount, records)


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
    candidates: list[tuple[float, tuple[int, ...], bool]] = []
    for cumulative in (False, True):
        error = partial(predicted, size, theta, cumulative=cumulative)
        starts = ((start,) * height for height in range(1, _MOST_LEVELS + 1) for start in (2, 4, 8, 16, 32))
        best = ((), *(_descend(error, size, fans) for fans in starts if prod(fans) < size))
        candidates += [(error(fans), fans, cumulative) for fans in best]
    _, fans, cumulative = min(candidates, key=lambda candidate: candidate[0])
    spacings: list[int] = []
    for fan in reversed(fans):
        spacings.append((spacings[-1] if spacings else 1) * max(2, round(fan * _STRETCH)))
    return Shape(tuple(g for g in spacings if g < size), cumulative)


def predicted(size: int, theta: int, fans: tuple[int, ...], *, cumulative: bool) -> float:
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


def _descend(error: Callable[[tuple[int, ...]], float], size: int, fans: tuple[int, ...]) -> tuple[int, ...]:
    best, improved = error(fans), True
    while improved:
        improved = False
        for changed in _nearby(fans):
            value = error(changed) if prod(changed) < size else best
            if value < best:
                best, fans, improved = value, changed, True
    return fans


def _nearby(fans: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for index, fan in enumerate(fans):
        for other in (fan - 1, fan + 1, fan // 2, fan * 2, fan * 3 // 4, fan * 4 // 3 + 1):
            yield (*fans[:index], max(2, other), *fans[index + 1 :])


# Which levels a smooth hierarchy has where the number of records is secret, chosen from public numbers only.
#
# A record that comes or goes changes a level of weight a by a, one that moves by 2 min(1, theta / g) a; the total is
# changed by coming and going alone. What counts is the larger of the two sums, so what moves leave over pays for the
# total. The prediction is that above, with a noise of its own on every level and on the total. For few values coarse
# levels do better than predicted, so that some are compared exactly.

_MOST_COARSE = 6
_FEW = 150
_USUAL = ((1.0, 1.0, 1.0), (1.0, 1.0, 2.0), (1.0, 1.0, 0.02), (0.7, 1.0, 0.02))
_SHAPE_STEPS = 1000
_LEAST_WEIGHT = 0.02
_ENOUGH = 1 - 1e-3


class _Shape(NamedTuple):
    """Fan-outs from fine to coarse; the weights of the leaf, of the level above each fan-out, and of the total."""

    fans: tuple[int, ...]
    weights: tuple[float, ...]

    @property
    def spacings(self) -> tuple[int, ...]:
        return tuple(prod(self.fans[:height]) for height in range(len(self.fans) + 1))


def levels_with_total(size: int, theta: int, amount: Fraction, noise: RowNoise) -> tuple[Level, ...]:
    """Choose levels such that the larger loss, of a move of theta or of a record that comes or goes, is the amount."""
    if noise is GAUSSIAN_ROWS:
        return _with_scales(*_choose(size, theta, total=False), size, theta, amount)
    return _levels(_choose_shape(size, theta), theta, amount)


def _levels(shape: _Shape, theta: int, epsilon: Fraction) -> tuple[Level, ...]:
    none = Fraction(0)
    levels = (*(DifferenceLevel(g, none) for g in shape.spacings), TotalLevel(1, none))
    return _with_scales(levels, shape.weights, 1, theta, epsilon, parts=_SHAPE_STEPS)


@lru_cache(maxsize=256)
def _choose_shape(size: int, theta: int) -> _Shape:
    """Take the shape with the smallest prediction, stretched; for few values, compare its exact error with others."""
    if size == 1:
        return _Shape((), (_LEAST_WEIGHT, 1.0))
    predicted = partial(_predicted, size, theta)
    starts = (_Shape((fan,) * many, (1.0,) * (many + 2)) for many in range(_MOST_COARSE + 1) for fan in (4, 16))
    chosen = min((_descend_shape(predicted, size, start) for start in starts if prod(start.fans) < size), key=predicted)
    fans = tuple(max(2, round(fan * _STRETCH)) for fan in chosen.fans)
    if prod(fans) < size:
        chosen = _descend_shape(predicted, size, _Shape(fans, chosen.weights), fixed=True)
    if size > _FEW:
        return chosen
    fan = round(_STRETCH * sqrt(size))
    others = [_Shape((fan,), weights) for weights in _USUAL if 1 < fan < size]
    return min([chosen, *others], key=partial(_exact, size, theta))


def _exact(size: int, theta: int, shape: _Shape) -> float:
    """Compute the mean squared error of a random range at epsilon 1, but for a factor."""
    leaf, *coarse, total = _levels(shape, theta, Fraction(1))
    trace, together = LeastSquares(size, leaf.variance, tuple(coarse), total.variance).moments()
    return (size + 1) * trace - together


def _predicted(size: int, theta: int, shape: _Shape) -> float:
    """Predict the mean squared error of a random range at epsilon 1."""
    spacings = shape.spacings
    moved = sum(2 * min(1.0, theta / g) * weight for g, weight in zip(spacings, shape.weights, strict=False))
    worst = max(moved, sum(shape.weights))
    gain, *precisions, of_total = ((weight / worst) ** 2 / 2 for weight in shape.weights)
    error = 0.0
    for spacing, fan, precision in zip(spacings, shape.fans, precisions, strict=False):
        error += (((fan * spacing) ** 2 - 1) - fan * (spacing**2 - 1)) / (3 * fan * spacing**2) / gain
        gain = precision + gain / fan
    # The blocks of the coarsest level, each of variance 1 / gain; the total takes away its information on a range.
    spread = size / spacings[-1] / gain
    return error + spread / 3 - spread**2 / 6 / (spread + 1 / of_total)


def _descend_shape(error: Callable[[_Shape], float], size: int, shape: _Shape, *, fixed: bool = False) -> _Shape:
    """Change one fan-out (unless they are fixed) or one weight at a time, while that lowers the error."""
    best, improved = error(shape), True
    while improved:
        improved = False
        others = () if fixed else (shape._replace(fans=fans) for fans in _nearby(shape.fans))
        for other in (*others, *_other_weights(shape)):
            value = error(other) if prod(other.fans) < size else best
            if value < best * _ENOUGH:
                best, shape, improved = value, other, True
                break
    return shape


def _other_weights(shape: _Shape) -> Iterator[_Shape]:
    for index, weight in enumerate(shape.weights):
        for factor in (0.5, 2.0, 0.8, 1.25, 0.95, 1.05):
            changed = (*shape.weights[:index], weight * factor, *shape.weights[index + 1 :])
            if min(changed) >= _LEAST_WEIGHT * max(changed):
                yield shape._replace(weights=changed)


# The information of Gaussian rows on waves along an attribute, and the precisions of the least error.
#
# For the waves cos(pi m (x + 1/2) / k) the information of levels adds up, but for the ends of the attribute and for
# waves shorter than the distance between two nodes. So the error of a random range is close to a sum over waves of one
# over a sum of precisions (one over the variance, in records), which is convex: its minimum is found in no time.

_ALL = 256
"""So many waves are looked at one by one; of the shorter ones, some stand for their neighbours."""
_SOME = 600
_ROUNDS = 60
_HALVINGS = 20


@dataclass(frozen=True, eq=False)
class Best:
    """Levels with the precisions of the least error, if the largest sum of squared changes times precisions is 1."""

    levels: tuple[Level, ...]
    error: float
    precisions: Floats
    shares: Floats
    """What each level adds to that sum."""


@dataclass(frozen=True, eq=False)
class Waves:
    """The waves along so many positions."""

    size: int

    @cached_property
    def _numbers(self) -> Floats:
        few = np.arange(1.0, min(self.size, _ALL + 1))
        if self.size <= _ALL:
            return few
        many = np.unique(np.concatenate([few, np.round(np.geomspace(_ALL, self.size - 1, _SOME))]))
        return many.astype(np.float64)

    @cached_property
    def _halves(self) -> Floats:
        return np.pi * self._numbers / self.size / 2

    @cached_property
    def weights(self) -> Floats:
        """What the variance of the constant, then of each wave adds to the mean squared error of a random range."""
        ends = np.concatenate([[0.5], (self._numbers[1:] + self._numbers[:-1]) / 2, [self.size - 0.5]])
        cuts, odd = self.size + 1, (self._numbers % 2 == 1) & (self._numbers <= _ALL)
        mean = np.where(odd, 2 / self.size / np.tan(self._halves) ** 2, 0.0)
        waves = 2 * (cuts * np.diff(ends) - mean) / (cuts * (cuts - 1)) / (2 * np.sin(self._halves)) ** 2
        return np.append((cuts + 1) * cuts / (6 * self.size), waves)

    def information(self, level: Level) -> Floats:
        """Return what a level of precision 1 says of the constant and of each wave; sums take the total as public."""
        if isinstance(level, TotalLevel):
            return np.append(float(self.size), np.zeros(len(self._numbers)))
        mean = np.sin(level.unit * self._halves) / (level.unit * np.sin(self._halves))
        if isinstance(level, CumulativeLevel):
            return np.append(np.inf, mean**2 / level.spacing / (2 * np.sin(self._halves)) ** 2)
        return level.unit**2 / level.spacing * np.append(1.0, mean**4)

    def best(self, levels: tuple[Level, ...], bounded: Sequence[Floats], *, total: bool) -> Best:
        """Find the precisions of the least error, given one sum or two that may be 1 and whether the total is public.

        Of two sums a weighted mean decides, such that both are 1 or the smaller has no weight.
        """
        first = 1 if total else 0
        information = np.array([self.information(level) for level in levels])[:, first:]
        if len(bounded) == 1:
            error, precisions = _least(information, self.weights[first:], bounded[0])
            return Best(levels, error, precisions, bounded[0] * precisions)
        low, high, tried = 0.0, 1.0, list[Best]()
        for _ in range(_HALVINGS):
            weight = (low + high) / 2
            costs = weight * bounded[0] + (1 - weight) * bounded[1]
            error, precisions = _least(information, self.weights[first:], costs)
            sums = [float(each @ precisions) for each in bounded]
            tried.append(Best(levels, error * max(sums), precisions / max(sums), costs * precisions))
            low, high = (weight, high) if sums[0] > sums[1] else (low, weight)
        return min(tried, key=lambda each: each.error)


def _least(information: Floats, weights: Floats, costs: Floats) -> tuple[float, Floats]:
    """Minimise the sum over waves of weight / (precisions @ information) where precisions @ costs is 1."""
    precisions = 1 / costs / len(costs)
    for _ in range(_ROUNDS):
        gains = information @ (weights / (precisions @ information) ** 2)
        precisions = precisions * np.sqrt(gains / costs)
        precisions /= precisions @ costs
    return float((weights / (precisions @ information)).sum()), precisions


# Which levels Gaussian noise goes on, and how precise each is, chosen from public numbers only.
#
# What Gaussian noise has to hide is a sum of squares, to which every level adds in proportion to its precision. Hats
# that overlap several times change by almost the same wherever a record is, so that nothing of that sum is wasted. Many
# levels are tried, and those that hardly matter left out.

_MANY = 50_000
"""Beyond so many values hats overlap less and are fewer: solving for the estimate would take too much memory."""
_LONG = 512
"""Beyond so many values along a side of a grid they are fewer still."""
_STEPS = 10_000
_WORTH_IT = 1.01
_SUMS_PER_STEP = 12
_LEAF = DifferenceLevel(1, Fraction(0), GAUSSIAN_ROWS)
_TOTAL = TotalLevel(1, Fraction(0), GAUSSIAN_ROWS)


@lru_cache(maxsize=64)
def precise_line(size: int) -> tuple[DifferenceLevel, ...]:
    """Choose levels of hats such that a unit anywhere loses at most 1, and random ranges have the least error."""
    spacing, fan = (2, 4) if size <= _LONG else (4, 8)
    chosen = _fewest(_search(size, None, total=False), (_LEAF, *_hats(size, 2, spacing, fan)))
    levels = _with_scales(chosen.levels, chosen.precisions.tolist(), size, None, Fraction(1))
    return tuple(level for level in levels if isinstance(level, DifferenceLevel))


@lru_cache(maxsize=512)
def _choose(size: int, theta: int, *, total: bool) -> tuple[tuple[Level, ...], tuple[float, ...]]:
    """Choose levels and precisions, up to a factor; ``total`` says whether the total is public."""
    best = _search(size, theta, total=total)
    hats = _hats(size, 2, 4, 8) if size > _MANY else (*_hats(size, 2, 1, size), *_hats(size, 4, 1, 4))
    if total:
        sums = CumulativeLevel(max(1, theta // _SUMS_PER_STEP), Fraction(0), GAUSSIAN_ROWS)
        chosen, alone = _fewest(best, (_LEAF, *hats, sums)), best((replace(sums, spacing=1),))
        if alone.error <= _WORTH_IT * chosen.error:
            chosen = alone
    else:
        chosen = _fewest(best, (_LEAF, *hats, _TOTAL))
    return chosen.levels, tuple(chosen.precisions.tolist())


def _search(size: int, theta: int | None, *, total: bool) -> Callable[[tuple[Level, ...]], Best]:
    """Return what finds the best precisions of levels, given what must not lose more than 1.

    That is a move of theta where the total is public, else presence as well; presence alone where theta is None.
    """
    waves = Waves(size)

    def best(levels: tuple[Level, ...]) -> Best:
        moved, presence = (np.array(changes, dtype=np.float64) for changes in _changes(levels, size, theta or 0))
        bounded = [presence] if theta is None else [moved] if total else [moved, presence]
        return waves.best(levels, bounded, total=total)

    return best


def _fewest(best: Callable[[tuple[Level, ...]], Best], levels: tuple[Level, ...]) -> Best:
    """Leave out the level with the least share, again and again, while the error hardly grows."""
    chosen = best(levels)
    while True:
        shares = dict(zip(chosen.levels, chosen.shares.tolist(), strict=True))
        spare = [level for level in chosen.levels if level not in (_LEAF, _TOTAL)]
        if not spare:
            return chosen
        least = min(spare, key=shares.__getitem__)
        fewer = best(tuple(level for level in chosen.levels if level != least))
        if fewer.error > _WORTH_IT * chosen.error:
            return chosen
        chosen = fewer


def _hats(size: int, overlap: int, spacing: int, fan: int) -> Iterator[DifferenceLevel]:
    """Yield hats of some sizes, each some times as wide as those before."""
    while overlap * spacing < size:
        yield DifferenceLevel(spacing, Fraction(0), GAUSSIAN_ROWS, overlap)
        spacing *= max(2, fan)


def _changes(levels: Sequence[Level], size: int, theta: int) -> tuple[list[Fraction], list[Fraction]]:
    """Return the change of every level in records, as its noise counts it: on a move of theta, and by presence."""
    units = [level.noise.scaled(Fraction(1), level.unit) for level in levels]
    moved = [level.most(theta) / unit for level, unit in zip(levels, units, strict=True)]
    return moved, [level.weight(0, size) / unit for level, unit in zip(levels, units, strict=True)]


def _with_scales(
    levels: Sequence[Level],
    precisions: Sequence[float],
    size: int,
    theta: int | None,
    amount: Fraction,
    parts: int = _STEPS,
) -> tuple[Level, ...]:
    """Give levels precisions in these proportions, so that a move of theta loses the amount; None: that presence does.

    With worst the sum of changes times precisions, a level of precision a loses a / worst of the amount on a change of
    1. With a total, worst is the larger of both sums.
    """
    largest = max(precisions)
    shares = [Fraction(max(1, round(parts * each / largest)), parts) for each in precisions]
    moved, presence = (
        sum((change * share for change, share in zip(changes, shares, strict=True)), Fraction(0))
        for changes in _changes(levels, size, theta or 0)
    )
    if isinstance(levels[-1], TotalLevel):
        # Moves do not change the total: what they leave over is its.
        shares[-1] += max(moved - presence, Fraction(0))
        worst = max(moved, presence)
    else:
        worst = presence if theta is None else moved
    return tuple(
        replace(level, scale=level.noise.scaled(level.noise.lost(worst, amount * share), level.unit))
        for level, share in zip(levels, shares, strict=True)
    )
