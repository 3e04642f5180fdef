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
    (tmp_path / "people.yaml").write_text(FILE.replace("name: odd one, histogram: sex", "name: odd one, mean: age"))
    assert run(["plan", str(tmp_path / "people.yaml")])
    assert capsys.readouterr().err.count("Planned without the number of records") == 1
