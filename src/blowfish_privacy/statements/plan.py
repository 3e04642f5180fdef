"""Plans as plain values for JSON, and as the cells of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blowfish_privacy.ledger.composition import Quote
from blowfish_privacy.mechanisms import ExpectedError
from blowfish_privacy.mechanisms.error import shown
from blowfish_privacy.privacy.measure import EPSILON, Budget
from blowfish_privacy.queries.query import split
from blowfish_privacy.release.checks import selected
from blowfish_privacy.release.explain import compare, comparison
from blowfish_privacy.release.losses import full_domain, weakest
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.release.spec import Unplanned
from blowfish_privacy.statements.budget import budget_view, lost_on
from blowfish_privacy.support.exact import about, rounded, show

COLUMNS = {
    "name": "release",
    "query": "query",
    "mechanism": "mechanism",
    "lost": "loss",
    "lost_on": "lost on",
    "scale": "noise scale",
    "rmse": "typical error",
    "within_95_in_100": "within (95 %)",
    "comparison": "this policy is",
}
"""What the table shows of a plan's view, with the headings."""


def headings(plans: Sequence[Plan]) -> list[str]:
    """Return the headings of a table of plans; what is lost is called epsilon where all is counted so."""
    pure = all(plan.certificate.loss.measure is EPSILON for plan in plans)
    return [*(COLUMNS | ({"lost": EPSILON.name} if pure else {})).values()]


def plans_view(
    outcomes: Sequence[Plan | Unplanned], budget: Budget | None, quote: Quote | None = None
) -> dict[str, Any]:
    """Show what the releases of a file will cost, how wrong they will be, and what the ledger says to that."""
    plans = [each for each in outcomes if isinstance(each, Plan)]
    shown = [plan_view(each) if isinstance(each, Plan) else unplanned_view(each) for each in outcomes]
    view = {"budget": None if budget is None else budget.view, "releases": shown}
    return view if quote is None or not plans else {**view, "ledger": budget_view(quote, plans[0].policy)}


def unplanned_view(unplanned: Unplanned) -> dict[str, Any]:
    """Show why a release cannot be planned."""
    error = unplanned.error
    problem = {"problem": error.message, "hint": error.hint, "line": error.line, "exit_code": error.exit_code}
    return {"name": unplanned.name, "query": _query_words(unplanned), **problem}


def _query_words(unplanned: Unplanned) -> str | None:
    if unplanned.query is None:
        return None
    query, selection = split(unplanned.query)
    return f"{query.noun} of {query.subject}{selected(selection)}"


def unplanned_cells(unplanned: Unplanned) -> list[str]:
    """Write the row of a release that cannot be planned, with the reason in the last column, which may be long."""
    cells = {"name": unplanned.name or "(no name)", "query": _query_words(unplanned) or ""}
    cells |= {"mechanism": "cannot be planned", [*COLUMNS][-1]: unplanned.error.message}
    return [cells.get(column, "") for column in COLUMNS]


def plan_view(plan: Plan) -> dict[str, Any]:
    """Show one plan; errors are root mean squared, and those of plain differential privacy for the same epsilon."""
    return {**_row(plan), **_bounds(plan), **_parts(plan)}


def _row(plan: Plan) -> dict[str, Any]:
    error, plain = plan.expected_error(), plan.plain_error()
    return {
        "name": plan.name,
        "query": f"{plan.query.noun} of {plan.query.subject}{selected(plan.selection)}",
        "mechanism": plan.certificate.mechanism if plan.amount else "none (exact)",
        plan.certificate.loss.measure.name: show(plan.amount),
        "lost": plan.certificate.loss.measure.brief(plan.amount),
        "lost_on": lost_on(plan.certificate.loss, plan.policy),
        "scale": _scales(plan),
        "sensitivity": show(plan.certificate.sensitivity.value),
        "theorem": plan.certificate.sensitivity.theorem,
        "error_of": error.of,
        "rmse": error.rmse,
        "within_95_in_100": error.interval("0.95"),
        "plain_differential_privacy_rmse": None if plain is None else plain.rmse,
        "comparison": compare(plan),
        "guarantee": plan.certificate.statement,
    }


def _bounds(plan: Plan) -> dict[str, Any]:
    """Show what is kept of values several steps apart, and of a whole record where it is hidden."""
    whole, far = full_domain(plan), (each for each in weakest(plan) if each.hops > 1)
    return {
        "full_domain": None if whole is None else show(whole),
        "further_apart": [{"pair": each.pair, "steps": int(each.hops), "factor": each.factor} for each in far],
    }


def _parts(plan: Plan) -> dict[str, Any]:
    """Show the errors of the parts of an answer, where they differ, and what else is proved."""
    parts = [
        {"title": each.title, "cells": each.numbers, "rmse": each.rmse, "plain_differential_privacy_rmse": each.plain}
        for each in comparison(plan)
    ]
    if not parts:
        return {}
    return {"parts": parts, "promises": plan.mechanism.promises(plan.population.policy, full_domain(plan))}


def plan_cells(plan: Plan) -> list[str]:
    """Write the cells of a plan's row, with numbers rounded for reading."""
    error = plan.expected_error()
    sizes = {"rmse": error.rmse, "within_95_in_100": error.interval("0.95")}
    view = {**_row(plan), "scale": _scale_cell(plan)} | {name: shown(size, error) for name, size in sizes.items()}
    return [str(view[column]) for column in COLUMNS]


def _scale_cell(plan: Plan) -> str:
    """Write the noise scales in the unit of the answer; a dash where there are several units, which explain tells."""
    error, scales = plan.expected_error(), plan.certificate.scales[:3]
    if plan.rho:
        return _scales(plan)
    if len(scales) == 1 and isinstance(error, ExpectedError):
        return rounded(scales[0] * error.unit)
    one_unit = error.unit == 1 and plan.query.counts_records
    return ", ".join(map(rounded, scales)) if one_unit or not plan.amount else "-"


def _scales(plan: Plan) -> str:
    if plan.rho:
        # What Gaussian noise is called by is its standard deviation; where there are several, explain lists them.
        error = plan.expected_error()
        return f"sd {about(error.rmse)}" if isinstance(error, ExpectedError) else "-"
    return ", ".join(show(scale) for scale in plan.certificate.scales[:3])
