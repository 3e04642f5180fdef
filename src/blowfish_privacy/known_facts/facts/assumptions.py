"""What neighbouring tables are assumed to have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from blowfish_privacy.domain import Domain
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.known_facts.facts.known_fact import KnownFact

Compensation: TypeAlias = Literal["anywhere", "secret-moves"]


class Assumptions(Protocol):
    """As much of a policy as decides which records move together."""

    @property
    def domain(self) -> Domain:
        """The values that a record can have."""
        ...

    @property
    def graph(self) -> SecretGraph:
        """Which of them are secret from each other."""
        ...

    @property
    def known(self) -> Sequence[KnownFact]:
        """What everybody knows about the data."""
        ...

    @property
    def compensation(self) -> Compensation:
        """How other records may move so that it stays true."""
        ...

    @property
    def records(self) -> int | None:
        """The number of records, where it is known."""
        ...
