"""How often the intervals of ranges and rectangles hold the truth, by their size.

    python benchmarks/coverage.py [--data FOLDER] [--releases 40] [--only NAME]

For every data set, policy and epsilon: the share of random ranges of each class of sizes whose interval at level 0.95
holds the truth, over several releases, and the mean half-width. Made-up data are those on which constants were settled.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

import blowfish_privacy as bp
from blowfish_privacy.mechanisms.ordered.range_intervals import RangeIntervals
from blowfish_privacy.noise import SystemSource
from shapes import DEVELOPMENT_1, line

CLASSES = {
    "one value": (0, 0),
    "below 1 %": (0, 0.01),
    "1-5 %": (0.01, 0.05),
    "5-25 %": (0.05, 0.25),
    "above": (0.25, 1),
}
"""Shares of the values, or of the cells, that a range covers."""
HISTOGRAMS = ("adult_capital_loss", "hepth", "medcost", "nettrace", "searchlogs")


def ranges(size: int, least: float, most: float, many: int, dice: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw ranges of a class of widths, each width of it as likely as any other; above a quarter, any two ends."""
    low, high = max(1, int(least * size) + 1), max(1, int(most * size))
    if most == 1:
        ends = np.sort(dice.integers(0, size + 1, (20 * many, 2)), axis=1)
        kept = ends[(ends[:, 1] - ends[:, 0] >= low) & (ends[:, 1] - ends[:, 0] < size)][:many]
        return kept[:, 0], kept[:, 1]
    width = dice.integers(low, high + 1, many)
    first = dice.integers(0, size - width + 1)
    return first, first + width


def covered(counts: np.ndarray, theta: int | None, epsilon: str, releases: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the share covered and the mean half-width for each class."""
    size, records = len(counts), int(counts.sum())
    secrets = bp.FullDomain() if theta is None else bp.DistanceThreshold(theta)
    policy = bp.Policy(bp.Domain(v=bp.Integer(0, size - 1)), secrets=secrets)
    # Only intervals are of interest, so the mechanism is run without a ledger and documents.
    mechanism = bp.Session(bp.Counts(counts), policy, budget=1).plan(bp.Cumulative("v"), epsilon=epsilon).mechanism
    truth, dice, source = np.append(0, np.cumsum(counts)), np.random.default_rng(7), SystemSource()
    held, wide = [], []
    for _ in range(releases):
        cuts = np.append(0, mechanism.ordered_estimate(mechanism.measure(counts, source), records))
        intervals = RangeIntervals(mechanism, cuts, records, None, lambda estimate: estimate)
        for least, most in CLASSES.values():
            first, last = ranges(size, least, most, 200, dice)
            (low, high), true = intervals.of(first, last, "0.95"), truth[last] - truth[first]
            held.append(np.mean((low <= true + 1e-6) & (true <= high + 1e-6)))
            wide.append(np.mean(high - low) / 2)
    shape = (releases, len(CLASSES))
    return np.reshape(held, shape).mean(axis=0), np.reshape(wide, shape).mean(axis=0)


def histograms(data: str | None) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the made-up histograms, and real ones where a folder has them."""
    for name in HISTOGRAMS if data else ():
        yield name, np.load(Path(data or "") / f"{name}_4096.npy").astype(np.int64)
    for (name, density), records in product(DEVELOPMENT_1.items(), (10_000, 1_000_000)):
        yield f"{name}, {records:,}", line(density, 4096, records)


def main() -> None:
    """Print a table for the ranges."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("BLOWFISH_DATA"), help="a folder with real data")
    parser.add_argument("--releases", type=int, default=40)
    parser.add_argument("--only", help="data sets whose names contain this")
    options = parser.parse_args()
    print("| data | secret within | epsilon |", " | ".join(CLASSES), "| half-widths |")
    print("|---|---|---|" + "---|" * (len(CLASSES) + 1))
    for name, counts in histograms(options.data):
        for theta, epsilon in product((1, 16, None), ("0.01", "0.1", "1")):
            if options.only and options.only not in name:
                continue
            share, half = covered(counts, theta, epsilon, options.releases)
            cells = [f"{100 * each:.1f}" for each in share] + [" ".join(f"{each:.3g}" for each in half)]
            print(f"| {name} | {theta or 'all'} | {epsilon} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
