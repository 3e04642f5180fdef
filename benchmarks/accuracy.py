"""What the data-dependent steps are worth: the error of a random range or rectangle before them and after.

    python benchmarks/accuracy.py [--data FOLDER] [--runs 20] [--only line grid] [--json]

*Before* is the smooth hierarchy put in order for ranges, and the better of flow and hierarchy, unbiased, for
rectangles; *after* is what a plan chooses by itself and a result shows. Errors are means over all ranges or rectangles
and all runs, squared, times epsilon squared. Data are the shapes of ``shapes.py`` on which no constant was settled, and
real data from a folder, if given. The sound DAWA runs at half of epsilon, at the best of its penalties for each case.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np

import blowfish_privacy as bp
import shapes
from baselines import PENALTIES, Dawa, hilbert_order
from blowfish_privacy.mechanisms import GridFlow, GridHierarchy, SmoothHierarchy
from blowfish_privacy.mechanisms.grid.grid_family import over_all_rectangles
from blowfish_privacy.noise import SimulationSource
from ordered import capital_losses, dpbench, over_all_ranges

EPSILONS = (Fraction(1, 100), Fraction(1, 10), Fraction(1))
HISTOGRAMS = ("adult_capital_loss", "hepth", "medcost", "nettrace", "searchlogs")
GRIDS = ("twitter", "sf_cabs_start")
SIZE, SIDES = 4096, (64, 128)
RECORDS_1, RECORDS_2 = (10_000, 100_000), (10_000, 200_000)
SECRETS_1 = {"full": bp.FullDomain()}
SECRETS_2 = {"full": bp.FullDomain(), "theta 1": bp.DistanceThreshold(1)}


@dataclass(frozen=True)
class Case:
    """Errors of one question on one table, under one policy."""

    data: str
    records: int
    size: int
    policy: str
    epsilon: float
    mechanism: str
    before: float
    after: float
    better: float
    """How many times the error falls."""
    low: float
    high: float
    """A 95 % interval of that, over the runs."""
    dawa: float | None


def compared(before: Sequence[float], after: Sequence[float]) -> tuple[float, float, float]:
    """Return how many times the mean falls, with a 95 % interval: the means are about normal on a scale of powers."""
    first, second = np.maximum(before, 1e-12), np.maximum(after, 1e-12)
    ratio = float(first.mean() / second.mean())
    spread = sum(float(each.var(ddof=1) / len(each) / each.mean() ** 2) for each in (first, second)) ** 0.5
    return ratio, ratio * np.exp(-1.96 * spread), ratio * np.exp(1.96 * spread)


def released(
    query: bp.Query, policy: bp.Policy, counts: np.ndarray, epsilon: Fraction, runs: int
) -> Iterator[bp.Result]:
    """Release the counts again and again, as a user would."""
    for _ in range(runs):
        session = bp.Session(bp.Counts(counts), policy, budget=epsilon)
        yield session.release(session.plan(query, epsilon=epsilon))


def on_line(name: str, counts: np.ndarray, secrets: str, epsilon: Fraction, runs: int) -> Case:
    """Compare the errors of ranges."""
    policy = bp.Policy(bp.Domain(v=bp.Integer(0, len(counts) - 1)), secrets=SECRETS_1[secrets])
    records, truth, square = int(counts.sum()), np.cumsum(counts), float(epsilon) ** 2
    usual = SmoothHierarchy.calibrated(bp.Cumulative("v"), policy, epsilon=epsilon, records=records)
    source = SimulationSource("before")
    before = [
        square * over_all_ranges(usual.shown_estimate(usual.measure(counts, source), records) - truth)
        for _ in range(runs)
    ]
    made = [*released(bp.Cumulative("v"), policy, counts, epsilon, runs)]
    after = [square * over_all_ranges(each.values - truth) for each in made]
    if made[0].release.mechanism.name == usual.name:
        # Nothing changed, so all runs tell the same error.
        before = after = [*before, *after]
    rival = dawa(counts, epsilon, runs, over_all_sums) if secrets == "full" else None
    return _case(name, counts, secrets, epsilon, made[0], before, after, rival)


def on_grid(name: str, counts: np.ndarray, secrets: str, epsilon: Fraction, runs: int) -> Case:
    """Compare the errors of rectangles."""
    first, second = counts.shape
    domain = bp.Domain(a=bp.Integer(0, first - 1), b=bp.Integer(0, second - 1))
    policy, query = bp.Policy(domain, secrets=SECRETS_2[secrets]), bp.RangeGrid("a", "b")
    records, square = int(counts.sum()), float(epsilon) ** 2
    kinds = [kind.calibrated(query, policy, epsilon=epsilon, records=records) for kind in (GridFlow, GridHierarchy)]
    usual = min(kinds, key=lambda kind: kind.expected_error().mse)
    source = SimulationSource("before")
    before = [
        square * over_all_rectangles(usual.estimate(usual.measure(counts, source)).reshape(counts.shape) - counts)
        for _ in range(runs)
    ]
    made = [*released(query, policy, counts, epsilon, runs)]
    after = [square * over_all_rectangles(each.values.reshape(counts.shape) - counts) for each in made]
    rival = None
    if secrets == "full" and first == second and first & (first - 1) == 0:
        order = hilbert_order(first)

        def error(errors: np.ndarray) -> float:
            placed = np.empty(counts.size)
            placed[order] = errors
            return over_all_rectangles(placed.reshape(counts.shape))

        rival = dawa(counts.reshape(-1)[order], epsilon, runs, error)
    return _case(name, counts, secrets, epsilon, made[0], before, after, rival)


def _case(
    name: str,
    counts: np.ndarray,
    secrets: str,
    epsilon: Fraction,
    made: bp.Result,
    before: Sequence[float],
    after: Sequence[float],
    rival: float | None,
) -> Case:
    means = float(np.mean(before)), float(np.mean(after))
    chosen = made.release.mechanism.name
    records = int(counts.sum())
    return Case(name, records, len(counts), secrets, float(epsilon), chosen, *means, *compared(before, after), rival)


def over_all_sums(errors: np.ndarray) -> float:
    """Return the mean squared error over all ranges of errors of single values."""
    return over_all_ranges(np.cumsum(errors))


def dawa(counts: np.ndarray, epsilon: Fraction, runs: int, error: Callable[[np.ndarray], float]) -> float:
    """Return the error of the sound DAWA at its best penalty."""
    costed, dice = Dawa(counts), np.random.default_rng(0)
    few = max(3, runs // 4)
    means = [
        np.mean([error(costed.release(epsilon / 2, penalty, dice) - counts) for _ in range(few)])
        for penalty in PENALTIES
    ]
    return float(min(means)) * float(epsilon) ** 2


def lines(folder: Path | None) -> Iterator[tuple[str, np.ndarray]]:
    """Yield histograms."""
    if folder is not None:
        yield "adult, capital loss", capital_losses(folder)
        yield from ((name, dpbench(folder, name)) for name in HISTOGRAMS[1:])
    for name, density in shapes.HELD_OUT_1.items():
        yield from ((name, shapes.line(density, SIZE, records)) for records in RECORDS_1)


def grids(folder: Path | None) -> Iterator[tuple[str, np.ndarray]]:
    """Yield square grids."""
    if folder is not None:
        for name, side in product(GRIDS, SIDES):
            yield name, _smaller(np.load(folder / f"{name}_256x256.npy"), side)
    for name, density in shapes.HELD_OUT_2.items():
        yield from ((name, shapes.grid(density, SIDES[0], records)) for records in RECORDS_2)


def _smaller(counts: np.ndarray, side: int) -> np.ndarray:
    step = len(counts) // side
    return counts.reshape(side, step, side, step).sum(axis=(1, 3)).astype(np.int64)


def header() -> str:
    """Write the head of the table: for every epsilon before, after, how many times better, and the sound DAWA."""
    titles = ["data", "records", "side", "policy", *(f"at {float(epsilon):g} | sound DAWA" for epsilon in EPSILONS)]
    return f"| {' | '.join(titles)} |\n|---|---:|---:|---|" + "---|---:|" * len(EPSILONS)


def row(cases: Sequence[Case]) -> str:
    """Write the cases of one table and one policy."""
    first = cases[0]
    cells = [first.data, f"{first.records:,}", f"{first.size:,}", first.policy]
    for case in cases:
        better = f"{_short(case.better)} times, {_short(case.low)} to {_short(case.high)}"
        changed = f"{_short(case.before)} to {_short(case.after)}: {better}; {case.mechanism}"
        cells.append(f"{_short(case.before)}, as before" if case.before == case.after else changed)
        cells.append("" if case.dawa is None else _short(case.dawa))
    return f"| {' | '.join(cells)} |"


def _short(number: float) -> str:
    """Write three digits, without powers of ten."""
    return f"{float(f'{number:.3g}'):,.10g}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with real data")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", nargs="*", choices=("line", "grid"), default=("line", "grid"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    measured = {
        "line": (lines, on_line, SECRETS_1),
        "grid": (grids, on_grid, SECRETS_2),
    }
    cases: list[Case] = []
    if not options.json:
        print(header())
    for kind in options.only:
        data, measure, policies = measured[kind]
        for name, counts in data(options.data):
            for secrets in policies:
                cases += [measure(name, counts, secrets, epsilon, options.runs) for epsilon in EPSILONS]
                if not options.json:
                    print(row(cases[-len(EPSILONS) :]), flush=True)
    if options.json:
        print(json.dumps([asdict(case) for case in cases], indent=2))


if __name__ == "__main__":
    main()
