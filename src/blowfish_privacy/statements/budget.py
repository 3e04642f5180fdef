"""What releases cost each class of secret pairs, what is spent already and what will be left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from blowfish_privacy.ledger.account import in_words
from blowfish_privacy.ledger.composition import Quote
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import EPSILON, Approximate, Budget, meaning_words
from blowfish_privacy.support.exact import rounded_down, rounded_up

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
        [_name(name), rounded_up(spent), rounded_up(cost), rounded_down(left)]
        for name, spent, cost, left in _classes(quote, policy)
    ]


def budget_shares(quotes: Sequence[tuple[str, Quote]], start: Quote, policy: Policy) -> list[dict[str, Any]]:
    """Show for each class of secret pairs what is spent, what each release takes beside those before it, what is left.

    ``start`` quotes no release, and each of ``quotes`` one more than the quote before; amounts are exact.
    """
    rows: dict[str, dict[str, Any]] = {}
    for name, spent in in_words(start.after, policy).items():
        rows[name] = {"pairs": _name(name), "spent": str(spent), "takes": {}, "left": str(start.budget - spent)}
    before = in_words(start.after, policy)
    for release, quote in quotes:
        after = in_words(quote.after, policy)
        for name, lost in after.items():
            row = rows.setdefault(name, {"pairs": _name(name), "spent": "0", "takes": {}})
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


def lost_on(loss: Loss, policy: Policy) -> str:
    """Name the secret pairs that a release is lost on, and how much where it is not the same on all."""
    lost = {name: amount for name, amount in in_words(loss, policy).items() if amount}
    if not lost:
        return "-"
    alike = len({*lost.values()}) == 1
    partly = " (of some records)" if any(pairs.within for pairs, _ in loss) else ""
    shown = (_name(name) if alike else f"{_name(name)} {rounded_up(amount)}" for name, amount in lost.items())
    return ", ".join(shown) + partly


def _classes(quote: Quote, policy: Policy) -> Iterator[tuple[str, Fraction, Fraction, Fraction]]:
    before, after = in_words(quote.before, policy), in_words(quote.after, policy)
    for name, lost in after.items():
        spent = before.get(name, Fraction(0))
        yield name, spent, lost - spent, quote.budget - lost


def _name(name: str) -> str:
    return {"all": "anything", "presence": "presence"}.get(name, name)
