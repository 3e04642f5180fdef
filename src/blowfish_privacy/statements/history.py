"""The history of a ledger as rows to read: when what was released, what it cost and on which secret pairs."""

from __future__ import annotations

from dataclasses import dataclass

from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.statements.ledger import asked_in_words, failures, lost_in_words


@dataclass(frozen=True)
class HistoryRow:
    """One entry of a ledger."""

    number: int
    key: str
    made: str
    """The time in UTC, to the second."""
    release: str
    """What was released, as the ledger describes it."""
    mechanism: str
    asked: str
    charged: str
    lost_on: str
    failed: str | None
    """When the data contradicted the stated facts, if they did."""


def history(ledger: Ledger) -> tuple[HistoryRow, ...]:
    """Read the entries of a ledger, the newest first."""
    failed = failures(ledger)
    return tuple(_row(entry, failed.get(entry.number)) for entry in reversed(ledger.entries()))


def _row(entry: Entry, failed: str | None) -> HistoryRow:
    return HistoryRow(
        number=entry.number,
        key=entry.key,
        made=entry.made[:19].replace("T", " "),
        release=entry.description.partition(" [")[0],
        mechanism=entry.mechanism,
        asked=asked_in_words(entry),
        charged=entry.loss.measure.words(entry.charged) if entry.charged else "nothing",
        lost_on=lost_in_words(entry),
        failed=None if failed is None else failed[:19].replace("T", " "),
    )
