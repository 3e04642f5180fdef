"""The parts of a card."""

from __future__ import annotations

from dataclasses import dataclass

from blowfish_privacy.domain import quoted

TITLE = "Privacy statement: "


@dataclass(frozen=True)
class Item:
    """One line of a card: what it is about, and a sentence or two."""

    label: str
    text: str


@dataclass(frozen=True)
class Section:
    """A heading of a card and the lines under it."""

    title: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Card:
    """A statement about one release, ready to be written as a page."""

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

    @property
    def title(self) -> str:
        """The headline, with the release's name in quotation marks."""
        return f"{TITLE}{quoted(self.name)}"

    def said(self, *labels: str) -> list[str]:
        """Return what the card says under some labels."""
        return [item.text for section in self.sections for item in section.items if item.label in labels]
