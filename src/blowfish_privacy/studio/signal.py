"""Telling whoever looks that something changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Listener: TypeAlias = Callable[[], None]


class Signal:
    """Calls its listeners, in the order in which they came."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> Listener:
        """Call ``listener`` from now on; what is returned ends that."""
        self._listeners.append(listener)

        def leave() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return leave

    def fire(self) -> None:
        """Call every listener; one that leaves while others are called is not called any more."""
        for listener in [*self._listeners]:
            if listener in self._listeners:
                listener()
