"""Parts of a page that are built anew when what they show has changed, and parts that stay what they are.

What is built anew loses what is pressed or typed at that moment: the browser's event is on its way to an element that
is there no more. So buttons and fields stand outside of what follows plans and other people, or are kept by a key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable
from copy import deepcopy
from typing import Any, TypeVar

from nicegui import ui

from blowfish_privacy.studio.workshop import Signal

# Elements that follow a signal for as long as they are on the page.


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


Key = TypeVar("Key", bound=Hashable)


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


def keyed(
    keys: Callable[[], Iterable[Key]], build: Callable[[Key], None], *signals: Signal, tag: str = "div"
) -> ui.element:
    """Build a part for each key, once: it stays while its key is there, whatever else comes, goes or moves."""
    container = ui.element(tag)
    kept: dict[Key, ui.element] = {}

    def refresh() -> None:
        now = [*dict.fromkeys(keys())]
        for gone in [key for key in kept if key not in now]:
            kept.pop(gone).delete()
        for place, key in enumerate(now):
            if key not in kept:
                with container, ui.element("li" if tag == "ul" else "div") as kept[key]:
                    build(key)
            if container.default_slot.children[place] is not kept[key]:
                kept[key].move(target_index=place)

    follow(container, refresh, *signals)
    refresh()
    return container


_NOTHING = object()


# What is shown greyed, with a spinner, while it is worked out anew.

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


# Where the keyboard is, after what it was on has been built anew.

_FOCUS = """
if (!document.activeElement?.closest("[role=dialog], .q-dialog, .q-menu"))
  for (const each of document.querySelectorAll("[aria-label]"))
    if (each.getAttribute("aria-label") === %s) { each.focus(); break; }
"""
"""Whoever has opened the next dialog by now is left there."""


def focus_on(label: str) -> None:
    """Put the focus on the control that has a label, after a dialog has closed."""
    ui.run_javascript(_FOCUS % json.dumps(label))
