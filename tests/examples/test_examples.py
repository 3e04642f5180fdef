"""Every example runs as it stands, and what it releases is sound and about right."""

from __future__ import annotations

import csv
import io
import json
import runpy
import sys
import warnings
from contextlib import redirect_stdout
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.cli.main import run as blowfish
from blowfish_privacy.release import spec
from blowfish_privacy.release.verification import problems
from blowfish_privacy.statements.card import make_card
from blowfish_privacy.statements.card_page import markdown
from predictable import predictable_bits

EXAMPLES = Path(__file__).parents[2] / "examples"
FAR = 30
"""Noise exceeds so many times its scale with probability e^-30: no test here ever fails by chance."""


def run(name: str, folder: Path) -> str:
    """Run an example as a program, in a folder; return what it prints."""
    arguments, printed = patch.object(sys, "argv", [name, str(folder)]), io.StringIO()
    with predictable_bits("examples"), arguments, redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("default")
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    for document in folder.glob("*.release.json"):
        assert problems(document.read_text()) == [], document.name
    return printed.getvalue()


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_every_example_is_listed_and_tested():
    listed = (EXAMPLES / "README.md").read_text()
    here = Path(__file__).read_text()
    for example in EXAMPLES.iterdir():
        if example.suffix in (".py", ".ipynb", ".yaml"):
            assert f"[{example.name}]({example.name})" in listed
            assert f'"{example.name}"' in here


def test_the_policy_file_is_valid():
    assert spec.load(EXAMPLES / "census.yaml").releases


def test_a_policy_per_person(tmp_path):
    agreed = ["strict", "near", "near", "open"]
    people = [(17 + n % 74, n % 230, agreed[n % 4]) for n in range(4000)]
    lines = "\n".join(f"{age},{wage},{consent}" for age, wage, consent in people)
    (tmp_path / "people.csv").write_text(f"age,wage,consent\n{lines}\n")
    (tmp_path / "people.yaml").write_text((EXAMPLES / "consent.yaml").read_text())
    assert blowfish(["ledger", "create", str(tmp_path / "people.yaml")]) == 0
    assert blowfish(["release", str(tmp_path / "people.yaml"), "--yes", "--out", str(tmp_path)]) == 0
    exact, ages, wages = (bp.load(tmp_path / f"{name}.release.json") for name in ("consent", "ages", "wages"))
    assert exact.counts.tolist() == [1000, 2000, 1000]
    assert "NO NOISE" in exact.notices[0]
    assert ages.certificate.epsilon == Fraction(2, 5)
    # How many chose what is public, so the shown counts add up to it; the noisy ones do not.
    assert np.allclose(ages.counts.sum(axis=1), exact.counts)
    assert 0 < np.abs(ages.noisy.reshape(3, -1).sum(axis=1) - exact.counts).max() < 74 * 5 * FAR
    assert wages.range(0, 200) == 4000
    said = wages.release.policy.explain()
    assert "Where “consent” is open: “age” and “wage”: not protected at all" in said
    text = markdown(make_card((tmp_path / "wages.release.json").read_text()))
    assert "whatever “consent” tells about a person is disclosed" in text
    assert "Where “consent” is strict: every two records are a secret pair" in text


def test_census_table(tmp_path):
    out = run("census_table.py", tmp_path)
    assert "spent 0.5 of 1.0" in out
    tables = bp.load(tmp_path / "ages.release.json")
    people = rows(tmp_path / "census.csv")
    assert list(tables) == ["North", "East", "South", "West"]
    for region, table in tables.items():
        true = np.zeros((74, 2), dtype=int)
        for person in people:
            if person["region"] == region:
                true[int(person["age"]) - 17, person["sex"] == "Male"] += 1
        # Scale 2 / 0.5 = 4; 148 cells of which one may be far off.
        assert 0 < np.abs(table.counts - true).max() < 4 * FAR


def test_synthetic_census(tmp_path):
    out = run("synthetic_census.py", tmp_path)
    distances = [[float(each) for each in line.split("distance ")[1].split(", ")] for line in out.splitlines()[:2]]
    # Drawn with the same bits every time; where each attribute is secret by itself, tables are nearer to the data.
    assert all(own < full for own, full in zip(*distances, strict=True))
    assert distances[0] == sorted(distances[0])
    assert distances[0][-1] < 0.1
    people = rows(tmp_path / "people.csv")
    assert len(people) == 20_000
    assert not any(float(person["age"]) > 68 and person["work"] != "None" for person in people)
    assert bp.load(tmp_path / "people.release.json").csv() == (tmp_path / "people.csv").read_bytes()
    assert (tmp_path / "quality.png").stat().st_size > 1000


def test_survey_weights(tmp_path):
    out = run("survey_weights.py", tmp_path)
    assert "the noise is 20 times that of an answer without weights" in out
    asked = rows(tmp_path / "survey.csv")
    people = bp.load(tmp_path / "people.release.json")
    ages = people.domain["age"].encode([int(person["age"]) for person in asked])
    true = np.bincount(ages, weights=[float(person["w"]) for person in asked])
    # Scale 2 * 20 / 0.3; every weight is between 2 and 20, so nothing was clamped.
    assert 0 < np.abs(people.counts - true).max() < 133.4 * FAR
    assert np.allclose(people.counts * 10, np.rint(people.counts * 10))
    mean = float(out.split("weighted mean of the wage ")[1].split(",")[0])
    assert mean == pytest.approx(float(out.split("of all people ")[1]), abs=1)


def test_guide_pictures(tmp_path):
    # Those of the documentation, and light enough for a page.
    run("guide_pictures.py", tmp_path)
    drawn = {path.name for path in tmp_path.iterdir()}
    shown = EXAMPLES.parent / "docs" / "pictures"
    assert "readme.svg" in drawn
    assert all((shown / name).stat().st_size < 160_000 for name in drawn)


def test_location_grid(tmp_path):
    out = run("location_grid.py", tmp_path)
    assert "NO NOISE" in out
    assert "spent 0.5" in out
    exact, noisy = (bp.load(tmp_path / f"{name}.release.json") for name in ("quarters", "blocks"))
    assert exact.values.sum() == 30_000
    blocks = noisy.counts.reshape(4, 8, 4, 8).sum(axis=(1, 3)).reshape(-1)
    assert blocks == pytest.approx(exact.values)
    before, after = (float(part.split(":")[-1].split(",")[0]) for part in out.splitlines()[-1].split(", "))
    # About 3.1 against 4.0, means over 1,024 cells with a standard deviation of about 0.12 each: they never swap.
    assert after < before
    assert np.loadtxt(tmp_path / "map.csv", delimiter=",").sum() == 30_000


def test_salary_cdf(tmp_path):
    out = run("salary_cdf.py", tmp_path)
    errors = [float(line.split()[-1]) for line in out.splitlines()[1:5]]
    assert errors == sorted(errors)
    assert errors[0] < errors[-1] / 2
    released = bp.load(tmp_path / "salaries.release.json")
    true = np.array([min(int(row["salary"]), 500) for row in rows(tmp_path / "salaries.csv")])
    counts = np.searchsorted(np.sort(true), np.arange(501), side="right")
    assert np.abs(released.cumulative - counts).max() < FAR * released.error().guaranteed.rmse
    assert (tmp_path / "errors.png").stat().st_size > 1000


def test_known_marginals(tmp_path):
    out = run("known_marginals.py", tmp_path)
    assert [line.split()[-1] for line in out.splitlines() if line.startswith("if ")] == ["2", "4", "16"]
    released = bp.load(tmp_path / "table.release.json")
    assert released.release.mechanism.scale == 8
    true = np.zeros((5, 2, 4), dtype=int)
    for person in rows(tmp_path / "census.csv"):
        true[
            released.release.policy.domain.cell(
                {"age": int(person["age"]), "sex": person["sex"], "region": person["region"]}
            )
        ] += 1
    assert 0 < np.abs(released.counts - true).max() < 8 * FAR


def test_colours(tmp_path):
    out = run("colours.py", tmp_path)
    centres = bp.load(tmp_path / "within 32.release.json").centers
    palette = np.array([(200, 60, 50), (60, 140, 70), (40, 60, 150), (230, 220, 200)])
    distances = np.abs(centres[:, None, :] - palette[None, :, :]).max(axis=2)
    # Noise of scale 20 on clusters of 5,000 moves a centre by a few units; colours are more than 80 apart.
    assert sorted(distances.argmin(axis=1)) == [0, 1, 2, 3]
    assert distances.min(axis=1).max() < 30
    assert out.count("at no cost") == 2


def test_the_notebook_runs_from_top_to_bottom(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((EXAMPLES / "session.ipynb").read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells), "save it without outputs"
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    names: dict[str, object] = {"__name__": "__main__"}
    for cell in cells:
        exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    assert "# Privacy statement: “wages”" in capsys.readouterr().out
    assert names["session"].remaining < 1
