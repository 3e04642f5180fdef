"""How long ``blowfish --help`` takes beside an interpreter that does nothing but import click.

python benchmarks/startup.py [--json]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from statistics import median
from time import perf_counter

from report import NOTHING, PRICE, Row

PROGRAMS = {
    "python -c pass": "pass",
    "python -c 'import click'": "import click",
    "blowfish --help": "from blowfish_privacy.cli.main import run; run(['--help'])",
}


def seconds(program: str) -> float:
    """Time one fresh interpreter."""
    start = perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)
    return perf_counter() - start


def rows(*, quick: bool, data: str | None) -> list[Row]:
    """Report ``blowfish --help`` beside an interpreter that imports click."""
    ratios = []
    for _ in range(5 if quick else 21):
        ours, theirs = seconds(PROGRAMS["blowfish --help"]), seconds(PROGRAMS["python -c 'import click'"])
        ratios.append(ours / theirs)
    return [Row.of("seconds of `blowfish --help`", "click, importing it", NOTHING, PRICE, ratios)]


def main() -> None:
    """Interleave the programs, and print medians and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for _ in range(options.rounds):
        for name, program in PROGRAMS.items():
            times[name].append(seconds(program))
    ratios = [a / b for a, b in zip(times["blowfish --help"], times["python -c 'import click'"], strict=True)]
    found = {name: round(median(values) * 1000, 1) for name, values in times.items()}
    row = {
        **found,
        "help_over_click": round(median(ratios), 2),
        "range": [round(min(ratios), 2), round(max(ratios), 2)],
    }
    if options.json:
        print(json.dumps(row))
        return
    for name, milliseconds in found.items():
        print(f"{name:28s} {milliseconds:8.1f} ms")
    print(f"blowfish --help / importing click: {row['help_over_click']} ({row['range'][0]} to {row['range'][1]})")


if __name__ == "__main__":
    main()
