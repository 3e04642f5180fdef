"""Arrays in memory, one for each attribute, counted without any database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Assignment, AttributeSets, Lattice, RecordAggregates
from blowfish_privacy.aggregates.aggregates import involved
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines.engine import ColumnCheck, DataCheck, Progress, reported
from blowfish_privacy.engines.sql.cells import check_countable
from blowfish_privacy.errors import DataError

Column: TypeAlias = Callable[[], npt.NDArray[Any]]
"""Hands over a column when it is read, and not before: what its values are is nobody's business until then."""


class ArrayEngine:
    """Counts columns given as numpy arrays; a column is numbered once, when it is first asked for."""

    positional: ClassVar[bool] = True
    """Its columns have no names of their own: the order of the domain says which is which."""

    def __init__(self, columns: Mapping[str, Column], rows: int) -> None:
        self._columns = dict(columns)
        self._rows = rows
        self._positions: dict[tuple[str, object], npt.NDArray[np.int64]] = {}
        self.reads = 0

    def counts(
        self, domain: Domain, sets: AttributeSets, *, progress: Progress | None = None
    ) -> list[npt.NDArray[np.int64]]:
        """Count the rows of every cell of several sets of attributes."""
        return [*self.tables(domain, sets, progress=progress)]

    def tables(
        self, domain: Domain, sets: AttributeSets, *, progress: Progress | None = None
    ) -> Iterator[npt.NDArray[np.int64]]:
        """Count the rows of one set of attributes after the other."""
        wanted = check_countable(domain, sets)
        named = involved(domain, wanted)
        if not named:
            self.reads += 1
            return (np.array(self._rows, dtype=np.int64) for _ in wanted)
        return reported(self._read(domain.project(named)).tables(wanted), len(wanted), progress)

    def lattice_sums(
        self, domain: Domain, names: Iterable[str], lattice: Lattice, *, progress: Progress | None = None
    ) -> npt.NDArray[np.int64]:
        """Add up what the rows give the nodes of a lattice."""
        return self._read(domain.project(names)).lattice_sums(lattice)

    def assignments(
        self, domain: Domain, names: Iterable[str], assignment: Assignment, *, progress: Progress | None = None
    ) -> npt.NDArray[np.int64]:
        """Assign the rows to their nearest centres."""
        return self._read(domain.project(names)).assignments(assignment)

    def prepare(self, domain: Domain, names: Iterable[str]) -> None:
        """Check that the columns are there."""
        for column in map(domain.column, names):
            if column not in self._columns:
                raise DataError(f"the data have no column {column!r}.")

    def rows(self) -> int:
        """Return the number of rows."""
        return self._rows

    def check(self, domain: Domain) -> DataCheck:
        """Report, for the custodian, whether the columns fit a domain."""
        columns: list[ColumnCheck] = []
        for name in domain.names:
            try:
                self._read(domain.project([name]))
                columns.append(ColumnCheck(name, present=True, type_fits=True))
            except DataError:
                columns.append(ColumnCheck(name, present=name in self._columns, type_fits=False))
        return DataCheck(self._rows, tuple(columns))

    def close(self) -> None:
        """Let go of the arrays."""
        self._columns.clear()
        self._positions.clear()

    def _read(self, domain: Domain) -> RecordAggregates:
        self.prepare(domain, domain.names)
        self.reads += 1
        return RecordAggregates(domain, [self._encoded(domain, name) for name in domain.names])

    def _encoded(self, domain: Domain, name: str) -> npt.NDArray[np.int64]:
        key = (name, domain[name])
        if key not in self._positions:
            column = self._columns[domain.column(name)]()
            try:
                self._positions[key] = domain[name].encode(column)
            except DataError as error:
                raise error.within(name) from None
        return self._positions[key]
