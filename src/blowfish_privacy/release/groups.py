"""Planning releases of some records, and of groups of them.

Groups by public attributes are releases on tables of their own, and no secret pair meets two of them. Groups by secret
attributes are released together: a person who moves from one group to another shows in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any, cast

import numpy as np

from blowfish_privacy.domain import Attribute, Cell, Domain
from blowfish_privacy.errors import PolicyError, QueryError, RefusalError
from blowfish_privacy.mechanisms import MECHANISMS
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Population, Populations
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.queries import Query, Selection
from blowfish_privacy.queries.query import check_asked
from blowfish_privacy.release.document import KEY, write
from blowfish_privacy.release.plan import Plan, PublicSizes, plan_population
from blowfish_privacy.release.target import Noise, Target
from blowfish_privacy.support.progress import task


def plan_groups(
    query: Query,
    selection: Selection,
    policy: Policy,
    *,
    all_records: int | None,
    sizes: PublicSizes | None,
    target: Target,
    **options: Any,
) -> Plan:
    """Plan a release of the records that are selected, once or for each group.

    What may be spent may map the values of a public group to amounts; nothing is released for groups not named.
    """
    check_asked(query, selection, policy.domain)
    populations = Populations(policy, selection, divided=query.divided)
    amounts = _amounts(populations, policy.domain, target)
    plans: dict[Cell, Plan] = {}
    noise: Noise | None = None
    with task("Planning the groups"):
        for group, amount in amounts.items():
            population = populations[group]
            records = None if sizes is None or not population.public else sizes.inside(population.box)
            if selection.is_everything(policy.domain):
                records = all_records
            if query.of_some and records == 0 and selection.by:
                # That a group has no records is public, and then it has no mean.
                continue
            same = None if isinstance(target.amount, Mapping) else _like(plans, population, records)
            joint = replace(amount, noise=noise or amount.noise)
            plans[group] = same or plan_population(
                query, population, records=records, selection=selection, target=joint, **options
            )
            # All groups get the noise of the first: their losses add up in one measure.
            noise = "gaussian" if plans[group].mechanism.counted_in is RHO else "laplace"
    if not plans:
        raise RefusalError("there is no record in any group.", hint="choose other groups.")
    return _assuming(together(selection, populations, plans), all_records)


def _assuming(plan: Plan, records: int | None) -> Plan:
    """State errors for groups of the same size, where all records are in groups whose sizes are secret."""
    if records is None or plan.selection.where or not any(map(plan.policy.graph.changes, plan.selection.by)):
        return plan
    assumed = max(1, records // sum(1 for _ in plan.selection.groups(plan.policy.domain)))
    parts = {cell: replace(part, assumed=assumed) for cell, part in plan.parts.items()}
    return replace(plan, assumed=assumed, parts=parts)


def _amounts(populations: Populations, domain: Domain, target: Target) -> dict[Cell, Target]:
    """Say what each public group may spend."""
    if not isinstance(target.amount, Mapping):
        return dict.fromkeys(populations, target)
    names, groups = populations.open, {*populations}
    amounts: dict[Cell, Target] = {}
    for values, amount in cast("Mapping[Any, Any]", target.amount).items():
        each = values if isinstance(values, tuple) and len(names) > 1 else (values,)
        if len(each) != len(names):
            raise QueryError(
                "an epsilon is given for a value of each public attribute that groups are made by.",
                hint="one epsilon for all, or {value: epsilon}; {(value, value): epsilon} for several attributes.",
            )
        group = tuple(domain[name].position(value) for name, value in zip(names, each, strict=True))
        if group not in groups:
            raise QueryError("an epsilon is given for a group that is not selected.", hint="select it with where.")
        amounts[group] = target.of_group(amount)
    if not amounts:
        raise QueryError("no group is given an amount.", hint="one amount for all, or {value: amount}.")
    return amounts


def _like(plans: Mapping[Cell, Plan], population: Population, records: int | None) -> Plan | None:
    """Take over the plan of a group before, if all that it depends on is the same."""
    same = next((plan for plan in plans.values() if plan.records == records), None)
    if same is None or same.population.policy is not population.policy:
        return None
    inner = same.mechanism.certify(population.policy)
    return replace(same, population=population, certificate=population.certificate(inner))


def together(selection: Selection, populations: Populations, plans: Mapping[Cell, Plan]) -> Plan:
    """Join the plans of the public groups into one, which proves what all of them lose together."""
    first = next(iter(plans.values()))
    if not selection.by:
        return first
    costliest = max(plans.values(), key=lambda plan: plan.amount)
    certificate = replace(costliest.certificate, loss=total_loss(populations, plans))
    whole = replace(costliest, certificate=certificate, records=None, population=populations.whole, key=first.key)
    cells = ((cell, populations.public_part(cell)) for cell in selection.groups(first.policy.domain))
    parts = {cell: replace(plans[group], key=first.key) for cell, group in cells if group in plans}
    return replace(whole, parts=parts)


def total_loss(populations: Populations, plans: Mapping[Cell, Plan]) -> Loss:
    """Add up what the releases of the public groups lose, each on the pairs of its own records."""
    inner = [plan.mechanism.certify(plan.population.policy).loss for plan in plans.values()]
    governing = {id(plan.population.policy) for plan in plans.values()}
    if len(governing) == 1 and len(plans) == len([*populations]) and all(loss == inner[0] for loss in inner):
        # The same everywhere: one region instead of many.
        return populations.whole.loss(inner[0])
    return reduce(add, (plan.certificate.loss for plan in plans.values()))


def proved(plan: Plan, policy: Policy) -> Plan:
    """Rebuild a plan from the policy, what it asks, and the scales that its mechanisms hold; refuse one that differs.

    Nothing else of it is taken on trust: whose records it is about, what governs them and what it loses follow from
    these, so no plan is charged less than its document will prove.
    """
    if not isinstance(plan.name, str) or not isinstance(plan.key, str):
        raise PolicyError("the name and the key of a plan are text.", hint=_NEW_PLAN)
    check_asked(plan.query, plan.selection, policy.domain)
    populations = Populations(policy, plan.selection, divided=plan.query.divided)
    given: Mapping[Cell, Plan] = plan.parts if plan.selection.by else {(): plan}
    plans: dict[Cell, Plan] = {}
    for cell in sorted({*given} & {*plan.selection.groups(policy.domain)}):
        group, part = populations.public_part(cell), given[cell]
        # Groups that differ in a secret attribute alone are one release, made with one mechanism.
        plans[group] = plans.get(group) or _rebuilt(plan, part, populations[group])
        if part.certificate != plans[group].certificate:
            raise PolicyError("the plan's certificate is not the one its mechanism proves.", hint=_NEW_PLAN)
    whole = together(plan.selection, populations, plans) if plans else plan
    if not plans or {*whole.parts} != {*plan.parts}:
        raise PolicyError("the plan has other groups than it asks for.", hint=_NEW_PLAN)
    if whole.certificate.loss != plan.certificate.loss:
        raise PolicyError("the plan's certificate is not the one its groups prove.", hint=_NEW_PLAN)
    return whole


_NEW_PLAN = "make a new plan."


def _rebuilt(plan: Plan, part: Plan, population: Population) -> Plan:
    """Rebuild a plan of some records, or the part of one group, by the scales and the public number that it holds."""
    records = part.records
    if records is not None and (type(records) is not int or records < 0 or not population.public):
        raise PolicyError("the plan states a number of records that is not public.", hint=_NEW_PLAN)
    try:
        kind, form = MECHANISMS[part.mechanism.name], part.mechanism.to_document()
        mechanism = kind.from_document(plan.query, population.policy, form, records)
        certificate = population.certificate(mechanism.certify(population.policy))
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError, IndexError):
        raise PolicyError("the plan's mechanism does not answer its query.", hint=_NEW_PLAN) from None
    labels: dict[str, Any] = {"name": plan.name, "key": plan.key, "selection": plan.selection, "errors": part.errors}
    return Plan(plan.query, population.whole, mechanism, certificate, records, population, **labels)


# The document of a release of groups: what all of them prove together, and a part for each.

OF_A_PART = ("values", "unit", "records", "error", "mechanism", "guarantee", "notices")


def join(plan: Plan, bodies: Mapping[Cell, dict[str, Any]], **options: Any) -> dict[str, Any]:
    """Join the documents of the groups into one, which states what all of them prove together.

    ``left_out`` says for how many groups nothing was released.
    """
    domain, by = plan.policy.domain, plan.selection.by
    parts = [
        {"value": [label(domain[name], at) for name, at in zip(by, cell, strict=True)]}
        | {key: body[key] for key in (*OF_A_PART, KEY) if key in body}
        for cell, body in bodies.items()
    ]
    left_out = sum(1 for _ in plan.selection.groups(domain)) - len(parts)
    whole = write(plan, np.zeros(0, dtype=np.int64), **options)
    return {**whole, "groups": {"left_out": left_out, "parts": parts}}


def label(attribute: Attribute, position: int) -> Any:
    """Write a value that the records of a group share."""
    value = attribute.value(position)
    return value if isinstance(value, str | int) else str(value)
