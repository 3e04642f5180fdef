"""Progress: silent without a sink, told to the sink that is given, and shown by the command line."""

import ast
import io
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.cli import terminal as bars
from blowfish_privacy.cli.terminal import TerminalProgress
from blowfish_privacy.support.progress import progress_to, task
from blowfish_privacy.testing.seeded import SeededSource

PACKAGE = Path(bp.__file__).parent
POLICY = bp.Policy(bp.Domain(x=bp.Integer(0, 9)), secrets=bp.DistanceThreshold(2))


class Heard:
    """A sink that remembers what it heard."""

    def __init__(self):
        self.titles, self.open, self.shares = [], [], []

    def begin(self, title):
        self.titles.append(title)
        self.open.append(title)
        return Kept(self, title)


class Kept:
    def __init__(self, heard, title):
        self.heard, self.title = heard, title

    def report(self, share):
        self.heard.shares.append(share)

    def end(self):
        self.heard.open.remove(self.title)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def on_terminal(monkeypatch):
    """Let standard error be a terminal; not in a fixture, after which pytest puts its own in place."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", Terminal())
    return sys.stderr


def table(tmp_path, name, values):
    path = tmp_path / f"{name}.csv"
    path.write_text("x\n" + "\n".join(map(str, values)) + "\n")
    return path


def release(data):
    session = bp.Session(data, POLICY, budget=9, source=SeededSource(1))
    session.release(bp.Cumulative("x"), epsilon=1).quantile("0.5")
    return session.release(bp.KMeans(["x"], k=2), epsilon=1).centers


def test_a_release_reports_reading_and_drawing_and_ends_what_it_began(tmp_path):
    heard = Heard()
    with progress_to(heard):
        release(table(tmp_path, "t", [1, 2, 2, 9] * 50))
    assert heard.titles[:3] == ["Reading the data", "Drawing noise", "Writing the document"]
    assert heard.titles.count("Reading the data") == 2
    assert heard.open == []


def test_what_is_reported_depends_on_no_value(tmp_path):
    told = []
    for name, values in (("a", [0] * 200), ("b", [9] * 200), ("c", list(range(10)) * 20)):
        heard = Heard()
        with progress_to(heard):
            release(table(tmp_path, name, values))
        told.append(heard.titles)
    assert told[0] == told[1] == told[2]


def test_the_share_of_a_long_scan_is_reported(tmp_path, monkeypatch):
    from blowfish_privacy.engines import engine

    monkeypatch.setattr(engine, "PATIENCE", 0.0)
    monkeypatch.setattr(engine, "_INTERVAL", 0.002)
    heard = Heard()
    session = bp.Session(table(tmp_path, "t", [1] * 1_000_000), POLICY, budget=1)
    with progress_to(heard):
        session.release(bp.Histogram("x"), epsilon=1)
    assert heard.shares
    assert all(share is None or 0 <= share <= 1 for share in heard.shares)


def test_every_title_is_written_in_the_source():
    # A title that is put together could hold a private value, or say how many tries something took.
    calls = [
        (path, call)
        for path in PACKAGE.rglob("*.py")
        if path.parent.name != "cli"
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "task"
    ]
    assert len(calls) > 9
    for path, call in calls:
        (title,) = call.args
        assert isinstance(title, ast.Constant), path


def test_without_a_sink_a_long_release_on_a_terminal_writes_nothing(tmp_path, monkeypatch, capfd):
    from blowfish_privacy.engines import engine

    monkeypatch.setattr(engine, "PATIENCE", 0.0)
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr("sys.stdout", Terminal())
    release(table(tmp_path, "t", [1] * 200_000))
    assert (sys.stdout.getvalue(), terminal.getvalue(), *capfd.readouterr()) == ("", "", "", "")


def test_without_a_sink_nothing_that_draws_is_imported(tmp_path):
    code = (
        "import sys; import blowfish_privacy as bp; "
        "policy = bp.Policy(bp.Domain(x=bp.Integer(0, 9)), secrets=bp.FullDomain()); "
        f"bp.Session({str(table(tmp_path, 't', [1, 2]))!r}, policy, budget=1).release(bp.Cumulative('x'), epsilon=1); "
        "assert not {'rich', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_sink_is_heard_in_its_own_thread_only_and_until_its_block_ends():
    heard, inner = Heard(), Heard()

    def elsewhere():
        with task("elsewhere"):
            pass

    with progress_to(heard):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        with progress_to(inner), task("inner") as report:
            report(0.5)
        with progress_to(None), task("silent") as report:
            assert report is None
        with pytest.raises(ValueError), task("failing"):
            raise ValueError
    with task("after") as report:
        assert report is None
    assert (heard.titles, heard.open, inner.titles, inner.shares) == (["failing"], [], ["inner"], [0.5])


def test_counts_in_memory_report_too():
    heard = Heard()
    with progress_to(heard):
        release(bp.Counts(np.arange(10)))
    assert "Reading the data" in heard.titles


def test_a_bar_shows_only_when_it_takes_long_and_never_twice(monkeypatch):
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(bars, "PATIENCE", 0.05)
    with progress_to(TerminalProgress()):
        with task("outer"), task("inner") as report:
            report(0.5)
            time.sleep(0.4)
        assert "outer" in terminal.getvalue()
        assert "inner" not in terminal.getvalue()
        with task("quick"):
            pass
        assert "quick" not in terminal.getvalue()


def test_a_bar_shows_the_share_that_is_done(monkeypatch):
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(bars, "PATIENCE", 0.05)
    with progress_to(TerminalProgress()), task("scan") as report:
        report(None)
        report(0.25)
        time.sleep(0.4)
        report(0.75)
        time.sleep(0.3)
    assert "25%" in terminal.getvalue()
    assert "75%" in terminal.getvalue()


def test_a_bar_is_free_again_after_an_error():
    sink = TerminalProgress()
    for _ in range(2):
        with pytest.raises(ValueError), progress_to(sink), task("x"):
            raise ValueError
        assert not sink._free.locked()


def test_a_bar_that_comes_too_late_is_not_shown(monkeypatch):
    terminal = on_terminal(monkeypatch)
    bar = TerminalProgress().begin("late")
    bar.end()
    bar._show()
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_the_command_line_gives_bars_on_a_terminal_only(stream, tmp_path, monkeypatch):
    from blowfish_privacy.cli.main import run

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    monkeypatch.setattr("sys.stderr", stream())
    begun = []
    monkeypatch.setattr(TerminalProgress, "begin", lambda self, title: begun.append(title) or bars._HiddenTask())
    (tmp_path / "f.yaml").write_text(
        "version: 1\npolicy: {domain: {x: {integer: [0, 9]}}, secrets: full}\n"
        "releases: [{name: x, histogram: x, error: 3}]\n"
    )
    assert run(["plan", str(tmp_path / "f.yaml"), "--json"]) == 0
    assert bool(begun) == (stream is Terminal)
