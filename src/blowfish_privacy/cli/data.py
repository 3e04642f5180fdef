"""``blowfish data check``: for the custodian, never part of a release."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from blowfish_privacy.cli.output import as_json, file_argument, load_file, print_json, print_table
from blowfish_privacy.cli.terminal import echo, warn
from blowfish_privacy.engines import located, open_engine
from blowfish_privacy.engines.check import DataCheck
from blowfish_privacy.errors import SpecError
from blowfish_privacy.policies.agreement import contradicted


@click.group()
def data() -> None:
    """Check the data against the declared domain. For the custodian only."""


@data.command()
@file_argument
@as_json
def check(file: str, as_json: bool) -> int:  # noqa: FBT001
    """Count the rows that FILE's domain does not cover. The counts are exact: do not publish them."""
    loaded = load_file(file)
    if loaded.data is None:
        raise SpecError("the file names no data.", hint="add data: table.csv.")
    engine, policy = open_engine(located(loaded.data, Path(file).parent)), loaded.policy
    report = engine.check(policy.domain)
    # Rows outside the domain are counted nowhere, so facts are compared only where all rows fit.
    sound = {column.name for column in report.columns if column.fits}
    wrong = [*contradicted(policy, lambda names: engine.counts(policy.domain, names), sound)]
    fits = report.fits and not wrong
    if as_json:
        said = [fact.words(policy.domain) for fact in wrong]
        print_json({**asdict(report), "contradicted_facts": said, "fits": fits})
    else:
        header = ["column", "there", "type fits", "missing", "outside", "malformed"]
        rows = [
            [c.name, _yes(c.present), _yes(c.type_fits), *(_count(n) for n in (c.missing, c.outside, c.malformed))]
            for c in report.columns
        ]
        print_table(header, rows)
        echo(f"{report.rows:,} rows. {_fit(report)}")
        for fact in wrong:
            echo(f"The data contradict a known fact: {fact.words(policy.domain)}.")
    warn("these are exact counts of private rows. They are for the data's custodian; do not publish them.")
    return 0 if fits else 5


def _fit(report: DataCheck) -> str:
    if not report.fits:
        return "Not all fit: see above."
    clamped = sum(column.outside or 0 for column in report.columns)
    missing = sum(column.missing or 0 for column in report.columns)
    said = [
        *([f"{_values(clamped)} outside will be clamped"] if clamped else []),
        *([f"{_values(missing)} missing will count as declared"] if missing else []),
    ]
    return "; ".join(["All fit", *said]) + "."


def _values(number: int) -> str:
    return f"{number:,} value{'s' if number != 1 else ''}"


def _yes(answer: bool) -> str:  # noqa: FBT001
    return "yes" if answer else "NO"


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"
