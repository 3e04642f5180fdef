"""Which tables may be chosen, by public information alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod

from blowfish_privacy.mechanisms.synthetic.model import Axes

MODEL_CELLS = 150_000
"""The most cells of a model's cliques."""
_MOST_WAYS = 3
_MOST_TABLES = 2_000
_MOST_PAIRS, _LARGEST_PAIR = 20_000, 1_000_000
_MOST_CELLS = 2**23
"""The most cells of all tables to choose from, which are counted at once."""


def pairs_for(shape: Sequence[int], workload: Sequence[Axes]) -> list[Axes]:
    """List all pairs that tables of the workload contain, as many as are counted in bounded memory."""
    found: set[Axes] = {axes for table in workload for axes in combinations(sorted(table), 2)}
    sizes = {axes: prod(shape[axis] for axis in axes) for axes in found}
    return _within(sizes, sorted(found, key=lambda axes: (sizes[axes], axes)), _MOST_PAIRS, _LARGEST_PAIR)


def candidates_for(shape: Sequence[int], workload: Sequence[Axes]) -> list[Axes]:
    """List the tables of two or three attributes that tables of the workload contain, the smallest first.

    As many as are counted in bounded memory: pairs come before triples, and small tables before large ones.
    """
    found = {
        axes
        for table in workload
        for ways in range(2, _MOST_WAYS + 1)
        for axes in combinations(sorted(table), min(ways, len(table)))
    }
    sizes = {axes: prod(shape[axis] for axis in axes) for axes in found if len(axes) > 1}
    ordered = sorted(sizes, key=lambda axes: (len(axes), sizes[axes], axes))
    return _within(sizes, ordered, _MOST_TABLES, MODEL_CELLS)


def _within(sizes: Mapping[Axes, int], ordered: Sequence[Axes], most: int, largest: int) -> list[Axes]:
    """Take tables as long as they are few, and their cells."""
    listed: list[Axes] = []
    cells = 0
    for axes in ordered:
        if sizes[axes] <= largest and cells + sizes[axes] <= _MOST_CELLS and len(listed) < most:
            listed.append(axes)
            cells += sizes[axes]
    return listed
