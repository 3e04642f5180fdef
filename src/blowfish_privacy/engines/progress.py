"""How far a scan is."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import TypeAlias, TypeVar

from blowfish_privacy.support.progress import Report

Progress: TypeAlias = Report
"""Told the finished share of a scan from a thread of its own, and only when it takes over two seconds."""

PATIENCE = 2.0
"""Before so many seconds nobody wants to know how far a scan is, and asking for it costs the engine time."""
_INTERVAL = 0.2

Item = TypeVar("Item")


def between(progress: Progress | None, start: float, end: float) -> Progress | None:
    """Report a part of a longer task: what is 0 to 1 of the part is ``start`` to ``end`` of the whole."""
    if progress is None:
        return None
    return lambda share: progress(None if share is None else start + (end - start) * share)


def reported(items: Iterable[Item], many: int, progress: Progress | None) -> Iterator[Item]:
    """Hand on items, and tell ``progress`` from time to time how many of them are done."""
    due = monotonic() + PATIENCE
    for number, item in enumerate(items):
        if progress is not None and monotonic() > due:
            progress(number / many)
            due = monotonic() + _INTERVAL
        yield item


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
