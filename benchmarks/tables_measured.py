"""Sets of tables on real data: the error measured, beside the one expected, and that of tables without negative counts.

    python benchmarks/tables_measured.py DATA [--ways 2] [--epsilons 1 0.1] [--rhos 0.5 0.014973] [--rounds 3]

DATA is a folder with ``adult.csv`` (UCI Adult, 48,842 records). All tables of so many of 13 attributes are released
under attribute secrets, with Laplace noise at each epsilon and Gaussian noise at each rho (epsilon 1 with delta 1e-9 is
kept by rho 0.014973); capital gains are cut into 12 classes and capital losses into 8. Errors are root mean squared
errors of a cell, over all cells of all tables. The peer is a histogram for each table by itself, with its share of the
epsilon or rho.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from fractions import Fraction
from math import sqrt
from pathlib import Path

import numpy as np
import numpy.typing as npt

import blowfish_privacy as bp
from blowfish_privacy.aggregates import RecordAggregates
from blowfish_privacy.mechanisms import Gaussian, GaussianMarginals, Laplace, Marginals
from blowfish_privacy.mechanisms.tables.agreeing import Agreement, nonnegative
from blowfish_privacy.noise import SystemSource

GAINS = (1, 1000, 2000, 3000, 4000, 5000, 7000, 10000, 15000, 20000, 50000)
LOSSES = (1, 1400, 1600, 1800, 1900, 2000, 2400)
LEFT_OUT = ("fnlwgt", "education_num")
Positions = npt.NDArray[np.int64]


def adult(folder: Path) -> tuple[bp.Domain, list[Positions]]:
    """Read the attributes, each with the values that occur, and where every record lies on each of them."""
    with (folder / "adult.csv").open(newline="") as file:
        people = list(csv.DictReader(file))
    attributes: dict[str, bp.Integer] = {}
    positions: list[Positions] = []
    for name in people[0]:
        if name in LEFT_OUT:
            continue
        values = [person[name] for person in people]
        if name in ("capital_gain", "capital_loss"):
            edges = GAINS if name == "capital_gain" else LOSSES
            found, size = np.digitize([int(value) for value in values], edges), len(edges) + 1
        elif name in ("age", "hours_per_week"):
            whole = np.array([int(value) for value in values])
            found, size = whole - whole.min(), int(np.ptp(whole)) + 1
        else:
            known, found = np.unique(values, return_inverse=True)
            size = len(known)
        attributes[name] = bp.Integer(0, size - 1)
        positions.append(found.astype(np.int64))
    return bp.Domain(attributes), positions


def measured(folder: Path, ways: int, unit: str, amount: Fraction, rounds: int) -> Iterator[tuple[str, float]]:
    """Release the tables several times, and compare them with the truth."""
    domain, positions = adult(folder)
    policy = bp.Policy(domain, secrets=bp.Attributes())
    query = bp.Tables.of_ways(ways, list(domain.names), objective="mean")
    records, source = len(positions[0]), SystemSource()
    aggregates = RecordAggregates(domain, positions)
    truth = [table.astype(np.float64) for table in aggregates.tables([list(names) for names in query.tables])]
    together, by_itself = (Marginals, Laplace) if unit == "epsilon" else (GaussianMarginals, Gaussian)
    mechanism = together.calibrated(query, policy, **{unit: amount}, records=records)
    alone = amount / max(sum(name in names for names in query.tables) for name in domain.names)
    one = by_itself.calibrated(bp.Histogram(*query.tables[0]), policy, **{unit: alone}, records=records)
    yield "each table by itself, expected", one.expected_error().rmse
    yield "expected", mechanism.expected_error().rmse
    components, agreement = mechanism.components, Agreement.of(mechanism.components)
    unbiased: list[float] = []
    without: list[float] = []
    for _ in range(rounds):
        noisy = list(mechanism.measured(mechanism.draw(aggregates, source)))
        found = components.estimate(noisy, records)
        tables = [components.table(found, axes) for axes in agreement.tables]
        unbiased.append(error(tables, truth))
        without.append(error(nonnegative(tables, agreement), truth))
    yield "measured", sqrt(np.mean(np.square(unbiased)))
    yield "measured, without negative counts (biased)", sqrt(np.mean(np.square(without)))


def error(tables: list[npt.NDArray[np.float64]], truth: list[npt.NDArray[np.float64]]) -> float:
    """Return the root mean squared difference of all cells."""
    squares = sum(float(((table - exact) ** 2).sum()) for table, exact in zip(tables, truth, strict=True))
    return sqrt(squares / sum(table.size for table in truth))


def main() -> None:
    """Print one block for each epsilon and each rho."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--ways", type=int, default=2)
    parser.add_argument("--epsilons", nargs="*", default=["1", "0.1"])
    parser.add_argument("--rhos", nargs="*", default=["0.5", "0.014973"])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    for unit, amount in [*(("epsilon", each) for each in given.epsilons), *(("rho", each) for each in given.rhos)]:
        print(f"all {given.ways}-way tables of Adult, attribute secrets, {unit} {amount}")
        for title, value in measured(given.data, given.ways, unit, Fraction(amount), given.rounds):
            print(f"  {title:<45} {value:.4g}", flush=True)


if __name__ == "__main__":
    main()
