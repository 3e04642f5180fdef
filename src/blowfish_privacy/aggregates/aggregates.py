"""What a mechanism may ask of data: exact whole-number aggregates, to which it then adds noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from blowfish_privacy.aggregates.assignment import Assignment
from blowfish_privacy.aggregates.attribute_sets import AttributeSets, checked_sets, involved, summed
from blowfish_privacy.aggregates.lattice import Lattice
from blowfish_privacy.aggregates.record_tables import narrow, record_tables
from blowfish_privacy.domain import Domain
from blowfish_privacy.support.arrays import Integers


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
class TableAggregates:
    """Aggregates of a table of counts in memory: for simulations on public data, and for tests."""

    domain: Domain
    table: Integers
    """The number of records of every cell of the domain."""

    def counts(self, sets: AttributeSets | None = None) -> list[Integers]:
        """Sum the table down to each set."""
        return [*self.tables([self.domain.names] if sets is None else sets)]

    def tables(self, sets: AttributeSets) -> Iterator[Integers]:
        """Sum the table down to one set after the other."""
        wanted = checked_sets(self.domain, sets)
        return (summed(self.table, self.domain, names) for names in wanted)

    def lattice_sums(self, lattice: Lattice) -> Integers:
        """Contract the table with the lattice, one axis after the other."""
        return lattice.contract(self.table)

    def assignments(self, assignment: Assignment) -> Integers:
        """Assign the cells that hold records."""
        filled = np.nonzero(self.table)
        return assignment.sums(filled, self.table[filled])


@dataclass(frozen=True, eq=False)
class RecordAggregates:
    """Aggregates of records in memory, given as positions along every attribute of a domain."""

    domain: Domain
    positions: Sequence[Integers]

    def counts(self, sets: AttributeSets | None = None) -> list[Integers]:
        """Count the records of each set."""
        return [*self.tables([self.domain.names] if sets is None else sets)]

    def tables(self, sets: AttributeSets) -> Iterator[Integers]:
        """Count the records of one set after the other."""
        wanted = checked_sets(self.domain, sets)
        # Without attributes, the number of records is left to count, which any one attribute tells.
        seen = self.domain.project(involved(self.domain, wanted) or self.domain.names[:1])
        columns = [narrow(self._seen(name), size) for name, size in zip(seen.names, seen.shape, strict=True)]
        return record_tables(seen, columns, None, wanted)

    def _seen(self, name: str) -> Integers:
        positions, view = self.positions[self.domain.axis(name)], self.domain.view(name)
        return positions if view is None else view[positions]

    def lattice_sums(self, lattice: Lattice) -> Integers:
        """Share the records between the nodes."""
        return lattice.sums(self.positions)

    def assignments(self, assignment: Assignment) -> Integers:
        """Assign the records."""
        return assignment.sums(self.positions)
