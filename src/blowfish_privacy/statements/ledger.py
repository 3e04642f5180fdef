"""A ledger as plain values for JSON. Amounts are exact, written as fractions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import isinf
from typing import Any

from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.ledger.amounts import read_amount
from blowfish_privacy.ledger.losses import write_loss
from blowfish_privacy.ledger.pair_loss import OwnLoss, PairLoss
from blowfish_privacy.ledger.verification import Report
from blowfish_privacy.policies.distances import furthest_apart
from blowfish_privacy.privacy.budget import deltas, meanings_view, short
from blowfish_privacy.privacy.classes import ALL, EVERY
from blowfish_privacy.privacy.measure import EPSILON, RHO
from blowfish_privacy.release import spec
from blowfish_privacy.release.loss_by_rows import loss_by_rows
from blowfish_privacy.support.exact import rounded_up


def ledger_view(ledger: Ledger) -> dict[str, Any]:
    """Show what was spent, under which policy, and what is left."""
    failed = failures(ledger)
    entries = [_entry_view(entry, failed.get(entry.number)) for entry in ledger.entries()]
    balances = {name: str(lost) for name, lost in ledger.balances.items()}
    return {
        "budget": str(ledger.budget),
        "measure": ledger.measure.unit,
        **({} if ledger.measure is EPSILON else {"stated": ledger.terms.view}),
        **({"means": meanings_view(ledger.measure, ledger.budget)} if ledger.measure is RHO else {}),
        "remaining": str(ledger.remaining),
        "balances": balances,
        "entries": entries,
    }


def lost_in_words(entry: Entry) -> str:
    """Say what an entry was charged to which secret pairs, where that is not all."""
    whole = {pairs.whole for pairs, _ in entry.loss} - {EVERY, ALL}
    if not whole:
        return "all" if entry.charged else ""
    lost = [
        (pairs.attribute or pairs.kind, entry.loss.on(pairs)) for pairs in sorted(whole, key=lambda each: each.order)
    ]
    partly = " (some values)" if any(pairs.within for pairs, _ in entry.loss) else ""
    alike = all(amount == entry.charged for _, amount in lost)
    return ", ".join(name if alike else f"{name} {entry.loss.measure.number(amount)}" for name, amount in lost) + partly


def failures(ledger: Ledger) -> dict[int, str]:
    """Say by the number of its entry when a release failed because the data contradicted stated facts."""
    return {failure.entry: failure.made for failure in ledger.failures()}


def asked_in_words(entry: Entry) -> str:
    """Say what an entry asked for, in its own measure."""
    own, amount = entry.requested
    return own.words(amount)


def lost_on_pair(
    ledger: Ledger, first: Mapping[str, Any], second: Mapping[str, Any], due: Sequence[OwnLoss] = ()
) -> PairLoss:
    """Say what was lost on two values so far: along chains of secret pairs, or by the rows that were handed out.

    What is due, as if it were charged already, is added.
    """
    return ledger.pair_loss(first, second, partial(loss_by_rows, ledger), due)


def lost_on_whole_record(ledger: Ledger) -> tuple[str, PairLoss] | None:
    """Say what was lost on two records that differ in everything that is secret, as far as chains of pairs lead.

    None where no two values are further apart than a secret pair, and where the ledger's policy cannot be read back.
    """
    base = ledger.base
    policy = spec.loads(base.text).policy if base is not None and base.text else None
    if policy is None or policy.known or (furthest := furthest_apart(policy)) is None:
        return None
    first, second, hops = furthest
    return f"{hops} steps", lost_on_pair(ledger, first, second)


def loss_view(ledger: Ledger, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Show what was lost on two values so far; None where nothing protects them from each other."""
    lost = lost_on_pair(ledger, first, second)
    if isinf(lost.amount):
        return {"loss": None}
    means = [{"epsilon": str(lost.epsilon(delta)), "delta": str(delta)} for delta in deltas(lost.measure)]
    return {"loss": str(lost.amount), **({"measure": lost.measure.unit, "means": means} if means else {})}


def loss_words(lost: PairLoss) -> str:
    """Say what was lost on two values."""
    if isinf(lost.amount):
        return "everything: nothing protects this pair"
    means = [
        f"epsilon {rounded_up(Fraction(lost.epsilon(delta)))} at delta {short(delta)}" for delta in deltas(lost.measure)
    ]
    said = lost.measure.words(Fraction(lost.amount))
    return f"{said}, which means {'; '.join(means)}" if means else said


def verification_view(report: Report) -> dict[str, Any]:
    """Show whether the rows of a ledger add up, and what is wrong with them."""
    return {"ok": report.ok, "entries": report.entries, "spent": str(report.spent), "problems": list(report.problems)}


def _entry_view(entry: Entry, failed: str | None) -> dict[str, Any]:
    own, asked = entry.requested
    return {
        "entry": entry.number,
        "time": entry.made,
        "release": entry.description,
        "mechanism": entry.mechanism,
        "policy": entry.policy.hash,
        own.name: str(asked),
        "charged": str(entry.charged),
        "loss": [
            {**pairs, "amount": str(read_amount(pairs["amount"]))} for pairs in json.loads(write_loss(entry.loss))
        ],
        "rule": entry.rule,
        "failed": failed,
    }
