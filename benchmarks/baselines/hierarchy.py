"""HB: a tree of counts with the fan-out that minimises its error, equal budgets, made consistent by least squares.

[Hay, Rastogi, Miklau, Suciu, VLDB 2010; Qardaji, Yang, Li, VLDB 2013.] It protects against adding or removing a record;
a record that changes its value is one removed and one added, so to promise what bounded differential privacy at epsilon
promises it runs at epsilon / 2. As ours it takes the number of records as public: the estimate is made to sum to it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from blowfish_privacy.noise import discrete_laplace


def hierarchy_b(counts: np.ndarray, epsilon: Fraction) -> np.ndarray:
    """Return HB's consistent estimate of the cumulative histogram."""
    fan = min(range(2, 65), key=lambda f: _expected(len(counts), f))
    widths = [1]
    while widths[-1] * fan < len(counts):
        widths.append(widths[-1] * fan)
    scale = 2 * len(widths) / epsilon
    levels = []
    for width in widths:
        padded = np.zeros(-(-len(counts) // width) * width)
        padded[: len(counts)] = counts
        exact = padded.reshape(-1, width).sum(axis=1)
        levels.append(exact + discrete_laplace(scale, len(exact)))
    return np.cumsum(_consistent(levels, fan, int(counts.sum()))[: len(counts)])


def _expected(size: int, fan: int) -> float:
    height = max(1, int(np.ceil(np.log(size) / np.log(fan))))
    return (fan - 1) * height**3


def _consistent(levels: list[np.ndarray], fan: int, total: int) -> np.ndarray:
    """Combine the levels by least squares: upwards weighted means, then downwards corrections from the public total."""
    means, weights = [levels[0].astype(float)], [np.ones(len(levels[0]))]
    for level in levels[1:]:
        below = np.zeros(len(level) * fan)
        below[: len(means[-1])] = means[-1]
        variance = np.zeros(len(level) * fan)
        variance[: len(weights[-1])] = 1 / weights[-1]
        sums, spread = below.reshape(-1, fan).sum(axis=1), variance.reshape(-1, fan).sum(axis=1)
        weight = 1 + 1 / spread
        means.append((level + sums / spread) / weight)
        weights.append(weight)
    share = (1 / weights[-1]) / (1 / weights[-1]).sum()
    final = means[-1] + (total - means[-1].sum()) * share
    for mean, weight in zip(reversed(means[:-1]), reversed(weights[:-1]), strict=True):
        variance = 1 / weight
        parent = np.repeat(np.arange(len(final)), fan)[: len(mean)]
        gap = final - np.bincount(parent, mean, len(final))
        total = np.bincount(parent, variance, len(final))
        final = mean + gap[parent] * variance / total[parent]
    return final
