"""One release for each value of an attribute that no secret pair changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blowfish_privacy.release import document
from blowfish_privacy.release.checks import certified, check_alike, check_order, check_policy, compare_facts, describe
from blowfish_privacy.release.engine_aggregates import counted, public_records
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.release.run import NO_MECHANISM, ReleaseRunner, out_of_sight


def release_parallel(runner: ReleaseRunner, attribute: str, plans: Mapping[int, Plan]) -> str:
    """Run one plan for each position of an attribute that no secret pair changes; return one document."""
    first = check_alike(attribute, plans)
    check_policy(first, runner.policy)
    shown = first.policy.domain[attribute]
    mechanisms = {position: certified(plan) for position, plan in plans.items()}
    names = (attribute, *first.query.attributes)
    engine = runner.ready([*plans.values()], names, [names])
    entry = runner.ledger.charge_parallel(
        attribute=attribute,
        parts={shown.show(position): plan.certificate.loss for position, plan in plans.items()},
        policy=runner.policy,
        key=first.key,
        description=f"{describe(first)} for each {attribute}",
        mechanism=first.certificate.mechanism if any(plan.epsilon for plan in plans.values()) else NO_MECHANISM,
        policy_text=runner.policy_text,
    )
    handed_out = runner.ledger.document(first.key)
    if handed_out is not None:
        return handed_out

    def answer() -> dict[str, Any]:
        opened = engine or runner.open()
        check_order(opened, runner.policy, runner.policy_text, runner.ledger)
        compare_facts(opened, first, runner.ledger)
        (counts,) = counted(opened, first, [names])
        public_records(first, int(counts.sum()))
        parts: dict[Any, dict[str, Any]] = {}
        for position, plan in plans.items():
            # Who shares the attribute's value is not secret under this policy, so neither is how many they are.
            size = None if plan.policy.size == "unknown" else int(counts[position].sum())
            noisy = mechanisms[position].measure(counts[position], runner.source)
            parts[_plain(shown.value(position))] = runner.write(plan, noisy, size, entry)
        return document.join(attribute, parts, left_out=shown.size - len(parts))

    return runner.ledger.record(first.key, out_of_sight(answer))


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int) else str(value)
