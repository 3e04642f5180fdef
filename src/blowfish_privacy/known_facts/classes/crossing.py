"""Secret pairs that lead from one class to another.

If there are none, a single record can move along any secret pair without changing a known count, and the known facts
make no difference. Edges are listed where they are few. On large domains geometry decides: in a homogeneous
graph an edge along one attribute exists whatever the other attributes are, so an edge between two groups of an
attribute crosses classes wherever a fact tells the two groups apart, and some fact does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from blowfish_privacy.domain import Cell, Subset
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.known_facts.classes.classes import Classes

_MOST_PAIRS = 100_000


@dataclass(frozen=True)
class Arc:
    """A directed edge and the classes of its two ends."""

    x: Cell
    y: Cell
    source: int
    target: int


@dataclass(frozen=True, eq=False)
class Crossing:
    """The edges of a secret graph as seen from the classes."""

    classes: Classes
    graph: SecretGraph
    listed: tuple[Arc, ...] | None
    """Every edge in both directions, where they are few."""
    along: tuple[str, ...]
    """The attributes along which some edge crosses, or may do so where edges are neither listed nor homogeneous."""
    samples: tuple[Arc, ...]
    """Edges that cross: all of them if edges are listed, otherwise one for each attribute along which one was found."""

    @property
    def exists(self) -> bool:
        """Whether any edge leads from one class to another, or may do so."""
        return bool(self.along)

    def unchanged(self, names: tuple[str, ...]) -> bool:
        """Say whether no crossing edge changes these attributes."""
        if self.listed is not None:
            axes = [self.classes.domain.axis(name) for name in names]
            return all(arc.x[axis] == arc.y[axis] for arc in self.samples for axis in axes)
        return self.graph.homogeneous and self.graph.one_at_a_time and not set(names) & set(self.along)


def crossing(graph: SecretGraph, classes: Classes) -> Crossing:
    """Classify the edges of a graph on the domain of the classes."""
    size = classes.domain.size
    few = graph.enumerated is not None or size * (size - 1) // 2 <= _MOST_PAIRS
    if few:
        edges = [(x, y, classes.of(x), classes.of(y)) for x, y in graph.edges()]
        listed = tuple(Arc(*arc) for x, y, a, b in edges for arc in ((x, y, a, b), (y, x, b, a)))
        across = tuple(arc for arc in listed if arc.source != arc.target)
        moved = {axis for arc in across for axis in range(len(arc.x)) if arc.x[axis] != arc.y[axis]}
        along = tuple(name for axis, name in enumerate(classes.domain.names) if axis in moved)
        return Crossing(classes, graph, listed, along, across)
    samples = dict(_across(graph, classes))
    # Where the other attributes decide which edges there are, what was lifted may be none.
    sure = [arc for arc in samples.values() if graph.homogeneous or graph.adjacent(arc.x, arc.y)]
    both = [a for arc in sure for a in (arc, Arc(arc.y, arc.x, arc.target, arc.source))]
    return Crossing(classes, graph, None, tuple(samples), tuple(both))


def _across(graph: SecretGraph, classes: Classes) -> Iterator[tuple[str, Arc]]:
    for axis, name in enumerate(classes.domain.names):
        if len(classes.groups[axis]) > 1 and graph.changes(name):
            for group in classes.groups[axis]:
                pair = graph.joins(name, group, _rest(group, classes.domain[name].size))
                if pair is not None:
                    yield name, _lifted(classes, axis, pair)
                    break


def _rest(group: Subset, size: int) -> Subset:
    ends = [0, *(end for run in group.runs for end in run), size]
    return Subset(tuple((start, stop) for start, stop in zip(ends[::2], ends[1::2], strict=True) if start < stop))


def _lifted(classes: Classes, axis: int, pair: tuple[int, int]) -> Arc:
    """Choose the other attributes such that a fact distinguishes the two positions."""
    first, second = (classes.group_of(axis, position) for position in pair)
    one, other = (np.moveaxis(classes.labels, axis, 0)[number] for number in (first, second))
    indices = [int(number) for number in np.argwhere(one != other)[0]]
    rest = [group[number].first for group, number in zip(_others(classes.groups, axis), indices, strict=True)]
    x, y = ((*rest[:axis], position, *rest[axis:]) for position in pair)
    return Arc(x, y, int(one[tuple(indices)]), int(other[tuple(indices)]))


def _others(groups: tuple[tuple[Subset, ...], ...], axis: int) -> tuple[tuple[Subset, ...], ...]:
    return groups[:axis] + groups[axis + 1 :]
