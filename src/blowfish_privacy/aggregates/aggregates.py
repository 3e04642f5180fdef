"""What a mechanism may ask about the data: exact whole-number aggregates, whose noise it then draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Assignment, Lattice

Integers = npt.NDArray[np.int64]


class Exact(Protocol):
    """The data behind the door. Everything is charged before the first question is answered."""

    def counts(self) -> Integers:
        """Count the records of every cell of the query's attributes."""
        ...

    def soft(self, lattice: Lattice) -> Integers:
        """Add up what the records give each node of a lattice over the query's attributes."""
        ...

    def assigned(self, assignment: Assignment) -> Integers:
        """Return each centre's number of records and their clipped offsets added up."""
        ...


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts that somebody has in memory: for simulations on public data, and for tests."""

    table: Integers

    def counts(self) -> Integers:
        """Return the counts."""
        return self.table

    def soft(self, lattice: Lattice) -> Integers:
        """Add up from the counts."""
        return lattice.contract(self.table)

    def assigned(self, assignment: Assignment) -> Integers:
        """Assign the filled cells."""
        filled = np.nonzero(self.table)
        return assignment.sums(filled, self.table[filled])


@dataclass(frozen=True, eq=False)
class Placed:
    """Records that somebody has in memory, as positions along every attribute: for simulations on public data."""

    positions: tuple[Integers, ...]
    shape: tuple[int, ...]

    def counts(self) -> Integers:
        """Count the records of every cell."""
        flat = np.ravel_multi_index(self.positions, self.shape)
        return np.bincount(flat, minlength=int(np.prod(self.shape))).astype(np.int64).reshape(self.shape)

    def soft(self, lattice: Lattice) -> Integers:
        """Add up from the positions."""
        return lattice.sums(self.positions)

    def assigned(self, assignment: Assignment) -> Integers:
        """Assign the records."""
        return assignment.sums(self.positions)
