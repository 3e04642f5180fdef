"""What Gaussian rows tell of waves along an attribute, and the precisions of the least error.

For the waves cos(pi m (x + 1/2) / k) what levels tell adds up, but for the ends of the attribute and for waves shorter
than the distance between two nodes. So the error of a random range is close to a sum over waves of one over a sum of
precisions (one over the variance, in records), which is convex: its minimum is found in no time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel, Level, TotalLevel
from blowfish_privacy.support.arrays import Floats

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

    def told(self, level: Level) -> Floats:
        """Return what a level of precision 1 tells of the constant and of each wave; sums take the total as public."""
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
        told = np.array([self.told(level) for level in levels])[:, first:]
        if len(bounded) == 1:
            error, precisions = _least(told, self.weights[first:], bounded[0])
            return Best(levels, error, precisions, bounded[0] * precisions)
        low, high, found = 0.0, 1.0, list[Best]()
        for _ in range(_HALVINGS):
            weight = (low + high) / 2
            costs = weight * bounded[0] + (1 - weight) * bounded[1]
            error, precisions = _least(told, self.weights[first:], costs)
            sums = [float(each @ precisions) for each in bounded]
            found.append(Best(levels, error * max(sums), precisions / max(sums), costs * precisions))
            low, high = (weight, high) if sums[0] > sums[1] else (low, weight)
        return min(found, key=lambda each: each.error)


def _least(told: Floats, weights: Floats, costs: Floats) -> tuple[float, Floats]:
    """Minimise the sum over waves of weight / (precisions @ told) where precisions @ costs is 1."""
    precisions = 1 / costs / len(costs)
    for _ in range(_ROUNDS):
        gains = told @ (weights / (precisions @ told) ** 2)
        precisions = precisions * np.sqrt(gains / costs)
        precisions /= precisions @ costs
    return float((weights / (precisions @ told)).sum()), precisions
