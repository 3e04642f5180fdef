"""Showing that something is being done, to those who wait."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock, Timer

PATIENCE = 2.0
"""After so many seconds a person wants to see that something is happening."""

_free = Lock()


@contextmanager
def spinner(title: str) -> Generator[None]:
    """Show a moving sign on standard error while the body takes longer than two seconds; only on a terminal."""
    # A terminal can show one moving sign at a time: inside another the outer one goes on.
    if not sys.stderr.isatty() or not _free.acquire(blocking=False):
        yield
        return
    from rich.console import Console
    from rich.status import Status

    status = Status(f"{title} ...", console=Console(stderr=True))
    timer = Timer(PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        status.stop()
        _free.release()
