"""A set of noisy tables that agree."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod, sqrt
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain, Subset, read_box
from blowfish_privacy.errors import QueryError, brief_name
from blowfish_privacy.mechanisms.tables.agreeing import Agreement, SimulatedError, nonnegative, whole
from blowfish_privacy.mechanisms.tables.components import Estimates
from blowfish_privacy.mechanisms.tables.marginals import TablesMechanism
from blowfish_privacy.mechanisms.tables.ranges import CellsError, TablesError
from blowfish_privacy.mechanisms.tables.shapes import Axes
from blowfish_privacy.noise import Law
from blowfish_privacy.results.pictures.figure import plain_text, shorten
from blowfish_privacy.results.pictures.tables import MOST_PANELS, CountsDrawing, start_panels
from blowfish_privacy.results.result import HEADLINE, Drawn, Result, Tabular, rows_of_cells
from blowfish_privacy.support.arrays import Floats, estimates, standard_errors
from blowfish_privacy.support.exact import Number, about

# How wrong a table is that was measured as it stands: every cell has noise of one scale.


@dataclass(frozen=True, eq=False)
class MeasuredError:
    """The error of the cells of one measured table, which is that of the noise alone."""

    shape: tuple[int, ...]
    scale: Fraction
    law: Law

    @property
    def variance(self) -> float:
        """That of the noise in one cell."""
        return self.law.variance(self.scale) if self.scale else 0.0

    def standard_error(self, axes: Sequence[int], chosen: Sequence[Subset] | None = None) -> float:
        """Return that of a cell, or of the sum of the cells that are chosen."""
        cells = 1 if chosen is None else prod(len(subset) for subset in chosen)
        return sqrt(cells * self.variance)

    def standard_errors(self, axes: Sequence[int]) -> Floats:
        """Return that of every cell."""
        return np.full(self.shape, sqrt(self.variance))

    def interval_of(self, axes: Sequence[int], level: Number = "0.95") -> float:
        """Return a bound on the error of a cell that holds with probability ``level``."""
        return float(self.law.quantile(self.scale, level)) if self.scale else 0.0


# One table of a set of tables.


class CountTable(Drawn, Tabular):
    """The counts of every combination of values of some attributes."""

    domain: Domain
    values: npt.NDArray[Any]

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes, in the order of the axes."""
        return self.domain.names

    @property
    def labels(self) -> list[list[str]]:
        """The values of each attribute, as they are shown."""
        return [[each.show(position) for position in range(each.size)] for each in self.domain.attributes]

    @abstractmethod
    def drawing(self) -> CountsDrawing:
        """Return what its picture shows."""

    def draw(self, axes: Any) -> None:
        """Draw the counts on matplotlib axes, which may be part of another figure."""
        self.drawing().draw(axes)

    def figure(self) -> Any:
        figure = self.drawing().figure()
        figure.suptitle(plain_text(" by ".join(self.names)), fontsize=11)
        return figure

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {' by '.join(self.names)}: {self.values.size:,} cells>"


@dataclass(frozen=True, eq=False, repr=False)
class Table(CountTable):
    """The counts of every combination of values of some attributes, with their errors."""

    domain: Domain
    """The attributes, in the order of the axes."""
    values: npt.NDArray[Any]
    """The estimated count of each cell."""
    error: CellsError | MeasuredError
    axes: tuple[int, ...]
    """The numbers of the attributes among all that the set of tables is about."""

    @cached_property
    def standard_error(self) -> float:
        """The standard error of a cell, the largest where they differ; of biased counts a simulated typical error."""
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
        return [*self.names, "count", "typical_error"]

    def rows(self) -> Iterator[list[Any]]:
        errors = self.standard_errors.reshape(-1)
        return rows_of_cells(self.domain, estimates(self.values.reshape(-1), errors), standard_errors(errors))

    def drawing(self) -> CountsDrawing:
        half = self._halves()
        return CountsDrawing(self.domain, self.values, half, " by ".join(self.names), exact=not half.any())


class TablesResult(Result):
    """Tables by the names of their attributes: ``result["sex", "race"]``, and any coarser table, ``result["sex"]``.

    The counts are unbiased, so some may be negative, and all tables agree.
    """

    kind = "tables"
    _shows = TablesMechanism

    @property
    def _mechanism(self) -> TablesMechanism[Any]:
        return cast("TablesMechanism[Any]", self.release.mechanism)

    @cached_property
    def _estimates(self) -> Estimates:
        mechanism = self._mechanism
        return mechanism.components.estimate(list(mechanism.measured(self.release.noisy)), self.release.records)

    def __getitem__(self, names: str | tuple[str, ...]) -> Table:
        wanted = tuple(names) if isinstance(names, tuple | list) else (names,)
        form, components = self._mechanism.form, self._mechanism.components
        unknown = [name for name in wanted if name not in form.names]
        axes = () if unknown else tuple(form.names.index(name) for name in wanted)
        if unknown or not wanted or len(set(axes)) < len(axes) or not components.covers(axes):
            shown = "; ".join(", ".join(table) for table in self.tables[:5])
            raise QueryError(
                f"there is no table of {' and '.join(map(brief_name, wanted))} here.",
                hint=f"the tables are {shown}{'; ..' if len(self.tables) > 5 else ''}, and whatever sums of them give.",
            )
        return Table(form.domain.project(wanted), self._counts(axes), self.error(), axes)

    def _counts(self, axes: Axes) -> npt.NDArray[Any]:
        """Estimate the table of some attributes, in this order."""
        components = self._mechanism.components
        counts = components.table(self._estimates, axes)
        # What is exact is whole: floats would leave a trace of how it was put together.
        return np.where(components.cell_variances(axes) == 0, np.rint(counts), counts)

    @property
    def tables(self) -> list[tuple[str, ...]]:
        """The tables that were asked for, by their attributes."""
        names = self._mechanism.form.names
        return [tuple(names[axis] for axis in table) for table in self._mechanism.components.tables]

    def __iter__(self) -> Iterator[Table]:
        return (self[names] for names in self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    @property
    def values(self) -> npt.NDArray[Any]:
        return np.concatenate([table.values.reshape(-1) for table in self])

    @cached_property
    def _error(self) -> TablesError | SimulatedError:
        return self._mechanism.expected_error()

    def error(self) -> TablesError | SimulatedError:
        return self._error

    def nonnegative(self) -> NonnegativeTables:
        """Return near tables that agree and have no negative count: mostly nearer to the truth, and biased.

        What is public stays exact. Their error is estimated by simulation.
        """
        return NonnegativeTables(self.release, self.text)

    def whole(self) -> WholeTables:
        """Return agreeing whole numbers without negative ones, near :meth:`nonnegative`: for print, and biased.

        Tables of at most two attributes always have some; of larger ones only small sets can be rounded.
        """
        return WholeTables(self.release, self.text)

    def _remarks(self) -> list[str]:
        return [
            "All tables agree, and meet what is public. Counts are unbiased, so some may be negative; those of "
            "nonnegative() and whole() never are, but slightly biased."
        ]

    @property
    def header(self) -> list[str]:
        return ["table", *self._shown, "count", "typical_error"]

    @property
    def _shown(self) -> list[str]:
        """The attributes, and levels of them, that tables show."""
        return list(dict.fromkeys(name for names in self.tables for name in names))

    def rows(self) -> Iterator[list[Any]]:
        names = self._shown
        for table in self:
            at = {name: column for column, name in enumerate(table.names)}
            for row in table.rows():
                yield [" x ".join(table.names), *(row[at[name]] if name in at else "" for name in names), *row[-2:]]

    def drawings(self) -> Sequence[CountsDrawing]:
        drawings = [self[names].drawing() for names in self.tables[:MOST_PANELS]]
        if len(self) > len(drawings):
            left_out = f"The first {len(drawings)} of {len(self):,} tables are shown; the files have all."
            drawings[-1] = replace(drawings[-1], note=left_out)
        return drawings

    def _figure(self) -> Any:
        if len(self) == 1:
            return super()._figure()
        drawings = self.drawings()
        figure, panels = start_panels(len(drawings))
        for drawing, axes in zip(drawings, panels, strict=True):
            drawing.draw(axes)
            axes.set_title(plain_text(drawing.title), fontsize=10)
        return figure

    def headline(self) -> str:
        shown = min(len(self), MOST_PANELS)
        asked = f"{shown} of {len(self):,} tables" if shown < len(self) else "tables"
        return shorten(f"{self.title()}: {asked}{self.condition()}", HEADLINE)


class NonnegativeTables(TablesResult):
    """Tables that agree and have no negative count; biased. Their error is estimated by simulation."""

    @cached_property
    def _agreement(self) -> Agreement:
        return Agreement.of(self._mechanism.components)

    @cached_property
    def _fitted(self) -> Sequence[npt.NDArray[Any]]:
        """The tables, their axes ascending."""
        components = self._mechanism.components
        return self._fit([components.table(self._estimates, axes) for axes in self._agreement.tables])

    def _fit(self, tables: Sequence[Floats]) -> Sequence[npt.NDArray[Any]]:
        return nonnegative(tables, self._agreement)

    def _counts(self, axes: Axes) -> npt.NDArray[Any]:
        return self._agreement.sums(self._fitted, axes)

    @cached_property
    def _error(self) -> TablesError | SimulatedError:
        return SimulatedError(self._mechanism, self._agreement, self._fitted, self._fit)

    def title(self) -> str:
        return f"{super().title()} (no negative counts, biased)"

    def remarks(self) -> list[str]:
        error = self.error()
        return [
            "All tables agree, and meet what is public. Counts are not negative, and biased; their error, "
            f"{about(error.rmse)} for {error.of}, is estimated by simulation."
        ]


class WholeTables(NonnegativeTables):
    """Agreeing whole numbers, none negative; biased. Their error is estimated by simulation."""

    def _fit(self, tables: Sequence[Floats]) -> Sequence[npt.NDArray[Any]]:
        return whole(super()._fit(tables), self._agreement)

    def title(self) -> str:
        return f"{TablesResult.title(self)} (whole numbers, biased)"
