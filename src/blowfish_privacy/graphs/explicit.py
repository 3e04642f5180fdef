"""Explicit secrets: the secret pairs are listed, or are the edges of a networkx graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Annotated, Any

from annotated_types import Len

from blowfish_privacy.domain import Bin, Cell, Domain, choice_to_file
from blowfish_privacy.errors import DomainError, PolicyError, brief, brief_kind
from blowfish_privacy.graphs.explicit_edges import graph_of
from blowfish_privacy.graphs.graph import (
    Edge,
    SecretGraph,
    Secrets,
)
from blowfish_privacy.support.file_forms import Form, Wanted
from blowfish_privacy.support.file_values import Value


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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExplicitGraph) and self.edges == other.edges

    def __hash__(self) -> int:
        return hash(repr(self.edges))

    def __repr__(self) -> str:
        return f"ExplicitGraph({list(self.edges)!r})"

    def on(self, domain: Domain) -> SecretGraph:
        """Bind to a domain, turning values into cells."""
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
        """Write ``{edges: [[..], ..]}``."""
        return {"edges": [[_plain(x), _plain(y)] for x, y in self.edges]}

    @classmethod
    def from_file(cls, body: Any, domain: Domain) -> ExplicitGraph:
        """Read ``{edges: [[..], ..]}``."""
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
