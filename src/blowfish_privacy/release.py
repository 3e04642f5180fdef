"""The one door to the data: certify, charge, read, perturb, record, hand out.

A short budget means that nothing is read. The charge is durable before the data are touched; the finished document is
stored in the ledger before anybody sees it, so there are never two different outputs under one charge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy import document, spec
from blowfish_privacy.engines import Engine, scan_bar
from blowfish_privacy.errors import DataError, PolicyError
from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.noise import BitSource
from blowfish_privacy.plan import Plan


@dataclass(frozen=True, eq=False)
class Door:
    """What a release needs: the data, the ledger, and a source of random bits."""

    engine: Engine
    ledger: Ledger
    source: BitSource

    def release(self, plan: Plan) -> str:
        """Run a plan and return its document."""
        _certify(plan)
        entry = self.ledger.charge(
            epsilon=plan.epsilon,
            policy=plan.policy,
            key=plan.key,
            description=describe(plan),
            mechanism=plan.certificate.mechanism,
            policy_text=spec.dumps(plan.policy),
        )
        handed_out = self.ledger.document(plan.key)
        if handed_out is not None:
            return handed_out
        counts = self._read(plan, plan.query.attributes)
        body = self._perturb(plan, counts, _public_records(plan, counts), entry)
        return self.ledger.record(plan.key, document.dumps(body))

    def release_parallel(self, attribute: str, plans: Mapping[int, Plan]) -> str:
        """Run one plan for each position of an attribute that no secret pair changes; return one document."""
        first = next(iter(plans.values()))
        shown = first.policy.domain[attribute]
        for plan in plans.values():
            _certify(plan)
        entry = self.ledger.charge_parallel(
            attribute=attribute,
            parts={shown.show(position): plan.epsilon for position, plan in plans.items()},
            policy=first.policy,
            key=first.key,
            description=f"{describe(first)} for each {attribute}",
            mechanism=first.certificate.mechanism,
            policy_text=spec.dumps(first.policy),
        )
        handed_out = self.ledger.document(first.key)
        if handed_out is not None:
            return handed_out
        counts = self._read(first, (attribute, *first.query.attributes))
        _public_records(first, counts)
        parts: dict[Any, dict[str, Any]] = {}
        for position, plan in plans.items():
            # Who shares the attribute's value is not secret under this policy, so neither is how many they are.
            size = None if plan.policy.size == "unknown" else int(counts[position].sum())
            parts[_plain(shown.value(position))] = self._perturb(plan, counts[position], size, entry)
        return self.ledger.record(first.key, document.dumps(document.join(attribute, parts)))

    def _read(self, plan: Plan, names: tuple[str, ...]) -> npt.NDArray[np.int64]:
        with scan_bar() as progress:
            return self.engine.counts(plan.policy.domain, names, progress=progress)

    def _perturb(self, plan: Plan, counts: npt.NDArray[np.int64], records: int | None, entry: Entry) -> dict[str, Any]:
        noisy = plan.mechanism.measure(counts, self.source)
        time = datetime.now(UTC).isoformat(timespec="seconds")
        body = document.write(plan, noisy, source=self.source, time=time, entry=entry.number)
        return {**body, "records": records}


def describe(plan: Plan) -> str:
    """Name a release in the ledger, so that a key can never be used again for another one."""
    asked = json.dumps([plan.query.to_file(plan.policy.domain), plan.mechanism.to_document()], sort_keys=True)
    digest = sha256(asked.encode()).hexdigest()[:12]
    return f"{plan.name}: {plan.query.keyword} of {', '.join(plan.query.attributes)} [{digest}]"


def _certify(plan: Plan) -> None:
    if plan.mechanism.certify(plan.policy) != plan.certificate:
        raise PolicyError("the plan's certificate is not the one its mechanism proves.", hint="make a new plan.")


def _public_records(plan: Plan, counts: npt.NDArray[np.int64]) -> int | None:
    if plan.policy.size == "unknown":
        return None
    records = int(counts.sum())
    for stated, who in ((plan.policy.records, "policy states"), (plan.records, "plan was made for")):
        if stated is not None and stated != records:
            raise DataError(
                f"the number of rows is not the one that the {who}.",
                hint="correct the policy, or the data; the charge stands, and a retry with the same key is free.",
            )
    return records


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int) else str(value)
