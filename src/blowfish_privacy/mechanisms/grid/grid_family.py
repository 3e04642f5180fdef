"""What the mechanisms for grids share: they estimate the counts of all cells from noisy numbers."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.constraints import Constraints, Correction
from blowfish_privacy.mechanisms.mechanism import Mechanism
from blowfish_privacy.mechanisms.ordered.least_squares import Floats
from blowfish_privacy.queries.histogram import HistogramForm


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
        """Return the estimate that is shown, which meets the public totals, at no privacy cost; by default linear."""
        return self.meeting(self.estimate(noisy), totals, stated)
