"""How often the intervals of ranges and rectangles hold the truth, by their size.

    python benchmarks/coverage.py [--grids] [--data FOLDER] [--releases 40] [--only NAME]

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
from blowfish_privacy.mechanisms.grid.grid_family import areas, between, sums_of
from blowfish_privacy.mechanisms.intervals import RangeIntervals, RectangleIntervals
from blowfish_privacy.noise import SystemSource
from shapes import DEVELOPMENT_1, DEVELOPMENT_2, grid, line

CLASSES = {"one": (0, 0), "below 1 %": (0, 0.01), "1-5 %": (0.01, 0.05), "5-25 %": (0.05, 0.25), "above": (0.25, 1)}
"""Shares of the values, or of the cells, that a range covers."""
HISTOGRAMS = ("adult_capital_loss", "hepth", "medcost", "nettrace", "searchlogs")
MAPS = ("twitter", "sf_cabs_start")
SIDE = 64
MANY = 200


def ranges(size: int, least: float, most: float, dice: np.random.Generator) -> np.ndarray:
    """Draw ranges of a class of widths, each width of it as likely as any other; above a quarter, any two ends."""
    low, high = max(1, int(least * size) + 1), max(1, int(most * size))
    if most == 1:
        ends = np.sort(dice.integers(0, size + 1, (20 * MANY, 2)), axis=1)
        return ends[(ends[:, 1] - ends[:, 0] >= low) & (ends[:, 1] - ends[:, 0] < size)][:MANY]
    width = dice.integers(low, high + 1, MANY)
    first = dice.integers(0, size - width + 1)
    return np.stack([first, first + width], axis=1)


def rectangles(side: int, least: float, most: float, dice: np.random.Generator) -> np.ndarray:
    """Draw rectangles between any two cut points along each side, of a class of areas; or single cells."""
    if not most:
        first = dice.integers(0, side, (MANY, 2))
        return np.stack([first[:, 0], first[:, 0] + 1, first[:, 1], first[:, 1] + 1], axis=1)
    ends = np.sort(dice.integers(0, side + 1, (200 * MANY, 2, 2)), axis=2).reshape(-1, 4)
    share = areas(ends) / side**2
    return ends[(share > least) & (share <= most) & (share < 1)][:MANY]


def covered(counts: np.ndarray, theta: int | None, epsilon: str, releases: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the share covered and the mean half-width for each class."""
    names, size = ("v", "w")[: counts.ndim], len(counts)
    secrets = bp.FullDomain() if theta is None else bp.DistanceThreshold(theta)
    policy = bp.Policy(bp.Domain(**{name: bp.Integer(0, size - 1) for name in names}), secrets=secrets)
    query = bp.Cumulative(*names) if counts.ndim == 1 else bp.RangeGrid(*names)
    # Only intervals are of interest, so the mechanism is run without a ledger and documents.
    mechanism = bp.Session(bp.Counts(counts), policy, budget=1).plan(query, epsilon=epsilon).mechanism
    held, wide, dice = [], [], np.random.default_rng(7)
    for _ in range(releases):
        released = _line_release if counts.ndim == 1 else _grid_release
        for true, low, high in released(mechanism, counts, dice):
            held.append(np.mean((low <= true + 1e-6) & (true <= high + 1e-6)))
            wide.append(np.mean(high - low) / 2)
    shape = (releases, len(CLASSES))
    return np.reshape(held, shape).mean(axis=0), np.reshape(wide, shape).mean(axis=0)


def _line_release(mechanism, counts: np.ndarray, dice: np.random.Generator) -> Iterator[tuple[np.ndarray, ...]]:
    truth, records = np.append(0, np.cumsum(counts)), int(counts.sum())
    cuts = np.append(0, mechanism.shown_estimate(mechanism.measure(counts, SystemSource()), records))
    intervals = RangeIntervals(mechanism, cuts, records, None, lambda estimate: estimate)
    for least, most in CLASSES.values():
        ends = ranges(len(counts), least, most, dice)
        yield between(truth, ends), *intervals.of(ends, "0.95")


def _grid_release(mechanism, counts: np.ndarray, dice: np.random.Generator) -> Iterator[tuple[np.ndarray, ...]]:
    records, total = int(counts.sum()), mechanism.known_total(int(counts.sum()))
    cells = mechanism.shown_estimate(mechanism.measure(counts, SystemSource()), records, total)
    intervals = RectangleIntervals(mechanism, cells, records, total, lambda estimate: estimate)
    for least, most in CLASSES.values():
        corners = rectangles(len(counts), least, most, dice)
        yield between(sums_of(counts), corners), *intervals.of(corners, "0.95")


def histograms(data: str | None) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the made-up histograms, and real ones where a folder has them."""
    for name in HISTOGRAMS if data else ():
        yield name, np.load(Path(data or "") / f"{name}_4096.npy").astype(np.int64)
    for (name, density), records in product(DEVELOPMENT_1.items(), (10_000, 1_000_000)):
        yield f"{name}, {records:,}", line(density, 4096, records)


def grids(data: str | None) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the made-up grids, and real ones where a folder has them, summed down."""
    for name in MAPS if data else ():
        fine = np.load(Path(data or "") / f"{name}_256x256.npy").astype(np.int64)
        yield name, fine.reshape(SIDE, 256 // SIDE, SIDE, 256 // SIDE).sum(axis=(1, 3))
    for (name, density), records in product(DEVELOPMENT_2.items(), (20_000, 1_000_000)):
        yield f"{name}, {records:,}", grid(density, SIDE, records)


def main() -> None:
    """Print a table for the ranges, or for the rectangles."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grids", action="store_true", help="rectangles instead of ranges")
    parser.add_argument("--data", default=os.environ.get("BLOWFISH_DATA"), help="a folder with real data")
    parser.add_argument("--releases", type=int, default=40)
    parser.add_argument("--only", default="", help="data sets whose names contain this")
    options = parser.parse_args()
    print("| data | secret within | epsilon |", " | ".join(CLASSES), "| half-widths |")
    print("|---|---|---|" + "---|" * (len(CLASSES) + 1))
    thetas = (1, 8, None) if options.grids else (1, 16, None)
    chosen = (grids if options.grids else histograms)(options.data)
    seen: dict[bool, list[np.ndarray]] = {True: [], False: []}
    for (name, counts), theta, epsilon in product(chosen, thetas, ("0.01", "0.1", "1")):
        if options.only in name:
            share, half = covered(counts, theta, epsilon, options.releases)
            seen[counts.sum() * float(epsilon) >= counts.size / 10].append(100 * share)
            cells = [f"{100 * each:.1f}" for each in share] + [" ".join(f"{each:.3g}" for each in half)]
            print(f"| {name} | {theta or 'all'} | {epsilon} |", " | ".join(cells), "|", flush=True)
    summarise(seen)


def summarise(seen: dict[bool, list[np.ndarray]]) -> None:
    """Print, for each class, the middle of the shares covered, and between which nine tenths of them lie."""
    for enough, shares in seen.items():
        if shares:
            low, middle, high = np.quantile(shares, (0.05, 0.5, 0.95), axis=0)
            parts = (f"{m:.1f} ({a:.1f} to {b:.1f})" for a, m, b in zip(low, middle, high, strict=True))
            what = "n epsilon from a tenth of the values on" if enough else "below a tenth"
            print(f"| {what}, {len(shares)} settings |", " | ".join(parts), "|")


if __name__ == "__main__":
    main()
