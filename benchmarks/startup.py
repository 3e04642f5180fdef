"""How long commands take beside an interpreter that imports what they stand on.

``blowfish --help`` beside importing click, in seconds; what a day's work repeats on the demo's table, and on Adult in
a folder of data, beside importing DuckDB, NumPy and SciPy, in seconds of the processor. Each is run once before it is
timed, so that all have their bytecode, as installed packages do.

python benchmarks/startup.py [--json] [--rounds 5] [--data FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from report import NOTHING, PRICE, Row

CLICK = "import click"
LIBRARIES = "import duckdb, numpy, scipy"
RUN = "import sys; from blowfish_privacy.cli.main import main; main(sys.argv[1:])"
COMMANDS = {
    "plan": ("plan", "census.yaml"),
    "release again": ("release", "census.yaml", "--yes"),
    "verify a histogram": ("verify", "ages.release.json"),
    "verify a distribution": ("verify", "wages.release.json"),
    "verify a mean": ("verify", "mean wage.release.json"),
    "verify tables": ("verify", "tables.release.json"),
    "ledger show": ("ledger", "show", "census.ledger"),
    "policy explain": ("policy", "explain", "census.yaml"),
    "card": ("card", "ages.release.json"),
    "verify everything": ("verify", "census.yaml"),
    "card of everything": ("card", "census.yaml", "-o", "index.html"),
}
ADULT = """
version: 1
data: {data}
ledger: adult.ledger
budget: 2
policy:
  domain:
    age: {{integer: [17, 90]}}
    sex: {{categorical: [Female, Male]}}
    education_num: {{integer: [1, 16]}}
    hours_per_week: {{integer: [1, 99]}}
    capital_loss: {{integer: [0, 4356]}}
    income: {{categorical: ["<=50K", ">50K"]}}
  secrets:
    per_attribute:
      age: {{threshold: 5}}
      capital_loss: {{threshold: 100}}
      sex: full
      education_num: full
      hours_per_week: full
      income: full
releases:
  - {{name: ages, histogram: [age, sex], epsilon: 0.3}}
  - {{name: losses, cumulative: capital_loss, epsilon: 0.3}}
  - {{name: hours, mean: hours_per_week, error: 0.05}}
  - {{name: tables, tables: {{ways: 2, of: [age, sex, education_num, hours_per_week, income]}}, epsilon: 0.5}}
"""
ON_ADULT = {
    "Adult: plan": ("plan", "adult.yaml"),
    "Adult: release again": ("release", "adult.yaml", "--yes"),
    "Adult: verify everything": ("verify", "adult.yaml"),
    "Adult: verify a distribution": ("verify", "losses.release.json"),
}


@contextmanager
def released(data: str | None) -> Iterator[tuple[Path, Mapping[str, str]]]:
    """Make a folder where the demo, and Adult, are released and paid for, and an environment that keeps bytecode."""
    with TemporaryDirectory() as name:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = str(Path(name) / "bytecode")
        folder = Path(name) / "demo"
        run([RUN, "demo", "--out", str(folder)], Path(name), environment)
        if data is not None:
            (folder / "adult.yaml").write_text(ADULT.format(data=Path(data).resolve() / "adult.csv"))
            for arguments in (("ledger", "create", "adult.yaml"), ON_ADULT["Adult: release again"]):
                run([RUN, *arguments], folder, environment)
        yield folder, environment


def run(program: list[str], folder: Path, environment: Mapping[str, str]) -> float:
    """Run a fresh interpreter, and return how many seconds of the processor it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", *program]
    subprocess.run(command, check=True, cwd=folder, env=environment, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(rounds: int, data: str | None) -> dict[str, list[float]]:
    """Interleave all commands and the libraries' import; the first round, in which bytecode is written, is dropped."""
    commands = {**COMMANDS, **(ON_ADULT if data is not None else {})}
    programs = {LIBRARIES: [LIBRARIES], **{name: [RUN, *arguments] for name, arguments in commands.items()}}
    times: dict[str, list[float]] = {name: [] for name in programs}
    with released(data) as (folder, environment):
        for _ in range(rounds + 1):
            for name, program in programs.items():
                times[name].append(run(program, folder, environment))
    return {name: values[1:] for name, values in times.items()}


def helped(rounds: int) -> list[float]:
    """Time ``blowfish --help`` beside an interpreter that imports click."""

    def seconds(program: list[str]) -> float:
        start = perf_counter()
        subprocess.run([sys.executable, "-c", *program], check=True, stdout=subprocess.DEVNULL)
        return perf_counter() - start

    return [seconds([RUN, "--help"]) / seconds([CLICK]) for _ in range(rounds)]


def rows(*, quick: bool, data: str | None) -> list[Row]:
    """Report both."""
    found = [Row.of("seconds of `blowfish --help`", "click, importing it", NOTHING, PRICE, helped(5 if quick else 21))]
    times = measured(3 if quick else 7, data)
    for name in [*times][1:]:
        ratios = [ours / theirs for ours, theirs in zip(times[name], times[LIBRARIES], strict=True)]
        table, _, command = name.rpartition(": ")
        claim = f"processor seconds of {table or 'the demo'}: `{command}`"
        found.append(Row.of(claim, "duckdb, numpy and scipy, importing them", NOTHING, PRICE, ratios))
    return found


def main() -> None:
    """Print the median of each, and how many times the import of the libraries it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", help="a folder with adult.csv")
    options = parser.parse_args()
    times = measured(options.rounds, options.data)
    shown = {name: round(median(values), 3) for name, values in times.items()}
    if options.json:
        print(json.dumps(shown))
        return
    print("processor seconds, median of", options.rounds, "rounds; and as a multiple of importing the libraries")
    for name, seconds in shown.items():
        print(f"{name:28s} {seconds:6.2f} s {seconds / shown[LIBRARIES]:6.1f}")


if __name__ == "__main__":
    main()
