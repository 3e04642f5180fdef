"""Numbers that people read have the digits they deserve, in everything that is said of the demonstration's file."""

from __future__ import annotations

import csv
import json
import re
from fractions import Fraction
from math import log10
from pathlib import Path

import pytest

from blowfish_privacy.cli.demo import POLICY, make_census
from blowfish_privacy.cli.main import run
from blowfish_privacy.release import document, reading, verification
from blowfish_privacy.release.spec import load as load_file
from blowfish_privacy.results import load
from blowfish_privacy.session import Session

NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w-])")
FRACTION = re.compile(r"(?<![\w./])(\d+)/(\d+)(?![\w/])")
# Thirds have no last digit; the mean has an epsilon that is solved for, and a third is lost on some attributes only.
RELEASES = """releases:
  - {name: ages, histogram: [age, sex], epsilon: 1/7}
  - {name: wages, cumulative: wage, epsilon: 1/3}
  - {name: mean wage, mean: wage, error: 0.05}
  - {name: wage by sex, mean: wage, by: [sex], epsilon: 1/30}
  - {name: tables, tables: {ways: 2, of: [age, sex, school]}, epsilon: 0.31415926}
  - {name: regions, histogram: region, epsilon: 0.1}
"""
NAMES = ("ages", "wages", "mean wage", "wage by sex", "tables", "regions")


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demonstration's table and policy, with releases whose amounts need many digits."""
    folder = tmp_path_factory.mktemp("census")
    file = make_census(folder)
    file.write_text(POLICY[: POLICY.index("releases:")] + RELEASES)
    assert run(["ledger", "create", str(file)]) == 0
    assert run(["release", str(file), "--yes", "--out", str(folder)]) == 0
    return folder


def too_long(text: str) -> list[str]:
    """Find numbers with more than seven significant digits, and fractions with more than three on either side."""
    numbers = [found.group() for found in NUMBER.finditer(text)]
    long = [number for number in numbers if len(re.sub(r"[.,]", "", number).strip("0")) > 7]
    return long + [found.group() for found in FRACTION.finditer(text) if max(map(len, found.groups())) > 3]


def test_long_numbers_are_found() -> None:
    assert too_long("epsilon 943/5000, mean 40.411633430244464, balance 0.79824751") == [
        "40.411633430244464",
        "0.79824751",
        "943/5000",
    ]
    assert not too_long(
        "(0.3334, f0797c01cc99)-Blowfish, 1/3, 20,000 rows, 2026-11-18T02:24:35, 22,846,464 cells"[:-18]
    )


def test_the_command_line_writes_no_long_number(census: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(census / "census.yaml")
    shown = [
        *(["plan", file, "--explain"], ["policy", "explain", file], ["ledger", "show", str(census / "census.ledger")]),
        ["policy", "explain", file, "--pair", '{"age": 17}', '{"age": 90}'],
        ["ledger", "show", str(census / "census.ledger"), "--pair", '{"age": 30}', '{"age": 31}'],
        *(["verify", str(census / f"{name}.release.json")] for name in NAMES),
        *(["card", str(census / f"{name}.release.json")] for name in NAMES),
        ["release", file, "--out", str(census)],
    ]
    capsys.readouterr()
    for command in shown:
        assert run(command) == 0
        out, err = capsys.readouterr()
        said = re.sub(r"[0-9a-f]{12,64}|22,846,464", "", out + err)
        assert not too_long(said), command


def test_what_is_printed_of_objects_has_one_short_line(census: Path) -> None:
    loaded = load_file(census / "census.yaml")
    session = Session(str(census / "census.csv"), loaded.policy, budget="1/3")
    plan = session.plan(loaded.releases[0].query, epsilon="1/7")
    objects = [session, session.ledger, plan, plan.certificate, plan.expected_error()]
    results = [load(census / f"{name}.release.json") for name in NAMES]
    results += [results[3]["Female"], results[0].release, results[0].error()]
    for each in (*objects, *results):
        assert "\n" not in repr(each)
        assert len(repr(each)) < 200
        assert not too_long(repr(each))
    assert re.fullmatch(r"<NumberResult 'mean wage': \d\d\.\d\d ± 0\.05; \(0\.0283, .*>", repr(results[2]))
    assert repr(plan).startswith("<Plan 'release': histogram of age, sex; laplace, epsilon 0.1429; typical error 1")
    assert isinstance(results[2].value, float)


@pytest.mark.parametrize("name", NAMES)
def test_columns_of_numbers_have_digits_that_mean_something(census: Path, name: str) -> None:
    rows = [*csv.DictReader((census / f"{name}.csv").open())]
    for row in rows[:50]:
        error = float(row["typical_error"])
        assert len(row["typical_error"].replace(".", "").strip("0")) <= 4
        for column in ("count", "cumulative", "value"):
            decimals = row.get(column, "0").partition(".")[2]
            assert not error or len(decimals) <= max(1, 3 - log10(error) + 1), row
            assert error or decimals in ("", "0")


def test_sums_of_rounded_counts_agree_up_to_the_rounding(census: Path) -> None:
    tables: dict[str, float] = {}
    for row in csv.DictReader((census / "tables.csv").open()):
        tables[row["table"]] = tables.get(row["table"], 0.0) + float(row["count"])
    assert len(tables) == 3
    # Half a unit of the last digit in each of at most 444 cells.
    assert all(abs(total - 20_000) <= 444 * 0.05 for total in tables.values())


def test_a_guarantee_states_no_less_than_is_lost(census: Path) -> None:
    for name in NAMES:
        body = json.loads((census / f"{name}.release.json").read_text())
        stated = re.match(r"\(([\d.]+), ", body["guarantee"]["statement"])
        exact = Fraction(body["guarantee"]["epsilon"])
        assert exact == 0 if stated is None else exact <= Fraction(stated.group(1)) <= exact * Fraction(1001, 1000)


@pytest.mark.parametrize("name", ["ages", "wage by sex"])
def test_documents_that_write_out_every_digit_still_verify(census: Path, name: str) -> None:
    body = reading.parse((census / f"{name}.release.json").read_text())
    for part in (body, *body.get("groups", {}).get("parts", [])):
        rounded, amount = part["guarantee"]["statement"], part["guarantee"]["epsilon"]
        part["guarantee"]["statement"] = re.sub(r"^\([\d.]+,", f"({amount},", rounded)
        assert "/" in part["guarantee"]["statement"]
    text = document.dumps(body)
    assert verification.problems(text) == []
    assert reading.upgraded(reading.parse(text))["guarantee"]["statement"] == rounded
    body["guarantee"]["statement"] = body["guarantee"]["statement"].replace("(1/", "(1/1")
    assert any("guarantee" in problem or "prove" in problem for problem in verification.problems(document.dumps(body)))
