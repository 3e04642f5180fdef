"""A plan in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from math import isclose
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from blowfish_privacy.domain import quoted
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.graphs import AddRemove, FullDomain
from blowfish_privacy.mechanisms import Error, ExpectedError
from blowfish_privacy.mechanisms.constraints import ConstrainedError
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import UNPROTECTED, furthest, furthest_apart
from blowfish_privacy.policies.explain import presence_only
from blowfish_privacy.privacy.certificate import is_differential_privacy
from blowfish_privacy.privacy.measure import RHO, meaning_words
from blowfish_privacy.privacy.public_totals import Totals
from blowfish_privacy.privacy.sensitivity import Norm, Records
from blowfish_privacy.queries.query import Pattern, joined
from blowfish_privacy.release import document
from blowfish_privacy.release.losses import FarLosses, any_change, attributes_seen, full_domain
from blowfish_privacy.release.plan import Plan, make_plan
from blowfish_privacy.release.target import Target
from blowfish_privacy.support.exact import about, rounded_up

# How wrong the estimates that are shown will be: public totals, which they meet, take away a part of the noise.


def error_left(plan: Plan) -> float | None:
    """Return the typical error of cells that meet every public total; None if there are none, or for other answers."""
    policy, query, error = plan.population.policy, plan.query, plan.expected_error()
    if not isinstance(error, ExpectedError) or query.on(policy.domain).pattern is not Pattern.CELLS:
        return None
    blocks = document.published(query, policy, plan.mechanism)
    counted = None if blocks is None else Totals(blocks, np.zeros(int(blocks.max()) + 1, dtype=np.int64))
    # The error does not depend on the counts, which nobody has asked for yet.
    records = None if policy.size == "unknown" else plan.records or 0
    constraints = document.constraints(query, plan.population, records, counted)
    if constraints is None or len(constraints.stated) == 1:
        return None
    return ConstrainedError.of_cells(error, constraints).rmse


# Plain differential privacy, which every plan is compared with.

_BASELINES: WeakKeyDictionary[Plan, Plan | None] = WeakKeyDictionary()
"""What plans were compared with: a comparison is made in several places, and some take seconds to plan."""


@dataclass(frozen=True)
class ErrorPart:
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
    baseline = baseline_of(plan)
    error = None if baseline is None else baseline.expected_error()
    return error if error is not None and error.of == plan.expected_error().of else None


def comparison(plan: Plan) -> list[ErrorPart]:
    """Compare the parts of an answer, where their errors differ, with those under plain differential privacy."""
    parts, baseline = plan.mechanism.parts(), baseline_of(plan)
    usual = {} if baseline is None else {title: rmse for title, _, rmse in baseline.mechanism.parts()}
    return [ErrorPart(title, numbers, rmse, usual.get(title)) for title, numbers, rmse in parts]


def kind_of_plain(policy: Policy) -> str | None:
    """Say which differential privacy a policy is itself, bounded or add-or-remove; None if it is none."""
    if presence_only(policy) and not policy.known:
        return "add-or-remove"
    return "bounded" if policy.size != "unknown" and is_differential_privacy(policy) else None


def baseline_of(plan: Plan) -> Plan | None:
    """Plan the same question at the same epsilon under plain differential privacy; None where the policy is that."""
    if not plan.amount or kind_of_plain(plan.policy) is not None:
        return None
    if plan not in _BASELINES:
        _BASELINES[plan] = _planned(plan)
    return _BASELINES[plan]


def _planned(plan: Plan) -> Plan | None:
    secret = plan.policy.size == "unknown"
    options: dict[str, Any] = {"size": plan.policy.size, "rows_per_person": plan.policy.rows_per_person}
    usual = Policy(plan.policy.domain, secrets=AddRemove() if secret else FullDomain(), **options)
    kind = type(plan.mechanism)
    # One that was asked for by name is compared with itself, a default with the default.
    named = None if kind.default_for(plan.query) else kind.name
    try:
        query = joined(plan.query, plan.selection)
        target = Target(plan.mechanism.counted_in, plan.amount, noise="gaussian" if plan.rho else "laplace")
        baseline = make_plan(query, usual, target=target, mechanism=named, records=plan.records)
        if baseline.mechanism.stands_in_for and not plan.mechanism.stands_in_for:
            # It was chosen over a better guarantee, and guarantees are compared.
            guaranteed = baseline.mechanism.stands_in_for
            baseline = make_plan(query, usual, target=target, mechanism=guaranteed, records=plan.records)
        return replace(baseline, assumed=plan.assumed)
    except BlowfishError:
        return None


_SHOWN = 3
_LISTED = 10


def explain_plan(plan: Plan) -> str:
    """Say what will be released, how, at what cost, and how wrong it will be."""
    return "\n".join([*_what(plan), *_noise(plan), *_error(plan), *_cost(plan), *(f"! {n}" for n in plan.notices)])


_NOTHING = 1e-9


def compare(plan: Plan) -> str:
    """Compare the error with that of plain differential privacy at the same epsilon, in a few words."""
    if plan.amount and (kind := kind_of_plain(plan.policy)) is not None:
        return f"{kind} differential privacy itself"
    error, plain = plan.expected_error().rmse, plan.plain_error()
    if plain is None or not error:
        return "published exactly" if not plan.amount else "-"
    ratio = plain.rmse / error
    # Where noise hardly ever comes, both errors are nothing but rounding.
    if isclose(ratio, 1, rel_tol=0.005) or max(plain.rmse, error) < _NOTHING:
        return "the same"
    return f"{about(ratio)} times more accurate" if ratio > 1 else f"{about(1 / ratio)} times less accurate"


def _what(plan: Plan) -> Iterator[str]:
    many = f"{plan.query.amount(plan.policy.domain)}{plan.mechanism.for_free()}"
    selected = plan.selection.words(plan.policy.domain)
    yield f"Release {plan.name!r}: the {plan.query.noun} of {plan.query.subject}{selected} ({many})."
    yield from _groups(plan)
    if plan.records is not None and plan.policy.records is None:
        yield f"The number of records is public here: {plan.records:,}. Nothing else was read from the data."


def _groups(plan: Plan) -> Iterator[str]:
    """Say who is in one group, and what that means for the noise."""
    population = plan.population
    if plan.parts:
        yield f"There are {len(plan.parts):,} groups. What follows is about the costliest."
    if population.groups:
        names = " and ".join(map(quoted, population.groups))
        yield f"A secret pair may change {names}, and so take a person from one group to another: both are covered."
    if population.borders:
        names = " and ".join(map(quoted, population.borders))
        yield f"How many records are selected is secret, because a secret pair may change {names}."


def _noise(plan: Plan) -> Iterator[str]:
    worst = plan.certificate.sensitivity
    if not plan.amount:
        return
    bound = "" if worst.exact else " at most"
    answer = plan.query.changed if plan.query.divided or plan.query.divisor_measured else "the answer"
    if plan.query.divided and plan.population.policy.size == "unknown":
        answer = "count and sum of offsets together"
    step = "one secret step, with the records that must move along," if plan.policy.known else "one secret step"
    squared = ", squared and added up," if worst.norm is Norm.L2 else ""
    most = rounded_up(worst.value)
    yield f"Mechanism {plan.certificate.mechanism}: {step} changes {answer}{squared} by{bound} {most}"
    if worst.witness is not None:
        how = "for example" if worst.exact else "nothing changes it more than"
        yield f"  ({how} {_moves(*worst.witness)}; {worst.theorem})."
    else:
        yield f"  ({worst.theorem})."
    yield f"{plan.mechanism.words()} Proof: {plan.certificate.proof}."


def _moves(before: Records, after: Records) -> str:
    pairs = [*zip_longest(before, after)]
    shown = "; ".join(f"{_value(first)} to {_value(second)}" for first, second in pairs[:_SHOWN])
    return shown + (f"; and {len(pairs) - _SHOWN} more" if len(pairs) > _SHOWN else "")


def _value(record: dict[str, Any] | None) -> str:
    return "no record" if record is None else " and ".join(f"{name} {value}" for name, value in record.items())


def _error(plan: Plan) -> Iterator[str]:
    error = plan.expected_error()
    if not error.rmse:
        return
    by_size = {size: about(bound) for size, bound in plan.mechanism.within_by_size("0.95").items()}
    within = ", ".join(f"{bound} ({size})" for size, bound in by_size.items()) or about(error.interval("0.95"))
    yield f"Typical error of {error.of}: {about(error.rmse)} (root mean squared); within {within} for 95 in 100."
    yield from _totals(plan)
    typical = plan.typical_errors()
    if typical:
        errors = ", ".join(f"{about(rmse)} ({shape})" for shape, rmse in typical.items())
        step = "Without negative counts" if plan.query.answer == "grid" else "After ordering"
        yield f"{step}, simulated on public synthetic shapes with as many records: {errors}."
    ratios = plan.typical_ratios()
    if ratios:
        errors = ", ".join(f"{about(ratio)} ({shape})" for shape, ratio in ratios.items())
        yield f"Squared distances over those of non-private clusters, simulated on public synthetic points: {errors}."
    plain = plan.plain_error()
    if plain is not None:
        kind = "plain add-or-remove" if plan.policy.size == "unknown" else "plain"
        yield f"The same under {kind} differential privacy: {about(plain.rmse)}; this policy is {compare(plan)}."
    yield from _chosen(plan)
    yield from _parts(plan)
    yield from plan.mechanism.promises(plan.population.policy, full_domain(plan))


def _parts(plan: Plan) -> Iterator[str]:
    """List the parts of the answer with the largest errors, and how much more accurate they are than the usual."""
    parts = comparison(plan)
    if len(parts) < 2:
        return
    worst = sorted(parts, key=lambda part: -part.rmse)
    one = plan.expected_error().of.split(" of ")[0]
    yield f"Typical error of {one} of each of the {len(parts):,} tables, the largest first:"
    for part in worst[:_LISTED]:
        plain = "" if part.plain is None else f" ({about(part.plain)} under plain differential privacy)"
        yield f"  {part.title}: {about(part.rmse)}{plain}"
    if len(parts) > _LISTED:
        yield f"  and {len(parts) - _LISTED:,} more, down to {about(worst[-1].rmse)}"


def _totals(plan: Plan) -> Iterator[str]:
    """Say which counts are published exactly, and what public totals do for the error of a cell."""
    blocks = document.published(plan.query, plan.population.policy, plan.mechanism)
    if blocks is not None:
        yield f"Published exactly beside it: {document.words(plan.query, blocks)}."
    inside = (part.mechanism.without_noise() for part in (plan, *plan.parts.values()) if part.amount)
    yield from (f"Published exactly in it: {shown}." for shown in dict.fromkeys(inside) if shown is not None)
    met = error_left(plan)
    if met is not None:
        left = f"a typical error of {about(met)} for a cell"
        yield f"Tables and pictures will meet every public total, which leaves {left}."


def _chosen(plan: Plan) -> Iterator[str]:
    """Say what other noise would have done, where there was a choice."""
    error = plan.expected_error().rmse
    for measure, other in plan.errors.items():
        if measure is not plan.mechanism.counted_in and plan.amount:
            mine, theirs = ("Gaussian", "Laplace") if plan.rho else ("Laplace", "Gaussian")
            chosen = f"{mine} noise was chosen, with a typical error of {about(error)}"
            yield f"{chosen}; for as much, {theirs} noise would have {about(other)}."


def _cost(plan: Plan) -> Iterator[str]:
    usual = " (which is add-or-remove differential privacy)" if presence_only(plan.policy) else ""
    measure = plan.certificate.loss.measure
    meant = ", ".join(meaning_words(measure, plan.amount)) if plan.amount else ""
    cost = measure.words(plan.amount) + (f" ({meant})" if meant else "")
    yield f"Cost: {cost}. Guarantee: {plan.certificate.statement}{usual}."
    if plan.rho:
        yield from _steps(plan)
    yield from (f"{UNPROTECTED}{sentence}" for sentence in FarLosses.of(plan).unprotected("this release"))


def most_steps(plan: Plan) -> int:
    """Count the secret steps between the values furthest apart of what a release looks at."""
    together = furthest_apart(plan.policy, attributes_seen(plan))
    return max(_steps_alone(plan), 0 if together is None else int(together[2]))


def _steps_alone(plan: Plan) -> int:
    """Count the secret steps between values that differ in a single attribute of those that a release looks at."""
    return int(max((hops for *_, hops in furthest(plan.policy, attributes_seen(plan), least=1)), default=0))


def _steps(plan: Plan) -> Iterator[str]:
    """Say what becomes of a loss in rho between values several steps apart, and on a whole record."""
    secret = any_change(plan.mechanism, plan.query, plan.population.policy, plan.selection)
    most, everything = None if secret is None else secret.amount, full_domain(plan)
    whole = f"rho {rounded_up(most)} ({next(meaning_words(RHO, most))})" if most else ""
    if _steps_alone(plan) > 1:
        bound = f", but by the numbers measured never more than {whole}" if whole else ""
        yield f"Values d secret steps apart lose up to d^2 times as much, d up to {most_steps(plan):,} here{bound}."
    elif whole and most != plan.amount:
        doubted = "all that is secret about a person" if everything is None else "a person's whole record"
        yield f"Against somebody who doubts {doubted}, the same noise keeps {whole}."
