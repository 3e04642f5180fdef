"""Running a list of tasks in several processes, so that it can be interrupted."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, as_completed
from multiprocessing import active_children, forkserver, get_context, parent_process, resource_tracker
from threading import Thread
from typing import Any, TypeVar

from blowfish_privacy.errors import DataError

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
        for future in [each for each in futures if each not in handed_out and _succeeded(each)]:
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


def _succeeded(future: Future[Any]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


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
