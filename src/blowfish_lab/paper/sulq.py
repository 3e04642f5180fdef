"""SuLQ k-means with the published noise [he2014, section 6]: NOT PRIVATE, kept to compare with the paper's figure.

The paper's lemma says that under a threshold theta the cluster sums have sensitivity 2 theta (2 max |A| under attribute
secrets, 2 max d(P) under partitions). A record that crosses from one cluster to another takes its whole value along, so
the sums change by far more. See docs/errata.md.

As printed, a centre is a noisy sum divided by a noisy size, wherever that lies. A size close to zero throws it far out
of the box, and records that are left with such centres count with the whole squared distance: a few runs make up most
of the mean objective, which then differs from one experiment to the next, and the median says more. With ``clipped``
centres stay in the box, which the paper does not say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from blowfish_privacy.support.arrays import Floats

Division: TypeAlias = Callable[[Floats, Floats, Floats, Floats], Floats]
"""Makes centres of noisy sums and noisy sizes, in a box from low to high."""


def cluster_sums(points: Floats, centers: Floats) -> tuple[Floats, Floats]:
    """Return the sizes and the sums of the clusters of points: what SuLQ perturbs in every round."""
    labels = ((points[:, None, :] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
    sizes = np.bincount(labels, minlength=len(centers)).astype(np.float64)
    sums = np.stack([np.bincount(labels, column, minlength=len(centers)) for column in points.T], axis=1)
    return sizes, sums.astype(np.float64)


def as_printed(sums: Floats, sizes: Floats, low: Floats, high: Floats) -> Floats:  # noqa: ARG001
    """Divide, and let centres lie where they may."""
    return sums / sizes


def clipped(sums: Floats, sizes: Floats, low: Floats, high: Floats) -> Floats:
    """Take sizes as one at least, and clip centres into the box: the paper says neither."""
    return np.clip(sums / np.maximum(sizes, 1.0), low, high)


def not_private_published_sulq_kmeans(
    points: Floats,
    k: int,
    *,
    epsilon: float,
    claimed_sensitivity: float,
    low: Floats,
    high: Floats,
    seed: int,
    rounds: int = 10,
    divided: Division = as_printed,
) -> Floats:
    """Run k-means with the noise the paper prints, which protects nobody; for comparisons on public data only.

    Half of each round's epsilon goes to the sizes (claimed sensitivity 2), half to the sums (``claimed_sensitivity``).
    """
    generator = np.random.default_rng(seed)
    centers = generator.uniform(low, high, (k, points.shape[1]))
    share = epsilon / rounds / 2
    for _ in range(rounds):
        sizes, sums = cluster_sums(points, centers)
        noisy = sizes + generator.laplace(0, 2 / share, k)
        moved = sums + generator.laplace(0, claimed_sensitivity / share, sums.shape)
        centers = divided(moved, noisy[:, None], low, high)
    return centers
