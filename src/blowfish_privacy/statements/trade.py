"""What a policy trades: the accuracy it gains over plain differential privacy, and the protection it gives up."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose

from blowfish_privacy.domain import quoted
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import furthest, furthest_together
from blowfish_privacy.policies.explain import unprotected
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.support.exact import about

_AS_GOOD_AS_EQUAL = 0.005


def gained(plans: Sequence[Plan]) -> str:
    """Say in one sentence how many times as exact each answer with noise is, and which gain nothing."""
    ratios = {quoted(plan.name): ratio for plan in plans if (ratio := _ratio(plan)) is not None}
    better = sorted(((ratio, name) for name, ratio in ratios.items() if _gains(ratio)), reverse=True)
    same = _listed([name for name, ratio in ratios.items() if not _gains(ratio)])
    if not better:
        return "Gained: nothing in accuracy over plain differential privacy at the same epsilon."
    (most, first), *rest = better
    said = f"{first} is {about(most)} times as exact as under plain differential privacy at the same epsilon"
    more = [f"{name} {about(ratio)} times" for ratio, name in rest]
    return f"Gained: {_listed([said, *more])}{f'; nothing is gained for {same}' if same else ''}."


def given_up(policy: Policy) -> str:
    """Say in one sentence what is protected less than under plain differential privacy, where all is one step apart."""
    far = [f"{pair} are {hops} steps apart" for _, pair, hops in furthest(policy)]
    together = furthest_together(policy)
    if together is not None:
        far.append(f"whole records up to {together[1]}")
    less = [f"values further apart are protected less, once per step ({', '.join(far)})"] if far else []
    not_at_all = [sentence.rstrip(".").split(". ")[0] for sentence in unprotected(policy)]
    return f"Given up: {'; '.join([*less, *not_at_all]) or 'nothing'}."


def _ratio(plan: Plan) -> float | None:
    """How many times as exact; None where there is no noise, or nothing to compare with."""
    plain, error = plan.plain_error(), plan.expected_error().rmse
    return None if plain is None or not error else plain.rmse / error


def _gains(ratio: float) -> bool:
    return ratio > 1 and not isclose(ratio, 1, rel_tol=_AS_GOOD_AS_EQUAL)


def _listed(parts: Sequence[str]) -> str:
    *most, last = parts or [""]
    return f"{', '.join(most)} and {last}" if most else last
