"""From a policy file to a release, as a user would."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from fractions import Fraction
from math import log10
from pathlib import Path

import pytest

from blowfish_privacy.batch import Batch
from blowfish_privacy.cli.demo import POLICY, make_census
from blowfish_privacy.cli.main import run
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.ledger import Ledger
from blowfish_privacy.release import document
from blowfish_privacy.release.spec import load as load_file
from blowfish_privacy.results import load
from blowfish_privacy.session import Session
from people import FILE, people_file, write_people

CROSSING = """  known:
    - marginal: [sex]
    - count: {age: [0, 1]}
    - count: {age: [2, 3]}
    - count: {age: [4, 5]}
  secrets:"""

CANARIES = ("987654", "CANARY")


@pytest.fixture
def unopened(tmp_path):
    """A table and a policy file; the ledger that it names is not made yet."""
    write_people(tmp_path)
    (tmp_path / "people.yaml").write_text(FILE)
    return tmp_path


@pytest.fixture
def folder(unopened):
    assert blowfish(unopened, "ledger", "create", "{folder}/people.yaml") == 0
    return unopened


def blowfish(folder, *arguments):
    return run([argument.format(folder=folder) for argument in arguments])


def spent(folder, capsys):
    capsys.readouterr()
    assert blowfish(folder, "ledger", "show", "{folder}/people.ledger", "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_plan_reads_nothing_but_the_row_count_and_makes_no_ledger(unopened, capsys):
    folder = unopened
    assert blowfish(folder, "plan", "{folder}/people.yaml", "--explain") == 0
    captured = capsys.readouterr()
    assert "Together they take 0.75 of the budget of 1" in captured.out
    assert "which is public here: 60" in captured.err
    assert "before the first release, blowfish ledger create" in captured.out
    assert not (folder / "people.ledger").exists()
    assert blowfish(folder, "ledger", "create", "{folder}/people.yaml") == 0
    assert "Made the ledger people.ledger with a budget of 1." in capsys.readouterr().out
    assert blowfish(folder, "plan", "{folder}/people.yaml") == 0
    assert "ledger create" not in capsys.readouterr().out
    assert blowfish(folder, "plan", "{folder}/people.yaml", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["releases"]
    assert [row["epsilon"] for row in rows] == ["0.5", "0.25"]
    # Histogram: sensitivity 2 at epsilon 0.5 is scale 4; the mean moves by at most 2 per record.
    assert [row["scale"] for row in rows] == ["4", "8"]


def test_release_writes_everything_and_a_second_run_costs_nothing(folder, capsys):
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 0
    names = {path.name for path in (folder / "out").iterdir()}
    assert names == {f"{name}.{kind}" for name in ("ages", "mean age") for kind in ("release.json", "csv", "png")}
    first = (folder / "out/ages.release.json").read_bytes()
    assert spent(folder, capsys)["remaining"] == "1/4"
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 0
    assert (folder / "out/ages.release.json").read_bytes() == first
    assert spent(folder, capsys)["remaining"] == "1/4"
    assert blowfish(folder, "verify", "{folder}/out/ages.release.json") == 0
    assert blowfish(folder, "ledger", "verify", "{folder}/people.ledger") == 0


def test_new_noise_is_spent_for_and_over_budget_is_4(folder, capsys):
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 0
    capsys.readouterr()
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--new", "--out", "{folder}/new") == 4
    error = capsys.readouterr().err
    assert "the secret pairs that change age have lost 0.75 of the budget of 1, and the releases cost 0.75" in error
    assert not (folder / "new").exists()
    assert spent(folder, capsys)["remaining"] == "1/4"


def test_release_asks_before_spending(folder):
    command = [sys.executable, "-m", "blowfish_privacy.cli", "release", "people.yaml"]
    refused = subprocess.run(command, cwd=folder, input="n\n", capture_output=True, text=True, check=False)
    assert refused.returncode == 130
    assert "Spend 0.75 (leaving 0.25) and read the data?" in refused.stderr
    assert not list(folder.glob("*.png"))
    done = subprocess.run(command, cwd=folder, input="y\n", capture_output=True, text=True, check=True)
    assert "Spent 0.75; 0.25 is left." in done.stdout


def test_nobody_who_answers_is_told_of_yes(folder, capsys):
    command = [sys.executable, "-m", "blowfish_privacy.cli", "release", "people.yaml"]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "add --yes" in done.stderr
    assert spent(folder, capsys)["entries"] == []


def test_plan_warns_when_the_releases_exceed_the_budget(folder, capsys):
    assert blowfish(folder, "plan", "{folder}/people.yaml") == 0
    assert "too much" not in capsys.readouterr().err
    (folder / "people.yaml").write_text(FILE.replace("epsilon: 0.5", "epsilon: 1.5"))
    for options in ((), ("--json",)):
        assert blowfish(folder, "plan", "{folder}/people.yaml", *options) == 0
        said = capsys.readouterr().err
        assert "the releases cost 1.75 on them: 0.75 too much" in said
        assert "blowfish release will refuse" in said


def test_plan_says_what_the_ledger_says_and_release_does_it(folder, capsys):
    def planned():
        assert blowfish(folder, "plan", "{folder}/people.yaml", "--json") == 0
        return json.loads(capsys.readouterr().out)["ledger"]

    before = planned()
    (age,) = [row for row in before["classes"] if row["pairs"] == "age"]
    assert (before["cost"], before["left"], before["fits"]) == ("3/4", "1/4", True)
    assert (age["spent"], age["cost"], age["left"]) == ("0", "3/4", "1/4")
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 0
    assert "Spent 0.75; 0.25 is left." in capsys.readouterr().out
    after = planned()
    assert (after["spent"], after["cost"], after["left"]) == ("3/4", "0", "1/4")
    assert blowfish(folder, "plan", "{folder}/people.yaml") == 0
    captured = capsys.readouterr()
    assert "The ledger holds ages, mean age already" in captured.err
    assert "secret pairs that change" in captured.out


def test_plan_says_what_another_policy_costs(folder, capsys):
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 0
    narrow = FILE.replace("threshold: 2", "threshold: 1").replace("epsilon: 0.5", "epsilon: 0.1")
    (folder / "people.yaml").write_text(narrow.replace("epsilon: 0.25", "epsilon: 0.1"))
    assert blowfish(folder, "plan", "{folder}/people.yaml") == 0
    captured = capsys.readouterr()
    assert "each costs 2 times its epsilon" in captured.out
    assert "0.15 too much" in captured.err


def test_a_wrong_domain_is_no_dead_end_while_nothing_was_handed_out(folder, capsys):
    def release(lowest, highest, ledger="people.ledger"):
        changed = FILE.replace("{integer: [0, 9]}", f"{{integer: [{lowest}, {highest}]}}")
        (folder / "people.yaml").write_text(changed.replace("people.ledger", ledger))
        if not (folder / ledger).exists():
            assert blowfish(folder, "ledger", "create", "{folder}/people.yaml") == 0
        code = blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out")
        return code, capsys.readouterr().err

    code, said = release(0, 8)
    assert code == 5
    assert "blowfish data check" in said
    code, said = release(0, 9)
    assert code == 3
    assert "you may start a new ledger," in said
    assert release(0, 9, "second.ledger")[0] == 0
    # Once a document is stored, a second ledger is no way out.
    code, said = release(0, 10, "second.ledger")
    assert code == 3
    assert "start a new ledger" not in said
    assert "losses of both add up" in said


def test_one_is_singular(folder, capsys):
    body = FILE[: FILE.index("releases:")]
    (folder / "people.yaml").write_text(f"{body}releases:\n  - {{name: one, kmeans: age, k: 1, epsilon: 0.5}}\n")
    assert blowfish(folder, "plan", "{folder}/people.yaml", "--explain") == 0
    assert "(1 centre, and" in capsys.readouterr().out
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 0
    assert blowfish(folder, "ledger", "verify", "{folder}/people.ledger") == 0
    assert "1 entry and 1 document add up" in capsys.readouterr().out


def test_the_loss_of_a_pair(folder, capsys):
    blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out")
    capsys.readouterr()
    assert blowfish(folder, "ledger", "show", "{folder}/people.ledger", "--pair", '{{"age": 0}}', '{{"age": 9}}') == 0
    # Five steps of at most 2, 0.75 each, would be 3.75. The rows of both releases show less: the histogram changes in
    # two counts, as on one step (0.5), and the sum of ages by 9 where a step changes it by 2 (9 / 2 of 0.25).
    assert "epsilon 1.625." in capsys.readouterr().out


def changes(body):
    """What a forger might change, each with a fresh seal."""
    guarantee, error = body["guarantee"], body["error"]
    yield {"guarantee": {**guarantee, "epsilon": "1/100"}}
    yield {"guarantee": {**guarantee, "statement": "(0.01, 0)-Blowfish"}}
    yield {"guarantee": {**guarantee, "bounded_differential_privacy": True}}
    yield {"guarantee": {**guarantee, "theorem": "trust me"}}
    yield {"guarantee": {**guarantee, "witness": None}}
    yield {"guarantee": {**guarantee, "extra": 1}}
    yield {"guarantee": 5}
    yield {"mechanism": {**body["mechanism"], "scale": "1"}}
    yield {"mechanism": {**body["mechanism"], "scale": "0"}}
    yield {"mechanism": {"name": "none"}}
    yield {"policy": {**body["policy"], "secrets": "full"}}
    yield {"policy": {**body["policy"], "rows_per_person": 2}}
    yield {"values": body["values"][1:]}
    yield {"values": ["x"]}
    yield {"values": [1.5] * 10}
    yield {"values": 5}
    yield from ({"error": {**error, key: 0.1}} for key in ("rmse", "mse", "within_95_in_100"))
    yield {"error": {**error, "of": "everything"}}
    yield {"error": "small"}
    yield {"unit": "2"}
    yield {"query": {}}
    yield {"query": {"histogram": ["sex"]}}
    yield {"notices": ["all is well"]}
    yield {"notices": 5}
    yield {"randomness": "dice"}
    yield from ({"records": wrong} for wrong in (-1, "lots", 1.5, True, None))
    yield {"post_processing": ["smoothed"]}
    yield {"groups": {}}
    yield {"groups": {"left_out": 0, "parts": []}}
    yield {"groups": {"left_out": 0, "parts": [1]}}


def test_a_changed_document_is_noticed(folder, capsys):

    blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out")
    file = folder / "out/ages.release.json"
    assert blowfish(folder, "verify", str(file)) == 0
    body = json.loads(file.read_text())
    del body["sha256"]
    file.write_text(json.dumps({**body, "values": [v + 1 for v in body["values"]], "sha256": document.seal(body)}))
    assert blowfish(folder, "verify", str(file)) == 2
    for change in changes(body):
        file.write_text(document.dumps({**body, **change}))
        assert blowfish(folder, "verify", str(file)) == 2, change
        assert blowfish(folder, "verify", str(file), "--json") == 2
    for key in body:
        file.write_text(document.dumps({name: value for name, value in body.items() if name != key}))
        assert blowfish(folder, "verify", str(file)) == 2, key
    for text in ("{{}}", "[", '{{"format": 1, "format": 2}}', "9" * 5000, ""):
        file.write_text(text.format())
        assert blowfish(folder, "verify", str(file)) == 2
    assert "not a release document" in capsys.readouterr().err


def test_a_release_never_writes_over_what_it_reads(folder, capsys):
    (folder / "people.yaml").write_text(FILE.replace("name: ages", "name: people"))
    before = (folder / "people.csv").read_bytes()
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}") == 2
    assert "would write over" in capsys.readouterr().err
    assert (folder / "people.csv").read_bytes() == before
    assert spent(folder, capsys)["entries"] == []


def test_other_data_are_another_release(folder, capsys):
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 0
    (folder / "other.csv").write_text((folder / "people.csv").read_text())
    (folder / "people.yaml").write_text(FILE.replace("data: people.csv", "data: other.csv").replace("0.5", "0.1"))
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 4
    capsys.readouterr()
    (folder / "people.yaml").write_text(FILE)
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 0
    assert "paid for before (entry 1 of" in capsys.readouterr().out


@pytest.mark.parametrize("budget", ["budget: 1.0\n", ""])
def test_a_ledger_that_is_gone_is_an_error_and_does_not_come_back(folder, capsys, budget):
    release = ("release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out")
    assert blowfish(folder, *release) == 0
    (folder / "people.yaml").write_text(FILE.replace("budget: 1.0\n", budget))
    (folder / "people.ledger").unlink()
    before = sorted(path.name for path in folder.rglob("*"))
    assert blowfish(folder, *release) == 5
    said = capsys.readouterr().err
    assert "there is no ledger people.ledger" in said
    assert "blowfish ledger create FILE.yaml" in said
    assert sorted(path.name for path in folder.rglob("*")) == before


def test_a_ledger_is_made_once(folder, capsys):
    assert blowfish(folder, "ledger", "create", "{folder}/people.yaml") == 5
    assert "people.ledger already exists" in capsys.readouterr().err
    assert blowfish(folder, "ledger", "create", "{folder}/second.ledger", "--budget", "0.5") == 0
    assert "Made the ledger second.ledger with a budget of 0.5. Nothing is spent yet." in capsys.readouterr().out
    assert blowfish(folder, "ledger", "create", "{folder}/third.ledger", "--budget", "much") == 5
    assert blowfish(folder, "ledger", "create", "{folder}/absent.yaml") == 2
    (folder / "people.yaml").write_text(FILE.replace("budget: 1.0\n", ""))
    assert blowfish(folder, "ledger", "create", "{folder}/people.yaml") == 2
    assert "no budget" in capsys.readouterr().err


def test_a_ledger_that_was_moved_says_so_and_can_be_told(folder, capsys):
    release = ("release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out")
    assert blowfish(folder, *release) == 0
    (folder / "people.ledger").rename(folder / "moved.ledger")
    (folder / "people.yaml").write_text(FILE.replace("people.ledger", "moved.ledger"))
    assert blowfish(folder, *release) == 5
    assert "run: blowfish ledger moved moved.ledger" in capsys.readouterr().err
    assert blowfish(folder, "ledger", "moved", "{folder}/moved.ledger") == 0
    assert "spent 0.75. Use no other copy" in capsys.readouterr().out
    assert blowfish(folder, *release) == 0
    assert blowfish(folder, "ledger", "moved", "postgresql://host/db?ledger=x") == 5


def test_another_policy_is_priced_before_anything_is_spent(folder, capsys):
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 0
    narrow = FILE.replace("threshold: 2", "threshold: 1").replace("0.5", "0.1").replace("0.25", "0.05")
    (folder / "people.yaml").write_text(narrow)
    capsys.readouterr()
    # One step of 2 is two steps of 1: everything costs twice, 0.3 of the 0.25 left.
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 4
    assert "change age have lost 0.75 of the budget of 1, and the releases cost 0.3 on" in capsys.readouterr().err
    assert spent(folder, capsys)["remaining"] == "1/4"


def test_data_that_do_not_fit_cost_once_and_it_is_said(folder, capsys):
    right = (folder / "people.csv").read_text()
    (folder / "people.csv").write_text(right.replace("9,", "99,"))
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 5
    said = capsys.readouterr().err
    assert "Its cost, 0.5, was charged (entry 1 of the ledger) and stays spent. Correct the data, and" in said
    assert "Change the declaration, and it is a release under another policy" in said
    # As it says: a changed declaration is another policy, here one that does not add up, which the plan says at once.
    (folder / "people.yaml").write_text(FILE.replace("[0, 9]", "[0, 99]"))
    assert blowfish(folder, "plan", "{folder}/people.yaml") == 3
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 3
    (folder / "people.yaml").write_text(FILE)
    (folder / "people.csv").write_text(right)
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 0
    assert spent(folder, capsys)["remaining"] == "1/4"


def test_json_does_not_spend_without_yes(folder, capsys):
    assert blowfish(folder, "release", "{folder}/people.yaml", "--json", "--out", "{folder}/out") == 2
    assert spent(folder, capsys)["entries"] == []


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (("data: people.csv\n", ""), 2, "names no data"),
        (("ledger: people.ledger\n", ""), 2, "names no ledger"),
        (("data: people.csv", "data: none.csv"), 5, "there is no file"),
        (("data: people.csv", "data: people.xlsx"), 5, ""),
        (("histogram: age", "histogram: agee"), 2, "did you mean 'age'"),
        (("histogram: age", "histogramm: age"), 2, "did you mean 'histogram'"),
        (("epsilon: 0.5", "epsilon: 0"), 2, "above 0"),
        (("epsilon: 0.5", "epsilon: 0.5, error: 2"), 2, "one of epsilon, rho and error"),
        (("epsilon: 0.5", "eps: 0.5"), 2, "did you mean 'epsilon'"),
        (("name: ages", "name: ../ages"), 2, "letter, digit"),
        (("name: ages", "name: mean age"), 2, "same name"),
        (("name: ages", "name: Mean Age"), 2, "same file on many computers"),
        (("name: ages", "name: ."), 2, "must begin with a letter, digit or underscore"),
        (("epsilon: 0.5", "epsilon: 0,5"), 2, "decimals with a point"),
        (("epsilon: 0.5", "epsilon: 0,05"), 2, "decimals with a point"),
        (("budget: 1.0", "budget: 1,5"), 2, "decimals with a point"),
        (("{threshold: 2}", "{threshold: 2,5}"), 2, "decimals with a point"),
        (("epsilon: 0.5", "epsilon: 0.5, mechanism: laplas"), 2, "did you mean 'laplace'"),
        (("budget: 1.0", "budget: 0.5"), 4, "0.25 too much"),
        (("  secrets:", CROSSING), 3, "cross each other"),
        (("age: {integer: [0, 9]}", "agee: {integer: [0, 9]}"), 2, ""),
        (("{integer: [0, 9]}", "{integer: [0, 8]}"), 5, "age"),
    ],
)
def test_bad_files_have_their_exit_codes_and_write_nothing(unopened, change, code, said, capsys):
    folder = unopened
    (folder / "people.yaml").write_text(FILE.replace(*change))
    blowfish(folder, "ledger", "create", "{folder}/people.yaml")
    capsys.readouterr()
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err
    assert not (folder / "out").exists() or not list((folder / "out").iterdir())


def test_data_check_counts_for_the_custodian(folder, capsys):
    assert blowfish(folder, "data", "check", "{folder}/people.yaml") == 0
    assert "60 rows. All fit.\n" in capsys.readouterr().out
    (folder / "people.yaml").write_text(
        FILE.replace("{integer: [0, 9]}", "{integer: [0, 8], outside: clamp, missing: 3}")
    )
    assert blowfish(folder, "data", "check", "{folder}/people.yaml") == 0
    assert "60 rows. All fit; 6 values outside will be clamped.\n" in capsys.readouterr().out
    with (folder / "people.csv").open("a") as file:
        file.write(",Male\n")
    assert blowfish(folder, "data", "check", "{folder}/people.yaml") == 0
    assert "clamped; 1 value missing will count as declared.\n" in capsys.readouterr().out
    (folder / "people.yaml").write_text(FILE)
    (folder / "people.csv").write_text("age,sex\n987654,Female\n3,CANARY\n,Male\n1,Male\n")
    capsys.readouterr()
    assert blowfish(folder, "data", "check", "{folder}/people.yaml", "--json") == 5
    captured = capsys.readouterr()
    report = json.loads(captured.out)
    assert [(c["name"], c["missing"], c["outside"]) for c in report["columns"]] == [("age", 1, 1), ("sex", 0, 1)]
    assert [(c["smallest"], c["undeclared"]) for c in report["columns"]] == [("987654", []), (None, [["CANARY", 1]])]
    assert "do not publish" in captured.err
    # The values are shown to the custodian, and a release that stops at them shows none.
    assert not any(canary in captured.err for canary in CANARIES)
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 5
    captured = capsys.readouterr()
    assert "correct the data, or declare the category too" in captured.err or "widen the declaration" in captured.err
    assert not any(canary in captured.out + captured.err for canary in CANARIES)


@pytest.mark.parametrize(
    "row", ["987654,Female", "3,CANARY", "987654.5,Female", "CANARY,Male", "98765498765498765498765,Male", "987654\n"]
)
def test_no_message_file_or_traceback_shows_a_private_value(folder, row):
    with (folder / "people.csv").open("a") as file:
        file.write(row + "\n")
    (folder / "people.yaml").write_text(FILE.replace("histogram: age", "histogram: [age, sex]"))
    command = [
        sys.executable,
        "-X",
        "dev",
        "-m",
        "blowfish_privacy.cli",
        "release",
        "people.yaml",
        "--yes",
        "--out",
        "out",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 5
    seen = [done.stdout.encode(), done.stderr.encode()]
    seen += [path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "people.csv"]
    assert not any(canary.encode() in text for canary in CANARIES for text in seen)


def test_a_full_disk_loses_nothing(folder, capsys, monkeypatch):
    import os

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 5
    assert "the release is in the ledger" in capsys.readouterr().err
    assert list((folder / "out").iterdir()) == []
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 0
    assert spent(folder, capsys)["remaining"] == "1/4"


CRASH = """
import os, sys
from blowfish_privacy.release.checks import EngineAggregates
point = sys.argv.pop(1)
def crash(*_, **__): os._exit(9)
if point == "before reading": EngineAggregates.counts = crash
if point == "after reading": EngineAggregates._checked = crash
if point == "after noise":
    from blowfish_privacy.ledger import Ledger
    Ledger.record = crash
if point == "after recording":
    from blowfish_privacy import results
    results.from_text = crash
from blowfish_privacy.cli.main import main
main()
"""


@pytest.mark.parametrize("point", ["before reading", "after reading", "after noise", "after recording"])
def test_a_crash_costs_once_and_leaves_nothing_half_written(folder, point, capsys):
    arguments = ["release", "people.yaml", "--yes", "--out", "out"]
    crashed = subprocess.run(
        [sys.executable, "-c", CRASH, point, *arguments], cwd=folder, capture_output=True, check=False
    )
    assert crashed.returncode == 9
    assert not list(folder.glob("out/*"))
    before = spent(folder, capsys)
    assert [entry["epsilon"] for entry in before["entries"]] == ["1/2"]
    assert blowfish(folder, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 0
    assert spent(folder, capsys)["remaining"] == "1/4"
    assert blowfish(folder, "ledger", "verify", "{folder}/people.ledger") == 0
    assert len(list(folder.glob("out/*"))) == 6


def test_the_demo_runs_and_leaves_a_folder_to_look_around_in(tmp_path, capsys):
    for expected in ("demo", "demo-2"):
        assert run(["demo", "--out", str(tmp_path / "demo")]) == 0
        names = {path.name for path in (tmp_path / expected).iterdir()}
        assert {"census.csv", "census.yaml", "census.ledger", "ages.png", "ages.release.json", "accuracy.png"} <= names
    out = capsys.readouterr().out
    for said in ("steps apart", "typical error", "is sound", "not protected"):
        assert said in out
    summing_up = " ".join(out[out.rindex("In two sentences") :].split())
    # A mean under a threshold of 20 gains as much as the 200 declared wages are longer; a single count gains nothing.
    assert "Gained: “mean wage” is 10 times more accurate than under plain differential privacy" in summing_up
    assert "nothing is gained for “ages”" in summing_up
    assert summing_up.endswith("“region”: not protected at all.")


def test_a_made_up_table_is_written_once(tmp_path, capsys):
    file = tmp_path / "people.csv"
    assert run(["demo", "table", str(file), "--rows", "30"]) == 0
    assert len(file.read_text().splitlines()) == 31
    assert "30 people, all made up" in capsys.readouterr().out
    before = file.read_bytes()
    assert run(["demo", "table", str(file)]) == 2
    assert file.read_bytes() == before


def test_everything_speaks_json(folder, capsys):
    commands = [
        ["policy", "check", "{folder}/people.yaml"],
        ["policy", "explain", "{folder}/people.yaml"],
        ["plan", "{folder}/people.yaml"],
        ["release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out"],
        ["ledger", "show", "{folder}/people.ledger"],
        ["ledger", "verify", "{folder}/people.ledger"],
        ["verify", "{folder}/out/ages.release.json"],
        ["data", "check", "{folder}/people.yaml"],
    ]
    for command in commands:
        assert blowfish(folder, *command, "--json") == 0
        json.loads(capsys.readouterr().out)


def test_the_examples_load():
    for example in sorted((Path(__file__).parents[2] / "examples").glob("*.yaml")):
        assert run(["policy", "check", str(example)]) == 0


def test_very_many_values_get_a_file_of_their_own(tmp_path, capsys, monkeypatch):
    from blowfish_privacy.release import checks

    monkeypatch.setattr(checks, "MOST_IN_DOCUMENT", 20)
    (tmp_path / "people.csv").write_text("a,b,c\n" + "".join(f"{i % 3},{i % 4},{i % 5}\n" for i in range(60)))
    lines = [
        "version: 1",
        "data: people.csv",
        "ledger: people.ledger",
        "budget: 1.0",
        "policy:",
        "  domain: {a: {integer: [0, 2]}, b: {integer: [0, 3]}, c: {integer: [0, 4]}}",
        "  secrets: attributes",
        "releases:",
        "  - {name: pairs, tables: {ways: 2, of: [a, b, c]}, epsilon: 1}",
    ]
    (tmp_path / "people.yaml").write_text("\n".join(lines))
    assert blowfish(tmp_path, "ledger", "create", "{folder}/people.yaml") == 0
    for _ in range(2):
        assert blowfish(tmp_path, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 0
        written = sorted(path.name for path in (tmp_path / "out").iterdir())
        assert written[0] == "pairs.release.json"
        assert written[1].startswith("values-")
        assert len(written) == 2
    assert written[1] in capsys.readouterr().out
    document = "{folder}/out/pairs.release.json"
    assert blowfish(tmp_path, "verify", document) == 0
    assert blowfish(tmp_path, "card", document) == 0
    # The statement about all releases offers the file, and shows no picture of so many numbers.
    assert blowfish(tmp_path, "card", "{folder}/people.yaml", "-o", "{folder}/out/index.html") == 0
    page = (tmp_path / "out" / "index.html").read_text()
    assert f'href="{written[1]}"' in page
    assert "<img" not in page
    (tmp_path / "out" / written[1]).unlink()
    assert blowfish(tmp_path, "release", "{folder}/people.yaml", "--yes", "--out", "{folder}/out") == 0
    capsys.readouterr()
    (tmp_path / "out" / written[1]).unlink()
    assert blowfish(tmp_path, "verify", document) == 2
    assert written[1] in capsys.readouterr().out


# One release that is wrong: it is named, the others are planned all the same, and nothing is spent by accident.


WRONG_FILE = people_file(
    "name: ages, histogram: age, epsilon: 0.25",
    "name: odd one, histogram: sex, epsilon: 0.25",
    "name: mean age, mean: age, epsilon: 0.25",
)

WRONG = {
    "misspelt": ("histogram: sex", "histogram: sexx", 2, "release 'odd one': the domain has no attribute 'sexx'"),
    "form": ("sex, epsilon: 0.25", "sex, epsilon: []", 2, "release 'odd one': epsilon must be a number above 0"),
    "refused": ("sex, epsilon: 0.25", "sex, rho: 0.1", 3, "release 'odd one': the budget is one of pure epsilon"),
}


@pytest.fixture(params=WRONG.values(), ids=WRONG)
def wrong(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, int, str]:
    old, new, code, said = request.param
    write_people(tmp_path)
    (tmp_path / "people.yaml").write_text(WRONG_FILE)
    assert run(["ledger", "create", str(tmp_path / "people.yaml")]) == 0
    (tmp_path / "people.yaml").write_text(WRONG_FILE.replace(old, new))
    return tmp_path, code, said


def test_the_others_are_planned_and_the_wrong_one_is_in_its_place(wrong, capsys):
    folder, code, said = wrong
    capsys.readouterr()
    assert run(["plan", str(folder / "people.yaml")]) == code
    captured = capsys.readouterr()
    rows = captured.out.splitlines()[1:4]
    assert [row.startswith(name) for row, name in zip(rows, ("ages", "odd one", "mean age"), strict=True)] == [True] * 3
    assert "cannot be planned" in rows[1]
    assert said in rows[1]
    assert said in captured.err
    assert "releases[" not in captured.out + captured.err

    assert run(["plan", str(folder / "people.yaml"), "--json"]) == code
    shown = json.loads(capsys.readouterr().out)["releases"]
    assert [each["name"] for each in shown] == ["ages", "odd one", "mean age"]
    assert [each.get("exit_code") for each in shown] == [None, code, None]
    assert said in shown[1]["problem"]
    assert ["rmse" in each for each in shown] == [True, False, True]


def test_nothing_is_spent_unless_the_releases_to_run_are_named(wrong, capsys):
    folder, code, said = wrong
    file, out = (str(folder / name) for name in ("people.yaml", "out"))
    assert run(["release", file, "--yes", "--out", out]) == code
    err = capsys.readouterr().err
    assert said in err
    assert "--only NAME" in err
    assert not (folder / "out").exists()
    assert run(["release", file, "--yes", "--out", out, "--only", "odd one"]) == code
    assert run(["release", file, "--yes", "--out", out, "--only", "mean ages"]) == 2
    assert "did you mean 'mean age'" in capsys.readouterr().err

    assert run(["release", file, "--yes", "--out", out, "--only", "mean age", "--only", "ages"]) == 0
    released = {path.name for path in (folder / "out").glob("*.release.json")}
    assert released == {"ages.release.json", "mean age.release.json"}
    assert len(open_ledger(folder).entries()) == 2


def open_ledger(folder: Path) -> Ledger:
    return Batch.open(folder / "people.yaml", only=["ages"]).session.ledger


def test_a_batch_says_the_same(wrong):
    folder, code, said = wrong
    with pytest.raises(BlowfishError) as caught:
        Batch.open(folder / "people.yaml")
    assert said in caught.value.message
    assert caught.value.exit_code == code
    assert [plan.name for plan in Batch.open(folder / "people.yaml", only=["ages"]).plans] == ["ages"]


def test_a_file_with_nothing_but_a_wrong_release_is_planned_too(tmp_path, capsys):
    (tmp_path / "people.yaml").write_text(
        WRONG_FILE[: WRONG_FILE.index("releases")] + "releases: [{histogram: [age], epsilon: 1}]"
    )
    assert run(["plan", str(tmp_path / "people.yaml")]) == 2
    captured = capsys.readouterr()
    assert "(no name)" in captured.out
    assert "line 10: the first release: name is missing." in captured.err


SEVERAL = people_file(
    "name: ages, histogram: age, epsilon: 0.25",
    "name: typo, histogram: agee, epsilon: 0.25",
    "name: form, histgram: age, epsilon: 0.25",
    "name: ages, histogram: sex, epsilon: 0.25",
    "name: sexes, mean: sex, epsilon: 0.25",
)


def test_the_first_of_several_wrong_ones_is_named_and_the_others_are_counted(tmp_path, capsys):
    write_people(tmp_path)
    (tmp_path / "people.yaml").write_text(SEVERAL)
    file, lines = str(tmp_path / "people.yaml"), SEVERAL.splitlines()
    first, second = (number for number, line in enumerate(lines, 1) if "name: ages" in line)
    assert run(["plan", file]) == 2
    planned = capsys.readouterr()
    assert [row.split()[0] for row in planned.out.splitlines()[1:6]] == ["ages", "typo", "form", "ages", "sexes"]
    assert f"line {second}: release 'ages': the release of line {first} has the same name." in planned.err
    # What can be written in a file is named to somebody who writes one.
    assert "linear: {attributes: [..], rows: [[0, 1, ..]]} in a file" in planned.err
    said = f"Error: line {first + 1}: release 'typo': the domain has no attribute 'agee'."
    for command in (["release", "--yes"], ["policy", "check"]):
        assert run([*command, file]) == 2
        assert capsys.readouterr().err.startswith(said)
    assert run(["release", "--yes", file]) == 2
    assert "3 others cannot be planned either: blowfish plan says why. The rest can be" in capsys.readouterr().err
    # The data have nothing to do with releases.
    assert run(["data", "check", file]) == 0
    assert "All fit." in capsys.readouterr().out


def test_a_table_that_is_not_there_is_missed_once(tmp_path, capsys):
    (tmp_path / "people.yaml").write_text(
        WRONG_FILE.replace("name: odd one, histogram: sex", "name: odd one, mean: age")
    )
    assert run(["plan", str(tmp_path / "people.yaml")])
    assert capsys.readouterr().err.count("Planned without the number of records") == 1


# Numbers that people read have the digits they deserve, in everything that is said of the demonstration's file.


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
