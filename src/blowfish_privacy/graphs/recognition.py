"""Recognise listed pairs that are a partition, a threshold or a product: equal secret pairs get equal treatment."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from blowfish_privacy.domain import Domain, Subset
from blowfish_privacy.graphs.blocks import ListedBlocks
from blowfish_privacy.graphs.full_domain import FullDomainGraph
from blowfish_privacy.graphs.graph import Edge, SecretGraph, differing
from blowfish_privacy.graphs.partition import PartitionGraph
from blowfish_privacy.graphs.per_attribute import CartesianGraph
from blowfish_privacy.graphs.reach import within
from blowfish_privacy.graphs.threshold_graph import ThresholdGraph

GraphOf: TypeAlias = Callable[[Domain, frozenset[Edge]], SecretGraph]

_MOST_VALUES = 100_000
"""Blocks are only listed if there are at most this many values."""


def recognised(domain: Domain, pairs: frozenset[Edge], graph_of: GraphOf) -> SecretGraph | None:
    """Return a structured graph with exactly these edges; None if there is none, or it takes long to tell.

    ``graph_of`` builds the graphs of single attributes.
    """
    if not pairs:
        return None
    if len(pairs) == domain.size * (domain.size - 1) // 2:
        return FullDomainGraph(domain)
    if len(domain.names) > 1:
        return _product(domain, pairs, graph_of)
    return _threshold(domain, pairs) or _partition(domain, pairs)


def _product(domain: Domain, pairs: frozenset[Edge], graph_of: GraphOf) -> SecretGraph | None:
    """Recognise a product: along each attribute, the same edges for all values of the other attributes."""
    along: list[set[tuple[int, int]]] = [set() for _ in domain.names]
    for x, y in pairs:
        axes = differing(x, y)
        if len(axes) > 1:
            return None
        along[axes[0]].add((x[axes[0]], y[axes[0]]))
    if sum(len(edges) * (domain.size // size) for edges, size in zip(along, domain.shape, strict=True)) != len(pairs):
        return None
    singles = (frozenset(((min(a, b),), (max(a, b),)) for a, b in edges) for edges in along)
    graphs = (graph_of(domain.project([name]), edges) for name, edges in zip(domain.names, singles, strict=True))
    return CartesianGraph(domain, tuple(graphs))


def _threshold(domain: Domain, pairs: frozenset[Edge]) -> SecretGraph | None:
    (attribute,) = domain.attributes
    # Neighbouring values are within every threshold that has edges at all.
    if not attribute.ordered or len(pairs) < attribute.size - 1:
        return None
    theta = max(attribute.gap(x[0], y[0]) for x, y in pairs)
    # Neighbouring bins have distance 0: any theta below the narrowest bin joins them and nothing else.
    theta = theta or min(attribute.gap(first, first + 2) for first in range(attribute.size - 2)) / 2
    if sum(last - first for first, last in within(attribute, theta)) != len(pairs):
        return None
    return ThresholdGraph(domain, theta, (Fraction(1),))


def _partition(domain: Domain, pairs: frozenset[Edge]) -> SecretGraph | None:
    if domain.size > _MOST_VALUES:
        return None
    import networkx as nx

    joined: nx.Graph[int] = nx.Graph()
    joined.add_nodes_from(range(domain.size))
    joined.add_edges_from((x[0], y[0]) for x, y in pairs)
    blocks = [Subset.of(block) for block in nx.connected_components(joined)]
    if sum(len(block) * (len(block) - 1) // 2 for block in blocks) != len(pairs):
        return None
    return PartitionGraph(domain, (ListedBlocks(tuple(sorted(blocks, key=lambda block: block.first))),))
