"""Names and categories written by an enemy, on their way to terminals, pages and spreadsheets."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import blowfish_privacy as bp
from blowfish_privacy.cli.main import run
from blowfish_privacy.support import files, yaml_text
from blowfish_privacy.support.text import printable

TITLE = "\x1b]0;owned\x07"
ENEMIES = [TITLE, "\x1b[2J\x1b[8m", "\x9b31m", "\x08\x08\x7f", "\u202eevil\u2066", "a\rError: b", "\u2028c"]


def attribute(hostile: str) -> str:
    """Names of attributes must be printable; categories are whatever the data hold."""
    return hostile if hostile.isprintable() else "g"


def project(folder: Path, hostile: str) -> Path:
    """A folder with a table and a policy file that say the string wherever they may."""
    name = attribute(hostile)
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[name, "n"], [hostile, 1], ["plain", 0], [hostile, 2]])
    whole = {
        "version": 1, "data": "t.csv", "ledger": "a.ledger", "budget": 1,
        "policy": {
            "domain": {name: {"categorical": [hostile, "plain"], "missing": hostile}, "n": {"integer": [0, 2]}},
            "secrets": {"per_attribute": {name: "public", "n": "full"}},
            "known": [{"count": {name: hostile}, "equals": 2}],
        },
        "releases": [
            {"name": "r", "histogram": [name, "n"], "epsilon": "0.5"},
            {"name": "s", "histogram": [name], "epsilon": "0.25"},
        ],
    }  # fmt: skip
    file = folder / "p.yaml"
    file.write_text(yaml_text.write(whole), encoding="utf-8")
    assert run(["ledger", "create", str(file)]) == 0
    return file


def commands(file: Path, hostile: str) -> list[list[str]]:
    out = file.parent / "out"
    name = attribute(hostile)
    pair = [json.dumps({name: hostile}), json.dumps({name: "plain"})]
    wrong = [json.dumps({name: f"{hostile}x"}), json.dumps({f"{hostile}x": "plain"})]
    return [
        ["policy", "check", str(file)],
        ["policy", "explain", str(file)],
        ["policy", "explain", str(file), "--pair", *pair],
        ["policy", "explain", str(file), "--pair", *wrong],
        ["policy", "explain", str(file), "--json"],
        ["data", "check", str(file)],
        ["plan", str(file), "--explain"],
        ["release", str(file), "--yes", "--out", str(out)],
        ["ledger", "show", str(file.parent / "a.ledger")],
        ["verify", str(out / "r.release.json")],
        *(["card", str(out / f"{name}.release.json"), *form] for name in "rs" for form in ([], ["--format", "html"])),
        ["card", str(out / "r.release.json"), "--json"],
    ]


@pytest.mark.parametrize("hostile", ENEMIES, ids=ascii)
def test_no_name_commands_a_terminal(tmp_path: Path, hostile: str, capfd: pytest.CaptureFixture[str]) -> None:
    file = project(tmp_path, hostile)
    for arguments in commands(file, hostile):
        code = run(arguments)
        said = "".join(capfd.readouterr())
        assert code in (0, 2), (arguments, said)
        commanding = {c for c in said if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs")} - {"\n"}
        assert not commanding, (arguments, said)


@pytest.mark.parametrize("ending", ["md", "html"])
def test_no_name_is_more_than_text_on_a_card(tmp_path: Path, ending: str) -> None:
    hostile = f"<script>alert(1)</script>{TITLE}"
    file = project(tmp_path, hostile)
    assert run(["release", str(file), "--yes", "--out", str(tmp_path)]) == 0
    card = tmp_path / f"card.{ending}"
    assert run(["card", str(tmp_path / "r.release.json"), "-o", str(card)]) == 0
    text = card.read_text()
    assert "<script" not in text
    assert not {c for c in text if unicodedata.category(c) == "Cc"} - {"\n"}


def test_escapes_tell_which_character_it_was() -> None:
    assert printable("\x1b[31mred\u202e\n\ud800 Ünï “x”") == "\\x1b[31mred\\u202e\n\\ud800 Ünï “x”"


def blowfish(
    folder: Path, *arguments: str, stdout: Any = subprocess.PIPE, stderr: Any = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "blowfish_privacy.cli", *arguments], cwd=folder, env={**os.environ, **environment},
        stdout=stdout, stderr=stderr, check=False, encoding="latin-1",
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_terminal_that_lacks_characters_shows_what_it_can(tmp_path: Path, encoding: str) -> None:
    file = project(tmp_path, "Żółć “x” 一")
    some = ("--pair", "plan", "release", "html")
    for arguments in [each for each in commands(file, "Żółć “x” 一") if set(some) & set(each)]:
        done = blowfish(tmp_path, *arguments, PYTHONIOENCODING=encoding)
        assert done.returncode in (0, 2), done.stderr
        assert "Traceback" not in done.stderr
        if "--json" in arguments:
            json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_an_output_that_is_full_is_an_error_of_ours(tmp_path: Path) -> None:
    file = project(tmp_path, "x")
    release = ["release", str(file), "--yes"]
    for arguments in [["--help"], ["plan", str(file)], release, ["verify", "r.release.json"]]:
        with open("/dev/full", "w") as full:
            done = blowfish(tmp_path, *arguments, stdout=full)
        assert done.stderr.splitlines()[-2] == "Error: the output cannot be written: No space left on device."
        assert done.returncode == 5
        assert "Traceback" not in done.stderr
    assert (tmp_path / "r.csv").exists()
    with open("/dev/full", "w") as full:
        assert blowfish(tmp_path, "verify", "r.release.json", stdout=full, stderr=full).returncode == 5


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\rx", "\nx", "\uff1d1", "'quoted", "''"]
PLAIN = ["-3", "+4", "-0.5", "1e-9", "-1.5e+3", "a=b", "", "it's", "[-5, 0)"]


def test_no_cell_is_a_formula_and_every_text_comes_back() -> None:
    rows: list[list[Any]] = [[text, -3, -0.5, None] for text in [*FORMULAS, *PLAIN]]
    table = files.csv_table(["=header", "n", "x", ""], rows).decode()
    header, *read = csv.reader(io.StringIO(table, newline=""))
    assert header[0] == "'=header"
    assert [row[0] for row in read] == [*(f"'{text}" for text in FORMULAS), *PLAIN]
    assert {tuple(row[1:]) for row in read} == {("-3", "-0.5", "")}
    assert [row[0].removeprefix("'") for row in read] == [*FORMULAS, *PLAIN]


def test_tables_of_results_hold_no_formulas(tmp_path: Path) -> None:
    domain = bp.Domain({"=name": bp.Categorical(FORMULAS), "n": bp.Integer(-1, 1)})
    session = bp.Session(bp.Counts([[1, 2, 3]] * len(FORMULAS)), bp.Policy(domain, secrets=bp.FullDomain()), budget=9)
    released = session.release(bp.Histogram("=name", "n"), epsilon=1)
    released.to_csv(tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header[0] == "'=name"
    assert {row[0].removeprefix("'") for row in rows} == set(FORMULAS)
    assert {row[1] for row in rows} == {"-1", "0", "1"}
    assert list(released.to_frame()["=name"].unique()) == FORMULAS
