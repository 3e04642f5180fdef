"""``blowfish ledger show``: balances of classes, as a table, as JSON, and as a picture."""

import json
from fractions import Fraction

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
    assert "age 0.1, wage 0.2 (some values)" in capsys.readouterr().out


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
