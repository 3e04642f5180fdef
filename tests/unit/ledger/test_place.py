"""One ledger under two paths, copies, moves and mounts: a charge is never made where another path may not see it."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from fractions import Fraction
from pathlib import Path

import pytest

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger import SqliteLedger
from unit.ledger.mounts import run_mounted
from unit.ledger.samples import ledger_at, load, request

TESTS = Path(__file__).parents[2]


def charged(path: Path) -> SqliteLedger:
    """A ledger of budget 1 of which 1/10 is spent."""
    ledger = ledger_at(path)
    ledger.charge(**request("a"))
    return ledger


def refused(path: Path, said: str) -> None:
    """Every way in is closed, and nothing is written."""
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=said):
        SqliteLedger.open(path)
    assert path.read_bytes() == before
    assert not path.with_name(f"{path.name}-journal").exists()


def test_a_hard_link_is_refused_under_both_names_at_every_operation(tmp_path: Path) -> None:
    ledger = charged(tmp_path / "a.ledger")
    os.link(ledger.path, tmp_path / "b.ledger")
    for path in (ledger.path, tmp_path / "b.ledger"):
        refused(path, r"has 2 names \(hard links\)")
    uses = (
        lambda: ledger.charge(**request("b")),
        lambda: ledger.record("a", "text"),
        lambda: ledger.remaining,
        ledger.verify,
    )
    for use in uses:
        with pytest.raises(LedgerError, match="hard links"):
            use()
    (tmp_path / "b.ledger").unlink()
    assert ledger.remaining == Fraction(9, 10)


RACE = """
import json, os, sys, time
from fractions import Fraction
from blowfish_privacy.errors import BudgetError, LedgerError
from blowfish_privacy.ledger import SqliteLedger
from unit.ledger.samples import load, request

path, number, first = sys.argv[1], sys.argv[2], sys.argv[3]
started = os.getppid()
while not os.path.exists(path):
    # Whoever waits for a link that is never made ends with the test.
    if os.getppid() != started:
        sys.exit(1)
    time.sleep(0.0002)
handed_out = 0
for charge in range(60):
    try:
        ledger = SqliteLedger.open(path, budget=None, load_policy=load)
        ledger.charge(**request(f"{number} {charge}", Fraction(1, 50)))
        ledger.record(f"{number} {charge}", "noise")
    except BudgetError:
        break
    except LedgerError:
        # A moment in which the path is refused; somebody who races tries again.
        continue
    handed_out += 1
    if charge == 5 and number == "0":
        os.link(first, sys.argv[4])
print(json.dumps(handed_out))
"""


def race(*paths: tuple[Path, str, Path, Path]) -> int:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(path), number, str(first), str(second)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for path, number, first, second in paths
    ]
    return sum(json.loads(racer.communicate(timeout=120)[0]) for racer in racers)


def test_processes_that_race_through_a_hard_link_spend_one_budget(tmp_path: Path) -> None:
    first, second = ledger_at(tmp_path / "a.ledger").path, tmp_path / "b.ledger"
    # The link is made while the first process is charging; from then on both spend as fast as they can.
    handed_out = race((first, "0", first, second), (second, "1", first, second))
    assert handed_out <= 50
    second.unlink(missing_ok=True)
    ledger = SqliteLedger.open(first, load_policy=load)
    assert ledger.verify().problems == ()
    assert ledger.verify().documents == handed_out


CHARGE = """
import sys
from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger import SqliteLedger
from unit.ledger.samples import load, request
try:
    SqliteLedger.open(sys.argv[1], budget=None, load_policy=load).charge(**request("mounted", "1"))
    print("charged")
except LedgerError as error:
    print(error)
"""


@pytest.fixture
def charge(tmp_path: Path) -> Path:
    program = tmp_path / "charge.py"
    program.write_text(CHARGE)
    return program


def test_a_file_mounted_alone_is_refused(tmp_path: Path, charge: Path) -> None:
    ledger = ledger_at(tmp_path / "a.ledger")
    (tmp_path / "container").mkdir()
    inside = tmp_path / "container/a.ledger"
    inside.touch()
    said = run_mounted(f"mount --bind '{ledger.path}' '{inside}'", charge, inside)
    assert "is not in its place" in said
    assert "mount its folder, not the file" in said
    ledger.charge(**request("a", "1"))
    assert ledger.remaining == 0


def test_a_folder_mounted_elsewhere_is_the_same_place(tmp_path: Path, charge: Path) -> None:
    (tmp_path / "host").mkdir()
    (tmp_path / "container").mkdir()
    ledger = ledger_at(tmp_path / "host/a.ledger")
    inside = tmp_path / "container/a.ledger"
    said = run_mounted(f"mount --bind '{tmp_path}/host' '{tmp_path}/container'", charge, inside)
    assert said == "charged\n"
    assert ledger.remaining == 0


def test_a_symbolic_link_is_the_same_place(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    ledger = charged(tmp_path / "a/a.ledger")
    (tmp_path / "link.ledger").symlink_to(ledger.path)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for path in (tmp_path / "link.ledger", tmp_path / "b/a.ledger"):
        linked = SqliteLedger.open(path, load_policy=load)
        assert linked.path == ledger.path
        linked.charge(**request(path.name))
    assert ledger.spent == Fraction(3, 10)
    assert os.listdir(tmp_path / "a") == ["a.ledger"]


@pytest.mark.parametrize("where", ["b.ledger", "folder/a.ledger", "folder/b.ledger"])
@pytest.mark.parametrize("how", [shutil.copy2, shutil.move])
def test_a_copy_or_a_move_is_refused_until_it_is_recorded(tmp_path: Path, where: str, how) -> None:
    ledger = charged(tmp_path / "a.ledger")
    (tmp_path / "folder").mkdir()
    place = tmp_path / where
    how(ledger.path, place)
    refused(place, r"is not in its place: the ledger was recorded as a\.ledger in .* ledger moved")
    if how is shutil.copy2 and where == "b.ledger":
        with pytest.raises(LedgerError, match=r"is a copy of a\.ledger, which still exists"):
            SqliteLedger.moved(place)
        return
    assert SqliteLedger.moved(place).spent == Fraction(1, 10)
    SqliteLedger.open(place, load_policy=load).charge(**request("b"))
    if how is shutil.copy2:
        # What nobody can notice: two copies that the custodian says are one. The first is as it was.
        assert ledger.remaining == Fraction(9, 10)
    else:
        shutil.move(place, ledger.path)
        refused(ledger.path, "is not in its place")


def test_a_folder_that_moves_takes_its_ledger_along(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    charged(tmp_path / "old/a.ledger")
    (tmp_path / "old").rename(tmp_path / "new")
    assert ledger_at(tmp_path / "new/a.ledger").spent == Fraction(1, 10)


def test_a_file_put_back_from_a_copy_is_noticed(tmp_path: Path) -> None:
    ledger = charged(tmp_path / "a.ledger")
    shutil.copy2(ledger.path, tmp_path / "backup")
    ledger.charge(**request("b", "9/10"))
    os.replace(tmp_path / "backup", ledger.path)
    refused(ledger.path, "is not the file that was there before: .* Charges made since the copy are not in it")
    with pytest.raises(LedgerError, match="not the file that was there before"):
        ledger.charge(**request("c", "9/10"))
    assert SqliteLedger.moved(ledger.path).spent == Fraction(1, 10)
    ledger.charge(**request("c"))


CRASH = """
import os, sqlite3, sys
from blowfish_privacy.ledger import SqliteLedger, sqlite
from unit.ledger.samples import load, request

append = sqlite.SqliteStore.append
def append_and_spill(self, *given, **named):
    append(self, *given, **named)
    # The journal is on disk, and pages of the transaction are in the file, as in the middle of a commit.
    self._connection.execute("PRAGMA cache_size = 1")
    self._connection.execute("CREATE TABLE filler AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                             "WHERE i < 3000) SELECT i, hex(randomblob(100)) AS x FROM n")
    os._exit(7)
sqlite.SqliteStore.append = append_and_spill
SqliteLedger.open(sys.argv[1], load_policy=load).charge(**request("lost"))
"""


@pytest.fixture
def crashed(tmp_path: Path) -> SqliteLedger:
    """A ledger whose last writer was killed in the middle of writing: its journal is hot."""
    ledger = charged(tmp_path / "a.ledger")
    done = subprocess.run(
        [sys.executable, "-c", CRASH, ledger.path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 7, done.stderr
    assert (tmp_path / "a.ledger-journal").stat().st_size > 1000
    return ledger


def test_a_hot_journal_is_played_in_at_its_place(crashed: SqliteLedger) -> None:
    assert crashed.spent == Fraction(1, 10)
    assert crashed.verify().ok
    assert os.listdir(crashed.path.parent) == ["a.ledger"]


def test_a_ledger_moved_without_its_journal_is_refused(crashed: SqliteLedger) -> None:
    moved = crashed.path.with_name("b.ledger")
    crashed.path.rename(moved)
    refused(moved, "is not in its place")
    with pytest.raises(LedgerError, match=r"moved without its log a\.ledger-journal"):
        SqliteLedger.moved(moved)
    moved.rename(crashed.path)
    assert crashed.spent == Fraction(1, 10)


def test_a_ledger_half_written_cannot_be_moved(tmp_path: Path) -> None:
    """Any of the pages that a charge changes may be in the file when a writer is killed, and its journal lost."""
    ledger, size = charged(tmp_path / "a.ledger"), 4096
    before = ledger.path.read_bytes()
    ledger.charge(**request("b", "1/100", "near"))
    after = ledger.path.read_bytes()
    changed = [at for at in range(0, len(after), size) if before[at : at + size] != after[at : at + size]]
    assert len(changed) >= 4
    (tmp_path / "folder").mkdir()
    moved, outcomes = tmp_path / "folder/a.ledger", set()
    for chosen in range(2 ** len(changed)):
        mixed = bytearray(before.ljust(len(after), b"\0"))
        for bit, at in enumerate(changed):
            if chosen >> bit & 1:
                mixed[at : at + size] = after[at : at + size]
        moved.write_bytes(mixed)
        moved.chmod(0o600)
        try:
            outcomes.add(SqliteLedger.moved(moved).spent)
        except LedgerError:
            outcomes.add(None)
    # Refused, or as if the charge had not been, or whole.
    assert outcomes == {None, Fraction(1, 10), Fraction(3, 10)}


def test_a_journal_left_under_an_old_path_undoes_no_charge(crashed: SqliteLedger, tmp_path: Path) -> None:
    journal = tmp_path / "a.ledger-journal"
    stale = journal.read_bytes()
    assert crashed.spent == Fraction(1, 10)
    (tmp_path / "folder").mkdir()
    # The ledger gets a new place and goes on there; what a crash left under the old path is still there.
    crashed.path.rename(tmp_path / "folder/a.ledger")
    ledger = SqliteLedger.moved(tmp_path / "folder/a.ledger")
    for number in range(5):
        SqliteLedger.open(ledger.path, load_policy=load).charge(**request(f"new {number}"))
    state = ledger.path.read_bytes()
    # Back at the old path: SQLite itself would play the journal in, and take the charges back.
    shutil.copy(ledger.path, tmp_path / "control")
    (tmp_path / "control-journal").write_bytes(stale)
    control = sqlite3.connect(tmp_path / "control")
    assert control.execute("SELECT count(*) FROM entries").fetchone() == (1,)
    control.close()
    os.rename(ledger.path, crashed.path)
    journal.write_bytes(stale)
    with pytest.raises(LedgerError, match="is not in its place"):
        SqliteLedger.open(crashed.path)
    with pytest.raises(LedgerError, match="is not in its place"):
        crashed.charge(**request("b"))
    with pytest.raises(LedgerError, match="which a crash left behind"):
        SqliteLedger.moved(crashed.path)
    assert crashed.path.read_bytes() == state
    journal.unlink()
    assert SqliteLedger.moved(crashed.path).spent == Fraction(6, 10)


def test_looking_at_the_place_drops_no_lock(tmp_path: Path) -> None:
    """The recorded place is read past a writer of the same process, which must keep its locks."""
    ledger = charged(tmp_path / "a.ledger")
    program = """
        import sqlite3, sys
        try:
            sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None).execute("BEGIN IMMEDIATE")
            print("free")
        except sqlite3.OperationalError:
            print("locked")
    """
    with ledger._writing() as store:
        store._ask("UPDATE account SET spent = '2/10'")
        assert (tmp_path / "a.ledger-journal").stat().st_size
        assert ledger.remaining == Fraction(9, 10)
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), ledger.path], capture_output=True)
        assert done.stdout == b"locked\n"
        store._ask("ROLLBACK")
        store._ask("BEGIN")


def test_a_log_of_other_software_is_not_played_in(tmp_path: Path) -> None:
    ledger = charged(tmp_path / "a.ledger")
    (tmp_path / "a.ledger-wal").write_bytes(b"\x37\x7f\x06\x82" + bytes(5000))
    with pytest.raises(LedgerError, match=r"a\.ledger-wal, which this version does not write"):
        ledger.charge(**request("b"))
    (tmp_path / "a.ledger-wal").unlink()
    assert ledger.spent == Fraction(1, 10)


def test_what_is_committed_is_in_the_file_itself(tmp_path: Path) -> None:
    """A copy of the one file has every charge: no log beside it holds any."""
    ledger = ledger_at(tmp_path / "a.ledger")
    for number in range(3):
        ledger.charge(**request(str(number)))
        assert os.listdir(tmp_path) == ["a.ledger"]
    (tmp_path / "copy").mkdir()
    shutil.copy(ledger.path, tmp_path / "copy/a.ledger")
    assert SqliteLedger.moved(tmp_path / "copy/a.ledger").spent == Fraction(3, 10)


def test_the_removal_of_a_journal_is_durable(tmp_path: Path) -> None:
    """A journal that comes back after a power failure would undo a charge that was confirmed."""
    ledger = ledger_at(tmp_path / "a.ledger")
    with ledger._writing() as store:
        (mode,) = store._ask("PRAGMA journal_mode").fetchone()
        (synchronous,) = store._ask("PRAGMA synchronous").fetchone()
    assert (mode, synchronous) == ("delete", 3)
