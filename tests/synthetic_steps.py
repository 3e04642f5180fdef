"""A run of the rounds of synthetic records on one table, followed on a neighbour as if it had returned the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest

from blowfish_privacy.aggregates import TableAggregates
from blowfish_privacy.mechanisms import row_noise
from blowfish_privacy.mechanisms.synthetic import rounds
from blowfish_privacy.mechanisms.synthetic.rounds import Look, TableChoice
from blowfish_privacy.testing.oracle import ABSENT


@dataclass
class Selection:
    """One draw of a packing: what it was drawn from, and what came."""

    atoms: int
    candidates: list[tuple[int, int]]
    coefficient: Fraction
    drawn: list[int]


@dataclass
class Run:
    """Everything that was drawn from data, in its order."""

    numbers: np.ndarray
    steps: list[TableChoice | Look]
    exact: dict[tuple[int, ...], np.ndarray]
    selections: list[Selection] = field(default_factory=list)


def table_of(mechanism, cells: Sequence) -> np.ndarray:
    """Count the records of a database of whole cells, as the mechanism's attributes see them."""
    counts = np.zeros(mechanism.domain.shape, dtype=np.int64)
    policy_domain = mechanism.scope.policy.domain
    for cell in (cell for cell in cells if cell != ABSENT):
        counts[tuple(cell[policy_domain.axis(name)] for name in mechanism.domain.names)] += 1
    return counts


def run(mechanism, table, source) -> Run:
    """Run on a table, and note every choice."""
    selections: list[Selection] = []

    def noted(atoms, candidates, coefficient, given):
        drawn = _DRAW(atoms, candidates, coefficient, given)
        selections.append(Selection(atoms, list(candidates), coefficient, drawn))
        return drawn

    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(rounds, "draw_packing", noted)
        numbers = mechanism.draw(TableAggregates(mechanism.domain, table), source)
    return Run(numbers, mechanism.steps(numbers), exact_tables(mechanism, table), selections)


def follow(mechanism, table, source, first: Run) -> Run:
    """Run on another table, with the noise and the choices under which it returns the same as the first run."""
    exact, selections = exact_tables(mechanism, table), []
    looks = iter([step for step in first.steps if isinstance(step, Look) and step.scale])
    earlier = iter(first.selections)

    def needed(scale, size, source):
        look = next(looks)
        return (look.noisy - exact[look.axes]).reshape(-1)

    def forced(atoms, candidates, coefficient, given):
        drawn = next(earlier).drawn
        selections.append(Selection(atoms, list(candidates), coefficient, drawn))
        return drawn

    with pytest.MonkeyPatch.context() as patches, drawing(needed):
        patches.setattr(rounds, "draw_packing", forced)
        numbers = mechanism.draw(TableAggregates(mechanism.domain, table), source)
    return Run(numbers, mechanism.steps(numbers), exact, selections)


@contextmanager
def drawing(draw) -> Iterator[None]:
    """Let the noise on tables be drawn otherwise."""
    with pytest.MonkeyPatch.context() as patches:
        for sampler in ("discrete_laplace", "discrete_gaussian"):
            patches.setattr(row_noise, sampler, draw)
        yield


def exact_tables(mechanism, table) -> dict[tuple[int, ...], np.ndarray]:
    """The exact counts of all tables that may be asked for."""
    sets = [tuple(mechanism.domain.axis(name) for name in names) for names in mechanism.tables(mechanism.scope.query)]
    others = {axes: tuple(axis for axis in range(table.ndim) if axis not in axes) for axes in sets}
    return {axes: table.sum(axis=others[axes]) for axes in sets}


_DRAW = rounds.draw_packing
