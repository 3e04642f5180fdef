"""What the mechanisms for grids share: they estimate the counts of all cells from noisy numbers."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.constraints import Constraints, Correction
from blowfish_privacy.mechanisms.grid.not_negative import nearest_not_negative, rectangles_by_wave
from blowfish_privacy.mechanisms.grid.rectangles import (
    Corners,
    areas,
    between,
    random_rectangles,
    rectangles_of,
    sums_of,
)
from blowfish_privacy.mechanisms.intervals import bounds_by_size, normal_errors, sizes_up_to
from blowfish_privacy.mechanisms.mechanism import Mechanism
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.privacy.public_totals import records_total
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number
from blowfish_privacy.support.progress import task

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
    def estimate(self, noisy: npt.NDArray[np.int64]) -> Floats:
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
        """Bound the error of the linear estimate of random rectangles of several sizes, under a normal law."""
        source, shape = SimulationSource("sizes of rectangles"), self.form.domain.shape
        corners = random_rectangles(shape, _RECTANGLES, source)
        shares, deviations = areas(corners) / self.form.domain.size, np.sqrt(self.rectangle_variances(corners))
        return bounds_by_size(shares, normal_errors(deviations), level, "cells")

    sized_in = "cells"

    def errors_by_size(self) -> dict[int, float]:
        """Return the typical error of the linear estimate of rectangles of about each area, all shapes alike."""
        shape = self.form.domain.shape
        areas_shown = [area for area in sizes_up_to(self.form.domain.size) if 2 * area <= self.form.domain.size] or [1]
        source = SimulationSource("errors of rectangles by size")
        drawn = [rectangles_of(area, shape, _RECTANGLES_OF_A_SIZE, source) for area in areas_shown]
        variances = np.split(self.rectangle_variances(np.concatenate(drawn)), len(areas_shown))
        return {area: float(np.sqrt(each.mean())) for area, each in zip(areas_shown, variances, strict=True)}

    def taken(self, noisy: npt.NDArray[np.int64]) -> GridFamily:
        """Return the mechanism that measured these numbers: itself, unless a first look chose one of several."""
        return self

    def uneven(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return counts as uneven as data like these may be without its showing; by default, as they are."""
        return counts

    def meeting(self, linear: Floats, totals: Correction | None, stated: Constraints | None = None) -> Floats:
        """Make the linear estimate meet public totals; ``stated`` may be those of another table."""
        return linear if totals is None else totals(linear.reshape(-1), stated).reshape(linear.shape)

    def shown_estimate(
        self,
        noisy: npt.NDArray[np.int64],
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
        # Beyond what rounding can tell from 0, a wave is exact.
        told = np.where(variances > 1e-12 * largest, variances, 0.0)
        first, second = map(rectangles_by_wave, variances.shape)
        return told / largest * np.outer(first, second) ** -self.emphasis if largest else told
