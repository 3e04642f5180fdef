"""One table of a set of tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain, Subset, read_box
from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.tables.components import Axes
from blowfish_privacy.results.drawn import Drawn
from blowfish_privacy.results.pictures.figure import plain_text
from blowfish_privacy.results.pictures.tables import draw_table, table_figure
from blowfish_privacy.results.result import frame
from blowfish_privacy.support.arrays import Floats, estimates, standard_errors
from blowfish_privacy.support.exact import Number
from blowfish_privacy.support.files import IN_THE_LEDGER, csv_table, write_atomically


class CellError(Protocol):
    """How wrong the cells of tables are, and sums of them."""

    def standard_error(self, axes: Axes, chosen: Sequence[Subset] | None = None) -> float:
        """Return that of a cell of a table, or of the sum of the cells that are chosen."""
        ...

    def standard_errors(self, axes: Axes) -> Floats:
        """Return that of every cell of a table."""
        ...

    def interval_of(self, axes: Axes, level: Number = "0.95") -> float:
        """Return a bound on the error of a cell of a table that holds with probability ``level``."""
        ...


@dataclass(frozen=True, eq=False)
class Table(Drawn):
    """The counts of every combination of values of some attributes, with their errors."""

    domain: Domain
    """The attributes, in the order of the axes."""
    values: npt.NDArray[Any]
    """The estimated count of each cell."""
    error: CellError
    axes: tuple[int, ...]
    """The numbers of the attributes among all that the set of tables is about."""

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes, in the order of the axes."""
        return self.domain.names

    @property
    def labels(self) -> list[list[str]]:
        """The values of each attribute, as they are shown."""
        return [[each.show(position) for position in range(each.size)] for each in self.domain.attributes]

    @property
    def standard_error(self) -> float:
        """The standard error of a cell, the largest where they differ; of biased counts a simulated typical error."""
        return self._standard_error

    @cached_property
    def _standard_error(self) -> float:
        return self.error.standard_error(self.axes)

    @property
    def standard_errors(self) -> Floats:
        """The standard error of every cell."""
        return self.error.standard_errors(self.axes)

    def interval(self, level: Number = "0.95") -> tuple[Floats, Floats]:
        """Return, for every cell, bounds between which the true count lies with probability ``level``."""
        half = self._halves(level)
        return self.values - half, self.values + half

    def _halves(self, level: Number = "0.95") -> Floats:
        """Return half the width of the interval of every cell: in proportion to its error, none where it is exact."""
        widest, errors = self.error.interval_of(self.axes, level), self.standard_errors
        return widest * errors / max(float(errors.max()), 1e-300)

    def subtotal(self, condition: dict[str, Any] | None = None, /, **named: Any) -> tuple[float, float]:
        """Add up the cells that a condition selects, and say how wrong the sum is: its standard error.

        ``table.subtotal(sex="Female", age=(20, 30))``; attributes that are not named are summed over.
        """
        box = read_box(self.domain, {**(condition or {}), **named}, what="subtotal", error=QueryError)
        chosen = [box.get(name, Subset.span(0, self.domain[name].size)) for name in self.names]
        value = self.values[np.ix_(*(list(subset) for subset in chosen))].sum()
        return float(value), self.error.standard_error(self.axes, chosen)

    @property
    def header(self) -> list[str]:
        """The names of the table's columns."""
        return [*self.names, "count", "typical_error"]

    def rows(self) -> Iterator[list[Any]]:
        """One row for each cell."""
        errors = self.standard_errors.reshape(-1)
        columns = estimates(self.values.reshape(-1), errors).tolist(), standard_errors(errors).tolist()
        for shown, value, error in zip(product(*self.labels), *columns, strict=True):
            yield [*shown, value, error]

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame."""
        return frame(self.header, self.rows())

    def csv(self) -> bytes:
        """Return the table as CSV."""
        return csv_table(self.header, self.rows())

    def to_csv(self, path: str | Path) -> None:
        """Write the table as CSV; a text like a formula of a spreadsheet gets an apostrophe in front."""
        write_atomically(path, self.csv(), hint=IN_THE_LEDGER)

    def draw(self, axes: Any) -> None:
        """Draw the counts on matplotlib axes, which may be part of another figure."""
        draw_table(axes, self.values, self.domain, self._halves())

    def figure(self) -> Any:
        """Draw the counts with their error; returns a matplotlib figure."""
        figure = table_figure(self.values, self.domain, self._halves())
        figure.suptitle(plain_text(" by ".join(self.names)), fontsize=11)
        return figure

    def __repr__(self) -> str:
        return f"<Table of {' by '.join(self.names)}: {self.values.size:,} cells>"
