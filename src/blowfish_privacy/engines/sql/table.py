"""The engine over any source that answers SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from sqlglot import exp

from blowfish_privacy.aggregates import Assignment, AttributeSets, Lattice
from blowfish_privacy.aggregates.aggregates import Names, involved, marginals, maximal
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines.check import ColumnCheck, DataCheck, near_columns
from blowfish_privacy.engines.progress import Progress, watched
from blowfish_privacy.engines.sources.sources import Answer, Choice, Opened, Source
from blowfish_privacy.engines.sql.assignments import assignment_query, assignment_sums
from blowfish_privacy.engines.sql.cells import Layout, check_countable, many
from blowfish_privacy.engines.sql.columns import Kind, accepts
from blowfish_privacy.engines.sql.counts import counts_query, plain_counts_query
from blowfish_privacy.engines.sql.faults import shielded
from blowfish_privacy.engines.sql.lattice_sums import lattice_query, lattice_sums
from blowfish_privacy.engines.sql.marginals import marginals_query, spread
from blowfish_privacy.engines.sql.matching import check_types, find_column
from blowfish_privacy.engines.sql.positions import Verdicts
from blowfish_privacy.engines.sql.problems import PROBLEMS, data_problem
from blowfish_privacy.engines.sql.record_scan import RecordScan
from blowfish_privacy.engines.sql.rows import check_query
from blowfish_privacy.engines.sql.undeclared import with_values
from blowfish_privacy.errors import DataError
from blowfish_privacy.support.arrays import Integers

Result = TypeVar("Result")


class TableEngine:
    """Exact aggregates of a source that answers SQL. Calls from several threads wait for one another."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lock = Lock()
        self.reads = 0

    def counts(self, domain: Domain, sets: AttributeSets, *, progress: Progress | None = None) -> list[Integers]:
        """Count the rows of every cell of several sets of attributes, checking every row in the same scan."""
        return [*self.tables(domain, sets, progress=progress)]

    def tables(self, domain: Domain, sets: AttributeSets, *, progress: Progress | None = None) -> Iterator[Integers]:
        """Count the same one table after the other: few are counted by the source, many are counted here."""
        asked = check_countable(domain, sets)
        if many(domain, asked):
            return RecordScan(domain.project(involved(domain, asked)), asked, self, progress).tables()
        return iter(self._grouped(domain, asked, progress))

    def _grouped(self, domain: Domain, asked: Sequence[Names], progress: Progress | None) -> list[Integers]:
        layouts = [Layout(domain.project(names)) for names in maximal(asked)]
        if not layouts:
            rows = self.rows() if asked else 0
            return [np.array(rows, dtype=np.int64) for _ in asked]

        def count() -> list[Integers]:
            if len(layouts) == 1:
                return [self._counted(layouts[0], progress)]
            return self._counted_together(domain, layouts, progress)

        tables = dict(zip((layout.domain.names for layout in layouts), self.safely(count), strict=True))
        return marginals(tables, asked)

    def _counted(self, layout: Layout, progress: Progress | None) -> Integers:
        opened = self.open(layout.domain)
        plain = plain_counts_query(opened.types, layout, opened.dialect)
        marking = counts_query(opened.types, layout, opened.dialect)
        groups = self.groups(opened, plain or marking, progress)
        if plain is not None and bool((groups["cell"] < 0).any()):
            groups = self.groups(opened, marking, progress)
        return layout.table(groups["cell"], groups["n"])

    def _counted_together(self, domain: Domain, layouts: Sequence[Layout], progress: Progress | None) -> list[Integers]:
        named = domain.project(involved(domain, [layout.domain.names for layout in layouts]))
        opened = self.open(named)
        groups = self.groups(opened, marginals_query(opened.types, named, layouts, opened.dialect), progress)
        if bool((groups["cell"] < 0).any()):
            raise self.problem(opened, named, progress)
        return spread(layouts, groups["cell"], groups["n"])

    def lattice_sums(
        self, domain: Domain, names: Iterable[str], lattice: Lattice, *, progress: Progress | None = None
    ) -> Integers:
        """Add up what the rows give the nodes of a lattice, checking every row in the same scan."""
        asked = domain.project(names)

        def add_up() -> Integers:
            opened = self.open(asked)
            query = lattice_query(opened.types, asked, lattice, opened.dialect)
            sums = lattice_sums(lattice, self.groups(opened, query, progress))
            if sums is None:
                raise self.problem(opened, asked, progress)
            return sums

        return self.safely(add_up)

    def assignments(
        self, domain: Domain, names: Iterable[str], assignment: Assignment, *, progress: Progress | None = None
    ) -> Integers:
        """Add up the rows by their nearest centres, checking every row in the same scan."""
        asked = domain.project(names)

        def add_up() -> Integers:
            opened = self.open(asked)
            query = assignment_query(opened.types, asked, assignment, opened.dialect)
            return assignment_sums(asked, assignment, self.groups(opened, query, progress))

        return self.safely(add_up)

    def groups(self, opened: Opened, query: exp.Select, progress: Progress | None) -> dict[str, Any]:
        """Run a query, and return its columns."""
        self.reads += 1
        with watched(self._source.percentage, progress):
            return {name: np.asarray(column) for name, column in opened.ask(query).fetchnumpy().items()}

    def problem(self, opened: Opened, domain: Domain, progress: Progress | None) -> DataError:
        """Look a second time to say what is wrong with rows that have problems."""
        self.reads += 1
        query = check_query(domain.attributes, opened.types, opened.dialect, Verdicts.as_declared)
        with watched(self._source.percentage, progress):
            _, *tallies = opened.ask(query).fetchall()[0]
        fields = product(zip(map(domain.column, domain.names), domain.attributes, strict=True), PROBLEMS)
        problems = [(*field, problem) for (field, problem), rows in zip(fields, tallies, strict=True) if rows]
        return data_problem(problems) if problems else DataError("the data changed while they were read.")

    def columns(self) -> list[tuple[str, Kind]]:
        """Name the columns and what kind of values each holds, without looking at a row."""
        names: list[str] = []

        def choose(listed: Sequence[object]) -> Sequence[int]:
            names.extend(map(str, listed))
            return range(len(listed))

        types = self.safely(lambda: self._source.types(choose))
        return [(name, each.kind) for name, each in zip(names, types, strict=True)]

    def prepare(self, domain: Domain, names: Iterable[str]) -> None:
        """Check columns and types from the source's description alone."""
        asked = domain.project(names)
        self.safely(lambda: check_types(asked, self._source.types(_choose(asked))))

    def rows(self) -> int:
        """Count the rows."""

        def count() -> int:
            self.reads += 1
            return self._source.rows()

        return self.safely(count)

    def check(self, domain: Domain) -> DataCheck:
        """Report, for the custodian, how the data fit a domain."""

        def inspect() -> DataCheck:
            present: list[str] = []
            similar: dict[str, tuple[str, ...]] = {}

            def choose(names: Sequence[object]) -> list[int]:
                absent = [name for name in domain.names if name not in names]
                similar.update({name: tuple(near_columns(name, [*map(str, names)])) for name in absent})
                present.extend(name for name in domain.names if names.count(name) == 1)
                return [names.index(name) for name in present] or [0]

            types = dict(zip(present, self._source.open(choose).types, strict=False))
            fitting = [name for name in present if accepts(domain[name], types[name])]
            return self._tallied(domain, present, fitting, similar)

        return self.safely(inspect)

    def close(self) -> None:
        """Close the connection, if it is ours, and remove what it spilled."""
        with self._lock:
            self._source.close()

    def safely(self, action: Callable[[], Result]) -> Result:
        """Run an action that reads the data, alone and with errors of our own."""
        with self._lock:
            try:
                return shielded(action, f"the data ({self._source.label})")
            finally:
                self._source.rest()

    def open(self, domain: Domain) -> Opened:
        """Open the columns of a domain; no row is read yet."""
        opened = self._source.open(_choose(domain))
        check_types(domain, opened.types)
        return opened

    def _watching(self, name: str) -> Opened:
        """Open one column, and count what is asked of it."""
        opened = self._source.open(lambda names: [find_column(name, names, [name])])

        def ask(query: exp.Select) -> Answer:
            self.reads += 1
            return opened.ask(query)

        return replace(opened, ask=ask)

    def _tallied(
        self, domain: Domain, present: Sequence[str], fitting: Sequence[str], similar: Mapping[str, tuple[str, ...]]
    ) -> DataCheck:
        self.reads += 1
        if fitting:
            opened = self._source.open(lambda names: [find_column(name, names, fitting) for name in fitting])
            attributes = [domain[name] for name in fitting]
            query = check_query(attributes, opened.types, opened.dialect, Verdicts.whatever_is_declared)
            rows, *tallies = (int(each) for each in opened.ask(query).fetchall()[0])
        else:
            rows, tallies = self._source.rows(), []
        columns: list[ColumnCheck] = []
        for name in domain.names:
            if name not in fitting:
                near = similar.get(name, ())
                columns.append(ColumnCheck(name, present=name in present, type_fits=False, similar=near))
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
        looked_at = [
            with_values(each, domain[each.name], self._watching(each.name)) if each.name in fitting else each
            for each in columns
        ]
        return DataCheck(rows, tuple(looked_at))


def _choose(domain: Domain) -> Choice:
    declared = [domain.column(name) for name in domain.names]
    return lambda names: [find_column(name, names, declared) for name in declared]
