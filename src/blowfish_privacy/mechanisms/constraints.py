"""Estimates that meet public totals: the nearest in squares, and the nearest whole counts that are not negative.

Both are post-processing and free. The nearest in squares is linear, so it stays unbiased, and for equal independent
noise it is the best linear estimate: what the totals say of a cell leaves 1 - h of its variance, h its leverage. Counts
that must not be negative lean upwards where the truth is near 0: they are biased. docs/proofs/public_totals.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.whole_counts import nearest_in_parts, rounded_in_parts, rounded_together
from blowfish_privacy.privacy.public_totals import Totals

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Spread: TypeAlias = Callable[[Floats], Floats]
"""Multiplies columns of weights of the cells by the covariance of their estimate."""

_MOST_SOLVED = 2_000
_MOST_SPREAD = 5_000_000
_ROUNDS = 500
_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class Constraints:
    """Totals of parts of the cells, none of which follows from another; at least one."""

    totals: tuple[Totals, ...]

    @classmethod
    def of(cls, totals: Iterable[Totals]) -> Constraints:
        """Leave out partitions of which another one is a refinement."""
        kept: list[Totals] = []
        for each in sorted(totals, key=lambda each: -len(each.counts)):
            if not any(_finer(other, each) for other in kept):
                kept.append(each)
        return cls(tuple(kept))

    def without_counts(self) -> Constraints:
        """Return the same parts, all of them empty: what an estimate does with noise alone."""
        return Constraints(tuple(Totals(each.labels, np.zeros_like(each.counts)) for each in self.totals))

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.totals[0].labels)

    def nearest(self, values: npt.NDArray[Any]) -> Floats:
        """Return the estimate that meets all totals and is nearest in squares."""
        estimate = np.asarray(values, dtype=np.float64).reshape(-1)
        if self._solvable:
            return estimate + (self._members.T @ (self._inverse @ (self.stated - self._sums(estimate))))[self._atom]
        for _ in range(_ROUNDS):
            # Projections on partitions in turn: at once for one, or for marginals, and in the limit for any.
            for each in self.totals:
                gaps = each.counts - np.bincount(each.labels, estimate, len(each.counts))
                estimate = estimate + (gaps / np.maximum(each.sizes, 1))[each.labels]
            if len(self.totals) == 1 or self._met(estimate):
                break
        return estimate

    def corrected(self, values: Floats, spread: Spread) -> Floats:
        """Return the best linear estimate that meets all totals, for noise of any covariance."""
        gain = self.gain(spread)
        if gain is None:
            return self.nearest(values)
        steps, inverse = gain
        return self.nearest(values + steps @ (inverse @ (self.stated - self._sums(values))))

    def gain(self, spread: Spread) -> tuple[Floats, Floats] | None:
        """Return C A' and the inverse of A C A', with A the parts and C the covariance; None where that is too much."""
        if len(self.stated) * self.cells > _MOST_SPREAD or len(self.stated) > _MOST_SOLVED:
            return None
        steps = spread(np.concatenate([np.eye(len(each.counts))[each.labels] for each in self.totals], axis=1))
        between = np.stack([self._sums(column) for column in steps.T], axis=1)
        inverse: Any = np.linalg.pinv((between + between.T) / 2, rcond=1e-9, hermitian=True)
        return steps, inverse

    @cached_property
    def leverage(self) -> Floats:
        """The share of the variance of each cell that the totals take away, for equal independent noise.

        Where there are too many totals to solve for, what the finest partition alone takes away.
        """
        if self._solvable:
            return ((self._inverse @ self._members) * self._members).sum(axis=0)[self._atom]
        return np.max([(1 / each.sizes[each.labels]) for each in self.totals], axis=0)

    def whole(self, values: npt.NDArray[Any]) -> Integers:
        """Return whole counts that are not negative, meet the totals, and are near in squares."""
        estimate = np.asarray(values, dtype=np.float64).reshape(-1)
        if len(self.totals) == 1:
            return rounded_in_parts(nearest_in_parts(estimate, self.totals[0]), self.totals[0])
        return rounded_together(self.not_negative(estimate), self.totals)

    def not_negative(self, values: Floats) -> Floats:
        """Return counts that are not negative and meet the totals, nearest in squares, by Dykstra's projections."""
        estimate, memory = values, [np.zeros_like(values) for _ in self.totals]
        for _ in range(_ROUNDS):
            before = estimate
            for number, each in enumerate(self.totals):
                shifted = estimate + memory[number]
                estimate = nearest_in_parts(shifted, each)
                memory[number] = shifted - estimate
            if len(self.totals) == 1 or np.abs(estimate - before).max(initial=0) < 1e-6:
                break
        return estimate

    @cached_property
    def stated(self) -> Floats:
        """All totals in a row."""
        return np.concatenate([each.counts for each in self.totals]).astype(np.float64)

    def _sums(self, values: Floats) -> Floats:
        sums = [np.bincount(each.labels, values, len(each.counts)) for each in self.totals]
        return np.concatenate(sums).astype(np.float64, copy=False)

    def _met(self, values: Floats) -> bool:
        return bool((np.abs(self._sums(values) - self.stated) <= _CLOSE * (1 + np.abs(self.stated))).all())

    @property
    def _solvable(self) -> bool:
        """Whether several partitions are few enough parts to solve for them all at once."""
        parts = len(self.stated)
        return len(self.totals) > 1 and parts <= _MOST_SOLVED and parts * (int(self._atom.max()) + 1) <= _MOST_SPREAD

    @cached_property
    def _atom(self) -> Integers:
        """Cells that have all parts in common, by the same number."""
        return _joined([each.labels for each in self.totals])

    @cached_property
    def _members(self) -> Floats:
        """Say for each part which atoms it has."""
        _, first = np.unique(self._atom, return_index=True)
        return np.concatenate([np.eye(len(each.counts))[:, each.labels[first]] for each in self.totals])

    @cached_property
    def _inverse(self) -> Floats:
        between: Floats = (self._members * np.bincount(self._atom)) @ self._members.T
        return np.asarray(np.linalg.pinv(between, rcond=1e-12, hermitian=True), dtype=np.float64)


def _finer(one: Totals, other: Totals) -> bool:
    """Say whether every part of one partition lies in a part of another."""
    return len(np.unique(_joined([one.labels, other.labels]))) == len(np.unique(one.labels))


def _joined(labels: Sequence[Integers]) -> Integers:
    """Number cells from 0 so that two have the same number exactly if they have all labels in common."""
    number = labels[0]
    for each in labels[1:]:
        _, inverse = np.unique(number * (int(each.max()) + 1) + each, return_inverse=True)
        number = inverse.reshape(-1)
    return number
