"""Reporting what is under way to whoever waits for it. The library itself shows nothing.

A caller hands over a sink for as long as a ``with`` block lasts, and everything done inside reports to it::

    with bp.progress_to(sink):
        session.release(plan)

The sink travels in a context variable, so no signature carries it, and two threads, or two requests of a page, that
each hand over a sink do not hear each other. A new thread starts without one (``asyncio.to_thread`` takes it along),
and so does a worker process: what runs there is part of a task that began in its parent.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeAlias

Report: TypeAlias = Callable[[float | None], None]
"""Takes the share of a task that is done, 0 to 1; None while it cannot be known."""


class Task(Protocol):
    """Something under way, as a sink keeps it."""

    def report(self, share: float | None) -> None:
        """Hear which share is done, 0 to 1, or None while that cannot be known; perhaps from another thread."""
        ...

    def end(self) -> None:
        """Hear that it is over, finished or not."""
        ...


class ProgressSink(Protocol):
    """Hears what is under way: titles that are written in this package, and shares of the time or of the rows.

    Neither titles nor their order depend on a private value. Tasks may begin inside others. What a sink raises ends the
    work that it hears of; inside a release, whose errors must show nothing private, it comes out as an error of ours.
    """

    def begin(self, title: str) -> Task:
        """Hear that a task begins; most end within a moment, so a display should wait a little."""
        ...


_sink: ContextVar[ProgressSink | None] = ContextVar("progress_sink", default=None)


@contextmanager
def progress_to(sink: ProgressSink | None) -> Generator[None]:
    """Tell ``sink`` what is under way while the body runs; None for silence."""
    token = _sink.set(sink)
    try:
        yield
    finally:
        _sink.reset(token)


@contextmanager
def task(title: str) -> Generator[Report | None]:
    """Say that the body is under way; it may report how far it is, unless nobody listens."""
    sink = _sink.get()
    if sink is None:
        yield None
        return
    begun = sink.begin(title)
    try:
        yield begun.report
    finally:
        begun.end()
