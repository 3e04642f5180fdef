"""What is shown greyed, with a spinner, while it is worked out anew."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from blowfish_privacy.studio.parts.following import follow
from blowfish_privacy.studio.signal import Signal

_PATIENT = "transition: opacity 0.15s ease 0.2s"
"""What is ready within a fifth of a second never turns grey."""


def greys(element: ui.element, signal: Signal, stale: Callable[[], bool]) -> ui.element:
    """Grey an element while what it shows is being worked out anew."""
    element.style(_PATIENT)

    def refresh() -> None:
        if stale():
            element.classes("studio-stale").props("aria-busy=true")
        else:
            element.classes(remove="studio-stale").props(remove="aria-busy")

    follow(element, refresh, signal)
    refresh()
    return element


def spinner(signal: Signal, stale: Callable[[], bool]) -> None:
    """Turn while something is being worked out; it keeps its place when it does not."""
    turning = ui.spinner(size="1.2rem").props('aria-label="Working it out"').style(_PATIENT)

    def refresh() -> None:
        turning.style(f"opacity: {1 if stale() else 0}")

    follow(turning, refresh, signal)
    refresh()
