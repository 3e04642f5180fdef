"""Memory that runs out once a release is paid for: an error of ours, and the release is not lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import blowfish_privacy as bp
from blowfish_privacy import results
from blowfish_privacy.cli.main import run
from blowfish_privacy.errors import DataError
from blowfish_privacy.ledger import SqliteLedger
from blowfish_privacy.release import document
from blowfish_privacy.results import HistogramResult


def exhausted(*_: Any, **__: Any) -> Any:
    raise MemoryError


@pytest.mark.parametrize(
    ("where", "name", "says"),
    [
        (document, "dumps", "Its cost, 0.5, was charged"),
        (results, "from_text", "is recorded"),
        (HistogramResult, "csv", "is recorded"),
        (HistogramResult, "_figure", "is recorded"),
        (SqliteLedger, "record", "too little memory"),
    ],
    ids=["writing the document", "reading it", "table", "picture", "recording"],
)
def test_a_release_that_was_paid_for_is_not_lost(
    tmp_path: Path,
    where: Any,
    name: str,
    says: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n2\n")
    body = {"domain": {"x": {"integer": [0, 2]}}, "secrets": "full"}
    whole = {"version": 1, "data": "t.csv", "ledger": "a.ledger", "budget": 1, "policy": body}
    asked = [{"name": "r", "histogram": ["x"], "epsilon": 0.5}]
    (tmp_path / "p.yaml").write_text(json.dumps({**whole, "releases": asked}))
    assert run(["ledger", "create", str(tmp_path / "p.yaml")]) == 0
    command = ["release", str(tmp_path / "p.yaml"), "--yes", "--out", str(tmp_path / "out")]
    with monkeypatch.context() as patched:
        patched.setattr(where, name, exhausted)
        assert run(command) == 5
    said = capsys.readouterr().err
    assert says in said
    assert "costs nothing more" in said or "at no cost" in said
    assert run(command) == 0
    assert SqliteLedger.open(tmp_path / "a.ledger", budget=None).spent == 0.5
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"r.release.json", "r.csv", "r.png"}


@pytest.mark.parametrize("releasing", [lambda session: session, lambda session: session.parallel("g")])
def test_a_session_says_that_the_release_is_recorded(
    releasing: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    domain = bp.Domain(x=bp.Integer(0, 1), g=bp.Integer(0, 1))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(x=bp.FullDomain(), g=bp.Public()))
    session = bp.Session(bp.Counts([[1, 2], [3, 4]]), policy, budget=1)
    monkeypatch.setattr(results, "from_text", exhausted)
    with pytest.raises(DataError, match="recorded in the ledger") as caught:
        releasing(session).release(bp.Histogram("x"), epsilon=1)
    assert caught.value.__cause__ is None
    assert session.remaining == 0
    assert session.ledger.document(session.ledger.entries()[0].key) is not None
