"""Explicit secrets: the pairs are listed, or are the edges of a networkx graph; or there are none."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Annotated, Any

from annotated_types import Len

from blowfish_privacy.domain import Bin, Cell, Domain, Subset, choice_to_file, quoted
from blowfish_privacy.errors import DomainError, PolicyError, brief, brief_kind
from blowfish_privacy.graphs.class_pairs import ClassPairs, ListedBlocks, Pieces, listed
from blowfish_privacy.graphs.graph import (
    MOST_PAIRS,
    Edge,
    Hops,
    Keyword,
    Rule,
    SecretGraph,
    Secrets,
    Stretches,
    Words,
    differing,
    joined,
)
from blowfish_privacy.graphs.partition import FullDomain, PartitionGraph
from blowfish_privacy.graphs.per_attribute import CartesianGraph
from blowfish_privacy.graphs.threshold import ThresholdGraph, within
from blowfish_privacy.support.file_forms import Bare, Form, Value, Wanted

_MOST_VALUES = 100_000
"""Blocks are only listed if there are at most this many values."""


def graph_of(domain: Domain, pairs: frozenset[Edge]) -> SecretGraph:
    """Return the graph with these edges, as another kind of graph if it is easy to see that they have its structure."""
    if not pairs:
        return ExplicitEdges(domain, pairs)
    if len(pairs) == domain.size * (domain.size - 1) // 2:
        return FullDomain().on(domain)
    if len(domain.names) > 1:
        return _product(domain, pairs) or ExplicitEdges(domain, pairs)
    return _threshold(domain, pairs) or _partition(domain, pairs) or ExplicitEdges(domain, pairs)


def _product(domain: Domain, pairs: frozenset[Edge]) -> SecretGraph | None:
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


_MOST_COMPARED = 20_000


@dataclass(frozen=True)
class ExplicitEdges(SecretGraph):
    """A graph stored as its set of edges, each with the smaller cell first."""

    domain: Domain
    pairs: frozenset[Edge]

    @property
    def homogeneous(self) -> bool:
        return len(self.domain.names) == 1 or not self.pairs

    @cached_property
    def one_at_a_time(self) -> bool:
        return all(len(differing(*edge)) == 1 for edge in self.pairs)

    @cached_property
    def enumerated(self) -> frozenset[Edge]:
        return self.pairs

    @cached_property
    def _neighbours(self) -> dict[Cell, list[Cell]]:
        neighbours: defaultdict[Cell, list[Cell]] = defaultdict(list)
        for x, y in self.pairs:
            neighbours[x].append(y)
            neighbours[y].append(x)
        return dict(neighbours)

    def adjacent(self, x: Cell, y: Cell) -> bool:
        return (min(x, y), max(x, y)) in self.pairs

    def _steps_from(self, x: Cell) -> Iterator[tuple[Cell, int]]:
        """Yield the values that chains connect with x, nearest first, with their steps.

        Written by hand because networkx takes twice as long to build and search a graph of 100,000 pairs.
        """
        steps = {x: 0}
        queue = deque([x])
        while queue:
            cell = queue.popleft()
            yield cell, steps[cell]
            for neighbour in self._neighbours.get(cell, ()):
                if neighbour not in steps:
                    steps[neighbour] = steps[cell] + 1
                    queue.append(neighbour)

    def hops(self, x: Cell, y: Cell) -> Hops:
        return next((steps for cell, steps in self._steps_from(x) if cell == y), inf)

    @cached_property
    def _labels(self) -> dict[Cell, Cell]:
        labels: dict[Cell, Cell] = {}
        for start in sorted(self._neighbours):
            if start not in labels:
                labels.update((cell, start) for cell, _ in self._steps_from(start))
        return labels

    def furthest(self) -> Edge:
        if len(self._neighbours) * len(self.pairs) > MOST_PAIRS:
            return super().furthest()
        ends = ((x, *max(self._steps_from(x), key=lambda reached: reached[1])) for x in sorted(self._neighbours))
        x, y, _ = max(ends, key=lambda end: end[2], default=(*super().furthest(), 0))
        return x, y

    def broadest(self) -> tuple[tuple[Edge, ...], bool]:
        changed = {frozenset(differing(*edge)): edge for edge in sorted(self.pairs)}
        return tuple(edge for axes, edge in changed.items() if not any(axes < larger for larger in changed)), True

    def component(self, x: Cell) -> Hashable:
        return self._labels.get(x, x)

    @property
    def connected(self) -> bool:
        return self.domain.size == 1 or (len(self._labels) == self.domain.size and len(set(self._labels.values())) == 1)

    def project(self, names: Sequence[str]) -> SecretGraph:
        if tuple(names) not in self._projections:
            seen = self.domain.seen(names)
            projected = ((seen(x), seen(y)) for x, y in self.pairs)
            pairs = frozenset((min(x, y), max(x, y)) for x, y in projected if x != y)
            self._projections[tuple(names)] = graph_of(self.domain.project(names), pairs)
        return self._projections[tuple(names)]

    @cached_property
    def _projections(self) -> dict[tuple[str, ...], SecretGraph]:
        return {}

    def stretches(self, name: str) -> tuple[Stretches, ...]:
        axis = self.domain.axis(name)
        ends = (sorted((x[axis], y[axis])) for x, y in self.pairs if x[axis] != y[axis])
        return joined(((low, high) for low, high in ends), self.domain[name].size)

    def longest_move(self, costs: Sequence[Fraction | int]) -> Fraction:
        if len(self.pairs) > _MOST_COMPARED:
            return super().longest_move(costs)
        lengths = (sum(cost * abs(a - b) for cost, a, b in zip(costs, x, y, strict=True)) for x, y in self.pairs)
        return Fraction(max(lengths, default=0))

    def class_pairs(self, pieces: Pieces) -> ClassPairs:
        return listed(self.pairs, pieces)

    def widest_edge(self, name: str) -> Edge | None:
        axis = self.domain.axis(name)
        changing = [edge for edge in self.pairs if axis in differing(*edge)]
        return max(sorted(changing), key=lambda edge: abs(edge[0][axis] - edge[1][axis]), default=None)

    def joins(self, name: str, first: Subset, second: Subset) -> tuple[int, int] | None:
        axis = self.domain.axis(name)
        for x, y in self.pairs:
            for a, b in ((x[axis], y[axis]), (y[axis], x[axis])):
                if a != b and a in first and b in second:
                    return a, b
        return None

    def edges(self) -> Iterator[Edge]:
        return iter(sorted(self.pairs))

    def _canonical(self) -> Any:
        size = self.domain.size
        if not self.pairs:
            return "public"
        if len(self.pairs) == size * (size - 1) // 2:
            return "full"
        return {"edges": sorted(sorted([_spelt(self.domain, x), _spelt(self.domain, y)]) for x, y in self.pairs)}

    def _words(self) -> Words:
        names = " and ".join(map(quoted, self.domain.names))
        if not self.pairs:
            return Words((), (f"{names}: not protected at all. Releases may show it exactly.",))
        x, y = min(self.pairs)
        many = Rule(f"{names}: {len(self.pairs):,} pairs are listed as secret", self._pair(x, y))
        protected = (many if len(self.pairs) > 1 else Rule(f"{names}: the secret pair is {self._pair(x, y)}"),)
        if self.connected:
            return Words(protected)
        first = self.domain.unflat(0)
        apart = next(cell for cell in self.domain.cells() if self.component(cell) != self.component(first))
        exposed = (
            f"{names}: values that no chain of listed pairs connects are not protected from each other, such as "
            f"{self._pair(first, apart)}."
        )
        return Words(protected, (exposed,))

    def _pair(self, x: Cell, y: Cell) -> str:
        single = len(self.domain.names) == 1
        say = self.domain.attributes[0].say if single else None
        return f"{say(x[0])} and {say(y[0])}" if say else f"({self.domain.say(x)}) and ({self.domain.say(y)})"


def _spelt(domain: Domain, cell: Cell) -> str:
    texts = (str(value) if isinstance(value, Bin) else repr(value) for value in domain.record(cell).values())
    return repr(sorted(zip(domain.names, texts, strict=True)))


class ExplicitGraph(Secrets):
    """Exactly the pairs listed are secret: ``ExplicitGraph([(1, 2), (2, 3)])``.

    A value of a domain with one attribute is written as it is; with several attributes, as a mapping
    ``{"age": 30, "sex": "F"}`` or a tuple in the domain's order. The nodes of a networkx graph are taken as values.
    """

    keyword = "edges"
    file_form = Form(
        {
            "edges": Annotated[
                list[Annotated[list[Value | list[Value] | dict[str, Value]], Len(2, 2)]],
                Wanted("a list of pairs", "write edges: [[1, 2], [2, 3]]."),
            ]
        },
        example="{edges: [[1, 2], [2, 3]]}",
    )

    def __init__(self, edges: Any) -> None:
        listed: Any = getattr(edges, "edges", edges)
        if isinstance(listed, str) or not isinstance(listed, Iterable):
            raise PolicyError(f"edges must be a list of pairs, got {brief(edges)}.")
        pairs: list[tuple[Any, Any]] = []
        for edge in listed:
            # A networkx multigraph gives (from, to, key).
            length = len(edge) if isinstance(edge, list | tuple) else 1
            if length != 2 and (length != 3 or listed is edges):
                raise PolicyError(f"an edge is a pair of values, got {brief_kind(edge)}.")
            pairs.append((deepcopy(edge[0]), deepcopy(edge[1])))
        self.edges: tuple[tuple[Any, Any], ...] = tuple(pairs)

    def __repr__(self) -> str:
        return f"ExplicitGraph({list(self.edges)!r})"

    def on(self, domain: Domain) -> SecretGraph:
        bound: set[Edge] = set()
        for edge in self.edges:
            x, y = (_cell(domain, end) for end in edge)
            if x == y:
                raise PolicyError(
                    f"an edge connects a value to itself: {domain.say(x)}.",
                    hint="a secret pair consists of two different values.",
                )
            bound.add((min(x, y), max(x, y)))
        return graph_of(domain, frozenset(bound))

    def to_file(self) -> dict[str, Any]:
        return {"edges": [[_plain(x), _plain(y)] for x, y in self.edges]}

    @classmethod
    def from_file(cls, body: Any, domain: Domain) -> ExplicitGraph:
        return cls(body["edges"])


def _cell(domain: Domain, value: Any) -> Cell:
    if isinstance(value, Mapping):
        return domain.cell(value)
    if len(domain.names) == 1:
        return (domain.position(domain.names[0], value),)
    if not isinstance(value, list | tuple) or len(value) != len(domain.names):
        raise DomainError(
            f"an end of an edge does not give a value for each of {', '.join(domain.names)}, got {brief_kind(value)}.",
            hint="write a mapping of attribute to value.",
        )
    return domain.cell(dict(zip(domain.names, value, strict=True)))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if isinstance(value, Bin):
        value = value.low
    return choice_to_file(value)


# No value of a person is secret: nothing is, or only whether they are in the table.


@dataclass(frozen=True)
class Public(Keyword):
    """No pair is secret; inside ``PerAttribute``, an attribute that everybody may know."""

    keyword = "public"
    file_form = Bare("public")

    def on(self, domain: Domain) -> SecretGraph:
        return ExplicitEdges(domain, frozenset())


@dataclass(frozen=True)
class AddRemove(Keyword):
    """Whether a person is in the table is secret: add-or-remove differential privacy, the usual definition.

    The same as :class:`Public` with ``size="unknown"``, which it implies. Between any two values of a person lie two
    steps: one record is removed, another added.
    """

    keyword = "add_remove"
    file_form = Bare("add_remove")
    size = "unknown"

    def on(self, domain: Domain) -> SecretGraph:
        return Public().on(domain)
