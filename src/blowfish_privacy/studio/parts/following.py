"""An element that follows a signal for as long as it is on the page."""

from __future__ import annotations

from collections.abc import Callable

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
