"""What a mechanism may ask of data: exact whole-number aggregates, to which it then adds noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates.lattice import Assignment, Lattice
from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import QueryError, brief
from blowfish_privacy.support.arrays import Integers

# Counts of several sets of attributes at once: which tables must be counted, and which follow from these.

Names: TypeAlias = tuple[str, ...]

AttributeSets: TypeAlias = Sequence[Sequence[str]]
"""Sets of attributes, each in the order that the axes of its table shall have."""


def checked_sets(domain: Domain, sets: AttributeSets) -> list[Names]:
    """Refuse sets that name an attribute twice, or one that the domain does not have."""
    if isinstance(sets, str):
        raise QueryError(f"a list of sets of attributes is needed, got {brief(sets)}.", hint='such as [["age"], []].')
    # A domain has attributes; the empty set, which stands for the number of records, has none.
    return [() if not len(names) else domain.project(names).names for names in sets]


def involved(domain: Domain, sets: Sequence[Names]) -> Names:
    """Return the attributes, and levels of them, that some set names, in the order of the domain."""
    named = dict.fromkeys(name for names in sets for name in names)
    return tuple(sorted(named, key=domain.axis))


def maximal(sets: Sequence[Names]) -> list[Names]:
    """Leave out the empty set, and every set that another one contains: their tables are sums of others."""
    largest: dict[frozenset[str], Names] = {}
    for names in sorted(sets, key=len, reverse=True):
        members = frozenset(names)
        if members and not any(members <= larger for larger in largest):
            largest[members] = names
    return list(largest.values())


def marginal(table: Integers, names: Sequence[str], kept: Sequence[str]) -> Integers:
    """Sum a table with one axis for each name down to the names kept, in their order; the result is a copy."""
    axes = [names.index(name) for name in kept]
    summed = np.asarray(table.sum(axis=tuple(set(range(len(names))) - set(axes)), dtype=np.int64))
    return np.asarray(summed.transpose([sorted(axes).index(axis) for axis in axes]), order="C")


def summed(table: Integers, domain: Domain, kept: Sequence[str]) -> Integers:
    """Sum a table of a domain's cells down to some attributes, or levels of them, in their order."""
    columns = [*dict.fromkeys(domain.names[domain.axis(name)] for name in kept)]
    counts = marginal(table, domain.names, columns)
    if columns == [*kept]:
        return counts
    chosen, along = domain.project(kept), np.indices(counts.shape, sparse=True)
    cells = np.zeros(counts.shape, dtype=np.int64)
    for name, size in zip(chosen.names, chosen.shape, strict=True):
        positions, view = along[columns.index(domain.names[domain.axis(name)])], domain.view(name)
        cells = cells * size + (positions if view is None else view[positions])
    totals = np.zeros(chosen.size, dtype=np.int64)
    np.add.at(totals, cells.reshape(-1), counts.reshape(-1))
    return totals.reshape(chosen.shape)


def marginals(tables: Mapping[Names, Integers], sets: Sequence[Names]) -> list[Integers]:
    """Return the table of each set, summed from the smallest one that contains it; no two share memory."""
    members = {frozenset(names): names for names in tables}
    unused = dict(tables)

    def derived(kept: Names) -> Integers:
        if kept in unused:
            return unused.pop(kept)
        larger = (names for each, names in members.items() if each.issuperset(kept))
        names = members.get(frozenset(kept)) or min(larger, key=lambda names: tables[names].size)
        return marginal(tables[names], names, kept)

    return [derived(kept) for kept in sets]


# Counting records that are in memory, one table after the other, in the memory of one table.

Positions = npt.NDArray[Any]
"""Whole numbers from 0, of any width."""


def narrow(positions: Positions, size: int) -> Positions:
    """Return positions below ``size`` in as few bytes as hold them: counting takes less memory, and less time."""
    return positions.astype(np.min_scalar_type(size - 1), copy=False)


def record_tables(
    domain: Domain, positions: Sequence[Positions], times: Integers | None, sets: Iterable[Names]
) -> Iterator[Integers]:
    """Count the records of every cell of each set, given narrow positions along every attribute of a domain.

    ``times`` says how many records each one stands for. The numbers of the cells of a set's first attributes are kept
    for the next one: sets that begin alike are counted faster side by side, as those of ``combinations`` are.
    """
    columns, sizes = dict(zip(domain.names, positions, strict=True)), dict(zip(domain.names, domain.shape, strict=True))
    cells: list[tuple[Positions, int]] = []
    last: Names = ()
    for names in sets:
        del cells[len([*takewhile(lambda pair: pair[0] == pair[1], zip(last, names, strict=False))]) :]
        for name in names[len(cells) :]:
            cells.append(_refined(cells[-1] if cells else None, columns[name], sizes[name]))
        last = names
        yield _counted(cells, positions, times).reshape([sizes[name] for name in names])


def _refined(coarser: tuple[Positions, int] | None, column: Positions, size: int) -> tuple[Positions, int]:
    """Number cells that one more attribute divides, in as few bytes as hold the numbers."""
    if coarser is None:
        return column, size
    numbers, many = coarser
    finer: Positions = np.multiply(numbers, size, dtype=np.min_scalar_type(many * size - 1))
    finer += column
    return finer, many * size


def _counted(
    cells: Sequence[tuple[Positions, int]], positions: Sequence[Positions], times: Integers | None
) -> Integers:
    if not cells:
        return np.array(len(positions[0]) if times is None else times.sum(), dtype=np.int64)
    numbers, many = cells[-1]
    if times is None:
        return np.bincount(numbers, minlength=many).astype(np.int64, copy=False)
    # bincount would add up weights in floating point.
    table = np.zeros(many, dtype=np.int64)
    np.add.at(table, numbers, times)
    return table


class Aggregates(Protocol):
    """Aggregates over a query's attributes. The charge is made before the first question is answered."""

    def counts(self, sets: AttributeSets | None = None) -> list[Integers]:
        """Count the records of every cell of several sets of attributes, in one scan; by default, of all attributes.

        There is one table for each set, with its axes in the order of the names; that of the empty set is the number
        of records.
        """
        ...

    def tables(self, sets: AttributeSets) -> Iterator[Integers]:
        """Count the same one table after the other, in bounded memory: for more tables than can be held at once."""
        ...

    def lattice_sums(self, lattice: Lattice) -> Integers:
        """Add up what the records give each node of a lattice over all attributes."""
        ...

    def assignments(self, assignment: Assignment) -> Integers:
        """Return each centre's number of records and the sums of their clipped offsets, one row each."""
        ...


@dataclass(frozen=True, eq=False)
class _Held(Aggregates):
    """Aggregates of what is in memory."""

    domain: Domain

    def counts(self, sets: AttributeSets | None = None) -> list[Integers]:
        return [*self.tables([self.domain.names] if sets is None else sets)]


@dataclass(frozen=True, eq=False)
class TableAggregates(_Held):
    """Aggregates of a table of counts in memory: for simulations on public data, and for tests."""

    table: Integers
    """The number of records of every cell of the domain."""

    def tables(self, sets: AttributeSets) -> Iterator[Integers]:
        wanted = checked_sets(self.domain, sets)
        return (summed(self.table, self.domain, names) for names in wanted)

    def lattice_sums(self, lattice: Lattice) -> Integers:
        return lattice.contract(self.table)

    def assignments(self, assignment: Assignment) -> Integers:
        filled = np.nonzero(self.table)
        return assignment.sums(filled, self.table[filled])


@dataclass(frozen=True, eq=False)
class RecordAggregates(_Held):
    """Aggregates of records in memory, given as positions along every attribute of a domain."""

    positions: Sequence[Integers]

    def tables(self, sets: AttributeSets) -> Iterator[Integers]:
        wanted = checked_sets(self.domain, sets)
        # Without attributes, the number of records is left to count, for which any one attribute will do.
        seen = self.domain.project(involved(self.domain, wanted) or self.domain.names[:1])
        columns = [narrow(self._seen(name), size) for name, size in zip(seen.names, seen.shape, strict=True)]
        return record_tables(seen, columns, None, wanted)

    def _seen(self, name: str) -> Integers:
        positions, view = self.positions[self.domain.axis(name)], self.domain.view(name)
        return positions if view is None else view[positions]

    def lattice_sums(self, lattice: Lattice) -> Integers:
        return lattice.sums(self.positions)

    def assignments(self, assignment: Assignment) -> Integers:
        return assignment.sums(self.positions)
