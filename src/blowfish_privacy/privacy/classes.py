"""Classes of secret pairs that releases treat alike.

Where every secret pair changes one attribute, a release that looks at some attributes says nothing about the pairs that
change another. So pairs are classed by the attribute they change, and losses are counted for each class separately.
Where a pair may change several attributes at once, or known facts make records move together, there is one class.
A release of some records only is lost on the pairs in a region alone (:mod:`blowfish_privacy.privacy.regions`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

from blowfish_privacy.known_facts.facts import crosses
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.regions import EVERYWHERE, Region

Kind: TypeAlias = Literal["all", "attribute", "every", "presence"]


@dataclass(frozen=True)
class PairClass:
    """Some of the secret pairs of a policy."""

    kind: Kind
    attribute: str = ""
    """The attribute that these pairs change, in a class of kind "attribute"."""
    within: Region = EVERYWHERE
    """Where these pairs lie: both values of a pair that another one changes, or one value, and then all that chains of
    secret pairs connect with it, of an attribute that it changes itself."""

    @property
    def whole(self) -> PairClass:
        """The class without its region."""
        return PairClass(self.kind, self.attribute) if self.within else self

    def among(self, other: PairClass) -> bool:
        """Say whether it is the same class as another, in whichever region."""
        return self.kind == other.kind and self.attribute == other.attribute

    @property
    def words(self) -> str:
        """What the pairs of the class are called in a sentence, wherever they lie."""
        if self.kind == "attribute":
            return f"the secret pairs that change {self.attribute}"
        return {"presence": "the pairs of a person in the table and the same person not in it"}.get(
            self.kind, "the secret pairs"
        )

    @property
    def order(self) -> tuple[object, ...]:
        """What classes are sorted by."""
        return self.kind, self.attribute, tuple((name, subset.runs) for name, subset in self.within)


ALL = PairClass("all")
"""The secret pairs of values, where they are not told apart by the attribute they change."""
EVERY = PairClass("every")
"""Whatever classes there are: what is lost here is lost on each of them, beside what it loses itself."""
PRESENCE = PairClass("presence")
"""A person who is in the table, and the same person who is not."""


def changing(attribute: str) -> PairClass:
    """Return the class of the pairs that change an attribute."""
    return PairClass("attribute", attribute)


def classes_met(policy: Policy, names: Collection[str]) -> tuple[PairClass, ...]:
    """List the classes with pairs that a query of some attributes may tell apart."""
    presence = (PRESENCE,) if policy.size == "unknown" else ()
    if not one_attribute_at_a_time(policy):
        return (*((ALL,) if policy.graph.has_edges else ()), *presence)
    moved = {policy.domain.axis(name) for name in names if policy.domain.resolves(name) and policy.graph.changes(name)}
    return (*(changing(name) for axis, name in enumerate(policy.domain) if axis in moved), *presence)


def one_attribute_at_a_time(policy: Policy) -> bool:
    """Say whether secret pairs are told apart by the attribute they change (docs/proofs/classes.md)."""
    return policy.graph.one_at_a_time and not crosses(policy)
