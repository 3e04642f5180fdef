"""Very many tables from one scan, in bounded memory.

A database groups by every set of attributes at once, and holds all groups of all of them: with hundreds of sets that
is slower than counting here, and takes gigabytes. So the different rows are fetched once, as packed positions, kept in
a few bytes an attribute, and counted one table after the other. Where even these rows are too many to keep, they are
fetched in parts, as many tables as fit are added up at a time, and the data are read once for each part and for each
lot of tables: no row is ever written to a disk, and reading again takes less time than so many rows take to count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any, Protocol, TypeVar

import numpy as np
from sqlglot import exp

from blowfish_privacy.aggregates.aggregates import Names, Positions, record_tables
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines.progress import Progress, between, reported
from blowfish_privacy.engines.sources.sources import Opened
from blowfish_privacy.engines.sql.cells import MOST_TOGETHER, table_size
from blowfish_privacy.engines.sql.expressions import rows_counted
from blowfish_privacy.engines.sql.records import Packing, Part
from blowfish_privacy.engines.sql.rows import source
from blowfish_privacy.errors import DataError
from blowfish_privacy.support.arrays import Integers

ANSWER = 2**26
"""The most bytes of rows that are fetched at once."""
HELD = 2**28
"""The most bytes of rows that are kept."""

_FIRST, _FETCHED = 0.2, 0.5
"""The share of the work when the first rows, and when all of them are fetched: a guess that only a display needs."""

Result = TypeVar("Result")


class RowSource(Protocol):
    """What a scan needs of an engine."""

    def safely(self, action: Callable[[], Result]) -> Result:
        """Run an action that reads data; errors are our own."""
        ...

    def open(self, domain: Domain) -> Opened:
        """Open the columns of a domain: in one transaction, until they are opened again, where there are any."""
        ...

    def groups(self, opened: Opened, query: exp.Select, progress: Progress | None) -> dict[str, Any]:
        """Run a query."""
        ...

    def problem(self, opened: Opened, domain: Domain, progress: Progress | None) -> DataError:
        """Find out what is wrong with some rows."""
        ...


@dataclass(frozen=True, eq=False)
class Block:
    """Some of the rows, in memory."""

    domain: Domain
    positions: Sequence[Positions]
    times: Integers | None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.positions[0]) if self.times is None else int(self.times.sum())

    def tables(self, sets: Sequence[Names]) -> Iterator[Integers]:
        """Count the rows of one set after the other."""
        return record_tables(self.domain, self.positions, self.times, sets)


@dataclass(frozen=True, eq=False)
class RecordScan:
    """The tables of some sets, which together involve all attributes of a domain."""

    domain: Domain
    sets: Sequence[Names]
    source: RowSource
    progress: Progress | None = None

    def tables(self) -> Iterator[Integers]:
        """Return one table after the other."""
        held = self.source.safely(self._held)
        if isinstance(held, int):
            yield from self._in_lots(held)
            return
        counted = zip(*(block.tables(self.sets) for block in held), strict=True)
        for tables in reported(counted, len(self.sets), between(self.progress, _FETCHED, 1)):
            yield _added(tables)

    def _held(self) -> list[Block] | int:
        """Fetch the rows to keep, or return their number if they are too many."""
        opened = self.source.open(self.domain)
        first = self._fetched(opened, self._most + 1, between(self.progress, 0, _FIRST))
        if len(first.positions[0]) <= self._most:
            return [first]
        del first
        query = exp.select(rows_counted().as_("n", quoted=True)).from_(source())
        number = int(self.source.groups(opened, query, None)["n"][0])
        width = sum(np.min_scalar_type(size - 1).itemsize for size in self.domain.shape) + 8
        if number * width > HELD:
            return number
        return [*self._parts(opened, number, between(self.progress, _FIRST, _FETCHED))]

    def _in_lots(self, number: int) -> Iterator[Integers]:
        """Add up the parts of as many tables at a time as fit."""
        lots = list(_lots(self.domain, self.sets))
        for rank, lot in enumerate(lots):
            progress = between(between(self.progress, _FIRST, 1), rank / len(lots), (rank + 1) / len(lots))

            def add_up(lot: Sequence[Names] = lot, progress: Progress | None = progress) -> list[Integers]:
                blocks = self._parts(self.source.open(self.domain), number, progress)
                totals = [*next(blocks).tables(lot)]
                for block in blocks:
                    for total, table in zip(totals, block.tables(lot), strict=True):
                        total += table
                return totals

            yield from self.source.safely(add_up)

    def _parts(self, opened: Opened, number: int, progress: Progress | None) -> Iterator[Block]:
        """Fetch the rows in parts of about equal size."""
        many = ceil(number / self._most)
        for part in range(many):
            block = self._fetched(opened, Part(part, many), between(progress, part / many, (part + 1) / many))
            number -= block.rows
            yield block
        if number:
            raise DataError("the data changed while they were read.")

    def _fetched(self, opened: Opened, part: Part | int, progress: Progress | None) -> Block:
        query = self._packing.query(opened.types, opened.dialect, part)
        groups = self.source.groups(opened, query, progress)
        if bool((groups["w0"] < 0).any()):
            raise self.source.problem(opened, self.domain, progress)
        return Block(self.domain, *self._packing.unpacked(groups))

    @cached_property
    def _packing(self) -> Packing:
        return Packing(self.domain)

    @property
    def _most(self) -> int:
        """How many rows are fetched at once."""
        return max(1, ANSWER // self._packing.width)


def _lots(domain: Domain, sets: Sequence[Names]) -> Iterator[list[Names]]:
    lot: list[Names] = []
    cells = 0
    for names in sets:
        size = table_size(domain, names)
        if lot and cells + size > MOST_TOGETHER:
            yield lot
            lot, cells = [], 0
        lot.append(names)
        cells += size
    yield lot


def _added(tables: Sequence[Integers]) -> Integers:
    total = tables[0]
    for table in tables[1:]:
        total += table
    return total
