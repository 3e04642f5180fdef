"""The one place where data are read and noise is added: certify, charge, read, perturb, record, hand out.

A short budget means that no value is read. The charge is durable before the data are touched; the finished document is
stored in the ledger before anybody sees it, so there are never two different outputs under one charge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from blowfish_privacy.aggregates import AttributeSets
from blowfish_privacy.domain import Cell
from blowfish_privacy.engines import Engine, check_countable
from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.policy import stated_facts
from blowfish_privacy.release import checks, document, spec
from blowfish_privacy.release.drawing import Drawn, draw, looks_at
from blowfish_privacy.release.group_documents import join
from blowfish_privacy.release.groups import proved
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.release.recording import record_answer, settled
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
        checks.check_policy(plan, self.policy)
        plan = proved(plan, self.policy)
        parts = plan.parts or {(): plan}
        mechanisms = {cell: part.mechanism for cell, part in parts.items()}
        engine = self._ready(plan, *looks_at(plan, next(iter(mechanisms.values()))))
        entry = self.ledger.charge(
            loss=plan.certificate.loss,
            policy=self.policy,
            key=plan.key,
            description=checks.describe(plan),
            mechanism=plan.certificate.mechanism if plan.amount else NO_MECHANISM,
            policy_text=self.policy_text,
        )
        handed_out = self.ledger.document(plan.key)
        folder = checks.values_folder(plan, self.ledger)
        if handed_out is not None:
            return settled(folder, plan.key, handed_out)

        def answer() -> dict[str, Any]:
            opened = engine or self.open()
            checks.check_order(opened, self.policy, self.policy_text, self.ledger)
            checks.compare_facts(opened, plan, self.ledger)
            drawn = draw(opened, plan, mechanisms, self.source, folder)
            return self._written(plan, {cell: (part, drawn[cell]) for cell, part in parts.items()}, entry)

        return settled(folder, plan.key, record_answer(self.ledger, entry, answer))

    def _ready(self, plan: Plan, names: Sequence[str], tables: AttributeSets) -> Engine | None:
        """Find out before the charge, without reading a row, whether the data can be asked and the answer stored."""
        if self.ledger.document(plan.key) is not None:
            return None
        checks.check_storable(plan, self.ledger)
        checks.check_readable(plan)
        check_countable(plan.policy.domain.project(names), tables)
        engine = self.open()
        checks.check_order(engine, self.policy, self.policy_text, self.ledger)
        engine.prepare(plan.policy.domain, names)
        for fact in stated_facts(plan.policy):
            engine.prepare(plan.policy.domain, fact.attributes)
        return engine

    @cached_property
    def policy_text(self) -> str:
        """The policy as a ledger stores it."""
        return spec.dumps(self.policy)

    def _written(self, plan: Plan, drawn: Mapping[Cell, tuple[Plan, Drawn]], entry: Entry) -> dict[str, Any]:
        """Write the document of what was drawn."""
        with task("Writing the document"):
            time = datetime.now(UTC).isoformat(timespec="seconds")
            source = document.Randomness(self.source.kind, self.source.private)
            options: dict[str, Any] = {"source": source, "time": time, "entry": entry.number}
            bodies = {
                cell: {**document.write(part, each.noisy, **options), "records": each.records, **each.totals}
                for cell, (part, each) in drawn.items()
            }
            return join(plan, bodies, **options) if plan.parts else bodies[()]
