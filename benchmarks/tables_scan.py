"""Counting very many tables from one scan: how time and memory grow with the number of attributes.

``python benchmarks/tables_scan.py [--attributes 13 20 50 100] [--ways 3] [--rows 100000] [--engines duckdb postgres]
[--release] [--json]``

13 attributes have the sizes of Adult's; other numbers of attributes have 10 values each. Every line is a process of its
own that counts all tables of so many ways, one after the other; memory is its peak beyond what it held when the data
were opened (for PostgreSQL: of the client). In the report, the same tables of Adult's size are asked of DuckDB in one
statement of grouping sets, which holds them all. With ``--release`` the whole release of the tables is timed as well,
under attribute secrets and epsilon 1: planning, releasing (certify, charge, count, perturb, record, read back), and the
first table that is put together, which has to go through all values once. Its memory is the peak until it is released.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from time import perf_counter
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import blowfish_privacy as bp
from blowfish_privacy.domain import Domain, Integer
from blowfish_privacy.engines import open_engine
from report import AHEAD, NOTHING, Row

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
ADULT = (74, 9, 16, 7, 15, 6, 5, 2, 12, 8, 99, 42, 2)
ENGINES = ("duckdb", "postgres", "spark")


def shape(attributes: int) -> tuple[int, ...]:
    """Return the sizes of so many attributes."""
    return ADULT if attributes == len(ADULT) else (10,) * attributes


def make(attributes: int, rows: int) -> pa.Table:
    """Draw rows that lean to small positions, the same in every run."""
    generator = np.random.default_rng(1)
    return pa.table({
        f"a{axis}": (generator.random(rows) ** 2 * size).astype(np.int64) for axis, size in enumerate(shape(attributes))
    })  # fmt: skip


@contextmanager
def served(engine: str, table: pa.Table, folder: Path) -> Iterator[str]:
    """Hand the rows to an engine."""
    path = folder / "rows.parquet"
    pq.write_table(table, path)
    if engine == "spark":
        from servers.spark import session

        session("local[*]")
    if engine != "postgres":
        yield f"spark:{path}" if engine == "spark" else str(path)
        return
    from servers.postgres import PASSWORD, PostgresServer

    server = PostgresServer()
    os.environ["PGPASSWORD"] = PASSWORD
    try:
        yield server.url(table=server.load(table))
    finally:
        server.close()


def count(engine: str, attributes: int, ways: int, rows: int, *, release: bool) -> dict[str, Any]:
    """Count all tables once, in this process, and release them if asked to."""
    domain = Domain({f"a{axis}": Integer(0, size - 1) for axis, size in enumerate(shape(attributes))})
    sets = [*combinations(domain.names, ways)]
    with tempfile.TemporaryDirectory() as folder, served(engine, make(attributes, rows), Path(folder)) as data:
        opened = open_engine(data)
        held, start = peak(), perf_counter()
        if opened.rows() != rows:
            raise SystemExit("rows are missing")
        cells = 0
        for table in opened.tables(domain, sets):
            cells += table.size
        found: dict[str, Any] = {
            "engine": engine, "attributes": attributes, "ways": ways, "rows": rows, "tables": len(sets), "cells": cells,
            "seconds": perf_counter() - start, "megabytes": peak() - held,
        }  # fmt: skip
        opened.close()
        return {**found, **publish(data, domain, ways, held)} if release else found


def publish(data: str, domain: Domain, ways: int, held: int) -> dict[str, float]:
    """Plan and release all tables once, and put the first together."""
    session = bp.Session(data, bp.Policy(domain, secrets=bp.Attributes()), budget=1)
    start = perf_counter()
    plan = session.plan(bp.Tables.of_ways(ways, domain.names), epsilon=1)
    planned = perf_counter()
    result = session.release(plan)
    released, memory = perf_counter(), peak() - held
    next(iter(result))
    return {
        "plan_seconds": planned - start, "release_seconds": released - planned, "release_megabytes": memory,
        "table_seconds": perf_counter() - released,
    }  # fmt: skip


def peak() -> int:
    """Return the peak memory of this process in megabytes (Linux); getrusage would count the parent's."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) // 1024


def measure(engine: str, attributes: int, ways: int, rows: int, *options: str) -> dict[str, Any]:
    """Count in a process of its own."""
    command = [sys.executable, __file__, "--child", json.dumps([engine, attributes, ways, rows]), *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def rows(*, quick: bool, data: str | None) -> list[Row]:
    """Report ours beside one statement of DuckDB's own."""
    found: list[Row] = []
    for ways in (2,) if quick else (2, 3):
        ratios: list[float] = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            pq.write_table(make(13, 48_842), path)
            domain = Domain({f"a{axis}": Integer(0, size - 1) for axis, size in enumerate(ADULT)})
            sets = [*combinations(domain.names, ways)]
            grouped = ", ".join(f"({', '.join(names)})" for names in sets)
            query = f"SELECT {', '.join(domain.names)}, count(*) AS n FROM '{path}' GROUP BY GROUPING SETS ({grouped})"
            connection, opened = duckdb.connect(), open_engine(path)
            for _ in range(4):
                start = perf_counter()
                theirs = int(connection.execute(query).fetchnumpy()["n"].sum())
                middle = perf_counter()
                ours = sum(int(table.sum()) for table in opened.tables(domain, sets))
                ratios.append((middle - start) / (perf_counter() - middle))
                if ours != theirs:
                    raise SystemExit("the contenders disagree")
            opened.close()
        claim = f"seconds of counting all {len(sets)} {ways}-way tables of Adult's size"
        # The first round warms both up.
        found.append(Row.of(claim, "duckdb, GROUPING SETS", NOTHING, AHEAD, ratios[1:]))
    return found


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attributes", type=int, nargs="+", default=[13, 20, 50, 100])
    parser.add_argument("--ways", type=int, default=3)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=["duckdb"])
    parser.add_argument("--release", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(count(*json.loads(options.child), release=options.release)))
        return
    results = [
        measure(engine, attributes, options.ways, options.rows, *(["--release"] if options.release else []))
        for engine in options.engines
        for attributes in options.attributes
    ]
    if options.json:
        print(json.dumps(results, indent=2))
        return
    print(f"{'engine':<9} {'attributes':>10} {'tables':>8} {'cells':>12} {'rows':>11} {'seconds':>8} {'MB':>6}")
    for each in results:
        print(
            f"{each['engine']:<9} {each['attributes']:>10} {each['tables']:>8,} {each['cells']:>12,}"
            f" {each['rows']:>11,} {each['seconds']:>8.1f} {each['megabytes']:>6}"
        )
        if options.release:
            print(
                f"  planned in {each['plan_seconds']:.1f} s, released in {each['release_seconds']:.1f} s "
                f"({each['release_megabytes']} MB), first table after {each['table_seconds']:.1f} s"
            )


if __name__ == "__main__":
    main()
