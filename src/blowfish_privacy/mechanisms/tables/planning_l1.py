"""The best noise on tables for pure epsilon.

With w_q = 1/b_q the variances of generalised least squares are s_S = 1 / sum_q a_Sq w_q^2, and the problem is

    minimise sum_S v_S s_S(w)   where every change D has sum_q c_Dq w_q <= 1.

At given weights of least squares the objective is sum_q c_q / w_q^2, whose best w has w_q^3 = 2 c_q / (c' lambda)_q
with a price lambda_D on every change: alternating the two never gets worse, and the prices follow multiplicatively.
The problem is not convex (it prefers few measurements), so several starts are made and the best is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.mechanisms.tables.lattice import FloatArray, Lattice
from blowfish_privacy.mechanisms.tables.measurements import Measurement, Measurements, candidates, measurements

ROUNDS = 400
NEGLIGIBLE = 1e-5
"""Measurements of less than this share of the largest weight are dropped."""


@dataclass(frozen=True, eq=False)
class Weights:
    """What is measured, with w = 1/b for a largest loss of 1, and what it gives."""

    shapes: tuple[Measurement, ...]
    weights: FloatArray
    objective: float


def best_weights(lattice: Lattice) -> Weights:
    """Try several starts, keep the best."""
    listed = candidates(lattice)
    known = measurements(lattice, listed)
    asked = frozenset(lattice.tables)
    alone = np.array([1.0 if not signs and shape in asked else 0.0 for shape, signs in listed])
    starts = (alone, np.ones(len(listed)), alone + 0.1, np.array([4.0 ** -len(shape) for shape, _ in listed]))
    found = [_alternate(lattice, known, start) for start in starts]
    return min(found, key=lambda weights: weights.objective)


def _alternate(lattice: Lattice, known: Measurements, start: FloatArray) -> Weights:
    """Alternate least squares, noise and prices from a start, in which 0 means not measured."""
    used = np.flatnonzero(start)
    precision, loss = known.precision[:, used], known.loss[:, used]
    told, paid = precision.T.tocsr(), loss.T.tocsr()
    weights = start[used] / (loss @ start[used]).max()
    prices = np.ones(loss.shape[0])
    importance = lattice.importance
    tables = np.full(len(lattice.tables), 1 / len(lattice.tables)) if importance is None else importance
    best, least = weights, np.inf
    for _ in range(ROUNDS if importance is not None else 3 * ROUNDS):
        variances = 1 / (precision @ (weights * weights))
        cells = lattice.spread @ variances
        value = float(cells.max() if importance is None else cells @ importance)
        if value < least:
            best, least = weights, value
        if importance is None:
            tables = tables * (cells / cells.max()) ** 0.3
            tables = tables / tables.sum()
        slopes = told @ ((lattice.spread.T @ tables) * variances * variances)
        weights = np.cbrt(2 * weights**4 * slopes / (paid @ prices))
        losses = loss @ weights
        prices = np.maximum(prices * losses, 1e-200)
        weights = weights / losses.max()
        prices = prices * losses.max() ** 3
    return _pruned(lattice, known, used, best)


def _pruned(lattice: Lattice, known: Measurements, used: NDArray[np.intp], weights: FloatArray) -> Weights:
    """Drop what is hardly measured, and scale to a largest loss of 1."""
    kept = weights > NEGLIGIBLE * weights.max()
    used, weights = used[kept], weights[kept]
    weights = weights / (known.loss[:, used] @ weights).max()
    variances = 1 / (known.precision[:, used] @ (weights * weights))
    return Weights(tuple(known.shapes[place] for place in used), weights, lattice.objective(variances))
