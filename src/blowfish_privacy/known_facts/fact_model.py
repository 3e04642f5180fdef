"""What known facts mean for a query: classes of values, secret pairs between them, and how many records each may hold.

This is the model in which the theorems look for the largest change. Attributes that neither the facts nor the query
look at are left out: a move along them changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import PolicyError, RefusalError
from blowfish_privacy.graphs.graph import Hops, differing
from blowfish_privacy.known_facts.classes import (
    Arc,
    Classes,
    Crossing,
    FactRow,
    Incidence,
    classes_of,
    crossing,
)
from blowfish_privacy.known_facts.facts import Assumptions, relevant_domain
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.progress import task


@dataclass(frozen=True, eq=False)
class FactModel:
    """The classes that known facts tell apart, the edges between them, and the counts that are still possible."""

    policy: Assumptions
    classes: Classes
    crossing: Crossing
    live: npt.NDArray[np.bool_]
    """The classes that the stated counts allow to hold a record."""
    counts: Integers
    """The number of records of each class; -1 where it does not follow from the stated counts."""

    @property
    def records(self) -> int | None:
        """The number of records, if it is stated or follows from the facts."""
        return self.policy.records

    @cached_property
    def incidence(self) -> Incidence:
        """The known counts, restricted to the live classes."""
        return self.classes.incidence.without(~self.live)

    @cached_property
    def live_classes(self) -> Integers:
        """The numbers of the live classes."""
        return np.flatnonzero(self.live)

    @property
    def free(self) -> bool:
        """Whether no count is stated, so that any number of records may be in any class."""
        return all(row.count is None for row in self.classes.rows)

    @property
    def decided(self) -> bool:
        """Whether it is certain which tables are possible: no count is stated, or every class's count follows."""
        return self.free or bool((self.counts >= 0).all())

    @cached_property
    def arcs(self) -> tuple[Arc, ...]:
        """Edges between live classes: all of them if edges are listed, otherwise samples."""
        return tuple(arc for arc in self.crossing.samples if self.live[arc.source] and self.live[arc.target])

    @cached_property
    def inner(self) -> tuple[Arc, ...] | None:
        """All edges inside live classes; None if edges are not listed."""
        if self.crossing.listed is None:
            return None
        return tuple(arc for arc in self.crossing.listed if arc.source == arc.target and self.live[arc.source])

    @cached_property
    def arc_ends(self) -> tuple[Integers, Integers]:
        """The cells at which the edges between live classes start and end, as two arrays."""
        return ends_of(self.arcs)

    @cached_property
    def inner_ends(self) -> tuple[Integers, Integers]:
        """The cells at which the edges inside live classes start and end, as two arrays."""
        return ends_of(self.inner or ())

    @property
    def crossed(self) -> bool:
        """Whether a secret pair may lead from class to class."""
        if self.records is not None and self.records < 2:
            return False
        return bool(self.arcs) if self.crossing.listed is not None else self.crossing.exists


def ends_of(arcs: Sequence[Arc]) -> tuple[Integers, Integers]:
    """Return the cells at which edges start and end, as two arrays with one row for each edge."""
    return np.array([arc.x for arc in arcs], dtype=np.int64), np.array([arc.y for arc in arcs], dtype=np.int64)


@lru_cache(maxsize=64)
def fact_model(policy: Assumptions, names: tuple[str, ...]) -> FactModel:
    """Work out what a policy's known facts mean for a query of some attributes."""
    domain = relevant_domain(policy, names)
    with task("Working out what the known facts leave open"):
        classes = classes_of(domain, policy.known)
        counts = _class_counts(classes.incidence, classes.rows, policy.records)
        if policy.records == 0:
            counts[:] = 0
        edges = crossing(policy.graph.project(domain.names), classes)
        model = FactModel(policy, classes, edges, counts != 0, counts)
        _ = model.incidence.nullity
    return model


def _class_counts(incidence: Incidence, rows: Sequence[FactRow], records: int | None) -> Integers:
    """Derive the number of records of each class from the stated counts; -1 where it does not follow."""
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
        # In a row with one unknown class, the sum of the labels of its unknown classes is the label of that class.
        counts[matrix[single] @ np.where(unknown, np.arange(len(unknown)), 0)] = rest[single]


# How many steps apart two values are when facts are known (docs/proofs/odds.md).
#
# Without known facts the odds between two values change by at most e^epsilon once for every step. With them a step may
# lead through a value that nobody can have, or force other records to move too, so steps are counted only where a proof
# says that they add up. Everywhere else, values that are not a secret pair are not protected from each other.


def steps(policy: Assumptions, x: Cell, y: Cell) -> Hops:
    """Count the steps between two values, as far as the promise is proved for them; ``math.inf`` if it is not."""
    hops = policy.graph.hops(x, y)
    model = _facts_alone(policy)
    if hops == 0 or model is None:
        return hops if hops <= 1 else inf
    axes = [policy.domain.axis(name) for name in model.classes.domain.names]
    ends = [model.classes.of(tuple(cell[axis] for axis in axes)) for cell in (x, y)]
    if not model.live[ends].all():
        return inf
    return hops if hops == 1 or _add_up(policy, model, ends) or _beside_the_facts(policy, model, x, y) else inf


def steps_add_up(policy: Assumptions) -> bool:
    """Say whether steps may be counted between all values that anybody can have."""
    if policy.graph.complete:
        # No two values are several steps apart.
        return True
    model = _facts_alone(policy)
    return model is not None and _add_up(policy, model, [])


def _add_up(policy: Assumptions, model: FactModel, ends: list[int]) -> bool:
    """Say whether steps add up between two non-empty classes or, if none are given, between any two."""
    if not model.crossing.exists:
        # A chain of secret pairs stays in one class: if one of its values is possible, all are.
        return True
    held = model.counts > 0
    held[ends] = True
    return bool(held.all()) and policy.compensation == "anywhere" and model.incidence.nullity == 0


@lru_cache(maxsize=64)
def _facts_alone(policy: Assumptions) -> FactModel | None:
    try:
        return fact_model(policy, ())
    except RefusalError:
        return None


def _beside_the_facts(policy: Assumptions, model: FactModel, x: Cell, y: Cell) -> bool:
    """Say whether a shortest chain changes no known count, since none depends on the attributes that differ."""
    if not policy.graph.homogeneous:
        return False
    names = policy.domain.names
    counted = tuple(names[axis] for axis in differing(x, y) if names[axis] in model.classes.domain.names)
    return not counted or model.crossing.unchanged(counted)
