"""Generalised least squares for a smooth hierarchy: the best linear estimate, given the total, exact or noisy.

Unknown are the counts c. Observed are the leaf, y = c + noise of variance v, the hats of the coarser levels,
z = A c + noise of covariance D, and the total with noise of variance w, which is 0 where the number of records is
public. With B = [A; 1] and E = blockdiag(D, w) the estimate is
``y + v B' G^-1 (o - B y)``, G = E + v B B', and its covariance ``v I - v^2 B' G^-1 B``. G is sparse: hats touch only
their neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any

import numpy as np

from blowfish_privacy.mechanisms.ordered.hat_rows import HatRows, hat_rows
from blowfish_privacy.mechanisms.ordered.levels import Level
from blowfish_privacy.support.arrays import Floats, Matrix, blocks, column_by_column, dense, solver, times


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The linear step over ``size`` positions: leaf noise of variance ``leaf``, and coarser levels above it."""

    size: int
    leaf: float
    coarse: tuple[Level, ...]
    total: float = 0.0
    """The variance of the noise on the total."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was worked out: a factorisation can be neither copied nor pickled."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _shape(self) -> HatRows:
        return hat_rows(self.size, self.coarse)

    @property
    def hats(self) -> Matrix:
        """The rows of all coarser levels."""
        return self._shape.hats

    @cached_property
    def _solve(self) -> Any:
        if not self.coarse:
            return np.asarray
        noise = blocks([level.covariance(self.size) for level in self.coarse])
        system: Any = noise + self.leaf * self._shape.products
        if isinstance(system, np.ndarray):
            return partial(column_by_column, solver(system))
        from scipy.sparse.linalg import splu

        order = self._shape.order
        system = system.tocsr()[order][:, order].tocsc()
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
        return self.leaf * (self.hats @ np.ones(self.size))

    def estimate(self, leaf: Floats, coarse: Sequence[Floats], total: int) -> Floats:
        """Return the estimated counts, which add up to the total where it is exact."""
        return self.estimates(leaf[None], [each[None] for each in coarse], np.array([float(total)]))[0]

    def estimates(self, leaf: Floats, coarse: Sequence[Floats], totals: Floats) -> Floats:
        """Return the same for several releases at once, one in each row."""
        observed = np.concatenate([np.zeros((len(leaf), 0)), *coarse], axis=1)
        response, spread = self._total
        solved = np.ascontiguousarray(self._solve(observed.T - times(self.hats, leaf.T)).T)
        # Product by product, so that a release is estimated to the same bits alone and among others.
        seen = np.array([float(self._ones @ each) for each in solved])
        multipliers = ((totals - leaf.sum(axis=1) - seen) / spread)[:, None]
        return leaf + self.leaf * (times(self._shape.turned, (solved - multipliers * response).T).T + multipliers)

    def spread(self, weights: Floats) -> Floats:
        """Multiply columns of weights by the covariance of the estimated counts, v I - v^2 B' G^-1 B."""
        response, left = self._total
        solved = self._solve(self.hats @ weights)
        multiplier = (weights.sum(axis=0) - self._ones @ solved) / left
        known = self._shape.turned @ (solved - np.outer(response, multiplier)) + multiplier
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
        return np.vstack([dense(self.hats), np.ones((1, self.size))])

    @cached_property
    def _joint_solve(self) -> Any:
        noise = blocks([*(level.covariance(self.size) for level in self.coarse), np.full((1, 1), self.total)])
        return solver(dense(noise) + self.leaf * (self._joined @ self._joined.T))
