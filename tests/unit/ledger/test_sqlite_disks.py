"""Disks that are full or read-only."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import textwrap
import traceback
from fractions import Fraction
from pathlib import Path

import pytest

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger import SqliteLedger, sqlite
from unit.ledger.mounts import run_mounted
from unit.ledger.samples import ledger_at as make
from unit.ledger.samples import request

ONE = Fraction(1)
TESTS = Path(__file__).parents[2]


def contents(folder: Path) -> dict[str, bytes]:
    return {place.name: place.read_bytes() for place in folder.iterdir()}


def _limited(ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch, pages: int) -> None:
    connect = sqlite.connect

    def small(path: Path, timeout: float) -> sqlite3.Connection:
        connection = connect(path, timeout)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(sqlite, "connect", small)


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = make(tmp_path / "a.ledger")
    ledger.charge(**request("a"))
    with monkeypatch.context() as patch:
        _limited(ledger, patch, 1)
        with pytest.raises(LedgerError, match="the disk is full") as caught:
            ledger.record("a", "canary" * 20_000)
        # A document that was not handed out must not leave by way of the error either.
        assert "canary" not in "".join(traceback.format_exception(caught.value)).replace('"canary"', "")
        with pytest.raises(LedgerError, match="the disk is full"):
            ledger.charge(**request("b", description="y" * 100_000))
    assert ledger.document("a") is None
    assert ledger.spent == Fraction(1, 10)
    assert ledger.verify().ok
    assert ledger.record("a", "x" * 100_000) == "x" * 100_000


def child(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    head = """
        import os, resource, sys
        from fractions import Fraction
        from unit.ledger.samples import ledger_at, load, request
        from blowfish_privacy.errors import LedgerError
        from blowfish_privacy.ledger import SqliteLedger
    """
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(program), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("room", [0, 4096, 20_000, 70_000])
def test_no_room_to_write_is_an_error_and_loses_nothing(tmp_path: Path, room: int) -> None:
    ledger = make(tmp_path / "a.ledger")
    ledger.charge(**request("a"))
    program = """
        ledger = SqliteLedger.open(sys.argv[1], load_policy=load)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
        try:
            ledger.charge(**request("b"))
            ledger.record("a", "x" * 200_000)
        except LedgerError as error:
            print(error)
    """
    done = child(program, ledger.path, room)
    assert done.returncode == 0, done.stderr
    assert "the disk" in done.stdout or "cannot be" in done.stdout
    report = ledger.verify()
    assert (report.ok, report.documents) == (True, 0)
    assert ledger.spent in (Fraction(1, 10), Fraction(1, 5))
    ledger.charge(**request("b"))
    assert ledger.spent == Fraction(1, 5)


def test_no_room_to_make_a_ledger_leaves_nothing(tmp_path: Path) -> None:
    program = """
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192,) * 2)
        try:
            SqliteLedger.create(sys.argv[1], budget=Fraction(1))
        except LedgerError as error:
            print(error)
    """
    done = child(program, tmp_path / "a.ledger")
    assert done.returncode == 0, done.stderr
    assert "the disk" in done.stdout
    assert contents(tmp_path) == {}


SMALL_DISK = """
import os, subprocess, sys, warnings
from fractions import Fraction
from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger import SqliteLedger
from unit.ledger.samples import load, request

disk, made = sys.argv[1], 0
path, filler = f"{disk}/a.ledger", f"{disk}/filler"
for free in range(0, 201, 4):
    if os.path.exists(filler):
        os.unlink(filler)
    with open(filler, "wb", buffering=0) as file:
        while os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize > free * 1024:
            file.write(bytes(1024))
    try:
        getattr(SqliteLedger, "create", SqliteLedger.open)(path, budget=Fraction(1))
    except LedgerError:
        assert os.listdir(disk) == ["filler"], (free, os.listdir(disk))
        continue
    made += 1
    ledger = SqliteLedger.open(path, budget=None, load_policy=load)
    assert ledger.verify().ok, free
    try:
        ledger.charge(**request("a"))
        ledger.record("a", "x" * 20_000)
    except LedgerError:
        pass
    os.unlink(filler)
    # Once there is room it is charged, once.
    ledger.charge(**request("a"))
    ledger.record("a", "x" * 20_000)
    report = ledger.verify()
    assert (report.problems, report.spent, report.documents) == ((), Fraction(1, 10), 1), (free, report)
    os.unlink(path)
assert 0 < made < 51, made
print("made", made)
"""


@pytest.mark.parametrize("kind", ["tmpfs", "ext4"])
def test_a_ledger_made_on_a_nearly_full_disk_is_sound_or_not_there(tmp_path: Path, kind: str) -> None:
    """From 0 to 200 KB free, in steps of 4 KB."""
    disk, image = tmp_path / "disk", tmp_path / "image"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size=1m none '{disk}'"
    if kind == "ext4":
        if shutil.which("mkfs.ext4") is None:
            pytest.skip("no mkfs.ext4 here")
        image.write_bytes(bytes(2**22))
        mount = f"mkfs.ext4 -q -O ^has_journal -m 0 '{image}' && mount -o loop '{image}' '{disk}' && rmdir '{disk}'/l*"
    (tmp_path / "program.py").write_text(SMALL_DISK)
    assert run_mounted(mount, tmp_path / "program.py", disk).startswith("made")


def test_a_draft_that_is_not_as_it_was_written_never_becomes_a_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: os.ftruncate(handle, os.fstat(handle).st_size // 2))
    with pytest.raises(LedgerError, match="differs from what was written"):
        make(tmp_path / "a.ledger")
    assert contents(tmp_path) == {}


@pytest.fixture
def reachable():
    """A folder that an ordinary user can reach, unlike the one pytest gives to root."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        if any(not place.stat().st_mode & stat.S_IXOTH for place in Path(folder).resolve().parents):
            pytest.skip("an ordinary user cannot reach the folder for temporary files")
        yield Path(folder)


# Permissions do not bind root, who steps down first.
STEP_DOWN = "if os.geteuid() == 0: os.setegid(65534), os.seteuid(65534)\n"
READ_ONLY = """
try:
    ledger = ledger_at(sys.argv[1])
    ledger.charge(**request("b"))
except LedgerError as error:
    print(error)
"""


@pytest.mark.parametrize("existing", [True, False])
def test_a_read_only_folder_is_an_error(reachable: Path, existing: bool) -> None:
    folder = reachable / "closed"
    folder.mkdir()
    if existing:
        ledger = make(folder / "a.ledger")
        ledger.path.chmod(0o444)
    before = contents(folder)
    folder.chmod(0o555)
    done = child("import warnings; warnings.simplefilter('ignore')\n" + STEP_DOWN + READ_ONLY, folder / "a.ledger")
    folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert "cannot be" in done.stdout
    assert "Hint: check" in done.stdout
    assert contents(folder) == before


def test_a_read_only_file_is_an_error(reachable: Path) -> None:
    folder = reachable / "open"
    folder.mkdir()
    ledger = make(folder / "a.ledger")
    ledger.path.chmod(0o444)
    folder.chmod(0o777)
    done = child("import warnings; warnings.simplefilter('ignore')\n" + STEP_DOWN + READ_ONLY, ledger.path)
    assert done.returncode == 0, done.stderr
    assert "cannot be written" in done.stdout or "cannot be opened" in done.stdout
    ledger.path.chmod(0o600)
    assert ledger.spent == 0


def test_a_file_mounted_read_only_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "mounted"
    folder.mkdir()
    make(folder / "a.ledger").charge(**request("a"))
    before = contents(folder)
    (tmp_path / "program.py").write_text(
        textwrap.dedent("import os, sys\nfrom fractions import Fraction\n")
        + "from unit.ledger.samples import ledger_at, load, request\nfrom blowfish_privacy.errors import LedgerError\n"
        + "from blowfish_privacy.ledger import SqliteLedger\n"
        + READ_ONLY
    )
    mount = f"mount --bind '{folder}' '{folder}' && mount -o remount,ro,bind '{folder}'"
    assert "cannot be" in run_mounted(mount, tmp_path / "program.py", folder / "a.ledger")
    assert contents(folder) == before


def test_a_ledger_survives_a_fork(tmp_path: Path) -> None:
    ledger = make(tmp_path / "a.ledger")
    ledger.charge(**request("a"))
    program = """
        ledger = SqliteLedger.open(sys.argv[1], load_policy=load)
        ledger.charge(**request("b"))
        children = []
        for number in range(4):
            children.append(os.fork())
            if children[-1] == 0:
                ledger.charge(**request(f"child {number}"))
                os._exit(0)
        ledger.charge(**request("c"))
        sys.exit(max(os.waitpid(each, 0)[1] for each in children))
    """
    done = child(program, ledger.path)
    assert done.returncode == 0, done.stderr
    assert ledger.spent == Fraction(7, 10)
    assert ledger.verify().ok
