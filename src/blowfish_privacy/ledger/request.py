"""Checking at the door what a caller asks a ledger for."""

from __future__ import annotations

from fractions import Fraction

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger.entry import Entry, StoredPolicy
from blowfish_privacy.policies import Policy
from blowfish_privacy.support.exact import exact, show

_LONGEST_KEY = 500


def wanted_entry(
    *,
    epsilon: Fraction,
    policy: Policy,
    policy_text: str,
    key: str,
    description: str,
    mechanism: str,
    detail: str = "{}",
) -> Entry:
    """Write down what a charge asks for; its number, time and price are not known yet."""
    if not storable(key, "the key") or len(key) > _LONGEST_KEY:
        raise LedgerError(f"the key must have 1 to {_LONGEST_KEY} characters.")
    return Entry(
        number=0,
        key=key,
        made="",
        policy=StoredPolicy.of(policy, storable(policy_text, "the policy's text")),
        epsilon=checked_epsilon(epsilon),
        charged=Fraction(0),
        rule="",
        description=storable(description, "the description"),
        mechanism=storable(mechanism, "the mechanism"),
        detail=detail,
    )


def checked_epsilon(value: object) -> Fraction:
    """Take a number from 0 up; what a policy makes public may be released at 0."""
    epsilon = exact(value, "epsilon", error=LedgerError)
    if epsilon < 0:
        raise LedgerError(f"epsilon must not be negative, got {show(epsilon)}.")
    return epsilon


def storable(value: str, what: str) -> str:
    """Take a text that every kind of storage gives back byte for byte."""
    try:
        if isinstance(value, str) and b"\0" not in value.encode():
            return value
    except UnicodeEncodeError:
        pass
    raise LedgerError(f"{what} must be text that can be stored.", hint="leave out NUL and unpaired surrogates.")
