"""The aggregates that a mechanism may ask an engine for, under a charge that was made before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Assignment, AttributeSets, Lattice
from blowfish_privacy.aggregates.aggregates import checked_sets
from blowfish_privacy.engines import Engine
from blowfish_privacy.errors import DataError
from blowfish_privacy.privacy.public_totals import BlockForm
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.support.progress import task


class EngineAggregates:
    """The aggregates of a query's attributes that an engine computes, all under the one charge that was made before."""

    def __init__(self, engine: Engine, plan: Plan, blocks: npt.NDArray[np.int64] | None = None) -> None:
        """``blocks`` are parts of the query's cells whose counts are public."""
        self._engine, self._plan, self._blocks = engine, plan, blocks
        self._totals: list[int] | None = None
        self.records = 0

    def counts(self, sets: AttributeSets | None = None) -> list[npt.NDArray[np.int64]]:
        """Count the records of every cell of several sets of the query's attributes; by default, of all of them."""
        asked = self._plan.policy.domain.project(self._plan.query.attributes)
        wanted = [asked.names] if sets is None else checked_sets(asked, sets)
        tables = counted(self._engine, self._plan, wanted)
        for table, names in zip(tables, wanted, strict=True):
            self._checked(table, 1)
            if names == asked.names and self._blocks is not None:
                self._totals = BlockForm(asked, self._blocks).answer(table).tolist()
        return tables

    def tables(self, sets: AttributeSets) -> Iterator[npt.NDArray[np.int64]]:
        """Count the records of every cell of one set of the query's attributes after the other."""
        wanted = checked_sets(self._plan.policy.domain.project(self._plan.query.attributes), sets)
        with task("Reading the data") as progress:
            for table in self._engine.tables(self._plan.policy.domain, wanted, progress=progress):
                yield self._checked(table, 1)

    def totals(self) -> list[int] | None:
        """Return the counts of the blocks; the data are read for them only if no mechanism asked for all counts."""
        if self._blocks is not None and self._totals is None:
            self.counts()
        return self._totals

    def lattice_sums(self, lattice: Lattice) -> npt.NDArray[np.int64]:
        """Add up what the records give each node of a lattice."""
        with task("Reading the data") as progress:
            domain, names = self._plan.policy.domain, self._plan.query.attributes
            return self._checked(self._engine.lattice_sums(domain, names, lattice, progress=progress), lattice.unit)

    def assignments(self, assignment: Assignment) -> npt.NDArray[np.int64]:
        """Return each centre's number of records and their clipped offsets added up."""
        with task("Reading the data") as progress:
            domain, names = self._plan.policy.domain, self._plan.query.attributes
            sums = self._engine.assignments(domain, names, assignment, progress=progress)
        self._checked(sums[:, 0], assignment.unit)
        return sums

    def _checked(self, sums: npt.NDArray[np.int64], unit: int) -> npt.NDArray[np.int64]:
        self.records = int(sums.sum()) // unit
        public_records(self._plan, self.records)
        return sums


def counted(engine: Engine, plan: Plan, sets: AttributeSets) -> list[npt.NDArray[np.int64]]:
    """Count the records of every cell of several sets of attributes."""
    with task("Reading the data") as progress:
        return engine.counts(plan.policy.domain, sets, progress=progress)


def public_records(plan: Plan, records: int) -> int | None:
    """Return the number of records where it is public, or refuse one that is not what was stated."""
    if plan.policy.size == "unknown":
        return None
    for stated, who in ((plan.policy.records, "policy states"), (plan.records, "plan was made for")):
        if stated is not None and stated != records:
            raise DataError(
                f"the number of rows does not match the one that the {who}.",
                hint="correct the policy, or the data, and make a new plan.",
            )
    return records
