"""Values that are too many for a document: one file, complete before its document is recorded, never two outputs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import blowfish_privacy as bp
from blowfish_privacy import results
from blowfish_privacy.errors import BlowfishError, DataError, QueryError, SpecError
from blowfish_privacy.ledger import SqliteLedger
from blowfish_privacy.release import checks, document, run, verification
from blowfish_privacy.release.document import KeptValues, keep, settle
from blowfish_privacy.testing.seeded import SeededSource

NAMES = [f"a{axis}" for axis in range(6)]
DOMAIN = bp.Domain({name: bp.Integer(0, 3) for name in NAMES})
POLICY = bp.Policy(DOMAIN, secrets=bp.Attributes())
QUERY = bp.Tables.of_ways(3, NAMES)
FRAME = pd.DataFrame({name: np.random.default_rng(axis).integers(0, 4, 300) for axis, name in enumerate(NAMES)})


@pytest.fixture(autouse=True)
def few_in_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MOST_IN_DOCUMENT", 1000)


@pytest.fixture
def session(tmp_path: Path) -> bp.Session:
    return bp.Session(FRAME, POLICY, budget=10, ledger=tmp_path / "a.ledger", create=True)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_values_are_in_one_file_named_by_the_document(session: bp.Session, tmp_path: Path) -> None:
    result = session.release(QUERY, epsilon=1)
    stated = json.loads(result.text)["values"]
    assert stated["number"] == result.release.mechanism.rows > 1000
    assert files(tmp_path / "a.ledger.values") == [stated["file"]]
    stored = tmp_path / "a.ledger.values" / stated["file"]
    assert os.stat(stored).st_mode & 0o077 == 0
    np.testing.assert_array_equal(np.load(stored), result.release.noisy)
    assert len(result.text) < 20_000
    for table in result:
        assert table.values.sum() == pytest.approx(300)


def test_the_same_release_again_is_the_same_file(session: bp.Session, tmp_path: Path) -> None:
    first = session.release(QUERY, epsilon=1)
    again = session.release(QUERY, epsilon=1)
    assert again.text == first.text
    np.testing.assert_array_equal(again.release.noisy, first.release.noisy)
    assert len(files(tmp_path / "a.ledger.values")) == 1


def test_the_same_bits_give_the_same_values_in_a_file_and_in_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(most: int) -> Any:
        monkeypatch.setattr(checks, "MOST_IN_DOCUMENT", most)
        return bp.Session(FRAME, POLICY, budget=10, source=SeededSource(5)).release(QUERY, epsilon=1)

    kept, whole = draw(1000), draw(10**9)
    assert kept.kept is not None
    assert whole.kept is None
    np.testing.assert_array_equal(kept.release.noisy, whole.release.noisy)
    for one, other in zip(kept, whole, strict=True):
        np.testing.assert_array_equal(one.values, other.values)


def test_a_saved_release_reads_back_and_verifies(session: bp.Session, tmp_path: Path) -> None:
    result = session.release(QUERY, epsilon=1)
    out = tmp_path / "out"
    out.mkdir()
    result.save(out / "t.release.json")
    assert files(out) == ["t.release.json", result.kept.file]
    read = results.load(out / "t.release.json")
    np.testing.assert_array_equal(read["a1", "a4"].values, result["a1", "a4"].values)
    assert verification.problems(read.text, out) == []
    result.save(out / "t.release.json")


@pytest.mark.parametrize("damage", ["gone", "other", "short"])
def test_damaged_values_are_noticed(session: bp.Session, tmp_path: Path, damage: str) -> None:
    result = session.release(QUERY, epsilon=1)
    out = tmp_path / "out"
    out.mkdir()
    result.save(out / "t.release.json")
    path = out / result.kept.file
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(content[:-8] if damage == "short" else content[:-1] + b"x")
    with pytest.raises(SpecError):
        results.load(out / "t.release.json")
    assert verification.problems(result.text, out)


def test_another_name_for_the_file_is_refused() -> None:
    kept = KeptValues("0" * 64, 3)
    for stated in (
        {**kept.to_document(), "file": "../../etc/passwd"},
        {**kept.to_document(), "more": 1},
        {**kept.to_document(), "number": "3"},
    ):
        with pytest.raises(SpecError):
            KeptValues.from_document(stated)


def test_a_document_without_its_folder_says_what_to_do(session: bp.Session) -> None:
    with pytest.raises(SpecError, match="beside the document"):
        results.from_text(session.release(QUERY, epsilon=1).text)


@pytest.mark.filterwarnings("ignore:the ledger holds this release")
@pytest.mark.parametrize("crash", ["settled", "record_answer"])
def test_a_crash_around_the_record_is_mended(
    session: bp.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crash: str
) -> None:
    """Before the record nothing was handed out; after it, what was recorded is handed out and nothing else."""
    plan = session.plan(QUERY, epsilon=1)

    def crashed(*arguments: Any) -> Any:
        if crash == "record_answer":
            arguments[2]()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run, crash, crashed)
        with pytest.raises(KeyboardInterrupt):
            session.release(plan)
    (pending,) = files(tmp_path / "a.ledger.values")
    assert pending.endswith(".pending")
    recorded = session.ledger.document(plan.key)
    assert (recorded is None) == (crash == "record_answer")
    result = session.release(plan)
    assert files(tmp_path / "a.ledger.values") == [result.kept.file]
    assert (result.kept.file in pending) == (crash == "settled")
    assert session.ledger.spent == 1


def test_of_two_that_run_at_once_the_recorded_one_stays(tmp_path: Path) -> None:
    pieces = [np.arange(3), np.arange(4)]
    one = keep(tmp_path / "v", "key", 7, iter(pieces))
    other = keep(tmp_path / "v", "key", 7, iter(pieces[::-1]))
    third = keep(tmp_path / "v", "other key", 4, iter(pieces[1:]))
    assert one != other
    settle(tmp_path / "v", "key", one)
    settle(tmp_path / "v", "key", one)
    assert one.read(tmp_path / "v").tolist() == [0, 1, 2, 0, 1, 2, 3]
    assert len(files(tmp_path / "v")) == 2
    settle(tmp_path / "v", "other key", third)
    assert files(tmp_path / "v") == sorted([one.file, third.file])


def test_nothing_is_left_of_a_draw_that_fails(tmp_path: Path) -> None:
    def fails() -> Any:
        yield np.arange(3)
        raise DataError("no.")

    with pytest.raises(DataError):
        keep(tmp_path, "key", 7, fails())
    with pytest.raises(DataError, match="different number"):
        keep(tmp_path, "key", 7, iter([np.arange(3)]))
    assert files(tmp_path) == []


def test_a_place_without_a_folder_keeps_the_limit(session: bp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MOST_VALUES", 1000)
    session.release(QUERY, epsilon=1)
    monkeypatch.setattr(SqliteLedger, "values_folder", None, raising=False)
    session.ledger.values_folder = None
    with pytest.raises(QueryError, match="too long for a ledger"):
        session.release(QUERY, epsilon=2)
    assert session.ledger.spent == 1


def test_a_disk_without_room_is_noticed_before_the_charge(session: bp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(DataError, match="beside the ledger"):
        session.release(QUERY, epsilon=1)
    assert session.ledger.entries() == ()


def test_a_disk_that_is_full_says_what_was_charged(session: bp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(document, "_write", full)
        with pytest.raises(BlowfishError, match=r"No space left.*was charged"):
            session.release(QUERY, epsilon=1)
    assert session.release(QUERY, epsilon=1).kept
    assert session.ledger.spent == 1
