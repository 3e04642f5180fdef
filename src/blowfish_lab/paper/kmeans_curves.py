"""K-means: what the panels of Figure 1 have in common."""

from __future__ import annotations

import warnings
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, TypeAlias

import numpy as np

from blowfish_lab.paper.clustering_data import ROUNDS, ClusteringData, K, clustering_data
from blowfish_lab.paper.curves import CLIPPED, MEDIAN, PRINTED, SOUND, Curves
from blowfish_lab.paper.figure import OURS
from blowfish_lab.paper.run import QUICK_EPSILONS, Run
from blowfish_lab.paper.secrets import Named
from blowfish_lab.paper.sound_sulq import sound_sulq_kmeans
from blowfish_lab.paper.sulq import Division, as_printed, clipped, not_private_published_sulq_kmeans
from blowfish_privacy.errors import BlowfishWarning
from blowfish_privacy.graphs import Secrets
from blowfish_privacy.mechanisms import Mechanism, Synopsis
from blowfish_privacy.mechanisms.clusters.centres import cluster
from blowfish_privacy.noise import SystemSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import KMeans
from blowfish_privacy.release.plan import make_plan
from blowfish_privacy.support.arrays import Floats

Read: TypeAlias = tuple[float, float, float]


class KMeansCurves(Curves):
    """The objective of private centres over that of the non-private algorithm, k = 4."""

    named: ClassVar[dict[str, Named]]
    """For every policy its data, its secrets, and the sensitivity that the paper claims for the sums."""
    read_off: ClassVar[dict[str, Read]] = {}
    """What was read off this figure of the paper at epsilon 0.1, 0.5 and 1."""
    elsewhere: ClassVar[dict[str, Read]] = {}
    """Curves that another figure of the paper shows, that coincide with one read here, or that its text gives."""
    methods = (PRINTED, CLIPPED, SOUND, OURS)
    colours = {PRINTED: "tab:red", f"{PRINTED}, {MEDIAN}": "tab:red", CLIPPED: "tab:purple", SOUND: "tab:orange"}
    quantity = "objective / non-private objective"

    @property
    def read(self) -> int:
        """Count the numbers that were read off this figure."""
        return sum(map(len, self.read_off.values()))

    def published(self, policy: str, epsilon: str) -> float | None:
        """Return the value at this epsilon, if there is one."""
        read = (self.read_off | self.elsewhere).get(policy, ())
        values: dict[str, float] = dict(zip(QUICK_EPSILONS, read, strict=False))
        return values.get(epsilon)

    def notes(self, run: Run) -> list[str]:
        """Say that the published algorithm is not private, and how runs differ from the paper's."""
        return [
            *super().notes(run),
            "The published algorithm's noise is too small: it is not private (docs/errata.md).",
            "Reference, as printed and sound run 10 rounds from one random start; ours searches its noisy synopsis "
            "from several starts, which is how a ratio below 1 arises.",
            "As printed, noise may throw centres out of the box, and a few such runs make up most of a mean: the "
            "median says more. Clipped keeps centres in the box and sizes at one at least: the paper says neither.",
        ]

    def repeated(self, method: str, policy: str, epsilon: str, run: Run) -> Floats:
        """Return the objective of every private clustering over the non-private one."""
        named = self.named[policy]
        data = clustering_data(named.data, run)
        objectives = [data.objective(_centres(method, data, named, epsilon)) for _ in range(run.clusterings)]
        return np.array(objectives) / data.reference


def _centres(method: str, data: ClusteringData, named: Named, epsilon: str) -> Floats:
    """Find centres once, in one of four ways."""
    if named.exact and method != OURS:
        return data.lloyd(np.random.default_rng())
    if method == SOUND:
        return _sound(data, epsilon)
    seed = int(np.random.default_rng().integers(2**31))
    if method == OURS:
        return _ours(data, named, epsilon, seed)
    return _not_private(data, named, epsilon, seed, as_printed if method == PRINTED else clipped)


def _not_private(data: ClusteringData, named: Named, epsilon: str, seed: int, divided: Division) -> Floats:
    low, high = data.box
    values = np.repeat(data.points, data.weights, axis=0)
    return not_private_published_sulq_kmeans(
        values,
        K,
        epsilon=float(epsilon),
        claimed_sensitivity=named.claimed(data),
        low=low,
        high=high,
        seed=seed,
        rounds=ROUNDS,
        divided=divided,
    )


def _sound(data: ClusteringData, epsilon: str) -> Floats:
    generator = np.random.default_rng()
    centres = sound_sulq_kmeans(
        data.positions,
        data.weights,
        data.domain.shape,
        K,
        epsilon=Fraction(epsilon),
        rounds=ROUNDS,
        generator=generator,
    )
    return data.values(centres)


def _ours(data: ClusteringData, named: Named, epsilon: str, seed: int) -> Floats:
    mechanism = _calibrated(data, named.secrets, epsilon)
    if not isinstance(mechanism, Synopsis):
        raise TypeError(f"{mechanism.name} releases no synopsis.")
    noisy = mechanism.draw(data.aggregates, SystemSource())
    return cluster(mechanism.points(noisy, data.records), K, seed=seed).centers


@lru_cache(maxsize=64)
def _calibrated(data: ClusteringData, secrets: Secrets, epsilon: str) -> Mechanism:
    query = KMeans(list(data.domain.names), k=K)
    with warnings.catch_warnings():
        # Where blocks are single cells nothing is secret, as in the paper.
        warnings.simplefilter("ignore", BlowfishWarning)
        policy = Policy(data.domain, secrets=secrets)
    return make_plan(query, policy, epsilon=epsilon, records=data.records).mechanism
