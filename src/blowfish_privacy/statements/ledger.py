"""A ledger as plain values for JSON. Amounts are exact, written as fractions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import isinf
from typing import Any

from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.ledger.account import in_words
from blowfish_privacy.ledger.entry import read_amount, write_loss
from blowfish_privacy.ledger.pair_loss import PairLoss
from blowfish_privacy.ledger.verification import Report
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import furthest_apart
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import EPSILON, RHO, deltas, meanings_view, short
from blowfish_privacy.release import spec
from blowfish_privacy.release.losses import FarLosses, rows_released
from blowfish_privacy.support.exact import rounded_up
from blowfish_privacy.support.text import count_of

_FEW = 2_000
"""Every pair of records is looked at where there are so few of them, counted once for each release."""


def ledger_view(ledger: Ledger) -> dict[str, Any]:
    """Show what was spent, under which policy, and what is left."""
    failed = failures(ledger)
    entries: list[dict[str, Any]] = []
    for entry in ledger.entries():
        measure, amount = entry.requested
        losses = json.loads(write_loss(entry.loss))
        view = {
            "entry": entry.number,
            "time": entry.made,
            "release": entry.label,
            "mechanism": entry.mechanism,
            "policy": entry.policy.hash,
            measure.name: str(amount),
            "charged": str(entry.charged),
            "loss": [{**pairs, "amount": str(read_amount(pairs["amount"]))} for pairs in losses],
            "rule": entry.rule,
            "failed": failed.get(entry.number),
        }
        entries.append(view)
    record = None if ledger.measure is EPSILON else lost_on_whole_record(ledger)
    return {
        "budget": str(ledger.budget),
        "measure": ledger.measure.unit,
        **({} if ledger.measure is EPSILON else {"stated": ledger.terms.view}),
        **({"means": meanings_view(ledger.measure, ledger.budget)} if ledger.measure is RHO else {}),
        "remaining": str(ledger.remaining),
        "balances": {name: str(lost) for name, lost in ledger.balances.items()},
        **({} if record is None else {"whole_record": {"steps": record.steps, **_loss_view(*record.lost)}}),
        "entries": entries,
    }


def lost_on(loss: Loss, policy: Policy | None = None) -> str:
    """Name the secret pairs that something is lost on, and how much where it is not the same on all."""
    lost = lost_by_class(loss, policy)
    if not lost:
        return "-"
    alike = len({*lost.values()}) == 1
    partly = " (of some records)" if any(pairs.within for pairs, _ in loss) else ""
    shown = {class_name(name): rounded_up(amount) for name, amount in lost.items()}
    return ", ".join(name if alike else f"{name} {amount}" for name, amount in shown.items()) + partly


def lost_by_class(loss: Loss, policy: Policy | None) -> dict[str, Fraction]:
    """Say what is lost on each class of secret pairs, where anything is."""
    return {name: amount for name, amount in in_words(loss, policy).items() if amount}


def class_name(name: str) -> str:
    """Name a class of secret pairs in a table."""
    return "anything" if name == "all" else name


def failures(ledger: Ledger) -> dict[int, str]:
    """Say by the number of its entry when a release failed because the data contradicted stated facts."""
    return {failure.entry: failure.made for failure in ledger.failures()}


def requested_words(entry: Entry) -> str:
    """Write the loss that a release was planned with, in its own measure."""
    measure, amount = entry.requested
    return measure.words(amount)


def lost_on_pair(ledger: Ledger, first: Mapping[str, Any], second: Mapping[str, Any]) -> PairLoss:
    """Say what was lost on two values so far: along chains of secret pairs, or by the rows that were handed out."""
    return ledger.pair_loss(first, second, partial(rows_released, ledger))


@dataclass(frozen=True)
class WholeRecord:
    """What was lost between any two records that chains of secret pairs connect, at most."""

    steps: int
    """How many secret pairs the longest of these chains has."""
    lost: tuple[PairLoss, ...]
    """A bound on all of them, or what each of them lost."""


def lost_on_whole_record(ledger: Ledger) -> WholeRecord | None:
    """Bound what was lost between any two records, as far as chains of secret pairs lead.

    None where no two values are further apart than a secret pair, and where the ledger's policy cannot be read back.
    """
    base = ledger.base
    policy = spec.loads(base.text).policy if base is not None and base.text else None
    if policy is None or policy.known or (furthest := furthest_apart(policy)) is None:
        return None
    far = FarLosses(policy, ledger.lost, ledger.own_losses(partial(rows_released, ledger)))
    return WholeRecord(int(furthest[2]), far.between_any(policy.domain.names, most=_FEW))


def loss_view(ledger: Ledger, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Show what was lost on two values so far; None where nothing protects them from each other."""
    return _loss_view(lost_on_pair(ledger, first, second))


def _loss_view(*lost: PairLoss) -> dict[str, Any]:
    """Show the same of the worst of several pairs."""
    most = max(each.amount for each in lost)
    if isinf(most):
        return {"loss": None}
    means = [{"epsilon": str(epsilon), "delta": str(delta)} for epsilon, delta in _means(lost)]
    return {"loss": str(most), **({"measure": lost[0].measure.unit, "means": means} if means else {})}


def loss_words(*lost: PairLoss) -> str:
    """Say what was lost on two values, or at most on any of several pairs."""
    most = max(each.amount for each in lost)
    if isinf(most):
        return "everything: nothing protects this pair"
    means = [f"epsilon {rounded_up(epsilon)} at delta {short(delta)}" for epsilon, delta in _means(lost)]
    words = lost[0].measure.words(Fraction(most))
    return f"{words}, which means {'; '.join(means)}" if means else words


def _means(lost: Sequence[PairLoss]) -> Iterator[tuple[Fraction, Fraction]]:
    for delta in deltas(lost[0].measure):
        yield max(Fraction(each.epsilon(delta)) for each in lost), delta


def verification_view(report: Report) -> dict[str, Any]:
    """Show whether the rows of a ledger add up, and what is wrong with them."""
    return {"ok": report.ok, "entries": report.entries, "spent": str(report.spent), "problems": list(report.problems)}


def counted(report: Report) -> str:
    """Say how many entries and documents a ledger has."""
    entries = "1 entry" if report.entries == 1 else f"{report.entries:,} entries"
    return f"{entries} and {count_of(report.documents, 'document')}"


# The history of a ledger as rows to read: when what was released, what it cost and on which secret pairs.


@dataclass(frozen=True)
class HistoryRow:
    """One entry of a ledger."""

    number: int
    key: str
    made: str
    """The time in UTC, to the second."""
    release: str
    """What was released, as the ledger describes it."""
    charged: str
    lost_on: str
    failed: str | None
    """When the data contradicted the stated facts, if they did."""


def history(ledger: Ledger) -> tuple[HistoryRow, ...]:
    """Read the entries of a ledger, the newest first."""
    failed = {entry: time[:19].replace("T", " ") for entry, time in failures(ledger).items()}
    return tuple(
        HistoryRow(
            number=entry.number,
            key=entry.key,
            made=entry.made[:19].replace("T", " "),
            release=entry.description,
            charged=entry.loss.measure.words(entry.charged) if entry.charged else "nothing",
            lost_on=lost_on(entry.loss),
            failed=failed.get(entry.number),
        )
        for entry in reversed(ledger.entries())
    )
