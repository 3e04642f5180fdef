"""Ledgers of format 1, written by an earlier version, are brought to this version's format when they are opened."""

import os
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

import blowfish_privacy as bp
from blowfish_privacy.cli.main import run
from blowfish_privacy.domain import Subset
from blowfish_privacy.errors import LedgerError, RefusalError
from blowfish_privacy.ledger import SqliteLedger, sqlite
from blowfish_privacy.privacy.loss import ALL, EVERY, PRESENCE, Loss, PairClass, changing
from blowfish_privacy.privacy.measure import EPSILON, RHO
from blowfish_privacy.session import load_policy
from blowfish_privacy.statements.ledger import WholeRecord, loss_words, lost_on_pair, lost_on_whole_record
from unit.ledger.samples import ledger_at, request

TESTS = Path(__file__).parents[2]
OLD = TESTS / "data/ledgers/format-1"
ROWS = {
    "regions.ledger": [
        ("ages", "1/5", "1/5"),
        ("sums", "1/10", "1/10"),
        ("mean", "1/10", "1/10"),
        ("free", "0", "0"),
        ("m2", "1/50", "1/10"),
    ],
    "facts.ledger": [("wages", "1/2", "1/2"), ("failed", "1/4", "1/4"), ("sexes", "0", "0")],
}


@pytest.fixture(params=ROWS)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = Path(shutil.copy(OLD / request.param, tmp_path))
    path.chmod(0o600)
    return path


def rows(path: Path) -> list[tuple]:
    connection = sqlite3.connect(path)
    tables = {"policies": 4, "entries": 11, "documents": 6}
    found = [row[:columns] for table, columns in tables.items() for row in connection.execute(f"SELECT * FROM {table}")]
    connection.close()
    return found


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return found


def test_rows_and_hashes_are_kept_and_verified(old: Path) -> None:
    before = rows(OLD / old.name)
    ledger = SqliteLedger.open(old, load_policy=load_policy)
    assert [(e.key, str(e.epsilon), str(e.charged)) for e in ledger.entries()] == ROWS[old.name]
    # What was written before there were classes counts in full on all pairs.
    assert [(e.version, dict(e.loss)) for e in ledger.entries()] == [
        (1, {EVERY: e.charged} if e.charged else {}) for e in ledger.entries()
    ]
    report, spent = ledger.verify(), sum(Fraction(charged) for *_, charged in ROWS[old.name])
    assert (report.problems, report.spent, ledger.spent) == ((), spent, spent)
    # Every class of the ledger's policy counts it.
    assert set(ledger.balances.values()) == {spent}
    assert dict(ledger.lost) == {EVERY: spent}
    assert rows(old) == before
    assert os.listdir(old.parent) == [old.name]
    assert version(old) == sqlite.VERSION
    # Changed behind its back, it shows as before.
    connection = sqlite3.connect(old)
    connection.execute("DROP TRIGGER entries_update")
    connection.execute("UPDATE entries SET made = '2000' WHERE number = 1")
    connection.commit()
    connection.close()
    assert "entry 1 was changed" in ledger.verify().problems[0]


def test_entries_that_do_not_add_up_are_not_summed_up_anew(old: Path) -> None:
    connection = sqlite3.connect(old)
    connection.execute("UPDATE account SET spent = '1/100'")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="do not add up"):
        SqliteLedger.open(old)
    assert version(old) == 1


def test_it_has_the_tables_of_a_new_one(old: Path, tmp_path: Path) -> None:
    SqliteLedger.open(old)
    new = ledger_at(tmp_path / "new.ledger")

    def schema(path: Path) -> list[tuple]:
        connection = sqlite3.connect(path)
        found = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").fetchall()
        connection.close()
        return found

    assert schema(old) == schema(new.path)


def test_it_goes_on(old: Path) -> None:
    ledger = SqliteLedger.open(old, load_policy=load_policy)
    policy = load_policy(ledger.base.text)
    data = {"regions.ledger": bp.Counts([[1] * 4] * 74), "facts.ledger": bp.Counts([[1, 2, 2], [3, 3, 1]])}[old.name]
    left = ledger.remaining
    bp.Session(data, policy, ledger=ledger).release(bp.Histogram(policy.domain.names[0]), epsilon="0.1", key="new")
    assert ledger.remaining in (left, left - Fraction(1, 10))
    assert ledger.entries()[-1].version == 2
    assert ledger.verify().problems == ()


def test_a_charge_that_is_still_in_the_log_is_played_in(old: Path, tmp_path: Path) -> None:
    """A process of the version before that was killed leaves its last charges in the log beside the file."""
    script = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA wal_autocheckpoint = 0'); "
        "c.execute('CREATE TABLE mark (x)'); c.commit(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, old], check=True)
    assert Path(f"{old}-wal").stat().st_size
    SqliteLedger.open(old)
    assert sorted(os.listdir(tmp_path)) == [old.name]
    connection = sqlite3.connect(old)
    assert connection.execute("SELECT count(*) FROM mark").fetchone() == (0,)
    connection.close()


def test_it_has_a_place_from_then_on(old: Path, tmp_path: Path) -> None:
    os.link(old, tmp_path / "second")
    with pytest.raises(LedgerError, match="hard links"):
        SqliteLedger.open(old)
    (tmp_path / "second").unlink()
    assert SqliteLedger.moved(old).path == old
    old.rename(tmp_path / "elsewhere")
    with pytest.raises(LedgerError, match="is not in its place"):
        SqliteLedger.open(tmp_path / "elsewhere")


def test_many_may_open_it_at_once(old: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(lambda _: SqliteLedger.open(old, load_policy=load_policy), range(8)))
    assert all(ledger.verify().ok for ledger in opened)


def test_a_reader_of_the_old_version_is_waited_for_and_not_for_ever(old: Path) -> None:
    holder = sqlite3.connect(old, isolation_level=None)
    holder.execute("BEGIN")
    holder.execute("SELECT * FROM account").fetchone()
    with pytest.raises(LedgerError, match="migrated to ledger format 4, but other processes are using it"):
        SqliteLedger.open(old, timeout=0.1)
    holder.close()
    assert SqliteLedger.open(old, timeout=0.1).verify().ok


STEPS = """
import os, sqlite3, sys
from blowfish_privacy.ledger import SqliteLedger
left = int(sys.argv[2])
class Dying(sqlite3.Connection):
    def execute(self, *given):
        global left
        left -= 1
        if left < 0:
            os._exit(7)
        return super().execute(*given)
connect = sqlite3.connect
sqlite3.connect = lambda *given, **named: connect(*given, factory=Dying, **named)
SqliteLedger.open(sys.argv[1])
"""


def test_a_crash_leaves_it_old_or_new(old: Path) -> None:
    """Killed before each of the statements in turn; then opened as if nothing had been."""
    before, versions = rows(OLD / old.name), []
    for statement in range(0, 60, 6):
        shutil.copyfile(OLD / old.name, old)
        old.chmod(0o600)
        done = subprocess.run(
            [sys.executable, "-c", STEPS, old, str(statement)],
            env={**os.environ, "PYTHONPATH": str(TESTS)},
            capture_output=True,
            check=False,
        )
        versions.append(version(old))
        ledger = SqliteLedger.open(old, load_policy=load_policy)
        assert ledger.verify().ok
        assert rows(old) == before
        ledger.path.unlink()
        if done.returncode == 0:
            break
        assert done.returncode == 7, done.stderr
    assert set(versions) == {1, 4}


def test_the_command_warns_in_words(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old.chmod(0o644)
    assert run(["ledger", "show", str(old)]) == 0
    said = capsys.readouterr().err
    assert said == f"Warning: the ledger {old.name} is open to other users of this machine. Hint: chmod 600 it.\n"


def test_a_ledger_of_format_2_goes_on_in_its_new_place(tmp_path: Path) -> None:
    path = Path(shutil.copy(TESTS / "data/ledgers/format-2/people.ledger", tmp_path))
    path.chmod(0o600)
    with pytest.raises(LedgerError, match="is not in its place"):
        SqliteLedger.open(path, load_policy=load_policy)
    shutil.copyfile(TESTS / "data/ledgers/format-2/people.ledger", path)
    SqliteLedger.moved(path)
    ledger = SqliteLedger.open(path, load_policy=load_policy)
    assert version(path) == sqlite.VERSION
    assert [(e.key, e.version, dict(e.loss)) for e in ledger.entries()] == [
        ("ages", 1, {EVERY: Fraction(1, 4)}),
        ("both", 1, {EVERY: Fraction(1, 2)}),
    ]
    policy = load_policy(ledger.base.text)
    bp.Session(bp.Counts([[1, 1]] * 10), policy, ledger=ledger).release(bp.Histogram("age"), epsilon="0.25", key="new")
    assert dict(ledger.entries()[-1].loss) == {changing("age"): Fraction(1, 4)}
    assert (ledger.remaining, ledger.verify().problems) == (1, ())


def test_what_a_ledger_of_format_3_charged_by_class_is_counted_by_class(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "a.ledger")
    half = Fraction(1, 2)
    for name in ("age", "sex"):
        ledger.charge(**(request(name, policy="people") | {"loss": Loss.of({changing(name): half})}))
    connection = sqlite3.connect(ledger.path)
    connection.execute("DROP TABLE balances")
    connection.execute("DROP INDEX entries_of_policy")
    # That format added up the largest loss of every entry.
    connection.execute("UPDATE account SET spent = '1/1'")
    connection.execute("PRAGMA user_version = 3")
    connection.commit()
    connection.close()
    again = ledger_at(ledger.path)
    assert (again.spent, again.balances) == (half, {"age": half, "sex": half})
    assert again.verify().problems == ()


STORED = {
    "approximate": ("epsilon 1 at delta 1e-9", "14973/1000000", "286819/100000000"),
    "rho": ("rho 0.05", "1/20", "1/200"),
}
"""Of two ledgers in which the same was charged: the budget, its amount, and what the pure release of sexes cost."""


def concentrated(folder: Path, name: str) -> SqliteLedger:
    """A copy of one of them, in its new place."""
    path = Path(shutil.copy(TESTS / f"data/ledgers/format-4/{name}.ledger", folder))
    path.chmod(0o600)
    SqliteLedger.moved(path)
    return SqliteLedger.open(path, load_policy=load_policy)


@pytest.mark.parametrize("name", STORED)
def test_ledgers_that_admit_gaussian_noise_are_read_back(tmp_path: Path, name: str) -> None:
    """They were written when such budgets were new: what they mean must never change."""
    ledger = concentrated(tmp_path, name)
    words, budget, sexes = STORED[name]
    assert (ledger.terms.words, ledger.budget, version(ledger.path)) == (
        words,
        Fraction(budget),
        sqlite.VERSION,
    )
    assert [(e.key, e.requested, e.charged) for e in ledger.entries()] == [
        ("ages", (RHO, Fraction(1, 250)), Fraction(1, 250)),
        ("sexes", (EPSILON, Fraction(1, 10)), Fraction(sexes)),
        ("both", (EPSILON, Fraction(1, 20)), Fraction(1, 800)),
    ]
    assert ledger.balances == {"age": Fraction(21, 4000), "sex": Fraction(sexes) + Fraction(1, 800)}
    assert ledger.verify().problems == ()
    policy = load_policy(ledger.base.text)
    bp.Session(bp.Counts([[1, 2]] * 10), policy, ledger=ledger).release(bp.Histogram("sex"), rho="0.001", key="new")
    assert Fraction(sexes) < ledger.balances["sex"] <= Fraction(sexes) + Fraction(1, 800) + Fraction("0.001")
    assert ledger.verify().problems == ()


@pytest.mark.parametrize("name", STORED)
def test_rows_of_a_stored_document_show_what_a_pair_lost(tmp_path: Path, name: str) -> None:
    ledger = concentrated(tmp_path, name)
    ages = {"age": 0}, {"age": 9}
    # Five steps of at most 2; a histogram changes in two counts, however far a record moves.
    assert ledger.pair_loss(*ages).losses == ((RHO, Fraction(25, 250)), (EPSILON, 0), (EPSILON, Fraction(5, 20)))
    assert lost_on_pair(ledger, *ages).losses == ((RHO, Fraction(1, 250)), (EPSILON, 0), (EPSILON, Fraction(1, 20)))
    whole = {"age": 0, "sex": "F"}, {"age": 9, "sex": "M"}
    by_rows = lost_on_pair(ledger, *whole)
    assert by_rows.losses == ((RHO, Fraction(1, 250)), (EPSILON, Fraction(1, 10)), (EPSILON, Fraction(1, 20)))
    assert lost_on_whole_record(ledger) == WholeRecord(6, (by_rows,))
    assert loss_words(by_rows).startswith("rho 0.0")


def test_a_pure_ledger_refuses_gaussian_noise(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "a.ledger")
    asked = request("a") | {"loss": Loss.alike((ALL,), Fraction(1, 9), RHO)}
    for ask in (lambda: ledger.charge(**asked), lambda: ledger.quote(asked["loss"], asked["policy"])):
        with pytest.raises(RefusalError, match="promises that nothing fails"):
            ask()
    assert (ledger.spent, ledger.entries()) == (0, ())
    # What tells nothing costs nothing, however it is measured.
    assert ledger.charge(**(asked | {"loss": Loss.of({}, RHO)})).charged == 0
    assert ledger.verify().ok


def test_a_retry_must_have_paid_for_every_class(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "a.ledger")
    asked = request("a", policy="public sex")
    ledger.charge(**(asked | {"loss": Loss.of({changing("age"): Fraction(1, 10)})}))
    with pytest.raises(LedgerError, match="but paid 0.1"):
        ledger.charge(**(asked | {"loss": Loss.of({PRESENCE: Fraction(1, 10)})}))


def test_verification_knows_the_classes_of_a_policy(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "a.ledger")
    ledger.charge(**(request("a") | {"loss": Loss.of({changing("shoe size"): Fraction(1, 10)})}))
    assert "secret pairs that its policy does not have" in ledger.verify().problems[0]


def test_verification_knows_the_domain_of_a_policy(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "a.ledger")
    pairs = PairClass("attribute", "age", (("sex", Subset.of([2])),))
    ledger.charge(**(request("a", policy="people") | {"loss": Loss.of({pairs: Fraction(1, 10)})}))
    assert "a region that is not in the domain" in ledger.verify().problems[0]
