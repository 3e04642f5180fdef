"""The files that a page hands over are those that the command line writes."""

from __future__ import annotations

from fractions import Fraction
from xml.etree import ElementTree

import pytest

import blowfish_privacy as bp
from blowfish_privacy.cli.main import run
from blowfish_privacy.errors import DataError
from blowfish_privacy.ledger import create_ledger
from blowfish_privacy.results import load
from blowfish_privacy.results.pictures.figure import drawn_from
from blowfish_privacy.studio import downloads as module
from blowfish_privacy.studio.downloads import downloads

FILE = """
version: 1
data: people.csv
ledger: people.ledger
budget: 1.0
policy:
  domain:
    age: {integer: [0, 9]}
    sex: {categorical: [Female, Male]}
  secrets: {per_attribute: {age: {threshold: 2}, sex: full}}
releases:
  - {name: ages, histogram: age, epsilon: 0.5}
  - {name: mean ages, mean: age, by: sex, epsilon: 0.25}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rows = (f"{i % 10},{'Female' if i % 3 else 'Male'}\n" for i in range(60))
    (tmp_path / "people.csv").write_text("age,sex\n" + "".join(rows))
    (tmp_path / "people.yaml").write_text(FILE)
    create_ledger(tmp_path / "people.ledger", budget=Fraction(1))
    monkeypatch.chdir(tmp_path)
    assert run(["release", "people.yaml", "--yes"]) == 0
    return tmp_path


@pytest.mark.parametrize("name", ["ages", "mean ages"])
def test_files_are_those_of_the_command_line(folder, name):
    made = {each.name: each for each in downloads(load(folder / f"{name}.release.json"))}
    assert list(made) == [f"{name}{end}" for end in (".release.json", ".csv", ".svg", ".png", ".card.html", ".card.md")]
    for end in (".release.json", ".csv", ".png"):
        assert made[f"{name}{end}"].content() == (folder / f"{name}{end}").read_bytes()
    assert run(["card", f"{name}.release.json", "-o", "card.html"]) == 0
    assert made[f"{name}.card.html"].content() == (folder / "card.html").read_bytes()
    assert run(["card", f"{name}.release.json", "-o", "card.md"]) == 0
    assert made[f"{name}.card.md"].content() == (folder / "card.md").read_bytes()


def test_a_picture_in_svg_says_what_it_was_drawn_from(folder):
    result = load(folder / "ages.release.json")
    content = result.svg()
    assert ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"Drawn from the blowfish-privacy release document with SHA-256" in content
    assert drawn_from(result.text, result.png())


def test_what_is_too_large_for_a_page_is_left_to_the_command_line(folder, monkeypatch):
    monkeypatch.setattr(module, "_LARGEST", 10)
    with pytest.raises(DataError, match="too large for a page"):
        downloads(bp.load(folder / "ages.release.json"))[0].content()
