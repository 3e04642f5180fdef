"""How much a query changes when records move together, and the largest such change that was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from blowfish_privacy.domain import Cell
from blowfish_privacy.graphs.graph import Edge
from blowfish_privacy.known_facts.classes.classes import Classes
from blowfish_privacy.queries.query import LinearForm

Moves: TypeAlias = tuple[Edge, ...]
"""Records that move together: from where and to where."""


@dataclass(frozen=True)
class LargestChange:
    """The largest change of a query between neighbouring tables, or a bound on it."""

    value: int
    """In units of the query."""
    exact: bool
    """Whether some neighbours attain it; otherwise no neighbours exceed it."""
    method: str
    """The theorem that it follows from, in words."""
    moves: Moves | None = None
    """Records that attain it, where they are known."""
    together: bool = True
    """Whether several records may have to move together."""


def project(form: LinearForm, classes: Classes, cell: Cell) -> Cell:
    """Return the part of a value that a query looks at."""
    return tuple(cell[classes.domain.axis(name)] for name in form.domain.names)


def change(form: LinearForm, classes: Classes, moves: Sequence[Edge]) -> int:
    """Return how much a query changes, in units, when records move together."""
    net: Counter[Cell] = Counter()
    for x, y in moves:
        net[project(form, classes, y)] += 1
        net[project(form, classes, x)] -= 1
    return form.net_change(net)
