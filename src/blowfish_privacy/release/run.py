"""The one place where data are read and noise is added: certify, charge, read, perturb, record, hand out.

A short budget means that no value is read. The charge is durable before the data are touched; the finished document is
stored in the ledger before anybody sees it, so there are never two different outputs under one charge.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Assignment, AttributeSets, Lattice
from blowfish_privacy.aggregates.attribute_sets import checked_sets
from blowfish_privacy.engines import Engine, check_countable
from blowfish_privacy.errors import BlowfishError, DataError, PolicyError, QueryError
from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.mechanisms import MECHANISMS, Mechanism
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.agreement import contradicted, stated_facts
from blowfish_privacy.release import document, spec
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.support.progress import task

NO_MECHANISM = "none (exact)"
"""What a ledger says of a release without noise."""


@dataclass(frozen=True, eq=False)
class ReleaseRunner:
    """Runs plans over one table, under one policy and one ledger."""

    policy: Policy
    """The policy whose domain the data are declared in."""
    open: Callable[[], Engine]
    """Opens the data; not called when the ledger already holds the answer."""
    ledger: Ledger
    source: BitSource

    def release(self, plan: Plan) -> str:
        """Run a plan and return its document."""
        self._check_policy(plan)
        mechanism = certified(plan)
        engine = self._ready([plan], plan.query.attributes, mechanism.tables(plan.query))
        entry = self.ledger.charge(
            loss=plan.certificate.loss,
            policy=self.policy,
            key=plan.key,
            description=describe(plan),
            mechanism=plan.certificate.mechanism if plan.epsilon else NO_MECHANISM,
            policy_text=self._policy_text,
        )
        handed_out = self.ledger.document(plan.key)
        if handed_out is not None:
            return handed_out

        def answer() -> dict[str, Any]:
            opened = engine or self.open()
            self._check_order(opened)
            self._compare(opened, plan)
            aggregates = EngineAggregates(opened, plan)
            noisy = mechanism.draw(aggregates, self.source)
            return self._write(plan, noisy, _public_records(plan, aggregates.records), entry)

        return self.ledger.record(plan.key, _out_of_sight(answer))

    def release_parallel(self, attribute: str, plans: Mapping[int, Plan]) -> str:
        """Run one plan for each position of an attribute that no secret pair changes; return one document."""
        first = _alike(attribute, plans)
        self._check_policy(first)
        shown = first.policy.domain[attribute]
        mechanisms = {position: certified(plan) for position, plan in plans.items()}
        names = (attribute, *first.query.attributes)
        engine = self._ready([*plans.values()], names, [names])
        entry = self.ledger.charge_parallel(
            attribute=attribute,
            parts={shown.show(position): plan.certificate.loss for position, plan in plans.items()},
            policy=self.policy,
            key=first.key,
            description=f"{describe(first)} for each {attribute}",
            mechanism=first.certificate.mechanism if any(plan.epsilon for plan in plans.values()) else NO_MECHANISM,
            policy_text=self._policy_text,
        )
        handed_out = self.ledger.document(first.key)
        if handed_out is not None:
            return handed_out

        def answer() -> dict[str, Any]:
            opened = engine or self.open()
            self._check_order(opened)
            self._compare(opened, first)
            (counts,) = _counted(opened, first, [names])
            _public_records(first, int(counts.sum()))
            parts: dict[Any, dict[str, Any]] = {}
            for position, plan in plans.items():
                # Who shares the attribute's value is not secret under this policy, so neither is how many they are.
                size = None if plan.policy.size == "unknown" else int(counts[position].sum())
                noisy = mechanisms[position].measure(counts[position], self.source)
                parts[_plain(shown.value(position))] = self._write(plan, noisy, size, entry)
            return document.join(attribute, parts, left_out=shown.size - len(parts))

        return self.ledger.record(first.key, _out_of_sight(answer))

    def _ready(self, plans: Sequence[Plan], names: Sequence[str], tables: AttributeSets) -> Engine | None:
        """Find out before the charge, without reading a row, whether the data can be asked and the answer stored."""
        plan = plans[0]
        if self.ledger.document(plan.key) is not None:
            return None
        document.check_length(sum(each.mechanism.rows for each in plans))
        check_countable(plan.policy.domain.project(names), tables)
        engine = self.open()
        self._check_order(engine)
        engine.prepare(plan.policy.domain, names)
        for fact in stated_facts(plan.policy):
            engine.prepare(plan.policy.domain, fact.attributes)
        return engine

    def _check_policy(self, plan: Plan) -> None:
        """Refuse a plan for another policy, or for this one with its domain in another order."""
        if plan.policy.hash != self.policy.hash:
            raise PolicyError("the plan was made for a different policy.", hint="make it with this session.")
        # Equal hashes promise the same, but where data have no names, order says which attribute is which.
        if plan.policy.domain != self.policy.domain:
            raise PolicyError(
                "the plan declares attributes or categories in a different order from this session.",
                hint="make it with this session.",
            )

    def _check_order(self, engine: Engine) -> None:
        """Refuse data without names where the ledger's first charge declared the same domain in another order."""
        base = self.ledger.base if getattr(engine, "positional", False) else None
        if base is None or not base.text or base.text == self._policy_text:
            return
        first = spec.loads(base.text).policy
        if first.domain != self.policy.domain and first.canonical()["domain"] == self.policy.canonical()["domain"]:
            raise PolicyError(
                "the ledger's policy declares attributes or categories in a different order, and these data have no "
                "names that would tell which is which.",
                hint=f"use its order: {', '.join(first.domain.names)}, and the same order of the categories of each.",
            )

    @cached_property
    def _policy_text(self) -> str:
        return spec.dumps(self.policy)

    def _compare(self, engine: Engine, plan: Plan) -> None:
        """Compare the data with the counts that everybody is said to know; say that one is wrong, never which.

        The answer is exact: the ledger counts what fails before anybody hears of it.
        """
        if not [*contradicted(plan.policy, lambda names: _counted(engine, plan, [names])[0])]:
            return
        self.ledger.fail(plan.key)
        # Which of the facts would be one more exact answer for each of them.
        raise DataError(
            "the data contradict a fact whose count the policy states.",
            hint="blowfish data check tells the custodian which, before anything is spent. Correct the fact, or the "
            "data; nothing was handed out. The check is exact, so only a few policies may fail it.",
        )

    def _write(self, plan: Plan, noisy: npt.NDArray[Any], records: int | None, entry: Entry) -> dict[str, Any]:
        with task("Writing the document"):
            time = datetime.now(UTC).isoformat(timespec="seconds")
            source = document.Randomness(self.source.kind, self.source.private)
            body = document.write(plan, noisy, source=source, time=time, entry=entry.number)
        return {**body, "records": records}


class EngineAggregates:
    """The aggregates of a query's attributes that an engine computes, all under the one charge that was made before."""

    def __init__(self, engine: Engine, plan: Plan) -> None:
        self._engine, self._plan = engine, plan
        self.records = 0

    def counts(self, sets: AttributeSets | None = None) -> list[npt.NDArray[np.int64]]:
        """Count the records of every cell of several sets of the query's attributes; by default, of all of them."""
        asked = self._plan.policy.domain.project(self._plan.query.attributes)
        wanted = [asked.names] if sets is None else checked_sets(asked, sets)
        tables = _counted(self._engine, self._plan, wanted)
        for table in tables:
            self._checked(table, 1)
        return tables

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
        _public_records(self._plan, self.records)
        return sums


def _counted(engine: Engine, plan: Plan, sets: AttributeSets) -> list[npt.NDArray[np.int64]]:
    with task("Reading the data") as progress:
        return engine.counts(plan.policy.domain, sets, progress=progress)


def describe(plan: Plan) -> str:
    """Name a release in the ledger, so that a key can never be used again for another one."""
    domain = spec.policy_to_section(plan.policy)["domain"]
    asked = json.dumps([plan.query.to_file(plan.policy.domain), plan.mechanism.to_document(), domain])
    digest = sha256(asked.encode()).hexdigest()[:12]
    return f"{plan.name}: {plan.query.keyword} of {', '.join(plan.query.attributes)} [{digest}]"


def certified(plan: Plan) -> Mechanism:
    """Rebuild the mechanism from the query asked and the scales held, and prove the plan's certificate with it.

    What runs is what was proved here, so a plan whose parts do not belong together is refused before any charge.
    """
    kind = MECHANISMS[plan.mechanism.name]
    mechanism = kind.from_document(plan.query, plan.policy, plan.mechanism.to_document(), plan.records)
    if mechanism.certify(plan.policy) != plan.certificate:
        raise PolicyError("the plan's certificate is not the one its mechanism proves.", hint="make a new plan.")
    return mechanism


def _out_of_sight(answer: Callable[[], dict[str, Any]]) -> str:
    """Run what handles exact counts, and noisy ones that are not recorded yet; return the document.

    An error leaves without the frames in which a traceback would show them.
    """
    try:
        return document.dumps(answer())
    except BlowfishError as error:
        clean = type(error)(error.message, hint=error.hint)
    except Exception as error:
        clean = DataError(f"the release stopped at an internal error ({type(error).__name__}); nothing was handed out.")
    raise clean


def _alike(attribute: str, plans: Mapping[int, Plan]) -> Plan:
    first = next(iter(plans.values()))
    asked = {
        (plan.policy.hash, describe(replace(plan, mechanism=first.mechanism)), plan.key) for plan in plans.values()
    }
    if len(asked) > 1:
        raise PolicyError("the parts of a parallel release must have one policy, one query and one key.")
    if attribute in first.query.attributes:
        raise QueryError(f"the query looks at {attribute}, which is the same within each part.")
    return first


def _public_records(plan: Plan, records: int) -> int | None:
    if plan.policy.size == "unknown":
        return None
    for stated, who in ((plan.policy.records, "policy states"), (plan.records, "plan was made for")):
        if stated is not None and stated != records:
            raise DataError(
                f"the number of rows does not match the one that the {who}.",
                hint="correct the policy, or the data, and make a new plan.",
            )
    return records


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int) else str(value)
