"""Components of tables with Gaussian noise, from which all tables asked for are put together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import PolicyError, QueryError, RefusalError, SpecError
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, NO_NOISE, check_secret_size
from blowfish_privacy.mechanisms.tables.gaussian.axis_rows import AxisRows
from blowfish_privacy.mechanisms.tables.gaussian.component_form import ComponentForm
from blowfish_privacy.mechanisms.tables.gaussian.component_plan import chosen_components
from blowfish_privacy.mechanisms.tables.gaussian.component_squares import component_squares
from blowfish_privacy.mechanisms.tables.gaussian.measured_components import MeasuredComponents, NormalTablesError
from blowfish_privacy.mechanisms.tables.gaussian.range_rows_components import NormalRangesError, RowsComponents
from blowfish_privacy.mechanisms.tables.gaussian.rows_form import RowsForm
from blowfish_privacy.mechanisms.tables.measured import check_ranges, read_blocks, written_blocks
from blowfish_privacy.mechanisms.tables.noisy_pieces import noisy_pieces
from blowfish_privacy.mechanisms.tables.tables_mechanism import TablesMechanism, counting
from blowfish_privacy.noise import BitSource, checked_variance, discrete_gaussian
from blowfish_privacy.noise.law import DISCRETE_GAUSSIAN
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.privacy.sensitivity import sensitivity_of, squared_by_class
from blowfish_privacy.queries import Query, Tables
from blowfish_privacy.queries.tables import MOST_CELLS, Objective, TablesForm
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import exact, rounded

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
        """Choose the precisions of the components for the least error, and the variance for rho."""
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
        """Derive again how much the weighted components change together, and compare it with the variance held."""
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
        """Divide the weighted squared change of the components by twice the variance."""
        return self.form.squared_change(x, y) / (2 * self.variance) if self.variance else Fraction(0)

    def presence(self, x: Cell) -> Fraction:
        """Divide the weighted square of what a record adds to the components by twice the variance."""
        return self.form.squared_weight(x) / (2 * self.variance) if self.variance else Fraction(0)

    def noisy(self, tables: Iterable[Integers], source: BitSource) -> Iterator[Integers]:
        """Add Gaussian noise of the variance of each component."""
        return noisy_pieces(discrete_gaussian, self.variances, tables, source)

    def told(self) -> MeasuredComponents:
        """Work out how precisely the components of the tables asked for are known."""
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
        """Give the error of a cell, or of a range where such are asked for."""
        kind = NormalRangesError if self.asked.ranges else NormalTablesError
        return kind(self.components, self.variances, self.worst, distribution="normal, almost exactly")

    def promises(self, policy: Policy, full_domain: Fraction | None = None) -> list[str]:
        """Say that no Gaussian strategy has a smaller error, where that is proved."""
        if not self.variance or self.gap is None:
            return []
        return [
            "No unbiased linear estimate from Gaussian noise at this rho has a smaller squared error, but for a "
            f"share of {max(self.gap, 0.0):.1e} (proved by duality)."
        ]

    def words(self) -> str:
        """State how many components get noise, and of which deviations in records."""
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
        """Write the components that were measured, with their weights, and the variance."""
        written = {"name": self.name, "variance": str(self.variance), "measured": written_blocks(self.form)}
        if not isinstance(self.form, RowsForm):
            return written
        rows = {self.form.names[axis]: [rows.times, rows.matrix.tolist()] for axis, rows in self.form.rows.items()}
        return {**written, "rows": rows}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read the components and the variance; the certificate is derived from them, not from any claim."""
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
