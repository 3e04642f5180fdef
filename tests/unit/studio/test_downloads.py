"""The files that a page hands over are those that the command line writes."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp
from xml.etree import ElementTree

import pytest

import blowfish_privacy as bp
from blowfish_privacy.cli.main import run
from blowfish_privacy.errors import DataError
from blowfish_privacy.ledger import create_ledger, open_ledger
from blowfish_privacy.results import load
from blowfish_privacy.results.pictures.figure import drawn_from
from blowfish_privacy.session import load_policy
from blowfish_privacy.studio import publishing as module
from blowfish_privacy.studio.publishing import LedgerHistory, downloads
from people import people_file, write_people

FILE = people_file(
    "name: ages, histogram: age, epsilon: 0.5",
    "name: mean ages, mean: age, by: sex, epsilon: 0.25",
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_people(tmp_path)
    (tmp_path / "people.yaml").write_text(FILE)
    create_ledger(tmp_path / "people.ledger", budget=Fraction(1))
    monkeypatch.chdir(tmp_path)
    assert run(["release", "people.yaml", "--yes", "--svg", "--pdf"]) == 0
    return tmp_path


@pytest.mark.parametrize("name", ["ages", "mean ages"])
def test_files_are_those_of_the_command_line(folder, name):
    made = {each.name: each for each in downloads(load(folder / f"{name}.release.json"))}
    ends = (".release.json", ".csv", ".svg", ".pdf", ".png", ".card.html", ".card.md")
    assert list(made) == [f"{name}{end}" for end in ends]
    for end in (".release.json", ".csv", ".svg", ".pdf", ".png"):
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


def test_releases_of_one_name_are_files_of_their_own_and_one_page_states_all(folder):
    file = folder / "people.yaml"
    file.write_text(FILE.replace("histogram: age, epsilon: 0.5", "histogram: age, epsilon: 0.25"))
    assert run(["release", str(file), "--yes", "--only", "ages", "--out", str(folder)]) == 0
    told = LedgerHistory.of(open_ledger(folder / "people.ledger", load_policy=load_policy))
    for row, name in zip(told.rows[::2], ("ages-2.release.json", "ages.release.json"), strict=True):
        document = told.again(row).files[0]
        assert document.name == name
        assert document.content() == (folder / name).read_bytes()
    page, text = (each.content().decode() for each in told.statements)
    assert page.startswith("<!doctype html>")
    sure = ceil(100 / (1 + exp(-float(told.ledger.spent))))
    assert f"at most {sure} % sure by reading all of them" in text
