"""The parts of a card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from blowfish_privacy.domain import quoted

TITLE = "Privacy statement: "


@dataclass(frozen=True)
class Item:
    """One line of a card: what it is about, and a sentence or two."""

    label: str
    text: str
    files: tuple[str, ...] = ()
    """The names of files beside the page that somebody may download."""


@dataclass(frozen=True)
class Table:
    """A few numbers in rows; the first cell of a row says what it is about."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture that a page holds itself, drawn when it is asked for."""

    caption: str
    draw: Callable[[], tuple[str, bytes]]
    """Returns the kind of picture, such as ``image/svg+xml``, and its content."""
    file: str | None = None
    """The name of a file beside the page that shows the same."""


@dataclass(frozen=True)
class Section:
    """A heading of a card and what is under it."""

    title: str
    items: tuple[Item, ...]
    table: Table | None = None
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Card:
    """A statement about one release, or about all of a ledger, ready to be written as a page."""

    name: str
    summary: str
    sections: tuple[Section, ...]
    parameters: dict[str, str]
    """How much is lost, by the name of the measure; for rho also what it means as epsilon at some deltas."""
    time: str
    publisher: str | None
    differential_privacy: bool
    """Whether the promise is (bounded) differential privacy."""
    flavour: str
    """The definition of privacy in a few words."""
    releases: int | None = None
    """How many releases it is about; None for a statement about one."""

    @property
    def title(self) -> str:
        """The headline, with the name in quotation marks."""
        return f"{TITLE}{quoted(self.name)}"

    def said(self, *labels: str) -> list[str]:
        """Return what the card says under some labels."""
        return [item.text for section in self.sections for item in section.items if item.label in labels]
