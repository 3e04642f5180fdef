"""The mixture of products on Adult: all single attributes and pairs measured at once, nothing chosen.

    python benchmarks/mixture.py DATA [--epsilons .1 1 2] [--seeds 3]

DATA is a folder with ``adult.csv``; the attributes are those of ``benchmarks/adult.py``. All 105 tables are measured
with discrete Gaussian noise, within the rho that keeps epsilon with delta 1e-9, shared out exactly for each class of
secret pairs. Printed is the mean total variation over all tables of three attributes: of the mixture itself, and of as
many records as there are in the data, drawn from it. Tables without secrets are exact, and their columns kept.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from itertools import combinations
from math import prod
from pathlib import Path
from time import perf_counter

import numpy as np

import blowfish_privacy as bp
from adult import PUBLIC, Positions, adult, table_of, variation
from blowfish_privacy.mechanisms.synthetic.costs import GAUSSIAN, Costs, allocated
from blowfish_privacy.mechanisms.synthetic.mixture import fit_mixture
from blowfish_privacy.mechanisms.synthetic.model import Measurement
from blowfish_privacy.noise import SystemSource
from blowfish_privacy.privacy.measure import rho_of

DELTA = Fraction(1, 10**9)


def policies(domain: bp.Domain) -> dict[str, tuple[bp.Policy, tuple[int, ...]]]:
    """Return each policy with the columns that it leaves public."""
    public = tuple(domain.names.index(name) for name in PUBLIC)
    secrets = {name: bp.Public() if name in PUBLIC else bp.FullDomain() for name in domain.names}
    return {
        "full domain": (bp.Policy(domain, secrets=bp.FullDomain()), ()),
        "attribute secrets": (bp.Policy(domain, secrets=bp.Attributes()), ()),
        "+ four public": (bp.Policy(domain, secrets=bp.PerAttribute(secrets)), public),
    }


def measured(records: Positions, policy: bp.Policy, rho: Fraction) -> list[Measurement]:
    """Measure all tables of one and two attributes with all that each class may lose."""
    domain, source = policy.domain, SystemSource()
    tables = [axes for ways in (1, 2) for axes in combinations(range(len(domain.shape)), ways)]
    costs = Costs(policy, domain, GAUSSIAN)
    importance = [
        (3.0 if len(axes) == 1 else 1.0) * prod(domain.shape[axis] for axis in axes) ** 0.25 for axes in tables
    ]
    weights = [costs.weights(axes) for axes in tables]
    scales = allocated(weights, importance, dict.fromkeys(costs.classes, rho), GAUSSIAN.power)
    found: list[Measurement] = []
    for axes, scale in zip(tables, scales, strict=True):
        counts = table_of(records, domain.shape, axes).astype(np.int64)
        if scale:
            counts = counts + GAUSSIAN.law.draw(scale, counts.size, source=source).reshape(counts.shape)
        found.append(Measurement(axes, counts, GAUSSIAN.variance(scale)))
    return found


def measured_errors(records: Positions, policy: bp.Policy, public: tuple[int, ...], rho: Fraction, seed: int):
    """Return the errors of the mixture and of records, and the seconds for fitting and for drawing."""
    shape, many = policy.domain.shape, len(records)
    noisy = measured(records, policy, rho)
    begun = perf_counter()
    model = fit_mixture(shape, float(many), noisy)
    fitted = perf_counter()
    kept = np.full(records.shape, -1)
    kept[:, public] = records[:, public]
    drawn = model.records(many, np.random.default_rng(seed), kept if public else None)
    ended = perf_counter()
    of_records = variation(records, shape, lambda axes: table_of(drawn, shape, axes))
    return variation(records, shape, model.table), of_records, fitted - begun, ended - fitted


def main() -> None:
    """Print a row for each policy and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--epsilons", nargs="*", default=["0.1", "1", "2"])
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    domain, records = adult(given.data)
    print(f"{'':<20} epsilon  mixture  records  fit, s  draw, s")
    for title, (policy, public) in policies(domain).items():
        for epsilon in given.epsilons:
            rho = rho_of(Fraction(epsilon), DELTA)
            rows = [measured_errors(records, policy, public, rho, seed) for seed in range(given.seeds)]
            mixture, drawn, fit, draw = np.mean(rows, axis=0)
            print(f"{title:<20} {epsilon:>7} {mixture:8.4f} {drawn:8.4f} {fit:7.1f} {draw:8.1f}", flush=True)


if __name__ == "__main__":
    main()
