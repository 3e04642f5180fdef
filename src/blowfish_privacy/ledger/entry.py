"""What a ledger stores, and the chain of hashes that ties it together.

Amounts are fractions, written ``p/q``. Every entry, document and failure carries the hash of its fields and of its
predecessor's hash; the account holds the last one. So a row that is changed, missing or added is noticed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger.amounts import read_amount, write_amount
from blowfish_privacy.ledger.losses import read_loss, write_loss
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import EVERY, NOTHING, Loss
from blowfish_privacy.privacy.measure import Measure


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
    ``charged``. Entries of format 1 count in full on all pairs. All amounts are in the measure of the ledger, and
    ``epsilon`` is the largest that was asked for; a loss asked for in another measure is in ``detail``.
    """

    number: int
    key: str
    made: str
    policy: StoredPolicy
    epsilon: Fraction
    charged: Fraction
    rule: str
    description: str
    mechanism: str
    detail: str = "{}"
    chain: str = ""
    version: int = 2
    """The version of the way its hash is computed."""
    loss: Loss = NOTHING

    def __repr__(self) -> str:
        return f"<Entry {self.number} of {self.made[:19]}: {self.description}; {self.loss.measure.words(self.charged)}>"

    @property
    def parts(self) -> Mapping[str, Fraction]:
        """The epsilons of the parts of a release, as earlier versions charged them together; empty otherwise."""
        try:
            return {label: read_amount(amount) for label, amount in json.loads(self.detail).get("parts", {}).items()}
        except (ValueError, AttributeError, RecursionError):
            pass
        raise LedgerError("the stored parts of an entry are damaged.", hint="the ledger was changed by other software.")

    @property
    def asked(self) -> Loss | None:
        """What was asked for on the secret pairs of its own policy, if it is in another measure than the ledger's."""
        try:
            asked = json.loads(self.detail).get("asked")
            return None if asked is None else read_loss(asked["measure"], _compact(asked["loss"]))
        except (ValueError, AttributeError, RecursionError, KeyError, TypeError):
            pass
        raise LedgerError("the stored loss of an entry is damaged.", hint="the ledger was changed by other software.")

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
        added = (self.loss.measure.name, write_loss(self.loss))
        return chained(
            previous,
            *(() if self.version == 1 else (f"version {self.version}", *added)),
            *(self.number, self.key, self.made, self.policy.hash, self.policy.canonical, self.policy.text),
            *(write_amount(self.epsilon), write_amount(self.charged), self.rule),
            *(self.description, self.mechanism, self.detail),
        )

    @staticmethod
    def on_all_pairs(charged: Fraction) -> Loss:
        """Return the loss that an entry of format 1 stands for."""
        return Loss.of({EVERY: charged})

    def repeats(self, other: Entry) -> bool:
        """Say whether another entry asks for the same release."""
        return (self.policy.hash, self.epsilon, self.description, self.detail) == (
            other.policy.hash,
            other.epsilon,
            other.description,
            other.detail,
        )


def asked_detail(loss: Loss) -> str:
    """Write down a loss that is in another measure than the ledger's; :attr:`Entry.asked` reads it."""
    return _compact({"asked": {"measure": loss.measure.name, "loss": json.loads(write_loss(loss))}})


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


@dataclass(frozen=True)
class Document:
    """The text that was handed out for an entry."""

    number: int
    entry: int
    made: str
    text: str
    sha256: str
    chain: str = ""

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

    def link(self, previous: str) -> str:
        """Compute the hash this failure must carry after its predecessor's."""
        return chained(previous, self.number, self.entry, self.made)
