"""Synthetic records from the command line: made, compared with the data, and stated on a card."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from blowfish_privacy.cli.main import run

FILE = """
version: 1
data: people.csv
ledger: people.ledger
budget: {rho: 0.05}
policy:
  domain: {age: {integer: [0, 9]}, sex: {categorical: [F, M]}, status: {categorical: [single, married]}}
  secrets: attributes
releases:
  - name: made up
    synthetic: [age, sex, status]
    workload: 2
    impossible: [{age: [0, 2], status: [married]}]
    rho: 0.02
  - {name: ages, histogram: [age], rho: 0.001}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("synthetic")
    generator = np.random.default_rng(2)
    age = generator.integers(0, 10, 900)
    married = (age > 2) & (generator.random(900) < 0.6)
    sex = generator.choice(["F", "M"], 900)
    table = pd.DataFrame({"age": age, "sex": sex, "status": np.where(married, "married", "single")})
    table.to_csv(path / "people.csv", index=False)
    (path / "p.yaml").write_text(FILE)
    assert run(["ledger", "create", str(path / "p.yaml")]) == 0
    assert run(["release", str(path / "p.yaml"), "--yes", "--parquet", "--out", str(path / "out")]) == 0
    return path


def test_a_release_writes_records_and_a_picture(folder):
    out = folder / "out"
    made = pd.read_csv(out / "made up.csv")
    assert list(made.columns) == ["age", "sex", "status"]
    assert len(made) == 900
    assert not ((made["age"] <= 2) & (made["status"] == "married")).any()
    assert (out / "made up.png").read_bytes().startswith(b"\x89PNG")
    assert pd.read_parquet(out / "made up.parquet").astype(str).equals(made.astype(str))
    assert run(["verify", str(out / "made up.release.json")]) == 0


def test_again_it_is_the_same_and_costs_nothing(folder, capsys):
    before = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    assert run(["release", str(folder / "p.yaml"), "--yes", "--parquet", "--out", str(folder / "out")]) == 0
    assert "nothing was spent" in capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in (folder / "out").iterdir()} == before


def test_a_plan_says_what_it_is(folder, capsys):
    assert run(["plan", str(folder / "p.yaml"), "--explain"]) == 0
    assert "synthetic records of age, sex, status" in capsys.readouterr().out


def test_the_custodian_compares_with_the_data(folder, capsys):
    document = str(folder / "out" / "made up.release.json")
    assert run(["data", "compare", str(folder / "p.yaml"), document]) == 0
    said = capsys.readouterr()
    assert "3 attributes" in said.out
    assert "do not publish" in said.err
    assert run(["data", "compare", str(folder / "p.yaml"), document, "--json"]) == 0
    view = json.loads(capsys.readouterr().out)
    assert set(view["ways"]) == {"1", "2", "3"}
    assert len(view["tables"]) == 3 + 3 + 1
    assert "do not publish" in view["not_for_publication"]
    assert run(["ledger", "show", str(folder / "people.ledger")]) == 0


@pytest.mark.parametrize(
    ("document", "said"), [("ages.release.json", "no synthetic records"), ("none.json", "cannot be read")]
)
def test_other_documents_are_not_compared(folder, capsys, document, said):
    assert run(["data", "compare", str(folder / "p.yaml"), str(folder / "out" / document)]) == 2
    assert said in capsys.readouterr().err


def test_another_domain_is_not_compared(folder, capsys):
    other = FILE.replace("[0, 9]", "[0, 10]")
    (folder / "other.yaml").write_text(other)
    document = str(folder / "out" / "made up.release.json")
    assert run(["data", "compare", str(folder / "other.yaml"), document]) == 2
    assert "different domain" in capsys.readouterr().err


def test_a_card_says_what_they_are_not(folder, capsys):
    assert run(["card", str(folder / "out" / "made up.release.json")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "None stands for a person" in said
    assert "Rare combinations" in said
