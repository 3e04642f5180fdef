"""The nearest grid that has no negative count and meets public totals, in a metric that cosine waves make diagonal.

A metric weighs the squares of cosine coefficients. The nearest grid that is allowed is found by the alternating
direction method of multipliers [boyd2011]: in turn a grid near the estimate, wave by wave, and the plain projection of
that on the grids allowed, which subtracts one number from all cells of a part and cuts at zero.
docs/proofs/not_negative_grids.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from blowfish_privacy.mechanisms.constraints import Constraints
from blowfish_privacy.mechanisms.grid.grid_error import over_all_rectangles
from blowfish_privacy.privacy.public_totals import Totals
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.progress import Report

Project: TypeAlias = Callable[[Floats], Floats]

_MOST_ROUNDS = 400
_CHECKED_EVERY = 10
_RELAXED = 1.7
"""Steps are this much longer than plain ones; 1.5 to 1.8 is usual, and fastest on all development shapes."""
_UNBALANCED = 4.0
"""How much one of both residuals may exceed the other before the penalty is changed, by half this factor."""
_NEWTON_STEPS = 100


def waves(cells: Floats) -> Floats:
    """Return the cosine coefficients of a grid; sums of squares stay the same."""
    from scipy.fft import dctn

    return np.asarray(dctn(cells, norm="ortho"), dtype=np.float64)


def cells_of(coefficients: Floats) -> Floats:
    """Return the grid with these cosine coefficients."""
    from scipy.fft import idctn

    return np.asarray(idctn(coefficients, norm="ortho"), dtype=np.float64)


def cells_of_line(coefficients: Floats) -> Floats:
    """Return the lines of cells with these cosine coefficients, one a column."""
    from scipy.fft import idct

    return np.asarray(idct(coefficients, axis=0, norm="ortho"), dtype=np.float64)


def variances_by_wave(covariance: Floats) -> Floats:
    """Return the variance of each cosine coefficient of a line of cells with this covariance."""
    return np.diagonal(waves(covariance)).copy()


def differences_by_wave(size: int) -> Floats:
    """Return the squares of the singular values of the differences between neighbours, whose vectors are the waves."""
    return 2 - 2 * np.cos(np.pi * np.arange(size) / size)


def rectangles_by_wave(size: int) -> Floats:
    """Return the mean square of what each wave along an attribute adds to a random range; at most 1."""
    sums = np.cumsum(cells_of_line(np.eye(size)), axis=0)
    squares = np.pad(sums, ((1, 0), (0, 0))).var(axis=0)
    return squares / squares.max()


def nearest_not_negative(
    linear: Floats,
    looseness: Floats,
    constraints: Constraints | None,
    closeness: float,
    progress: Report | None = None,
) -> Floats:
    """Return the nearest grid without negative counts that meets the constraints.

    ``looseness`` says how little the square of each cosine coefficient weighs: 0 where it must not change. The rounds
    end when the last ones moved a random rectangle by less than ``closeness`` in mean square.
    """
    allowed = linear.min() >= 0 and (constraints is None or constraints.met(linear.reshape(-1)))
    if allowed or not looseness.max(initial=0.0):
        return linear
    projections = _projections(linear.shape, constraints)
    near = _Rounds(waves(linear), looseness, projections, _starting_penalty(looseness))
    for number in range(_MOST_ROUNDS // _CHECKED_EVERY):
        if near.run(_CHECKED_EVERY) < closeness:
            break
        if progress is not None:
            progress(number * _CHECKED_EVERY / _MOST_ROUNDS)
    met = near.projected.mean(axis=0)
    if constraints is None or len(projections) == 1:
        return met
    return constraints.not_negative(met.reshape(-1)).reshape(met.shape)


def _starting_penalty(looseness: Floats) -> float:
    loose = looseness[looseness > 0]
    return float(0.5 / np.sqrt(loose.min() * loose.max()))


@dataclass(eq=False)
class _Rounds:
    """The rounds under way: one projected grid for each set of totals, and what is left to explain of it."""

    wanted: Floats
    looseness: Floats
    projections: Sequence[Project]
    penalty: float
    projected: Floats = field(init=False)
    left: Floats = field(init=False)

    def __post_init__(self) -> None:
        start = cells_of(self.wanted)
        self.projected = np.stack([project(start) for project in self.projections])
        self.left = np.zeros_like(self.projected)

    def run(self, rounds: int) -> float:
        """Go on for some rounds; return by how much they moved a random rectangle, and balance both residuals."""
        loose = len(self.projections) * self.penalty * self.looseness
        kept, before = 1 / (1 + loose), self.projected[0]
        pinned, pulled = kept * self.wanted, kept * loose
        near = before
        for _ in range(rounds):
            near = cells_of(pinned + pulled * waves((self.projected - self.left).mean(axis=0)))
            self.left += _RELAXED * near + (1 - _RELAXED) * self.projected
            for number, project in enumerate(self.projections):
                self.projected[number] = project(self.left[number])
            self.left -= self.projected
        apart = max(over_all_rectangles(near - each) for each in self.projected)
        moved = over_all_rectangles(self.projected[0] - before)
        self._balance(apart, moved)
        return max(apart, moved)

    def _balance(self, apart: float, moved: float) -> None:
        factor = 1.0
        if apart > _UNBALANCED * moved:
            factor = _UNBALANCED / 2
        elif moved > _UNBALANCED * apart:
            factor = 2 / _UNBALANCED
        self.penalty *= factor
        self.left /= factor


def _projections(shape: tuple[int, ...], constraints: Constraints | None) -> list[Project]:
    if constraints is None:
        return [lambda cells: np.maximum(cells, 0.0)]
    return [_Parts(shape, totals) for totals in constraints.totals]


class _Parts:
    """Projects on the grids without negative counts that meet the totals of a partition.

    The number that is subtracted from a part is found by Newton's method from the last one, which is near.
    """

    def __init__(self, shape: tuple[int, ...], totals: Totals) -> None:
        self._labels: Any = totals.labels.reshape(shape) if len(totals.counts) > 1 else np.zeros((), dtype=np.int64)
        self._flat, self._counts, self._sizes = totals.labels, totals.counts.astype(np.float64), totals.sizes
        self._level: Floats | None = None

    def __call__(self, cells: Floats) -> Floats:
        lowest = (self._sums(cells) - self._counts) / np.maximum(self._sizes, 1)
        level = lowest if self._level is None else self._level
        above = cells
        for _ in range(_NEWTON_STEPS):
            above = np.maximum(cells - level[self._labels], 0.0)
            excess = self._sums(above) - self._counts
            if (np.abs(excess) <= 1e-9 * (1 + self._counts)).all():
                break
            many = self._sums((above > 0).astype(np.float64))
            level = np.where(many > 0, level + excess / np.maximum(many, 1), lowest)
        self._level = level
        return np.where((self._counts > 0)[self._labels], above, 0.0)

    def _sums(self, cells: Floats) -> Floats:
        if len(self._counts) == 1:
            return cells.sum().reshape(1)
        return np.bincount(self._flat, cells.reshape(-1), len(self._counts)).astype(np.float64, copy=False)
