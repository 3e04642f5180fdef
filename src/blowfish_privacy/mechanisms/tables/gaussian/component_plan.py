"""Which components are measured, and how precisely each: the planner's numbers made whole."""

from __future__ import annotations

from functools import lru_cache
from math import inf, prod

from blowfish_privacy.graphs.graph import differing
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, MOST_SECRET_RECORDS
from blowfish_privacy.mechanisms.tables.design import alike
from blowfish_privacy.mechanisms.tables.gaussian.component_form import ComponentForm
from blowfish_privacy.mechanisms.tables.gaussian.range_plan import best_reading, read_along
from blowfish_privacy.mechanisms.tables.gaussian.rows_form import RowsForm
from blowfish_privacy.mechanisms.tables.planning.lattice import Along
from blowfish_privacy.mechanisms.tables.planning.planning import Wanted, best_design
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.sensitivity import Norm
from blowfish_privacy.queries.tables import Block, Objective, TablesForm
from blowfish_privacy.support.progress import task

_BITS, _DIGITS = 39, 26
"""The largest weight has so many bits; of each weight so many are kept."""
_FEW = 2**32
"""Rows are made for at least so many records."""


def chosen_components(
    asked: TablesForm, policy: Policy, objective: Objective, records: int | None
) -> tuple[ComponentForm, float | None]:
    """Choose the components to measure for a set of tables, and their weights: 0 for tables that are exact.

    Beside them the squared error that no linear strategy with Gaussian noise is below, at squares of 1, if known.
    """
    graph = policy.graph.project(asked.domain.names)
    edges, _ = graph.broadest()
    tables = tuple(tuple(sorted(block.axes)) for block in asked.blocks)
    changed = tuple(frozenset(differing(x, y)) for x, y in edges)
    known = (asked.shape, tables, objective, changed, policy.size == "unknown")
    several = sorted(axis for axis in asked.ranges if asked.shape[axis] > 1)
    if several:
        moves = {axis: graph.largest_move(asked.domain.names[axis]) for axis in several}
        most = MOST_SECRET_RECORDS if policy.size == "unknown" else max(records or 0, _FEW)
        rows = best_reading(Wanted(*known), moves, (LARGEST_ANSWER // most).bit_length() - 1)
        blocks, _ = _design(*known, read_along(rows, moves))
        return RowsForm(asked.domain, blocks, rows=rows), None
    blocks, bound = _design(*known)
    return ComponentForm(asked.domain, blocks), bound if alike(graph) and not policy.known else None


@lru_cache(maxsize=8)
def _design(
    sizes: tuple[int, ...],
    tables: tuple[tuple[int, ...], ...],
    objective: Objective,
    changed: tuple[frozenset[int], ...],
    presence: bool,  # noqa: FBT001
    read: tuple[tuple[int, Along], ...] = (),
) -> tuple[tuple[Block, ...], float]:
    """Plan once: another rho has the same components and weights."""
    with task("Planning the tables"):
        design = best_design(Wanted(sizes, tables, objective, changed, presence, read), Norm.L2)
    weights: list[float] = design.weights.tolist()
    largest = max((weight for weight in weights if weight < inf), default=1.0)
    whole = {weight: max(_whole(weight / largest), 1) if weight < inf else 0 for weight in {*weights}}
    blocks = [
        # However little a component is worth, no other tells what it does.
        Block(axes, (), whole[weight])
        for (axes, _), weight in zip(design.measured, weights, strict=True)
    ]
    # Components of one weight stand together, so that their noise is drawn together.
    blocks.sort(key=lambda block: (-block.weight, prod([sizes[axis] for axis in block.axes])))
    # Attributes of one value tell nothing; of nothing else, only how many records there are.
    return tuple(blocks) or (Block((), (), 0),), design.bound


def _whole(share: float) -> int:
    """Round a share of the largest weight downwards to a whole number with few digits."""
    number = int(share * 2**_BITS)
    drop = max(number.bit_length() - _DIGITS, 0)
    return number >> drop << drop
