"""Several graphs on one domain together: what is left of a graph for each value of a column that is not looked at."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from blowfish_privacy.domain import Cell, Domain, Subset, quoted
from blowfish_privacy.graphs.class_pairs import MOST_LISTED, ClassPairs, Pieces, by_any
from blowfish_privacy.graphs.explicit_edges import graph_of
from blowfish_privacy.graphs.graph import Edge, Hops, SecretGraph
from blowfish_privacy.graphs.public import Public
from blowfish_privacy.graphs.steepest import Rows, Steepest, steepest_of
from blowfish_privacy.graphs.stretches import Stretches, merged
from blowfish_privacy.graphs.words import Words

_MOST_VALUES = 1_000_000


def union(graphs: Sequence[SecretGraph]) -> SecretGraph:
    """Return the graph with the edges of all graphs, which are on one domain: one of them if it covers the others."""
    domain, kept = graphs[0].domain, list[SecretGraph]()
    for graph in graphs:
        if not any(other.covers(graph) for other in kept):
            kept = [*(other for other in kept if not graph.covers(other)), graph]
    if not any(graph.has_edges for graph in kept):
        return Public().on(domain)
    if len(kept) == 1:
        return kept[0]
    few = domain.size * (domain.size - 1) // 2 <= MOST_LISTED
    if few or all(graph.enumerated is not None for graph in kept):
        return graph_of(domain, frozenset(edge for graph in kept for edge in graph.edges()))
    return UnionGraph(domain, tuple(kept))


def widest_of(edges: Iterable[Edge], axis: int) -> Edge | None:
    """Return the edge that moves furthest along an axis; None if there is none."""
    return max(edges, key=lambda edge: abs(edge[0][axis] - edge[1][axis]), default=None)


@dataclass(frozen=True)
class UnionGraph(SecretGraph):
    """The edges of several graphs; where only some have one, a step may change from one graph to another."""

    domain: Domain
    graphs: tuple[SecretGraph, ...]

    @property
    def homogeneous(self) -> bool:
        """Whether every graph is."""
        return all(graph.homogeneous for graph in self.graphs)

    @property
    def one_at_a_time(self) -> bool:
        """Whether every edge of every graph changes a single attribute."""
        return all(graph.one_at_a_time for graph in self.graphs)

    def adjacent(self, x: Cell, y: Cell) -> bool:
        """Some graph has the edge."""
        return any(graph.adjacent(x, y) for graph in self.graphs)

    def hops(self, x: Cell, y: Cell) -> Hops:
        """Count the steps of the graph that takes fewest: never too few, though changing graphs may take fewer."""
        return min(graph.hops(x, y) for graph in self.graphs)

    @cached_property
    def _merged(self) -> dict[Hashable, Hashable] | None:
        """For each component of the first graph, one that stands for all that the others join with it."""
        if self.domain.size > _MOST_VALUES:
            return None
        import networkx as nx

        joined: nx.Graph[Hashable] = nx.Graph()
        for cell in self.domain.cells():
            labels = [(number, graph.component(cell)) for number, graph in enumerate(self.graphs)]
            joined.add_edges_from((labels[0], label) for label in labels)
        parts = enumerate(nx.connected_components(joined))
        return {label: number for number, part in parts for label in part}

    def component(self, x: Cell) -> Hashable:
        """Join what any graph connects; on a large domain, take all values to be connected."""
        return () if self._merged is None else self._merged[0, self.graphs[0].component(x)]

    @property
    def connected(self) -> bool:
        """Whether some graph is, or all are together; on a large domain only the former is known."""
        together = self._merged is not None and len(set(self._merged.values())) == 1
        return together or any(graph.connected for graph in self.graphs)

    def project(self, names: Sequence[str]) -> SecretGraph:
        """Project every graph."""
        return union([graph.project(names) for graph in self.graphs])

    def changing(self, name: str) -> SecretGraph:
        """Keep of each graph the edges that change an attribute."""
        return union([graph.changing(name) for graph in self.graphs])

    def widest_edge(self, name: str) -> Edge | None:
        """Compare the widest edges of the graphs."""
        edges = (graph.widest_edge(name) for graph in self.graphs)
        return widest_of((edge for edge in edges if edge is not None), self.domain.axis(name))

    def broadest(self) -> tuple[tuple[Edge, ...], bool]:
        """Collect the edges of the graphs."""
        found = [graph.broadest() for graph in self.graphs]
        return tuple(edge for edges, _ in found for edge in edges), all(listed for _, listed in found)

    def joins(self, name: str, first: Subset, second: Subset) -> tuple[int, int] | None:
        """Ask each graph."""
        pairs = (graph.joins(name, first, second) for graph in self.graphs)
        return next((pair for pair in pairs if pair is not None), None)

    def stretches(self, name: str) -> tuple[Stretches, ...]:
        """Cut where no graph has an edge across."""
        return merged([graph.stretches(name) for graph in self.graphs], self.domain[name].size)

    def longest_move(self, prices: Sequence[Fraction | int]) -> Fraction:
        """Compare the graphs."""
        return max(graph.longest_move(prices) for graph in self.graphs)

    def covers(self, other: SecretGraph) -> bool:
        """Say whether one of the graphs covers another."""
        return super().covers(other) or any(graph.covers(other) for graph in self.graphs)

    def steepest(self, rows: Rows) -> Steepest | None:
        """Compare the graphs."""
        return steepest_of(graph.steepest(rows) for graph in self.graphs)

    def class_pairs(self, pieces: Pieces) -> ClassPairs:
        """Combine what each graph joins."""
        return by_any(((graph.class_pairs(pieces), 1) for graph in self.graphs), pieces.classes)

    def _canonical(self) -> Any:
        """List the graphs."""
        return {
            "union": sorted(
                (graph.canonical() for graph in self.graphs), key=lambda form: json.dumps(form, sort_keys=True)
            )
        }

    def _words(self) -> Words:
        """Collect what the graphs protect."""
        said = [graph.words() for graph in self.graphs]
        names = " and ".join(map(quoted, self.domain.names))
        apart = f"{names}: values that no chain of secret pairs connects are not protected from each other."
        return Words(
            tuple(rule for words in said for rule in words.protected),
            () if self.connected else (apart,),
            tuple(dict.fromkeys(sentence for words in said for sentence in words.added)),
        )
