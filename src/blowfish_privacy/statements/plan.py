"""Plans as plain values for JSON, and as the cells of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import log
from typing import Any

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.ledger.account import in_words
from blowfish_privacy.ledger.composition import Quote
from blowfish_privacy.ledger.pair_loss import OwnLoss, as_charged
from blowfish_privacy.mechanisms import ExpectedError
from blowfish_privacy.mechanisms.error import shown
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import UNPROTECTED
from blowfish_privacy.policies.explain import not_protected
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import EPSILON, RHO, Approximate, Budget, meaning_words
from blowfish_privacy.queries.query import joined, split
from blowfish_privacy.release.explain import baseline_of, compare, comparison
from blowfish_privacy.release.losses import FarLosses, full_domain, losses_of, rows_of
from blowfish_privacy.release.plan import Plan, PublicSizes, make_plan, query_words, selected
from blowfish_privacy.release.spec import Unplanned
from blowfish_privacy.release.target import Target
from blowfish_privacy.results import Result
from blowfish_privacy.statements.ledger import class_name, lost_by_class, lost_on
from blowfish_privacy.support.exact import about, rounded, rounded_down, rounded_up, show

# What releases cost each class of secret pairs, what is spent already and what will be left.

HEADER = ["secret pairs that change", "spent", "these cost", "left"]


def budget_view(quote: Quote, policy: Policy) -> dict[str, Any]:
    """Show a quote as plain values for JSON; amounts are exact."""
    return {
        "budget": str(quote.budget),
        "measure": quote.terms.measure.unit,
        "spent": str(quote.spent),
        "cost": str(quote.cost),
        "left": str(quote.budget - quote.largest),
        "fits": quote.fits,
        "price_factor": quote.price.factor,
        "rule": quote.rule,
        "classes": [
            {"pairs": name, "spent": str(spent), "cost": str(cost), "left": str(left)}
            for name, spent, cost, left in _classes(quote, policy)
        ],
    }


def budget_rows(quote: Quote, policy: Policy) -> list[list[str]]:
    """Write a quote as the rows of a table."""
    return [
        [class_name(name), rounded_up(spent), rounded_up(cost), rounded_down(left)]
        for name, spent, cost, left in _classes(quote, policy)
    ]


def budget_shares(quotes: Sequence[tuple[str, Quote]], start: Quote, policy: Policy) -> list[dict[str, Any]]:
    """Show for each class of secret pairs what is spent, what each release takes beside those before it, what is left.

    ``start`` quotes no release, and each of ``quotes`` one more than the quote before; amounts are exact.
    """
    rows: dict[str, dict[str, Any]] = {}
    for name, spent in in_words(start.after, policy).items():
        rows[name] = {"pairs": class_name(name), "spent": str(spent), "takes": {}, "left": str(start.budget - spent)}
    before = in_words(start.after, policy)
    for release, quote in quotes:
        after = in_words(quote.after, policy)
        for name, lost in after.items():
            row = rows.setdefault(name, {"pairs": class_name(name), "spent": "0", "takes": {}})
            taken = lost - before.get(name, Fraction(0))
            if taken:
                row["takes"][release] = str(taken)
            row["left"] = str(quote.budget - lost)
        before = after
    return [*rows.values()]


def budget_words(quote: Quote) -> Iterator[str]:
    """Say what a quote means, in sentences."""
    measure = quote.terms.measure
    unit = "" if measure is EPSILON else f"{measure.unit} "
    lost = f"lost more than {unit}{rounded_up(quote.largest)} in all releases"
    if quote.fits:
        taken = f"Together they take {unit}{rounded_up(quote.cost)} of the budget of {quote.terms.kept}"
        yield f"{taken}: no secret pair will have {lost}."
    else:
        left = f"{unit}{rounded_down(quote.budget - quote.spent)} of the budget of {quote.terms.kept} is left"
        yield f"Together they would take {unit}{rounded_up(quote.cost)}, but {left}: they do not fit."
    yield from terms_words(quote.terms)
    if quote.price.factor > 1 or not quote.price.by_class:
        spread = "" if quote.price.by_class else ", on every class of secret pairs"
        times = f"{quote.price.factor} times its epsilon{spread}"
        if measure is not EPSILON:
            times = f"what it loses over {quote.price.factor} steps{spread}, in rho the square of that many times"
        yield f"The ledger belongs to another policy: each costs {times} ({quote.rule})."


def terms_words(terms: Budget) -> Iterator[str]:
    """Say what a budget that admits Gaussian noise means, and what releases cost it."""
    if isinstance(terms.measure, Approximate):
        share = rounded_up(1 / terms.measure.order)
        yield f"Gaussian noise costs its rho; a pure epsilon e costs e^2 / 2, or {share} e where that is less."
    elif terms.measure is not EPSILON:
        means = "; ".join(meaning_words(terms.measure, terms.amount))
        yield f"All of {terms.words} means {means}. A pure epsilon e costs e^2 / 2."


def _classes(quote: Quote, policy: Policy) -> Iterator[tuple[str, Fraction, Fraction, Fraction]]:
    before, after = in_words(quote.before, policy), in_words(quote.after, policy)
    for name, lost in after.items():
        spent = before.get(name, Fraction(0))
        yield name, spent, lost - spent, quote.budget - lost


# How wrong a plan will be, as plain values for pictures: beside plain differential privacy, by size, by amount.

MOST_PARTS = 16
"""The most parts of an answer that a picture lists; those with the largest errors are kept."""
FACTORS = tuple(Fraction(2) ** power for power in range(-4, 5))
"""The multiples of what a plan loses at which :func:`by_amount` plans it again."""

_EXACT = "Nothing here is secret under this policy: it is published exactly, and costs nothing."


def accuracy_view(plan: Plan) -> dict[str, Any]:
    """Show the typical error of a plan and what it draws on; quick for all kinds of releases."""
    error, plain = plan.expected_error(), plan.plain_error()
    loss = plan.certificate.loss
    lost, draws_on = lost_by_class(loss, plan.policy), lost_on(loss, plan.policy)
    if len({*lost.values()}) > 1:
        draws_on = ", ".join(f"{name} ({about(float(amount))})" for name, amount in lost.items())
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
        "draws_on": draws_on,
        "lost": {name: str(amount) for name, amount in lost.items()},
        "words": f"Typical error of {error.of}: {about(error.rmse)}." if plan.amount else _EXACT,
        "notices": plan.notices,
    }


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
    baseline = baseline_of(plan)
    plain = {} if baseline is None else baseline.mechanism.errors_by_size()
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
    target: Target,
    *,
    sizes: PublicSizes | None = None,
    factors: Iterable[Fraction] = FACTORS,
) -> list[dict[str, Any]]:
    """Plan the same for other amounts, to show what a larger or smaller one would change; nothing is spent.

    Where several groups may spend different amounts there is no one amount to vary: the list is empty.
    """
    if not plan.amount or (target.amount is not None and not isinstance(target.amount, Fraction)):
        return []
    start, unit = target.amount or plan.amount, target.unit if target.amount else plan.mechanism.counted_in
    varied = replace(target, unit=unit, error=None)
    query, rows = joined(plan.query, plan.selection), list[dict[str, Any]]()
    named = None if type(plan.mechanism).default_for(plan.query) else plan.mechanism.name
    for factor in factors:
        stated = replace(varied, amount=start * factor)
        try:
            other = make_plan(query, plan.policy, target=stated, mechanism=named, records=plan.records, sizes=sizes)
        except BlowfishError:
            # Noise too large to be drawn, or too few records: there is no such plan.
            continue
        error = replace(other, assumed=plan.assumed).expected_error().rmse
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


# What a plan will publish, in the words that the studio has for the kinds of releases.

TITLES = {
    "histogram": "Table of counts",
    "cumulative": "Distribution",
    "mean": "Mean",
    "sum": "Sum",
    "quantiles": "Quantiles",
    "median": "Median",
    "tables": "Several tables",
    "range_grid": "Map",
    "kmeans": "Clusters",
    "synthetic": "Synthetic records",
}
"""Kinds of queries by keyword; others go by the name that they have in a file."""


def asked_words(plan: Plan) -> str:
    """Say what is asked, about which attributes and records."""
    query = plan.query
    title = TITLES.get(query.keyword, query.noun.capitalize())
    return f"{title} of {query.subject}{selected(plan.selection)}"


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
    return None if unplanned.query is None else query_words(*split(unplanned.query))


def unplanned_cells(unplanned: Unplanned) -> list[str]:
    """Write the row of a release that cannot be planned, with the reason in the last column, which may be long."""
    cells = {"name": unplanned.name or "(no name)", "query": _query_words(unplanned) or ""}
    cells |= {"mechanism": "cannot be planned", [*COLUMNS][-1]: unplanned.error.message}
    return [cells.get(column, "") for column in COLUMNS]


def plan_view(plan: Plan) -> dict[str, Any]:
    """Show one plan; errors are root mean squared, and those of plain differential privacy for the same epsilon."""
    whole_record, far = full_domain(plan), FarLosses.of(plan)
    parts = [
        {"title": each.title, "cells": each.numbers, "rmse": each.rmse, "plain_differential_privacy_rmse": each.plain}
        for each in comparison(plan)
    ]
    view = {
        **_row(plan),
        # What is kept of a whole record where it is hidden, and of values several steps apart.
        "full_domain": None if whole_record is None else show(whole_record),
        "further_apart": [
            {"pair": each.pair, "steps": int(each.hops), "factor": each.factor}
            for each in (*far.of_attributes(), *far.of_all())
            if each.lost
        ],
    }
    promised = plan.mechanism.promises(plan.population.policy, whole_record) if parts else []
    return {**view, "parts": parts, "promises": promised} if parts else view


def _row(plan: Plan) -> dict[str, Any]:
    error, plain = plan.expected_error(), plan.plain_error()
    return {
        "name": plan.name,
        "query": query_words(plan.query, plan.selection),
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


def plan_cells(plan: Plan) -> list[str]:
    """Write the cells of a plan's row, with numbers rounded for reading."""
    error, scales = plan.expected_error(), plan.certificate.scales[:3]
    sizes = {"rmse": error.rmse, "within_95_in_100": error.interval("0.95")}
    view = _row(plan) | {name: shown(size, error) for name, size in sizes.items()}
    if not plan.rho:
        # In the unit of the answer; a dash where there are several units, which explain tells.
        if len(scales) == 1 and isinstance(error, ExpectedError):
            view["scale"] = rounded(scales[0] * error.unit)
        else:
            one_unit = error.unit == 1 and plan.query.counts_records
            view["scale"] = ", ".join(map(rounded, scales)) if one_unit or not plan.amount else "-"
    return [str(view[column]) for column in COLUMNS]


def _scales(plan: Plan) -> str:
    if plan.rho:
        # What Gaussian noise is called by is its standard deviation; where there are several, explain lists them.
        error = plan.expected_error()
        return f"sd {about(error.rmse)}" if isinstance(error, ExpectedError) else "-"
    return ", ".join(show(scale) for scale in plan.certificate.scales[:3])


# Releases as plain values for JSON.


def release_view(
    result: Result, earlier: Entry | None, files: Sequence[str] = (), *, kept: str | None = None
) -> dict[str, Any]:
    """Show a release: its guarantee, the entry that paid for it if an earlier run did, and the files that hold it.

    ``kept`` is the document of another release of the same name, which was there and stays.
    """
    return {
        "name": result.name,
        "guarantee": result.statement,
        "recorded": None if earlier is None else paid_by(earlier),
        "files": list(files),
        "kept": kept,
    }


def paid_by(earlier: Entry) -> str:
    """Name the entry that paid for a release in an earlier run."""
    return f"entry {earlier.number} of {earlier.made[:19]}"


def releases_view(releases: Sequence[dict[str, Any]], *, spent: Fraction, remaining: Fraction) -> dict[str, Any]:
    """Show the releases of a batch, what they took from the budget, and what is left."""
    return {"releases": list(releases), "spent": str(spent), "remaining": str(remaining)}


# What plans would lose on values far apart, beside what their ledger has lost already.


def unprotected_by(plans: Sequence[Plan], quote: Quote | None, ledger: Ledger | None = None) -> list[str]:
    """Say which values are effectively unprotected after these releases, and all that the ledger holds already.

    ``quote`` is what the ledger, or one that is not made yet, says to those that are not paid for.
    """
    if ledger is None or quote is None:
        losses, entries = tuple(map(_loss_of, plans)), ()
        pure = all(each.loss.measure is EPSILON for each in losses)
        measure = quote.terms.measure if quote is not None else EPSILON if pure else RHO
        lost = Loss.total((each.loss.measured_in(measure, each.policy.rows_per_person) for each in losses), measure)
        known = any(each.policy.known for each in losses)
        far = FarLosses(plans[0].policy, lost, None if known else losses)
    else:
        entries, base = ledger.entries(), ledger.base
        paid = {entry.key for entry in entries}
        due = [_loss_of(plan) for plan in plans if plan.key not in paid]
        due = [as_charged(each, ledger.quote(each.loss, each.policy)) for each in due]
        policy = plans[0].policy if base is None else ledger.policy(base)
        far = FarLosses(policy, quote.after, losses_of(ledger, due))
    after = "these releases and those before" if entries else "these releases"
    return [f"{UNPROTECTED}{sentence}" for sentence in far.unprotected(after)]


def _loss_of(plan: Plan) -> OwnLoss:
    return OwnLoss(plan.policy, plan.certificate.loss, rows_of(plan))


# What must be said before a budget is spent: for what, how much, and what stays unprotected.


@dataclass(frozen=True)
class ConfirmedRelease:
    """One release that is about to be made."""

    name: str
    query: str
    cost: str
    """What it loses, on which secret pairs; nothing where the ledger holds it."""
    error: str
    notices: list[str]
    paid_before: str | None


@dataclass(frozen=True)
class Confirmation:
    """A question, and all that somebody should know who says yes."""

    question: str
    spends: bool
    """Whether anything is taken from the budget, or any value read."""
    releases: tuple[ConfirmedRelease, ...]
    spending: tuple[str, ...]
    """What they cost together, and what it means."""
    balances: tuple[tuple[str, ...], ...]
    """For each class of secret pairs: its name, what is spent, what these cost, what will be left."""
    unprotected: tuple[str, ...]
    """What the policy leaves unprotected, and what is effectively unprotected after all of them."""


def confirmation(
    plans: Sequence[Plan], earlier: Mapping[str, Entry], quote: Quote, ledger: Ledger | None = None
) -> Confirmation:
    """Say what releasing plans of one policy will do; ``earlier`` are the entries that paid for some already."""
    policy, due = plans[0].policy, any(plan.key not in earlier for plan in plans)
    measure = quote.terms.measure
    leaving = f"{measure.unit} {rounded_down(quote.budget - quote.largest)}"
    spend = f"Spend {measure.words(quote.cost)} (leaving {leaving}) and read the data?"
    releases: list[ConfirmedRelease] = []
    for plan in plans:
        paid, loss = earlier.get(plan.key), plan.certificate.loss
        cost = f"{loss.measure.words(plan.amount)} on {lost_on(loss, plan.policy)}"
        cost = cost if plan.amount else "nothing: it has no noise"
        release = ConfirmedRelease(
            name=plan.name,
            query=asked_words(plan),
            cost=cost if paid is None else "nothing more",
            error=error_words(plan),
            notices=plan.notices,
            paid_before=None if paid is None else paid_by(paid),
        )
        releases.append(release)
    return Confirmation(
        question=spend if due else "Hand out what is paid for? It costs nothing more.",
        spends=due,
        releases=tuple(releases),
        spending=tuple(budget_words(quote)) if due else ("All of it was paid for before. Nothing is spent.",),
        balances=tuple(map(tuple, budget_rows(quote, policy))) if due else (),
        unprotected=not_protected(policy, unprotected_by(plans, quote, ledger)),
    )
