"""Which tables are measured, and how precisely each: the planner's numbers made whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from blowfish_privacy.graphs.graph import differing
from blowfish_privacy.mechanisms.tables.planning import Wanted, best_design
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries.tables_form import Block, TablesForm

_BITS, _DIGITS = 20, 7
"""The largest weight has so many bits; of each weight so many are kept, for few different scales."""


def chosen_blocks(asked: TablesForm, policy: Policy, objective: Any) -> tuple[Block, ...]:
    """Choose the tables to measure for a set of tables, and their weights: 0 for those that are exact.

    Tables of one weight stand together, so that their noise is drawn together.
    """
    edges, _ = policy.graph.project(asked.domain.names).broadest()
    wanted = Wanted(
        asked.domain.shape,
        tuple(tuple(sorted(block.axes)) for block in asked.blocks),
        objective,
        tuple(frozenset(differing(*edge)) for edge in edges),
        policy.size == "unknown",
    )
    design = best_design(wanted)
    blocks: list[Block] = []
    finite = [weight for weight in design.weights.tolist() if np.isfinite(weight)]
    for (axes, signs), weight in zip(design.measured, design.weights.tolist(), strict=True):
        order = (*(axis for axis in axes if axis not in signs), *signs)
        if not np.isfinite(weight):
            blocks.append(Block(order, tuple(signs), 0))
        elif (whole := _whole(weight / max(finite))) > 0:
            blocks.append(Block(order, tuple(signs), whole))
    return tuple(sorted(blocks, key=lambda block: -block.weight))


def _whole(share: float) -> int:
    """Round a share of the largest weight to a whole number with few digits."""
    number = round(share * 2**_BITS)
    drop = max(number.bit_length() - _DIGITS, 0)
    return round(number / 2**drop) * 2**drop
