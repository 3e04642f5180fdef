"""Which tables may be chosen, by public information alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod

from blowfish_privacy.mechanisms.synthetic.model import Axes

MODEL_CELLS = 150_000
"""The most cells of a model's cliques."""
_MOST_WAYS = 3
_MOST_TABLES = 2_000
_MOST_CELLS = 2**23
"""The most cells of all tables to choose from, which are counted at once."""


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
    listed: list[Axes] = []
    cells = 0
    for axes in sorted(sizes, key=lambda axes: (len(axes), sizes[axes], axes)):
        if sizes[axes] <= MODEL_CELLS and cells + sizes[axes] <= _MOST_CELLS and len(listed) < _MOST_TABLES:
            listed.append(axes)
            cells += sizes[axes]
    return listed
