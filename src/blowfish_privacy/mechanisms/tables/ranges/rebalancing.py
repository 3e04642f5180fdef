"""Weights for tables that read rows: planned as if all attributes were counted, then balanced for what is asked.

The planner knows neither what a random range is worth nor that a threshold makes rows cheaper. So the weights of its
tables are alternated once more as in :mod:`alternating`, each table with all its rows together, on the exact error of
ranges and the exact cost of every secret pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.graphs.graph import SecretGraph
from blowfish_privacy.mechanisms.tables.nesting import Axes, nesting
from blowfish_privacy.mechanisms.tables.ranges.range_components import RangeComponents
from blowfish_privacy.queries.tables import Block, Objective, TablesForm
from blowfish_privacy.support.arrays import Floats

_ROUNDS, _PATIENCE, _FILLING = 300, 30, 20
_MOST_TABLES = 300
"""Larger sets keep the weights of the planner."""
Places: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Balance:
    """What groups of tables tell and cost, if all have weight 1; weights multiply the precision of a group's rows."""

    groups: Places
    """For each share of a group in a component, the group."""
    components: Places
    """And the component."""
    precisions: Floats
    tables: Places
    """For each two shares of a group that are in one table, the table."""
    pairs: tuple[Places, Places]
    """And the two shares."""
    spreads: Floats
    """And the variance that they have in common."""
    costs: Floats
    """What each secret pair, in rows, loses in each group."""
    importance: Floats | None
    """How much each table counts; None if the worst does."""
    many: int
    """The number of tables."""

    def errors(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the variance of each pair of shares, and of each table."""
        told = self.precisions * weights[self.groups] ** 2
        share = told / np.bincount(self.components, told)[self.components]
        first, second = self.pairs
        noise = self.spreads * share[first] * share[second] / weights[self.groups[first]] ** 2
        return noise, np.asarray(np.bincount(self.tables, noise, minlength=self.many), dtype=np.float64)

    def best(self) -> Floats:
        """Alternate least squares, weights and prices, from equal weights."""
        weights = np.ones(self.costs.shape[1]) / self.costs.sum(axis=1).max()
        prices = np.ones(len(self.costs))
        shares = np.ones(self.many) if self.importance is None else self.importance
        found, least, since = weights, np.inf, 0
        for _ in range(_ROUNDS):
            noise, by_table = self.errors(weights)
            value = float(by_table.max() if self.importance is None else by_table @ self.importance)
            since = 0 if value < least * (1 - 1e-6) else since + 1
            if value < least:
                found, least = weights, value
            if since > _PATIENCE:
                break
            if self.importance is None:
                shares = np.maximum(shares * by_table / value, 1e-30)
                shares = shares / shares.sum()
            of = self.groups[self.pairs[0]]
            slopes = np.maximum(np.bincount(of, shares[self.tables] * noise, minlength=len(weights)), 1e-30)
            weights = np.cbrt(2 * weights**2 * slopes / (prices @ self.costs))
            losses = self.costs @ weights
            weights, prices = weights / losses.max(), np.maximum(prices * losses * losses.max() ** 3, 1e-200)
        return self._used_up(found)

    def _used_up(self, weights: Floats) -> Floats:
        """Raise weights where all secret pairs that pay for them may still lose more: other tables gain for free."""
        for _ in range(_FILLING):
            left = np.where(self.costs > 0, 1 / np.maximum(self.costs @ weights, 1e-200)[:, None], np.inf).min(axis=0)
            weights = weights * np.where(np.isfinite(left), left, 1.0)
        return weights


@dataclass(frozen=True)
class _Case:
    """All that the best weights depend on, to work them out once: another epsilon has the same."""

    blocks: tuple[Block, ...]
    tables: tuple[Axes, ...]
    shape: tuple[int, ...]
    levels: tuple[bytes, ...]
    objective: Objective
    counted: bool
    costs: tuple[tuple[int, ...], ...]
    """What each secret pair, in rows, loses in each block."""
    form: TablesForm = field(compare=False)


def rebalanced(
    form: TablesForm, tables: Sequence[Axes], graph: SecretGraph, objective: Objective, *, counted: bool
) -> Mapping[int, float]:
    """Return, for each measured table with noise, by which factor its weight is to change."""
    if len(tables) > _MOST_TABLES or not any(block.weight for block in form.blocks):
        return {}
    edges, _ = form.broadest(graph)
    costs = [tuple(form.most(block, *edge) for block in form.blocks) for edge in edges]
    if not counted:
        costs.append(tuple(form.factor(block) * block.heaviest(form.shape) for block in form.blocks))
    levels = tuple(view.positions.tobytes() for view in form.views)
    return _best(_Case(form.blocks, tuple(tables), form.shape, levels, objective, counted, tuple(costs), form))


@lru_cache(maxsize=8)
def _best(case: _Case) -> Mapping[int, float]:
    form = case.form
    variances = tuple(2 / form.factor(block) ** 2 if block.weight else 0.0 for block in case.blocks)
    components = RangeComponents.of(
        *(case.shape, case.blocks, variances, case.tables, form.ranges), counted=case.counted, nesting=nesting(form)
    )
    told = [(table, *each) for table, axes in enumerate(case.tables) for each in components.told(axes)]
    balance, noisy = _balance(components, case, told)
    if not balance.costs.size or not balance.costs.any(axis=0).all():
        return {}
    return {
        number: float(weight)
        for group, weight in zip(noisy, balance.best(), strict=True)
        for number in components.groups[group].numbers
    }


def _balance(
    components: RangeComponents,
    case: _Case,
    told: Sequence[tuple[int, int, dict[Axes, float], list[tuple[Axes, Axes, float]]]],
) -> tuple[Balance, list[int]]:
    """Work out what the groups with noise tell and cost, and list these."""
    shares: dict[tuple[int, Axes], int] = {}
    precisions: list[float] = []
    entries: list[tuple[int, int, int, float]] = []
    for table, number, precise, pairs in told:
        for component, precision in precise.items():
            if (number, component) not in shares:
                shares[number, component] = len(shares)
                precisions.append(precision)
        entries += [(table, shares[number, a], shares[number, b], value) for a, b, value in pairs]
    noisy = sorted({number for number, _ in shares})
    place = {number: at for at, number in enumerate(noisy)}
    known = {component: at for at, component in enumerate(dict.fromkeys(component for _, component in shares))}
    tables, first, second = (np.array([entry[at] for entry in entries], dtype=np.int64) for at in range(3))
    costs = [[sum(cost[n] for n in components.groups[group].numbers) for group in noisy] for cost in case.costs]
    balance = Balance(
        np.array([place[number] for number, _ in shares]),
        np.array([known[component] for _, component in shares]),
        np.array(precisions),
        tables,
        (first, second),
        np.array([value for *_, value in entries]),
        np.array(costs, dtype=np.float64),
        _importance(components, case.objective),
        len(case.tables),
    )
    return balance, noisy


def _importance(components: RangeComponents, objective: Objective) -> Floats | None:
    """Return how much each table counts: its weight, for each of its cells."""
    if objective == "worst":
        return None
    weights = np.array([1.0] * len(components.tables) if objective == "mean" else objective)
    cells = np.array([np.prod([components.shape[axis] for axis in axes]) for axes in components.tables])
    return weights * cells / cells.sum()
