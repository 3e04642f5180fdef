"""A table as a model has it, whether or not anybody measured it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain
from blowfish_privacy.results.drawn import Drawn
from blowfish_privacy.results.pictures.figure import plain_text
from blowfish_privacy.results.pictures.tables import table_figure
from blowfish_privacy.results.result import frame
from blowfish_privacy.support.arrays import rounded_column
from blowfish_privacy.support.files import IN_THE_LEDGER, csv_table, write_atomically

NO_FORMULA = "No formula states the error of these counts: they come from a model that was fitted to noisy tables."


@dataclass(frozen=True, eq=False)
class ModelTable(Drawn):
    """The counts that a model expects for every combination of values of some attributes."""

    domain: Domain
    """The attributes, in the order of the axes."""
    values: npt.NDArray[np.float64]
    measured: bool
    """Whether a table with these attributes was measured, so that the model was fitted to it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes, in the order of the axes."""
        return self.domain.names

    @property
    def labels(self) -> list[list[str]]:
        """The values of each attribute, as they are shown."""
        return [[each.show(position) for position in range(each.size)] for each in self.domain.attributes]

    def remarks(self) -> list[str]:
        """Say that the error is not known, and whether the table was measured."""
        if self.measured:
            return [f"{NO_FORMULA} They were fitted to this table; tables() has it as it was measured, with its error."]
        return [f"{NO_FORMULA} This table was not measured: it follows from others."]

    @property
    def header(self) -> list[str]:
        """The names of the table's columns."""
        return [*self.names, "count"]

    def rows(self) -> Iterator[list[Any]]:
        """One row for each cell."""
        for shown, value in zip(
            product(*self.labels), rounded_column(self.values.reshape(-1), 3).tolist(), strict=True
        ):
            yield [*shown, value]

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame."""
        return frame(self.header, self.rows())

    def to_csv(self, path: str | Path) -> None:
        """Write the table as CSV; a text like a formula of a spreadsheet gets an apostrophe in front."""
        write_atomically(path, csv_table(self.header, self.rows()), hint=IN_THE_LEDGER)

    def figure(self) -> Any:
        """Draw the counts; returns a matplotlib figure."""
        figure = table_figure(self.values, self.domain, 0.0, "count that the model expects")
        figure.suptitle(plain_text(" by ".join(self.names)), fontsize=11)
        return figure

    def __repr__(self) -> str:
        return f"<ModelTable of {' by '.join(self.names)}: {self.values.size:,} cells>"
