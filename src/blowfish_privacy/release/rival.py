"""Plain differential privacy, which every plan is compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.graphs import AddRemove, FullDomain
from blowfish_privacy.mechanisms import Error
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.explain import presence_only
from blowfish_privacy.privacy.certificate import is_differential_privacy
from blowfish_privacy.queries.query import joined
from blowfish_privacy.release.spending import Spending

if TYPE_CHECKING:
    from blowfish_privacy.release.plan import Plan

_RIVALS: WeakKeyDictionary[Plan, Plan | None] = WeakKeyDictionary()
"""What plans were compared with: a comparison is made in several places, and some take seconds to plan."""


@dataclass(frozen=True)
class Part:
    """A part of an answer that has an error of its own."""

    title: str
    numbers: int
    rmse: float
    plain: float | None
    """The error under plain differential privacy."""


def plain_error(plan: Plan) -> Error | None:
    """Say how wrong plain differential privacy would be for the same question and epsilon; None if out of reach.

    A policy that is plain differential privacy itself is compared with nothing.
    """
    rival = rival_of(plan)
    error = None if rival is None else rival.expected_error()
    return error if error is not None and error.of == plan.expected_error().of else None


def comparison(plan: Plan) -> list[Part]:
    """Compare the parts of an answer, where their errors differ, with those under plain differential privacy."""
    parts, rival = plan.mechanism.parts(), rival_of(plan)
    usual = {} if rival is None else {title: rmse for title, _, rmse in rival.mechanism.parts()}
    return [Part(title, numbers, rmse, usual.get(title)) for title, numbers, rmse in parts]


def kind_of_plain(policy: Policy) -> str | None:
    """Say which differential privacy a policy is itself, bounded or add-or-remove; None if it is none."""
    if presence_only(policy) and not policy.known:
        return "add-or-remove"
    return "bounded" if policy.size != "unknown" and is_differential_privacy(policy) else None


def rival_of(plan: Plan) -> Plan | None:
    """Plan the same question at the same epsilon under plain differential privacy; None where the policy is that."""
    if not plan.amount or kind_of_plain(plan.policy) is not None:
        return None
    if plan not in _RIVALS:
        _RIVALS[plan] = _planned(plan)
    return _RIVALS[plan]


def _planned(plan: Plan) -> Plan | None:
    from blowfish_privacy.release.plan import make_plan

    secret = plan.policy.size == "unknown"
    options: dict[str, Any] = {"size": plan.policy.size, "rows_per_person": plan.policy.rows_per_person}
    usual = Policy(plan.policy.domain, secrets=AddRemove() if secret else FullDomain(), **options)
    kind = type(plan.mechanism)
    # One that was asked for by name is compared with itself, a default with the default.
    named = None if kind.default_for(plan.query) else kind.name
    try:
        asked = joined(plan.query, plan.selection)
        spending = Spending(plan.mechanism.counted_in, plan.amount, noise="gaussian" if plan.rho else "laplace")
        rival = make_plan(asked, usual, spending=spending, mechanism=named, records=plan.records)
        if rival.mechanism.stands_in_for and not plan.mechanism.stands_in_for:
            # It was chosen over a better guarantee, and guarantees are compared.
            named = rival.mechanism.stands_in_for
            rival = make_plan(asked, usual, spending=spending, mechanism=named, records=plan.records)
        return replace(rival, assumed=plan.assumed)
    except BlowfishError:
        return None
