"""The last valid file, which rooms show while the text is wrong."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from blowfish_privacy.release.spec import policy_to_section
from blowfish_privacy.studio.workshop import Workshop

_KEPT: WeakKeyDictionary[Workshop, tuple[str, dict[str, Any]]] = WeakKeyDictionary()
"""What a workshop's text stands for: asked for many times between two changes."""


def last_good_body(workshop: Workshop) -> dict[str, Any]:
    """Return the plain values of the last valid file, or at least its policy; nothing before there is one.

    They are for looking at: whoever changes them must copy them first.
    """
    kept = _KEPT.get(workshop)
    if kept is None or kept[0] != workshop.draft.text:
        kept = _KEPT[workshop] = workshop.draft.text, _body(workshop)
    return kept[1]


def _body(workshop: Workshop) -> dict[str, Any]:
    if workshop.file is None:
        return {}
    return {"policy": policy_to_section(workshop.file.policy)} if workshop.broken else workshop.body
