"""What a mechanism may ask of data: exact whole-number aggregates, to which it then adds noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates.assignment import Assignment
from blowfish_privacy.aggregates.attribute_sets import AttributeSets, checked_sets, marginal, marginals, maximal
from blowfish_privacy.aggregates.lattice import Lattice
from blowfish_privacy.domain import Domain

Integers = npt.NDArray[np.int64]


class Aggregates(Protocol):
    """Aggregates over a query's attributes. The charge is made before the first question is answered."""

    def counts(self, sets: AttributeSets | None = None) -> list[Integers]:
        """Count the records of every cell of several sets of attributes, in one scan; by default, of all attributes.

        There is one table for each set, with its axes in the order of the names; that of the empty set is the number
        of records.
        """
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
        wanted = [self.domain.names] if sets is None else checked_sets(self.domain, sets)
        return [marginal(self.table, self.domain.names, names) for names in wanted]

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
        """Count the records of the largest sets; the tables of the others are sums of theirs."""
        wanted = [self.domain.names] if sets is None else checked_sets(self.domain, sets)
        # Without attributes, the number of records is left to count, which any one attribute tells.
        largest = maximal(wanted) or [self.domain.names[:1]]
        return marginals({names: self._count(self.domain.project(names)) for names in largest}, wanted)

    def lattice_sums(self, lattice: Lattice) -> Integers:
        """Share the records between the nodes."""
        return lattice.sums(self.positions)

    def assignments(self, assignment: Assignment) -> Integers:
        """Assign the records."""
        return assignment.sums(self.positions)

    def _count(self, chosen: Domain) -> Integers:
        cells = np.zeros(len(self.positions[0]), dtype=np.int64)
        for name, size in zip(chosen.names, chosen.shape, strict=True):
            cells = cells * size + self.positions[self.domain.axis(name)]
        return np.bincount(cells, minlength=chosen.size).astype(np.int64, copy=False).reshape(chosen.shape)
