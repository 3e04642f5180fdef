"""Whatever is changed in a ledger behind its back, verification says so."""

import sqlite3
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from blowfish_privacy.domain import Subset
from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger import SqliteLedger
from blowfish_privacy.privacy.loss import Loss, changing, region_of
from unit.ledger.samples import PEOPLE, load, request

TAMPERED = {
    "a smaller epsilon": "UPDATE entries SET epsilon = '1/100', charged = '1/100' WHERE number = 2",
    "an amount that is none": "UPDATE entries SET epsilon = 'abc' WHERE number = 2",
    "an amount as a float": "UPDATE entries SET charged = 0.1 WHERE number = 2",
    "a zero denominator": "UPDATE entries SET charged = '1/0' WHERE number = 2",
    "a key": "UPDATE entries SET key = 'z' WHERE number = 2",
    "a content": "UPDATE entries SET content = 'z' WHERE number = 2",
    "a description": "UPDATE entries SET description = 'z' WHERE number = 2",
    "a time": "UPDATE entries SET made = '2000-01-01' WHERE number = 1",
    "a rule": "UPDATE entries SET rule = '' WHERE number = 1",
    "parts": """UPDATE entries SET detail = '{"parts": {}}' WHERE number = 1""",
    "a policy": "UPDATE policies SET canonical = replace(canonical, 'full', 'public')",
    "a policy and its hash": "UPDATE policies SET hash = 'abc' WHERE id = 1",
    "a policy's text": "UPDATE policies SET text = 'near5' WHERE text = 'near'",
    "a policy gone": "DELETE FROM policies",
    "another policy": "UPDATE entries SET policy = 2 WHERE number = 1",
    "the first entry gone": "DELETE FROM entries WHERE number = 1",
    "the last entry gone": "DELETE FROM entries WHERE number = 3",
    "all entries gone": "DELETE FROM entries",
    "an entry added": (
        "INSERT INTO entries SELECT 4, 'new', made, policy, epsilon, charged, rule, description, content, "
        "mechanism, detail, chain, measure, loss FROM entries WHERE number = 3"
    ),
    "another class charged": """UPDATE entries SET loss = replace(loss, 'every', 'all') WHERE number = 2""",
    "a smaller loss": """UPDATE entries SET loss = '[]' WHERE number = 2""",
    "no loss": """UPDATE entries SET loss = '' WHERE number = 2""",
    "another measure": """UPDATE entries SET measure = 'rho' WHERE number = 2""",
    "a document": "UPDATE documents SET text = 'z' WHERE number = 1",
    "a document and its hash": (
        "UPDATE documents SET text = 'z', "
        "sha256 = '594e519ae499312b29433b7dd8a97ff068defcba9755b6d5d00e84c524d67b06' WHERE number = 1"
    ),
    "a document's bytes": "UPDATE documents SET text = x'00ff' WHERE number = 1",
    "a document of another entry": "UPDATE documents SET entry = 3 WHERE number = 2",
    "a document gone": "DELETE FROM documents WHERE number = 2",
    "all documents gone": "DELETE FROM documents",
    "the balance": "UPDATE account SET spent = '0/1'",
    "a balance": "UPDATE balances SET amount = '1/9'",
    "a balance gone": "DELETE FROM balances",
    "a balance added": "INSERT INTO balances VALUES ('attribute', 'age', '{}', '1/9', 1)",
    "a balance of another class": "UPDATE balances SET kind = 'all'",
    "a balance in a region that is none": "UPDATE balances SET within = '{\"age\":[[3,1]]}'",
    "a balance of another entry": "UPDATE balances SET entry = 1",
    "the budget": "UPDATE account SET budget = '5/1'",
    "the number of entries": "UPDATE account SET entries = 2",
}


@pytest.fixture
def ledger(tmp_path: Path) -> SqliteLedger:
    ledger = SqliteLedger.create(tmp_path / "a.ledger", budget=Fraction(1), load_policy=load)
    ledger.charge(**request("a", policy="near"))
    ledger.charge(**request("b"))
    ledger.charge(**request("c", policy="near"))
    ledger.record("a", '{"a": 1}')
    ledger.record("b", '{"b": 1}')
    assert ledger.verify().ok
    return ledger


def tamper(ledger: SqliteLedger, *statements: str) -> None:
    connection = sqlite3.connect(ledger.path, isolation_level=None)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("kind", TAMPERED)
def test_tampering_is_noticed(ledger: SqliteLedger, kind: str) -> None:
    tamper(ledger, TAMPERED[kind])
    again = SqliteLedger.open(ledger.path, load_policy=load)
    report = again.verify()
    assert report.problems
    assert not report.ok
    assert all(problem.endswith(".") for problem in report.problems)


def test_a_lost_balance_is_an_error(ledger: SqliteLedger) -> None:
    tamper(ledger, "DELETE FROM account")
    with pytest.raises(LedgerError, match="lost its balance"):
        ledger.verify()


def test_the_report_counts_from_the_rows(ledger: SqliteLedger) -> None:
    tamper(ledger, "UPDATE account SET spent = '1/100'")
    report = ledger.verify()
    assert (report.entries, report.documents, report.budget, report.spent) == (3, 2, 1, Fraction(3, 10))
    assert report.problems == ("the entries add up to 0.3, but the balance says 0.01 is spent.",)


def test_a_changed_document_is_never_handed_out(ledger: SqliteLedger) -> None:
    tamper(ledger, TAMPERED["a document"])
    with pytest.raises(LedgerError, match="was changed"):
        ledger.document("a")
    with pytest.raises(LedgerError, match="was changed"):
        ledger.record("a", "new")
    assert ledger.document("b") == '{"b": 1}'


def test_a_price_too_low_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from blowfish_privacy.ledger import composition

    ledger = SqliteLedger.create(tmp_path / "a.ledger", budget=Fraction(1), load_policy=load)
    with monkeypatch.context() as patch:
        patch.setattr(composition, "price", lambda base, policy: composition.SAME_POLICY)
        ledger.charge(**request("a", policy="near5"))
        ledger.charge(**request("b", policy="near"))
    assert ledger.verify().problems == ("entry 2 was charged less than its price, 5 times its epsilon.",)
    assert SqliteLedger.open(ledger.path).verify().ok


FAILURES_TAMPERED = {
    "a failure gone": "DELETE FROM failures WHERE number = 2",
    "all failures gone": "DELETE FROM failures",
    "a failure of another entry": "UPDATE failures SET entry = 3 WHERE number = 2",
    "a failure's time": "UPDATE failures SET made = '2000-01-01' WHERE number = 1",
    "a failure added": "INSERT INTO failures SELECT 3, 3, made, chain FROM failures WHERE number = 2",
    "the number of failures": "UPDATE account SET failures = 0",
    "an entry that failed": "DELETE FROM entries WHERE number = 2",
}


@pytest.mark.parametrize("kind", FAILURES_TAMPERED)
def test_tampering_with_failures_is_noticed(tmp_path: Path, kind: str) -> None:
    ledger = SqliteLedger.create(tmp_path / "a.ledger", budget=Fraction(1), load_policy=load)
    for number in (1, 2, 3):
        ledger.charge(**request(str(number), policy="stated 1"))
    ledger.fail("1")
    ledger.fail("2")
    ledger.record("3", "noise")
    assert ledger.verify().ok
    tamper(ledger, FAILURES_TAMPERED[kind])
    assert ledger.verify().problems


def test_rows_of_failures_are_guarded_against_accidents(tmp_path: Path) -> None:
    ledger = SqliteLedger.create(tmp_path / "a.ledger", budget=Fraction(1), load_policy=load)
    ledger.charge(**request("1", policy="stated 1"))
    ledger.fail("1")
    connection = sqlite3.connect(ledger.path, isolation_level=None)
    for statement in ("DELETE FROM failures", "UPDATE failures SET entry = 2"):
        with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("table", ["account", "policies", "entries", "documents", "balances"])
@pytest.mark.parametrize("verb", ["DELETE FROM {}", "UPDATE {} SET rowid = rowid"])
def test_rows_are_guarded_against_accidents(ledger: SqliteLedger, table: str, verb: str) -> None:
    fixed = {
        "UPDATE account": "UPDATE account SET budget = '9/1'",
        "UPDATE balances": "UPDATE balances SET within = ''",
    }
    statement = fixed.get(f"{verb.split()[0]} {table}", verb)
    connection = sqlite3.connect(ledger.path, isolation_level=None)
    with pytest.raises(sqlite3.IntegrityError, match="ledger"):
        connection.execute(statement.format(table))
    connection.close()
    assert ledger.verify().ok


def test_damaged_pages_are_noticed_where_it_matters(ledger: SqliteLedger) -> None:
    whole = ledger.path.read_bytes()
    truth = ledger.entries(), ledger.remaining, ledger.document("a"), ledger.document("b")
    noticed = 0
    for place in range(100, len(whole), 256):
        ledger.path.write_bytes(whole[:place] + b"\xa5" * 256 + whole[place + 256 :])
        found = _verified(ledger.path)
        # Bytes that nothing uses may change unnoticed.
        if found is not None:
            assert truth == (found.entries(), found.remaining, found.document("a"), found.document("b"))
        noticed += found is None
    assert noticed > 5


def _verified(path: Path) -> SqliteLedger | None:
    try:
        ledger = SqliteLedger.open(path, load_policy=load)
        return ledger if ledger.verify().ok else None
    except LedgerError:
        return None


def test_a_damaged_trigger_is_said_to_be_damage(ledger: SqliteLedger) -> None:
    """SQLite quotes the text in its error, and the text is no longer UTF-8."""
    stored = ledger.path.read_bytes()
    assert b"CREATE TRIGGER" in stored
    ledger.path.write_bytes(stored.replace(b"BEGIN SELECT RAISE", b"BEGIN \xff\xfe\xfd\xfc\xfb\xfa RAISE"))
    with pytest.raises(LedgerError, match="damaged"):
        ledger.charge(**request("z"))
    with pytest.raises(LedgerError, match="damaged"):
        SqliteLedger.open(ledger.path)


def test_a_charge_without_an_entry_is_refused(ledger: SqliteLedger) -> None:
    """The policy is found by its hash, and is no longer the one it was: a charge that costs nothing has no balance."""
    tamper(ledger, "UPDATE policies SET canonical = canonical || ' '")
    before, free = ledger.entries(), {"loss": Loss.of({})}
    for more in (free, {}):
        with pytest.raises(LedgerError):
            ledger.charge(**(request("new") | more))
    assert ledger.entries() == before


def test_a_charge_needs_sound_pages(tmp_path: Path) -> None:
    """Each page zeroed in turn: the charge relies on sound ones and its document is stored, or nothing is charged."""
    path, page = tmp_path / "a.ledger", 4096
    ledger = SqliteLedger.create(path, budget=Fraction(1), load_policy=load)
    for number in range(30):
        regions = region_of(PEOPLE, {"age": Subset.span(number % 7, 7 + number % 11)})
        lost = {replace(changing("age"), within=regions): Fraction(1, 200), changing("sex"): Fraction(1, 300)}
        more = {"loss": Loss.of(lost), "description": "d" * 300}
        ledger.charge(**(request(str(number), policy="people") | more))
        ledger.record(str(number), "x" * 9000)
    whole, refused = path.read_bytes(), 0

    def use() -> tuple[object, ...]:
        opened = SqliteLedger.open(path, load_policy=load)
        entry = opened.charge(
            **(request("new", policy="people") | {"loss": Loss.of({changing("age"): Fraction(1, 9)})})
        )
        return replace(entry, made="", chain=""), opened.lost, opened.base, opened.spent

    expected = use()
    for start in range(0, len(whole), page):
        damaged = whole[:start] + bytes(page) + whole[start + page :]
        path.write_bytes(damaged)
        try:
            found = use()
        except LedgerError:
            refused += 1
            assert path.read_bytes() == damaged
            continue
        assert found == expected
        assert SqliteLedger.open(path).record("new", "noise") == "noise"
        connection = sqlite3.connect(path)
        for table in ("account", "balances", "failures", "place"):
            assert connection.execute(f"PRAGMA integrity_check({table})").fetchall() == [("ok",)]
        connection.close()
        # Pages of old entries and documents, which verification reads.
        assert _verified(path) is None
    pages = len(whole) // page
    # 13 tables and indices have at least a page, of which a charge relies on all; 30 documents have two pages of text.
    assert 13 < refused < pages - 60
