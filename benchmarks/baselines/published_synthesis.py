"""AIM and MST [mckenna2022, mckenna2021], straightforward versions for records of which one may be *changed*.

Changing a record moves two cells of a table by one: a table with Gaussian noise of deviation sigma loses 1 / sigma^2 in
rho, twice as much as where records come or go, and scores have twice the sensitivity. Both end with a model that is
fitted by our junction tree, so that a comparison with ours shows the choice of tables alone. The noise is numpy's: good
for measuring errors, not for a release. They are not part of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from math import pi, prod, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

Axes = tuple[int, ...]
Floats = npt.NDArray[np.float64]
Fit = Callable[[list[tuple[Axes, Floats, float]]], Any]
"""Makes a model of (axes, noisy table, variance): something with ``table(axes)``."""
MOST_TABLE_CELLS = 10_000
"""Larger tables are no candidates, as in the published program."""
MOST_MODEL_CELLS = 500_000


@dataclass
class Curator:
    """Answers with noise and counts what that costs."""

    records: npt.NDArray[np.int64]
    shape: tuple[int, ...]
    generator: np.random.Generator
    spent: float = 0.0
    measured: list[tuple[Axes, Floats, float]] = field(default_factory=list)
    counted: dict[Axes, Floats] = field(default_factory=dict)

    def table(self, axes: Axes) -> Floats:
        """Count the records in every cell, once."""
        if axes not in self.counted:
            sizes = [self.shape[axis] for axis in axes]
            cells = np.ravel_multi_index([self.records[:, axis] for axis in axes], sizes)
            self.counted[axes] = np.bincount(cells, minlength=prod(sizes)).reshape(sizes).astype(np.float64)
        return self.counted[axes]

    def measure(self, axes: Axes, sigma: float) -> None:
        """Keep a table with noise."""
        self.spent += 1 / sigma**2
        table = self.table(axes)
        noisy = np.rint(table + self.generator.normal(0, sigma, table.shape))
        self.measured.append((axes, noisy, sigma**2))

    def choose(self, scores: Floats, sensitivity: float, epsilon: float) -> int:
        """Draw by the exponential mechanism, of range ``epsilon``."""
        self.spent += epsilon**2 / 8
        likely = np.exp(epsilon / (2 * sensitivity) * (scores - scores.max()))
        return int(self.generator.choice(len(scores), p=likely / likely.sum()))


def mst(curator: Curator, rho: float, fit: Fit) -> Any:
    """Measure each attribute, choose a spanning tree of pairs, measure its pairs: a third of rho for each."""
    attributes = len(curator.shape)
    for axis in range(attributes):
        curator.measure((axis,), sqrt(3 * attributes / rho))
    model = fit(curator.measured)
    scores = {
        pair: np.abs(curator.table(pair) - model.table(pair)).sum() for pair in combinations(range(attributes), 2)
    }
    epsilon = sqrt(8 * rho / 3 / (attributes - 1))
    parts = list(range(attributes))
    for _ in range(attributes - 1):
        open_pairs = [pair for pair in scores if parts[pair[0]] != parts[pair[1]]]
        chosen = open_pairs[curator.choose(np.array([scores[pair] for pair in open_pairs]), 2.0, epsilon)]
        merged, gone = (parts[axis] for axis in chosen)
        parts = [merged if part == gone else part for part in parts]
        curator.measure(chosen, sqrt(3 * (attributes - 1) / rho))
    return fit(curator.measured)


def aim(curator: Curator, rho: float, fit: Fit, *, ways: int = 3, rounds_each: int = 16) -> Any:
    """Measure the table that the model gets most wrong, again and again, with ever less noise.

    Published with 16 rounds for each attribute to begin with; where little may be spent, fewer are better.
    """
    attributes = len(curator.shape)
    weights = candidates(curator.shape, ways)
    rounds = rounds_each * attributes
    sigma, epsilon = sqrt(rounds / (0.9 * rho)), sqrt(0.8 * rho / rounds)
    for axis in range(attributes):
        curator.measure((axis,), sigma)
    model, left = fit(curator.measured), True
    while left:
        rest = rho - curator.spent
        if rest < 2 * (1 / sigma**2 + epsilon**2 / 8):
            sigma, epsilon, left = 1 / sqrt(0.9 * rest), sqrt(0.8 * rest), False
        room = MOST_MODEL_CELLS * min(1.0, (curator.spent + 1 / sigma**2 + epsilon**2 / 8) / rho)
        chosen = worst_approximated(curator, model, weights, room, sigma, epsilon)
        before = model.table(chosen)
        curator.measure(chosen, sigma)
        model = fit(curator.measured)
        if np.abs(model.table(chosen) - before).sum() <= sqrt(2 / pi) * sigma * before.size:
            sigma, epsilon = sigma / 2, epsilon * 2
    return model


def worst_approximated(
    curator: Curator, model: Any, weights: dict[Axes, int], room: float, sigma: float, epsilon: float
) -> Axes:
    """Choose a table that is far from the model, beyond what its noise would be, and leaves the model small enough."""
    held = [axes for axes, _, _ in curator.measured]
    inside = {axes for axes in weights if any(set(axes) <= set(other) for other in held)}
    fitting = [axes for axes in weights if axes in inside or tree_cells(curator.shape, [*held, axes]) <= room]
    scores = [
        weights[axes]
        * (np.abs(curator.table(axes) - model.table(axes)).sum() - sqrt(2 / pi) * sigma * curator.table(axes).size)
        for axes in fitting
    ]
    return fitting[curator.choose(np.array(scores), 2.0 * max(weights[axes] for axes in fitting), epsilon)]


def candidates(shape: Sequence[int], ways: int) -> dict[Axes, int]:
    """Weigh every table inside a table that is asked for by how many attributes it shares with all of those."""
    workload = list(combinations(range(len(shape)), ways))
    listed = chain.from_iterable(combinations(range(len(shape)), size) for size in range(1, ways + 1))
    return {
        axes: sum(len(set(axes) & set(wanted)) for wanted in workload)
        for axes in listed
        if prod(shape[axis] for axis in axes) <= MOST_TABLE_CELLS
    }


def tree_cells(shape: Sequence[int], tables: Iterable[Axes]) -> int:
    """Return how many cells a junction tree of these tables has, by eliminating the attribute of least cost first."""
    near: dict[int, set[int]] = {axis: {axis} for axis in range(len(shape))}
    for axes in tables:
        for axis in axes:
            near[axis] |= set(axes)
    cells = 0
    while near:
        costs = {axis: prod(shape[other] for other in others) for axis, others in near.items()}
        gone = min(costs, key=lambda axis: costs[axis])
        around = near.pop(gone) - {gone}
        cells += costs[gone]
        for axis in around:
            near[axis] = (near[axis] | around) - {gone}
    return cells
