"""Elements that follow a signal for as long as they are on the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from blowfish_privacy.studio.signal import Signal


def _nothing() -> None:
    pass


def follow(element: ui.element, act: Callable[[], None], *signals: Signal, gone: Callable[[], None] = _nothing) -> None:
    """Call ``act`` when one of the signals fires; once the element is gone, stop, and call ``gone`` once."""

    def heard() -> None:
        if element.is_deleted:
            leave()
        else:
            act()

    def leave() -> None:
        while leaves:
            leaves.pop()()
            if not leaves:
                gone()

    leaves = [signal.subscribe(heard) for signal in signals]
    element.client.on_delete(leave)


def keeps_up(field: Any, value: Callable[[], Any], *signals: Signal) -> None:
    """Show in a field what the file says, when that has changed; what is being typed stays until then."""
    seen = [value()]

    def refresh() -> None:
        if (now := value()) != seen[0]:
            seen[0] = now
            if field.value != now:
                field.value = now

    follow(field, refresh, *signals)
