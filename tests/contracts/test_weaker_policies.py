"""A weaker policy never gives worse clusters: what is calibrated for a stronger one would serve it too.

The draws are simulated and the same in every run, so nothing here fails by chance. They are few, and centres depend on
luck, so clusters count as worse only beyond a tolerance.
"""

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.aggregates import RecordAggregates
from blowfish_privacy.mechanisms.clusters.centres import cluster, nearest_centre
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.release.plan import make_plan

SIDE, RECORDS, REPEATS, TOLERANCE = 512, 20_000, 5, 1.1
DOMAIN = bp.Domain(x=bp.Integer(0, SIDE - 1), y=bp.Integer(0, SIDE - 1))
CHAINS = {
    "thresholds": [bp.FullDomain(), *(bp.DistanceThreshold(theta) for theta in (256, 64, 16, 4, 1))],
    "blocks": [bp.FullDomain(), *(bp.Partition(widths={"x": width, "y": width}) for width in (256, 64, 16, 4))],
    "attributes": [bp.FullDomain(), bp.Attributes()],
}
"""Policies, each weaker than or as strong as the ones before it."""


def heavy_tails(generator):
    return 256 + 12 * generator.standard_t(1.5, (RECORDS, 2)), 5


def tight_groups(generator):
    middles = np.array([(220, 260), (280, 240), (250, 300), (200, 210)])
    return middles[generator.integers(0, 4, RECORDS)] + generator.normal(0, 4, (RECORDS, 2)), 4


def round_groups(generator):
    middles = generator.uniform(60, 440, (5, 2))
    return middles[generator.integers(0, 5, RECORDS)] + generator.normal(0, 10, (RECORDS, 2)), 5


def far_group(generator):
    middles = np.array([(120, 360), (160, 340), (100, 300), (460, 60)])
    return middles[generator.choice(4, RECORDS, p=(0.4, 0.3, 0.26, 0.04))] + generator.normal(0, 4, (RECORDS, 2)), 4


def objective(places, centers):
    return ((places - centers[nearest_centre(places, centers)]) ** 2).sum()


def typical_objective(secrets, positions, k, epsilon):
    """The median objective of simulated releases, which one unlucky draw does not decide."""
    policy = bp.Policy(DOMAIN, secrets=secrets)
    mechanism = make_plan(bp.KMeans(["x", "y"], k=k), policy, epsilon=epsilon, records=RECORDS).mechanism
    aggregates, found = RecordAggregates(DOMAIN, tuple(positions.T)), []
    for repeat in range(REPEATS):
        noisy = mechanism.draw(aggregates, SimulationSource(f"weaker policies {repeat}"))
        centers = cluster(mechanism.points(noisy, RECORDS), k, seed=repeat, restarts=4).centers
        found.append(objective(positions.astype(float), centers))
    return np.median(found)


@pytest.mark.parametrize("epsilon", ["0.05", "0.1"])
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("shape", [heavy_tails, tight_groups, round_groups, far_group])
def test_a_weaker_policy_never_gives_worse_clusters(shape, chain, epsilon):
    places, k = shape(np.random.default_rng(5))
    positions = np.clip(np.rint(places), 0, SIDE - 1).astype(np.int64)
    found = [typical_objective(secrets, positions, k, epsilon) for secrets in CHAINS[chain]]
    best = np.minimum.accumulate(found)
    assert (found[1:] <= TOLERANCE * best[:-1]).all(), np.round(found / best.min(), 3).tolist()
