"""The last valid file, which rooms show while the text is wrong."""

from __future__ import annotations

from typing import Any

from blowfish_privacy.studio.workshop import Workshop


def last_good_body(workshop: Workshop) -> dict[str, Any]:
    """Return the plain values of the last valid file; nothing before there is one.

    They are for looking at: whoever changes them must copy them first.
    """
    return {} if workshop.file is None else workshop.draft.good_body
