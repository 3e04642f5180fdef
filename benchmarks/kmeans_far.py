"""Private k-means with a small far group, and under weaker and weaker policies: ratios to the best of 8 restarts.

    python benchmarks/kmeans_far.py [--repeats 20] [--only far|policies]

The draws are simulated, so every run prints the same numbers. Another version of the library prints its own when
PYTHONPATH leads to it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import blowfish_privacy as bp
from blowfish_privacy.mechanisms.clusters.centres import cluster
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.release.plan import make_plan
from kmeans import Case, best_of, objective, placed, report

SIDES = {2: 512, 3: 256, 4: 128}
"""Values of an attribute, by the number of attributes."""
_RESTARTS = 5


def made(name: str, places: np.ndarray, k: int) -> Case:
    """Round places in units of 1/512 of the box to the values of a domain."""
    dimensions = places.shape[1]
    side = SIDES[dimensions]
    domain = bp.Domain({f"x{axis}": bp.Integer(0, side - 1) for axis in range(dimensions)})
    positions = np.clip(np.rint(places * side / 512), 0, side - 1)
    return placed(f"{name}, {dimensions} attributes, n = {len(places):,}", domain, positions, k)


def near_groups(kind: str, records: int, dimensions: int, generator: np.random.Generator) -> tuple[np.ndarray, int]:
    """Make one tight group, three tight ones, or a broad one; also return how many centres they deserve."""
    if kind == "one tight group":
        return generator.normal(60, 1.5, (records, dimensions)), 2
    if kind == "a broad group":
        return generator.normal(180, 40, (records, dimensions)), 3
    middles = np.array([(100, 400, 100, 300), (140, 380, 130, 330), (90, 330, 70, 260)])[:, :dimensions]
    return middles[generator.integers(0, 3, records)] + generator.normal(0, 4, (records, dimensions)), 3


NEAR = ("one tight group", "three tight groups", "a broad group")


def with_far_group(kind: str, records: int, share: float, dimensions: int = 2) -> Case:
    """Make groups and, far from them, one with a share of all records; it deserves one more centre."""
    generator, far = np.random.default_rng(1), round(records * share)
    near, k = near_groups(kind, records - far, dimensions, generator)
    middle = np.array([470, 60 if kind == "three tight groups" else 440, 450, 60])[:dimensions]
    name = f"{kind}, {share:.1%} far away" if share else kind
    return made(name, np.concatenate([near, generator.normal(middle, 3, (far, dimensions))]), k + (share > 0))


def without_far_group(kind: str, records: int, dimensions: int = 2) -> Case:
    """Make heavy tails around the middle, four tight groups near one another, or five round ones."""
    generator = np.random.default_rng(2)
    if kind == "heavy tails":
        return made(kind, 256 + 12 * generator.standard_t(1.5, (records, dimensions)), 6)
    if kind == "four tight groups":
        middles = 250 + generator.uniform(-60, 60, (4, dimensions))
        return made(kind, middles[generator.integers(0, 4, records)] + generator.normal(0, 3, (records, dimensions)), 4)
    middles = generator.uniform(51, 461, (5, dimensions))
    return made(kind, middles[generator.integers(0, 5, records)] + generator.normal(0, 8, (records, dimensions)), 5)


ALONE = ("heavy tails", "four tight groups", "five round groups")


def simulated(case: Case, secrets: Any, epsilon: str, repeats: int, mechanism: str | None = None) -> np.ndarray:
    """Return the ratios to the best of restarts, in simulated draws that are the same in every run."""
    best = best_of(case.places, case.weights, case.k, 8)
    policy = bp.Policy(case.domain, secrets=secrets)
    query = bp.KMeans(list(case.domain.names), k=case.k)
    chosen: Any = make_plan(query, policy, epsilon=epsilon, records=case.records, mechanism=mechanism).mechanism
    ratios: list[float] = []
    for repeat in range(repeats):
        noisy = chosen.draw(case.aggregates, SimulationSource(f"clusters {repeat}"))
        points = chosen.points(noisy, case.records)
        centers = cluster(points, case.k, seed=repeat, restarts=_RESTARTS).centers
        ratios.append(objective(case.places, case.weights, centers) / best)
    return np.array(ratios)


def weaker_policies(side: int, names: tuple[str, ...]) -> Mapping[str, Any]:
    """List policies of which each but the first protects less than, or as much as, full-domain secrets."""
    thresholds = {f"threshold {theta}": bp.DistanceThreshold(theta) for theta in (256, 64, 16, 4, 1) if theta < side}
    widths = {width: dict.fromkeys(names, width) for width in (256, 64, 16) if width < side}
    blocks = {f"blocks of {width}": bp.Partition(widths=each) for width, each in widths.items()}
    return {"full domain": bp.FullDomain(), "attributes": bp.Attributes(), **thresholds, **blocks}


def shown(ratios: np.ndarray) -> str:
    """Write mean and median."""
    return f"{ratios.mean():.2f} ({np.median(ratios):.2f})"


SETTINGS = ((20_000, 2, "0.1"), (100_000, 2, "0.05"), (100_000, 2, "0.1"), (40_000, 3, "0.1"), (80_000, 4, "0.1"))
"""Records, attributes and epsilon."""


def far_groups(repeats: int) -> Iterator[list[str]]:
    """Give ratios with and without a far group under full-domain secrets, row by row."""
    for records, dimensions, epsilon in SETTINGS:
        cases = [with_far_group(kind, records, share, dimensions) for kind in NEAR for share in (0, 0.003, 0.01, 0.03)]
        for case in [*cases, *(without_far_group(kind, records, dimensions) for kind in ALONE)]:
            ratios = simulated(case, bp.FullDomain(), epsilon, repeats)
            yield [f"{case.name}, k = {case.k}", epsilon, shown(ratios)]


def policies(repeats: int) -> Iterator[list[str]]:
    """Give ratios under weaker and weaker policies, row by row."""
    cases = [without_far_group(kind, 20_000) for kind in ALONE]
    for case in [*cases, *(with_far_group(kind, 20_000, 0.02) for kind in NEAR)]:
        weaker = weaker_policies(SIDES[2], case.domain.names)
        yield [case.name, *(shown(simulated(case, secrets, "0.1", repeats)) for secrets in weaker.values())]


def main() -> None:
    """Read the arguments and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--only", choices=["far", "policies"])
    options = parser.parse_args()
    if options.only != "policies":
        title = f"Full domain, {options.repeats} repeats"
        report(far_groups(options.repeats), title, ["data", "epsilon", "mean (median)"])
    if options.only != "far":
        title = f"Weaker and weaker policies, epsilon 0.1, {options.repeats} repeats: mean (median)"
        report(policies(options.repeats), title, ["data", *weaker_policies(SIDES[2], ("x0", "x1"))])


if __name__ == "__main__":
    main()
