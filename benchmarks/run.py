"""Every performance claim of the project in one table.

    python benchmarks/run.py [--quick] [--only noise] [--data FOLDER] [--out FOLDER] [--check]

``--check`` compares every ratio with the tables of ``docs/benchmarks.md``, and fails where one is three times as large
as there, or a third. Prints Markdown and writes ``benchmarks.md``, ``benchmarks.json`` and ``benchmarks.svg``. Each
benchmark is also a program of its own, with details. Peers that are not installed
(``pip install 'blowfish-privacy[peers]'``) are left out, and named.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter

from report import Row, as_json, compared, markdown, picture

BENCHMARKS = (
    "startup", "distance", "noise", "ordered", "known_facts", "known_facts_cycles", "engine", "tables_scan", "ledger",
    "release", "csv_files", "kmeans", "tables", "synthetic",
)  # fmt: skip
PEERS = ("opendp", "diffprivlib")
HISTOGRAMS = ("adult_capital_loss", "hepth", "medcost", "nettrace", "searchlogs")
PAGE = Path(__file__).parents[1] / "docs/benchmarks.md"
MARGIN = 3
"""Machines differ, and neighbours disturb; what is off by more has changed."""
REAL = (
    "adult.csv", "skin.tsv", "twitter_256x256.npy", "sf_cabs_start_256x256.npy",
    *(f"{name}_4096.npy" for name in HISTOGRAMS),
)  # fmt: skip


def main() -> int:
    """Run the benchmarks one after the other and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rows and rounds")
    parser.add_argument("--only", choices=BENCHMARKS, action="append")
    parser.add_argument("--data", default=os.environ.get("BLOWFISH_DATA"), help="a folder with real data")
    parser.add_argument("--check", action="store_true", help="compare with the page, and fail where a ratio is far off")
    parser.add_argument("--out", type=Path, default=Path("benchmark-report"))
    options = parser.parse_args()
    missing = [name for name in REAL if options.data and not (Path(options.data) / name).is_file()]
    if missing:
        parser.error(
            f"the folder with real data has no {', '.join(missing)}. Hint: leave out --data and BLOWFISH_DATA."
        )
    options.out.mkdir(parents=True, exist_ok=True)
    with_data = bool(options.data)
    found: dict[str, list[Row]] = {}
    for name in options.only or BENCHMARKS:
        start = perf_counter()
        print(f"{name} ...", end=" ", file=sys.stderr, flush=True)
        command = f"python benchmarks/run.py --only {name}" + " --quick" * options.quick + " --data FOLDER" * with_data
        found[command] = import_module(name).rows(quick=options.quick, data=options.data)
        print(f"{perf_counter() - start:.0f} s", file=sys.stderr)
    text = markdown(found)
    for peer in PEERS:
        try:
            import_module(peer)
        except ImportError as error:
            text += f"\n{peer} is not compared: it is not installed, or does not run here ({error}).\n"
    (options.out / "benchmarks.md").write_text(text)
    (options.out / "benchmarks.json").write_text(as_json(found))
    picture(found, options.out / "benchmarks.svg")
    print(text)
    if not options.check:
        return 0
    lines, wrong = compared(found, PAGE.read_text(), MARGIN)
    print(f"{len(lines)} ratios, {len(wrong)} of them far from the page, or not on it.", *wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
