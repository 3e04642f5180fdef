"""The typical quality of clusters: simulated on public synthetic points, since it depends on where records lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from blowfish_privacy.aggregates import Assignment, AttributeSets, Lattice, RecordAggregates
from blowfish_privacy.domain import Domain
from blowfish_privacy.mechanisms import Points, Synopsis
from blowfish_privacy.mechanisms.clusters.centres import cluster, nearest_centre
from blowfish_privacy.mechanisms.clusters.synopsis import to_values
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.support.arrays import Floats, Integers

_MOST_POINTS = 10_000
_RESTARTS = 5


@dataclass(frozen=True, eq=False)
class _Repeated:
    """Public points, each of which stands for several records at the same place."""

    points: RecordAggregates
    times: int

    def counts(self, sets: AttributeSets | None = None) -> list[Integers]:
        return [self.times * table for table in self.points.counts(sets)]

    def tables(self, sets: AttributeSets) -> Iterator[Integers]:
        return (self.times * table for table in self.points.tables(sets))

    def lattice_sums(self, lattice: Lattice) -> Integers:
        return self.times * self.points.lattice_sums(lattice)

    def assignments(self, assignment: Assignment) -> Integers:
        return self.times * self.points.assignments(assignment)


def typical_ratios(mechanism: Synopsis, k: int, records: int) -> dict[str, float]:
    """Return, for public shapes with about as many records, the private objective divided by the non-private one."""
    times = -(-records // _MOST_POINTS)
    many = max(records // times, k)
    return {
        name: _ratio(
            mechanism,
            np.minimum(places * mechanism.form.domain.shape, np.array(mechanism.form.domain.shape) - 1),
            k,
            times,
        )
        for name, places in _shapes(many, len(mechanism.form.domain.shape), k).items()
    }


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
    aggregates = _Repeated(RecordAggregates(domain, tuple(positions.T)), times)
    noisy = mechanism.draw(aggregates, SimulationSource("clusters"))
    private = cluster(mechanism.points(noisy, times * len(positions)), k, seed=0, restarts=_RESTARTS).centers
    values = _values(domain, positions)
    plain = cluster(Points(values, np.ones(len(values)), np.zeros_like(values)), k, seed=0, restarts=_RESTARTS).centers
    best = _objective(values, plain)
    return _objective(values, private) / best if best else 1.0


def _values(domain: Domain, positions: Integers) -> Floats:
    columns = [
        to_values(attribute, positions[:, axis].astype(np.float64) + 0.5)
        for axis, attribute in enumerate(domain.attributes)
    ]
    return np.stack(columns, axis=1)


def _objective(values: Floats, centers: Floats) -> float:
    return float(((values - centers[nearest_centre(values, centers)]) ** 2).sum())
