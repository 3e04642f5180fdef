"""A part of a page that is built anew when what it shows has changed."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from nicegui import ui

from blowfish_privacy.studio.signal import Signal


def live(build: Callable[[], None], *signals: Signal, shows: Callable[[], Any] | None = None) -> ui.element:
    """Build a part now, and again whenever one of the signals fires and what it ``shows`` has changed.

    ``shows`` returns plain values that can be compared; without it every signal counts. What a person is typing into
    is lost when it is built anew, so a part should show no more than it needs.
    """
    container = ui.element("div").classes("w-full")
    seen: list[Any] = [_NOTHING]

    def refresh() -> None:
        if container.is_deleted:
            for leave in leaves:
                leave()
            return
        now = None if shows is None else shows()
        if shows is not None and now == seen[0]:
            return
        seen[0] = deepcopy(now)
        container.clear()
        with container:
            build()

    leaves = [signal.subscribe(refresh) for signal in signals]
    for leave in leaves:
        container.client.on_delete(leave)
    refresh()
    return container


_NOTHING = object()
