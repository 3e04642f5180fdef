"""A release in a process of its own, interrupted while it reads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

from blowfish_privacy.ledger import Ledger, create_ledger, open_ledger
from blowfish_privacy.session import load_policy

FILE = """
version: 1
data: {data!r}
ledger: {ledger!r}
budget: 1
policy:
  domain: {{x: {{integer: [0, {highest}]}}}}
  secrets: full
releases:
  - {{name: numbers, histogram: [x], epsilon: 0.5}}
"""
MAIN = "from blowfish_privacy.cli.main import main; main()"


class Release:
    """A policy file in a folder, and processes that run it."""

    def __init__(self, folder: Path, data: str, ledger: str = "a.ledger", **environment: str) -> None:
        self.folder, self.ledger_name = folder, ledger
        self.highest, self.before = 2, ""
        self.spill = folder / "spill"
        self.spill.mkdir()
        self.environment = {**os.environ, "TMPDIR": str(self.spill), **environment}
        self.write(data)
        create_ledger(self._place(), budget=Fraction(1))

    def write(self, data: str) -> None:
        (self.folder / "file.yaml").write_text(FILE.format(data=data, ledger=self.ledger_name, highest=self.highest))

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", f"{self.before}\n{MAIN}", "release", "file.yaml", "--yes", "--out", "out"],
            cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip

    def finish(self) -> subprocess.CompletedProcess[str]:
        process = self.start()
        out, err = process.communicate(timeout=180)
        return subprocess.CompletedProcess([], process.returncode, out, err)

    def strike(
        self,
        blow: Callable[[subprocess.Popen[str]], None],
        after: float = 0.7,
        when: Callable[[], bool] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Start a release, wait until it is charged and reads, strike, and return what became of it."""
        process = self.start()
        deadline = time.monotonic() + 120
        while not (when or self.charged)():
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                raise RuntimeError("".join(process.communicate()))
            time.sleep(0.1)
        time.sleep(after)
        blow(process)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        return subprocess.CompletedProcess([], process.returncode, out, err)

    def spilled(self) -> int:
        """How many bytes the engines have written to the temporary folder."""
        sizes = 0
        for path in self.spill.rglob("*"):
            with suppress(FileNotFoundError):
                sizes += path.stat().st_size if path.is_file() else 0
        return sizes

    def ledger(self) -> Ledger:
        return open_ledger(self._place(), load_policy=load_policy)

    def _place(self) -> str | Path:
        return self.ledger_name if "://" in self.ledger_name else self.folder / self.ledger_name

    def charged(self) -> bool:
        return bool(self.ledger().entries())

    def check_charged_once_and_nothing_out(self) -> None:
        ledger = self.ledger()
        report = ledger.verify()
        assert (report.problems, report.entries, report.documents, ledger.spent) == ((), 1, 0, Fraction(1, 2))
        assert not [path for path in (self.folder / "out").rglob("*") if path.is_file()]

    def check_a_retry_is_not_charged(self) -> None:
        done = self.finish()
        assert done.returncode == 0, done.stderr
        report = self.ledger().verify()
        assert (report.problems, report.entries, report.documents, report.spent) == ((), 1, 1, Fraction(1, 2))
        first = (self.folder / "out/numbers.release.json").read_bytes()
        assert self.finish().returncode == 0
        assert (self.folder / "out/numbers.release.json").read_bytes() == first

    def check_nothing_left_behind(self) -> None:
        assert not list(self.spill.iterdir())
        kept = {"file.yaml", "spill", "out", *(f"{self.ledger_name}{ending}" for ending in ("", "-journal"))}
        assert {path.name for path in self.folder.iterdir()} - kept <= {"slow.duckdb"}


def interrupt(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
