"""Noise on given tables for pure epsilon, by alternating least squares, noise and prices.

With w_q = 1/b_q the variances of generalised least squares are s_S = 1 / sum_q a_Sq w_q^2, and the problem is

    minimise sum_S v_S s_S(w)   where every change D has sum_q c_Dq w_q <= 1.

At given weights of least squares the objective is sum_q c_q / w_q^2, whose best w has w_q^3 = 2 c_q / (c' lambda)_q
with a price lambda_D on every change: alternating the two never gets worse, and the prices follow multiplicatively.
Where the worst table counts, so do the tables' shares in the objective. The problem is not convex: it prefers few
measurements, and what is found depends on the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.mechanisms.tables.planning.candidates import Measurements
from blowfish_privacy.mechanisms.tables.planning.lattice import Lattice
from blowfish_privacy.support.arrays import Floats, dense, turned

ROUNDS = 400
PATIENCE = 30
"""Rounds without gain after which alternating stops."""
NEGLIGIBLE = 1e-6
"""Measurements that have less than this share in what is known of every component are dropped."""


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights w = 1/b of all candidates for a largest loss of 1, where 0 means not measured, and what they give.

    ``shares`` are those of the tables in the objective that they were found with.
    """

    weights: Floats
    objective: float
    shares: Floats


@dataclass(frozen=True, eq=False)
class Problem:
    """Candidates for measuring and what they tell; alternating finds weights for them."""

    lattice: Lattice
    known: Measurements

    def settle(self, start: Floats, shares: Floats, rounds: int = ROUNDS) -> Weights:
        """Alternate from a start, in which 0 means not measured. Shares move only if the worst table counts."""
        used = np.flatnonzero(start)
        precision, loss, spread = self.known.precision[:, used], self.known.loss[:, used], self.lattice.spread
        told, paid, gathered = turned(precision), turned(loss), turned(spread)
        weights = start[used] / (loss @ start[used]).max()
        prices = np.ones(loss.shape[0])
        best, least, at, since = weights, np.inf, shares, 0
        for _ in range(rounds):
            variances = 1 / (precision @ (weights * weights))
            value = self.lattice.objective(variances)
            since = 0 if value < least * (1 - 1e-7) else since + 1
            if value < least:
                best, least, at = weights, value, shares
            if since > PATIENCE:
                break
            if self.lattice.importance is None:
                shares = np.maximum(shares * (spread @ variances) / value, 1e-30)
                shares = shares / shares.sum()
            slopes = told @ ((gathered @ shares) * variances * variances)
            weights = np.cbrt(2 * weights**4 * slopes / (paid @ prices))
            losses = loss @ weights
            largest = losses.max()
            weights, prices = weights / largest, np.maximum(prices * losses * largest**3, 1e-200)
        return self._pruned(used, best, at)

    def _pruned(self, used: NDArray[np.intp], best: Floats, shares: Floats) -> Weights:
        """Drop what tells next to nothing about any component, and scale to a largest loss of 1."""
        precision, squares = self.known.precision[:, used], best * best
        told: Any = (precision * squares) * (1 / (precision @ squares))[:, None]
        weights = np.zeros(len(self.known.shapes))
        weights[used] = np.where(dense(told.max(axis=0)) > NEGLIGIBLE, best, 0.0)
        weights = weights / (self.known.loss @ weights).max()
        return Weights(weights, self.lattice.objective(1 / (self.known.precision @ (weights * weights))), shares)
