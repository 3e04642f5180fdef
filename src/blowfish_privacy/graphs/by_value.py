"""A policy per person: a public column chooses the secrets of each record [he2014, section 3.1, at its end]."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Annotated, Any

import numpy as np

from blowfish_privacy.domain import Cell, Domain, Subset, quoted
from blowfish_privacy.errors import BlowfishError, PolicyError, SpecError, brief, brief_name, located, nearest
from blowfish_privacy.graphs.class_pairs import MOST_LISTED, ClassPairs, EqualBlocks, Pieces, by_any
from blowfish_privacy.graphs.explicit import Public, graph_of
from blowfish_privacy.graphs.graph import (
    MOST_PAIRS,
    MOST_VALUES,
    SECRETS_FORM,
    Edge,
    FrozenMapping,
    Hops,
    Rows,
    SecretGraph,
    Secrets,
    Steepest,
    Stretches,
    Words,
    merged,
    steepest_of,
)
from blowfish_privacy.graphs.partition import FullDomain, PartitionGraph
from blowfish_privacy.graphs.per_attribute import CartesianGraph
from blowfish_privacy.support.file_forms import Form, Wanted


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


class _SeveralGraphs(SecretGraph):
    """The edges of several graphs, each on the domain or, for some values of a column, on the other attributes."""

    graphs: tuple[SecretGraph, ...]

    def _lifted(self, edge: Edge, number: int) -> Edge:
        """Return an edge of one of the graphs as an edge of this one."""
        return edge

    @cached_property
    def one_at_a_time(self) -> bool:
        return all(graph.one_at_a_time for graph in self.graphs)

    def widest_edge(self, name: str) -> Edge | None:
        edges = ((number, graph.widest_edge(name)) for number, graph in enumerate(self.graphs) if name in graph.domain)
        lifted = (self._lifted(edge, number) for number, edge in edges if edge is not None)
        axis = self.domain.axis(name)
        return max(lifted, key=lambda edge: abs(edge[0][axis] - edge[1][axis]), default=None)

    def broadest(self) -> tuple[tuple[Edge, ...], bool]:
        broadest = [graph.broadest() for graph in self.graphs]
        edges = tuple(self._lifted(edge, number) for number, (edges, _) in enumerate(broadest) for edge in edges)
        return edges, all(listed for _, listed in broadest)

    def joins(self, name: str, first: Subset, second: Subset) -> tuple[int, int] | None:
        pairs = (graph.joins(name, first, second) for graph in self.graphs if name in graph.domain)
        return next((pair for pair in pairs if pair is not None), None)

    def stretches(self, name: str) -> tuple[Stretches, ...]:
        cuts = [graph.stretches(name) for graph in self.graphs if name in graph.domain]
        return merged(cuts, self.domain[name].size)


@dataclass(frozen=True)
class UnionGraph(_SeveralGraphs):
    """The edges of several graphs; where only some have one, a step may change from one graph to another."""

    domain: Domain
    graphs: tuple[SecretGraph, ...]

    @property
    def homogeneous(self) -> bool:
        return all(graph.homogeneous for graph in self.graphs)

    def adjacent(self, x: Cell, y: Cell) -> bool:
        return any(graph.adjacent(x, y) for graph in self.graphs)

    def hops(self, x: Cell, y: Cell) -> Hops:
        return min(graph.hops(x, y) for graph in self.graphs)

    @cached_property
    def _merged(self) -> dict[Hashable, Hashable] | None:
        """For each component of the first graph, one that stands for all that the others join with it."""
        if self.domain.size > MOST_VALUES:
            return None
        import networkx as nx

        joined: nx.Graph[Hashable] = nx.Graph()
        for cell in self.domain.cells():
            labels = [(number, graph.component(cell)) for number, graph in enumerate(self.graphs)]
            joined.add_edges_from((labels[0], label) for label in labels)
        return {label: number for number, part in enumerate(nx.connected_components(joined)) for label in part}

    def component(self, x: Cell) -> Hashable:
        return () if self._merged is None else self._merged[0, self.graphs[0].component(x)]

    @property
    def connected(self) -> bool:
        together = self._merged is not None and len(set(self._merged.values())) == 1
        return together or any(graph.connected for graph in self.graphs)

    def project(self, names: Sequence[str]) -> SecretGraph:
        return union([graph.project(names) for graph in self.graphs])

    def changing(self, name: str) -> SecretGraph:
        return union([graph.changing(name) for graph in self.graphs])

    def longest_move(self, costs: Sequence[Fraction | int]) -> Fraction:
        return max(graph.longest_move(costs) for graph in self.graphs)

    def covers(self, other: SecretGraph) -> bool:
        return super().covers(other) or any(graph.covers(other) for graph in self.graphs)

    def steepest(self, rows: Rows) -> Steepest | None:
        return steepest_of(graph.steepest(rows) for graph in self.graphs)

    def class_pairs(self, pieces: Pieces) -> ClassPairs:
        return by_any(((graph.class_pairs(pieces), 1) for graph in self.graphs), pieces.classes)

    def _canonical(self) -> Any:
        forms = (graph.canonical() for graph in self.graphs)
        return {"union": sorted(forms, key=lambda form: json.dumps(form, sort_keys=True))}

    def _words(self) -> Words:
        statements = [graph.words() for graph in self.graphs]
        names = " and ".join(map(quoted, self.domain.names))
        apart = f"{names}: values that no chain of secret pairs connects are not protected from each other."
        return Words(
            tuple(rule for words in statements for rule in words.protected),
            () if self.connected else (apart,),
            tuple(dict.fromkeys(sentence for words in statements for sentence in words.added)),
        )


_MOST_NAMED = 6


def by_value(domain: Domain, column: str, graphs: Sequence[SecretGraph]) -> SecretGraph:
    """Return the disjoint union of graphs on the other attributes, one for each position of a column.

    Where all are the same it is their product with a public column, which has a graph of its own.
    """
    numbers: dict[str, int] = {}
    different: list[SecretGraph] = []
    known: dict[int, int] = {}
    for graph in graphs:
        if id(graph) not in known:
            known[id(graph)] = numbers.setdefault(json.dumps(graph.canonical(), sort_keys=True), len(different))
            different += [graph] if known[id(graph)] == len(different) else []
    if not any(graph.has_edges for graph in different):
        return Public().on(domain)
    multiplied = _with_public(domain, column, different[0]) if len(different) == 1 else None
    return multiplied or ByValueGraph(domain, column, tuple(different), tuple(known[id(graph)] for graph in graphs))


def _with_public(domain: Domain, column: str, part: SecretGraph) -> SecretGraph | None:
    """Multiply a graph with a public column; None if no kind of graph is such a product."""
    if part.homogeneous and part.one_at_a_time:
        open_column = Public().on(domain.project([column]))
        return CartesianGraph(domain, tuple(open_column if name == column else part.project([name]) for name in domain))
    part = FullDomain().on(part.domain) if part.complete else part
    if isinstance(part, PartitionGraph):
        cut = {**dict(zip(part.domain, part.cuts, strict=True)), column: EqualBlocks(domain[column].size, 1)}
        return PartitionGraph(domain, tuple(cut[name] for name in domain))
    return None


@dataclass(frozen=True)
class ByValueGraph(_SeveralGraphs):
    """One graph on the other attributes for each value of a column, which no edge changes."""

    domain: Domain
    column: str
    graphs: tuple[SecretGraph, ...]
    """The different ones."""
    chosen: tuple[int, ...]
    """The number of the graph that each position of the column chooses."""

    @property
    def homogeneous(self) -> bool:
        return len(self.graphs) == 1 and self.graphs[0].homogeneous

    @property
    def transitive(self) -> bool:
        return all(part.transitive for part in self.graphs)

    @property
    def by_column(self) -> tuple[str, Sequence[SecretGraph]]:
        return self.column, [self.graphs[number] for number in self.chosen]

    @cached_property
    def enumerated(self) -> tuple[Edge, ...] | None:
        return None if any(part.enumerated is None for part in self.graphs) else tuple(self._all_edges())

    def _lifted(self, edge: Edge, number: int) -> Edge:
        return self._lift(edge, self.chosen.index(number))

    @cached_property
    def _axis(self) -> int:
        return self.domain.axis(self.column)

    def _part(self, position: int) -> SecretGraph:
        return self.graphs[self.chosen[position]]

    def _split(self, x: Cell) -> tuple[int, Cell]:
        return x[self._axis], (*x[: self._axis], *x[self._axis + 1 :])

    def _lift(self, edge: Edge, position: int) -> Edge:
        x, y = ((*end[: self._axis], position, *end[self._axis :]) for end in edge)
        return x, y

    def adjacent(self, x: Cell, y: Cell) -> bool:
        (a, first), (b, second) = self._split(x), self._split(y)
        return a == b and self._part(a).adjacent(first, second)

    def hops(self, x: Cell, y: Cell) -> Hops:
        (a, first), (b, second) = self._split(x), self._split(y)
        return self._part(a).hops(first, second) if a == b else inf

    def component(self, x: Cell) -> Hashable:
        position, rest = self._split(x)
        return position, self._part(position).component(rest)

    @property
    def connected(self) -> bool:
        return len(self.chosen) == 1 and self.graphs[0].connected

    def furthest(self) -> Edge:
        ends = [(part.hops(*(edge := _furthest(part))), number, edge) for number, part in enumerate(self.graphs)]
        _, number, edge = max(ends)
        return self._lifted(edge, number)

    def project(self, names: Sequence[str]) -> SecretGraph:
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
        projected = [part.project(others) for part in self.graphs]
        if len(others) == len(names):
            return union(projected)
        column = names[axes.index(self._axis)]
        view = self.domain.view(column)
        if view is None:
            return by_value(domain, column, [projected[number] for number in self.chosen])
        below = [frozenset(np.array(self.chosen)[view == value].tolist()) for value in range(domain[column].size)]
        any_of = {numbers: union([projected[number] for number in sorted(numbers)]) for numbers in {*below}}
        return by_value(domain, column, [any_of[numbers] for numbers in below])

    def changing(self, name: str) -> SecretGraph:
        if name == self.column:
            return Public().on(self.domain)
        kept = [part.changing(name) for part in self.graphs]
        return by_value(self.domain, self.column, [kept[number] for number in self.chosen])

    def longest_move(self, costs: Sequence[Fraction | int]) -> Fraction:
        others = [*costs[: self._axis], *costs[self._axis + 1 :]]
        return max(part.longest_move(others) for part in self.graphs)

    def covers(self, other: SecretGraph) -> bool:
        if super().covers(other) or not isinstance(other, ByValueGraph) or other.column != self.column:
            return super().covers(other)
        return all(self.graphs[a].covers(other.graphs[b]) for a, b in {*zip(self.chosen, other.chosen, strict=True)})

    def steepest(self, rows: Rows) -> Steepest | None:
        return steepest_of(self._steepest_in(number, rows) for number in range(len(self.graphs)))

    def _steepest_in(self, number: int, rows: Rows) -> Steepest | None:
        positions = [position for position, chosen in enumerate(self.chosen) if chosen == number]
        slices = np.moveaxis(rows, self._axis + 1, 1)[:, positions]
        best = self.graphs[number].steepest(slices.reshape(-1, *slices.shape[2:]))
        if best is None or best.edge is None:
            return best
        row, at = divmod(best.row, len(positions))
        return Steepest(best.rise, row, self._lift(best.edge, positions[at]))

    def class_pairs(self, pieces: Pieces) -> ClassPairs:
        others = [*pieces.groups[: self._axis], *pieces.groups[self._axis + 1 :]]
        joined: list[tuple[ClassPairs, int]] = []
        for number, group in enumerate(pieces.groups[self._axis]):
            inside = Pieces(others, np.take(pieces.labels, number, axis=self._axis), pieces.classes)
            for part, times in Counter(self.chosen[position] for position in group).items():
                joined.append((self.graphs[part].class_pairs(inside), times))
        return by_any(joined, pieces.classes)

    def edges(self) -> Iterator[Edge]:
        size = self.domain.size // len(self.chosen)
        if self.enumerated is None and len(self.chosen) * size * (size - 1) // 2 > MOST_PAIRS:
            raise PolicyError(f"a domain of {self.domain.size:,} values has too many pairs to list the secret ones.")
        return self._all_edges()

    def _all_edges(self) -> Iterator[Edge]:
        return (self._lift(edge, at) for at, number in enumerate(self.chosen) for edge in self.graphs[number].edges())

    def _canonical(self) -> Any:
        forms, attribute = [part.canonical() for part in self.graphs], self.domain[self.column]
        values = {repr(attribute.show(at)): forms[number] for at, number in enumerate(self.chosen)}
        return {"by": self.column, "values": values}

    def _words(self) -> Words:
        column = quoted(self.column)
        disclosed = (
            f"{column}: not protected at all. Releases may show exactly who has which, and with it who is protected "
            f"how: whatever {column} tells about a person is disclosed."
        )
        words = Words(unprotected=(disclosed,) if len(self.chosen) > 1 else ())
        return sum((part.words().about(self._people(number)) for number, part in enumerate(self.graphs)), words)

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


_EXAMPLE = "{by: consent, strict: full, open: public}"


class ByValue(Secrets):
    """Each value of a column has its own secrets: ``ByValue("consent", {"strict": FullDomain(), "open": Public()})``.

    Every value of the column must be named, and its secrets are those of the other attributes. No secret pair changes
    the column itself: who has which value of it may be shown exactly. So it must be declared before the data are seen,
    and must not depend on what is secret.
    """

    keyword = "by"
    file_form = Form(
        {"by": Annotated[str, Wanted("the name of an attribute", f"write {_EXAMPLE}.")]},
        example=_EXAMPLE,
        others=SECRETS_FORM,
        schema={"minProperties": 2},
    )

    def __init__(self, column: str, secrets: Mapping[Any, Secrets]) -> None:
        if not isinstance(column, str):
            raise PolicyError(f"the column that chooses the secrets is named by text, got {brief_name(column)}.")
        if not isinstance(secrets, Mapping) or not secrets:
            raise PolicyError(
                f"secrets must map the values of {column} to graphs, got {brief(secrets)}.",
                hint='ByValue("consent", {"strict": FullDomain(), "open": Public()}).',
            )
        self.column = column
        self.secrets: Mapping[Any, Secrets] = FrozenMapping(secrets)
        for value, choice in self.secrets.items():
            if not isinstance(choice, Secrets):
                raise PolicyError(f"the secrets of each value of {column} must be a graph, got {brief(choice)}.")
            if choice.size is not None:
                raise PolicyError(
                    f"the secrets of {column} {brief(value)} cannot be {choice.keyword}: that is about whole tables.",
                    hint="use it alone, or size: unknown beside other secrets.",
                )
            if _written(value) == "by":
                raise PolicyError(
                    f'{column} has a value called "by", which a policy file takes for the column\'s name.',
                    hint="give the value another name.",
                )

    def __repr__(self) -> str:
        shown = ", ".join(f"{value!r}: {brief(choice)}" for value, choice in self.secrets.items())
        return f"ByValue({self.column!r}, {{{shown}}})"

    def on(self, domain: Domain) -> SecretGraph:
        others, chosen = _others(self.column, domain), self._by_position(domain)
        bound: dict[int, SecretGraph] = {}
        for position, choice in sorted(chosen.items()):
            with located(f"{self.column} {domain[self.column].show(position)}"):
                bound[id(choice)] = bound.get(id(choice)) or choice.on(others)
        return by_value(domain, self.column, [bound[id(chosen[position])] for position in range(len(chosen))])

    def within(self, domain: Domain, box: Mapping[str, Subset]) -> Secrets:
        others, chosen, attribute = _others(self.column, domain), self._by_position(domain), domain[self.column]
        rest = {name: subset for name, subset in box.items() if name != self.column}
        kept = box.get(self.column, Subset.span(0, attribute.size))
        inside = {position: chosen[position if position in kept else kept.first] for position in chosen}
        return ByValue(self.column, {attribute.value(at): choice.within(others, rest) for at, choice in inside.items()})

    def _by_position(self, domain: Domain) -> dict[int, Secrets]:
        attribute = domain[self.column]
        chosen: dict[int, Secrets] = {}
        for value, choice in self.secrets.items():
            position = domain.position(self.column, value)
            if position in chosen:
                raise PolicyError(f"{self.column} {attribute.show(position)} has secrets twice.")
            chosen[position] = choice
        if len(chosen) < attribute.size:
            lacking = next(position for position in range(attribute.size) if position not in chosen)
            raise _lacking(PolicyError, self.column, attribute.show(lacking))
        return chosen

    def to_file(self) -> dict[str, Any]:
        return {"by": self.column, **{_written(value): choice.to_file() for value, choice in self.secrets.items()}}

    @classmethod
    def from_file(cls, body: Any, domain: Domain) -> ByValue:
        column = body["by"]
        if column not in domain:
            raise SpecError(f"unknown attribute {brief(column)}.", hint=nearest(column, domain))
        others, attribute = _others(column, domain), domain[column]
        # As many values as are needed, by the text that a key is.
        listed = (attribute.value(position) for position in range(min(attribute.size, len(body))))
        values = {_written(value): value for value in listed}
        if attribute.size >= len(body):
            raise _lacking(SpecError, column, next(value for value in values if value not in body))
        read: dict[str, Secrets] = {}
        chosen: dict[Any, Secrets] = {}
        for written, choice in body.items():
            if written != "by":
                same = json.dumps(choice, default=str)
                with located(f"{column} {written}"):
                    read[same] = read.get(same) or Secrets.read(choice, others)
                chosen[values.get(written, written)] = read[same]
        return cls(column, chosen)


def _others(column: str, domain: Domain) -> Domain:
    if column not in domain:
        raise PolicyError(f"secrets are chosen by an unknown attribute {brief(column)}.", hint=nearest(column, domain))
    others = [name for name in domain if name != column]
    if not others:
        raise PolicyError(f"there is no attribute besides {column} to keep secret.")
    return domain.project(others)


def _lacking(kind: type[BlowfishError], column: str, value: str) -> BlowfishError:
    return kind(
        f"the secrets have no entry for {column} {brief(value)}.",
        hint="name every value of the column; people without secrets are Public() ('public' in a file).",
    )


def _written(value: object) -> str:
    """Write a value as a key, which in JSON is text."""
    return str(value).lower() if isinstance(value, bool) else str(value)
