"""What the mechanisms for grids share: they estimate the counts of all cells from noisy numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, TypeAlias, cast

import numpy as np

from blowfish_privacy.domain import coarser
from blowfish_privacy.errors import QueryError, RefusalError, brief
from blowfish_privacy.mechanisms.constraints import Constraints, Correction
from blowfish_privacy.mechanisms.error import (
    NoiseError,
    bounds_by_size,
    normal_errors,
    normal_width,
    sizes_up_to,
)
from blowfish_privacy.mechanisms.mechanism import Mechanism
from blowfish_privacy.noise import BitSource, SimulationSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.public_totals import Totals, records_total
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.queries.query import Pattern
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.exact import Number
from blowfish_privacy.support.limits import GRID_SIDE
from blowfish_privacy.support.progress import Report, task

# The error of rectangles answered from a noisy grid.


@dataclass(frozen=True, repr=False)
class GridError(NoiseError):
    """The mean squared error of a uniformly random rectangle."""

    variance: float
    unit: Fraction
    of: str = "a random rectangle"
    distribution: str = "normal, as the sum of many draws"

    @property
    def mse(self) -> float:
        return self.variance

    def bound(self, level: Fraction) -> float:
        """Bound the error of a random rectangle under a normal law."""
        return self.rmse * normal_width(level)


def mean_product(first: Floats, second: Floats) -> float:
    """Multiply what the columns of two tables add up to over a range; average over all ranges, add up the columns."""
    sums, others = np.cumsum(first, axis=0), np.cumsum(second, axis=0)
    cuts = len(sums) + 1
    return float(cuts * np.vdot(sums, others) - sums.sum(axis=0) @ others.sum(axis=0)) / (cuts * (cuts - 1) / 2)


def over_all_rectangles(errors: Floats) -> float:
    """Return the mean squared error over all rectangles of a grid whose cells have these errors."""
    sums = sums_of(errors)
    first, second = sums.shape
    centred = sums - sums.mean(axis=0) - sums.mean(axis=1)[:, None] + sums.mean()
    return 4 * float((centred**2).sum()) / ((first - 1) * (second - 1))


# Rectangles of a grid: what is in them, how large they are, and random ones.

Corners: TypeAlias = Integers
"""Rows of four cut points: top, bottom, left, right; of ranges, rows of two."""


def between(sums: Any, corners: Corners) -> Any:
    """Add up the cells of rectangles or ranges, from sums up to each cut point along the last axes."""
    if corners.shape[1] == 2:
        return sums[..., corners[:, 1]] - sums[..., corners[:, 0]]
    top, bottom, left, right = corners.T
    return sums[..., bottom, right] - sums[..., top, right] - sums[..., bottom, left] + sums[..., top, left]


def sums_of(cells: Floats) -> Floats:
    """Add up the cells before each cut point."""
    return np.pad(np.cumsum(np.cumsum(cells, axis=0), axis=1), ((1, 0), (1, 0)))


def areas(corners: Corners) -> Integers:
    """Count the cells of rectangles or ranges."""
    return np.prod(corners[:, 1::2] - corners[:, ::2], axis=1)


def rectangles_of(area: int, shape: tuple[int, ...], many: int, source: BitSource) -> Corners:
    """Draw rectangles of about an area, their heights evenly on a logarithmic scale."""
    dice = source.words(3 * many).reshape(3, -1) / 2**32
    low, high = np.log(max(1, area / shape[1])), np.log(min(shape[0], area))
    height = np.clip(np.rint(np.exp(low + dice[0] * (high - low))), 1, shape[0]).astype(np.int64)
    width = np.clip(np.rint(area / height), 1, shape[1]).astype(np.int64)
    top = (dice[1] * (shape[0] - height + 1)).astype(np.int64)
    left = (dice[2] * (shape[1] - width + 1)).astype(np.int64)
    return np.stack([top, top + height, left, left + width], axis=1)


def random_rectangles(shape: tuple[int, ...], many: int, source: BitSource) -> Corners:
    """Draw rectangles between any two cut points along each side, all equally likely; some draws give none."""
    dice = source.words(4 * many).reshape(4, many)
    down, across = (np.sort(pair % (size + 1), axis=0) for pair, size in zip((dice[:2], dice[2:]), shape, strict=True))
    corners = np.concatenate([down, across]).T.astype(np.int64)
    return corners[areas(corners) > 0]


# The nearest grid that has no negative count and meets public totals, in a metric that cosine waves make diagonal.
#
# A metric weighs the squares of cosine coefficients. The nearest grid that is allowed is found by the alternating
# direction method of multipliers [boyd2011]: in turn a grid near the estimate, wave by wave, and the plain projection
# of that on the grids allowed, which subtracts one number from all cells of a part and cuts at zero.
# docs/proofs/not_negative_grids.md

Project: TypeAlias = Callable[[Floats], Floats]

_MOST_ROUNDS = 400
_CHECKED_EVERY = 10
_RELAXED = 1.7
"""Steps are this much longer than plain ones; 1.5 to 1.8 is usual, and fastest on all development shapes."""
_STIFFER = 2.0
"""By how much the penalty grows at every check. Balancing both residuals instead, as is usual, takes 1.3 to 1.9 times
as many rounds on the development shapes (16 and 32 cells a side), and the grids are as far from the truth."""
_NEWTON_STEPS = 100


def waves(cells: Floats) -> Floats:
    """Return the cosine coefficients of a grid; sums of squares stay the same."""
    from scipy.fft import dctn

    return np.asarray(dctn(cells, norm="ortho"), dtype=np.float64)


def cells_of(coefficients: Floats) -> Floats:
    """Return the grid with these cosine coefficients."""
    from scipy.fft import idctn

    return np.asarray(idctn(coefficients, norm="ortho"), dtype=np.float64)


def rectangles_by_wave(size: int) -> Floats:
    """Return the mean square of what each wave along an attribute adds to a random range; at most 1."""
    from scipy.fft import idct

    lines = np.asarray(idct(np.eye(size), axis=0, norm="ortho"), dtype=np.float64)
    sums = np.cumsum(lines, axis=0)
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
    end when the two grids that they approach from either side differ by less than ``closeness`` in the mean square of
    a random rectangle.
    """
    allowed = linear.min() >= 0 and (constraints is None or constraints.met(linear.reshape(-1)))
    if allowed or not looseness.max(initial=0.0):
        return linear
    projections: list[Project] = [lambda cells: np.maximum(cells, 0.0)]
    if constraints is not None:
        projections = [_Parts(linear.shape, totals) for totals in constraints.totals]
    loose = looseness[looseness > 0]
    penalty = float(0.5 / np.sqrt(loose.min() * loose.max()))
    wanted = waves(linear)
    # One projected grid for each set of totals, and what is left to explain of it.
    projected = np.stack([project(cells_of(wanted)) for project in projections])
    left = np.zeros_like(projected)
    for number in range(_MOST_ROUNDS):
        pulled = len(projections) * penalty * looseness
        near = cells_of((wanted + pulled * waves((projected - left).mean(axis=0))) / (1 + pulled))
        left += _RELAXED * near + (1 - _RELAXED) * projected
        projected = np.stack([project(each) for project, each in zip(projections, left, strict=True)])
        left -= projected
        if (number + 1) % _CHECKED_EVERY:
            continue
        if max(over_all_rectangles(near - each) for each in projected) < closeness:
            break
        penalty *= _STIFFER
        left /= _STIFFER
        if progress is not None:
            progress((number + 1) / _MOST_ROUNDS)
    met = projected.mean(axis=0)
    if constraints is None or len(projections) == 1:
        return met
    return constraints.not_negative(met.reshape(-1)).reshape(met.shape)


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


def bound_grid(query: Query, policy: Policy) -> HistogramForm:
    """Bind a query that asks for a grid."""
    form = query.on(policy.domain)
    if query.answer != "grid" or form.pattern is not Pattern.CELLS:
        raise RefusalError(f"this mechanism answers grids, not {brief(query)}.")
    for name, attribute in zip(form.domain.names, form.domain.attributes, strict=True):
        if attribute.size > GRID_SIDE:
            raise QueryError(
                f"a grid has at most {GRID_SIDE:,} values along each side, and {name} has {attribute.size:,}.",
                hint=coarser(name, attribute, GRID_SIDE),
            )
    return cast(HistogramForm, form)


CLOSENESS = 1e-4
"""How near to the nearest grid the search ends: a share of the mean squared error of a random rectangle."""
_DRAWS = 8
_RECTANGLES = 4_000
_RECTANGLES_OF_A_SIZE = 100


class GridFamily(Mechanism):
    """A mechanism whose noisy numbers give a linear estimate of the counts of a grid's cells, and a better one."""

    form: HistogramForm
    gives = ("grid",)

    @abstractmethod
    def estimate(self, noisy: Integers) -> Floats:
        """Return the linear, unbiased estimate of the cells, in the shape of the grid."""

    @abstractmethod
    def spread(self, weights: Floats) -> Floats:
        """Multiply columns of weights of the cells by the covariance of their linear estimate."""

    emphasis: ClassVar[float] = 0.5
    """How much waves count that move many rectangles when the nearest grid without negative counts is chosen.

    0 gives the most likely grid for normal noise, but noise cut at zero adds up over large empty rectangles. 1, with
    equal noise, gives nearly the metric of random rectangles, in which the error of all of them can only fall. Both
    families' values were settled on ``DEVELOPMENT_2`` of benchmarks/shapes.py and two real sets, with 10^3 to 10^6
    records: products at epsilon 0.1 on 16, 64 and 128 cells each way and at 0.01 and 1 on 32, among 0, 0.1, 0.2, 0.35,
    0.5, 0.75 and 1; flows at epsilon 0.1 on 32, 64 and 128, between the best two of 0, 0.05, 0.1, 0.2 and 0.3. For
    products 0.35 has about the same mean error as 0.5, but a single hill gets 1.3 times worse where there are no
    coarse bins."""

    def wave_variances(self) -> Floats:
        """Return the variance of each cosine coefficient of the linear estimate, up to a factor; by default, equal."""
        return np.ones(self.form.domain.shape)

    def rectangle_variances(self, corners: Corners) -> Floats:
        """Return the variances of the linear estimates of rectangles between cut points; by default, simulated."""
        source, nobody = SimulationSource("linear grids"), np.zeros(self.form.domain.shape, dtype=np.int64)
        draws = (sums_of(self.estimate(self.measure(nobody, source))) for _ in range(_DRAWS))
        return np.mean([between(draw, corners) ** 2 for draw in draws], axis=0)

    def within_by_size(self, level: Number = "0.95") -> dict[str, float]:
        source, shape = SimulationSource("sizes of rectangles"), self.form.domain.shape
        corners = random_rectangles(shape, _RECTANGLES, source)
        shares, deviations = areas(corners) / self.form.domain.size, np.sqrt(self.rectangle_variances(corners))
        return bounds_by_size(shares, normal_errors(deviations), level, "cells")

    sized_in = "cells"

    def errors_by_size(self) -> dict[int, float]:
        shape = self.form.domain.shape
        areas_shown = [area for area in sizes_up_to(self.form.domain.size) if 2 * area <= self.form.domain.size] or [1]
        source = SimulationSource("errors of rectangles by size")
        drawn = [rectangles_of(area, shape, _RECTANGLES_OF_A_SIZE, source) for area in areas_shown]
        variances = np.split(self.rectangle_variances(np.concatenate(drawn)), len(areas_shown))
        return {area: float(np.sqrt(each.mean())) for area, each in zip(areas_shown, variances, strict=True)}

    def taken(self, noisy: Integers) -> GridFamily:
        """Return the mechanism that measured these numbers: itself, unless a first look chose one of several."""
        return self

    def uneven(self, counts: Integers) -> Integers:
        """Return counts as uneven as data like these may be without its showing; by default, as they are."""
        return counts

    def meeting(self, linear: Floats, totals: Correction | None, stated: Constraints | None = None) -> Floats:
        """Make the linear estimate meet public totals; ``stated`` may be those of another table."""
        return linear if totals is None else totals(linear.reshape(-1), stated).reshape(linear.shape)

    def shown_estimate(
        self,
        noisy: Integers,
        records: int | None,
        totals: Correction | None = None,
        stated: Constraints | None = None,
    ) -> Floats:
        """Return the nearest estimate without negative counts that meets the public totals, at no privacy cost."""
        if totals is None and records is not None:
            totals = self.known_total(records)
        linear = self.meeting(self.estimate(noisy), totals, stated)
        constraints = None if totals is None else stated or totals.constraints
        with task("Estimating the grid") as progress:
            close = CLOSENESS * self.expected_error().mse
            return nearest_not_negative(linear, self._looseness, constraints, close, progress)

    def known_total(self, records: int) -> Correction:
        """Return what makes a linear estimate meet the public number of records, where that is all that is public."""
        return Correction(Constraints((records_total(self.form.domain.size, records),)), self.spread)

    @cached_property
    def _looseness(self) -> Floats:
        variances = self.wave_variances()
        largest = float(variances.max())
        # A wave whose variance is 0 but for rounding is exact.
        noisy = np.where(variances > 1e-12 * largest, variances, 0.0)
        first, second = map(rectangles_by_wave, variances.shape)
        return noisy / largest * np.outer(first, second) ** -self.emphasis if largest else noisy
