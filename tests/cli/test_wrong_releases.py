"""One release that is wrong: it is named, the others are planned all the same, and nothing is spent by accident."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blowfish_privacy.batch import Batch
from blowfish_privacy.cli.main import run
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.ledger import Ledger
from people import people_file, write_people

FILE = people_file(
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
    (tmp_path / "people.yaml").write_text(FILE)
    assert run(["ledger", "create", str(tmp_path / "people.yaml")]) == 0
    (tmp_path / "people.yaml").write_text(FILE.replace(old, new))
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
    (tmp_path / "people.yaml").write_text(FILE[: FILE.index("releases")] + "releases: [{histogram: [age], epsilon: 1}]")
    assert run(["plan", str(tmp_path / "people.yaml")]) == 2
    captured = capsys.readouterr()
    assert "(no name)" in captured.out
    assert "line 10: the first release: name is missing." in captured.err
