"""The room."""

from __future__ import annotations

from blowfish_privacy.studio.parts.words import heading
from blowfish_privacy.studio.workshop import Workshop


def releases(workshop: Workshop) -> None:  # noqa: ARG001
    """Fill the room."""
    heading("Releases")
