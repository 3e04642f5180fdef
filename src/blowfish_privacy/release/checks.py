"""Checks before and after a charge: what runs must be what was planned and promised."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Assignment, AttributeSets, Lattice
from blowfish_privacy.aggregates.aggregates import checked_sets
from blowfish_privacy.engines import DataCheck, Engine
from blowfish_privacy.errors import BlowfishError, BlowfishWarning, DataError, PolicyError, QueryError
from blowfish_privacy.ledger import Ledger
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.policy import contradicted
from blowfish_privacy.privacy.public_totals import BlockForm
from blowfish_privacy.queries.query import read_asked
from blowfish_privacy.release import spec
from blowfish_privacy.release.document import MOST_IN_DOCUMENT, check_room
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.release.spec import check_query
from blowfish_privacy.support.progress import task

# The aggregates that a mechanism may ask an engine for, under a charge that was made before.


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


MOST_VALUES = 40_000_000
"""SQLite stores texts below 10^9 bytes. A value takes 22 at most; over a tenth is left for the rest of a document."""


def values_folder(plan: Plan, ledger: Ledger) -> Path | None:
    """Return the folder in which the values of a plan are kept; None where they are in the document."""
    many = plan.mechanism.rows > MOST_IN_DOCUMENT and not plan.selection
    return ledger.values_folder if many and plan.mechanism.drawn_in_pieces else None


def check_storable(plan: Plan, ledger: Ledger) -> None:
    """Refuse so many values that there is no room for them."""
    folder = values_folder(plan, ledger)
    values = sum(each.mechanism.rows for each in plan.parts.values()) or plan.mechanism.rows
    if folder is not None:
        check_room(folder, plan.mechanism.rows)
    elif values > MOST_VALUES:
        raise QueryError(
            f"a document of {values:,} values may be too long for a ledger, which can store {MOST_VALUES:,} values.",
            hint="ask for fewer attributes together, or declare coarser ones.",
        )


def check_readable(plan: Plan) -> None:
    """Refuse, before the charge, what could not be read back from the document: it would be paid for and lost."""
    try:
        same = _read_back(json.dumps(spec.policy_to_section(plan.policy))) == plan.policy.hash
        read_asked(check_query(json.loads(json.dumps(plan.asked()))), plan.policy.domain)
    except BlowfishError as error:
        raise type(error)(
            f"a document could not be read back: {error.message} Nothing was charged.", hint=error.hint
        ) from None
    except (TypeError, ValueError):
        raise QueryError("the policy or the query cannot be written as JSON. Nothing was charged.") from None
    if not same:
        raise PolicyError("the policy reads back from a document as another one. Nothing was charged.")


@lru_cache(maxsize=16)
def _read_back(section: str) -> str:
    """Return the hash of the policy that a document's section describes, which may have no hash in Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BlowfishWarning)
        return spec.policy_from_section(json.loads(section)).hash


def content_of(plan: Plan) -> str:
    """Hash all that a release is made of, so that its key can never be used again for another one."""
    domain = spec.policy_to_section(plan.policy)["domain"]
    mechanisms = [part.mechanism.to_document() for part in plan.parts.values()] or plan.mechanism.to_document()
    described = [plan.asked(), mechanisms, domain]
    if plan.parts and len(plan.parts) < sum(1 for _ in plan.selection.groups(plan.policy.domain)):
        described.append(sorted(plan.parts))
    return sha256(json.dumps(described).encode()).hexdigest()[:12]


def check_policy(plan: Plan, policy: Policy) -> None:
    """Refuse a plan for another policy, or for this one with its domain in another order."""
    if plan.policy.hash != policy.hash:
        raise PolicyError("the plan was made for a different policy.", hint="make it with this session.")
    # Equal hashes promise the same, but where data have no names, order says which attribute is which.
    if plan.policy.domain != policy.domain:
        raise PolicyError(
            "the plan declares attributes or categories in a different order from this session.",
            hint="make it with this session.",
        )


def check_order(engine: Engine, policy: Policy, policy_text: str, ledger: Ledger) -> None:
    """Refuse data without names where the ledger's first charge declared the same domain in another order."""
    base = ledger.base if getattr(engine, "positional", False) else None
    if base is None or not base.text or base.text == policy_text:
        return
    first = spec.load_policy(base.text)
    if first.domain != policy.domain and first.canonical()["domain"] == policy.canonical()["domain"]:
        raise PolicyError(
            "the ledger's policy declares attributes or categories in a different order, and these data have no "
            "names that would tell which is which.",
            hint=f"use its order: {', '.join(first.domain.names)}, and the same order of the categories of each.",
        )


def compare_facts(engine: Engine, plan: Plan, ledger: Ledger) -> None:
    """Compare the data with the counts that the policy states; say that one is wrong, never which.

    The answer is exact: the ledger counts what fails before anybody hears of it.
    """
    if not [*contradicted(plan.policy, lambda names: counted(engine, plan, [names])[0])]:
        return
    ledger.fail(plan.key)
    # To say which fact is wrong would be another exact answer about each of them.
    raise DataError(
        "the data contradict a fact whose count the policy states.",
        hint="blowfish data check tells the custodian which, before anything is spent. Correct the fact, or the "
        "data; nothing was handed out. The check is exact, so only a few policies may fail it.",
    )


# Whether data fit a policy, for the custodian: the counts are exact, and no part of a release.


@dataclass(frozen=True)
class PolicyCheck:
    """How data fit a policy: its domain, and the counts that it states."""

    domain: DataCheck
    contradicted: tuple[str, ...]
    """The known facts that the data contradict, in words."""

    @property
    def fits(self) -> bool:
        """Whether the domain covers every row and no stated count is wrong."""
        return self.domain.fits and not self.contradicted


def check_data(engine: Engine, policy: Policy) -> PolicyCheck:
    """Count the rows that the domain does not cover, and compare the data with the stated facts."""
    report = engine.check(policy.domain)
    # Rows outside the domain are counted nowhere, so facts are compared only where all rows fit.
    sound = {column.name for column in report.columns if column.fits}
    wrong = contradicted(policy, lambda names: engine.counts(policy.domain, [names])[0], sound)
    return PolicyCheck(report, tuple(fact.words(policy.domain) for fact in wrong))
