"""A histogram that the caller already has, in place of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Assignment, AttributeSets, Lattice, TableAggregates
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines.check import ColumnCheck, DataCheck
from blowfish_privacy.engines.progress import Progress, reported
from blowfish_privacy.errors import DataError

_LARGEST = 2**63 - 1


@dataclass(frozen=True, eq=False, repr=False)
class Counts:
    """The number of rows of every cell, one axis for each attribute of the domain, in the domain's order.

    The axes have no names, so the order counts: a plan made for another order of the same policy is refused.

    >>> Counts([[3, 0, 1], [2, 2, 0]])
    Counts of shape (2, 3)
    """

    array: npt.ArrayLike

    def __post_init__(self) -> None:
        try:
            given = np.asarray(self.array)
        except ValueError:
            given = np.array([0.5])
        if given.dtype.kind not in "iu":
            raise DataError(
                f"counts must be whole numbers, got an array of {given.dtype}.",
                hint="numbers are never rounded implicitly; convert them yourself.",
            )
        if given.size and given.min() < 0:
            raise DataError("counts must not be negative.")
        if _total(given) > _LARGEST:
            raise DataError("the counts add up to more than 64 bits can hold.")
        # A copy: what is checked here must still hold when it is read.
        kept = given.astype(np.int64, copy=True)
        kept.flags.writeable = False
        object.__setattr__(self, "array", kept)

    def __repr__(self) -> str:
        return f"Counts of shape {self.values.shape}"

    @property
    def values(self) -> npt.NDArray[np.int64]:
        """The checked counts, read-only."""
        return np.asarray(self.array, dtype=np.int64)


class MemoryEngine:
    """Counts cells by summing the axes that are not asked for."""

    positional: ClassVar[bool] = True
    """Its axes have no names of their own: the order of the domain says which is which."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts.values
        self.reads = 0

    def counts(
        self, domain: Domain, sets: AttributeSets, *, progress: Progress | None = None
    ) -> list[npt.NDArray[np.int64]]:
        """Sum the histogram down to each set of attributes, in the order named."""
        return [*self.tables(domain, sets, progress=progress)]

    def tables(
        self, domain: Domain, sets: AttributeSets, *, progress: Progress | None = None
    ) -> Iterator[npt.NDArray[np.int64]]:
        """Sum the histogram down to one set of attributes after the other."""
        self._check_shape(domain)
        # The total fits 64 bits, so every partial sum does.
        tables = TableAggregates(domain, self._counts).tables(sets)
        self.reads += 1
        return reported(tables, len(sets), progress)

    def lattice_sums(
        self, domain: Domain, names: Iterable[str], lattice: Lattice, *, progress: Progress | None = None
    ) -> npt.NDArray[np.int64]:
        """Add up what the records give the nodes of a lattice, one axis after the other."""
        return self._projected(domain, names).lattice_sums(lattice)

    def assignments(
        self, domain: Domain, names: Iterable[str], assignment: Assignment, *, progress: Progress | None = None
    ) -> npt.NDArray[np.int64]:
        """Assign the filled cells to their nearest centres."""
        return self._projected(domain, names).assignments(assignment)

    def prepare(self, domain: Domain, names: Iterable[str]) -> None:
        """Check that the histogram has the shape of the domain."""
        _ = domain.project(names)
        self._check_shape(domain)

    def rows(self) -> int:
        """Return the sum of all counts."""
        self.reads += 1
        return int(self._counts.sum(dtype=np.int64))

    def check(self, domain: Domain) -> DataCheck:
        """Report that a histogram of the right shape has nothing missing and nothing outside."""
        self._check_shape(domain)
        fitting = [ColumnCheck(name, present=True, type_fits=True, missing=0, outside=0) for name in domain.names]
        return DataCheck(self.rows(), tuple(fitting))

    def close(self) -> None:
        """Do nothing: nothing is held."""

    def _projected(self, domain: Domain, names: Iterable[str]) -> TableAggregates:
        chosen = domain.project(names)
        return TableAggregates(chosen, *self.counts(domain, [chosen.names]))

    def _check_shape(self, domain: Domain) -> None:
        if self._counts.shape != domain.shape:
            raise DataError(
                f"the counts have the shape {self._counts.shape}, but the domain has {domain.shape}.",
                hint=f"one axis for each attribute, in the order {', '.join(domain.names)}.",
            )


def _total(array: npt.NDArray[np.signedinteger | np.unsignedinteger]) -> int:
    """Add non-negative numbers without overflow: high and low halves apart."""
    wide = array.astype(np.uint64, copy=False)
    high, low = wide >> np.uint64(32), wide & np.uint64(2**32 - 1)
    return (int(high.sum(dtype=np.uint64)) << 32) + int(low.sum(dtype=np.uint64))
