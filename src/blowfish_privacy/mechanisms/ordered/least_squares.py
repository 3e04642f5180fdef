"""Generalised least squares for a smooth hierarchy: the best linear estimate, given the total, exact or noisy.

Unknown are the counts c. Observed are the leaf, y = c + noise of variance v, the hats of the coarser levels,
z = A c + noise of covariance D, and the total with noise of variance w, which is 0 where the number of records is
public. With B = [A; 1] and E = blockdiag(D, w) the estimate is
``y + v B' G^-1 (o - B y)``, G = E + v B B', and its covariance ``v I - v^2 B' G^-1 B``. G is sparse: hats touch only
their neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.ordered.hat_rows import HatRows, hat_rows
from blowfish_privacy.mechanisms.ordered.levels import Level

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The linear step over ``size`` positions: leaf noise of variance ``leaf``, and coarser levels above it."""

    size: int
    leaf: float
    coarse: tuple[Level, ...]
    total: float = 0.0
    """The variance of the noise on the total."""

    @cached_property
    def _shape(self) -> HatRows:
        return hat_rows(self.size, self.coarse)

    @property
    def hats(self) -> Any:
        """The rows of all coarser levels."""
        return self._shape.hats

    @cached_property
    def _solve(self) -> Any:
        from scipy.sparse import block_diag
        from scipy.sparse.linalg import splu

        if not self.coarse:
            return np.asarray
        noise = block_diag([level.covariance(self.size) for level in self.coarse])
        order = self._shape.order
        system = (noise + self.leaf * self._shape.products).tocsr()[order][:, order].tocsc()
        factor = splu(system, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True})

        def solve(right: Floats) -> Floats:
            solved = np.empty_like(right)
            solved[order] = factor.solve(right[order])
            return solved

        return solve

    @property
    def _overlapping(self) -> bool:
        return self._shape.overlapping

    @cached_property
    def _total(self) -> tuple[Floats, float]:
        """Return the hats' response to the total, and how far it may be from what leaf and hats say of it."""
        response = self._solve(self._ones)
        return response, self.total + self.leaf * self.size - float(self._ones @ response)

    @cached_property
    def _ones(self) -> Floats:
        """What the hats see of one record everywhere, times the variance of the leaf's noise."""
        return self.leaf * np.asarray(self.hats.sum(axis=1)).reshape(-1)

    def estimate(self, leaf: Floats, coarse: Sequence[Floats], total: int) -> Floats:
        """Return the estimated counts, which add up to the total where it is exact."""
        observed = np.concatenate([np.zeros(0), *coarse])
        response, spread = self._total
        gap = observed - self.hats @ leaf
        solved = self._solve(gap)
        multiplier = (total - float(leaf.sum()) - float(self._ones @ solved)) / spread
        return leaf + self.leaf * (self.hats.T @ (solved - multiplier * response) + multiplier)

    def spread(self, weights: Floats) -> Floats:
        """Multiply columns of weights by the covariance of the estimated counts, v I - v^2 B' G^-1 B."""
        response, left = self._total
        solved = self._solve(self.hats @ weights)
        multiplier = (weights.sum(axis=0) - self._ones @ solved) / left
        known = self.hats.T @ (solved - np.outer(response, multiplier)) + multiplier
        return self.leaf * weights - self.leaf**2 * known

    def moments(self) -> tuple[float, float]:
        """Return the trace and the sum of all entries of the covariance of the cumulative estimate, exactly."""
        if self._overlapping:
            covariance = self._inverse_information
            return float(np.trace(covariance)), float(covariance.sum())
        summed = np.cumsum(self._joined, axis=1)
        trace = self.leaf * self.size * (self.size + 1) / 2
        trace -= self.leaf**2 * float(np.vdot(summed, self._joint_solve(summed)))
        weights = np.arange(self.size, 0, -1.0)
        seen = self._joined @ weights
        both = self.leaf * float(weights @ weights) - self.leaf**2 * float(seen @ self._joint_solve(seen))
        return trace, both

    def covariance(self) -> Floats:
        """Return the covariance of the cumulative estimate, entry by entry."""
        if self._overlapping:
            return self._inverse_information
        summed = np.cumsum(self._joined, axis=1)
        places = np.arange(1, self.size + 1)
        first = self.leaf * np.minimum.outer(places, places)
        return first - self.leaf**2 * (summed.T @ self._joint_solve(summed))

    @cached_property
    def _inverse_information(self) -> Floats:
        """The covariance where there are as many rows as positions: the inverse of what all rows tell together."""
        from scipy.linalg import get_lapack_funcs

        from blowfish_privacy.mechanisms.ordered.information import cumulative_information

        told = cumulative_information(self.size, self.leaf, self.coarse, self.total)
        known = told[: self.size - (not self.total), : self.size - (not self.total)]
        factor, inverse = get_lapack_funcs(("potrf", "potri"), (known,))
        half: Any = inverse(factor(known)[0])[0]
        whole = np.triu(half) + np.triu(half, 1).T
        return np.pad(whole, (0, self.size - len(whole)))

    @cached_property
    def _joined(self) -> Floats:
        return np.vstack([self.hats.toarray(), np.ones((1, self.size))])

    @cached_property
    def _joint_solve(self) -> Any:
        from functools import partial

        from scipy.linalg import block_diag, cho_factor, cho_solve

        coarse = (level.covariance(self.size).toarray() for level in self.coarse)
        noise: Any = block_diag(*coarse, np.full((1, 1), self.total))
        return partial(cho_solve, cho_factor(noise + self.leaf * (self._joined @ self._joined.T)))
