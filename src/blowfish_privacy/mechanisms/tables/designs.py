"""What is measured for a set of tables, and how precisely: the planner's numbers made whole, for both laws of noise.

For Laplace noise tables are measured, some of them in rows along ordered attributes; for Gaussian noise components.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import floor, inf, log2, prod, sqrt

import numpy as np

from blowfish_privacy.domain import AT
from blowfish_privacy.graphs.graph import SecretGraph, differing
from blowfish_privacy.known_facts.facts import crosses
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, MOST_SECRET_RECORDS
from blowfish_privacy.mechanisms.ordered.level_choice import choose_levels
from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel, DifferenceLevel, Level
from blowfish_privacy.mechanisms.tables.gaussian_rows import AxisRows, ComponentForm, best_rows
from blowfish_privacy.mechanisms.tables.nesting import nesting
from blowfish_privacy.mechanisms.tables.planning import Design, WantedTables, alternated, best_design
from blowfish_privacy.mechanisms.tables.ranges import RangeComponents, counts_from, in_both
from blowfish_privacy.mechanisms.tables.shapes import Along, Axes
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.sensitivity import Norm
from blowfish_privacy.queries.tables import Block, Objective, TablesForm, View
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.progress import task

_ROUNDING = {Norm.L1: (20, 7, round), Norm.L2: (39, 26, floor)}
"""The largest weight has so many bits; of each weight so many are kept, for few different scales."""


def _wanted(workload: TablesForm, policy: Policy, objective: Objective) -> WantedTables:
    edges, _ = workload.broadest(policy.graph.project(workload.domain.names))
    tables = tuple(tuple(sorted(block.axes)) for block in workload.blocks)
    changed = tuple(frozenset(differing(workload.seen(x), workload.seen(y))) for x, y in edges)
    return WantedTables(workload.shape, tables, objective, changed, policy.size == "unknown")


@lru_cache(maxsize=16)
def _design(wanted: WantedTables, norm: Norm) -> tuple[tuple[Block, ...], Design]:
    """Plan once: another amount has the same blocks and weights."""
    with task("Planning the tables"):
        design = best_design(wanted, norm)
    weights: list[float] = design.weights.tolist()
    largest = max((weight for weight in weights if weight < inf), default=1.0)
    # However little a table or component is worth, no other may determine the same.
    whole = {weight: max(_whole(weight / largest, norm), 1) if weight < inf else 0 for weight in {*weights}}
    blocks: list[Block] = []
    for (axes, signs), weight in zip(design.measured, weights, strict=True):
        counted = tuple([axis for axis in axes if axis not in signs])
        blocks.append(Block((*counted, *signs), signs, whole[weight]))
    # What has one weight stands together, so that its noise is drawn together.
    if norm is Norm.L2:
        blocks.sort(key=lambda block: prod([wanted.sizes[axis] for axis in block.axes]))
    blocks.sort(key=lambda block: -block.weight)
    # Attributes of one value have no information; of nothing else, only how many records there are.
    return tuple(blocks) or (Block((), (), 0),), design


def _whole(share: float, norm: Norm) -> int:
    """Round a share of the largest weight to a whole number with few digits."""
    bits, digits, way = _ROUNDING[norm]
    number = way(share * 2**bits)
    drop = max(number.bit_length() - digits, 0)
    return way(number / 2**drop) * 2**drop


def _bounded(graph: SecretGraph, policy: Policy) -> bool:
    """Say whether values that a secret pair may change are all secret pairs: the planner's bound holds only then."""
    along = [graph.project([name]) for name in graph.domain]
    free = all(each.complete or not each.has_edges for each in along)
    return not policy.known and (graph.complete or (free and graph.homogeneous and graph.one_at_a_time))


# Tables for Laplace noise.

_MOST_VALUES = 100_000
_MANY = 1_000


def chosen_blocks(workload: TablesForm, policy: Policy, objective: Objective) -> tuple[tuple[Block, ...], float | None]:
    """Choose the tables to measure for a set of tables, and their weights: 0 for those that are exact.

    Beside them, the ratio of their typical error to one that no unbiased plan with Laplace noise is below, if known.
    """
    graph, wanted = policy.graph.project(workload.domain.names), _wanted(workload, policy, objective)
    counted = policy.size == "known"
    everything = frozenset(range(len(workload.shape)))
    if crosses(policy):
        # Records that must move along may change anything.
        wanted = replace(wanted, changed=(everything,))
    blocks, design = _design(wanted, Norm.L1)
    secret = frozenset[int]().union(*wanted.changed)
    if workload.views:
        measured = _on_one_level(workload, blocks)
        free = _public(workload, secret) if counted else []
        blocks = (*measured, *(block for block in free if block not in measured))
    if workload.ranges:
        # Known facts make several records move together, others of theirs too.
        found = list(with_rows(workload, graph, blocks, everything if policy.known else secret, counted=counted))
        form = workload.of(_whole_weights(found))
        tables = [block.axes for block in workload.blocks]
        times = rebalanced(form, tables, graph, objective, counted=counted)
        return _whole_weights([(block, block.weight * times.get(n, 1.0)) for n, block in enumerate(form.blocks)]), None
    if counted and not policy.known:
        blocks = _decimal(blocks, wanted.changed)
    if workload.views or not _bounded(graph, policy):
        return blocks, None
    return blocks, sqrt(design.objective / design.bound) if design.bound else 1.0


def _decimal(blocks: tuple[Block, ...], changed: Sequence[frozenset[int]]) -> tuple[Block, ...]:
    """Let weights add up to a power of ten for the worst secret pair: then losses on all others are short decimals."""
    before = _met(blocks, changed)
    total = max(before, default=0)
    whole = 10**6 if len(blocks) < _MANY else 10**9
    if not total or any(0 < block.weight * whole < total for block in blocks):
        return blocks
    worst = changed[before.index(total)]
    scaled = [replace(block, weight=block.weight * whole // total) for block in blocks]
    first = next(number for number, block in enumerate(scaled) if block.weight and not worst.isdisjoint(block.axes))
    # No pair loses more than the worst now, so none comes to lose more than the whole.
    scaled[first] = replace(scaled[first], weight=scaled[first].weight + whole - max(_met(scaled, changed)))
    return tuple(sorted(scaled, key=lambda block: -block.weight))


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
    return tuple(replace(b, weight=max(_whole(weight / largest, Norm.L1), 1) if weight else 0) for b, weight in found)


def with_blocks(workload: TablesForm, policy: Policy) -> TablesForm:
    """Look also at which block of an attribute a value is in, where no secret pair leaves its block."""
    views = list(workload.views)
    for axis, name in enumerate(workload.domain.names):
        graph, size = policy.graph.project([name]), workload.domain.shape[axis]
        # Under known facts records may leave a block together, though no secret pair does.
        if policy.known or graph.connected or not graph.has_edges or size > _MOST_VALUES or axis in workload.ranges:
            continue
        labels = [graph.component((value,)) for value in range(size)]
        numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
        view = View(f"{name}{AT}", axis, np.array([numbers[label] for label in labels]), named=False)
        if _nested(view, [other for other in views if other.axis == axis]):
            views.append(view)
    return TablesForm(workload.domain, workload.blocks, tuple(views), workload.ranges)


def _nested(view: View, others: Sequence[View]) -> bool:
    """Say whether a view is another one than all others, and lies inside or around each of them."""
    for other in others:
        pairs = len(set(zip(view.positions.tolist(), other.positions.tolist(), strict=True)))
        if pairs != max(view.size, other.size) or view.size == other.size:
            return False
    return True


def _on_one_level(workload: TablesForm, blocks: Sequence[Block]) -> list[Block]:
    """Let every table look at an attribute on its finest level there: they were planned as if levels were attributes.

    Tables that are the same then are measured once, with the weight of both; signs, which are of one level only, go.
    """
    levels = nesting(workload)
    weights: dict[tuple[Axes, Axes], int] = {}
    for block in blocks:
        coarser = {level for axis in block.axes for level in levels.chain(axis)[:-1]}
        kept = Block(tuple(axis for axis in block.axes if axis not in coarser), block.signs)
        kept = kept if workload.fits(kept) else Block(kept.axes)
        place = (kept.axes, kept.signs)
        # What is exact is so for every table that looks at no more.
        weights[place] = weights.get(place, 0) + block.weight
    joined = [Block(axes, signs, weight) for (axes, signs), weight in weights.items()]
    return sorted(joined, key=lambda block: -block.weight)


def _public(workload: TablesForm, changed: frozenset[int]) -> list[Block]:
    """List what the tables asked for have that no secret pair changes: each attribute on the finest level possible."""
    levels = nesting(workload)
    found: dict[frozenset[int], Block] = {}
    for table in workload.blocks:
        chains = ([level for level in levels.chain(axis) if level not in changed] for axis in table.axes)
        axes = tuple(chain[-1] for chain in chains if chain)
        if axes:
            found.setdefault(frozenset(axes), Block(tuple(sorted(axes)), (), 0))
    parts = {axes: {frozenset(part) for part in levels.parts(block.axes)} for axes, block in found.items()}
    return [block for axes, block in found.items() if not any(axes in parts[other] for other in found if other != axes)]


# Which rows are read along an attribute of which ranges are asked for, chosen from public numbers by expected error.
#
# Where all other attributes of its tables are public and the number of records is known, only moves along the attribute
# itself cost anything: the levels are those of the smooth hierarchy, sums up to a value among them where moves are
# short. Otherwise a record that changes another attribute changes all rows that it is in: hats, of which a record is in
# as much as in a single value, and never sums.

KINDS: dict[str, type[Level]] = {"hats": DifferenceLevel, "sums": CumulativeLevel}
"""The rows that may be read, by their names in documents."""
_COMPARED = 400
"""For attributes of so many values spacings are compared; beyond, a rule is as good."""
_EACH_VALUE = DifferenceLevel(1, Fraction(0))
Strategy = tuple[tuple[Level, float], ...]
"""Rows, and the weight of each if a plain table has weight 1; empty where values are counted as they are."""


def row_kind(level: object) -> str:
    """Name the rows that are read."""
    return next(name for name, kind in KINDS.items() if isinstance(level, kind))


@lru_cache(maxsize=64)
def beside_secrets(size: int) -> Strategy:
    """Choose rows of which a record is in as much as in a single value."""
    spacings = {max(2, round(factor * sqrt(size))) for factor in (1.1, 1.3, 1.5)} if size <= _COMPARED else set[int]()
    spacings = spacings or {round(1.3 * sqrt(size))}
    tried: list[Strategy] = [()]
    for spacing, share in product(sorted(spacings), (0.5, 0.55)):
        if spacing < size:
            tried.append(((_EACH_VALUE, share), (DifferenceLevel(spacing, Fraction(0)), 1 - share)))
    return min(tried, key=lambda strategy: _range_error(size, strategy))


def _range_error(size: int, strategy: Strategy) -> float:
    """Return the variance of a random range, for noise of variance 1 on rows of weight 1."""
    levels, shares = zip(*(strategy or ((_EACH_VALUE, 1.0),)), strict=True)
    readers = counts_from(size, levels, shares, False)  # noqa: FBT003
    return sum(
        (level.spacing / share) ** 2 * float(((in_both(size) @ reader) * reader).sum())
        for level, share, reader in zip(levels, shares, readers, strict=True)
    )


def with_rows(
    form: TablesForm, graph: SecretGraph, blocks: Sequence[Block], secret: frozenset[int], *, counted: bool
) -> Iterator[tuple[Block, float]]:
    """Let planned tables read rows along the axes asked for as ranges: every combination, each with its weight.

    ``secret`` are the axes that a secret pair may change. Exact tables that the rows need beside them are added.
    """
    noisy = [block for block in blocks if block.weight]
    strategies = {
        axis: _strategy(form, graph, axis, [{*block.axes} - {axis} for block in noisy if axis in block.axes], secret)
        if counted
        else beside_secrets(form.shape[axis])
        for axis in form.ranges
    }
    exact = {frozenset(block.axes) for block in blocks if not block.weight}
    for block in blocks:
        read = [axis for axis in block.counted if block.weight and strategies.get(axis)]
        for chosen in product(*(strategies[axis] for axis in read)):
            readings = tuple((axis, level) for axis, (level, _) in zip(read, chosen, strict=True))
            weight = block.weight * prod(share for _, share in chosen)
            yield Block(block.axes, block.signs, block.weight, readings), weight
        for axis in read:
            rest = frozenset(block.axes) - {axis}
            if rest and counted and rest.isdisjoint(secret) and not any(rest <= other for other in exact):
                exact.add(rest)
                yield Block(tuple(sorted(rest)), (), 0), 0.0


def _strategy(
    form: TablesForm, graph: SecretGraph, axis: int, others: Sequence[set[int]], secret: frozenset[int]
) -> Strategy:
    """Choose the rows of one axis, given the other axes of every table that has noise and this one."""
    if not all(secret.isdisjoint(rest) for rest in others):
        return beside_secrets(form.shape[axis])
    reach = graph.largest_move(form.domain.names[axis])
    levels = choose_levels(form.shape[axis], reach, Fraction(1), None) if reach else ()
    if [(row_kind(level), level.spacing) for level in levels] == [("hats", 1)]:
        return ()
    # A plain table changes by 2, and these levels by 1.
    return tuple((type(level)(level.spacing, Fraction(0)), float(2 * level.spacing / level.scale)) for level in levels)


# Weights for tables that read rows: planned as if all attributes were counted, then balanced for the workload.
#
# The planner knows neither what a random range is worth nor that a threshold makes rows cheaper. So the weights of its
# tables are alternated once more as they were planned, each table with all its rows together, on the exact error of
# ranges and the exact cost of every secret pair.

_ROUNDS, _FILLING = 300, 20
_MOST_TABLES = 300
"""Larger sets keep the weights of the planner."""


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
    shares: dict[tuple[int, Axes], int] = {}
    listed: list[float] = []
    entries: list[tuple[int, int, int, float]] = []
    for table, axes in enumerate(case.tables):
        for number, precise, pairs in components.contributions(axes):
            for component, precision in precise.items():
                if (number, component) not in shares:
                    shares[number, component] = len(shares)
                    listed.append(precision)
            entries += [(table, shares[number, a], shares[number, b], value) for a, b, value in pairs]
    noisy = sorted({number for number, _ in shares})
    costs = np.array(
        [[sum(cost[n] for n in components.groups[group].numbers) for group in noisy] for cost in case.costs], np.float64
    )
    if not costs.size or not costs.any(axis=0).all():
        return {}
    # The group and the component of each share and its precision there, if all weights are 1; for each two
    # shares that are in one table, that table, the two, and the variance that they have in common.
    group = np.array([noisy.index(number) for number, _ in shares])
    known = {component: at for at, component in enumerate(dict.fromkeys(component for _, component in shares))}
    of = np.array([known[component] for _, component in shares])
    tables, first, second = (np.array([entry[at] for entry in entries], dtype=np.int64) for at in range(3))
    precisions, spreads = np.array(listed), np.array([value for *_, value in entries])

    def errors(weights: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
        precise = precisions * weights[group] ** 2
        share = precise / np.bincount(of, precise)[of]
        noise = spreads * share[first] * share[second] / weights[group[first]] ** 2

        def slopes(shares: Floats) -> Floats:
            by_group = np.bincount(group[first], shares[tables] * noise, minlength=len(weights))
            return weights**2 * np.maximum(by_group, 1e-30)

        return np.bincount(tables, noise, minlength=len(case.tables)).astype(np.float64), slopes

    importance = np.ones(len(case.tables))
    if case.objective != "worst":
        counted = importance if case.objective == "mean" else np.array(case.objective)
        cells = np.array([np.prod([case.shape[axis] for axis in axes]) for axes in case.tables])
        importance = counted * cells / cells.sum()
    equal = np.ones(len(noisy)) / costs.sum(axis=1).max()
    worst = case.objective == "worst"
    found, _ = alternated(equal, costs, importance, errors, worst=worst, gain=1e-6, rounds=_ROUNDS)
    # Raise weights where all secret pairs that pay for them may still lose more: other tables gain for free.
    for _ in range(_FILLING):
        left = np.where(costs > 0, 1 / np.maximum(costs @ found, 1e-200)[:, None], np.inf).min(axis=0)
        found = found * np.where(np.isfinite(left), left, 1.0)
    return {
        number: weight
        for each, weight in zip(noisy, found.tolist(), strict=True)
        for number in components.groups[each].numbers
    }


# Components for Gaussian noise, and which rows are read along the attributes of which ranges are asked for.

_NORMS = (0.8, 0.4, 0.55, 1.1)
"""Squared norms of columns that are tried, in units of the largest squared change."""
_RANGE_BITS, _FEWEST = 16, 6
"""Numbers of rows have so many bits behind the point, where there is room for them."""
_FEW = 2**32
"""Rows are made for at least so many records."""


def chosen_components(
    workload: TablesForm, policy: Policy, objective: Objective, records: int | None
) -> tuple[ComponentForm, float | None]:
    """Choose the components to measure for a set of tables, and their weights: 0 for tables that are exact.

    Beside them the squared error that no linear strategy with Gaussian noise is below, at squares of 1, if known.
    """
    graph, wanted = policy.graph.project(workload.domain.names), _wanted(workload, policy, objective)
    several = sorted(axis for axis in workload.ranges if workload.shape[axis] > 1)
    if several:
        moves = {axis: graph.largest_move(workload.domain.names[axis]) for axis in several}
        most = MOST_SECRET_RECORDS if wanted.presence else max(records or 0, _FEW)
        rows = best_reading(wanted, moves, (LARGEST_ANSWER // most).bit_length() - 1)
        blocks, _ = _design(replace(wanted, read=_read_along(rows, moves)), Norm.L2)
        return ComponentForm(workload.domain, blocks, rows=rows), None
    blocks, design = _design(wanted, Norm.L2)
    return ComponentForm(workload.domain, blocks), design.bound if _bounded(graph, policy) else None


def best_reading(wanted: WantedTables, moves: Mapping[int, int], room: int) -> dict[int, AxisRows]:
    """Choose rows for each axis of which ranges are asked for: how long columns may be, beside how far they change.

    ``moves`` says how far a secret pair moves along each; rows of one record have at most ``room`` bits.
    """
    secret = frozenset[int]().union(*wanted.changed)
    bits = min(_bits(wanted, moves, table, room) for table in wanted.tables)
    if wanted.weights == "worst":
        # Nearly as good, and much faster: every table counts the same.
        cells = tuple(1.0 / prod(wanted.sizes[axis] for axis in table) for table in wanted.tables)
        wanted = replace(wanted, weights=cells)

    def reading(norms: Mapping[int, float | None]) -> dict[int, AxisRows]:
        return {axis: best_rows(wanted.sizes[axis], moves[axis], norm, bits) for axis, norm in norms.items()}

    def error(norms: Mapping[int, float | None]) -> float:
        return best_design(replace(wanted, read=_read_along(reading(norms), moves)), Norm.L2).objective

    norms: dict[int, float | None] = {}
    for axis in moves:
        beside = {other for table in wanted.tables if axis in table for other in table} - {axis}
        # Where a record moves along the axis only, its columns may be as long as they like.
        alone = moves[axis] and not wanted.presence and secret.isdisjoint(beside)
        norms[axis] = None if alone else _NORMS[0]
    for axis in [axis for axis, norm in norms.items() if norm is not None]:
        norms[axis] = min(_NORMS, key=lambda norm, axis=axis: error({**norms, axis: norm}))
    return reading(norms)


def _read_along(rows: Mapping[int, AxisRows], moves: Mapping[int, int]) -> tuple[tuple[int, Along], ...]:
    """Say what rows along some axes do to components, as the planner takes it."""
    found: list[tuple[int, Along]] = []
    for axis, each in rows.items():
        together, norm = in_both(each.size), float(each.norm)
        change = float(each.changed(moves[axis], Fraction(1), Fraction(1))[0]) if moves[axis] else 0.0
        inside, outside = float((together * each.covariance).sum()), float(together.sum()) / each.size**2
        found.append((axis, Along(inside, outside, norm, 1 - change / (2 * norm))))
    return tuple(found)


def _bits(wanted: WantedTables, moves: Mapping[int, int], table: tuple[int, ...], room: int) -> int:
    """Return how many bits there are for the rows of a table, along each axis with rows; one is for what is above 1."""
    read = [axis for axis in table if axis in moves]
    plain = sum(log2(wanted.sizes[axis]) for axis in table if axis not in moves)
    return max(min(_RANGE_BITS, floor((room - plain) / len(read)) - 1), _FEWEST) if read else _RANGE_BITS
