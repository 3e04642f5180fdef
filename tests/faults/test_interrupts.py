"""Ctrl-C and kill -9 while the data are read: one charge, no output, nothing left behind, a retry that is free."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from blowfish_privacy.support.files import PREFIX, PrivateFolder, sweep
from faults.child import MAIN, Release, interrupt, kill


def slow_table(folder: Path, rows: int) -> str:
    path = folder / "slow.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE VIEW v AS SELECT CAST(range % 3 AS INTEGER) AS x FROM range({rows})")
    return "slow.duckdb::v"


@pytest.mark.slow
def test_an_interrupt_leaves_a_consistent_ledger_and_no_files(tmp_path: Path) -> None:
    release = Release(tmp_path, slow_table(tmp_path, 10**13))
    stopped = release.strike(interrupt)
    assert stopped.returncode == 130
    assert stopped.stderr.rstrip().endswith("Stopped.")
    assert "Traceback" not in stopped.stderr
    release.check_charged_once_and_nothing_out()
    release.check_nothing_left_behind()
    slow_table(tmp_path, 9)
    release.check_a_retry_is_not_charged()
    release.check_nothing_left_behind()


@pytest.mark.slow
def test_a_killed_process_leaves_its_charge_only(tmp_path: Path) -> None:
    release = Release(tmp_path, slow_table(tmp_path, 10**13))
    assert release.strike(kill).returncode == -9
    release.check_charged_once_and_nothing_out()
    slow_table(tmp_path, 9)
    release.check_a_retry_is_not_charged()


# Signals while private rows lie on the disk: they go first, nothing is left behind, and little is said.


VALUES = 30_000_000

SPILLING = """
import duckdb
connect, small = duckdb.connect, {"memory_limit": "80MB", "threads": 2}
duckdb.connect = lambda *a, config=(), **k: connect(*a, config={**dict(config), **small}, **k)
"""

ENOUGH = 2_000_000


def spilling(folder: Path) -> Release:
    """A release whose groups do not fit the memory it has."""
    with duckdb.connect(str(folder / "slow.duckdb")) as connection:
        made = f"SELECT CAST(hash(range) % {VALUES} AS INTEGER) AS x FROM range({10**12})"
        connection.execute(f"CREATE VIEW v AS {made}")
    release = Release(folder, "slow.duckdb::v")
    release.highest, release.before = VALUES - 1, SPILLING
    release.write("slow.duckdb::v")
    return release


def blow(*signals: signal.Signals, pause: float = 0.0) -> Callable[[subprocess.Popen[str]], None]:
    def strike(process: subprocess.Popen[str]) -> None:
        for each in signals:
            process.send_signal(each)
            time.sleep(pause)

    return strike


@pytest.mark.slow
@pytest.mark.parametrize(
    "strike",
    [
        blow(signal.SIGINT),
        blow(signal.SIGTERM),
        blow(signal.SIGHUP),
        blow(signal.SIGINT, signal.SIGINT, pause=0.02),
        blow(*[signal.SIGINT] * 8, pause=0.005),
        blow(signal.SIGTERM, signal.SIGINT, signal.SIGHUP),
    ],
    ids=["interrupt", "terminate", "hang-up", "twice", "eight times", "all"],
)
def test_a_signal_leaves_nothing_private_behind(tmp_path: Path, strike: Callable[..., None]) -> None:
    release = spilling(tmp_path)
    stopped = release.strike(strike, after=0, when=lambda: release.spilled() > ENOUGH)
    # Of several signals that arrive together, any may be the first to be heard.
    assert stopped.returncode in {128 + number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    assert stopped.stderr.strip() in ("Stopped.", "")
    release.check_charged_once_and_nothing_out()
    release.check_nothing_left_behind()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_the_exit_code_names_the_signal_and_the_terminal_is_left_in_order(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    release = spilling(tmp_path)
    control, terminal = pty.openpty()
    arguments = ["release", "file.yaml", "--yes", "--out", "out"]
    command = [sys.executable, "-c", f"{SPILLING}\n{MAIN}", *arguments]
    process = subprocess.Popen(
        command, cwd=tmp_path, env={**release.environment, "TERM": "xterm"}, stdout=terminal, stderr=terminal,
        stdin=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    os.close(terminal)
    said = b""
    while b"Reading" not in said:
        said += os.read(control, 4096)
    process.send_signal(number)
    try:
        while block := os.read(control, 4096):
            said += block
    except OSError:  # how a terminal says that nobody writes to it any more
        pass
    assert process.wait(timeout=30) == code
    assert said.count(b"\x1b[?25l") >= 1
    assert said.rindex(b"\x1b[?25h") > said.rindex(b"\x1b[?25l")
    assert b"Stopped." in said
    assert b"Traceback" not in said
    release.check_nothing_left_behind()


@pytest.mark.slow
def test_what_a_killed_process_spilled_is_swept_by_the_next_one(tmp_path: Path) -> None:
    release = spilling(tmp_path)
    release.strike(kill, after=0, when=lambda: release.spilled() > ENOUGH)
    assert release.spilled() > ENOUGH
    with duckdb.connect(str(tmp_path / "slow.duckdb")) as connection:
        connection.execute("CREATE OR REPLACE VIEW v AS SELECT CAST(range % 3 AS INTEGER) AS x FROM range(9)")
    other = subprocess.run(
        [sys.executable, "-m", "blowfish_privacy.cli", "data", "check", "file.yaml"],
        cwd=tmp_path, env=release.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert other.returncode == 0, other.stderr
    assert not list(release.spill.iterdir())


def test_only_folders_of_processes_that_are_gone_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/file").touch()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "precious")
    left, alive = tmp_path / f"{PREFIX}left", PrivateFolder()
    Path(alive.path, "rows").touch()
    code = "from blowfish_privacy.support import files; print(files.PrivateFolder().path, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        there = Path(other.stdout.readline().strip())
        left.mkdir()
        (left / "rows").touch()
        sweep()
        assert there.is_dir()
        assert not left.exists()
        other.kill()
    sweep()
    assert not there.exists()
    assert Path(alive.path, "rows").exists()
    assert Path(alive.path).stat().st_mode & 0o777 == 0o700
    alive.remove()
    assert not Path(alive.path).exists()
    assert (tmp_path / "precious/file").exists()


def test_a_connection_that_cannot_be_closed_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from blowfish_privacy.engines.sources import sources

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sources, "_PATIENCE", 0.1)

    class Busy:
        def interrupt(self) -> None:
            pass

        def close(self) -> None:
            raise RuntimeError("busy")

    folder = PrivateFolder()
    sources._discard([Busy()], folder)  # type: ignore[list-item]
    assert not list(tmp_path.iterdir())


def test_a_scan_that_nobody_waits_for_is_stopped_at_the_end(tmp_path: Path) -> None:
    """Two Ctrl-C in a program that uses the library: its end must neither crash nor leave anything."""
    code = """
import os, signal, threading, time
import blowfish_privacy as bp
from blowfish_privacy.engines import open_engine
engine = open_engine("slow.duckdb::v")
domain = bp.Domain(x=bp.Integer(0, 29_999_999))
def press():
    while not any(files for _, _, files in os.walk(os.environ["TMPDIR"])):
        time.sleep(0.05)
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
pressing = threading.Thread(target=press, daemon=True)
pressing.start()
for step in (lambda: engine.counts(domain, [["x"]]), pressing.join):
    try:
        step()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""
    release = spilling(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", SPILLING + code], cwd=tmp_path, env=release.environment, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {"interrupted"}
    assert not list(release.spill.iterdir())


def test_the_library_installs_no_handlers() -> None:
    code = """
import signal
before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
import blowfish_privacy as bp
from blowfish_privacy.cli.main import run
session = bp.Session(bp.Counts([1, 2]), bp.Policy(bp.Domain(x=bp.Integer(0, 1)), secrets=bp.FullDomain()), budget=1)
session.release(bp.Histogram("x"), epsilon=1)
assert before == [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
assert signal.set_wakeup_fd(-1) == -1
"""
    subprocess.run([sys.executable, "-c", code], check=True)
