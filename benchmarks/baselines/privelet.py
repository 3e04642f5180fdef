"""Privelet: Haar wavelet coefficients with noise on every level [Xiao, Wang, Gehrke, ICDE 2010].

It protects against adding or removing a record. A record that changes its value changes two counts (``changes``), so to
promise what bounded differential privacy at epsilon promises it runs at epsilon / 2. As ours :func:`privelet` takes the
number of records as public: it gets no noise and no part of epsilon.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from blowfish_privacy.noise import discrete_laplace


def privelet_counts(
    counts: np.ndarray, epsilon: Fraction, changes: int = 2, *, public_total: bool = False
) -> np.ndarray:
    """Return the estimated counts along the last axis, whose length must be a power of two."""
    levels = int(np.log2(counts.shape[-1]))
    scale = changes * (levels + (not public_total)) / epsilon
    current, noisy = counts.astype(np.int64), []
    # Coefficients are whole numbers: a record changes one difference of the two halves' sums on every level by one.
    for _ in range(levels):
        left, right = current[..., 0::2], current[..., 1::2]
        noisy.append((left - right) + discrete_laplace(scale, left.shape))
        current = left + right
    sums = (current if public_total else current + discrete_laplace(scale, current.shape)).astype(float)
    for difference in reversed(noisy):
        halves = np.empty((*sums.shape[:-1], 2 * sums.shape[-1]))
        halves[..., 0::2], halves[..., 1::2] = (sums + difference) / 2, (sums - difference) / 2
        sums = halves
    return sums


def privelet(counts: np.ndarray, epsilon: Fraction) -> np.ndarray:
    """Return Privelet's estimate of the cumulative histogram; the length must be a power of two."""
    return np.cumsum(privelet_counts(counts, epsilon, public_total=True))
