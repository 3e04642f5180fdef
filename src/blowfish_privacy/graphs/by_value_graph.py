"""The graph of secrets that a public column chooses: a disjoint union, one graph for each value of the column."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from blowfish_privacy.domain import Cell, Domain, Subset, quoted
from blowfish_privacy.errors import PolicyError
from blowfish_privacy.graphs.blocks import EqualBlocks, whole
from blowfish_privacy.graphs.class_pairs import ClassPairs, Pieces, by_any
from blowfish_privacy.graphs.graph import MOST_PAIRS, Edge, Hops, SecretGraph
from blowfish_privacy.graphs.partition import PartitionGraph
from blowfish_privacy.graphs.per_attribute import CartesianGraph
from blowfish_privacy.graphs.public import Public
from blowfish_privacy.graphs.steepest import Rows, Steepest, steepest_of
from blowfish_privacy.graphs.stretches import Stretches, merged
from blowfish_privacy.graphs.union import union, widest_of
from blowfish_privacy.graphs.words import Words

_MOST_NAMED = 6


def by_value(domain: Domain, column: str, graphs: Sequence[SecretGraph]) -> SecretGraph:
    """Return the disjoint union of graphs on the other attributes, one for each position of a column.

    Where all are the same it is their product with a public column, which has a graph of its own.
    """
    numbers: dict[str, int] = {}
    parts: list[SecretGraph] = []
    known: dict[int, int] = {}
    for graph in graphs:
        if id(graph) not in known:
            known[id(graph)] = numbers.setdefault(json.dumps(graph.canonical(), sort_keys=True), len(parts))
            parts += [graph] if known[id(graph)] == len(parts) else []
    if not any(part.has_edges for part in parts):
        return Public().on(domain)
    alike = _with_public(domain, column, parts[0]) if len(parts) == 1 else None
    return alike or ByValueGraph(domain, column, tuple(parts), tuple(known[id(graph)] for graph in graphs))


def _with_public(domain: Domain, column: str, part: SecretGraph) -> SecretGraph | None:
    """Multiply a graph with a public column, if the product is of a kind of its own."""
    if part.homogeneous and part.one_at_a_time:
        open_column = Public().on(domain.project([column]))
        return CartesianGraph(domain, tuple(open_column if name == column else part.project([name]) for name in domain))
    if isinstance(part, PartitionGraph) or part.complete:
        cuts = part.cuts if isinstance(part, PartitionGraph) else [whole(each) for each in part.domain.attributes]
        cut = {**dict(zip(part.domain, cuts, strict=True)), column: EqualBlocks(domain[column].size, 1)}
        return PartitionGraph(domain, tuple(cut[name] for name in domain))
    return None


@dataclass(frozen=True)
class ByValueGraph(SecretGraph):
    """One graph on the other attributes for each value of a column, which no edge changes."""

    domain: Domain
    column: str
    parts: tuple[SecretGraph, ...]
    """The different graphs."""
    chosen: tuple[int, ...]
    """The number of the graph that each position of the column chooses."""

    @property
    def homogeneous(self) -> bool:
        """Whether all values choose the same graph, and that is."""
        return len(self.parts) == 1 and self.parts[0].homogeneous

    @property
    def transitive(self) -> bool:
        """Whether every part is."""
        return all(part.transitive for part in self.parts)

    @property
    def one_at_a_time(self) -> bool:
        """Whether every edge of every part changes a single attribute."""
        return all(part.one_at_a_time for part in self.parts)

    @property
    def enumerated(self) -> tuple[Edge, ...] | None:
        """The edges of all parts, if all parts store a list."""
        return self._enumerated

    @cached_property
    def _enumerated(self) -> tuple[Edge, ...] | None:
        return None if any(part.enumerated is None for part in self.parts) else tuple(self._all_edges())

    @cached_property
    def _axis(self) -> int:
        return self.domain.axis(self.column)

    def part(self, position: int) -> SecretGraph:
        """Return the graph, on the other attributes, that a position of the column chooses."""
        return self.parts[self.chosen[position]]

    def _split(self, x: Cell) -> tuple[int, Cell]:
        return x[self._axis], (*x[: self._axis], *x[self._axis + 1 :])

    def _lift(self, edge: Edge, position: int) -> Edge:
        x, y = ((*end[: self._axis], position, *end[self._axis :]) for end in edge)
        return x, y

    def adjacent(self, x: Cell, y: Cell) -> bool:
        """The column is the same, and its graph has the edge."""
        (a, first), (b, second) = self._split(x), self._split(y)
        return a == b and self.part(a).adjacent(first, second)

    def hops(self, x: Cell, y: Cell) -> Hops:
        """Count the steps in the part; no chain leads from one part to another."""
        (a, first), (b, second) = self._split(x), self._split(y)
        return self.part(a).hops(first, second) if a == b else inf

    def component(self, x: Cell) -> Hashable:
        """Label with the column's position, and the component of its part."""
        position, rest = self._split(x)
        return position, self.part(position).component(rest)

    @property
    def connected(self) -> bool:
        """Only if the column has a single value."""
        return len(self.chosen) == 1 and self.parts[0].connected

    def furthest(self) -> Edge:
        """Compare the furthest values of the parts."""
        ends = [(part.hops(*(edge := _furthest(part))), number, edge) for number, part in enumerate(self.parts)]
        _, number, edge = max(ends)
        return self._lift(edge, self.chosen.index(number))

    def project(self, names: Sequence[str]) -> SecretGraph:
        """Project the parts; without the column they are no longer told apart, and any of them may have an edge."""
        if tuple(names) not in self._projections:
            self._projections[tuple(names)] = self._project(names)
        return self._projections[tuple(names)]

    @cached_property
    def _projections(self) -> dict[tuple[str, ...], SecretGraph]:
        return {}

    def _project(self, names: Sequence[str]) -> SecretGraph:
        domain, axes = self.domain.project(names), self.domain.axes(names)
        others = [name for name, axis in zip(names, axes, strict=True) if axis != self._axis]
        if not others:
            return Public().on(domain)
        parts = [part.project(others) for part in self.parts]
        if len(others) == len(names):
            return union(parts)
        column = names[axes.index(self._axis)]
        view = self.domain.view(column)
        if view is None:
            return by_value(domain, column, [parts[number] for number in self.chosen])
        below = [frozenset(np.array(self.chosen)[view == value].tolist()) for value in range(domain[column].size)]
        any_of = {numbers: union([parts[number] for number in sorted(numbers)]) for numbers in {*below}}
        return by_value(domain, column, [any_of[numbers] for numbers in below])

    def changing(self, name: str) -> SecretGraph:
        """Keep of each part the edges that change an attribute."""
        if name == self.column:
            return Public().on(self.domain)
        kept = [part.changing(name) for part in self.parts]
        return by_value(self.domain, self.column, [kept[number] for number in self.chosen])

    def widest_edge(self, name: str) -> Edge | None:
        """Compare the widest edges of the parts."""
        if name == self.column:
            return None
        edges = ((part.widest_edge(name), self.chosen.index(number)) for number, part in enumerate(self.parts))
        return widest_of((self._lift(edge, at) for edge, at in edges if edge is not None), self.domain.axis(name))

    def broadest(self) -> tuple[tuple[Edge, ...], bool]:
        """Collect the edges of the parts."""
        found = [(part.broadest(), self.chosen.index(number)) for number, part in enumerate(self.parts)]
        edges = tuple(self._lift(edge, at) for (edges, _), at in found for edge in edges)
        return edges, all(listed for (_, listed), _ in found)

    def joins(self, name: str, first: Subset, second: Subset) -> tuple[int, int] | None:
        """Ask each part."""
        if name == self.column:
            return None
        pairs = (part.joins(name, first, second) for part in self.parts)
        return next((pair for pair in pairs if pair is not None), None)

    def stretches(self, name: str) -> tuple[Stretches, ...]:
        """Cut where no part has an edge across."""
        size = self.domain[name].size
        return merged([] if name == self.column else [part.stretches(name) for part in self.parts], size)

    def longest_move(self, prices: Sequence[Fraction | int]) -> Fraction:
        """Compare the parts."""
        others = [*prices[: self._axis], *prices[self._axis + 1 :]]
        return max(part.longest_move(others) for part in self.parts)

    def covers(self, other: SecretGraph) -> bool:
        """Compare the parts, if the same column chooses them."""
        if super().covers(other) or not isinstance(other, ByValueGraph) or other.column != self.column:
            return super().covers(other)
        return all(self.parts[a].covers(other.parts[b]) for a, b in {*zip(self.chosen, other.chosen, strict=True)})

    def steepest(self, rows: Rows) -> Steepest | None:
        """Search each part where it is chosen."""
        return steepest_of(self._steepest_in(number, rows) for number in range(len(self.parts)))

    def _steepest_in(self, number: int, rows: Rows) -> Steepest | None:
        positions = [position for position, chosen in enumerate(self.chosen) if chosen == number]
        slices = np.moveaxis(rows, self._axis + 1, 1)[:, positions]
        found = self.parts[number].steepest(slices.reshape(-1, *slices.shape[2:]))
        if found is None or found.edge is None:
            return found
        row, at = divmod(found.row, len(positions))
        return Steepest(found.rise, row, self._lift(found.edge, positions[at]))

    def class_pairs(self, pieces: Pieces) -> ClassPairs:
        """Combine what each part joins where it is chosen: values that differ in the column are different ones."""
        return by_any(self._class_pairs(pieces), pieces.classes)

    def _class_pairs(self, pieces: Pieces) -> Iterator[tuple[ClassPairs, int]]:
        others = [*pieces.groups[: self._axis], *pieces.groups[self._axis + 1 :]]
        for number, group in enumerate(pieces.groups[self._axis]):
            labels = np.take(pieces.labels, number, axis=self._axis)
            for part, times in Counter(self.chosen[position] for position in group).items():
                yield self.parts[part].class_pairs(Pieces(others, labels, pieces.classes)), times

    def edges(self) -> Iterator[Edge]:
        """Yield the edges of all parts; refused if the parts are large."""
        size = self.domain.size // len(self.chosen)
        if self.enumerated is None and len(self.chosen) * size * (size - 1) // 2 > MOST_PAIRS:
            raise PolicyError(f"a domain of {self.domain.size:,} values has too many pairs to list the secret ones.")
        return self._all_edges()

    def _all_edges(self) -> Iterator[Edge]:
        return (self._lift(edge, at) for at, number in enumerate(self.chosen) for edge in self.parts[number].edges())

    def _canonical(self) -> Any:
        """State the graph of each value."""
        forms, attribute = [part.canonical() for part in self.parts], self.domain[self.column]
        values = {repr(attribute.show(at)): forms[number] for at, number in enumerate(self.chosen)}
        return {"by": self.column, "values": values}

    def _words(self) -> Words:
        """Say of each part what is protected there, and what the column itself discloses."""
        column = quoted(self.column)
        disclosed = (
            f"{column}: not protected at all. Releases may show exactly who has which, and with it who is protected "
            f"how: whatever {column} tells about a person is disclosed."
        )
        words = Words(unprotected=(disclosed,) if len(self.chosen) > 1 else ())
        return sum((part.words().about(self._people(number)) for number, part in enumerate(self.parts)), words)

    def _people(self, number: int) -> str:
        attribute = self.domain[self.column]
        positions = [position for position, chosen in enumerate(self.chosen) if chosen == number]
        shown = [attribute.say(position) for position in positions[:_MOST_NAMED]]
        more = f" or {len(positions) - _MOST_NAMED:,} others" if len(positions) > _MOST_NAMED else ""
        return f"Where {quoted(self.column)} is {' or '.join(shown)}{more}"


def _furthest(part: SecretGraph) -> Edge:
    """Return two values of a part as many steps apart as a chain can be long, attribute by attribute where it can."""
    first, last = part.furthest()
    if not part.homogeneous and part.hops(first, last) < inf:
        return first, last
    x, y = list(first), list(first)
    for axis, name in enumerate(part.domain.names):
        along = part.project([name])
        ends = along.furthest()
        if along.hops(*ends) == inf:
            ends = along.widest_edge(name) or (ends[0], ends[0])
        x[axis], y[axis] = ends[0][0], ends[1][0]
    return tuple(x), tuple(y)
