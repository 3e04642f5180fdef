"""How a release grows with rows and cells, on every engine, and what of it is privacy.

``python benchmarks/scale.py [--rows 1000000 10000000] [--engines duckdb postgres spark] [--cells 10000000]
[--rounds 3] [--json]``

The same rows lie in a folder of Parquet files (DuckDB, Spark on this machine) and in a table (PostgreSQL, in a server
that is started for the purpose). For each number of rows and cells the engines run, in turns and in one warm process,

- own: the plain GROUP BY that gives the same numbers, fetched the engine's usual way: no check of any row, no privacy;
- a whole release: certify, charge, read, perturb, record, hand out.

A release is split into scan (our query, of which a single row is fetched), transfer (the rest of the engine's call),
noise (drawing it), solve (reading back and estimating) and rest (ledger and document). Privacy's share is noise, solve
and rest as a part of the engine's time, taken in each round. The check of every row is in the engine's time, and shows
in the ratio of a release to own. Peak memory is that of a process of its own that makes one release, less that of one
that only imports (for PostgreSQL: of the client). Rows of 10^9 are extrapolated from the
two largest sizes measured, and marked so. Every number is the median of its own over the rounds, so that the parts of a
line need not add up. Each finished line is also written to standard error.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import duckdb
import numpy as np
from sqlglot import exp

import blowfish_privacy as bp
from blowfish_privacy import results
from blowfish_privacy.engines.sql.cells import Layout
from blowfish_privacy.engines.sql.counts import counts_query
from blowfish_privacy.engines.sql.table import TableEngine

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
COLUMNS = {"a": (10**3, 7_919), "b": (10**5, 104_729), "c": (10**7, 15_485_863)}
FILES = 16
SELECTED = ", ".join(
    f"CAST((i * {factor}) % {cells} AS INTEGER) AS {name}" for name, (cells, factor) in COLUMNS.items()
)


def policy(column: str) -> bp.Policy:
    """Keep every value secret."""
    return bp.Policy(bp.Domain({column: bp.Integer(0, COLUMNS[column][0] - 1)}), secrets=bp.FullDomain())


@contextmanager
def on_duckdb(folder: Path, _rows: int) -> Iterator[tuple[Any, Callable[[str], Any]]]:
    """Parquet files, read by DuckDB in this process."""
    connection = duckdb.connect()

    def own(column: str) -> Any:
        source = f"read_parquet('{folder}/*.parquet')"
        return connection.execute(f"SELECT {column}, count(*) AS n FROM {source} GROUP BY 1").fetchnumpy()["n"]

    yield folder, own
    connection.close()


@contextmanager
def on_postgres(_folder: Path, rows: int) -> Iterator[tuple[Any, Callable[[str], Any]]]:
    """A table in a server of our own."""
    import os

    from servers.postgres import PASSWORD, PostgresServer

    server = PostgresServer()
    os.environ["PGPASSWORD"] = PASSWORD
    try:
        server.execute(
            f"CREATE UNLOGGED TABLE t AS SELECT {SELECTED} FROM generate_series(0::bigint, {rows - 1}::bigint) AS s(i)",
            "VACUUM ANALYZE t",
        )
        with server.connect() as connection:

            def own(column: str) -> Any:
                query = f"SELECT {column}, count(*) AS n FROM t GROUP BY 1".encode()
                return np.array([row[1] for row in connection.execute(query, binary=True).fetchall()])

            yield server.url(table="public.t"), own
    finally:
        server.close()


@contextmanager
def on_spark(folder: Path, _rows: int) -> Iterator[tuple[Any, Callable[[str], Any]]]:
    """The same Parquet files, read by Spark on the cores of this machine."""
    from servers.spark import session

    spark = session("local[*]", **{"spark.driver.memory": "8g", "spark.sql.shuffle.partitions": "8"})

    def own(column: str) -> Any:
        return spark.read.parquet(str(folder)).groupBy(column).count().toArrow().column("count").to_numpy()

    yield f"spark:{folder}", own


ENGINES = {"duckdb": on_duckdb, "postgres": on_postgres, "spark": on_spark}


def make(folder: Path, rows: int) -> None:
    """Write the rows, spread evenly over the cells, as a folder of files."""
    for part in range(FILES):
        first, last = rows * part // FILES, rows * (part + 1) // FILES
        target = f"'{folder}/{part:02}.parquet' (FORMAT parquet)"
        duckdb.sql(f"COPY (SELECT {SELECTED} FROM range({first}, {last}) AS s(i)) TO {target}")


class Stopwatch:
    """Adds up the time spent in functions that it is put around."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def around(self, name: str, owner: Any, attribute: str) -> Iterator[None]:
        """Measure every call of a function for as long as the body runs."""
        original = getattr(owner, attribute)

        def timed(*given: Any, **named: Any) -> Any:
            start = perf_counter()
            try:
                return original(*given, **named)
            finally:
                self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - start

        setattr(owner, attribute, timed)
        try:
            yield
        finally:
            setattr(owner, attribute, original)


def release(session: bp.Session, column: str) -> dict[str, float]:
    """Make one new release, and say where its time went."""
    watch = Stopwatch()
    start = perf_counter()
    plan = session.plan(bp.Histogram(column), epsilon="0.5", new=True)
    with ExitStack() as stack:
        stack.enter_context(watch.around("engine", TableEngine, "counts"))
        stack.enter_context(watch.around("noise", type(plan.mechanism), "measure"))
        stack.enter_context(watch.around("solve", results, "from_text"))
        session.release(plan)
    return {**watch.seconds, "total": perf_counter() - start}


def scan(session: bp.Session, column: str) -> float:
    """Run the engine's query, but fetch a single row."""
    layout = Layout(session.policy.domain.project([column]))
    engine: Any = session.engine
    start = perf_counter()
    opened = engine.open(layout.domain)
    counted = counts_query(opened.types, layout, opened.dialect)
    total = exp.select(exp.cast(exp.Sum(this=exp.column("n")), "BIGINT")).from_(counted.subquery("counted"))
    opened.ask(total).fetchall()
    engine._source.rest()
    return perf_counter() - start


def measure(engine: str, folder: Path, rows: int, rounds: int, most: int) -> Iterator[dict[str, Any]]:
    """Measure every number of cells on one engine."""
    with ENGINES[engine](folder, rows) as (data, own):
        for column in (name for name, (cells, _) in COLUMNS.items() if cells <= most):
            cells = COLUMNS[column][0]
            session = bp.Session(data, policy(column), budget=10**6)
            timed: list[dict[str, float]] = []
            for turn in range(rounds + 1):
                start = perf_counter()
                if int(np.asarray(own(column)).sum()) != rows:
                    raise SystemExit("the engine lost rows")
                row = {"own": perf_counter() - start, **release(session, column), "scan": scan(session, column)}
                if turn:
                    timed.append(row)
            yield {"engine": engine, "rows": rows, "cells": cells, **summary(timed), **peaks(engine, data, column)}


def summary(timed: list[dict[str, float]]) -> dict[str, float]:
    """Take medians over the rounds; shares are taken within each."""
    middle = {name: median(row[name] for row in timed) for name in ("own", "scan", "engine", "noise", "solve", "total")}
    shares = sorted((row["total"] - row["engine"]) / row["engine"] for row in timed)
    return {
        "own": middle["own"],
        "release": middle["total"],
        "scan": middle["scan"],
        "transfer": max(0.0, median(row["engine"] - row["scan"] for row in timed)),
        "noise": middle["noise"],
        "solve": middle["solve"],
        "rest": median(row["total"] - row["engine"] - row["noise"] - row["solve"] for row in timed),
        "privacy_share": median(shares),
        "privacy_share_low": shares[0],
        "privacy_share_high": shares[-1],
        "beyond_own": median(row["total"] / row["own"] for row in timed),
    }


def peaks(engine: str, data: Any, column: str) -> dict[str, int]:
    """Measure the memory of a process that makes one release; not for Spark, whose memory is its driver's."""
    if engine == "spark":
        return {}
    idle, busy = (
        int(
            subprocess.run(
                [sys.executable, __file__, "--child", what, "--data", str(data), "--column", column],
                check=True, capture_output=True, text=True,
            ).stdout
        )
        for what in ("idle", "release")
    )  # fmt: skip
    return {"megabytes": busy - idle}


def child(what: str, data: str, column: str) -> None:
    """Make one release, or none, and print this process's peak memory."""
    if what == "release":
        bp.Session(data, policy(column), budget=1).release(bp.Histogram(column), epsilon="0.5")
    print(int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) // 1024)


def extrapolated(results: list[dict[str, Any]], rows: int) -> Iterator[dict[str, Any]]:
    """Continue the straight line through the two largest sizes of each engine and number of cells."""
    for engine in dict.fromkeys(row["engine"] for row in results):
        for cells in sorted({row["cells"] for row in results}):
            sizes = sorted(
                (r for r in results if (r["engine"], r["cells"]) == (engine, cells)), key=lambda r: r["rows"]
            )
            if len(sizes) < 2 or sizes[-1]["rows"] >= rows:
                continue
            low, high = sizes[-2:]
            line: dict[str, Any] = {"engine": engine, "rows": rows, "cells": cells, "extrapolated": True}
            for name in ("own", "release"):
                slope = max(0.0, (high[name] - low[name]) / (high["rows"] - low["rows"]))
                line[name] = high[name] + slope * (rows - high["rows"])
            yield line


def show(rows: list[dict[str, Any]]) -> None:
    """Print a table for the documentation."""
    names = ("own", "release", "scan", "transfer", "noise", "solve", "rest")
    print(f"| engine | rows | cells | {' | '.join(names)} | privacy's share | release / own | peak MB |")
    print("|---|" + "---:|" * (len(names) + 5))
    for row in rows:
        times = " | ".join(f"{row[name]:.3g}" if name in row else "" for name in names)
        share = f"{row['privacy_share']:.0%} | {row['beyond_own']:.1f}" if "privacy_share" in row else "extrapolated | "
        size = f"10^{round(math.log10(row['rows']))} | 10^{round(math.log10(row['cells']))}"
        print(f"| {row['engine']} | {size} | {times} | {share} | {row.get('megabytes', '')} |")


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--cells", type=int, default=10**7, help="leave out larger numbers of cells")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    for hidden in ("--child", "--data", "--column"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.data, options.column)
        return
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    for size in sorted(options.rows):
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder), size)
            for engine in options.engines:
                for row in measure(engine, Path(folder), size, options.rounds, options.cells):
                    print(json.dumps(row), file=sys.stderr, flush=True)
                    rows.append(row)
    rows += extrapolated(rows, 10**9)
    print(json.dumps(rows, indent=2)) if options.json else show(rows)


if __name__ == "__main__":
    main()
