"""SuLQ k-means [he2014, section 6] with a budget that holds: what the paper's algorithm costs when it is private.

Every round releases sizes and sums of the clusters. A record that moves changes two sizes by one; and it takes its
whole offset from the middle of the box from one cluster to another, |x - m| + |y - m| <= d(T) in L1, wherever it moves.
So no policy with an edge across a cluster's border, which moves with the data, gains anything from short secret steps.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from blowfish_privacy.mechanisms.clusters.centres import nearest_centre
from blowfish_privacy.noise import SystemSource, discrete_laplace
from blowfish_privacy.support.arrays import Floats, Integers


def sound_sulq_kmeans(
    positions: Integers,
    weights: Integers,
    shape: tuple[int, ...],
    k: int,
    *,
    epsilon: Fraction,
    rounds: int,
    generator: np.random.Generator,
) -> Floats:
    """Return centres, in positions; whole numbers with exact noise, half of every round's epsilon for each question."""
    source, share = SystemSource(), epsilon / rounds / 2
    sizes_box = np.array(shape, dtype=np.int64)
    # Twice the offset from the middle is a whole number.
    offsets = 2 * positions - (sizes_box - 1)
    diameter = Fraction(2 * int((sizes_box - 1).sum()))
    centres: Floats = generator.uniform(0, sizes_box - 1, (k, len(shape)))
    for _ in range(rounds):
        labels = nearest_centre(positions.astype(np.float64), centres)
        sizes = _totals(labels, weights, k) + discrete_laplace(2 / share, k, source=source)
        sums = np.stack([_totals(labels, weights * axis, k) for axis in offsets.T], axis=1)
        noisy = sums + discrete_laplace(diameter / share, sums.shape, source=source)
        centres = (noisy / np.maximum(sizes, 1)[:, None] + (sizes_box - 1)) / 2
        centres = np.clip(centres, 0, sizes_box - 1)
    return centres


def _totals(labels: Integers, amounts: Integers, k: int) -> Integers:
    totals = np.zeros(k, dtype=np.int64)
    np.add.at(totals, labels, amounts)
    return totals
