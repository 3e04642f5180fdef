"""A product as plain values for JSON: its releases, its totals, what they mean, and whether all of it is sound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from blowfish_privacy.ledger import Entry, Report
from blowfish_privacy.ledger.account import in_words
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import meanings_view
from blowfish_privacy.release.verification import Product, Released
from blowfish_privacy.results.files import FilesBeside
from blowfish_privacy.statements.card_exactness import error_of
from blowfish_privacy.statements.card_layout import Card
from blowfish_privacy.statements.card_registry import card_view
from blowfish_privacy.statements.card_words import statistic
from blowfish_privacy.statements.product_loss import ProductLoss


def product_view(product: Product, card: Card, files: Mapping[int, FilesBeside] | None = None) -> dict[str, Any]:
    """Show the statement about a product, with its numbers; amounts are exact, in the measure of the ledger."""
    loss = ProductLoss(product)
    whole, beside = loss.whole_record, files or {}
    return {
        **card_view(card),
        "budget": product.terms.view,
        "measure": product.measure.unit,
        "spent": str(product.spent),
        "means": meanings_view(product.measure, product.spent),
        "meaning": _meaning(loss, product.spent),
        "balances": {
            named: {"lost": str(amount), **_meaning(loss, amount)}
            for named, amount in in_words(product.lost, product.policy).items()
        },
        "whole_record": None if whole is None else {"lost": str(whole), **_meaning(loss, whole)},
        "further_apart": [
            {"pair": each.pair, "steps": int(each.hops), "factor": each.factor} for each in loss.far_apart()
        ],
        "releases": [_release_view(each, beside.get(each.entry.number, FilesBeside())) for each in product.released],
        "not_handed_out": [_charge_view(entry) for entry in product.unreleased],
    }


def product_verification_view(
    product: Product | Report, files: Sequence[str] = (), missing: Sequence[str] = ()
) -> dict[str, Any]:
    """Show whether a ledger and all its documents are sound and add up; from some nothing was released.

    ``files`` says what is wrong with documents beside it, ``missing`` which are not there.
    """
    problems = [*product.problems, *files]
    policy = product.policy if isinstance(product, Product) else None
    released = product.released if isinstance(product, Product) else ()
    report = product.report if isinstance(product, Product) else product
    proved = Loss.total((each.cost for each in released), report.lost.measure)
    return {
        "ok": not problems,
        "entries": report.entries,
        "documents": report.documents,
        "not_handed_out": report.entries - report.documents,
        "spent": str(report.spent),
        "balances": _amounts(report.lost, policy),
        "proved": _amounts(proved, policy),
        "problems": problems,
        "missing": [*missing],
    }


def _meaning(loss: ProductLoss, amount: Fraction) -> dict[str, Any]:
    """Say what an amount means to somebody who guesses, never less than it does."""
    strength = loss.strength(amount)
    return {"factor": strength.factor(), "at_most_sure": int(strength.certainty)}


def _amounts(loss: Loss, policy: Policy | None) -> dict[str, str]:
    return {named: str(amount) for named, amount in in_words(loss, policy).items()}


def _release_view(each: Released, files: FilesBeside) -> dict[str, Any]:
    own = each.plan.certificate.loss
    errors = [error_of(part) for part in each.parts]
    worst = max(errors, key=lambda error: error["rmse"])
    return {
        "name": each.name,
        "entry": each.entry.number,
        "time": each.body["time"],
        "statistic": statistic(each.parts),
        "numbers": sum(len(part.noisy) for part in each.parts),
        "error": {
            "of": worst["of"],
            "rmse": worst["rmse"],
            "within_95_in_100": max((error["within_95_in_100"] for error in errors), key=float),
        },
        own.measure.name: str(own.largest),
        "charged": str(each.entry.charged),
        "lost": {named: str(amount) for named, amount in in_words(each.entry.loss, None).items()},
        "policy": each.plan.policy.hash,
        "sha256": each.body["sha256"],
        "files": [path.name for path in files.own],
        "not_its_own": [path.name for path in files.foreign],
    }


def _charge_view(entry: Entry) -> dict[str, Any]:
    lost = {named: str(amount) for named, amount in in_words(entry.loss, None).items()}
    return {"entry": entry.number, "release": entry.description, "charged": str(entry.charged), "lost": lost}
