"""A ledger as plain values for JSON. Amounts are exact, written as fractions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isinf
from typing import Any

from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.ledger.amounts import read_amount
from blowfish_privacy.ledger.losses import write_loss
from blowfish_privacy.ledger.verification import Report
from blowfish_privacy.privacy.classes import ALL, EVERY
from blowfish_privacy.support.exact import show


def ledger_view(ledger: Ledger) -> dict[str, Any]:
    """Show what was spent, under which policy, and what is left."""
    failed = failures(ledger)
    entries = [_entry_view(entry, failed.get(entry.number)) for entry in ledger.entries()]
    balances = {name: str(lost) for name, lost in ledger.balances.items()}
    return {
        "budget": str(ledger.budget),
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
    return ", ".join(name if alike else f"{name} {show(amount)}" for name, amount in lost) + partly


def failures(ledger: Ledger) -> dict[int, str]:
    """Say by the number of its entry when a release failed because the data contradicted stated facts."""
    return {failure.entry: failure.made for failure in ledger.failures()}


def loss_view(ledger: Ledger, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Show what was lost on two values so far; None where nothing protects them from each other."""
    loss = ledger.loss(first, second)
    return {"loss": None if isinf(loss) else str(loss)}


def verification_view(report: Report) -> dict[str, Any]:
    """Show whether the rows of a ledger add up, and what is wrong with them."""
    return {"ok": report.ok, "entries": report.entries, "spent": str(report.spent), "problems": list(report.problems)}


def _entry_view(entry: Entry, failed: str | None) -> dict[str, Any]:
    return {
        "entry": entry.number,
        "time": entry.made,
        "release": entry.description,
        "mechanism": entry.mechanism,
        "policy": entry.policy.hash,
        "epsilon": str(entry.epsilon),
        "charged": str(entry.charged),
        "loss": [
            {**pairs, "amount": str(read_amount(pairs["amount"]))} for pairs in json.loads(write_loss(entry.loss))
        ],
        "rule": entry.rule,
        "failed": failed,
    }
