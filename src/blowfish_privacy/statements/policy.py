"""A policy as plain values for JSON: its size, what it leaves unprotected, how much common queries can change."""

from __future__ import annotations

from collections.abc import Mapping
from math import isinf
from typing import Any

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import promised_in_name_only
from blowfish_privacy.policies.explain import unprotected
from blowfish_privacy.privacy.measure import EPSILON, Approximate, Budget, Strength
from blowfish_privacy.privacy.sensitivity import sensitivity
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.overview import overview
from blowfish_privacy.support.exact import show


def policy_view(policy: Policy, budget: Budget | None = None) -> dict[str, Any]:
    """Show a policy that was read without an error."""
    return {
        "valid": True,
        "hash": policy.hash,
        "cells": policy.domain.size,
        "attributes": {name: policy.domain[name].size for name in policy.domain},
        "connected": policy.connected,
        "unprotected": list(unprotected(policy)),
        "in_name_only": list(name_only_after(policy, budget)),
        "known_facts": [fact.words(policy.domain) for fact in policy.known],
        "records": policy.records,
        "sensitivities": common_sensitivities(policy),
    }


def name_only_after(policy: Policy, budget: Budget | None) -> tuple[str, ...]:
    """Say which values are protected in name only once all of a budget is spent; of none, after epsilon 1."""
    if budget is None:
        return promised_in_name_only(policy)
    lost = Strength(budget.measure, budget.amount)
    if isinstance(budget.measure, Approximate):
        lost = Strength(EPSILON, budget.measure.epsilon)
    return promised_in_name_only(policy, lost.exponent, f"all of the budget ({budget.named})")


def pair_view(policy: Policy, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Show how many secret steps two values are apart; None where no chain of secret pairs joins them."""
    hops = policy.distance(first, second)
    steps = None if isinf(hops) else hops
    return {"first": first, "second": second, "protected": steps is not None, "steps": steps}


def common_sensitivities(policy: Policy) -> list[dict[str, Any]]:
    """Derive the sensitivities of the queries people ask first; None, with the reason, where that is refused."""
    return [_sensitivity(title, query, policy) for title, query in overview(policy.domain)]


def _sensitivity(title: str, query: Query, policy: Policy) -> dict[str, Any]:
    try:
        value = sensitivity(query, policy).value
    except BlowfishError as error:
        return {"query": title, "sensitivity": None, "note": error.message}
    free = "follows from the known facts" if policy.known else "published exactly, without noise"
    return {"query": title, "sensitivity": show(value), "note": "" if value else free}
