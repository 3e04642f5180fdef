"""Stretches of an attribute that no secret pair leaves, few enough for one expression."""

from __future__ import annotations

from blowfish_privacy.graphs import SecretGraph

Equal = tuple[int, int, int]
"""The start of neighbouring stretches, the width of each, and how many there are."""

_MOST_RUNS = 128


def stretches(graph: SecretGraph, name: str) -> tuple[Equal, ...]:
    """Cut an attribute wherever no secret pair crosses; neighbours of equal width are written as one run."""
    runs: list[Equal] = []
    for each in graph.stretches(name):
        if runs and runs[-1][1] == each.width:
            runs[-1] = (runs[-1][0], each.width, runs[-1][2] + each.count)
        else:
            runs.append((each.start, each.width, each.count))
    if len(runs) <= _MOST_RUNS:
        return tuple(runs)
    # Too many for one expression: join neighbours, since no secret pair leaves the union either.
    ends = [start + width * count for start, width, count in runs]
    kept = ends[len(ends) // _MOST_RUNS :: len(ends) // _MOST_RUNS + 1]
    kept = kept if kept[-1] == ends[-1] else [*kept, ends[-1]]
    return tuple((low, high - low, 1) for low, high in zip([0, *kept[:-1]], kept, strict=True))
