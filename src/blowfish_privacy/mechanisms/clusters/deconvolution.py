"""Estimates where the records of a noisy soft histogram lie: post-processing of public numbers, in floating point."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from blowfish_privacy.support.arrays import Floats

_ROUNDS = 100
_NOISE_SHARE = 0.25
_RECORD_SHARE = 0.001


def project(noisy: Floats, totals: Floats) -> Floats:
    """Return, for every column, the nearest numbers that are not negative and add up to the column's total."""
    descending = -np.sort(-noisy, axis=0)
    ranks = np.arange(1, len(noisy) + 1)[:, None]
    excess = (np.cumsum(descending, axis=0) - totals) / ranks
    kept = np.maximum((descending > excess).sum(axis=0), 1)
    level = excess[kept - 1, np.arange(noisy.shape[1])]
    return np.maximum(noisy - level, 0) * (totals > 0)


def keep_largest(noisy: Floats, total: float, floor: float) -> Floats:
    """Keep the largest numbers until they add up to the total, none below a floor, and rescale them to the total."""
    order = np.argsort(-noisy)
    descending = noisy[order]
    many = min(int(np.searchsorted(np.cumsum(np.maximum(descending, 0)), total)) + 1, int((descending > floor).sum()))
    kept = np.zeros_like(noisy)
    kept[order[: max(many, 1)]] = np.maximum(descending[: max(many, 1)], 1e-9)
    return kept * (total / kept.sum())


def deconvolve(matrix: Any, rows: Floats, scale: float) -> Floats:
    """Find non-negative weights of points whose rows match the noisy ones as closely as the noise warrants.

    ``matrix`` (rows x points) shares points among rows and its columns add up to one; every column of ``rows`` is a
    problem of its own. Multiplicative rounds (Richardson and Lucy's) keep totals and signs; they stop once the
    misfit is below the noise, since further rounds would fit the noise.
    """
    many, points = matrix.shape
    totals = rows.sum(axis=0)
    weights = np.repeat(totals[None, :] / points, points, axis=0)
    enough = np.maximum(_NOISE_SHARE * scale, _RECORD_SHARE * totals / many)
    active = np.flatnonzero(totals > 0)
    turned = matrix.T.tocsr()
    for _ in range(_ROUNDS):
        predicted = matrix @ weights[:, active]
        far = np.abs(predicted - rows[:, active]).mean(axis=0) > enough[active]
        active, predicted = active[far], predicted[:, far]
        if not len(active):
            break
        factors = np.divide(rows[:, active], predicted, out=np.zeros_like(predicted), where=predicted > 1e-300)
        weights[:, active] *= turned @ factors
    return weights


def hats(cells: int, places: Floats) -> Any:
    """Return the shares that places, in units of a box 0..1, give ``cells`` centred nodes: sparse, nodes x places."""
    from scipy.sparse import csr_array

    at = np.clip(places * cells - 0.5, 0, cells - 1)
    lower = np.minimum(at.astype(np.int64), max(cells - 2, 0))
    upper = np.minimum(lower + 1, cells - 1)
    share = at - lower
    columns = np.arange(len(places))
    values = (np.concatenate([1 - share, share]), (np.concatenate([lower, upper]), np.concatenate([columns, columns])))
    return csr_array(values, shape=(cells, len(places)))


def kron(parts: Sequence[Any]) -> Any:
    """Return the product of sparse matrices over the axes."""
    from scipy.sparse import csr_array
    from scipy.sparse import kron as product

    return csr_array(reduce(lambda a, b: product(a, b, format="csr"), parts))
