"""A ledger as plain values for JSON. Amounts are exact, written as fractions."""

from __future__ import annotations

from collections.abc import Mapping
from math import isinf
from typing import Any

from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.ledger.verification import Report


def ledger_view(ledger: Ledger) -> dict[str, Any]:
    """Show what was spent, under which policy, and what is left."""
    failed = failures(ledger)
    entries = [_entry_view(entry, failed.get(entry.number)) for entry in ledger.entries()]
    return {"budget": str(ledger.budget), "remaining": str(ledger.remaining), "entries": entries}


def failures(ledger: Ledger) -> dict[int, str]:
    """Say by the number of its entry when a release failed because the data contradicted stated facts."""
    return {failure.entry: failure.made for failure in ledger.failures()}


def loss_view(ledger: Ledger, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Show what was lost on two values so far; None where nothing protects them from each other."""
    loss = ledger.loss(first, second)
    return {"loss": None if isinf(loss) else str(loss)}


def verification_view(report: Report) -> dict[str, Any]:
    """Show whether the rows of a ledger add up, and what is wrong with them."""
    return {"ok": report.ok, "entries": report.entries, "problems": list(report.problems)}


def _entry_view(entry: Entry, failed: str | None) -> dict[str, Any]:
    return {
        "entry": entry.number,
        "time": entry.made,
        "release": entry.description,
        "mechanism": entry.mechanism,
        "policy": entry.policy.hash,
        "epsilon": str(entry.epsilon),
        "charged": str(entry.charged),
        "rule": entry.rule,
        "failed": failed,
    }
