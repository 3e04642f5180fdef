"""Ctrl-C, termination and hang-up: private files go at once, then the work stops, and the process ends quietly.

Only the command line listens to signals; programs that use the library keep their own ways.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any, NoReturn

from blowfish_privacy.support import files

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_PATIENCE = 5.0
_SHOW_CURSOR = b"\r\x1b[2K\x1b[?25h"

_received: list[int] = []


def listen() -> None:
    """Handle the signals that ask this process to end, but for those it was started to ignore (nohup)."""
    if os.name != "posix":
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    # A thread hears of signals even while the main one is busy inside a library.
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    Thread(target=_watch, args=(reading,), daemon=True).start()
    _handle(_interrupt)


def received() -> bool:
    """Say whether a signal has asked this process to end."""
    return bool(_received)


def finish() -> None:
    """Let no signal disturb the end of this process; if one asked for it, end at once."""
    if os.name == "posix":
        _handle(_disregard)
    if _received:
        _end()


def _handle(handler: Callable[[int, Any], None]) -> None:
    for number in (getattr(signal, name) for name in _NAMES):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _interrupt(number: int, frame: Any) -> None:  # noqa: ARG001  # as all handlers
    """Stop the work; what follows is clean-up, which no other signal breaks off in the middle."""
    _received.append(number)
    _handle(_disregard)
    raise KeyboardInterrupt


def _disregard(number: int, frame: Any) -> None:
    """Do nothing here: the watching thread hears of it."""


def _watch(signals: int) -> None:
    """Remove at the first signal what is private; end at a second one, or when the work does not stop."""
    _received.append(os.read(signals, 1)[0])
    files.remove_private()
    select.select([signals], [], [], _PATIENCE)
    _end()


def _end() -> NoReturn:
    files.remove_everything()
    with suppress(OSError):
        if os.isatty(2):
            os.write(2, _SHOW_CURSOR)
    # Python's own way to end waits for threads, and libraries that still work in them fail loudly.
    os._exit(128 + _received[0])
