"""Known facts as a query meets them: classes, secret pairs between them, and what the stated counts leave possible.

Attributes that neither the facts nor the query look at are left out: a move along them changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, Domain
from blowfish_privacy.errors import PolicyError
from blowfish_privacy.graphs.graph import Edge
from blowfish_privacy.known_facts.classes.classes import Classes, Ints, Row, classes_of, fact_names
from blowfish_privacy.known_facts.classes.crossing import Arc, Crossing, crossing
from blowfish_privacy.known_facts.classes.rank import Incidence
from blowfish_privacy.known_facts.facts.assumptions import Assumptions
from blowfish_privacy.queries.query import LinearForm
from blowfish_privacy.support.progress import task

Moves: TypeAlias = tuple[Edge, ...]
"""Records that move together: from where and to where."""


@dataclass(frozen=True)
class Found:
    """The largest change found, in units; whether it is attained; the records that attain it."""

    value: int
    exact: bool
    method: str
    moves: Moves | None = None
    together: bool = True
    """Whether several records may have to move together."""


@dataclass(frozen=True, eq=False)
class Setting:
    """The classes that matter, and the edges between them."""

    policy: Assumptions
    classes: Classes
    crossing: Crossing
    live: npt.NDArray[np.bool_]
    """The classes that the stated counts allow to hold a record."""
    counts: Ints
    """The number of records of each class, where it follows from the stated counts; -1 elsewhere."""

    @property
    def records(self) -> int | None:
        """The public number of records, where it is stated."""
        return self.policy.records

    @cached_property
    def incidence(self) -> Incidence:
        """The known counts of the live classes."""
        return self.classes.incidence.without(~self.live)

    @cached_property
    def labels(self) -> Ints:
        """The live classes."""
        return np.flatnonzero(self.live)

    @property
    def free(self) -> bool:
        """Whether no count is stated, so that any number of records may be in any class."""
        return all(row.count is None for row in self.classes.rows)

    @property
    def decided(self) -> bool:
        """Whether what is possible is known for certain: no count stated, or every class's count derived."""
        return self.free or bool((self.counts >= 0).all())

    @cached_property
    def arcs(self) -> tuple[Arc, ...]:
        """Edges between live classes: all where edges are listed, else samples."""
        return tuple(arc for arc in self.crossing.samples if self.live[arc.source] and self.live[arc.target])

    @cached_property
    def inner(self) -> tuple[Arc, ...] | None:
        """All edges inside live classes, where edges are listed."""
        if self.crossing.listed is None:
            return None
        return tuple(arc for arc in self.crossing.listed if arc.source == arc.target and self.live[arc.source])

    @cached_property
    def arc_ends(self) -> tuple[Ints, Ints]:
        """Where the edges between live classes start, and where they end."""
        return ends_of(self.arcs)

    @cached_property
    def inner_ends(self) -> tuple[Ints, Ints]:
        """Where the edges inside live classes start, and where they end."""
        return ends_of(self.inner or ())

    @property
    def crossed(self) -> bool:
        """Whether a secret pair may lead from class to class."""
        if self.records is not None and self.records < 2:
            return False
        return bool(self.arcs) if self.crossing.listed is not None else self.crossing.exists


def ends_of(arcs: Sequence[Arc]) -> tuple[Ints, Ints]:
    """Return where edges start and where they end, one value in each row."""
    return np.array([arc.x for arc in arcs], dtype=np.int64), np.array([arc.y for arc in arcs], dtype=np.int64)


@lru_cache(maxsize=64)
def setting(policy: Assumptions, names: tuple[str, ...]) -> Setting:
    """Look at a policy's known facts through a query of some attributes."""
    own = relevant_to(names, policy)
    with task("Working out what the known facts leave open"):
        classes = classes_of(own, policy.known)
        counts = _class_counts(classes.incidence, classes.rows, policy.records)
        if policy.records == 0:
            counts[:] = 0
        made = Setting(policy, classes, crossing(policy.graph.project(own.names), classes), counts != 0, counts)
        _ = made.incidence.nullity
    return made


def relevant(form: LinearForm, policy: Assumptions) -> Domain:
    """Return the domain of the attributes that a query or a known fact looks at."""
    return relevant_to(form.domain.names, policy)


def relevant_to(names: tuple[str, ...], policy: Assumptions) -> Domain:
    """Return the domain of some attributes and those that a known fact looks at."""
    kept = {*names, *fact_names(policy.known)}
    return policy.domain.project([name for name in policy.domain if name in kept])


def _class_counts(incidence: Incidence, rows: Sequence[Row], records: int | None) -> Ints:
    """Derive the number of records of each class from the stated counts, where they settle it; -1 where not."""
    counts = np.full(incidence.columns, -1, dtype=np.int64)
    stated = [(number + 1, row.count) for number, row in enumerate(rows) if row.count is not None]
    stated += [] if records is None else [(0, records)]
    if not stated:
        return counts
    matrix = incidence.matrix[[number for number, _ in stated]]
    totals = np.array([count for _, count in stated], dtype=np.int64)
    while True:
        unknown = counts < 0
        left = matrix @ unknown.astype(np.int64)
        rest = totals - matrix @ np.where(unknown, 0, counts)
        if (rest < 0).any() or (rest[left == 0] != 0).any():
            raise PolicyError(
                "known facts contradict each other: no table satisfies all of them together.",
                hint="check the counts in the policy.",
            )
        empty = (matrix[(rest == 0) & (left > 0)].sum(axis=0) > 0) & unknown
        single = np.flatnonzero(left == 1)
        if not empty.any() and not len(single):
            return counts
        counts[empty] = 0
        # A row with one unknown class names it: the numbers of its unknown classes add up to that one.
        counts[matrix[single] @ np.where(unknown, np.arange(len(unknown)), 0)] = rest[single]


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
