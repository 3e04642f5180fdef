"""Which classes a secret pair joins, for ``secret-moves``: every record then moves along such a pair."""

from __future__ import annotations

from dataclasses import dataclass

from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.known_facts.classes.classes import Classes


@dataclass(frozen=True)
class Arcs:
    """The pairs of classes that secret pairs join."""

    pairs: tuple[tuple[int, int], ...]
    """In order, each with the smaller class first."""
    exact: bool
    """Whether each of these pairs is joined; every joined pair is here in any case."""
    ends: tuple[bool, ...]
    """For each class, whether secret pairs that leave it touch at least two of its values (or nobody knows).

    Values are those of the classes' domain: where records have further attributes, a class has more.
    """


def class_arcs(graph: SecretGraph, classes: Classes) -> Arcs:
    """Find the pairs of classes that the graph, already on the classes' domain, joins."""
    joined = graph.class_pairs(classes.as_pieces)
    pairs = zip((joined.keys // classes.size).tolist(), (joined.keys % classes.size).tolist(), strict=True)
    return Arcs(tuple(pairs), joined.exact, tuple(joined.ends.tolist()))
