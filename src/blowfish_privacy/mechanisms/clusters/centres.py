"""Weighted k-means on the points of a synopsis."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.clusters.synopsis import Points
from blowfish_privacy.support.arrays import Floats

_RESTARTS = 20


@dataclass(frozen=True, eq=False)
class Clusters:
    """Centres, each with the estimated number of records nearest to it, largest first."""

    centers: Floats
    sizes: Floats
    labels: npt.NDArray[np.int64]
    """The cluster of every point of the synopsis."""
    objective: float
    """The estimated sum of squared distances of the records to their centres."""


def cluster(points: Points, k: int, *, seed: int, restarts: int = _RESTARTS) -> Clusters:
    """Find k centres with k-means++ and several restarts; equal seeds give equal centres."""
    points = enough_points(points, k)
    # The import takes seconds, and only clusters need it.
    from sklearn.cluster import KMeans as Lloyd
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    # There are too few points for several threads to pay off, and on a busy machine threads wait for one another.
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        clusterer: Any = Lloyd
        fitted: Any = clusterer(k, n_init=restarts, random_state=seed).fit(points.places, sample_weight=points.weights)
    labels = np.asarray(fitted.labels_, dtype=np.int64)
    sizes = np.bincount(labels, points.weights, minlength=k).astype(np.float64)
    order = np.argsort(-sizes, kind="stable")
    ranks = np.empty(k, dtype=np.int64)
    ranks[order] = np.arange(k)
    # Records are taken to be spread evenly over the cells of their points.
    inside = float(points.weights @ (points.widths**2).sum(axis=1)) / 12
    return Clusters(
        np.asarray(fitted.cluster_centers_)[order], sizes[order], ranks[labels], float(fitted.inertia_) + inside
    )


def enough_points(points: Points, k: int) -> Points:
    """Halve cells along their widest side until there are as many points as centres."""
    while len(points.weights) < k:
        longest = points.widths.argmax(axis=1)
        shift, widths = np.zeros_like(points.widths), points.widths.copy()
        rows = np.arange(len(longest))
        widths[rows, longest] /= 2
        shift[rows, longest] = widths[rows, longest] / 2
        places = np.concatenate([points.places - shift, points.places + shift])
        points = Points(places, np.tile(points.weights / 2, 2), np.tile(widths, (2, 1)))
    return points


def nearest_centre(places: Floats, centers: Floats) -> npt.NDArray[np.int64]:
    """Return the index of the centre nearest to each point; of equally near ones, the first."""
    # By differences: scikit-learn's pairwise_distances_argmin expands the square, and far from the origin, where
    # coordinates are large and distances small, it then assigns a third of the points to the wrong centre.
    nearest = np.empty(len(places), dtype=np.int64)
    step = max(1, 4_000_000 // max(centers.size, 1))
    for start in range(0, len(places), step):
        part = places[start : start + step]
        nearest[start : start + step] = ((part[:, None, :] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
    return nearest
