"""Adaptive leaves beside the smooth hierarchy, on made-up data and on histograms from a folder.

    python benchmarks/leaves.py [--data FOLDER] [--sizes 4096] [--signals 1000 3000 10000] [--epsilon 0.1] [--runs 20]

Errors are mean squared errors of a random range, over all ranges, times epsilon^2, after the isotonic step and for
full-domain secrets; a signal is the number of records times epsilon. Every figure is followed by half the width of its
95 % interval. The made-up data are those on which the constants were settled.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

import blowfish_privacy as bp
from blowfish_privacy.mechanisms import AdaptiveLeaves, OrderedFamily, SmoothHierarchy
from blowfish_privacy.mechanisms.ordered.typical import over_all_ranges
from blowfish_privacy.noise import SystemSource
from shapes import DEVELOPMENT_1, line

HISTOGRAMS = ("adult_capital_loss", "hepth", "medcost", "nettrace", "searchlogs")


def histograms(size: int, records: int, folder: Path | None) -> Iterator[tuple[str, np.ndarray]]:
    """Yield data of so many values and records; those of a folder have 4,096 values, and are drawn from."""
    for name, density in DEVELOPMENT_1.items():
        yield name, line(density, size, records)
    if folder is not None and size == 4096:
        for name in HISTOGRAMS:
            shares = np.load(folder / f"{name}_4096.npy").astype(float).reshape(-1)
            yield name, np.random.default_rng(records).multinomial(records, shares / shares.sum())


def errors(kind: type[OrderedFamily], counts: np.ndarray, epsilon: Fraction, runs: int) -> np.ndarray:
    """Release data several times."""
    policy = bp.Policy(bp.Domain(v=bp.Integer(0, len(counts) - 1)), secrets=bp.FullDomain())
    records, truth, source = int(counts.sum()), np.cumsum(counts), SystemSource()
    made = kind.calibrated(bp.Cumulative("v"), policy, epsilon=epsilon, records=records)
    estimates = (made.ordered_estimate(made.measure(counts, source), records) for _ in range(runs))
    return np.array([over_all_ranges(np.append(0.0, each - truth)) for each in estimates]) * float(epsilon) ** 2


def shown(found: np.ndarray) -> str:
    """Write a mean and half the width of its interval."""
    return f"{found.mean():7.1f} +- {1.96 * found.std() / len(found) ** 0.5:5.1f}"


def main() -> None:
    """Print a table and, below each part, the geometric mean of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[4096])
    parser.add_argument("--signals", type=int, nargs="+", default=[1000, 3000, 10_000])
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(1, 10))
    parser.add_argument("--runs", type=int, default=20)
    chosen = parser.parse_args()
    for size in chosen.sizes:
        for signal in chosen.signals:
            ratios: list[float] = []
            print(f"{size:,} values, n epsilon = {signal:,}: smooth hierarchy, adaptive leaves, ratio")
            for name, counts in histograms(size, int(signal / chosen.epsilon), chosen.data):
                before, after = (
                    errors(kind, counts, chosen.epsilon, chosen.runs) for kind in (SmoothHierarchy, AdaptiveLeaves)
                )
                ratios.append(after.mean() / before.mean())
                print(f"  {name:20}{shown(before)}  {shown(after)}  {ratios[-1]:5.2f}", flush=True)
            print(f"  geometric mean of the ratios {np.exp(np.mean(np.log(ratios))):.2f}", flush=True)


if __name__ == "__main__":
    main()
