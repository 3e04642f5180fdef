"""Which tables are measured, and how precisely each: the planner's numbers made whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import inf, sqrt

import numpy as np

from blowfish_privacy.domain import AT
from blowfish_privacy.graphs.graph import SecretGraph, differing
from blowfish_privacy.known_facts.facts import crosses
from blowfish_privacy.mechanisms.tables.nesting import Axes, nesting
from blowfish_privacy.mechanisms.tables.planning.planning import Wanted, best_design
from blowfish_privacy.mechanisms.tables.ranges.rebalancing import rebalanced
from blowfish_privacy.mechanisms.tables.ranges.strategies import with_rows
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries.tables import Block, Objective, TablesForm, View
from blowfish_privacy.support.progress import task

_MOST_VALUES = 100_000
_MANY = 1_000
_BITS, _DIGITS = 20, 7
"""The largest weight has so many bits; of each weight so many are kept, for few different scales."""


def chosen_blocks(asked: TablesForm, policy: Policy, objective: Objective) -> tuple[tuple[Block, ...], float | None]:
    """Choose the tables to measure for a set of tables, and their weights: 0 for those that are exact.

    Beside them, the ratio of their typical error to one that no unbiased plan with Laplace noise is below, if known.
    """
    graph = policy.graph.project(asked.domain.names)
    edges, _ = asked.broadest(graph)
    tables = tuple(tuple(sorted(block.axes)) for block in asked.blocks)
    changed = tuple(frozenset(differing(asked.seen(x), asked.seen(y))) for x, y in edges)
    if crosses(policy):
        # Records that must move along may change anything.
        changed = (frozenset(range(len(asked.shape))),)
    blocks, ratio = _design(asked.shape, tables, objective, changed, policy.size == "unknown")
    if asked.views:
        measured = _on_one_level(asked, blocks)
        free = [] if policy.size == "unknown" else _public(asked, frozenset[int]().union(*changed))
        blocks, ratio = (*measured, *(block for block in free if block not in measured)), None
    if asked.ranges:
        # Known facts make several records move together, others of theirs too.
        secret = frozenset(range(len(asked.shape))) if policy.known else frozenset[int]().union(*changed)
        found = list(with_rows(asked, graph, blocks, secret, counted=policy.size == "known"))
        form = asked.of(_whole_weights(found))
        tables = [block.axes for block in asked.blocks]
        times = rebalanced(form, tables, graph, objective, counted=policy.size == "known")
        return _whole_weights([(block, block.weight * times.get(n, 1.0)) for n, block in enumerate(form.blocks)]), None
    if policy.size == "known" and not policy.known:
        blocks = _decimal(blocks, changed)
    return blocks, ratio if alike(graph) and not policy.known else None


def _decimal(blocks: tuple[Block, ...], changed: Sequence[frozenset[int]]) -> tuple[Block, ...]:
    """Let weights add up to a power of ten for the worst secret pair: then losses on all others are short decimals."""
    before = _met(blocks, changed)
    total = max(before, default=0)
    whole = 10**6 if len(blocks) < _MANY else 10**9
    if not total or any(0 < block.weight * whole < total for block in blocks):
        return blocks
    worst = changed[before.index(total)]
    made = [replace(block, weight=block.weight * whole // total) for block in blocks]
    first = next(number for number, block in enumerate(made) if block.weight and not worst.isdisjoint(block.axes))
    # No pair loses more than the worst now, so none comes to lose more than the whole.
    made[first] = replace(made[first], weight=made[first].weight + whole - max(_met(made, changed)))
    return tuple(sorted(made, key=lambda block: -block.weight))


def _met(blocks: Sequence[Block], changed: Sequence[frozenset[int]]) -> list[int]:
    """Add up the weights of the tables that each set of attributes meets."""
    alone: dict[int, int] = {}
    for block in blocks:
        for axis in block.axes:
            alone[axis] = alone.get(axis, 0) + block.weight
    return [
        alone.get(next(iter(pair)), 0)
        if len(pair) == 1
        else sum(b.weight for b in blocks if not pair.isdisjoint(b.axes))
        for pair in changed
    ]


def _whole_weights(found: Sequence[tuple[Block, float]]) -> tuple[Block, ...]:
    """Make weights whole numbers, none that has noise 0, and put exact tables last."""
    largest = max((weight for _, weight in found), default=0.0) or 1.0
    found = sorted(found, key=lambda each: not each[1])
    return tuple(replace(b, weight=max(_whole(weight / largest), 1) if weight else 0) for b, weight in found)


def with_blocks(asked: TablesForm, policy: Policy) -> TablesForm:
    """Look also at which block of an attribute a value is in, where no secret pair leaves its block."""
    views = list(asked.views)
    for axis, name in enumerate(asked.domain.names):
        graph, size = policy.graph.project([name]), asked.domain.shape[axis]
        # Under known facts records may leave a block together, though no secret pair does.
        if policy.known or graph.connected or not graph.has_edges or size > _MOST_VALUES or axis in asked.ranges:
            continue
        labels = [graph.component((value,)) for value in range(size)]
        numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
        view = View(f"{name}{AT}", axis, np.array([numbers[label] for label in labels]), named=False)
        if _nested(view, [other for other in views if other.axis == axis]):
            views.append(view)
    return TablesForm(asked.domain, asked.blocks, tuple(views), asked.ranges)


def _nested(view: View, others: Sequence[View]) -> bool:
    """Say whether a view is another one than all others, and lies inside or around each of them."""
    for other in others:
        pairs = len(set(zip(view.positions.tolist(), other.positions.tolist(), strict=True)))
        if pairs != max(view.size, other.size) or view.size == other.size:
            return False
    return True


def _on_one_level(asked: TablesForm, blocks: Sequence[Block]) -> list[Block]:
    """Let every table look at an attribute on its finest level there: they were planned as if levels were attributes.

    Tables that are the same then are measured once, with the weight of both; signs, which tell of one level only, go.
    """
    levels = nesting(asked)
    weights: dict[tuple[Axes, Axes], int] = {}
    for block in blocks:
        coarser = {level for axis in block.axes for level in levels.chain(axis)[:-1]}
        kept = Block(tuple(axis for axis in block.axes if axis not in coarser), block.signs)
        kept = kept if asked.fits(kept) else Block(kept.axes)
        place = (kept.axes, kept.signs)
        # What is exact is so for every table that looks at no more.
        weights[place] = weights.get(place, 0) + block.weight
    made = [Block(axes, signs, weight) for (axes, signs), weight in weights.items()]
    return sorted(made, key=lambda block: -block.weight)


def _public(asked: TablesForm, changed: frozenset[int]) -> list[Block]:
    """List what the tables asked for have that no secret pair changes: each attribute on the finest level possible."""
    levels = nesting(asked)
    found: dict[frozenset[int], Block] = {}
    for table in asked.blocks:
        chains = ([level for level in levels.chain(axis) if level not in changed] for axis in table.axes)
        axes = tuple(chain[-1] for chain in chains if chain)
        if axes:
            found.setdefault(frozenset(axes), Block(tuple(sorted(axes)), (), 0))
    parts = {axes: {frozenset(part) for part in levels.parts(block.axes)} for axes, block in found.items()}
    return [block for axes, block in found.items() if not any(axes in parts[other] for other in found if other != axes)]


def alike(graph: SecretGraph) -> bool:
    """Say whether values that a secret pair may change are all secret pairs: the bound holds only then."""
    along = [graph.project([name]) for name in graph.domain]
    free = all(each.complete or not each.has_edges for each in along)
    return graph.complete or (free and graph.homogeneous and graph.one_at_a_time)


@lru_cache(maxsize=8)
def _design(
    sizes: tuple[int, ...],
    tables: tuple[tuple[int, ...], ...],
    objective: Objective,
    changed: tuple[frozenset[int], ...],
    presence: bool,  # noqa: FBT001
) -> tuple[tuple[Block, ...], float]:
    """Plan once: another epsilon has the same tables and weights."""
    with task("Planning the tables"):
        design = best_design(Wanted(sizes, tables, objective, changed, presence))
    weights: list[float] = design.weights.tolist()
    largest = max((weight for weight in weights if weight < inf), default=1.0)
    blocks: list[Block] = []
    for (axes, signs), weight in zip(design.measured, weights, strict=True):
        counted = tuple(axis for axis in axes if axis not in signs)
        # However little a table is worth, others may not tell what it does.
        whole = max(_whole(weight / largest), 1) if weight < inf else 0
        blocks.append(Block((*counted, *signs), signs, whole))
    # Tables of one weight stand together, so that their noise is drawn together.
    blocks.sort(key=lambda block: -block.weight)
    # Attributes of one value tell nothing; of nothing else, only how many records there are.
    return tuple(blocks) or (Block((), (), 0),), sqrt(design.objective / design.bound) if design.bound else 1.0


def _whole(share: float) -> int:
    """Round a share of the largest weight to a whole number with few digits."""
    number = round(share * 2**_BITS)
    drop = max(number.bit_length() - _DIGITS, 0)
    return round(number / 2**drop) * 2**drop
