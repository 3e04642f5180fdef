"""Releases as plain values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from blowfish_privacy.ledger import Entry
from blowfish_privacy.results import Result


def release_view(
    result: Result, earlier: Entry | None, files: Sequence[str] = (), *, kept: str | None = None
) -> dict[str, Any]:
    """Show a release: its guarantee, the entry that paid for it if an earlier run did, and the files that hold it.

    ``kept`` is the document of another release of the same name, which was there and stays.
    """
    return {
        "name": result.name,
        "guarantee": result.statement,
        "recorded": None if earlier is None else paid_by(earlier),
        "files": list(files),
        "kept": kept,
    }


def paid_by(earlier: Entry) -> str:
    """Name the entry that paid for a release in an earlier run."""
    return f"entry {earlier.number} of {earlier.made[:19]}"


def releases_view(releases: Sequence[dict[str, Any]], *, spent: Fraction, remaining: Fraction) -> dict[str, Any]:
    """Show the releases of a batch, what they took from the budget, and what is left."""
    return {"releases": list(releases), "spent": str(spent), "remaining": str(remaining)}
