"""``blowfish ledger show``: balances of classes, as a table, as JSON, and as a picture."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import blowfish_privacy as bp
from blowfish_privacy.cli.main import run
from blowfish_privacy.domain import Subset
from blowfish_privacy.privacy.loss import Loss, PairClass, changing
from blowfish_privacy.results.pictures.errors import draw_balances

DOMAIN = bp.Domain(age=bp.Integer(0, 9), sex=bp.Categorical(["F", "M"]), wage=bp.Integer(0, 4))


@pytest.fixture
def ledger(tmp_path):
    session = bp.Session(
        bp.Counts([[[1] * 5] * 2] * 10),
        bp.Policy(DOMAIN, secrets=bp.Attributes()),
        budget=1,
        ledger=tmp_path / "a.ledger",
        create=True,
    )
    session.release(bp.Histogram("age"), epsilon="0.4")
    session.release(bp.Histogram("sex"), epsilon="0.3")
    session.release(bp.Histogram("sex", "wage"), epsilon="0.2")
    return session.ledger


def test_three_tables_cost_what_one_attribute_loses(ledger, capsys):
    assert run(["ledger", "show", str(ledger.path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines[1:3]] == ["age", "sex"]
    assert lines[3].endswith("sex, wage")
    assert lines[4:] == [
        "secret pairs  lost  of the budget",
        "age            0.4  ################........................",
        "sex            0.5  ####################....................",
        "wage           0.2  ########................................",
        "Budget 1, spent 0.5, left 0.5.",
    ]


def test_a_program_reads_balances_and_losses(ledger, capsys):
    assert run(["ledger", "show", str(ledger.path), "--json"]) == 0
    view = json.loads(capsys.readouterr().out)
    assert view["balances"] == {"age": "2/5", "sex": "1/2", "wage": "1/5"}
    assert view["remaining"] == "1/2"
    assert [pairs["attribute"] for pairs in view["entries"][2]["loss"]] == ["sex", "wage"]
    assert {pairs["amount"] for pairs in view["entries"][2]["loss"]} == {"1/5"}


def test_losses_that_differ_are_told_apart(ledger, capsys):
    within = (("sex", Subset.of([0])),)
    loss = Loss.of({PairClass("attribute", "age", within): Fraction(1, 10), changing("wage"): Fraction(1, 5)})
    policy = bp.Policy(DOMAIN, secrets=bp.Attributes())
    ledger.charge(loss=loss, policy=policy, key="a", description="x", mechanism="y")
    assert run(["ledger", "show", str(ledger.path)]) == 0
    assert "age 0.1, wage 0.2 (of some records)" in capsys.readouterr().out


def test_balances_are_drawn(ledger, tmp_path, capsys):
    picture = tmp_path / "balances.png"
    assert run(["ledger", "show", str(ledger.path), "--picture", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    (axes,) = draw_balances(ledger.balances, ledger.budget).axes
    whole, lost = axes.containers
    assert [bar.get_width() for bar in whole] == [1, 1, 1]
    assert [bar.get_width() for bar in lost] == [0.4, 0.5, 0.2]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["age", "sex", "wage"]
    assert [text.get_text() for text in axes.texts] == ["0.4", "0.5", "0.2"]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_balances_are_drawn_over_their_own_picture_alone(ledger, ending, tmp_path, capsys):
    picture, notes = tmp_path / f"balances.{ending}", tmp_path / f"notes.{ending}"
    for _ in range(2):
        assert run(["ledger", "show", str(ledger.path), "--picture", str(picture)]) == 0
    notes.write_bytes(b"mine")
    capsys.readouterr()
    assert run(["ledger", "show", str(ledger.path), "--picture", str(notes)]) == 2
    assert "exists and is no picture of this ledger, so it is kept" in capsys.readouterr().err
    assert notes.read_bytes() == b"mine"


def test_an_empty_ledger_has_nothing_to_draw(tmp_path, capsys):
    assert run(["ledger", "create", str(tmp_path / "b.ledger"), "--budget", "1"]) == 0
    assert run(["ledger", "show", str(tmp_path / "b.ledger")]) == 0
    assert run(["ledger", "show", str(tmp_path / "b.ledger"), "--picture", str(tmp_path / "b.png")]) == 5
    assert "no balances to draw" in capsys.readouterr().err
    assert not (tmp_path / "b.png").exists()


# Budgets that admit Gaussian noise on the command line: made, planned with, spent, shown and refused in words.


FILE = """
version: 1
data: people.csv
ledger: people.ledger
budget: {budget}
policy:
  domain:
    age: {{integer: [0, 9]}}
    sex: {{categorical: [Female, Male]}}
  secrets: {{per_attribute: {{age: {{threshold: 2}}, sex: full}}}}
releases:
  - {{name: ages, histogram: age, rho: 0.004, noise: gaussian}}
  - {{name: sexes, histogram: sex, epsilon: 0.05}}
"""

BUDGETS = {
    "{epsilon: 1, delta: 1e-9}": "epsilon 1 at delta 1e-9 (rho 0.01497)",
    "{rho: 0.05}": "rho 0.05",
}


@pytest.fixture(params=BUDGETS)
def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(
        "age,sex\n" + "".join(f"{i % 10},{'Female' if i % 3 else 'Male'}\n" for i in range(60))
    )
    Path("people.yaml").write_text(FILE.format(budget=request.param))
    assert run(["ledger", "create", "people.yaml"]) == 0
    return BUDGETS[request.param]


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    assert run([*arguments]) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def test_a_file_with_such_a_budget(made: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"Together they take rho 0.004 of the budget of {made}: no secret pair" in said(
        capsys, "plan", "people.yaml"
    )
    assert "Spent rho 0.004; rho 0.0" in said(capsys, "release", "people.yaml", "--yes")
    # Nothing is spent when it is asked for again.
    assert "Spent rho 0; rho 0.0" in said(capsys, "release", "people.yaml", "--yes")
    shown = said(capsys, "ledger", "show", "people.ledger")
    assert f"Budget {made}, spent rho 0.004, left rho 0.0" in shown
    assert "epsilon 0.05" in shown
    assert "A whole record, which others are up to 6 steps from, has lost rho 0.00525, which means epsilon" in shown
    assert "add up" in said(capsys, "ledger", "verify", "people.ledger")


def test_pairs_several_steps_apart(made: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["release", "people.yaml", "--yes"])
    pair = "--pair", '{"age": 0}', '{"age": 9}'
    # Five steps, but two counts of the histogram that was released.
    assert "rho 0.004, which means epsilon" in said(capsys, "ledger", "show", "people.ledger", *pair)
    view = json.loads(said(capsys, "ledger", "show", "people.ledger", *pair, "--json"))
    assert (view["loss"], view["measure"]) == ("1/250", "rho")
    assert "1/1000000000" in [meant["delta"] for meant in view["means"]]
    ledger = json.loads(said(capsys, "ledger", "show", "people.ledger", "--json"))
    assert (ledger["measure"], ledger["entries"][0]["rho"], ledger["entries"][1]["epsilon"]) == ("rho", "1/250", "1/20")


def test_too_much_is_refused_in_the_measure_of_the_budget(made: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path("people.yaml")
    file.write_text(file.read_text().replace("rho: 0.004", "rho: 0.9"))
    error = said(capsys, "release", "people.yaml", "--yes", code=4)
    assert f"of the budget of {made}, and the releases cost rho 0.9 on them" in error
    assert "what is left is enough for rho 0.0" in error


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ("1.5", "1.5"),
        ("{rho: 1/3}", "rho 1/3"),
        ('{"epsilon": 0.5, "delta": "1e-6"}', "epsilon 0.5 at delta 1e-6 (rho"),
    ],
)
def test_a_ledger_is_made_with_a_budget_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], budget: str, words: str
) -> None:
    assert f"with a budget of {words}" in said(capsys, "ledger", "create", str(tmp_path / "a"), "--budget", budget)


@pytest.mark.parametrize("budget", ["rho 0.05", "{rho: 1, delta: 1e-9}", "{epsilon: 1, delta: 0}", "{", "{rho: -1}"])
def test_other_budgets_are_refused(tmp_path: Path, budget: str) -> None:
    assert run(["ledger", "create", str(tmp_path / "a"), "--budget", budget]) in (2, 5)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ("{rho: 0}", "rho of budget must be above 0"),
        ("{rho: 1, epsilon: 1}", "one or the other"),
        ("[1]", "must be a number"),
    ],
)
def test_a_wrong_budget_in_a_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], budget: str, message: str
) -> None:
    path = tmp_path / "people.yaml"
    path.write_text(FILE.format(budget=budget))
    assert message in said(capsys, "plan", str(path), code=2)
