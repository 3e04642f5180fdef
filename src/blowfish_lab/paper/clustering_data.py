"""The data of the k-means figures, and what centres are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from blowfish_lab.paper import data
from blowfish_lab.paper.run import Run
from blowfish_privacy.aggregates import Aggregates, RecordAggregates, TableAggregates
from blowfish_privacy.domain import Binned, Domain, Integer
from blowfish_privacy.mechanisms.clusters.centres import nearest_centre
from blowfish_privacy.support.arrays import Floats, Integers

K = 4
ROUNDS = 10
_REFERENCES = 50
_BINS = 1024


@dataclass(frozen=True, eq=False)
class ClusteringData:
    """Records as positions in a box, each standing for so many people."""

    domain: Domain
    aggregates: Aggregates
    positions: Integers
    weights: Integers

    @property
    def records(self) -> int:
        """The number of people."""
        return int(self.weights.sum())

    @cached_property
    def points(self) -> Floats:
        """The values at the positions."""
        return self.values(self.positions.astype(np.float64))

    def values(self, positions: Floats) -> Floats:
        """Turn positions, also between two of them, into values."""
        low, width = self._scale
        return low + positions * width

    @cached_property
    def _scale(self) -> tuple[float, float]:
        first: Any = self.domain.attributes[0]
        return (float(first.low), 1.0) if isinstance(first, Integer) else (0.5 / _BINS, 1.0 / _BINS)

    @property
    def box(self) -> tuple[Floats, Floats]:
        """The ends of the box, in values."""
        sizes = np.array(self.domain.shape, dtype=np.float64)
        return self.values(np.zeros(len(sizes))), self.values(sizes - 1)

    def objective(self, centres: Floats) -> float:
        """Add up the squared distances of all records to the nearest centre."""
        near = centres[nearest_centre(self.points, centres)]
        return float(self.weights @ ((self.points - near) ** 2).sum(axis=1))

    @cached_property
    def reference(self) -> float:
        """The mean objective of the non-private algorithm: ten rounds from a uniform start, fifty runs."""
        generator = np.random.default_rng(0)
        return float(np.mean([self.objective(self.lloyd(generator)) for _ in range(_REFERENCES)]))

    def lloyd(self, generator: np.random.Generator) -> Floats:
        """Run the non-private algorithm once."""
        centres: Floats = generator.uniform(*self.box, (K, len(self.domain.names)))
        for _ in range(ROUNDS):
            labels = nearest_centre(self.points, centres)
            sizes = np.bincount(labels, self.weights, minlength=K)
            sums = np.stack([np.bincount(labels, self.weights * axis, minlength=K) for axis in self.points.T], axis=1)
            centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1e-12)[:, None], centres)
        return centres


@lru_cache(maxsize=8)
def clustering_data(name: str, run: Run) -> ClusteringData:
    """Load one of the data sets: twitter, skin, skin10, skin01, synthetic."""
    if name == "twitter":
        counts = data.tweets(run)
        domain = Domain(longitude=Integer(0, counts.shape[0] - 1), latitude=Integer(0, counts.shape[1] - 1))
        return ClusteringData(domain, TableAggregates(domain, counts), np.argwhere(counts > 0), counts[counts > 0])
    if name == "synthetic":
        edges = [Fraction(number, _BINS) for number in range(_BINS + 1)]
        return _placed(
            Domain({axis: Binned(edges) for axis in "abcd"}), (data.points_in_a_box() * _BINS).astype(np.int64)
        )
    table, share = data.skin(run), {"skin": 1, "skin10": 10, "skin01": 100}[name]
    chosen = np.random.default_rng(7).permutation(len(table))[: len(table) // share]
    return _placed(Domain({colour: Integer(0, 255) for colour in ("blue", "green", "red")}), table[chosen])


def _placed(domain: Domain, positions: Integers) -> ClusteringData:
    aggregates = RecordAggregates(domain, tuple(positions.T))
    return ClusteringData(domain, aggregates, positions, np.ones(len(positions), dtype=np.int64))
