"""Estimates from components that were measured one by one: each is told once, by its own rows."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import floor, inf, log2, prod, sqrt
from statistics import NormalDist
from typing import Any, Self

import numpy as np

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import PolicyError, QueryError, RefusalError, SpecError
from blowfish_privacy.graphs.graph import differing
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, MOST_SECRET_RECORDS, NO_NOISE, check_secret_size
from blowfish_privacy.mechanisms.tables import components
from blowfish_privacy.mechanisms.tables.components import Components, Precisions, TablesError, beside
from blowfish_privacy.mechanisms.tables.gaussian_rows import (
    AxisRows,
    ComponentForm,
    RowsForm,
    best_rows,
    component_squares,
    in_both,
)
from blowfish_privacy.mechanisms.tables.marginals import alike
from blowfish_privacy.mechanisms.tables.nesting import Axes
from blowfish_privacy.mechanisms.tables.planning import WantedTables, best_design
from blowfish_privacy.mechanisms.tables.shapes import Along
from blowfish_privacy.mechanisms.tables.tables_mechanism import (
    TablesMechanism,
    check_ranges,
    counting,
    noisy_pieces,
    read_blocks,
    written_blocks,
)
from blowfish_privacy.noise import BitSource, checked_variance, discrete_gaussian
from blowfish_privacy.noise.law import DISCRETE_GAUSSIAN
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.privacy.sensitivity import Norm, sensitivity_of, squared_by_class
from blowfish_privacy.queries import Query, Tables
from blowfish_privacy.queries.tables import MOST_CELLS, Block, Objective, TablesForm
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.exact import Number, exact, rounded
from blowfish_privacy.support.progress import task


class MeasuredComponents(Components):
    """Blocks of weight 0 are tables of exact counts, all others rows of one component, prod(k) times what they tell.

    Variances are those of a row, divided by prod(k)^2.
    """

    def _tells(self, number: int, wanted: Container[Axes]) -> Iterator[tuple[Axes, float]]:
        block, variance = self.blocks[number], self.variances[number]
        if not block.weight:
            yield from super()._tells(number, wanted)
        elif block.axes in wanted:
            yield block.axes, 1 / variance if variance else inf

    def _component(self, values: Floats, block: Block, component: Axes) -> Floats:
        times = prod(values.shape) if block.weight else 1
        return super()._component(values / times, block, component)

    def _numbered(self) -> list[Precisions]:
        held = list(zip(self.blocks, self.variances, strict=True))
        rows = [(block.axes, variance) for block, variance in held if block.weight]
        exact = [block for block in self.blocks if not block.weight]
        tables = components.told_by_tables(self.shape, exact, [0.0] * len(exact))
        return [components.told_alone(rows, self.shape), tables]


class NormalTablesError(TablesError):
    """The error of tables with Gaussian noise: a sum of very many draws, or of draws that are nearly normal."""

    def interval_of(self, axes: Axes, level: Number = "0.95") -> float:
        return normal_quantile(level) * self.standard_error(axes)


def normal_quantile(level: Number) -> float:
    """Return how many standard deviations a normal error is at most, with a probability."""
    share = exact(level, "the level", error=QueryError)
    if not 0 < share < 1:
        raise QueryError("the level must lie between 0 and 1.", hint="write it like 0.95.")
    return NormalDist().inv_cdf((1 + float(share)) / 2)


# Estimates and errors of tables whose components read rows along ordered attributes.


@dataclass(frozen=True, eq=False)
class RowsComponents(MeasuredComponents):
    """Along some axes rows were measured: what is told of the values is correlated there."""

    rows: Mapping[int, AxisRows] = field(default_factory=dict[int, AxisRows])

    def _component(self, values: Floats, block: Block, component: Axes) -> Floats:
        if not block.weight:
            return super()._component(values, block, component)
        for at, axis in enumerate(block.axes):
            if axis in self.rows:
                read = self.rows[axis]
                values = np.moveaxis(np.tensordot(read.reader / read.times, values, axes=(1, at)), 0, at)
            else:
                values = (values - values.mean(axis=at, keepdims=True)) / self.shape[axis]
        return values

    def _covariance(self, axis: int) -> Floats:
        """Return that of the values of an axis in a component of variance 1."""
        return self.rows[axis].covariance if axis in self.rows else np.eye(self.shape[axis]) - 1 / self.shape[axis]

    def _total(self, axes: Axes, inside: Callable[[int], Floats], outside: Callable[[int], Floats]) -> Floats:
        """Add up over the components of a table: along each axis one factor if the component has it, else another."""
        factors = [(beside(inside(axis), at, len(axes)), beside(outside(axis), at, len(axes)))
                   for at, axis in enumerate(axes)]  # fmt: skip
        total = np.zeros([1] * len(axes))
        for component in self.nesting.parts(axes):
            each = [first if axis in component else second for axis, (first, second) in zip(axes, factors, strict=True)]
            total = total + self.spread[component] * prod(each, start=np.ones([1] * len(axes)))
        return total

    def cell_variances(self, axes: Axes) -> Floats:
        shape = [self.shape[axis] for axis in axes]
        found = self._total(
            axes, lambda axis: np.diag(self._covariance(axis)), lambda axis: np.array([1 / self.shape[axis] ** 2])
        )
        return np.broadcast_to(found, shape).copy()

    def variance(self, axes: Axes, chosen: Sequence[Sequence[int]] | None = None) -> float:
        if chosen is None:
            return float(self.cell_variances(axes).max())
        picked = dict(zip(axes, (list(each) for each in chosen), strict=True))
        total = self._total(
            axes,
            lambda axis: np.array([self._covariance(axis)[np.ix_(picked[axis], picked[axis])].sum()]),
            lambda axis: np.array([(len(picked[axis]) / self.shape[axis]) ** 2]),
        )
        return max(float(total.sum()), 0.0)

    @cached_property
    def table_variances(self) -> tuple[float, ...]:
        return tuple(self._on_average(axes) for axes in self.tables)

    def _on_average(self, axes: Axes) -> float:
        def inside(axis: int) -> Floats:
            if axis not in self.rows:
                return np.array([1 - 1 / self.shape[axis]])
            return np.array([(in_both(self.shape[axis]) * self._covariance(axis)).sum()])

        def outside(axis: int) -> Floats:
            together = in_both(self.shape[axis]).sum() if axis in self.rows else 1.0
            return np.array([together / self.shape[axis] ** 2])

        return float(self._total(axes, inside, outside).sum())


class NormalRangesError(NormalTablesError):
    """The error of a random range in a cell of the other attributes; of a cell, where a table has no ranges."""

    @property
    def of(self) -> str:
        return super().of.replace("a cell", "a random range in a cell", 1)

    def interval(self, level: Number = "0.95") -> float:
        return normal_quantile(level) * sqrt(max(self.by_table))


# Which rows are read along the attributes of which ranges are asked for.

_NORMS = (0.8, 0.4, 0.55, 1.1)
"""Squared norms of columns that are tried, in units of the largest squared change."""
_RANGE_BITS, _FEWEST = 16, 6
"""Numbers of rows have so many bits behind the point, where there is room for them."""


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
        return best_design(replace(wanted, read=read_along(reading(norms), moves)), Norm.L2).objective

    norms: dict[int, float | None] = {}
    for axis in moves:
        beside = {other for table in wanted.tables if axis in table for other in table} - {axis}
        # Where a record moves along the axis only, its columns may be as long as they like.
        alone = moves[axis] and not wanted.presence and secret.isdisjoint(beside)
        norms[axis] = None if alone else _NORMS[0]
    for axis in [axis for axis, norm in norms.items() if norm is not None]:
        norms[axis] = min(_NORMS, key=lambda norm, axis=axis: error({**norms, axis: norm}))
    return reading(norms)


def read_along(rows: Mapping[int, AxisRows], moves: Mapping[int, int]) -> tuple[tuple[int, Along], ...]:
    """Say what rows along some axes do to components, as the planner takes it."""
    return tuple((axis, _along(each, moves[axis])) for axis, each in rows.items())


def _along(rows: AxisRows, move: int) -> Along:
    together, norm = in_both(rows.size), float(rows.norm)
    change = float(rows.changed(move, Fraction(1), Fraction(1))[0]) if move else 0.0
    inside, outside = float((together * rows.covariance).sum()), float(together.sum()) / rows.size**2
    return Along(inside, outside, norm, 1 - change / (2 * norm))


def _bits(wanted: WantedTables, moves: Mapping[int, int], table: tuple[int, ...], room: int) -> int:
    """Return how many bits there are for the rows of a table, along each axis with rows; one is for what is above 1."""
    read = [axis for axis in table if axis in moves]
    plain = sum(log2(wanted.sizes[axis]) for axis in table if axis not in moves)
    return max(min(_RANGE_BITS, floor((room - plain) / len(read)) - 1), _FEWEST) if read else _RANGE_BITS


# Which components are measured, and how precisely each: the planner's numbers made whole.

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
        rows = best_reading(WantedTables(*known), moves, (LARGEST_ANSWER // most).bit_length() - 1)
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
        design = best_design(WantedTables(sizes, tables, objective, changed, presence, read), Norm.L2)
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


# Components of tables with Gaussian noise, from which all tables asked for are put together.

_SMALLEST = 1e-60
_MOST_VALUES = 256
_WRONG_FORM = "the document is damaged: a component that was measured has the wrong form."


@dataclass(frozen=True, eq=False)
class GaussianMarginals(TablesMechanism[ComponentForm]):
    """Adds discrete Gaussian noise to the components of tables, each measured as precisely as the tables need it.

    Privacy: (rho, P)-zero-concentrated Blowfish, rho the largest sum of change^2 / (2 variance) of a secret pair.
    Sensitivity: of all components together, squared, each weighted by its precision, by the worst secret pair.
    Error: in closed form for every cell and every sum of cells; where values are alike no Gaussian strategy has less.
    Cost: time and memory linear in the cells of the components; the product of all attributes is never built.
    Numerics: rows are whole numbers, noise is an exact integer; precisions are whole numbers of one scale.
    Proof: docs/proofs/tables.md
    """

    form: ComponentForm
    """The components that get noise, each with its weight; blocks of weight 0 are tables of exact counts."""
    variance: Fraction
    """That of the component of the largest weight, in records^2; of weight w, it is ``largest / w`` times as much."""
    asked: TablesForm
    worst: bool
    secret_size: bool = False
    best: tuple[Objective, float] | None = None
    """What was to be small, and the squared error that no Gaussian strategy is below, if it was just planned."""

    name = "gaussian-marginals"
    counted_in = RHO

    def __post_init__(self) -> None:
        for variance in {*self._by_kind.values()} - {0}:
            checked_variance(variance)

    @cached_property
    def variances(self) -> tuple[Fraction, ...]:
        """The variance of the noise on the rows of each block; 0 where it is exact."""
        return tuple([self._by_kind[kind] for kind in self._kinds])

    @cached_property
    def _kinds(self) -> list[tuple[int, int]]:
        """The weight and the factor of each block: those of the same have the same noise."""
        return [(block.weight, self.form.times(block)) for block in self.form.blocks]

    @cached_property
    def _by_kind(self) -> dict[tuple[int, int], Fraction]:
        most = self.variance * self.form.largest
        return {(w, times): most * times**2 / w if w else Fraction(0) for w, times in {*self._kinds}}

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, rho: Fraction, records: int | None) -> Self:
        asked, objective = _asked(query, policy)
        form, bound = chosen_components(asked, policy, objective, records)
        squares = component_squares(form, policy).value
        best = (objective, bound * policy.rows_per_person**2 / float(2 * rho)) if bound and squares else None
        made = cls(form, squares / (2 * rho), asked, objective == "worst", policy.size == "unknown", best)
        check_secret_size(policy, made.heaviest)
        if records is not None and records * made.heaviest >= LARGEST_ANSWER:
            raise RefusalError(
                f"components of {made.heaviest:,} cells of {records:,} records are too large for 64-bit arithmetic.",
                hint="ask for smaller tables, or declare coarser attributes.",
            )
        return made

    def certify(self, policy: Policy) -> Certificate:
        squares = component_squares(self.form, policy)
        if squares.value and not self.variance:
            raise PolicyError(NO_NOISE)
        exact = self.exact_blocks
        if exact and sensitivity_of(self.asked.of(counting(exact)), policy).value:
            raise PolicyError(NO_NOISE)
        changes = squared_by_class(self.form, policy, squares.value) if squares.value else {}
        loss = Loss.of({pairs: change / (2 * self.variance) for pairs, change in changes.items()}, RHO)
        return self.certified(policy, loss, squares, *sorted({*self._by_kind.values()} - {0}))

    def loss(self, x: Cell, y: Cell) -> Fraction:
        return self.form.squared_change(x, y) / (2 * self.variance) if self.variance else Fraction(0)

    def presence(self, x: Cell) -> Fraction:
        return self.form.squared_weight(x) / (2 * self.variance) if self.variance else Fraction(0)

    def noisy(self, tables: Iterable[Integers], source: BitSource) -> Iterator[Integers]:
        return noisy_pieces(discrete_gaussian, self.variances, tables, source)

    def told(self) -> MeasuredComponents:
        # Noise of a tiny variance is almost always 0, but not exact.
        spread = {
            (weight, times): max(DISCRETE_GAUSSIAN.variance(variance), _SMALLEST) / times**2 if variance else 0.0
            for (weight, times), variance in self._by_kind.items()
        }
        known, tables = [spread[kind] for kind in self._kinds], [block.axes for block in self.asked.blocks]
        given = (self.form.shape, self.form.blocks, tuple(known), tuple(tables))
        if isinstance(self.form, RowsForm):
            return RowsComponents(*given, counted=not self.secret_size, rows=self.form.rows)
        return MeasuredComponents(*given, counted=not self.secret_size)

    @cached_property
    def gap(self) -> float | None:
        """The share by which the squared error exceeds that of the best Gaussian strategy, if that is known."""
        return self.components.objective(self.best[0]) / self.best[1] - 1 if self.best else None

    def expected_error(self) -> NormalTablesError:
        kind = NormalRangesError if self.asked.ranges else NormalTablesError
        return kind(self.components, self.variances, self.worst, distribution="normal, almost exactly")

    def promises(self, policy: Policy, full_domain: Fraction | None = None) -> list[str]:
        if not self.variance or self.gap is None:
            return []
        return [
            "No unbiased linear estimate from Gaussian noise at this rho has a smaller squared error, but for a "
            f"share of {max(self.gap, 0.0):.1e} (proved by duality)."
        ]

    def words(self) -> str:
        many = sum(bool(block.weight) for block in self.form.blocks)
        weights = [block.weight for block in self.form.blocks if block.weight] or [1]
        noisy = [self.variance * self.form.largest / weight for weight in (min(weights), max(weights))]
        low, high = (rounded(_root(each)) for each in (min(noisy), max(noisy)))
        exact = len(self.form.blocks) - many
        free = f", and {exact:,} table{'s' * (exact > 1)} without secrets get{'s' * (exact == 1)} none" if exact else ""
        return (
            f"{many:,} components of tables, what each adds to the smaller ones, get Gaussian noise of standard "
            f"deviation {low if low == high else f'{low} to {high}'}{free}; "
            "all tables asked for are put together from these, and agree."
        )

    def to_document(self) -> dict[str, Any]:
        written = {"name": self.name, "variance": str(self.variance), "measured": written_blocks(self.form)}
        if not isinstance(self.form, RowsForm):
            return written
        rows = {self.form.names[axis]: [rows.times, rows.matrix.tolist()] for axis, rows in self.form.rows.items()}
        return {**written, "rows": rows}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        asked, objective = _asked(query, policy)
        variance = exact(written.get("variance"), "the noise variance", error=SpecError)
        if variance < 0:
            raise SpecError("the document is damaged: the noise variance is below 0.")
        form = ComponentForm(asked.domain, read_blocks(asked, written["measured"]))
        if asked.ranges:
            form = RowsForm(asked.domain, form.blocks, rows=read_rows(asked, written["rows"]))
        plain = all(not block.signs and not block.readings for block in form.blocks)
        ordered = all(block.axes == tuple(sorted(block.axes)) for block in form.blocks)
        if not plain or not ordered or max(form.sizes, default=0) > MOST_CELLS:
            raise SpecError(_WRONG_FORM)
        made = cls(form, variance, asked, objective == "worst", policy.size == "unknown")
        try:
            made.components.check()
        except QueryError as error:
            raise SpecError(f"the document is damaged: {error.message}") from None
        return made


def _asked(query: Query, policy: Policy) -> tuple[TablesForm, Any]:
    if not isinstance(query, Tables):
        raise QueryError(
            f"gaussian-marginals answers sets of tables, not {query.keyword}.", hint='Tables([["age", "sex"]]).'
        )
    form = query.on(policy.domain)
    if any(axis >= len(form.domain.shape) for block in form.blocks for axis in block.axes):
        raise RefusalError(
            "tables on coarser levels of an attribute get Laplace noise only.",
            hint='ask for them with mechanism="marginals".',
        )
    if form.ranges:
        check_ranges(form)
    large = [form.title(axis) for axis in form.ranges if form.shape[axis] > _MOST_VALUES]
    if large:
        raise RefusalError(
            f"ranges of {large[0]} get Laplace noise only: it has more than {_MOST_VALUES} values.",
            hint='declare coarser bins, or ask for them with mechanism="marginals".',
        )
    return TablesForm(form.domain, form.blocks, (), form.ranges), query.objective


def read_rows(asked: TablesForm, written: Any) -> dict[int, AxisRows]:
    """Read the rows along each axis of which ranges are asked for."""
    found: dict[int, AxisRows] = {}
    for axis in (axis for axis in asked.ranges if asked.shape[axis] > 1):
        times, rows = written[asked.names[axis]]
        size = asked.shape[axis]
        whole = [[number for number in row if type(number) is int and abs(number) < 2**40] for row in rows]
        if type(times) is not int or not 1 <= times < 2**40 or [len(row) for row in whole] != [size] * size:
            raise SpecError(_WRONG_FORM)
        found[axis] = AxisRows(np.array(whole, dtype=np.int64), times)
        if not found[axis].tells:
            raise SpecError("the document is damaged: rows do not tell the ranges asked for.")
    return found


def _root(square: Fraction) -> Fraction:
    return Fraction(float(square) ** 0.5)
