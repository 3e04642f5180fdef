"""Files that are no ledger, names that are none, and ledgers that others hold on to."""

import os
import sqlite3
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from blowfish_privacy.errors import BlowfishWarning, LedgerError
from blowfish_privacy.ledger import SqliteLedger, composition, sqlite
from blowfish_privacy.ledger import ledger as ledger_module
from unit.ledger.samples import ledger_at as make
from unit.ledger.samples import load, request

ONE = Fraction(1)


def contents(folder: Path) -> dict[str, bytes]:
    return {place.name: place.read_bytes() for place in folder.iterdir()}


def other_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE account (one, budget)")
    connection.commit()
    connection.close()


FOREIGN = {
    "a picture": lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40),
    "a text": lambda path: path.write_text("epsilon,0.1\n" * 500),
    "a short text": lambda path: path.write_text("hello"),
    "nothing": lambda path: path.write_bytes(b""),
    "another database": other_database,
    "a bare header": lambda path: path.write_bytes(b"SQLite format 3\0"),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("budget", [ONE, None])
def test_a_foreign_file_is_refused_and_kept(tmp_path: Path, kind: str, budget: Fraction | None) -> None:
    path = tmp_path / "a.ledger"
    FOREIGN[kind](path)
    path.chmod(0o600)
    before = contents(tmp_path)
    with pytest.raises(LedgerError, match=r"(?i)hint:") as caught:
        SqliteLedger.open(path, budget=budget)
    assert caught.value.__cause__ is None
    assert contents(tmp_path) == before


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.9, 0.999])
def test_a_truncated_ledger_is_refused_and_kept(tmp_path: Path, share: float) -> None:
    path = tmp_path / "a.ledger"
    make(path).charge(**request("a"))
    make(path).record("a", "x" * 50_000)
    os.truncate(path, int(path.stat().st_size * share))
    before = contents(tmp_path)
    with pytest.raises(LedgerError, match=r"damaged or cut short|not a ledger"):
        make(path)
    assert contents(tmp_path) == before


def test_an_open_ledger_that_is_truncated_gives_clear_errors(tmp_path: Path) -> None:
    ledger = make(tmp_path / "a.ledger")
    ledger.charge(**request("a"))
    os.truncate(ledger.path, 5000)
    for use in (lambda: ledger.charge(**request("b")), lambda: ledger.remaining, ledger.verify):
        with pytest.raises(LedgerError, match="damaged or cut short"):
            use()


def test_a_directory_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="is not a file"):
        SqliteLedger.open(tmp_path, budget=ONE)


def test_a_missing_ledger_is_never_made_by_opening_it(tmp_path: Path) -> None:
    for budget in (ONE, None):
        with pytest.raises(LedgerError, match=r"there is no ledger a\.ledger .* Hint: .* ledger create .* create=True"):
            SqliteLedger.open(tmp_path / "a.ledger", budget=budget)
    with pytest.raises(LedgerError, match="no ledger"):
        SqliteLedger.open(tmp_path / "no folder" / "a.ledger")
    with pytest.raises(LedgerError, match="the folder .* does not exist"):
        SqliteLedger.create(tmp_path / "no folder" / "a.ledger", budget=ONE)
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("charged", [True, False])
def test_an_existing_ledger_is_never_made_again(tmp_path: Path, charged: bool) -> None:
    ledger = make(tmp_path / "a.ledger")
    if charged:
        ledger.charge(**request("a"))
    before = contents(tmp_path)
    with pytest.raises(LedgerError, match=r"a\.ledger already exists\. Hint: .* without create"):
        SqliteLedger.create(tmp_path / "a.ledger", budget=ONE)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_a_name_that_cannot_be_used_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(LedgerError):
        SqliteLedger.create(tmp_path / name, budget=ONE)
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("name", ["plain", "50% #1?mode=memory&x", "ünï 🐡", " spaced ", 'it\'s "quoted"', "a\nb"])
def test_odd_names_work(tmp_path: Path, name: str) -> None:
    make(tmp_path / name).charge(**request("a"))
    assert make(tmp_path / name).spent == Fraction(1, 10)
    assert list(contents(tmp_path)) == [name]


@pytest.mark.parametrize("budget", [Fraction(0), Fraction(-1), "nan", "one"])
def test_a_budget_is_above_zero(tmp_path: Path, budget) -> None:
    with pytest.raises(LedgerError, match="the budget must be"):
        SqliteLedger.create(tmp_path / "a.ledger", budget=budget)
    assert contents(tmp_path) == {}


def test_a_new_ledger_is_private_and_one_file(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        ledger = make(tmp_path / "a.ledger")
    finally:
        os.umask(old)
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    assert list(contents(tmp_path)) == ["a.ledger"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o602])
def test_a_ledger_open_to_others_warns(tmp_path: Path, mode: int) -> None:
    make(tmp_path / "a.ledger")
    (tmp_path / "a.ledger").chmod(mode)
    with pytest.warns(BlowfishWarning, match="other users"):
        make(tmp_path / "a.ledger")


@pytest.mark.parametrize("number", [0, 2])
def test_another_format_is_refused(tmp_path: Path, number: int) -> None:
    ledger = make(tmp_path / "a.ledger")
    with sqlite3.connect(ledger.path) as connection:
        connection.execute(f"PRAGMA user_version = {number}")
    connection.close()
    for open_it in (make, SqliteLedger.moved):
        with pytest.raises(LedgerError, match=f"format {number}, and this version reads format 1") as caught:
            open_it(ledger.path)
        assert caught.value.hint == "use the version of blowfish-privacy that made it."


def test_a_deleted_ledger_does_not_come_back(tmp_path: Path) -> None:
    ledger = make(tmp_path / "a.ledger")
    ledger.path.unlink()
    with pytest.raises(LedgerError, match="there is no ledger"):
        ledger.charge(**request("a"))
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("ending", ["-journal", "-wal"])
def test_a_log_that_a_deleted_ledger_left_is_not_played_into_a_new_one(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"a.ledger{ending}").write_bytes(b"what a killed process left behind")
    for use in (make, SqliteLedger.open, SqliteLedger.moved):
        with pytest.raises(LedgerError, match=rf"its log a\.ledger{ending} exists"):
            use(tmp_path / "a.ledger")


def test_of_two_makers_at_once_one_makes_the_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, link = tmp_path / "a.ledger", os.link

    def late(*given: Any, **named: Any) -> None:
        monkeypatch.setattr(os, "link", link)
        make(path).charge(**request("a"))
        link(*given, **named)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(LedgerError, match="already exists"):
        make(path)
    assert make(path).spent == Fraction(1, 10)
    assert list(contents(tmp_path)) == ["a.ledger"]


def test_a_wait_for_a_lock_is_bounded(tmp_path: Path) -> None:
    ledger = make(tmp_path / "a.ledger", timeout=0.05)
    holder = sqlite3.connect(ledger.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="locked for too long"):
        ledger.charge(**request("a"))
    assert ledger.remaining == 1
    holder.close()
    ledger.charge(**request("a"))
    assert sqlite.TIMEOUT == 60


def test_nobody_waits_while_a_price_is_worked_out_or_rows_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader's lock keeps writers from committing, so none is held for longer than it takes to copy rows."""
    ledger, others = make(tmp_path / "a.ledger"), iter("abcdefgh")
    impatient = make(tmp_path / "a.ledger", timeout=0.05)
    ledger.charge(**request("first", "1/100", "near"))

    def charging(real):
        def wrapped(*given):
            impatient.charge(**request(next(others), "1/100", "near"))
            return real(*given)

        return wrapped

    monkeypatch.setattr(composition, "price", charging(composition.price))
    monkeypatch.setattr(ledger_module, "verify_rows", charging(ledger_module.verify_rows))
    ledger.price(load("full"))
    make(tmp_path / "a.ledger").charge(**request("wide", "1/100", "full"))
    assert ledger.verify().ok
    assert len(ledger.entries()) >= 5


def test_two_ledgers_do_not_mix(tmp_path: Path) -> None:
    first, second = make(tmp_path / "a.ledger"), make(tmp_path / "b.ledger")
    first.charge(**request("a", "1/2"))
    second.charge(**request("a", "1/3", "near"))
    assert (first.spent, second.spent) == (Fraction(1, 2), Fraction(1, 3))
    assert first.base != second.base
