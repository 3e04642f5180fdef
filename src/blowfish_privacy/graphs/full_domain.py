"""Full-domain secrets: every pair of values is secret, which is (bounded) differential privacy."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from blowfish_privacy.domain import Cell, Domain, Subset, quoted
from blowfish_privacy.graphs.class_pairs import ClassPairs, Meetings, Pieces, cliques, meetings_along
from blowfish_privacy.graphs.graph import (
    Edge,
    Hops,
    Rows,
    Rule,
    SecretGraph,
    Secrets,
    Steepest,
    Words,
    among_all,
    two_different,
)
from blowfish_privacy.support.file_forms import Bare


@dataclass(frozen=True)
class FullDomain(Secrets):
    """Nobody may tell any two values apart."""

    keyword = "full"
    file_form = Bare("full")

    def on(self, domain: Domain) -> FullDomainGraph:
        return FullDomainGraph(domain)

    def to_file(self) -> str:
        return "full"

    @classmethod
    def from_file(cls, body: Any, domain: Domain) -> FullDomain:
        return cls()


@dataclass(frozen=True)
class FullDomainGraph(SecretGraph):
    """The complete graph."""

    domain: Domain

    @property
    def homogeneous(self) -> bool:
        return True

    def adjacent(self, x: Cell, y: Cell) -> bool:
        return x != y

    def hops(self, x: Cell, y: Cell) -> Hops:
        return int(x != y)

    def component(self, x: Cell) -> Hashable:
        return ()

    @property
    def connected(self) -> bool:
        return True

    def project(self, names: Sequence[str]) -> FullDomainGraph:
        return FullDomainGraph(self.domain.project(names))

    def widest_edge(self, name: str) -> Edge | None:
        axis, size = self.domain.axis(name), self.domain[name].size
        origin = (0,) * len(self.domain.names)
        return None if size == 1 else (origin, (*origin[:axis], size - 1, *origin[axis + 1 :]))

    def joins(self, name: str, first: Subset, second: Subset) -> tuple[int, int] | None:
        return two_different(first, second)

    def steepest(self, rows: Rows) -> Steepest:
        return among_all(rows)

    def class_pairs(self, pieces: Pieces) -> ClassPairs:
        return cliques([Meetings.everything(groups) for groups in pieces.groups], pieces)

    def class_pairs_along(self, axis: int, pieces: Pieces) -> ClassPairs:
        return cliques(meetings_along(axis, Meetings.everything(pieces.groups[axis]), pieces.groups), pieces)

    def _canonical(self) -> Any:
        """Write ``full``."""
        return "full"

    def _words(self) -> Words:
        """Say that everything is protected."""
        names = [quoted(name) for name in self.domain]
        if len(names) == 1:
            return Words((Rule(f"{names[0]}: every two values are a secret pair"),))
        every = f"{', '.join(names[:-1])} and {names[-1]}"
        return Words((Rule(f"Every two records are a secret pair, whatever their {every}"),))
