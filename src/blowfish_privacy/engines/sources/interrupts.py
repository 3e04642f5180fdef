"""Making Ctrl-C stop calls into libraries that do not handle it themselves."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread, current_thread, main_thread
from typing import TypeVar

Result = TypeVar("Result")

_LISTEN = 0.2


def interruptible(action: Callable[[], Result], stop: Callable[[], object]) -> Result:
    """Run an action in a separate thread, so that Ctrl-C takes effect; ``stop`` then makes the action end.

    Python handles signals in the main thread only, and only between its own steps.
    """
    if current_thread() is not main_thread():
        return action()
    results: list[Result] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(action())
        except BaseException as failure:  # passed on below
            failures.append(failure)
        finally:
            done.set()

    # An event, not a join: a join that is interrupted takes the thread for finished.
    done = Event()
    Thread(target=run, daemon=True).start()
    try:
        while not done.wait(_LISTEN):
            pass
    except BaseException:
        # An action that has not begun yet would ignore a single request.
        stop()
        while not done.wait(_LISTEN):
            stop()
        raise
    if failures:
        raise failures[0]
    return results[0]
