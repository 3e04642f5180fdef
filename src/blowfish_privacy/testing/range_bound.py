"""How small the error of random ranges can be at all, whichever rows Gaussian noise goes on."""

from __future__ import annotations

from typing import Any

import numpy as np


def least_range_error(size: int, theta: int, rounds: int = 30) -> float:
    """Bound the mean squared error of a random range from below, over all Gaussian rows that lose rho = 1.

    Let X be the precision matrix of the cumulative counts, whose total is public, and V that of the mean over ranges:
    the error is tr(V X^-1). Give the pairs of positions within theta weights that add up to 1, and let M be the
    weighted sum of the outer products of what their moves change. Then tr(M X) <= 2 rho, and under that condition
    alone the error is at least (tr (V^1/2 M V^1/2)^1/2)^2 / (2 rho), whatever the weights. Each round gives more weight
    to the pairs that the best X would favour less.
    """
    places = np.arange(size)
    within = np.triu(np.abs(np.subtract.outer(places, places)) <= theta, 1)
    cuts, below = size + 1, np.tril(np.ones((size, size)))[:-1]
    root, _ = _root((cuts * np.eye(size - 1) - 1) * 2 / (cuts * (cuts - 1)))
    weights, best = within / within.sum(), 0.0
    for _ in range(rounds):
        moves = np.diag(weights.sum(axis=0) + weights.sum(axis=1)) - weights - weights.T
        together, inverse = _root(root @ below @ moves @ below.T @ root)
        trace = float(np.trace(together))
        best = max(best, trace**2 / 2)
        precision = below.T @ root @ inverse @ root @ below * 2 / trace
        squares = np.add.outer(np.diag(precision), np.diag(precision)) - 2 * precision
        weights = weights * np.sqrt(np.maximum(squares, 0) / 2)
        weights /= weights.sum()
    return best


def _root(matrix: Any) -> tuple[Any, Any]:
    """Return the root of a positive matrix, and its inverse."""
    values, vectors = np.linalg.eigh(matrix)
    roots = np.sqrt(np.maximum(values, 1e-15))
    return (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T
