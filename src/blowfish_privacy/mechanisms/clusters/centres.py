"""Weighted k-means on the points of a synopsis."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Assignment, AttributeSets, Lattice, RecordAggregates
from blowfish_privacy.domain import Attribute, Binned, Domain, Numeric
from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.clusters.synopsis import Points, Synopsis, to_values
from blowfish_privacy.mechanisms.constraints import Constraints
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.privacy.public_totals import Totals
from blowfish_privacy.support.arrays import Floats, Integers

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


# Points whose weights meet public totals of parts of the cells.


def meet_totals(points: Points, domain: Domain, constraints: Constraints) -> Points:
    """Scale the weights of the points in each part until all totals are met.

    A part that holds records, and in which no point lies, gets one in its middle cell.
    """
    if max(len(each.counts) for each in constraints.totals) == 1:
        return points
    columns = [_positions(attribute, points.places[:, axis]) for axis, attribute in enumerate(domain.attributes)]
    cells = np.ravel_multi_index(columns, domain.shape)
    for each in constraints.totals:
        empty = np.flatnonzero((np.bincount(each.labels[cells], minlength=len(each.counts)) == 0) & (each.counts > 0))
        members = [np.flatnonzero(each.labels == part) for part in empty.tolist()]
        middles = np.array([part[len(part) // 2] for part in members], dtype=np.int64)
        along = np.stack(np.unravel_index(middles, domain.shape), axis=1).astype(np.float64)
        low, high = to_values(domain, along), to_values(domain, along + 1)
        cells = np.concatenate([cells, middles])
        points = Points(
            np.concatenate([points.places, (low + high) / 2]),
            np.concatenate([points.weights, np.zeros(len(middles))]),
            np.concatenate([points.widths, high - low]),
        )
    held = Constraints(tuple(Totals(each.labels[cells], each.counts) for each in constraints.totals))
    return Points(points.places, held.scaled(points.weights), points.widths)


def _positions(attribute: Attribute, places: Floats) -> Integers:
    if isinstance(attribute, Binned):
        edges = [float(bound) for bound in attribute.bounds]
        positions = np.searchsorted(edges, places, side="right") - 1
    elif isinstance(attribute, Numeric):
        positions = np.rint((places - float(attribute.lowest)) / float(attribute.spacing)).astype(np.int64)
    else:
        raise QueryError("categories have no coordinates.")
    return np.clip(positions, 0, attribute.size - 1)


# The typical quality of clusters: simulated on public synthetic points, since it depends on where records lie.

_MOST_POINTS = 10_000
_TRIAL_RESTARTS = 5


@dataclass(frozen=True, eq=False)
class _Repeated(RecordAggregates):
    """Public points, each of which stands for several records at the same place."""

    times: int

    def tables(self, sets: AttributeSets) -> Iterator[Integers]:
        return (self.times * table for table in super().tables(sets))

    def lattice_sums(self, lattice: Lattice) -> Integers:
        return self.times * super().lattice_sums(lattice)

    def assignments(self, assignment: Assignment) -> Integers:
        return self.times * super().assignments(assignment)


def typical_ratios(mechanism: Synopsis, k: int, records: int) -> dict[str, float]:
    """Return, for public shapes with about as many records, the private objective divided by the non-private one."""
    times, top = -(-records // _MOST_POINTS), np.array(mechanism.form.domain.shape)
    shapes = _shapes(max(records // times, k), len(top), k)
    return {name: _ratio(mechanism, np.minimum(at * top, top - 1), k, times) for name, at in shapes.items()}


def _shapes(many: int, dimensions: int, k: int) -> dict[str, Floats]:
    """Make public points in the unit box, always the same: round groups, and one group in a thin cloud."""
    generator = np.random.default_rng(0)
    middles = generator.uniform(0.1, 0.9, (k, dimensions))
    groups = middles[generator.integers(0, k, many)] + generator.normal(0, 0.05, (many, dimensions))
    cloud = generator.uniform(0, 1, (many, dimensions))
    cloud[: many // 2] = 0.3 + generator.normal(0, 0.02, (many // 2, dimensions))
    return {"round groups": np.clip(groups, 0, 1), "one dense group in a cloud": np.clip(cloud, 0, 1)}


def _ratio(mechanism: Synopsis, places: Floats, k: int, times: int) -> float:
    domain, positions = mechanism.form.domain, places.astype(np.int64)
    aggregates = _Repeated(domain, tuple(positions.T), times)
    noisy = mechanism.draw(aggregates, SimulationSource("clusters"))
    private = cluster(mechanism.points(noisy, times * len(positions)), k, seed=0, restarts=_TRIAL_RESTARTS).centers
    values = to_values(domain, positions.astype(np.float64) + 0.5)
    alone = Points(values, np.ones(len(values)), np.zeros_like(values))
    plain = cluster(alone, k, seed=0, restarts=_TRIAL_RESTARTS).centers
    best = _objective(values, plain)
    return _objective(values, private) / best if best else 1.0


def _objective(values: Floats, centers: Floats) -> float:
    return float(((values - centers[nearest_centre(values, centers)]) ** 2).sum())
