"""Which classes secret pairs join; under ``secret-moves`` records move between these only."""

from __future__ import annotations

from dataclasses import dataclass

from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.known_facts.classes.classes import Classes


@dataclass(frozen=True)
class JoinedClasses:
    """Pairs of classes that some secret pair joins."""

    pairs: tuple[tuple[int, int], ...]
    """Sorted, each with the smaller class first."""
    exact: bool
    """Whether every pair listed is really joined; no joined pair is ever missing."""
    ends: tuple[bool, ...]
    """For each class, whether secret pairs that leave it touch at least two of its values, or may do so.

    Values are those of the classes' domain: where records have further attributes, a class has more.
    """


def joined_classes(graph: SecretGraph, classes: Classes) -> JoinedClasses:
    """Find the pairs of classes that a graph joins; it must be on the domain of the classes."""
    joined = graph.class_pairs(classes.as_pieces)
    pairs = zip((joined.keys // classes.size).tolist(), (joined.keys % classes.size).tolist(), strict=True)
    return JoinedClasses(tuple(pairs), joined.exact, tuple(joined.ends.tolist()))
