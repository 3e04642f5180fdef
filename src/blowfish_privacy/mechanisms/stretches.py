"""Stretches of an attribute that no secret pair leaves: which of them a person is in is public."""

from __future__ import annotations

from collections.abc import Iterable

from blowfish_privacy.policies import SecretGraph
from blowfish_privacy.policies.blocks import EqualBlocks
from blowfish_privacy.policies.explicit import ExplicitEdges
from blowfish_privacy.policies.partition import PartitionGraph
from blowfish_privacy.policies.per_attribute import CartesianGraph

Equal = tuple[int, int, int]
"""The start of neighbouring stretches, the width of each, and how many there are."""

_MOST_RUNS = 128


def stretches(graph: SecretGraph, name: str) -> tuple[Equal, ...]:
    """Cut an attribute where no secret pair lies across; neighbours of equal width are written together.

    Blocks that are not ranges are joined until they are: no secret pair leaves the joined range either.
    """
    axis, size = graph.domain.axis(name), graph.domain[name].size
    if isinstance(graph, CartesianGraph):
        return stretches(graph.graphs[axis], name)
    if not graph.changes(name):
        return ((0, 1, size),)
    if isinstance(graph, PartitionGraph):
        cut = graph.cuts[axis]
        if isinstance(cut, EqualBlocks):
            whole, rest = divmod(cut.size, cut.width)
            return ((0, cut.width, whole), *([(cut.size - rest, rest, 1)] if rest else []))
        blocks = (cut.block(label) for label in range(cut.count))
        return _together(_joined(((block.first, block.last) for block in blocks), size))
    if isinstance(graph, ExplicitEdges):
        moves = ((min(x[axis], y[axis]), max(x[axis], y[axis])) for x, y in graph.pairs)
        return _together(_joined(moves, size))
    return ((0, size, 1),)


def _joined(ranges: Iterable[tuple[int, int]], size: int) -> list[Equal]:
    """Join overlapping ranges (ends included), and leave every position outside of them alone."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    filled: list[Equal] = []
    place = 0
    for low, high in [*found, (size, size)]:
        if low > place:
            filled.append((place, 1, low - place))
        if low < size:
            filled.append((low, high - low + 1, 1))
        place = high + 1
    return filled


def _together(ranges: list[Equal]) -> tuple[Equal, ...]:
    runs: list[Equal] = []
    for low, width, count in ranges:
        if runs and runs[-1][1] == width:
            runs[-1] = (runs[-1][0], width, runs[-1][2] + count)
        else:
            runs.append((low, width, count))
    if len(runs) <= _MOST_RUNS:
        return tuple(runs)
    # Too many for one expression: join neighbours, which no secret pair leaves either.
    ends = [start + width * count for start, width, count in runs]
    kept = ends[len(ends) // _MOST_RUNS :: len(ends) // _MOST_RUNS + 1]
    kept = kept if kept[-1] == ends[-1] else [*kept, ends[-1]]
    return tuple((low, high - low, 1) for low, high in zip([0, *kept[:-1]], kept, strict=True))
