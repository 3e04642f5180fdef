"""The files of a release that a page hands over: the same as the command line writes, and its card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from blowfish_privacy.errors import DataError
from blowfish_privacy.results import GroupsResult, Result
from blowfish_privacy.statements.card import make_card
from blowfish_privacy.statements.card_layout import Card
from blowfish_privacy.statements.card_page import markdown, page

_LARGEST = 50_000_000
"""Bytes that a page may hand over; the command line writes what is larger."""


@dataclass(frozen=True, eq=False)
class Download:
    """A file that is made when it is asked for."""

    label: str
    """What a button says."""
    name: str
    media: str
    make: Callable[[], bytes]

    def content(self) -> bytes:
        """Make the file."""
        made = self.make()
        if len(made) > _LARGEST:
            hint = "blowfish release writes it to a folder; what the ledger holds costs nothing."
            raise DataError(f"{self.name} is too large for a page ({len(made) // 1_000_000:,} MB).", hint=hint)
        return made


def downloads(result: Result | GroupsResult, folder: Path | None = None) -> list[Download]:
    """List the files of a result; values that have a file of their own lie in the folder."""
    name = result.name
    document = Download("JSON", f"{name}.release.json", "application/json", result.text.encode)
    cards = [
        Download("Card", f"{name}.card.html", "text/html", lambda: page(_card(result, folder)).encode()),
        Download(
            "Card as Markdown", f"{name}.card.md", "text/markdown", lambda: markdown(_card(result, folder)).encode()
        ),
    ]
    if isinstance(result, Result) and result.kept is not None:
        return [document, *cards]
    tables = [
        Download("CSV", f"{name}.csv", "text/csv", result.csv),
        Download("SVG", f"{name}.svg", "image/svg+xml", result.svg),
        Download("PNG", f"{name}.png", "image/png", result.png),
    ]
    return [document, *tables, *cards]


def _card(result: Result | GroupsResult, folder: Path | None) -> Card:
    return make_card(result.text, folder=folder)
