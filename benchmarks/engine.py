"""Counting cells with the engine, side by side with the plain GROUP BY in DuckDB that gives the same numbers.

``python benchmarks/engine.py [--rows 10000000] [--rounds 7] [--json]``

Both read the same Parquet file in one warm process, taking turns; a ratio is taken in every round. The engine's
call includes planning, the check of every row, and laying out the table of counts. Peak memory is that of a
process of its own for each contender, less that of one that only imports what both need (Linux).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import duckdb
import numpy as np

from blowfish_privacy.domain import Categorical, Domain, Integer
from blowfish_privacy.engines import open_engine
from report import NOTHING, PRICE, Row

REGIONS = [f"region {n}" for n in range(5)]
DOMAIN = Domain(
    capital_loss=Integer(0, 4356),
    age=Integer(0, 99),
    hours=Integer(0, 99),
    zone=Integer(0, 199),
    region=Categorical(REGIONS),
)
CASES = {
    "4,357 cells": ["capital_loss"],
    "2 million cells": ["age", "hours", "zone"],
    "500 cells, text": ["age", "region"],
}


def make(path: Path, rows: int) -> None:
    """Write rows that are spread evenly, and reproducibly, over all cells."""
    regions = ", ".join(f"'{region}'" for region in REGIONS)
    duckdb.connect().execute(
        f"""COPY (
            SELECT (hash(i) % 4357)::INTEGER AS capital_loss, (hash(i + 1000000007) % 100)::INTEGER AS age,
                (hash(i + 3000000019) % 100)::SMALLINT AS hours, (hash(i + 5000000029) % 200)::BIGINT AS zone,
                [{regions}][1 + (hash(i + 7000000001) % 5)::INTEGER] AS region
            FROM range({rows}) AS t(i)
        ) TO '{path}' (FORMAT parquet)"""
    )


def raw(path: Path) -> Callable[[list[str]], Any]:
    """Group by the columns, in DuckDB, and fetch what it gives."""
    connection = duckdb.connect()

    def run(names: list[str]) -> int:
        columns = ", ".join(names)
        query = f"SELECT {columns}, count(*) AS n FROM read_parquet('{path}') GROUP BY {columns}"
        return int(np.asarray(connection.execute(query).fetchnumpy()["n"]).sum())

    return run


def engine(path: Path) -> Callable[[list[str]], Any]:
    """Count with the engine."""
    opened = open_engine(path)
    return lambda names: int(opened.counts(DOMAIN, [names])[0].sum())


CONTENDERS = {"raw": raw, "engine": engine}


def race(path: Path, names: list[str], rounds: int) -> dict[str, Any]:
    """Let both take turns; the first turn, which warms both up, does not count."""
    runs = {name: contender(path) for name, contender in CONTENDERS.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    totals: set[int] = set()
    for turn in range(rounds + 1):
        order = list(runs) if turn % 2 else list(runs)[::-1]
        for name in order:
            start = perf_counter()
            totals.add(runs[name](names))
            if turn:
                times[name].append(perf_counter() - start)
    if len(totals) != 1:
        raise SystemExit("the contenders disagree")
    ratios = sorted(ours / theirs for ours, theirs in zip(times["engine"], times["raw"], strict=True))
    return {
        "raw_seconds": median(times["raw"]),
        "engine_seconds": median(times["engine"]),
        "ratio": median(ratios),
        "ratio_low": ratios[0],
        "ratio_high": ratios[-1],
    }


def peak(path: Path, contender: str, case: str) -> int:
    """Return the peak memory, in megabytes, of a process that counts once."""
    command = [sys.executable, __file__, "--child", contender, "--case", case, "--file", str(path)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def child(path: Path, contender: str, case: str) -> None:
    """Count once, or not at all, and print this process's peak memory."""
    if contender in CONTENDERS:
        CONTENDERS[contender](path)(CASES[case])
    # getrusage would count the parent's memory at the time of the fork.
    status = Path("/proc/self/status").read_text()
    print(int(status.partition("VmHWM:")[2].split()[0]) // 1024)


def measure(rows: int, rounds: int) -> list[dict[str, Any]]:
    """Race every case over one file."""
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        make(path, rows)
        for case, names in CASES.items():
            idle = peak(path, "idle", case)
            memory = {f"{name}_megabytes": peak(path, name, case) - idle for name in CONTENDERS}
            results.append({"rows": rows, "case": case, **race(path, names, rounds), **memory})
    return results


def show(results: list[dict[str, Any]]) -> None:
    """Print a table."""
    print(f"{'rows':>11}  {'case':<16} {'raw s':>8} {'engine s':>8}   ratio (spread)        peak MB raw / engine")
    for r in results:
        spread = f"{r['ratio']:.2f} ({r['ratio_low']:.2f} to {r['ratio_high']:.2f})"
        print(
            f"{r['rows']:>11,}  {r['case']:<16} {r['raw_seconds']:>8.3f} {r['engine_seconds']:>8.3f}"
            f"   {spread:<20}  {r['raw_megabytes']:>8} / {r['engine_megabytes']}"
        )


def rows(*, quick: bool, data: str | None) -> list[Row]:
    """Report the engine over the raw GROUP BY."""
    return [
        Row.of(
            f"seconds of counting {each['rows']:,} rows, {each['case']}",
            "duckdb, GROUP BY",
            NOTHING,
            PRICE,
            [each["ratio"], each["ratio_low"], each["ratio_high"]],
        )
        for each in measure(1_000_000 if quick else 10_000_000, 3 if quick else 7)
    ]


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    for hidden in ("--child", "--case", "--file"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(Path(arguments.file), arguments.child, arguments.case)
        return
    results = measure(arguments.rows, arguments.rounds)
    print(json.dumps(results, indent=2)) if arguments.json else show(results)


if __name__ == "__main__":
    main()
