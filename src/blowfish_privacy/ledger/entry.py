"""The rows of a ledger: how they are written, and the chain of hashes that ties them together.

Amounts are fractions, written ``p/q``. Every entry, document and failure carries the hash of its fields and of its
predecessor's hash; the account holds the last one. So a row that is changed, missing or added is noticed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias, TypeVar, get_args

from blowfish_privacy.domain import Subset
from blowfish_privacy.errors import LedgerError
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import EVERYWHERE, NOTHING, Kind, Loss, PairClass, Region
from blowfish_privacy.privacy.measure import Measure

# How amounts are written in a ledger: as exact fractions, ``p/q``.

# Sums of many unlike fractions grow; Python itself refuses to print numbers of more than 4300 digits.
_MOST_DIGITS = 1000

_AMOUNT = re.compile(r"[0-9]{1,1100}/[0-9]{1,1100}", re.ASCII)


def write_amount(amount: Fraction) -> str:
    """Write an amount as ``p/q``."""
    if max(amount.numerator, amount.denominator) >= 10**_MOST_DIGITS:
        raise LedgerError(
            f"the amount has more than {_MOST_DIGITS} digits.", hint="use epsilons with few decimals, like 0.05."
        )
    return f"{amount.numerator}/{amount.denominator}"


def read_amount(text: object) -> Fraction:
    """Read what :func:`write_amount` writes, and nothing else."""
    if not isinstance(text, str) or not _AMOUNT.fullmatch(text):
        raise LedgerError("a stored amount is not a fraction.", hint="the ledger was changed by other software.")
    numerator, denominator = map(int, text.split("/"))
    if denominator == 0:
        raise LedgerError("a stored amount has denominator 0.", hint="the ledger was changed by other software.")
    return Fraction(numerator, denominator)


# How a loss is written down in the row of an entry, and a class of secret pairs in that of a balance.

_KINDS = get_args(Kind)
_UNREADABLE = ValueError, TypeError, AttributeError, KeyError, RecursionError
"""What reading a text raises that is not what was written."""


def write_loss(loss: Loss) -> str:
    """Write the classes of secret pairs and what each loses; the measure is written beside it."""
    return _compact([{**_written(pairs), "amount": write_amount(amount)} for pairs, amount in loss.amounts])


def read_loss(measure: str, text: str) -> Loss:
    """Read what :func:`write_loss` writes, and nothing else."""
    kind = Measure.named(measure)
    with suppress(*_UNREADABLE):
        loss = Loss.of(dict(_read(**row) for row in json.loads(text)), kind)
        if write_loss(loss) == text:
            return loss
    raise _damaged("the stored loss of an entry")


def write_class(pairs: PairClass) -> tuple[str, str, str]:
    """Write a class for the row of its balance: its kind, its attribute and its region."""
    return pairs.kind, pairs.attribute, _compact(_runs(pairs.within))


@lru_cache(maxsize=4096)
def read_class(kind: str, attribute: str, within: str) -> PairClass:
    """Read what :func:`write_class` writes, and nothing else."""
    with suppress(*_UNREADABLE):
        pairs = _class(kind, attribute, json.loads(within))
        if write_class(pairs) == (kind, attribute, within):
            return pairs
    raise _damaged("a stored balance")


def _damaged(what: str) -> LedgerError:
    return LedgerError(f"{what} is damaged.", hint="the ledger was changed by other software.")


def _written(pairs: PairClass) -> dict[str, Any]:
    attribute = {"attribute": pairs.attribute} if pairs.attribute else {}
    return {"pairs": pairs.kind, **attribute, **({"within": _runs(pairs.within)} if pairs.within else {})}


def _runs(region: Region) -> dict[str, Any]:
    return {name: subset.runs for name, subset in region}


def _read(
    *, pairs: Any, amount: str, attribute: str = "", within: Mapping[str, Any] | None = None
) -> tuple[PairClass, Fraction]:
    return _class(pairs, attribute, within or {}), read_amount(amount)


def _class(kind: Any, attribute: Any, within: Mapping[str, Any]) -> PairClass:
    if kind not in _KINDS or not isinstance(attribute, str) or bool(attribute) != (kind == "attribute"):
        raise ValueError
    if within and kind == "every":
        raise ValueError
    region: list[tuple[str, Subset]] = []
    for name in sorted(within):
        runs = tuple((start, stop) for start, stop in within[name])
        whole = all(type(start) is type(stop) is int and 0 <= start < stop for start, stop in runs)
        if not runs or not whole or Subset.union(runs).runs != runs:
            raise ValueError
        region.append((name, Subset(runs)))
    return PairClass(kind, attribute, tuple(region) or EVERYWHERE)


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def sha256(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def chained(previous: str, *fields: object) -> str:
    """Hash some fields together with the hash that came before them."""
    return sha256(json.dumps([previous, *fields], ensure_ascii=True))


@dataclass(frozen=True)
class StoredPolicy:
    """A policy as it is stored: its canonical form, that form's hash, and the text it can be read back from."""

    hash: str
    canonical: str
    text: str = ""

    @classmethod
    def of(cls, policy: Policy, text: str | None) -> StoredPolicy:
        """Write a policy down; the canonical text is the one whose SHA-256 is ``policy.hash``."""
        canonical = json.dumps(policy.canonical(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return cls(policy.hash, canonical, text or "")


@dataclass(frozen=True)
class Entry:
    """One charge. ``charged`` is what it cost the budget: what was asked for, at the price that ``rule`` explains.

    ``loss`` says which secret pairs of the ledger's policy it was charged to; the most that one is charged is
    ``charged``. All amounts are in the measure of the ledger, and ``epsilon`` is the largest that was asked for; a loss
    asked for in another measure is in ``detail``.
    """

    number: int
    key: str
    made: str
    policy: StoredPolicy
    epsilon: Fraction
    charged: Fraction
    rule: str
    description: str
    content: str
    """Tells releases of the same description apart: the beginning of a hash of all that is asked, or nothing."""
    mechanism: str
    detail: str = "{}"
    chain: str = ""
    loss: Loss = NOTHING

    table: ClassVar = "entries"

    def __repr__(self) -> str:
        return f"<Entry {self.number} of {self.made[:19]}: {self.label}; {self.loss.measure.words(self.charged)}>"

    @property
    def label(self) -> str:
        """What was released, as lists of entries show it."""
        return labelled(self.description, self.content)

    @property
    def asked(self) -> Loss | None:
        """What was asked for on the secret pairs of its own policy, if it is in another measure than the ledger's."""
        with suppress(*_UNREADABLE):
            asked = json.loads(self.detail).get("asked")
            return None if asked is None else read_loss(asked["measure"], _compact(asked["loss"]))
        raise _damaged("the stored loss of an entry")

    @property
    def requested(self) -> tuple[Measure, Fraction]:
        """The most that was asked for on any secret pair, in the release's own measure."""
        asked = self.asked
        return (self.loss.measure, self.epsilon) if asked is None else (asked.measure, asked.largest)

    def due(self, factor: int) -> Fraction:
        """Say the least that it costs at a price of so many times what was asked for."""
        own, amount = self.requested
        return self.loss.measure.converted(own.over(amount, factor), own)

    def link(self, previous: str) -> str:
        """Compute the hash this entry must carry after its predecessor's."""
        return chained(
            previous,
            *(self.loss.measure.name, write_loss(self.loss)),
            *(self.number, self.key, self.made, self.policy.hash, self.policy.canonical, self.policy.text),
            *(write_amount(self.epsilon), write_amount(self.charged), self.rule),
            *(self.description, self.content, self.mechanism, self.detail),
        )

    def repeats(self, other: Entry) -> bool:
        """Say whether another entry asks for the same release."""
        mine, theirs = (
            (entry.policy.hash, entry.epsilon, entry.description, entry.content, entry.detail)
            for entry in (self, other)
        )
        return mine == theirs


def labelled(description: str, content: str) -> str:
    """Write a description together with what distinguishes it from others in the same words."""
    return f"{description} [{content}]" if content else description


def asked_detail(loss: Loss) -> str:
    """Write down a loss that is in another measure than the ledger's; :attr:`Entry.asked` reads it."""
    return _compact({"asked": {"measure": loss.measure.name, "loss": json.loads(write_loss(loss))}})


@dataclass(frozen=True)
class Document:
    """The text that was handed out for an entry."""

    number: int
    entry: int
    made: str
    text: str
    sha256: str
    chain: str = ""

    table: ClassVar = "documents"

    def link(self, previous: str) -> str:
        """Compute the hash this document must carry after its predecessor's."""
        return chained(previous, self.number, self.entry, self.made, self.sha256)


@dataclass(frozen=True)
class Failure:
    """A check that an entry's release did not pass: the data contradict the facts that its policy states.

    Nothing is handed out for the entry unless a retry passes, and what it cost stays spent.
    """

    number: int
    entry: int
    made: str
    chain: str = ""

    table: ClassVar = "failures"

    def link(self, previous: str) -> str:
        """Compute the hash this failure must carry after its predecessor's."""
        return chained(previous, self.number, self.entry, self.made)


Row: TypeAlias = Entry | Document | Failure
RowKind = TypeVar("RowKind", Entry, Document, Failure)
