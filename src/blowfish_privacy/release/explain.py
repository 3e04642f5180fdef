"""A plan in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from math import isclose
from typing import TYPE_CHECKING, Any

from blowfish_privacy.domain import quoted
from blowfish_privacy.policies.distances import furthest, furthest_apart
from blowfish_privacy.policies.explain import presence_only
from blowfish_privacy.privacy.measure import RHO, meaning_words
from blowfish_privacy.privacy.sensitivity import Norm, Records
from blowfish_privacy.release import public_totals
from blowfish_privacy.release.error_left import error_left
from blowfish_privacy.release.rival import comparison, kind_of_plain
from blowfish_privacy.release.whole_record import any_change, full_domain
from blowfish_privacy.support.exact import about, rounded_up

if TYPE_CHECKING:
    from blowfish_privacy.release.plan import Plan

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
        yield f"The number of records is public here: {plan.records:,}. Nothing else was asked of the data."


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
        said = ", ".join(f"{about(rmse)} ({shape})" for shape, rmse in typical.items())
        step = "Without negative counts" if plan.query.answer == "grid" else "After ordering"
        yield f"{step}, simulated on public synthetic shapes with as many records: {said}."
    ratios = plan.typical_ratios()
    if ratios:
        said = ", ".join(f"{about(ratio)} ({shape})" for shape, ratio in ratios.items())
        yield f"Squared distances over those of non-private clusters, simulated on public synthetic points: {said}."
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
    blocks = public_totals.published(plan.query, plan.population.policy, plan.mechanism)
    if blocks is not None:
        yield f"Published exactly beside it: {public_totals.words(plan.query, blocks)}."
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
    yield from _name_only(plan)


def _name_only(plan: Plan) -> Iterator[str]:
    from blowfish_privacy.release.far_apart import in_name_only

    yield from in_name_only(plan)


def most_steps(plan: Plan) -> int:
    """Count the secret steps between the values furthest apart of what a release looks at."""
    together = furthest_apart(plan.policy, _seen(plan))
    return max(_steps_alone(plan), 0 if together is None else int(together[2]))


def _steps_alone(plan: Plan) -> int:
    """Count the secret steps between values that differ in a single attribute of those that a release looks at."""
    return int(max((hops for *_, hops in furthest(plan.policy, _seen(plan), least=1)), default=0))


def _seen(plan: Plan) -> tuple[str, ...] | None:
    from blowfish_privacy.release.far_apart import attributes_seen

    return attributes_seen(plan)


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
