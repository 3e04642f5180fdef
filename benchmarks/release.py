"""A whole release beside the same GROUP BY in raw DuckDB, from Parquet.

    python benchmarks/release.py [--rows 10000000] [--cells 4357|2000000] [--rounds 5] [--json]

Certify, charge the ledger, read, validate every row, draw the noise, write and store the document: all of it against
nothing but the scan. Both run in one warm process, interleaved; peaks of memory are those of child processes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from statistics import median
from time import perf_counter

import duckdb

import blowfish_privacy as bp
from report import NOTHING, PRICE, Row

DOMAINS = {
    4_357: bp.Domain(wide=bp.Integer(0, 4_356)),
    2_000_000: bp.Domain(loss=bp.Integer(0, 1_999), zone=bp.Integer(0, 999)),
}


def make_table(path: Path, rows: int) -> None:
    """Write a Parquet table of skewed whole numbers with DuckDB itself."""
    duckdb.sql(
        f"COPY (SELECT CAST(power(hash(i) % 1000000 / 1000000.0, 3) * 4357 AS INTEGER) % 4357 AS wide, "
        f"CAST(hash(i + 1) % 2000 AS INTEGER) AS loss, CAST(hash(i * 3) % 1000 AS INTEGER) AS zone "
        f"FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"
    )


def raw(path: str, cells: int) -> object:
    """Count per cell with DuckDB alone, into arrays."""
    columns = ", ".join(DOMAINS[cells])
    return duckdb.sql(f"SELECT {columns}, count(*) AS n FROM '{path}' GROUP BY {columns}").fetchnumpy()


def release(path: str, cells: int) -> object:
    """Make one whole new release: plan, certify, charge, read, perturb, record, hand out."""
    domain = DOMAINS[cells]
    return session(path, cells).release(bp.Histogram(*domain.names), epsilon="0.5", new=True)


@cache
def session(path: str, cells: int) -> bp.Session:
    """Open data and ledger once, as a program that makes many releases does."""
    return bp.Session(path, bp.Policy(DOMAINS[cells], secrets=bp.Attributes()), budget=1000)


def peak_megabytes(what: str, path: str, cells: int) -> float:
    """Run one of the two in a child process and return its peak memory."""
    child = subprocess.run(
        [sys.executable, __file__, "--child", what, "--path", path, "--cells", str(cells)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(child.stdout)


def measure(path: str, rows: int, cells: int, rounds: int) -> dict[str, object]:
    """Interleave the two and compare."""
    times: dict[str, list[float]] = {"raw": [], "release": []}
    raw(path, cells), release(path, cells)
    for _ in range(rounds):
        for name, call in (("raw", raw), ("release", release)):
            start = perf_counter()
            call(path, cells)
            times[name].append(perf_counter() - start)
    ratios = [ours / theirs for ours, theirs in zip(times["release"], times["raw"], strict=True)]
    return {
        "rows": rows,
        "cells": cells,
        "raw_seconds": round(median(times["raw"]), 3),
        "release_seconds": round(median(times["release"]), 3),
        "ratio": round(median(ratios), 2),
        "ratio_range": [round(min(ratios), 2), round(max(ratios), 2)],
        "extra_peak_megabytes": round(peak_megabytes("release", path, cells) - peak_megabytes("raw", path, cells)),
    }


def rows(*, quick: bool, data: str | None) -> list[Row]:
    """Report a whole release over the raw GROUP BY."""
    made = []
    with tempfile.TemporaryDirectory() as folder:
        path, many = Path(folder) / "table.parquet", 1_000_000 if quick else 10_000_000
        make_table(path, many)
        for cells in sorted(DOMAINS):
            found = measure(str(path), many, cells, 3 if quick else 5)
            claim = f"seconds of a release of {cells:,} cells from {many:,} rows"
            ratios = [found["ratio"], *found["ratio_range"]]
            made.append(Row.of(claim, "duckdb, GROUP BY", NOTHING, PRICE, ratios))
    return made


def main() -> None:
    """Print one row for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--cells", type=int, choices=sorted(DOMAINS), default=None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child")
    parser.add_argument("--path")
    options = parser.parse_args()
    if options.child:
        {"raw": raw, "release": release}[options.child](options.path, options.cells)
        # The kernel's high-water mark of this program alone; getrusage would count the parent it was forked from.
        status = Path("/proc/self/status").read_text()
        print(int(status.partition("VmHWM:")[2].split()[0]) / 1024)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        make_table(path, options.rows)
        chosen = [options.cells] if options.cells else sorted(DOMAINS)
        rows = [measure(str(path), options.rows, cells, options.rounds) for cells in chosen]
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print("| " + " | ".join(rows[0]) + " |")
    print("|" + "---|" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(map(str, row.values())) + " |")


if __name__ == "__main__":
    main()
