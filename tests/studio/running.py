"""The studio as a person starts it: the command, in a process and a folder of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

MAIN = "from blowfish_privacy.cli.main import main; main()"
_PATIENCE = 30


class Running:
    """A studio that runs in a folder; :attr:`address` ends with a slash."""

    def __init__(
        self,
        folder: Path,
        text: str | None = None,
        *,
        opens: str | None = None,
        demo: bool = False,
        before: str = "",
        options: tuple[str, ...] = ("--no-browser",),
        environment: dict[str, str] | None = None,
    ) -> None:
        """``text`` becomes file.yaml, which is opened unless ``opens`` says what; ``before`` is Python to run first."""
        self.folder = folder
        if text is not None:
            (folder / "file.yaml").write_text(text)
            opens = opens or "file.yaml"
        arguments = ["--demo"] if demo else [] if opens is None else [opens]
        self.file = folder / ("demo-output/census.yaml" if demo else opens or "release.yaml")
        begun = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"{before}\n{MAIN}", "studio", *arguments, *options],
            cwd=folder, env={**os.environ, **(environment or {})}, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._lines: list[str] = []
        self.may_err = False
        """Whether a test brings about an error that the studio reports."""
        self._announced = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()
        if not self._announced.wait(_PATIENCE) or not self._address():
            self.stop()
            raise RuntimeError(f"the studio did not start: {self.output}")
        self.address = self._address()
        self.seconds = time.monotonic() - begun
        """How long the studio took to say its address."""

    @property
    def output(self) -> str:
        """All that was printed until now."""
        return "".join(self._lines)

    @property
    def token(self) -> str:
        return self.address.rstrip("/").rpartition("/")[2]

    @property
    def port(self) -> int:
        return int(self.address.split(":")[2].partition("/")[0])

    def stop(self, number: int = signal.SIGINT) -> int:
        """End the studio as Ctrl-C does, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            code = self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self._announced.wait(1)
        return code

    def _address(self) -> str:
        found = re.search(r"http://127\.0\.0\.1:\d+/[\w-]+/", self.output)
        return found[0] if found else ""

    def _listen(self) -> None:
        for line in self.process.stdout or ():
            self._lines.append(line)
            if self._address():
                self._announced.set()
        self._announced.set()
