"""Ordered data: expected errors, errors on real histograms, and how the cost grows.

    python benchmarks/ordered.py [--data FOLDER] [--largest 1000000] [--runs 40] [--json]

Errors are mean squared errors of a uniformly random range, over all ranges. The real histograms (DPBench, 4,096 bins,
and Adult's capital loss) are read from a folder given on the command line; without it that part is left out. Published
values are read off the 2014 paper's Figure 2(b) and from DAWA's runs; its neighbours add or remove a record, ours
exchange one, so it was run at epsilon / 2. As distributed it is not differentially private all the same.
"""

from __future__ import annotations

import argparse
import csv
import json
from fractions import Fraction
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

import blowfish_privacy as bp
from baselines import hierarchy_b, privelet, subgraph
from blowfish_privacy.mechanisms import (
    GaussianFlow,
    GaussianGrid,
    GaussianHierarchy,
    GridFlow,
    GridHierarchy,
    Mechanism,
    OrderedHierarchical,
    SmoothHierarchy,
)
from blowfish_privacy.noise import SystemSource, discrete_laplace
from blowfish_privacy.privacy.measure import rho_of
from report import AHEAD, NOTHING, PRICE, Row

PAPER = {1: 4, 10: 200, 50: 850, 100: 1000, 500: 2900, 1000: 3000, None: 3500}
DAWA = {
    "medcost": (36, 114, 292),
    "adult_capital_loss": (29, 185, 300),
    "nettrace": (32, 48, 57),
    "searchlogs": (295, 584, 1670),
    "hepth": (449, 1867, 2873),
}
AS_DISTRIBUTED = "numbers of a program that is not differentially private as distributed, run at epsilon / 2"
"""What DAWA's program guarantees: docs/benchmarks.md says why."""
ADULT = 48_842
"""The records behind the paper's Figure 2(b)."""
EPSILONS = (Fraction(1, 100), Fraction(1, 10), Fraction(1))


def policy(size: int, theta: int | None) -> bp.Policy:
    """Make a policy on one ordered attribute."""
    secrets = bp.FullDomain() if theta is None else bp.DistanceThreshold(theta)
    return bp.Policy(bp.Domain(v=bp.Integer(0, size - 1)), secrets=secrets)


def calibrated(kind: type[Mechanism], size: int, theta: int | None, epsilon: Fraction, records: int) -> Mechanism:
    """Calibrate a mechanism of the ordered family."""
    return kind.calibrated(bp.Cumulative("v"), policy(size, theta), epsilon=epsilon, records=records)


def expected() -> list[dict[str, object]]:
    """Compare expected errors, computed without any data, with the paper's figure."""
    rows = []
    for theta, published in PAPER.items():
        ours, sound = (
            calibrated(kind, 4357, theta, Fraction(1), ADULT).expected_error().mse
            for kind in (SmoothHierarchy, OrderedHierarchical)
        )
        rows.append(
            {
                "theta": theta or "full",
                "paper, Figure 2(b), read off": published,
                "its mechanism, sound and tuned": round(sound, 1),
                "smooth hierarchy": round(ours, 1),
            }
        )
    return rows


def gaussian() -> list[dict[str, object]]:
    """Compare Gaussian rows with a lower bound, and at rho and at (epsilon, delta) with Laplace rows at epsilon 1."""
    rows = []
    approximate = rho_of(Fraction(1), Fraction(1, 10**9))
    for size, theta in ((64, None), (256, 10), (256, 100), (256, None), (4096, 10), (4096, 100), (4096, None)):
        made = GaussianHierarchy.calibrated(bp.Cumulative("v"), policy(size, theta), rho=Fraction(1, 2), records=None)
        error = made.expected_error().mse
        bound = 2 * least_range_error(size, theta or size - 1, rounds=60) if size <= 256 else None
        laplace = calibrated(SmoothHierarchy, size, theta, Fraction(1), 1000 * size).expected_error().mse
        rows.append(
            {
                "values": size,
                "theta": theta or "full",
                "Gaussian, rho 0.5": round(error, 2),
                "no Gaussian rows below": "" if bound is None else round(bound, 2),
                "Gaussian, (1, 1e-9)": round(error / 2 / float(approximate), 1),
                "Laplace, epsilon 1": round(laplace, 1),
            }
        )
    return rows


def least_range_error(size: int, theta: int, rounds: int = 30) -> float:
    """Bound the mean squared error of a random range from below, over all Gaussian rows that lose rho = 1.

    Let X be the precision matrix of the cumulative counts, whose total is public, and V that of the mean over ranges:
    the error is tr(V X^-1). Give the pairs of positions within theta weights that add up to 1, and let M be the
    weighted sum of the outer products of what their moves change. Then tr(M X) <= 2 rho, and under that condition
    alone the error is at least (tr (V^1/2 M V^1/2)^1/2)^2 / (2 rho), whatever the weights. Each round gives more weight
    to the pairs that the best X would favour less.
    """
    places = np.arange(size)
    within = np.triu(np.abs(np.subtract.outer(places, places)) <= theta, 1)
    cuts, below = size + 1, np.tril(np.ones((size, size)))[:-1]
    root, _ = _root((cuts * np.eye(size - 1) - 1) * 2 / (cuts * (cuts - 1)))
    weights, best = within / within.sum(), 0.0
    for _ in range(rounds):
        moves = np.diag(weights.sum(axis=0) + weights.sum(axis=1)) - weights - weights.T
        together, inverse = _root(root @ below @ moves @ below.T @ root)
        trace = float(np.trace(together))
        best = max(best, trace**2 / 2)
        precision = below.T @ root @ inverse @ root @ below * 2 / trace
        squares = np.add.outer(np.diag(precision), np.diag(precision)) - 2 * precision
        weights = weights * np.sqrt(np.maximum(squares, 0) / 2)
        weights /= weights.sum()
    return best


def _root(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the root of a positive matrix, and its inverse."""
    values, vectors = np.linalg.eigh(matrix)
    roots = np.sqrt(np.maximum(values, 1e-15))
    return (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T


def grids() -> list[dict[str, object]]:
    """Compare the mechanisms for grids, by expected error: at epsilon 1, and at rho 0.5, which is what that costs."""
    rows = []
    for size in (64, 100, 256):
        for theta in (1, 4, None):
            secrets = bp.FullDomain() if theta is None else bp.DistanceThreshold(theta)
            domain = bp.Domain(a=bp.Integer(0, size - 1), b=bp.Integer(0, size - 1))
            asked = bp.RangeGrid("a", "b"), bp.Policy(domain, secrets=secrets)
            made: dict[str, Mechanism] = {
                "flow": GridFlow.calibrated(*asked, epsilon=Fraction(1), records=10**6),
                "hierarchy": GridHierarchy.calibrated(*asked, epsilon=Fraction(1), records=10**6),
                "Gaussian flow, rho 0.5": GaussianFlow.calibrated(*asked, rho=Fraction(1, 2), records=10**6),
                "Gaussian hierarchy, rho 0.5": GaussianGrid.calibrated(*asked, rho=Fraction(1, 2), records=10**6),
            }
            errors = {name: round(each.expected_error().mse) for name, each in made.items()}
            rows.append({"grid": f"{size} x {size}", "theta": theta or "full", **errors})
    return rows


def over_all_ranges(error: np.ndarray) -> float:
    """Return the mean squared error over all ranges of an error in the cumulative histogram."""
    cuts = np.append(0.0, error)
    return float((len(cuts) * cuts @ cuts - cuts.sum() ** 2) / (len(cuts) * (len(cuts) - 1) / 2))


def on_data(counts: np.ndarray, theta: int | None, epsilon: Fraction, runs: int) -> tuple[float, float]:
    """Release a real histogram many times; return mean and standard error of the ordered estimate's error."""
    records, truth = int(counts.sum()), np.cumsum(counts)
    mechanism = calibrated(SmoothHierarchy, len(counts), theta, epsilon, records)
    errors = [
        over_all_ranges(mechanism.shown_estimate(mechanism.measure(counts, SystemSource()), records) - truth)
        for _ in range(runs)
    ]
    return float(np.mean(errors)), float(np.std(errors) / runs**0.5)


def real(folder: Path, runs: int) -> list[dict[str, object]]:
    """Compare errors on real histograms with published ones."""
    rows = []
    losses = capital_losses(folder)
    for theta, published in PAPER.items():
        mean, spread = on_data(losses, theta, Fraction(1), runs)
        rows.append(_row("adult, 4357 values", theta, 1, mean, spread, published, "paper, Figure 2(b)"))
    for name, figures in DAWA.items():
        counts = dpbench(folder, name)
        for epsilon, published in zip(EPSILONS, figures, strict=True):
            mean, spread = on_data(counts, None, epsilon, runs)
            square = float(epsilon) ** 2
            rivals = {"DAWA at epsilon/2, published": published}
            for peer, error in peers(counts, epsilon, runs).items():
                rivals[f"{peer} at epsilon/2, run here"] = round(error, 1)
            for label, error in rivals.items():
                rows.append(_row(name, None, float(epsilon), mean * square, spread * square, error, label))
    return rows


def capital_losses(folder: Path) -> np.ndarray:
    """Read the histogram of Figure 2(b)."""
    with (folder / "adult.csv").open() as file:
        return np.bincount([int(row["capital_loss"]) for row in csv.DictReader(file)], minlength=4357)


def dpbench(folder: Path, name: str) -> np.ndarray:
    """Read a histogram of 4,096 values."""
    return np.load(folder / f"{name}_4096.npy").astype(np.int64).reshape(-1)


def peers(counts: np.ndarray, epsilon: Fraction, runs: int) -> dict[str, float]:
    """Run our own straightforward versions of two published mechanisms, under the same promise."""
    truth = np.cumsum(counts)
    return {
        name: float(np.mean([over_all_ranges(run(counts, epsilon) - truth) for _ in range(runs)])) * float(epsilon) ** 2
        for name, run in (("HB", hierarchy_b), ("Privelet", privelet))
    }


def _row(data, theta, epsilon, mean, spread, published, peer) -> dict[str, object]:
    return {
        "data": data,
        "theta": theta or "full",
        "epsilon": epsilon,
        "ours, times epsilon^2": f"{mean:.3g} +- {spread:.2g}",
        "theirs": published,
        "peer": peer,
        "theirs / ours": round(published / mean, 2),
    }


def growth(largest: int) -> list[dict[str, object]]:
    """Time noise, solve and isotonic step beside drawing the same noise alone."""
    rows = []
    size = 10_000
    while size <= largest:
        for theta in (100, None):
            rows.append(_timed(size, theta))
        size *= 10
    return rows


def _timed(size: int, theta: int | None) -> dict[str, object]:
    counts, ratios, seconds = np.full(size, 10), [], []
    for turn in range(4 if size <= 10**6 else 2):
        # Another epsilon each time: what one release has worked out would serve the next of its kind.
        mechanism = calibrated(SmoothHierarchy, size, theta, 1 + Fraction(turn, 100), 10 * size)
        levels = mechanism.segments[0].levels
        for level in levels:
            discrete_laplace(level.scale, 1)  # the tables of a new scale
        start = perf_counter()
        for level in levels:
            discrete_laplace(level.scale, level.rows(size))
        middle = perf_counter()
        mechanism.shown_estimate(mechanism.measure(counts, SystemSource()), 10 * size)
        end = perf_counter()
        if turn:  # the first loads what is used for the first time
            ratios.append((end - middle) / (middle - start))
            seconds.append(end - middle)
    return {
        "values": size,
        "theta": theta or "full",
        "spacings": str([level.spacing for level in levels]),
        "seconds": round(median(seconds), 3),
        "whole / noise alone": round(median(ratios), 1),
        "range": f"{min(ratios):.1f} to {max(ratios):.1f}",
    }


def look_ups() -> list[dict[str, object]]:
    """Time a million ranges beside fancy indexing of the same array."""
    domain = bp.Domain(v=bp.Integer(0, 99_999))
    session = bp.Session(bp.Counts(np.full(100_000, 3)), bp.Policy(domain, secrets=bp.DistanceThreshold(50)), budget=1)
    result = session.release(bp.Cumulative("v"), epsilon=1)
    words = SystemSource().words(2_000_000).astype(np.int64) % 100_000
    lows, highs = np.minimum(words[:1_000_000], words[1_000_000:]), np.maximum(words[:1_000_000], words[1_000_000:])
    plain = np.append(0.0, result.cumulative)
    ratios = []
    for _ in range(7):
        start = perf_counter()
        _ = plain[highs + 1] - plain[lows]
        middle = perf_counter()
        result.ranges(lows, highs)
        ratios.append((perf_counter() - middle) / (middle - start))
    return [
        {
            "what": "10^6 ranges / fancy indexing",
            "ratio": round(median(ratios), 2),
            "range": f"{min(ratios):.2f} to {max(ratios):.2f}",
        }
    ]


def rows(*, quick: bool, data: str | None) -> list[Row]:
    """Report published and re-implemented peers' errors over ours, and the cost of the estimate."""
    made = _against_published(Path(data), 1 if quick else 200) if data else []
    made += _against_baselines(1 if quick else 50)
    found = look_ups()[0]
    ratios = [found["ratio"], *map(float, found["range"].split(" to "))]
    made.append(Row.of("seconds of 10^6 ranges", "numpy, indexing", NOTHING, PRICE, ratios))
    for size in (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000):
        grown = _timed(size, 100)
        ratios = [grown["whole / noise alone"], *map(float, grown["range"].split(" to "))]
        claim = f"seconds of measuring and estimating {size:,} values"
        made.append(Row.of(claim, "our sampler alone", _SAMPLER, PRICE, ratios))
    return made


_SAMPLER = "the exact noise of the same release: the ratio is the cost of the rest"


def printed_promise(theta: int | None) -> str:
    """Say whether what the paper prints for a threshold holds."""
    if theta is None:
        return "bounded differential privacy: its plain tree, which holds as printed"
    if theta == 1:
        return "(epsilon, policy)-Blowfish: its ordered mechanism holds, its formula leaves one prefix without noise"
    return "prints (epsilon, policy)-Blowfish; overspends (docs/errata.md)"


def _against_published(folder: Path, runs: int, rounds: int = 5) -> list[Row]:
    """Compare mean errors on the data of the publications with the errors known from there.

    Ordering the estimate costs nothing and is not in the paper's figure, so ours stands there without it as well.
    """
    made, losses = [], capital_losses(folder)
    for theta, published in PAPER.items():
        ratios = [published / on_data(losses, theta, Fraction(1), runs)[0] for _ in range(rounds)]
        linear = calibrated(SmoothHierarchy, losses.size, theta, Fraction(1), ADULT).expected_error().mse
        for what, own in (("before ordering, expected", [published / linear]), ("ordered", ratios)):
            claim = f"squared error of a random range of capital loss, {what}, theta {theta or 'full'}"
            made.append(Row.of(claim, "Figure 2(b), read off", printed_promise(theta), AHEAD, own, "SIGMOD 2014"))
    for name, figures in DAWA.items():
        counts = dpbench(folder, name)
        for epsilon, published in zip(EPSILONS, figures, strict=True):
            square = float(epsilon) ** 2
            ratios = [published / on_data(counts, None, epsilon, runs)[0] / square for _ in range(rounds)]
            claim = f"squared error of a random range of {name}, full domain, epsilon {float(epsilon):g}"
            made.append(Row.of(claim, "DAWA, known from its own program", AS_DISTRIBUTED, AHEAD, ratios, "PVLDB 2014"))
    return made


def _against_baselines(runs: int, rounds: int = 5) -> list[Row]:
    """Compare the linear errors of a histogram without records: they do not depend on the data."""
    size, made = 4096, []
    empty, one = np.zeros(size, dtype=np.int64), Fraction(1)
    bounded = "run at epsilon / 2, with the public number of records that ours uses: bounded differential privacy"
    contenders = [
        ("HB tree", None, bounded, lambda: hierarchy_b(empty, one)),
        ("Privelet", None, bounded, lambda: privelet(empty, one)),
        *(
            (
                "subgraph + Privelet (2016)",
                theta,
                "(epsilon, policy)-Blowfish, as ours",
                lambda t=theta: subgraph(empty, t, one),
            )
            for theta in (1, 10, 100, 1000)
        ),
    ]
    for peer, theta, guarantee, run in contenders:
        ours = calibrated(SmoothHierarchy, size, theta, one, 1000 * size).expected_error().mse
        ratios = [np.mean([over_all_ranges(run()) for _ in range(runs)]).item() / ours for _ in range(rounds)]
        claim = f"squared error of a random range of 4,096 values, theta {theta or 'full'}"
        made.append(Row.of(claim, peer, guarantee, AHEAD, ratios))
    return made


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    tables = {
        "expected error": expected(),
        "expected error with Gaussian rows": gaussian(),
        "expected error of a random rectangle": grids(),
        "growth": growth(options.largest),
        "look-ups": look_ups(),
    }
    if options.data:
        tables["error on real histograms"] = real(options.data, options.runs)
    if options.json:
        print(json.dumps(tables, indent=2))
        return
    for title, rows in ((title, rows) for title, rows in tables.items() if rows):
        print(f"\n{title}\n\n| " + " | ".join(rows[0]) + " |")
        print("|" + "---|" * len(rows[0]))
        for row in rows:
            print("| " + " | ".join(map(str, row.values())) + " |")


if __name__ == "__main__":
    main()
