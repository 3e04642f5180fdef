"""Known facts at the command line: checked, explained, drawn, compared with the data."""

from __future__ import annotations

import json
import sqlite3

import pytest

from blowfish_privacy.cli.main import run

FILE = """
version: 1
data: people.csv
ledger: people.ledger
budget: 1.0
policy:
  domain:
    age: {integer: [0, 9]}
    sex: {categorical: [F, M]}
  secrets: attributes
  known:
    - marginal: [sex]
      counts: [3, 2]
releases:
  - {name: table, histogram: [age, sex], epsilon: 0.5}
  - {name: ages, cumulative: age, epsilon: 0.25}
"""
TABLE = "age,sex\n1,F\n2,F\n7,F\n8,M\n9,M\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "people.yaml").write_text(FILE)
    (tmp_path / "people.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def blowfish(*arguments):
    return run(list(arguments))


def test_check_says_what_facts_cost_and_draws_them(folder, capsys):
    assert blowfish("policy", "check", "people.yaml") == 0
    said = capsys.readouterr().out
    assert "sensitivity 2 becomes 4" in said
    assert "histogram of sex" in said
    assert "follows from the known facts" in said
    assert (folder / "people.facts.png").read_bytes().startswith(b"\x89PNG")


def test_the_picture_can_go_elsewhere_or_nowhere(folder, capsys):
    assert blowfish("policy", "check", "people.yaml", "--picture", "-", "--json") == 0
    assert json.loads(capsys.readouterr().out)["picture"] is None
    for _ in range(2):
        assert blowfish("policy", "check", "people.yaml", "--picture", "here.png", "--json") == 0
        assert json.loads(capsys.readouterr().out)["picture"] == "here.png"
    assert sorted(path.name for path in folder.glob("*.png")) == ["here.png"]
    (folder / "notes.png").write_text("mine")
    assert blowfish("policy", "check", "people.yaml", "--picture", "notes.png") == 2
    assert (folder / "notes.png").read_text() == "mine"


def test_explain_has_a_sentence_for_each_fact(folder, capsys):
    assert blowfish("policy", "explain", "people.yaml") == 0
    said = capsys.readouterr().out
    assert "forces a change of one person's “sex” to be balanced by other people's" in said
    assert "Together these facts" not in said


def test_releases_under_facts_are_certified_and_verify(folder, capsys):
    assert blowfish("ledger", "create", "people.yaml") == 0
    assert blowfish("release", "people.yaml", "--yes", "--out", "out") == 0
    for name in ("table", "ages"):
        assert blowfish("verify", f"out/{name}.release.json") == 0
    document = json.loads((folder / "out/table.release.json").read_text())
    assert document["guarantee"]["sensitivity"] == "4"
    assert len(document["guarantee"]["witness"][0]) == 2
    assert "is bounded differential privacy" not in json.dumps(document)


def test_a_fact_that_the_data_contradict_stops_the_release_without_a_number(folder, capsys):
    (folder / "people.yaml").write_text(FILE.replace("[3, 2]", "[4, 1]"))
    assert blowfish("ledger", "create", "people.yaml") == 0
    assert blowfish("release", "people.yaml", "--yes", "--out", "out") == 5
    said = capsys.readouterr()
    # Which of several facts is wrong would be an exact answer for each of them.
    assert "contradict a fact whose count the policy states" in said.err
    assert "“sex”" not in said.err
    for private in ("3", "2 "):
        assert private not in said.err.split("contradict")[1].replace("F: 4", "").replace("M: 1", "")
    assert list(folder.glob("out/*")) == []
    spent = sqlite3.connect(folder / "people.ledger").execute("select count(*) from entries").fetchone()[0]
    assert spent == 1


def test_the_custodian_can_compare_facts_and_data_before_spending(folder, capsys):
    assert blowfish("data", "check", "people.yaml") == 0
    (folder / "people.yaml").write_text(FILE.replace("[3, 2]", "[4, 1]"))
    assert blowfish("data", "check", "people.yaml") == 5
    assert "The data contradict a known fact: how many records have each “sex”" in capsys.readouterr().out
    assert blowfish("data", "check", "people.yaml", "--json") == 5
    assert json.loads(capsys.readouterr().out)["contradicted_facts"]
    assert not (folder / "people.ledger").exists()


def test_facts_that_disclose_everything_are_said_so_loudly(folder, capsys):
    pinned = FILE.replace("marginal: [sex]", "marginal: [age, sex]").replace("counts: [3, 2]", "")
    (folder / "people.yaml").write_text(pinned.replace("      \n", ""))
    assert blowfish("policy", "explain", "people.yaml") == 0
    assert "ALREADY DISCLOSE EVERYTHING" in capsys.readouterr().out


def test_commands_count_no_steps_through_values_that_nobody_has(folder, capsys):
    (folder / "line.yaml").write_text(
        "version: 1\npolicy:\n  domain:\n    v: {integer: [0, 2]}\n  secrets: {threshold: 1}\n"
        "  known:\n    - count: {v: 1}\n      equals: 0\n"
    )
    pair = ("--pair", '{"v": 0}', '{"v": 2}')
    assert blowfish("policy", "explain", "line.yaml", *pair, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["protected"], said["steps"]) == (False, None)
    assert blowfish("policy", "explain", "line.yaml", *pair) == 0
    assert "No promise is made for (“v” 0) and (“v” 2)" in capsys.readouterr().out
    assert blowfish("policy", "check", "line.yaml", "--picture", "-", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert not said["connected"]
    assert any("lead through values that nobody can have" in each for each in said["unprotected"])
    assert blowfish("policy", "check", "line.yaml", "--picture", "-") == 0
    assert "complete: every two values" not in capsys.readouterr().out


def test_a_fact_s_column_must_be_in_the_data_before_anything_is_charged(folder, capsys):
    (folder / "people.csv").write_text("age\n1\n2\n")
    (folder / "people.yaml").write_text(FILE.replace("  - {name: table, histogram: [age, sex], epsilon: 0.5}\n", ""))
    assert blowfish("ledger", "create", "people.yaml") == 0
    assert blowfish("release", "people.yaml", "--yes", "--out", "out") == 5
    assert "no column 'sex'" in capsys.readouterr().err
    assert sqlite3.connect(folder / "people.ledger").execute("select count(*) from entries").fetchone()[0] == 0
