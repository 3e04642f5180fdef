"""Plain differential privacy, which every plan is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.graphs import AddRemove, FullDomain
from blowfish_privacy.mechanisms import Error
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries.asked import joined

if TYPE_CHECKING:
    from blowfish_privacy.release.plan import Plan


def plain_error(plan: Plan) -> Error | None:
    """Say how wrong plain differential privacy would be for the same question and epsilon; None if out of reach."""
    from blowfish_privacy.release.plan import make_plan

    if not plan.epsilon:
        return None
    secret = plan.policy.size == "unknown"
    options: dict[str, Any] = {"size": plan.policy.size, "rows_per_person": plan.policy.rows_per_person}
    usual = Policy(plan.policy.domain, secrets=AddRemove() if secret else FullDomain(), **options)
    kind = type(plan.mechanism)
    # One that was asked for by name is compared with itself, a default with the default.
    named = None if kind.default_for(plan.query) else kind.name
    try:
        asked = joined(plan.query, plan.selection)
        rival = make_plan(asked, usual, epsilon=plan.epsilon, mechanism=named, records=plan.records)
    except BlowfishError:
        return None
    error = rival.expected_error()
    return error if error.of == plan.expected_error().of else None
