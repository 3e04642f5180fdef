"""Balances: what each class of secret pairs has lost in all, a summary of the entries, which are the truth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from blowfish_privacy.ledger.entry import Entry
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import ALL, EVERY, Loss, PairClass, classes_met
from blowfish_privacy.privacy.measure import Measure


@dataclass(frozen=True)
class Balance:
    """What the entries charged to one class, in one region, add up to."""

    pairs: PairClass
    amount: Fraction
    entry: int
    """The number of the last of these entries."""


def summed(entries: Iterable[Entry]) -> tuple[Balance, ...]:
    """Work out all balances from the entries."""
    sums: dict[PairClass, Balance] = {}
    for entry in entries:
        for pairs, amount in entry.loss:
            so_far = sums[pairs].amount if pairs in sums else Fraction(0)
            sums[pairs] = Balance(pairs, so_far + amount, entry.number)
    return tuple(sums[pairs] for pairs in sorted(sums, key=lambda pairs: pairs.order))


def lost(balances: Iterable[Balance], measure: Measure) -> Loss:
    """Return what is lost on each class."""
    return Loss.of({balance.pairs: balance.amount for balance in balances}, measure)


def by_class(loss: Loss, policy: Policy | None) -> dict[PairClass, Fraction]:
    """Say for each class of a policy the most that one of its pairs has lost.

    Classes of other policies are listed if they have lost something; so are all, if the policy cannot be read back.
    """
    own = () if policy is None else classes_met(policy, policy.domain.names)
    others = sorted({pairs.whole for pairs, _ in loss} - {*own, EVERY}, key=lambda pairs: pairs.order)
    classes = (*own, *others) or ((ALL,) if loss.on(EVERY) else ())
    return {pairs: loss.on(pairs) for pairs in classes}


def in_words(loss: Loss, policy: Policy | None) -> dict[str, Fraction]:
    """Say the same, classes by the attribute that their pairs change."""
    lost = by_class(loss, policy)
    attributes = {pairs.attribute for pairs in lost}
    return {_word(pairs, attributes): amount for pairs, amount in lost.items()}


def _word(pairs: PairClass, attributes: set[str]) -> str:
    return pairs.attribute or (f"({pairs.kind})" if pairs.kind in attributes else pairs.kind)
