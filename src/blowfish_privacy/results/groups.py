"""A release for each of several groups of records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.results.parquet import columns_of, parquet
from blowfish_privacy.results.pictures.figure import plain_text, png, start_figure, svg
from blowfish_privacy.results.result import Result, frame
from blowfish_privacy.support.files import IN_THE_LEDGER, csv_table, write_atomically

_MOST_PANELS = 12


class GroupsResult(Mapping[Any, Result]):
    """The results of all groups, by the value that their records share; by several values, where there are several."""

    def __init__(self, results: Sequence[Result], body: Mapping[str, Any], text: str) -> None:
        self.by = results[0].release.selection.by
        self.text, self._body = text, body
        self._results = {_shared(result): result for result in results}

    def __getitem__(self, value: Any) -> Result:
        return self._results[value]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def save(self, path: str | Path) -> None:
        """Write the release document with all groups."""
        write_atomically(path, self.text.encode(), hint=IN_THE_LEDGER)

    @property
    def name(self) -> str:
        """What the plan, or the policy file, calls the release."""
        return str(self._body["name"])

    @property
    def certificate(self) -> Certificate:
        """The certificate of the costliest group."""
        return max((result.certificate for result in self.values()), key=lambda certificate: certificate.amount)

    @property
    def statement(self) -> str:
        """The guarantee of all groups together in one line, as the document states it."""
        return str(self._body["guarantee"]["statement"])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {len(self)} groups by {', '.join(self.by)}; {self.statement}>"

    @property
    def notices(self) -> list[str]:
        """What must not be overlooked in any group."""
        return sorted({notice for result in self.values() for notice in result.notices})

    def remarks(self) -> list[str]:
        """What is to be said of the numbers shown, of any group."""
        return sorted({remark for result in self.values() for remark in result.remarks()})

    @property
    def header(self) -> list[str]:
        """The names of the table's columns: the attributes that groups are made by come first."""
        return [*self.by, *next(iter(self.values())).header]

    def rows(self) -> Iterator[list[Any]]:
        """Go through the tables of all groups row by row."""
        return ([*_key(result), *row] for result in self.values() for row in result.rows())

    def to_frame(self) -> Any:
        """Return all groups as one pandas DataFrame."""
        return frame(self.header, self.rows())

    def csv(self) -> bytes:
        """Return all groups as one CSV table."""
        return csv_table(self.header, self.rows())

    def to_csv(self, path: str | Path) -> None:
        """Write all groups as one CSV table."""
        write_atomically(path, self.csv(), hint=IN_THE_LEDGER)

    def parquet(self) -> bytes:
        """Return all groups as one table in Parquet; its metadata say which document it was written from."""
        return parquet(columns_of(self.header, list(self.rows())), document=self.text)

    def to_parquet(self, path: str | Path) -> None:
        """Write all groups as one table in Parquet."""
        write_atomically(path, self.parquet(), hint=IN_THE_LEDGER)

    def figure(self) -> Any:
        """Draw the groups below each other; returns a matplotlib figure."""
        panels = min(len(self), _MOST_PANELS)
        figure, axes = start_figure(8, 3.2 * panels, rows=panels)
        for result, panel in zip(self.values(), np.atleast_1d(axes), strict=False):
            result.draw(panel)
            panel.set_title(plain_text(result.title()), fontsize=9)
        if len(self) > _MOST_PANELS:
            figure.suptitle(f"the first {_MOST_PANELS} of {len(self):,} groups", fontsize=9, color="0.4")
        return figure

    def png(self) -> bytes:
        """Return the figure as PNG; it says which document it was drawn from."""
        return png(self.figure(), document=self.text)

    def svg(self) -> bytes:
        """Return the figure as SVG; it says which document it was drawn from."""
        return svg(self.figure(), document=self.text)

    def plot(self, path: str | Path) -> None:
        """Write the figure as PNG."""
        write_atomically(path, self.png())


def _key(result: Result) -> tuple[Any, ...]:
    return tuple(result.release.group.values())


def _shared(result: Result) -> Any:
    key = _key(result)
    return key[0] if len(key) == 1 else key
