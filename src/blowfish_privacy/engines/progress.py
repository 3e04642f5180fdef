"""How far a scan is."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TypeAlias

from blowfish_privacy.support.progress import Report

Progress: TypeAlias = Report
"""Told the finished share of a scan from a thread of its own, and only when it takes over two seconds."""

PATIENCE = 2.0
"""Before so many seconds nobody wants to know how far a scan is, and asking for it costs the engine time."""
_INTERVAL = 0.2


@contextmanager
def watched(percentage: Callable[[], float | None], progress: Progress | None) -> Generator[None]:
    """Tell ``progress`` how far a query is while the body runs."""
    if progress is None:
        yield
        return
    done = Event()

    def watch() -> None:
        wait = PATIENCE
        while not done.wait(wait):
            wait = _INTERVAL
            done_so_far = percentage()
            if done_so_far is None:
                progress(None)
            elif 0 <= done_so_far <= 100:
                progress(done_so_far / 100)

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
