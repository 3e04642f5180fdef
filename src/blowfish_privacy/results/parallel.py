"""A release for each value of an attribute that no secret pair changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.results.pictures.figure import plain_text, png, start_figure
from blowfish_privacy.results.result import Result
from blowfish_privacy.support.files import IN_THE_LEDGER, csv_table, write_atomically

_MOST_PANELS = 12


class ParallelResult(Mapping[Any, Result]):
    """The results of all parts, by the value of the attribute they share."""

    def __init__(self, attribute: str, results: Sequence[Result], text: str) -> None:
        self.attribute = attribute
        self.text = text
        self._results = {result.release.part[1]: result for result in results if result.release.part is not None}

    def __getitem__(self, value: Any) -> Result:
        return self._results[value]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def save(self, path: str | Path) -> None:
        """Write the release document with all parts."""
        write_atomically(path, self.text.encode(), hint=IN_THE_LEDGER)

    @property
    def certificate(self) -> Certificate:
        """The certificate of the costliest part, which is that of the whole."""
        return max((result.certificate for result in self.values()), key=lambda certificate: certificate.epsilon)

    @property
    def notices(self) -> list[str]:
        """What must not be overlooked in any part."""
        return sorted({notice for result in self.values() for notice in result.notices})

    def to_frame(self) -> Any:
        """Return all parts as one pandas DataFrame, with the attribute in front."""
        import pandas as pd

        parts = {value: result.to_frame() for value, result in self.items()}
        return pd.concat(parts, names=[self.attribute]).reset_index(level=0)

    def to_csv(self, path: str | Path) -> None:
        """Write all parts as one CSV table, with the attribute in front."""
        header = [self.attribute, *next(iter(self.values())).header]
        rows = ([value, *row] for value, result in self.items() for row in result.rows())
        write_atomically(path, csv_table(header, rows), hint=IN_THE_LEDGER)

    def figure(self) -> Any:
        """Draw the parts below each other; returns a matplotlib figure."""
        panels = min(len(self), _MOST_PANELS)
        figure, axes = start_figure(8, 3.2 * panels, rows=panels)
        for result, panel in zip(self.values(), np.atleast_1d(axes), strict=False):
            result.draw(panel)
            panel.set_title(plain_text(result.title()), fontsize=9)
        if len(self) > _MOST_PANELS:
            figure.suptitle(f"the first {_MOST_PANELS} of {len(self):,} parts", fontsize=9, color="0.4")
        return figure

    def png(self) -> bytes:
        """Return the figure as PNG; it says which document it was drawn from."""
        return png(self.figure(), document=self.text)

    def plot(self, path: str | Path) -> None:
        """Write the figure as PNG."""
        write_atomically(path, self.png())
