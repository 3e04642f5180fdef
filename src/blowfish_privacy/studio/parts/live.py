"""Parts of a page that are built anew when what they show has changed, and parts that stay what they are.

What is built anew loses what is pressed or typed at that moment: the browser's event is on its way to an element that
is there no more. So buttons and fields stand outside of what follows plans and other people, or are kept by a key.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from copy import deepcopy
from typing import Any, TypeVar

from nicegui import ui

from blowfish_privacy.studio.parts.following import follow
from blowfish_privacy.studio.signal import Signal

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
