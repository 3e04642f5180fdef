"""The last valid file, which rooms show while the text is wrong."""

from __future__ import annotations

from typing import Any

from blowfish_privacy.release.spec import policy_to_section
from blowfish_privacy.studio.workshop import Workshop


def last_good_body(workshop: Workshop) -> dict[str, Any]:
    """Return the plain values of the last valid file, or at least its policy; nothing before there is one."""
    if workshop.file is None:
        return {}
    return {"policy": policy_to_section(workshop.file.policy)} if workshop.broken else workshop.body
