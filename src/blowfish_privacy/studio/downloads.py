"""The files that a page hands over: those of a release, as the command line writes them, its card, and that of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from blowfish_privacy.errors import DataError
from blowfish_privacy.ledger import Ledger
from blowfish_privacy.results import GroupsResult, Result
from blowfish_privacy.statements.card import make_card
from blowfish_privacy.statements.card_page import Card, markdown, page
from blowfish_privacy.statements.product import make_product_card

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


def downloads(result: Result | GroupsResult, folder: Path | None = None, number: int = 1) -> list[Download]:
    """List the files of a result; values that have a file of their own lie in the folder.

    Of several releases with one name the second is called ``name-2``, so that no file takes another's place.
    """
    name = result.name if number == 1 else f"{result.name}-{number}"
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
        Download("PDF", f"{name}.pdf", "application/pdf", result.pdf),
        Download("PNG", f"{name}.png", "image/png", result.png),
    ]
    return [document, *tables, *cards]


def statements(ledger: Ledger) -> list[Download]:
    """List the forms of the statement about all releases of a ledger together."""
    return [
        Download("Page", "index.html", "text/html", lambda: page(make_product_card(ledger)).encode()),
        Download("Markdown", "index.md", "text/markdown", lambda: markdown(make_product_card(ledger)).encode()),
    ]


def number_of(ledger: Ledger, name: str, key: str) -> int:
    """Say which of the releases of that name in a ledger one is, from 1."""
    keys = [entry.key for entry in ledger.entries() if entry.description.startswith(f"{name}: ")]
    return keys.index(key) + 1 if key in keys else 1


def _card(result: Result | GroupsResult, folder: Path | None) -> Card:
    return make_card(result.text, folder=folder)
