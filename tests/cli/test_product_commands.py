"""One statement and one verification for all releases of a file or a ledger, as a user would make them."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest

import blowfish_privacy as bp
from blowfish_privacy.cli.main import run
from blowfish_privacy.statements.card_page import markdown
from people import people_file, write_people

FILE = people_file(
    "name: all ages, histogram: [age, sex], epsilon: 0.25",
    "name: mean age, mean: age, epsilon: 0.25",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with two releases, which no test changes."""
    folder = tmp_path_factory.mktemp("product")
    write_people(folder)
    (folder / "people.yaml").write_text(FILE)
    assert run(["ledger", "create", str(folder / "people.yaml")]) == 0
    assert run(["release", str(folder / "people.yaml"), "--yes", "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A copy of it for a test of its own, in which commands run."""
    for path in made.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    os.chmod("people.ledger", 0o600)
    assert run(["ledger", "moved", "people.ledger"]) == 0
    return tmp_path


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.images, self.tags, self.text = [], [], set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.tags.add(tag)
        self.links += [unquote(named["href"])] if "href" in named else []
        self.images += [named["src"]] if tag == "img" else []

    def handle_data(self, data):
        self.text += data


def test_a_file_and_its_ledger_give_the_same_index_page(folder, capsys):
    capsys.readouterr()
    assert run(["card", "people.yaml", "--publisher", "The Office", "-o", "index.html"]) == 0
    index = Page((folder / "index.html").read_text())
    stems = ("all ages", "mean age")
    assert sorted(index.links) == sorted(f"{stem}.{end}" for stem in stems for end in ("release.json", "csv", "png"))
    assert all((folder / link).is_file() for link in index.links)
    assert len(index.images) == 2
    assert all(source.startswith("data:image/svg+xml;base64,") for source in index.images)
    assert "script" not in index.tags
    text = (folder / "index.html").read_text()
    assert not re.search(r"https?://|url\(|@import", re.sub(r"data:[^\"]*", "", text))
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in text
    # 0.25 + 0.25 on age, 0.25 on sex: e^0.5 means 63 in 100, where each card says 57.
    assert "can become at most 63 % sure by reading all of them" in index.text
    # Again it replaces itself, and nothing else.
    assert run(["card", "people.ledger", "--title", "people", "--publisher", "The Office", "-o", "index.html"]) == 0
    assert Page((folder / "index.html").read_text()).text == index.text
    before = (folder / "people.ledger").read_bytes()
    for target in ("people.ledger", "people.yaml", "people.csv"):
        assert run(["card", "people.yaml", "-o", target]) == 2
    assert (folder / "people.ledger").read_bytes() == before


def test_the_numbers_are_those_of_the_ledger(folder, capsys):
    capsys.readouterr()
    assert run(["card", "people.yaml", "--json"]) == 0
    view = json.loads(capsys.readouterr().out)
    assert run(["ledger", "show", "people.ledger", "--json"]) == 0
    ledger = json.loads(capsys.readouterr().out)
    assert {name: each["lost"] for name, each in view["balances"].items()} == ledger["balances"]
    total = sum(map(Fraction, ledger["balances"].values()))
    assert Fraction(view["whole_record"]["lost"]) == total == Fraction(3, 4)
    assert [each["files"][0] for each in view["releases"]] == ["all ages.release.json", "mean age.release.json"]
    assert view["registry"]["model"]["release_type"] == "2 releases together"
    assert all(value for group in view["registry"].values() for name, value in group.items() if name != "data_curators")
    assert run(["verify", "people.ledger", "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert checked["ok"]
    assert checked["balances"] == checked["proved"] == ledger["balances"]


@pytest.mark.parametrize("named", ["people.yaml", "mean age.release.json"])
def test_the_form_of_a_card_follows_the_ending_of_its_file(named, folder, capsys):
    capsys.readouterr()
    assert run(["card", named, "--json"]) == 0
    printed = capsys.readouterr().out
    # Again it replaces itself.
    for options in ([], ["--json"], []):
        assert run(["card", named, *options, "-o", "card.json"]) == 0
        assert (folder / "card.json").read_text() == printed
    assert capsys.readouterr().out == ""
    for ending, start in (("html", "<!doctype html>"), ("HTM", "<!doctype html>"), ("md", "# Privacy statement")):
        assert run(["card", named, "-o", f"card.{ending}"]) == 0
        assert (folder / f"card.{ending}").read_text().startswith(start)
    for other in ("card.pdf", "card"):
        assert run(["card", named, "-o", other]) == 2
        assert "use a name that ends in .html, .md or .json" in capsys.readouterr().err
        assert not (folder / other).exists()
    (folder / "mine.json").write_text('{"mine": 1}')
    assert run(["card", named, "-o", "mine.json"]) == 2
    assert (folder / "mine.json").read_text() == '{"mine": 1}'


def test_no_field_of_the_registry_speaks_of_a_table_that_is_not_there(folder, capsys):
    capsys.readouterr()
    assert run(["card", "people.yaml", "--json"]) == 0
    view = json.loads(capsys.readouterr().out)
    said = view["registry"]["privacy_loss"]["privacy_parameters_description"]
    assert "table above" not in json.dumps(view["registry"])
    assert "Secret pairs that change “age”: lost (epsilon) 0.5, factor 1.65, at most sure 63 %." in said
    (table,) = (section["table"] for section in view["sections"] if "table" in section)
    assert table["rows"][0] == ["“age”", "0.5", "1.65", "63 %"]


def test_what_the_file_no_longer_names_counts_and_what_it_names_newly_is_waited_for(folder, capsys):
    later = FILE.replace("name: mean age, mean: age", "name: sexes, histogram: sex")
    (folder / "people.yaml").write_text(later)
    capsys.readouterr()
    assert run(["card", "people.yaml"]) == 0
    captured = capsys.readouterr()
    assert "“mean age”" in captured.out
    assert "Not released yet, so not in this: sexes." in captured.err
    assert "one more release than the file" in captured.err


def test_what_was_released_again_with_another_epsilon_counts_as_a_release_of_its_own(folder, capsys):
    (folder / "people.yaml").write_text(FILE.replace("epsilon: 0.25", "epsilon: 0.2"))
    assert run(["release", "people.yaml", "--yes", "--out", "again"]) == 0
    capsys.readouterr()
    assert run(["verify", "people.yaml"]) == 0
    captured = capsys.readouterr()
    assert "4 entries and 4 documents" in captured.out
    assert "The ledger holds 2 more releases than the file as it is now" in captured.err
    assert "Not released yet" not in captured.err


def test_a_reader_of_an_exact_release_is_not_spoken_to_as_its_planner(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    domain = bp.Domain(age=bp.Integer(0, 9), zone=bp.Categorical(["A", "B"]))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(age=bp.FullDomain(), zone=bp.Public()))
    session = bp.Session(bp.Counts(np.ones(domain.shape, int)), policy, budget=1, ledger="it.ledger", create=True)
    made = session.release(bp.Histogram("zone"), epsilon=1, name="zones")
    assert "so it will be published exactly. If that is not what you want, change the policy." in made.notices[0]
    made.save("zones.release.json")
    for named in ("zones.release.json", "it.ledger"):
        capsys.readouterr()
        assert run(["verify", named]) == 0
        said = capsys.readouterr().out
        assert "NO NOISE: under this policy nothing in this answer about “zone” is secret, so it is published" in said
        assert "you want" not in said


def test_missing_files_are_said_to_be_missing_or_written(folder, capsys):
    before = {path.name: path.read_bytes() for path in folder.glob("mean age.*")}
    for name in before:
        (folder / name).unlink()
    (folder / "all ages.csv").write_text("annotated")
    assert run(["card", "people.yaml", "-o", "index.md"]) == 0
    text = (folder / "index.md").read_text()
    assert "Its files are not beside this page." in text
    assert "(all%20ages.png)" in text
    # Somebody's own table is none of the release's.
    assert "(all%20ages.csv)" not in text
    assert run(["card", "people.yaml", "--files", "-o", "index.md"]) == 0
    assert "not beside" not in (folder / "index.md").read_text()
    assert {path.name: path.read_bytes() for path in folder.glob("mean age.*")} == before
    assert (folder / "all ages.csv").read_text() == "annotated"
    # Each file that is missing is written, beside those that are there.
    (folder / "all ages.png").unlink()
    (folder / "mean age.release.json").unlink()
    (folder / "mean age.csv").unlink()
    capsys.readouterr()
    assert run(["card", "people.yaml", "--files", "-o", "index.md"]) == 0
    said = capsys.readouterr().err
    assert "Wrote all ages.png." in said
    assert "Wrote mean age.release.json, mean age.csv." in said
    assert "not what was released: all ages.csv." in said
    assert {path.name: path.read_bytes() for path in folder.glob("mean age.*")} == before
    text = (folder / "index.md").read_text()
    assert "(all%20ages.png)" in text
    assert "Beside this page, but not what was released: “all ages.csv”." in text
    # Without its document, nothing tells whose table that is.
    (folder / "all ages.release.json").unlink()
    assert run(["card", "people.yaml", "--files", "-o", "index.md"]) == 2
    assert "move that file away, or have the page written into another folder" in capsys.readouterr().err
    (folder / "all ages.csv").unlink()
    assert run(["card", "people.yaml", "--files", "-o", "index.md"]) == 0
    assert run(["card", "all ages.release.json", "--files"]) == 2
    assert "for all releases together" in capsys.readouterr().err


def test_verify_finds_a_document_that_was_changed(folder, capsys):
    path = folder / "mean age.release.json"
    path.write_text(path.read_text().replace('"laplace"', '"ordered"'))
    capsys.readouterr()
    assert run(["verify", "people.yaml"]) == 5
    assert "mean age.release.json was changed, or is damaged" in capsys.readouterr().out
    assert run(["verify", "people.yaml", "--json"]) == 5
    assert not json.loads(capsys.readouterr().out)["ok"]
    # It is no longer a file of the release; the statement is made from the ledger.
    assert run(["card", "people.yaml"]) == 0
    assert "(mean%20age.release.json)" not in capsys.readouterr().out


def test_verify_tells_the_documents_of_the_ledger_from_others_in_the_folder(folder, capsys):
    def verified():
        capsys.readouterr()
        code = run(["verify", "people.yaml", "--json"])
        view = json.loads(capsys.readouterr().out)
        assert view["ok"] == (code == 0)
        return code, view["problems"], view["missing"]

    ages, mean = folder / "all ages.release.json", folder / "mean age.release.json"
    texts = ages.read_bytes(), mean.read_bytes()
    assert verified() == (0, [], [])
    # What is missing can be written again, so nothing is wrong.
    ages.unlink()
    assert verified() == (0, [], ["all ages.release.json"])
    assert run(["verify", "people.yaml"]) == 0
    assert "Not in the folder .: all ages.release.json. " in capsys.readouterr().err
    # Each under the name of the other.
    ages.write_bytes(texts[1])
    mean.write_bytes(texts[0])
    code, problems, missing = verified()
    assert (code, missing) == (5, [])
    assert problems == [
        "all ages.release.json is the document of 'mean age' (entry 2), under the name of another release, 'all ages'.",
        "mean age.release.json is the document of 'all ages' (entry 1), under the name of another release, 'mean age'.",
    ]
    capsys.readouterr()
    assert run(["release", "people.yaml", "--yes"]) == 0
    assert "all ages.release.json holds another release, and is kept" in capsys.readouterr().out
    for path, text in zip((ages, mean), texts, strict=True):
        path.write_bytes(text)
    # A copy under a name of nobody is harmless.
    (folder / "copy.release.json").write_bytes(texts[0])
    (folder / "junk.release.json").write_text("{}")
    assert verified() == (5, ["junk.release.json is no release document, or a damaged one."], [])
    (folder / "junk.release.json").unlink()
    assert run(["verify", "people.yaml"]) == 0
    assert "Note: copy.release.json is the document of 'all ages' (entry 1), under another name." in (
        capsys.readouterr().err
    )


def test_verify_finds_a_document_of_another_ledger_and_a_folder_that_is_not_there(folder, capsys):
    (folder / "other.yaml").write_text(FILE.replace("people.ledger", "other.ledger").replace("0.25", "0.2"))
    assert run(["ledger", "create", "other.yaml"]) == 0
    assert run(["release", "other.yaml", "--yes", "--out", "other"]) == 0
    (folder / "other" / "mean age.release.json").rename(folder / "foreign.release.json")
    capsys.readouterr()
    assert run(["verify", "people.ledger"]) == 5
    assert "foreign.release.json was released from another ledger" in capsys.readouterr().out
    assert run(["verify", "people.ledger", "--out", "nowhere"]) == 2
    assert "there is no folder nowhere" in capsys.readouterr().err


def test_a_ledger_from_which_nothing_was_released_is_sound(folder, capsys):
    assert run(["ledger", "create", "empty.ledger", "--budget", "1"]) == 0
    os.mkdir("out")
    capsys.readouterr()
    assert run(["verify", "empty.ledger", "--out", "out"]) == 0
    assert capsys.readouterr().out == "empty.ledger is sound. Nothing was released from it yet.\n"
    assert run(["verify", "empty.ledger", "--out", "out", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "ok": True, "entries": 0, "documents": 0, "not_handed_out": 0, "spent": "0", "balances": {}, "proved": {},
        "problems": [], "missing": [],
    }  # fmt: skip
    # The folder of the other ledger is not its own.
    assert run(["verify", "empty.ledger"]) == 5
    # A charge whose data contradicted the facts is set aside.
    wrong = FILE.replace("people.ledger", "wrong.ledger")
    (folder / "wrong.yaml").write_text(
        wrong.replace("  secrets:", "  known: [{count: {sex: Male}, equals: 3}]\n  secrets:")
    )
    assert run(["ledger", "create", "wrong.yaml"]) == 0
    assert run(["release", "wrong.yaml", "--yes", "--out", "out"]) == 5
    capsys.readouterr()
    assert run(["verify", "wrong.ledger", "--out", "out"]) == 0
    assert "wrong.ledger is sound. Nothing was released from it: 1 entry is set aside" in capsys.readouterr().out


def test_a_ledger_or_a_document_that_is_not_sound_gets_no_statement(folder, capsys):
    with sqlite3.connect(folder / "people.ledger") as connection:
        for (trigger,) in connection.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            connection.execute(f'drop trigger "{trigger}"')
        connection.execute("""update documents set text = replace(text, '"epsilon": "1/4"', '"epsilon": "1/8"')""")
    capsys.readouterr()
    assert run(["verify", "people.yaml"]) == 5
    found = capsys.readouterr().out
    assert "entry 1: The content was changed" in found
    assert "the document of entry 1 was changed" in found
    assert run(["card", "people.yaml", "--files", "-o", "index.html"]) == 2
    captured = capsys.readouterr()
    assert "do not verify" in captured.err
    assert "Hint" in captured.err
    assert not (folder / "index.html").exists()


def test_what_cannot_be_opened_says_what_to_do(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    (folder / "none.yaml").write_text(FILE.replace("ledger: people.ledger", "ledger: other.ledger"))
    (folder / "bare.yaml").write_text(FILE.replace("ledger: people.ledger\nbudget: 1.0\n", ""))
    (folder / "text.ledger").write_text("no ledger")
    assert run(["ledger", "create", "empty.ledger", "--budget", "1"]) == 0
    cases = {
        "none.yaml": "blowfish ledger create none.yaml",
        "bare.yaml": "names no ledger",
        "text.ledger": "",
        "empty.ledger": "holds no release yet",
        "absent.ledger": "there is no ledger absent.ledger",
        "absent.yaml": "absent.yaml",
        "postgresql://user:CANARY@host/db?ledger=x": "password",
    }
    for command in ("card", "verify"):
        for argument, said in cases.items():
            if (command, argument) == ("verify", "empty.ledger"):
                continue
            capsys.readouterr()
            assert run([command, argument]) in (2, 5), argument
            captured = capsys.readouterr()
            assert said in captured.err
            assert "CANARY" not in captured.err
            assert captured.out == ""
    assert run(["card", "people.yaml", "-o", "absent/index.html"]) == 5
    assert "cannot be written" in capsys.readouterr().err


HOSTILE = ['"><img src=x onerror=alert(1)>', "[a](javascript:alert(1))", "x | y `z` ../../etc/passwd"]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_names_stay_text_and_are_no_paths(hostile, tmp_path, capsys):
    domain = bp.Domain({"zone": bp.Categorical([hostile, "B"]), hostile: bp.Integer(0, 3)})
    policy = bp.Policy(domain, secrets=bp.PerAttribute({"zone": bp.FullDomain(), hostile: bp.DistanceThreshold(1)}))
    where = tmp_path / "a.ledger"
    session = bp.Session(bp.Counts(np.full((2, 4), 3)), policy, budget=1, ledger=where, create=True)
    session.release(bp.Histogram("zone", hostile), epsilon="0.5", name=hostile)
    assert run(["card", str(where), "--files", "--title", hostile, "-o", str(tmp_path / "index.html")]) == 0
    index = Page((tmp_path / "index.html").read_text())
    assert hostile in index.text
    assert index.links == [f"entry 1.{ending}" for ending in ("release.json", "csv", "png")]
    assert [source[:10] for source in index.images] == ["data:image"]
    assert {path.name.split(".")[0] for path in tmp_path.iterdir()} == {"a", "index", "entry 1"}
    text = markdown(session.card(title=hostile, publisher=hostile))
    assert "<img" not in text
    assert "](java" not in text


def test_the_hint_after_a_release_names_the_page(folder, capsys):
    capsys.readouterr()
    assert run(["release", "people.yaml", "--yes", "--out", "my folder"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith("blowfish card people.yaml -o 'my folder/index.html'")
    assert Path("my folder").is_dir()


# Synthetic records from the command line: made, compared with the data, and stated on a card.


SYNTHETIC_FILE = """
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
def synthetic_folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("synthetic")
    generator = np.random.default_rng(2)
    age = generator.integers(0, 10, 900)
    married = (age > 2) & (generator.random(900) < 0.6)
    sex = generator.choice(["F", "M"], 900)
    table = pd.DataFrame({"age": age, "sex": sex, "status": np.where(married, "married", "single")})
    table.to_csv(path / "people.csv", index=False)
    (path / "p.yaml").write_text(SYNTHETIC_FILE)
    assert run(["ledger", "create", str(path / "p.yaml")]) == 0
    assert run(["release", str(path / "p.yaml"), "--yes", "--parquet", "--out", str(path / "out")]) == 0
    return path


def test_a_release_writes_records_and_a_picture(synthetic_folder):
    out = synthetic_folder / "out"
    made = pd.read_csv(out / "made up.csv")
    assert list(made.columns) == ["age", "sex", "status"]
    assert len(made) == 900
    assert not ((made["age"] <= 2) & (made["status"] == "married")).any()
    assert (out / "made up.png").read_bytes().startswith(b"\x89PNG")
    assert pd.read_parquet(out / "made up.parquet").astype(str).equals(made.astype(str))
    assert run(["verify", str(out / "made up.release.json")]) == 0


def test_again_it_is_the_same_and_costs_nothing(synthetic_folder, capsys):
    before = {path.name: path.read_bytes() for path in (synthetic_folder / "out").iterdir()}
    assert (
        run(["release", str(synthetic_folder / "p.yaml"), "--yes", "--parquet", "--out", str(synthetic_folder / "out")])
        == 0
    )
    assert "nothing was spent" in capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in (synthetic_folder / "out").iterdir()} == before


def test_a_plan_says_what_it_is(synthetic_folder, capsys):
    assert run(["plan", str(synthetic_folder / "p.yaml"), "--explain"]) == 0
    assert "synthetic records of age, sex, status" in capsys.readouterr().out


def test_the_custodian_compares_with_the_data(synthetic_folder, capsys):
    document = str(synthetic_folder / "out" / "made up.release.json")
    assert run(["data", "compare", str(synthetic_folder / "p.yaml"), document]) == 0
    said = capsys.readouterr()
    assert "3 attributes" in said.out
    assert "do not publish" in said.err
    assert run(["data", "compare", str(synthetic_folder / "p.yaml"), document, "--json"]) == 0
    view = json.loads(capsys.readouterr().out)
    assert set(view["ways"]) == {"1", "2", "3"}
    assert len(view["tables"]) == 3 + 3 + 1
    assert "do not publish" in view["not_for_publication"]
    assert run(["ledger", "show", str(synthetic_folder / "people.ledger")]) == 0


@pytest.mark.parametrize(
    ("document", "said"), [("ages.release.json", "no synthetic records"), ("none.json", "cannot be read")]
)
def test_other_documents_are_not_compared(synthetic_folder, capsys, document, said):
    assert run(["data", "compare", str(synthetic_folder / "p.yaml"), str(synthetic_folder / "out" / document)]) == 2
    assert said in capsys.readouterr().err


def test_another_domain_is_not_compared(synthetic_folder, capsys):
    other = SYNTHETIC_FILE.replace("[0, 9]", "[0, 10]")
    (synthetic_folder / "other.yaml").write_text(other)
    document = str(synthetic_folder / "out" / "made up.release.json")
    assert run(["data", "compare", str(synthetic_folder / "other.yaml"), document]) == 2
    assert "different domain" in capsys.readouterr().err


def test_a_card_says_what_they_are_not(synthetic_folder, capsys):
    assert run(["card", str(synthetic_folder / "out" / "made up.release.json")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "None stands for a person" in said
    assert "Rare combinations" in said
