"""Noisy tables from which all tables asked for are estimated together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import inf, sqrt
from typing import Any, Self

import numpy as np

from blowfish_privacy.domain import AT, Cell
from blowfish_privacy.errors import PolicyError, QueryError, SpecError
from blowfish_privacy.graphs.graph import SecretGraph, differing
from blowfish_privacy.known_facts.facts import crosses
from blowfish_privacy.mechanisms.mechanism import NO_NOISE, check_secret_size
from blowfish_privacy.mechanisms.tables.components import Components, TablesError
from blowfish_privacy.mechanisms.tables.nesting import Axes, nesting, weighed
from blowfish_privacy.mechanisms.tables.planning import WantedTables, best_design
from blowfish_privacy.mechanisms.tables.ranges import RangeComponents, RangesError, rebalanced, with_rows
from blowfish_privacy.mechanisms.tables.tables_mechanism import (
    TablesMechanism,
    check_ranges,
    counting,
    noisy_pieces,
    read_blocks,
    written_blocks,
)
from blowfish_privacy.noise import BitSource, checked_scale, discrete_laplace, variance
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate, is_differential_privacy
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.sensitivity import sensitivity_by_class, sensitivity_of
from blowfish_privacy.queries import Query, Tables
from blowfish_privacy.queries.tables import MOST_CELLS, Block, Objective, TablesForm, View
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import about, exact, rounded, rounded_up
from blowfish_privacy.support.progress import task

# Which tables are measured, and how precisely each: the planner's numbers made whole.

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
        design = best_design(WantedTables(sizes, tables, objective, changed, presence))
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


# How tables are estimated from those measured, and how wrong that is: with ranges, or without.

_SMALLEST = 1e-60


def components_of(form: TablesForm, scales: tuple[Fraction, ...], asked: TablesForm, *, counted: bool) -> Components:
    """Say how precisely the components of the tables asked for are known from those measured."""
    # Noise of a tiny scale is almost always 0, but not exact.
    by_scale = {scale: max(variance(scale), _SMALLEST) if scale else 0.0 for scale in set(scales)}
    tables = tuple(block.axes for block in asked.blocks)
    variances = tuple(by_scale[scale] for scale in scales)
    levels = weighed(nesting(form), form.shape, form.blocks, variances)
    known = (form.shape, form.blocks, variances, tables)
    if asked.ranges:
        return RangeComponents.of(*known, asked.ranges, counted=counted, nesting=levels)
    return Components(*known, counted, levels)


def error_of(components: Components, scales: tuple[Fraction, ...], *, worst: bool) -> TablesError:
    """Give the error of a cell, or of a range where such are asked for."""
    if isinstance(components, RangeComponents):
        return RangesError(components, scales, worst)
    return TablesError(components, scales, worst)


def check_told(form: TablesForm, scales: tuple[Fraction, ...], asked: TablesForm, *, counted: bool) -> None:
    """Refuse a document whose rows do not tell the ranges that were asked for."""
    try:
        _ = components_of(form, scales, asked, counted=counted).spread
    except QueryError as error:
        raise SpecError(f"the document is damaged: {error.message}") from None


@dataclass(frozen=True, eq=False)
class Marginals(TablesMechanism[TablesForm]):
    """Adds discrete Laplace noise to the cells of some tables, each with a scale of its own.

    Privacy: (epsilon, P)-Blowfish, epsilon the largest sum over the tables of 2 / scale that a secret pair changes.
    Sensitivity: of all tables together, each weighted by how precisely it is measured, by the worst secret pair.
    Error: in closed form for every cell, every sum of cells and a random range, after least squares.
    Cost: time and memory linear in the cells of the measured tables; the product of all attributes is never built.
    Numerics: counts are whole numbers, noise is an exact integer; weights are whole numbers of one scale.
    Proof: docs/proofs/tables.md
    """

    form: TablesForm
    """The tables that get noise, each with its weight; those of weight 0 are exact."""
    scale: Fraction
    """A table of weight w gets noise of scale ``scale / w``."""
    asked: TablesForm
    worst: bool
    secret_size: bool = False
    ratio: float | None = None
    """How many times the error is that of a bound that no such plan is below, if it was just planned."""

    name = "marginals"

    def __post_init__(self) -> None:
        for scale in {*self.scales} - {0}:
            checked_scale(scale)

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        """The noise scale of each measured table; 0 where it is exact."""
        factors = [self.form.factor(block) for block in self.form.blocks]
        by_factor = {factor: self.scale / factor if factor else Fraction(0) for factor in {*factors}}
        return tuple(by_factor[factor] for factor in factors)

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        asked, objective = _asked(query, policy)
        blocks, ratio = chosen_blocks(asked, policy, objective)
        form = asked.of(blocks)
        sensitivity = sensitivity_of(form, policy)
        check_secret_size(policy, max((block.heaviest(form.shape) for block in blocks), default=1))
        scale = sensitivity.value / form.unit / epsilon
        made = cls(form, scale, asked, objective == "worst", policy.size == "unknown", ratio)
        if form.views:
            made.components.check()
        return made

    def certify(self, policy: Policy) -> Certificate:
        sensitivity = sensitivity_of(self.form, policy)
        exact = self.exact_blocks
        if sensitivity.value and not self.scale:
            raise PolicyError(NO_NOISE)
        if exact and sensitivity_of(self.form.of(counting(exact)), policy).value:
            raise PolicyError(NO_NOISE)
        changes = sensitivity_by_class(self.form, policy, sensitivity.value) if sensitivity.value else {}
        loss = Loss.of({pairs: change / self.form.unit / self.scale for pairs, change in changes.items()})
        return self.certified(policy, loss, sensitivity, *sorted({*self.scales} - {0}))

    def loss(self, x: Cell, y: Cell) -> Fraction:
        return self.form.net_change({x: 1, y: -1}) / self.scale if self.scale and x != y else Fraction(0)

    def presence(self, x: Cell) -> Fraction:
        return self.form.weight(x) / self.form.unit / self.scale if self.scale else Fraction(0)

    def noisy(self, tables: Iterable[Integers], source: BitSource) -> Iterator[Integers]:
        return noisy_pieces(discrete_laplace, self.scales, tables, source)

    def told(self) -> Components:
        return components_of(self.form, self.scales, self.asked, counted=not self.secret_size)

    def expected_error(self) -> TablesError:
        return error_of(self.components, self.scales, worst=self.worst)

    def promises(self, policy: Policy, full_domain: Fraction | None = None) -> list[str]:
        said: list[str] = []
        if full_domain is not None and not is_differential_privacy(policy):
            said.append(
                "The accuracy is that of a promise about secret pairs. Against somebody who doubts a person's whole "
                f"record, the same noise keeps epsilon {rounded_up(full_domain)} (full domain)."
            )
        if self.scale and self.ratio is not None:
            best = self.expected_error().rmse / self.ratio
            said.append(
                f"No unbiased estimate from Laplace noise at this epsilon has an error below {about(best)} (proved); "
                f"this plan has {about(self.ratio)} times that."
            )
        return said

    def words(self) -> str:
        held = zip(self.scales, self.form.blocks, strict=True)
        noisy = sorted({scale / block.spacing for scale, block in held if scale})
        exact = sum(not block.weight for block in self.form.blocks)
        scales = rounded(noisy[0]) if len(noisy) == 1 else f"{rounded(noisy[0])} to {rounded(noisy[-1])}"
        many = len(self.form.blocks) - exact
        read = sorted({self.form.title(axis) for block in self.form.blocks for axis in block.reading})
        rows = f", some of them sums over neighbouring values of {' and '.join(read)}," if read else ""
        said = f"The cells of {many:,} table{'s' if many > 1 else ''}{rows} get Laplace noise of scale {scales}"
        free = f", and {exact:,} without secrets get{'s' * (exact == 1)} none" if exact else ""
        return f"{said}{free}; all tables asked for are estimated from these together, and agree."

    def to_document(self) -> dict[str, Any]:
        return {"name": self.name, "scale": str(self.scale), "measured": written_blocks(self.form)}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        asked, objective = _asked(query, policy)
        scale = exact(written.get("scale"), "the noise scale", error=SpecError)
        if scale < 0:
            raise SpecError("the document is damaged: the noise scale is below 0.")
        form = asked.of(read_blocks(asked, written["measured"]))
        if max(form.sizes, default=0) > MOST_CELLS:
            raise SpecError("the document is damaged: a table that was measured is too large.")
        made = cls(form, scale, asked, objective == "worst", policy.size == "unknown")
        if asked.ranges:
            check_told(form, made.scales, asked, counted=not made.secret_size)
        return made


def _asked(query: Query, policy: Policy) -> tuple[TablesForm, Any]:
    if not isinstance(query, Tables):
        raise QueryError(f"marginals answers sets of tables, not {query.keyword}.", hint='Tables([["age", "sex"]]).')
    form = query.on(policy.domain)
    if form.ranges:
        check_ranges(form)
    return with_blocks(form, policy), query.objective
