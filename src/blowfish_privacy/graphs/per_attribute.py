"""A graph for each attribute: two values are a secret pair if they differ in one, along an edge of its graph.

Such a policy is the Cartesian product of the graphs. Steps along different attributes add up.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from blowfish_privacy.domain import Cell, Domain, Subset
from blowfish_privacy.errors import PolicyError, SpecError, brief, brief_name, located, nearest
from blowfish_privacy.graphs.class_pairs import ClassPairs, Pieces, across
from blowfish_privacy.graphs.graph import (
    SECRETS_FORM,
    Edge,
    FrozenMapping,
    Hops,
    Keyword,
    Rows,
    SecretGraph,
    Secrets,
    Steepest,
    Stretches,
    Words,
    along_axis,
    check_declared,
    differing,
    edge_along,
    steepest_of,
)
from blowfish_privacy.graphs.partition import FullDomain
from blowfish_privacy.support.file_forms import Bare, Form, Several


class PerAttribute(Secrets):
    """For each attribute, which of its values nobody may tell apart: ``PerAttribute(age=DistanceThreshold(5))``.

    Every attribute of the domain must be named; an attribute that needs no protection is ``Public()``.
    """

    keyword = "per_attribute"
    file_form = Form(
        {"per_attribute": Several(dict, SECRETS_FORM, "attributes", "{age: {threshold: 5}, sex: full}", least=1)},
        example="{per_attribute: {age: {threshold: 5}, sex: full}}",
    )

    def __init__(self, secrets: Mapping[str, Secrets] | None = None, /, **named: Secrets) -> None:
        if secrets is not None and not isinstance(secrets, Mapping):
            raise PolicyError(f"secrets must map attributes to graphs, got {brief(secrets)}.")
        self.secrets: Mapping[str, Secrets] = FrozenMapping({**(secrets or {}), **named})
        for name, choice in self.secrets.items():
            if not isinstance(name, str):
                raise PolicyError(f"secrets name attributes by text, got {brief_name(name)}.")
            if not isinstance(choice, Secrets):
                raise PolicyError(
                    f"the secrets of {name} must be a graph, got {brief(choice)}.",
                    hint="use FullDomain(), DistanceThreshold(5), ..",
                )
            if choice.size is not None:
                raise PolicyError(
                    f"the secrets of {name} cannot be {choice.keyword}: that is about whole records.",
                    hint="use it alone, or size: unknown beside other secrets.",
                )

    def __repr__(self) -> str:
        return f"PerAttribute({', '.join(f'{name}={brief(choice)}' for name, choice in self.secrets.items())})"

    def on(self, domain: Domain) -> SecretGraph:
        check_declared(self.secrets, domain, "secrets name")
        lacking = [name for name in domain.names if name not in self.secrets]
        if lacking:
            raise PolicyError(
                f"the secrets have no entry for {', '.join(lacking)}.",
                hint="name every attribute; one that needs no protection is Public() ('public' in a file).",
            )
        bound: list[SecretGraph] = []
        for name in domain.names:
            with located(name):
                bound.append(self.secrets[name].on(domain.project([name])))
        return _combine(domain, tuple(bound))

    def to_file(self) -> dict[str, Any]:
        return {"per_attribute": {name: choice.to_file() for name, choice in self.secrets.items()}}

    @classmethod
    def from_file(cls, body: Any, domain: Domain) -> PerAttribute:
        chosen: dict[str, Secrets] = {}
        for name, choice in body["per_attribute"].items():
            if name not in domain:
                raise SpecError(f"unknown attribute {brief_name(name)}.", hint=nearest(str(name), domain))
            with located(str(name)):
                chosen[name] = Secrets.read(choice, domain.project([name]))
        return cls(chosen)


@dataclass(frozen=True)
class Attributes(Keyword):
    """Nobody may tell apart two values that differ in one attribute [he2014, section 3.1, G^attr]."""

    keyword = "attributes"
    file_form = Bare("attributes")

    def on(self, domain: Domain) -> SecretGraph:
        return PerAttribute({name: FullDomain() for name in domain}).on(domain)


def _combine(domain: Domain, graphs: tuple[SecretGraph, ...]) -> SecretGraph:
    return graphs[0] if len(graphs) == 1 else CartesianGraph(domain, graphs)


@dataclass(frozen=True)
class CartesianGraph(SecretGraph):
    """The Cartesian product of one graph per attribute."""

    domain: Domain
    graphs: tuple[SecretGraph, ...]
    always_homogeneous = True

    @cached_property
    def one_at_a_time(self) -> bool:
        return True

    @property
    def has_edges(self) -> bool:
        return any(graph.has_edges for graph in self.graphs)

    def changing(self, name: str) -> SecretGraph:
        axis, public = self.domain.axis(name), Secrets.read("public", self.domain)
        kept = (graph if at == axis else public.on(graph.domain) for at, graph in enumerate(self.graphs))
        return CartesianGraph(self.domain, tuple(kept))

    def adjacent(self, x: Cell, y: Cell) -> bool:
        axes = differing(x, y)
        return len(axes) == 1 and self.graphs[axes[0]].adjacent((x[axes[0]],), (y[axes[0]],))

    def hops(self, x: Cell, y: Cell) -> Hops:
        return sum(graph.hops((a,), (b,)) for graph, a, b in zip(self.graphs, x, y, strict=True))

    def component(self, x: Cell) -> Hashable:
        return tuple(graph.component((a,)) for graph, a in zip(self.graphs, x, strict=True))

    @property
    def connected(self) -> bool:
        return all(graph.connected for graph in self.graphs)

    def project(self, names: Sequence[str]) -> SecretGraph:
        seen = ((name, self.graphs[axis]) for name, axis in zip(names, self.domain.axes(names), strict=True))
        graphs = (graph if name in self.domain else graph.project([name]) for name, graph in seen)
        return _combine(self.domain.project(names), tuple(graphs))

    def widest_edge(self, name: str) -> Edge | None:
        edge = self.graphs[self.domain.axis(name)].widest_edge(name)
        return None if edge is None else edge_along(self.domain, name, edge[0][0], edge[1][0])

    def joins(self, name: str, first: Subset, second: Subset) -> tuple[int, int] | None:
        return self.graphs[self.domain.axis(name)].joins(name, first, second)

    def stretches(self, name: str) -> tuple[Stretches, ...]:
        return self.graphs[self.domain.axis(name)].stretches(name)

    def covers(self, other: SecretGraph) -> bool:
        if super().covers(other) or not other.one_at_a_time:
            return super().covers(other)
        return all(graph.covers(other.project(graph.domain.names)) for graph in self.graphs)

    def edges(self) -> Iterator[Edge]:
        super().edges()
        return self._all_edges()

    def _all_edges(self) -> Iterator[Edge]:
        for axis, graph in enumerate(self.graphs):
            shapes = self.domain.shape[:axis], self.domain.shape[axis + 1 :]
            others = [*product(*([*product(*map(range, shape))] for shape in shapes))]
            for x, y in graph.edges():
                yield from (((*left, *x, *right), (*left, *y, *right)) for left, right in others)

    def steepest(self, rows: Rows) -> Steepest | None:
        return steepest_of(along_axis(rows, axis, graph.steepest) for axis, graph in enumerate(self.graphs))

    def class_pairs(self, pieces: Pieces) -> ClassPairs:
        return across([graph.class_pairs_along(axis, pieces) for axis, graph in enumerate(self.graphs)], pieces)

    def _canonical(self) -> Any:
        forms = {name: graph.canonical() for name, graph in zip(self.domain.names, self.graphs, strict=True)}
        return {"per_attribute": forms} if self.has_edges else "public"

    def _words(self) -> Words:
        several = sum(self.changes(name) for name in self.domain) > 1
        added = "Values that differ in several attributes are as many steps apart as those attributes add up to."
        return sum((graph.words() for graph in self.graphs), Words(added=(added,) if several else ()))
