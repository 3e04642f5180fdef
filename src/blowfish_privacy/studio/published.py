"""Releases that are made: what a page shows of them, and those that a ledger holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from blowfish_privacy import results
from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger import Ledger
from blowfish_privacy.statements.ledger import HistoryRow, history
from blowfish_privacy.studio.charts.picture import Picture
from blowfish_privacy.studio.charts.results import pictures_of
from blowfish_privacy.studio.downloads import Download, downloads, number_of, statements

AnyResult: TypeAlias = results.Result | results.GroupsResult


@dataclass(frozen=True, eq=False)
class Published:
    """One release that is made: its result, and the entry that paid for it if an earlier run did."""

    name: str
    result: AnyResult
    paid_before: str | None = None
    folder: Path | None = None
    """Where values lie that are too many for a document."""
    number: int = 1
    """Which of the ledger's releases of that name it is."""

    @cached_property
    def pictures(self) -> Sequence[Picture]:
        """The result as charts; the first time this may take a moment."""
        return pictures_of(self.result)

    @cached_property
    def remarks(self) -> Sequence[str]:
        """What is to be said of the numbers; the first time this may take a moment."""
        return self.result.remarks()

    @property
    def files(self) -> list[Download]:
        """The files that a page hands over."""
        return downloads(self.result, self.folder, self.number)


@dataclass(frozen=True, eq=False)
class LedgerHistory:
    """What a ledger holds, as it was when it was asked."""

    ledger: Ledger
    rows: tuple[HistoryRow, ...]

    @classmethod
    def of(cls, ledger: Ledger) -> LedgerHistory:
        """Read the entries of a ledger, the newest first."""
        return cls(ledger, history(ledger))

    @property
    def statements(self) -> list[Download]:
        """The statement about all releases together, in several forms."""
        return statements(self.ledger)

    def again(self, row: HistoryRow) -> Published:
        """Read what was handed out for an entry; it costs nothing."""
        text = self.ledger.document(row.key)
        if text is None:
            hint = "publish the release again: it is paid for."
            raise LedgerError(f"nothing was handed out for entry {row.number}.", hint=hint)
        result, folder = results.from_text(text, self.ledger.values_folder), self.ledger.values_folder
        number = number_of(self.ledger, result.name, row.key)
        return Published(result.name, result, f"entry {row.number} of {row.made}", folder, number)
