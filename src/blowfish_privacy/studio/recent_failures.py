"""What could not be reached a moment ago: a server that does not answer is not asked at every move of a slider."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from time import monotonic
from typing import TypeVar

from blowfish_privacy.errors import BlowfishError, UnconfirmedServerError

Answer = TypeVar("Answer")
PATIENCE = 10.0
"""Seconds for which a failure is believed."""


class RecentFailures:
    """Remembers failures for some seconds, and repeats them instead of trying again."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._failed: dict[Hashable, tuple[float, BlowfishError]] = {}

    def attempt(self, key: Hashable, act: Callable[[], Answer]) -> Answer:
        """Do something, unless it failed a moment ago: then fail in the same way at once."""
        with self._lock:
            at, error = self._failed.get(key, (0.0, None))
        if error is not None and self._clock() - at < PATIENCE:
            raise error
        try:
            return act()
        except UnconfirmedServerError:
            # Nobody was asked; that may change at once.
            raise
        except BlowfishError as failure:
            with self._lock:
                self._failed[key] = self._clock(), failure
            raise
