"""Writing the table of a release as CSV: by columns, as results do, over row by row with Python's csv module.

python benchmarks/csv_files.py [--values 1000000] [--rounds 5]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

import blowfish_privacy as bp
from blowfish_privacy.support.csv_tables import csv_table
from report import AHEAD, NOTHING, Row


def results(values: int) -> Iterator[tuple[str, Any]]:
    """Release a cumulative histogram of an attribute with this many values, and a grid of about as many cells."""
    generator, side = np.random.default_rng(1), int(values**0.5)
    places = np.minimum(generator.lognormal(np.log(values) - 3, 1, 2 * values).astype(np.int64), values - 1)
    line = bp.Domain(a=bp.Integer(0, values - 1))
    square = bp.Domain(a=bp.Integer(0, side - 1), b=bp.Integer(0, side - 1))
    spread = generator.integers(0, 3, (side, side))
    cases = (
        (line, np.bincount(places, minlength=values), bp.Cumulative("a")),
        (square, spread, bp.Histogram("a", "b")),
    )
    for domain, counts, query in cases:
        policy = bp.Policy(domain, secrets=bp.DistanceThreshold(1000))
        result = bp.Session(bp.Counts(counts), policy, budget=1).release(query, epsilon=1)
        # Errors and estimates are computed once, whoever writes them.
        result.csv()
        yield type(query).__name__, result


def measured(result: Any, rounds: int) -> list[tuple[float, float]]:
    """Return seconds by columns and row by row, which write the same bytes."""
    times: list[tuple[float, float]] = []
    for _ in range(rounds):
        start = perf_counter()
        ours = result.csv()
        middle = perf_counter()
        theirs = csv_table(result.header, (row for row in result.rows()))
        times.append((middle - start, perf_counter() - middle))
        if ours != theirs:
            raise SystemExit("the two ways write different bytes.")
    return times


def rows(*, quick: bool, data: str | None) -> list[Row]:
    """Report how many times faster columns are."""
    values, made = 100_000 if quick else 1_000_000, []
    for kind, result in results(values):
        ratios = [slow / fast for fast, slow in measured(result, 3 if quick else 5)]
        made.append(
            Row.of(f"seconds of a CSV file: {kind}, {values:,} values", "csv, row by row", NOTHING, AHEAD, ratios)
        )
    return made


def main() -> None:
    """Print seconds for both ways."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--values", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for kind, result in results(options.values):
        fast, slow = (sorted(each)[options.rounds // 2] for each in zip(*measured(result, options.rounds), strict=True))
        print(f"{kind}: {fast:.2f} s by columns, {slow:.2f} s row by row, {slow / fast:.1f} times")


if __name__ == "__main__":
    main()
