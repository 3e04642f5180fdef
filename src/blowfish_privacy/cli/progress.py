"""Bars on the terminal, for whatever takes longer than a moment."""

from __future__ import annotations

from threading import Lock, Timer
from typing import Any

from blowfish_privacy.support.progress import Task

PATIENCE = 2.0
"""After so many seconds a person wants to see that something is happening."""


class TerminalProgress:
    """Shows on standard error, a terminal, what has been under way for two seconds, one task at a time."""

    def __init__(self) -> None:
        self._free = Lock()

    def begin(self, title: str) -> Task:
        """Prepare a bar; inside another task the outer one's goes on."""
        if not self._free.acquire(blocking=False):
            return _Hidden()
        return _Bar(title, self._free)


class _Hidden:
    """A task that is not shown."""

    def report(self, share: float | None) -> None:
        pass

    def end(self) -> None:
        pass


class _Bar:
    """A task that is shown once it takes long; until a share is known, its bar only moves."""

    def __init__(self, title: str, held: Lock) -> None:
        self._title, self._held = title, held
        self._share: float | None = None
        self._changing, self._over = Lock(), False
        self._shown: Any = None
        self._timer = Timer(PATIENCE, self._show)
        self._timer.daemon = True
        self._timer.start()

    def report(self, share: float | None) -> None:
        with self._changing:
            self._share = share
            self._update()

    def end(self) -> None:
        self._timer.cancel()
        with self._changing:
            self._over = True
            if self._shown is not None:
                self._shown.stop()
        self._held.release()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        with self._changing:
            # The task may have ended while the timer went off.
            if self._over:
                return
            self._shown = Progress(console=Console(stderr=True), transient=True)
            self._shown.add_task(f"{self._title} ...", total=None)
            self._update()
            self._shown.start()

    def _update(self) -> None:
        if self._shown is not None and self._share is not None:
            self._shown.update(self._shown.task_ids[0], completed=self._share, total=1.0)
