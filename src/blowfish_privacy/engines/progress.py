"""How far a scan is, for those who wait."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TypeAlias

from blowfish_privacy.support.progress import PATIENCE

Progress: TypeAlias = Callable[[float | None], None]
"""Told the finished share of a scan, 0 to 1, from a thread of its own, and only when it takes over two seconds.

None stands for a scan under way whose share cannot be known.
"""

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


@contextmanager
def scan_bar(title: str = "Reading the data") -> Generator[Progress | None]:
    """Draw a bar on standard error for as long as a slow scan takes; nothing when nobody looks at a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0, visible=False)

        def show(share: float | None) -> None:
            # Without a total the bar only shows that something is going on.
            bar.update(task, completed=share or 0.0, total=None if share is None else 1.0, visible=True)

        yield show
