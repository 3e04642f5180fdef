"""Values of an attribute as people write and choose them."""

from __future__ import annotations

from fractions import Fraction

from blowfish_privacy.domain import Attribute, Date, Decimal, Hierarchy
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.support.exact import show

MOST_LISTED = 200
"""Values beyond which they are written, not chosen from a list."""


def position_of(attribute: Attribute, text: str) -> int | None:
    """Find the value that somebody wrote; None if there is none."""
    text = text.strip()
    if attribute.size <= 100_000 and text in (texts := attribute.texts()):
        return texts.index(text)
    for read in (int, float, str):
        try:
            return attribute.position(read(text))
        except (ValueError, OverflowError, BlowfishError):
            continue
    return None


def declared(attribute: Attribute) -> str:
    """Say in a few words what the values are."""
    many = f"{attribute.size:,} value{'s' * (attribute.size != 1)}"
    first, last = attribute.show(0), attribute.show(attribute.size - 1)
    if attribute.keyword == "integer":
        return f"whole numbers from {first} to {last}"
    if isinstance(attribute, Decimal):
        return f"numbers from {first} to {last} in steps of {show(attribute.spacing)}"
    if isinstance(attribute, Date):
        return f"{attribute.distance(Fraction(attribute.size))} from {attribute.start} to {attribute.end}"
    if attribute.ordered:
        return f"{attribute.size:,} bins from {first} to {last}"
    if isinstance(attribute, Hierarchy):
        return f"{many} in {len(attribute.level_sizes)} levels"
    return f"{attribute.size:,} categories"
