"""SuLQ k-means with the published noise [he2014, section 6]: NOT PRIVATE, kept to compare with the paper's figure.

One step departs from the paper: centres are clipped into the box, and noisy sizes are at least one. The paper does not
say so, and its figures are larger where noise dominates, because a centre that noise throws out of the box counts with
its whole squared distance there. On the synthetic points with everything secret, at epsilon 0.1, 0.5 and 1, means are
about 5.8, 4.8 and 3.9 here, 250, 10 and 5.1 without clipping, 170, 11 and 4.9 without clipping and without the least
size (200 runs each; at 0.1 they scatter widely), and 180, 8 and 4.3 in the paper.

The paper's lemma says that under a threshold theta the cluster sums have sensitivity 2 theta (2 max |A| under attribute
secrets, 2 max d(P) under partitions). A record that crosses from one cluster to another takes its whole value along, so
the sums change by far more. See docs/errata.md.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def cluster_sums(points: Floats, centers: Floats) -> tuple[Floats, Floats]:
    """Return the sizes and the sums of the clusters of points: what SuLQ perturbs in every round."""
    labels = ((points[:, None, :] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
    sizes = np.bincount(labels, minlength=len(centers)).astype(np.float64)
    sums = np.stack([np.bincount(labels, column, minlength=len(centers)) for column in points.T], axis=1)
    return sizes, sums.astype(np.float64)


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
) -> Floats:
    """Run k-means with the noise the paper prints, which protects nobody; for comparisons on public data only.

    Half of each round's epsilon goes to the sizes (claimed sensitivity 2), half to the sums (``claimed_sensitivity``).
    Centres are clipped into the box, which the paper does not say.
    """
    generator = np.random.default_rng(seed)
    centers = generator.uniform(low, high, (k, points.shape[1]))
    share = epsilon / rounds / 2
    for _ in range(rounds):
        sizes, sums = cluster_sums(points, centers)
        noisy = np.maximum(sizes + generator.laplace(0, 2 / share, k), 1.0)
        moved = sums + generator.laplace(0, claimed_sensitivity / share, sums.shape)
        centers = np.clip(moved / noisy[:, None], low, high)
    return centers
