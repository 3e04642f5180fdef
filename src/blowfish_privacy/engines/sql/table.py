"""Counting the cells of a table with whatever engine holds it: what all SQL engines share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from blowfish_privacy.aggregates import Assignment, Lattice
from blowfish_privacy.domain import Attribute, Domain, Integer
from blowfish_privacy.engines.check import ColumnCheck, DataCheck
from blowfish_privacy.engines.progress import Progress, watched
from blowfish_privacy.engines.sources.sources import Choice, Opened, Source
from blowfish_privacy.engines.sql.assigned import assigned_query, assigned_sums
from blowfish_privacy.engines.sql.cells import Layout
from blowfish_privacy.engines.sql.columns import ColumnType, accepts, wanted
from blowfish_privacy.engines.sql.faults import shielded
from blowfish_privacy.engines.sql.soft import problems_query, raise_problems, soft_query, soft_sums
from blowfish_privacy.engines.sql.sql import check_query, counts_query, plain_counts_query
from blowfish_privacy.errors import DataError

Result = TypeVar("Result")


class TableEngine:
    """Exact counts of a source that answers SQL. Calls from several threads wait for one another."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lock = Lock()
        self.reads = 0

    def counts(
        self, domain: Domain, names: Iterable[str], *, progress: Progress | None = None
    ) -> npt.NDArray[np.int64]:
        """Count the rows of every cell of some attributes, checking every row in the same scan."""
        layout = Layout(domain.project(names))

        def count() -> npt.NDArray[np.int64]:
            opened = self._open(layout.domain)
            plain = plain_counts_query(opened.types, layout, opened.dialect)
            marking = counts_query(opened.types, layout, opened.dialect)
            found = self._found(opened, plain or marking, progress)
            if plain is not None and bool((np.asarray(found["cell"]) < 0).any()):
                found = self._found(opened, marking, progress)
            return layout.table(np.asarray(found["cell"]), np.asarray(found["n"]))

        return self._safely(count)

    def soft(
        self, domain: Domain, names: Iterable[str], lattice: Lattice, *, progress: Progress | None = None
    ) -> npt.NDArray[np.int64]:
        """Add up what the rows give the nodes of a lattice, checking every row in the same scan."""
        own = domain.project(names)

        def add_up() -> npt.NDArray[np.int64]:
            opened = self._open(own)
            sums = soft_sums(
                lattice, self._found(opened, soft_query(opened.types, own, lattice, opened.dialect), progress)
            )
            if sums is None:
                found = self._found(opened, problems_query(opened.types, own, opened.dialect), progress)
                raise_problems(own, np.asarray(found["cell"], dtype=np.int64))
                raise DataError("the data changed while they were read.")
            return sums

        return self._safely(add_up)

    def assigned(
        self, domain: Domain, names: Iterable[str], assignment: Assignment, *, progress: Progress | None = None
    ) -> npt.NDArray[np.int64]:
        """Add up the rows by their nearest centres, checking every row in the same scan."""
        own = domain.project(names)

        def add_up() -> npt.NDArray[np.int64]:
            opened = self._open(own)
            query = assigned_query(opened.types, own, assignment, opened.dialect)
            return assigned_sums(own, assignment, self._found(opened, query, progress))

        return self._safely(add_up)

    def _found(self, opened: Opened, query: exp.Select, progress: Progress | None) -> dict[str, Any]:
        self.reads += 1
        with watched(self._source.percentage, progress):
            return opened.ask(query).fetchnumpy()

    def prepare(self, domain: Domain, names: Iterable[str]) -> None:
        """Check columns and types from the source's description alone."""
        own = domain.project(names)
        self._safely(lambda: _check_types(own, self._source.types(_places(own))))

    def rows(self) -> int:
        """Count the rows."""

        def count() -> int:
            self.reads += 1
            return self._source.rows()

        return self._safely(count)

    def check(self, domain: Domain) -> DataCheck:
        """Report, for the custodian, how the data fit a domain."""

        def inspect() -> DataCheck:
            found: list[str] = []

            def choose(names: Sequence[object]) -> list[int]:
                found.extend(name for name in domain.names if names.count(name) == 1)
                return [names.index(name) for name in found] or [0]

            types = dict(zip(found, self._source.open(choose).types, strict=False))
            fitting = [name for name in found if accepts(domain[name], types[name])]
            return self._tallied(domain, found, fitting)

        return self._safely(inspect)

    def describe(self) -> str:
        """Name the engine and the kind of source."""
        return f"{self._source.engine} over {self._source.label}"

    def close(self) -> None:
        """Close the connection, if it is ours, and remove what it spilled."""
        with self._lock:
            self._source.close()

    def _safely(self, action: Callable[[], Result]) -> Result:
        with self._lock:
            try:
                return shielded(action, f"the data ({self._source.label})")
            finally:
                self._source.rest()

    def _open(self, domain: Domain) -> Opened:
        opened = self._source.open(_places(domain))
        _check_types(domain, opened.types)
        return opened

    def _tallied(self, domain: Domain, found: Sequence[str], fitting: Sequence[str]) -> DataCheck:
        self.reads += 1
        if fitting:
            opened = self._source.open(lambda names: [_find(name, names) for name in fitting])
            query = check_query([domain[name] for name in fitting], opened.types, opened.dialect)
            rows, *tallies = (int(each) for each in opened.ask(query).fetchall()[0])
        else:
            rows, tallies = self._source.rows(), []
        columns: list[ColumnCheck] = []
        for name in domain.names:
            if name not in fitting:
                columns.append(ColumnCheck(name, present=name in found, type_fits=False))
                continue
            missing, outside, malformed, *tallies = tallies
            columns.append(
                ColumnCheck(
                    name,
                    present=True,
                    type_fits=malformed == 0,
                    missing=missing,
                    outside=outside,
                    malformed=malformed,
                    declared=tuple(
                        kind
                        for kind, covered in (
                            ("missing", domain[name].missing_position is not None),
                            ("outside", domain[name].outside == "clamp"),
                        )
                        if covered
                    ),
                )
            )
        return DataCheck(rows, tuple(columns))


def _places(domain: Domain) -> Choice:
    return lambda names: [_find(name, names) for name in domain.names]


def _check_types(domain: Domain, types: Sequence[ColumnType]) -> None:
    for name, attribute, column in zip(domain.names, domain.attributes, types, strict=True):
        if not accepts(attribute, column):
            raise _wrong_type(name, attribute, column)


def _find(name: str, names: Sequence[object]) -> int:
    places = [place for place, each in enumerate(names) if each == name]
    if len(places) == 1:
        return places[0]
    if places:
        raise DataError(f"the data have several columns {name!r}.", hint="rename all but one of them.")
    # Other names are not quoted: where the header is missing, they are the values of a row.
    similar = [each for each in names if isinstance(each, str) and each.strip().casefold() == name.casefold()]
    spelt = f"the data spell it {similar[0]!r}; " if similar else ""
    raise DataError(
        f"the data have no column {name!r}.",
        hint=f"{spelt}names must agree exactly, and a CSV file must name its columns in the first line.",
    )


def _wrong_type(name: str, attribute: Attribute, column: ColumnType) -> DataError:
    hint = "no conversion is guessed; convert the column yourself."
    if isinstance(attribute, Integer) and column.kind == "float":
        hint = f"{hint} (pandas turns whole numbers with gaps into floats; astype('Int64') keeps them whole.)"
    return DataError(f"the column {name!r} must hold {wanted(attribute)}, but it is of another type.", hint=hint)
