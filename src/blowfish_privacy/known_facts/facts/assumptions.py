"""What neighbouring tables are assumed to have in common: the part of a policy that the known-facts code works with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from blowfish_privacy.domain import Domain
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.known_facts.facts.known_fact import KnownFact

Compensation: TypeAlias = Literal["anywhere", "secret-moves"]


class Assumptions(Protocol):
    """The part of a policy that decides which records move together."""

    @property
    def domain(self) -> Domain:
        """The values that a record can have."""
        ...

    @property
    def graph(self) -> SecretGraph:
        """The secret graph: which pairs of values are secret."""
        ...

    @property
    def known(self) -> Sequence[KnownFact]:
        """The facts about the data that everybody knows."""
        ...

    @property
    def compensation(self) -> Compensation:
        """How other records may move to keep the known facts true."""
        ...

    @property
    def records(self) -> int | None:
        """The number of records, if it is known."""
        ...
