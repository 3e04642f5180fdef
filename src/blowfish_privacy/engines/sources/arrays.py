"""Arrays in memory, one for each attribute, counted without any database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Assignment, Lattice
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines.check import ColumnCheck, DataCheck
from blowfish_privacy.engines.progress import Progress
from blowfish_privacy.engines.sql.cells import Layout
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
        self, domain: Domain, names: Iterable[str], *, progress: Progress | None = None
    ) -> npt.NDArray[np.int64]:
        """Count the rows of every cell of some attributes."""
        layout = Layout(domain.project(names))
        flat = np.zeros(self._rows, dtype=np.int64)
        for position, stride in zip(self._read(layout.domain), layout.strides, strict=True):
            flat += position * stride
        return np.bincount(flat, minlength=layout.domain.size).astype(np.int64).reshape(layout.domain.shape)

    def soft(
        self, domain: Domain, names: Iterable[str], lattice: Lattice, *, progress: Progress | None = None
    ) -> npt.NDArray[np.int64]:
        """Add up what the rows give the nodes of a lattice."""
        return lattice.sums(self._read(domain.project(names)))

    def assigned(
        self, domain: Domain, names: Iterable[str], assignment: Assignment, *, progress: Progress | None = None
    ) -> npt.NDArray[np.int64]:
        """Assign the rows to their nearest centres."""
        return assignment.sums(self._read(domain.project(names)))

    def prepare(self, domain: Domain, names: Iterable[str]) -> None:
        """Check that the columns are there."""
        for name in domain.project(names):
            if name not in self._columns:
                raise DataError(f"the data have no column {name!r}.")

    def rows(self) -> int:
        """Return the number of rows."""
        return self._rows

    def check(self, domain: Domain) -> DataCheck:
        """Report, for the custodian, whether the columns fit a domain."""
        found: list[ColumnCheck] = []
        for name in domain.names:
            try:
                self._read(domain.project([name]))
                found.append(ColumnCheck(name, present=True, type_fits=True))
            except DataError:
                found.append(ColumnCheck(name, present=name in self._columns, type_fits=False))
        return DataCheck(self._rows, tuple(found))

    def describe(self) -> str:
        """Name the engine."""
        return "arrays in memory"

    def close(self) -> None:
        """Let go of the arrays."""
        self._columns.clear()
        self._positions.clear()

    def _read(self, own: Domain) -> list[npt.NDArray[np.int64]]:
        self.prepare(own, own.names)
        self.reads += 1
        return [self._numbered(own, name) for name in own.names]

    def _numbered(self, own: Domain, name: str) -> npt.NDArray[np.int64]:
        key = (name, own[name])
        if key not in self._positions:
            column = self._columns[name]()
            try:
                self._positions[key] = own[name].encode(column)
            except DataError as error:
                raise error.within(name) from None
        return self._positions[key]
