"""Checking what a caller asks a ledger for, before anything is looked up."""

from __future__ import annotations

from fractions import Fraction

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger.entry import Entry, StoredPolicy, asked_detail
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import Measure

_LONGEST_KEY = 500


def wanted_entry(
    *,
    loss: Loss,
    policy: Policy,
    policy_text: str,
    key: str,
    description: str,
    mechanism: str,
    measure: Measure,
) -> Entry:
    """Make the entry that a charge asks for; its number, time and price are filled in when it is made.

    Its loss is that of the release, in the release's own measure, and its other amounts are in that of the ledger.
    """
    if not storable(key, "the key") or len(key) > _LONGEST_KEY:
        raise LedgerError(f"the key must have 1 to {_LONGEST_KEY} characters.")
    return Entry(
        number=0,
        key=key,
        made="",
        policy=StoredPolicy.of(policy, storable(policy_text, "the policy's text")),
        epsilon=measure.converted(_checked(loss).largest, loss.measure),
        charged=Fraction(0),
        rule="",
        description=storable(description, "the description"),
        mechanism=storable(mechanism, "the mechanism"),
        detail="{}" if loss.measure == measure else asked_detail(loss),
        loss=loss,
    )


def _checked(loss: object) -> Loss:
    """Accept a loss whose amounts are positive; it may be empty, since what a policy makes public costs nothing."""
    if not isinstance(loss, Loss) or not all(type(amount) is Fraction and amount > 0 for _, amount in loss):
        raise LedgerError("a charge needs a loss, whose amounts are positive fractions.", hint="a certificate has one.")
    if any(pairs.kind == "every" and pairs.within for pairs, _ in loss):
        raise LedgerError("what is lost on every class is lost wherever its pairs lie: it has no region.")
    return loss


def storable(value: str, what: str) -> str:
    """Accept a text that every kind of storage gives back byte for byte."""
    try:
        if isinstance(value, str) and b"\0" not in value.encode():
            return value
    except UnicodeEncodeError:
        pass
    raise LedgerError(f"{what} must be text that can be stored.", hint="leave out NUL and unpaired surrogates.")
