"""Reporting what is under way to whoever waits for it. The library itself shows nothing.

A caller hands over a sink for as long as a ``with`` block lasts, and everything done inside reports to it::

    with bp.progress_to(sink):
        session.release(plan)

The sink travels in a context variable, so no signature carries it, and two threads, or two requests of a page, that
each hand over a sink do not hear each other. A new thread starts without one (``asyncio.to_thread`` takes it along),
and so does a worker process: what runs there is part of a task that began in its parent.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import ContextVar
from multiprocessing import active_children, forkserver, get_context, parent_process, resource_tracker
from threading import Thread
from typing import Any, Protocol, TypeAlias, TypeVar

from blowfish_privacy.errors import DataError

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
    """Report to ``sink`` what is under way while the body runs; None for silence."""
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


# Running a list of tasks in several processes, so that it can be interrupted.

Result = TypeVar("Result")

_OF_THE_TERMINAL = {signal.SIGINT, signal.SIGHUP}
"""Signals that a terminal sends to all its processes."""


def finished(
    work: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], workers: int
) -> Generator[tuple[tuple[Any, ...], Result], None, None]:
    """Go through tasks and their results as they finish; use it within ``contextlib.closing``.

    An interruption cancels what has not begun, ends what is running, yields what is finished, and is then raised.
    If this process is killed, its workers end too.
    """
    if not tasks:
        return
    before = {child.pid for child in active_children()}
    _start_server()
    # A fork server is a clean process: no thread of a library can be caught half-way through its work.
    context = get_context("forkserver")
    pool = ProcessPoolExecutor(min(workers, len(tasks)), mp_context=context, initializer=_prepare_worker)
    futures: dict[Future[Result], tuple[Any, ...]] = {}
    handed_out = set[Future[Result]]()
    try:
        for task in tasks:
            futures[pool.submit(work, *task)] = task
        for future in as_completed(futures):
            handed_out.add(future)
            yield futures[future], future.result()
    except KeyboardInterrupt:
        ended = [each for each in futures if each not in handed_out and each.done() and not each.cancelled()]
        for future in ended:
            if future.exception() is None:
                yield futures[future], future.result()
        raise
    except BrokenExecutor:
        hint = "there may be too little memory for so many workers: try --workers 1."
        raise DataError("a worker process ended unexpectedly.", hint=hint) from None
    finally:
        if not all(future.done() for future in futures):
            for child in active_children():
                if child.pid not in before:
                    child.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


def _start_server() -> None:
    """Start the server that forks workers with interruptions blocked: the workers inherit that."""
    resource_tracker.ensure_running()
    signal.pthread_sigmask(signal.SIG_BLOCK, _OF_THE_TERMINAL)
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _OF_THE_TERMINAL)


def _prepare_worker() -> None:
    """Leave interruptions to the parent process, and end when the parent is gone, however it ended."""
    for each in _OF_THE_TERMINAL:
        signal.signal(each, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
