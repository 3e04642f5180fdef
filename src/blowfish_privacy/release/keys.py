"""Keys of releases: the same question to the same data is the same release, however often it is asked."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from blowfish_privacy.errors import QueryError
from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.measure import EPSILON
from blowfish_privacy.queries import Asked
from blowfish_privacy.queries.query import split
from blowfish_privacy.release.checks import title

MADE_BEFORE = (
    "the ledger holds this release from an earlier session: it is handed out as it was, at no cost, whatever has "
    "happened to the data since. new=True releases anew."
)


def content_key(data: str | None, policy: Policy, description: str) -> str:
    """Name a release by its content and its data, so that asking again finds what was released before.

    ``description`` covers the name, the query, the mechanism with its scales, and the domain in its order. Data are
    known by their path or address alone: a key is published, so no value may have a part in it. Tables in memory have
    no name; they are the table that the ledger is kept for.
    """
    kind = "memory" if data is None else "file"
    return f"{kind}-{sha256(f'{data} {policy.hash} {description}'.encode()).hexdigest()[:32]}"


def may_be_paid(entries: Iterable[Entry], policy: Policy, *, name: str, query: Asked, amount: Fraction) -> bool:
    """Say whether one of the charges may be that of a release which is not planned yet; its plan will tell."""
    start = f"{title(name, *split(query))} ["
    return any(
        _as_much(entry, amount) and entry.policy.hash == policy.hash and entry.description.startswith(start)
        for entry in entries
    )


def _as_much(entry: Entry, amount: Fraction) -> bool:
    """Say whether an entry was charged an amount; Laplace noise in place of Gaussian may cost a little less."""
    return entry.epsilon == amount if entry.loss.measure is EPSILON else entry.epsilon <= amount


class SessionKeys:
    """The keys that a session gives to its releases, and which of them it has released under."""

    def __init__(self, data: object) -> None:
        self._data = str(data) if isinstance(data, str | Path) else None
        self._released: dict[str, bool] = {}

    def choose(self, policy: Policy, description: str, *, key: str | None, new: bool) -> str:
        """Take the key that was given, a new one if a new release is asked for, or the one of the content."""
        if new and key is not None:
            raise QueryError("a key names one release, and new=True asks for another.", hint="give one of the two.")
        if new or key is not None:
            return uuid4().hex if key is None else key
        made = content_key(self._data, policy, description)
        self._released.setdefault(made, False)
        return made

    def made_before(self, key: str, ledger: Ledger) -> bool:
        """Say whether the content of a release led to one that another session made."""
        return self._released.get(key) is False and ledger.document(key) is not None

    def released(self, key: str) -> None:
        """Note that this session has released under a key."""
        self._released[key] = True
