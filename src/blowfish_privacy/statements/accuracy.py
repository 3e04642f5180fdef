"""How wrong a plan will be, as plain values for pictures: beside plain differential privacy, by size, by amount."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import log
from typing import Any

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.ledger.account import in_words
from blowfish_privacy.mechanisms.error import shown
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.queries.query import joined
from blowfish_privacy.release.explain import compare, comparison, rival_of
from blowfish_privacy.release.plan import Plan, PublicSizes, make_plan
from blowfish_privacy.release.spending import Spending
from blowfish_privacy.statements.budget import lost_on
from blowfish_privacy.support.exact import about, rounded_up, show

MOST_PARTS = 16
"""The most parts of an answer that a picture lists; those with the largest errors are kept."""
FACTORS = tuple(Fraction(2) ** power for power in range(-4, 5))
"""The multiples of what a plan loses at which :func:`by_amount` plans it again."""


def accuracy_view(plan: Plan) -> dict[str, Any]:
    """Show the typical error of a plan and what it draws on; quick for all kinds of releases."""
    error, plain = plan.expected_error(), plan.plain_error()
    loss = plan.certificate.loss
    return {
        "of": error.of,
        "rmse": error.rmse,
        "typical": shown(error.rmse, error),
        "assumed": plan.assumed if plan.query.divided else None,
        "plain": None if plain is None else plain.rmse,
        "comparison": compare(plan),
        "exact": not plan.amount,
        "mechanism": plan.certificate.mechanism if plan.amount else None,
        "measure": loss.measure.name,
        "amount": rounded_up(plan.amount),
        "lost_on": lost_on(loss, plan.policy),
        "draws_on": _draws_on(loss, plan.policy),
        "lost": {name: str(amount) for name, amount in in_words(loss, plan.policy).items() if amount},
        "words": accuracy_words(plan),
        "notices": plan.notices,
    }


def _draws_on(loss: Loss, policy: Policy) -> str:
    """Name the balances that a release draws on, and about how much where it is not the same on all."""
    lost = {name: amount for name, amount in in_words(loss, policy).items() if amount}
    if len({*lost.values()}) <= 1:
        return lost_on(loss, policy)
    return ", ".join(f"{name} ({about(float(amount))})" for name, amount in lost.items())


def accuracy_words(plan: Plan) -> str:
    """Say in a sentence how wrong a plan will typically be."""
    error = plan.expected_error()
    if not plan.amount:
        return "Nothing here is secret under this policy: it is published exactly, and costs nothing."
    return f"Typical error of {error.of}: {about(error.rmse)}."


def error_words(plan: Plan) -> str:
    """Say the typical error in a few words, with what it is of and what it is counted in."""
    if not plan.amount:
        return "none: the exact numbers"
    error = plan.expected_error()
    counted = f", in {plan.query.measured_in}" if plan.query.measured_in else ""
    return f"about {about(error.rmse)} (of {error.of}{counted})"


def by_size(plan: Plan) -> dict[str, Any] | None:
    """Show the typical error of ranges or rectangles by their size; None where the error does not depend on one.

    Errors are those of the linear estimate, before negative counts and disorder are taken out, which costs nothing and
    helps most where records are few.
    """
    errors = plan.mechanism.errors_by_size() if plan.amount else {}
    if not errors:
        return None
    rival = rival_of(plan)
    plain = {} if rival is None else rival.mechanism.errors_by_size()
    of = plan.expected_error().of.removeprefix("a random ")
    return {
        "of": of,
        "sized_in": plan.mechanism.sized_in,
        "rows": [{"size": size, "rmse": rmse, "plain": plain.get(size)} for size, rmse in errors.items()],
    }


def by_part(plan: Plan) -> list[dict[str, Any]]:
    """Show the typical errors of the tables of an answer, the largest first; empty where there is but one."""
    parts = sorted(comparison(plan), key=lambda part: -part.rmse)
    return [
        {"title": part.title, "cells": part.numbers, "rmse": part.rmse, "plain": part.plain}
        for part in parts[:MOST_PARTS]
        if len(parts) > 1
    ]


def by_amount(
    plan: Plan,
    spending: Spending,
    *,
    sizes: PublicSizes | None = None,
    factors: Iterable[Fraction] = FACTORS,
) -> list[dict[str, Any]]:
    """Plan the same for other amounts, to show what a larger or smaller one would change; nothing is spent.

    Where several groups may spend different amounts there is no one amount to vary: the list is empty.
    """
    if not plan.amount or (spending.amount is not None and not isinstance(spending.amount, Fraction)):
        return []
    start, unit = spending.amount or plan.amount, spending.unit if spending.amount else plan.mechanism.counted_in
    varied = replace(spending, unit=unit, error=None)
    asked, rows = joined(plan.query, plan.selection), list[dict[str, Any]]()
    named = None if type(plan.mechanism).default_for(plan.query) else plan.mechanism.name
    for factor in factors:
        stated = replace(varied, amount=start * factor)
        try:
            made = make_plan(asked, plan.policy, spending=stated, mechanism=named, records=plan.records, sizes=sizes)
        except BlowfishError:
            # Noise too large to be drawn, or too few records: there is no such plan.
            continue
        error = replace(made, assumed=plan.assumed).expected_error().rmse
        rows.append({"amount": show(start * factor), "measure": unit.name, "rmse": error, "stated": factor == 1})
    return rows


def sketched(
    rows: Sequence[Mapping[str, Any]], *, error: float | None = None, amount: float | None = None
) -> float | None:
    """Guess the error at an amount, or the amount for an error, from :func:`by_amount`; None where it does not reach.

    Between two plans both are taken for straight on logarithmic scales, which they nearly are.
    """
    points = sorted((float(Fraction(row["amount"])), row["rmse"]) for row in rows if row["rmse"] > 0)
    wanted = amount
    if error is not None:
        points, wanted = sorted((rmse, spent) for spent, rmse in points), error
    for (low, at_low), (high, at_high) in pairwise(points):
        if wanted is not None and low <= wanted <= high and low < high:
            share = log(wanted / low) / log(high / low)
            return at_low * (at_high / at_low) ** share
    return None
