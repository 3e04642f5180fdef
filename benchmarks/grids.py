"""What taking away negative counts does for grids: the error of a random rectangle, shown and linear.

``python benchmarks/grids.py [FOLDER] [--side 64] [--runs 4]`` prints, for each made-up shape and each real set of the
folder, mean squared errors times epsilon^2, and how they compare.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction
from math import exp, log
from pathlib import Path

import numpy as np

import blowfish_privacy as bp
import shapes
from blowfish_privacy.mechanisms import GridFamily, GridFlow, GridHierarchy
from blowfish_privacy.mechanisms.grid.grid_family import over_all_rectangles
from blowfish_privacy.noise import SystemSource

REAL = ("twitter_256x256.npy", "sf_cabs_start_256x256.npy")
EPSILONS = ("0.01", "0.1", "1")


def tables(side: int, folder: Path | None) -> Iterator[tuple[str, np.ndarray]]:
    """Yield real sets, summed to so many cells along each side, and made-up shapes of few and of many records."""
    for name in REAL if folder is not None and 256 % side == 0 else ():
        counts = np.load(folder / name).astype(np.int64)
        yield name.removesuffix("_256x256.npy"), counts.reshape(side, 256 // side, side, -1).sum(axis=(1, 3))
    for records in (10**3, 10**4, 10**5, 10**6, 10**7):
        for name, density in shapes.DEVELOPMENT_2.items():
            yield f"{name}, {records:,}", shapes.grid(density, side, records)


def made(side: int, theta: int | None, epsilon: str) -> GridFamily:
    """Calibrate the mechanism that a plan takes."""
    domain = bp.Domain(a=bp.Integer(0, side - 1), b=bp.Integer(0, side - 1))
    policy = bp.Policy(domain, secrets=bp.FullDomain() if theta is None else bp.DistanceThreshold(theta))
    kind = GridHierarchy if theta is None else GridFlow
    return kind.calibrated(bp.RangeGrid("a", "b"), policy, epsilon=Fraction(epsilon), records=None)


def errors(mechanism: GridFamily, counts: np.ndarray, runs: int) -> tuple[float, float]:
    """Release a table several times; return the mean squared errors of both estimates."""
    records, squares = int(counts.sum()), []
    for _ in range(runs):
        noisy = mechanism.measure(counts, SystemSource())
        linear = mechanism.meeting(mechanism.estimate(noisy), mechanism.known_total(records))
        shown = mechanism.shown_estimate(noisy, records)
        squares.append([over_all_rectangles(each - counts) for each in (linear, shown)])
    before, after = np.mean(squares, axis=0).tolist()
    return before, after


def main() -> None:
    """Print a line for each table, and the mean and the worst ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--worst", action="store_true", help="print the mean and the worst ratio only")
    given = parser.parse_args()
    for theta in (1, None):
        for epsilon in EPSILONS:
            mechanism, ratios = made(given.side, theta, epsilon), {}
            for name, counts in tables(given.side, given.folder):
                before, after = errors(mechanism, counts, given.runs)
                ratios[name] = after / before
                scale = float(epsilon) ** 2
                if not given.worst:
                    print(f"{mechanism.name:16}{epsilon:6}{name:32}{scale * before:10.1f}{scale * after:10.1f}")
            worst = max(ratios, key=ratios.__getitem__)
            mean = exp(sum(map(log, ratios.values())) / len(ratios))
            print(
                f"{mechanism.name:16}{epsilon:6}mean ratio {mean:.3f}, worst {ratios[worst]:.4f} ({worst})", flush=True
            )


if __name__ == "__main__":
    main()
