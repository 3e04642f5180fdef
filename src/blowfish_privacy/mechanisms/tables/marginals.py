"""Sets of noisy tables: tables, or components of tables, are measured, and all asked for are estimated from them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, groupby, pairwise
from math import sqrt
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Aggregates, AttributeSets
from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import DataError, PolicyError, QueryError, RefusalError, SpecError
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, NO_NOISE, Mechanism, check_secret_size
from blowfish_privacy.mechanisms.row_noise import GAUSSIAN_ROWS, LAPLACE_ROWS, RowNoise
from blowfish_privacy.mechanisms.tables.components import Components
from blowfish_privacy.mechanisms.tables.designs import KINDS, chosen_blocks, chosen_components, row_kind, with_blocks
from blowfish_privacy.mechanisms.tables.gaussian_rows import (
    AxisRows,
    ComponentForm,
    MeasuredComponents,
    component_squares,
)
from blowfish_privacy.mechanisms.tables.nesting import nesting, weighed
from blowfish_privacy.mechanisms.tables.ranges import RangeComponents, TablesError
from blowfish_privacy.mechanisms.tables.shapes import Axes
from blowfish_privacy.noise import BitSource, SimulationSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate, is_differential_privacy
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.privacy.sensitivity import Sensitivity, sensitivity_of
from blowfish_privacy.queries import Query, Tables
from blowfish_privacy.queries.tables import MOST_CELLS, Block, Objective, Reading, TablesForm, listed_tables
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import about, exact, rounded, rounded_up

# The tables that were measured, as a release document writes them, and as an engine counts them.

_LARGEST_WEIGHT, _LARGEST_CHANGE = 2**40, 2**60
_WRONG_FORM = "the document is damaged: a table that was measured has the wrong form."
_MOST_VALUES, _MOST_TABLES = 1_000, 1_000
"""With more of them, working out the error of ranges would take long."""


def _counted_once(blocks: Sequence[Block]) -> list[list[Block]]:
    """Put neighbours of the same attributes together: they are counted once."""
    return [list(several) for _, several in groupby(blocks, key=lambda block: block.axes)]


def _written_blocks(form: TablesForm) -> list[Any]:
    """Write the tables: what is counted, the signs, the weight, and the rows if some are read."""
    names = form.names
    written: list[Any] = []
    for block in form.blocks:
        entry = [[names[axis] for axis in block.counted], [names[axis] for axis in block.signs], block.weight]
        rows = {names[axis]: [row_kind(reading), reading.spacing] for axis, reading in block.readings}
        written.append([*entry, rows] if rows else entry)
    return written


def _read_blocks(workload: TablesForm, written: Any) -> tuple[Block, ...]:
    """Read what :func:`_written_blocks` writes."""
    axes = {name: axis for axis, name in enumerate(workload.names)}
    blocks: list[Block] = []
    for counted, signs, weight, *rows in written:
        if type(weight) is not int or not 0 <= weight < _LARGEST_WEIGHT:
            raise SpecError("the document is damaged: the weight of a table is not a whole number.")
        all_axes, sign_axes = tuple(axes[name] for name in (*counted, *signs)), tuple(axes[name] for name in signs)
        readings: list[tuple[int, Reading]] = []
        for name, (kind, spacing) in chain.from_iterable(each.items() for each in rows):
            if kind not in KINDS or type(spacing) is not int or not 1 <= spacing < workload.shape[axes[name]]:
                raise SpecError(_WRONG_FORM)
            readings.append((axes[name], KINDS[kind](spacing, Fraction(0))))
        block = Block(all_axes, sign_axes, weight, tuple(readings))
        if not workload.fits(block) or len(rows) > 1 or (readings and not weight):
            raise SpecError(_WRONG_FORM)
        blocks.append(block)
    form = workload.of(tuple(blocks))
    if sum(form.factor(block) * block.heaviest(form.shape) for block in blocks) >= _LARGEST_CHANGE:
        raise SpecError(_WRONG_FORM)
    return tuple(blocks)


# Adding noise to one table after the other, as many at a time as are drawn at once.

_PIECE = 2**20
"""So many values are drawn at once."""


def _joined(tables: Iterable[Integers]) -> Iterator[Integers]:
    held: list[Integers] = []
    size = 0
    for table in tables:
        held.append(table.reshape(-1))
        size += table.size
        if size >= _PIECE:
            yield np.concatenate(held)
            held, size = [], 0
    if held:
        yield np.concatenate(held)


_MANY_CELLS = 1_000_000
_NOTHING = np.zeros(0, dtype=np.int64)
_SMALLEST = 1e-60
Measured = TypeVar("Measured", bound=TablesForm, covariant=True)


@dataclass(frozen=True, eq=False)
class TablesMechanism(Mechanism, Generic[Measured]):
    """Measures tables, or components of tables, from which all tables asked for are estimated."""

    form: Measured
    """What gets noise, each block with its weight; blocks of weight 0 are tables of exact counts."""
    scale: Fraction
    """What the law calls the scale of the noise, from which those of all blocks follow by their weights."""
    workload: TablesForm
    worst: bool
    """Whether the error of the worst table is to be small, and not the mean."""
    secret_size: bool = False

    noise: ClassVar[RowNoise]
    gives = ("tables",)
    drawn_in_pieces = True
    proof = "docs/proofs/tables.md"

    def __post_init__(self) -> None:
        for scale in self._by_kind.values():
            self.noise.check(scale)

    @cached_property
    def _kinds(self) -> list[tuple[int, int]]:
        """The factor of each block, and the multiple of counts that it is: those of the same have the same noise."""
        return [(self.form.factor(block), self.form.times(block)) for block in self.form.blocks]

    @cached_property
    def _by_kind(self) -> dict[tuple[int, int], Fraction]:
        return {kind: self.form.scale_of(kind, self.scale) for kind in {*self._kinds}}

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        """What the law calls the scale of the noise on each block; 0 where it is exact."""
        return tuple([self._by_kind[kind] for kind in self._kinds])

    @classmethod
    def workload_of(cls, query: Query, policy: Policy) -> tuple[TablesForm, Objective]:
        """Bind a query of tables, or refuse it; beside it, what is to be small."""
        if not isinstance(query, Tables):
            raise QueryError(
                f"{cls.name} answers sets of tables, not {query.keyword}.", hint='Tables([["age", "sex"]]).'
            )
        form = query.on(policy.domain)
        if any(form.shape[axis] > _MOST_VALUES for axis in form.ranges):
            raise RefusalError(
                f"ranges inside tables need an attribute of at most {_MOST_VALUES:,} values.",
                hint="declare coarser bins, or ask for its cumulative counts on their own.",
            )
        if form.ranges and len(form.blocks) > _MOST_TABLES:
            raise RefusalError(
                f"ranges are answered in sets of at most {_MOST_TABLES:,} tables.",
                hint="ask for fewer tables, or for all attributes as they are.",
            )
        return form, query.objective

    def certify(self, policy: Policy) -> Certificate:
        sensitivity = self._sensitivity(policy)
        exact = tuple(Block(block.axes, block.signs) for block in self.exact_blocks)
        if (exact and sensitivity_of(self.workload.of(exact), policy).value) or (sensitivity.value and not self.scale):
            raise PolicyError(NO_NOISE)
        changes = self.noise.by_class(self.form, policy, sensitivity.value) if sensitivity.value else {}
        loss = Loss.of({pairs: self._lost(change) for pairs, change in changes.items()}, self.counted_in)
        return self.certified(policy, loss, sensitivity, *sorted({*self._by_kind.values()} - {0}))

    def _sensitivity(self, policy: Policy) -> Sensitivity:
        return self.noise.sensitivity(self.form, policy)

    def loss(self, x: Cell, y: Cell) -> Fraction:
        return self._lost(self.noise.moved(self.form, x, y))

    def presence(self, x: Cell) -> Fraction:
        return self._lost(self.noise.weighed(self.form, x))

    def _lost(self, change: Fraction) -> Fraction:
        """Return the loss on a change, which is not in units; where nothing needs noise, nothing is lost."""
        return self.noise.lost(change / self.form.unit**self.noise.power, self.scale) if self.scale else Fraction(0)

    @cached_property
    def components(self) -> Components:
        """How precisely the components of the tables asked for are known."""
        # Noise of a tiny scale is almost always 0, but not exact.
        spread = {
            kind: max(self.noise.law.variance(scale), _SMALLEST) / kind[1] ** 2 if scale else 0.0
            for kind, scale in self._by_kind.items()
        }
        return self._components_of(
            tuple([spread[kind] for kind in self._kinds]), tuple(b.axes for b in self.workload.blocks)
        )

    @abstractmethod
    def _components_of(self, variances: tuple[float, ...], tables: tuple[Axes, ...]) -> Components:
        """Work that out, given the variance of the noise in each block, counted in records."""

    def expected_error(self) -> TablesError:
        return TablesError(self.components, self.scales, self.worst, self.noise.law)

    @property
    def rows(self) -> int:
        return self.form.outputs

    def tables(self, query: Query) -> AttributeSets:
        return [self.form.attributes_of(blocks[0]) for blocks in _counted_once(self.form.blocks)]

    def draw(self, aggregates: Aggregates, source: BitSource) -> npt.NDArray[Any]:
        return np.concatenate([_NOTHING, *self.pieces(aggregates, source)])

    def pieces(self, aggregates: Aggregates, source: BitSource) -> Iterator[npt.NDArray[Any]]:
        several = _counted_once(self.form.blocks)
        tables = aggregates.tables([self.form.attributes_of(blocks[0]) for blocks in several])

        def answers() -> Iterator[Integers]:
            for blocks, counts in zip(several, tables, strict=True):
                for block in blocks:
                    self._check_size(counts)
                    yield self.form.of_data(block, counts)

        return self._noisy(answers(), source)

    def _noisy(self, tables: Iterable[Integers], source: BitSource) -> Iterator[Integers]:
        """Add noise to the numbers of all blocks in turn, and hand them over end to end in pieces.

        Neighbours of one scale are drawn at once: a new scale takes milliseconds to prepare.
        """
        for scale, neighbours in groupby(zip(self.scales, tables, strict=True), key=lambda table: table[0]):
            for piece in _joined(table for _, table in neighbours):
                if scale:
                    piece += self.noise.draw(scale, len(piece), source)
                yield piece

    def _check_size(self, counts: Integers) -> None:
        # Checked against the number of records alone, so that no error depends on anyone's values.
        if int(counts.sum()) * self.form.most_added >= LARGEST_ANSWER:
            raise DataError("the answers may be too large for 64-bit arithmetic.")

    def measure(self, counts: Integers, source: BitSource) -> npt.NDArray[Any]:
        self._check_size(counts)
        return np.concatenate([_NOTHING, *self._noisy(self.measured(self.form.answer(counts)), source)])

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Where each block is among the noisy values."""
        ends = np.cumsum([0, *self.form.sizes]).tolist()
        return tuple(slice(*ends) for ends in pairwise(ends))

    def measured(self, noisy: Integers) -> Iterator[Integers]:
        """Cut the noisy values into tables."""
        for block, place in zip(self.form.blocks, self.places, strict=True):
            yield noisy[place].reshape(self.form.shape_of(block))

    def fits(self, noisy: Integers) -> bool:
        if not super().fits(noisy):
            return False
        exact = [noisy[place] for block, place in zip(self.form.blocks, self.places, strict=True) if not block.weight]
        return all(int(table.min()) >= 0 for table in exact) and len({int(table.sum()) for table in exact}) < 2

    def simulated_noise(self, source: SimulationSource) -> list[npt.NDArray[np.float64]]:
        """Draw what noise alone makes of the tables asked for, axes ascending."""
        empty = self.measured(np.zeros(self.form.outputs, dtype=np.int64))
        noise = np.concatenate([_NOTHING, *self._noisy(empty, source)])
        found = self.components.estimate(list(self.measured(noise)), None if self.secret_size else 0)
        return [self.components.table(found, tuple(sorted(axes))) for axes in self.components.tables]

    def parts(self) -> list[tuple[str, int, float]]:
        names = self.form.names
        titles = (" x ".join(names[axis] for axis in block.axes) for block in self.workload.blocks)
        errors = map(sqrt, self.expected_error().by_table)
        return list(zip(titles, self.workload.sizes, errors, strict=True))

    @property
    def notices(self) -> list[str]:
        return self.notices_for("The number of records")

    def notices_for(self, records: str, be: str = "will be") -> list[str]:
        large = max(self.workload.sizes)
        if large <= _MANY_CELLS:
            return []
        return [f"A table of {large:,} cells is large: in most cells there {be} nothing but noise."]

    @property
    def exact_blocks(self) -> list[Block]:
        """The tables without noise."""
        return [block for block in self.form.blocks if not block.weight]

    def without_noise(self) -> str | None:
        exact = self.exact_blocks
        if not exact or len(exact) == len(self.form.blocks):
            return None
        return listed_tables([[self.form.title(axis) for axis in block.axes] for block in exact])

    def to_document(self) -> dict[str, Any]:
        return {"name": self.name, self.noise.key: str(self.scale), "measured": _written_blocks(self.form)}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        workload, objective = cls.workload_of(query, policy)
        scale = exact(written.get(cls.noise.key), f"the noise {cls.noise.key}", error=SpecError)
        if scale < 0:
            raise SpecError(f"the document is damaged: the noise {cls.noise.key} is below 0.")
        form = cls._form_of(workload, written)
        if max(form.sizes, default=0) > MOST_CELLS:
            raise SpecError("the document is damaged: a table that was measured is too large.")
        mechanism = cls(form, scale, workload, objective == "worst", policy.size == "unknown")
        if workload.ranges or cls.counted_in is RHO:
            try:
                mechanism.components.check()
            except QueryError as error:
                raise SpecError(f"the document is damaged: {error.message}") from None
        return mechanism

    @classmethod
    @abstractmethod
    def _form_of(cls, workload: TablesForm, written: dict[str, Any]) -> Measured:
        """Read what was measured."""


@dataclass(frozen=True, eq=False)
class Marginals(TablesMechanism[TablesForm]):
    """Adds discrete Laplace noise to the cells of some tables, each with a scale of its own: ``scale / weight``.

    Privacy: (epsilon, P)-Blowfish, epsilon the largest sum over the tables of 2 / scale that a secret pair changes.
    Sensitivity: of all tables together, each weighted by how precisely it is measured, by the worst secret pair.
    Error: in closed form for every cell, every sum of cells and a random range, after least squares.
    Cost: time and memory linear in the cells of the measured tables; the product of all attributes is never built.
    Numerics: counts are whole numbers, noise is an exact integer; weights are whole numbers of one scale.
    Proof: docs/proofs/tables.md
    """

    ratio: float | None = None
    """How many times the error is that of a bound that no such plan is below, if it was just planned."""

    name = "marginals"
    noise = LAPLACE_ROWS

    @classmethod
    def workload_of(cls, query: Query, policy: Policy) -> tuple[TablesForm, Objective]:
        form, objective = super().workload_of(query, policy)
        return with_blocks(form, policy), objective

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        workload, objective = cls.workload_of(query, policy)
        blocks, ratio = chosen_blocks(workload, policy, objective)
        form = workload.of(blocks)
        sensitivity = sensitivity_of(form, policy)
        check_secret_size(policy, max((block.heaviest(form.shape) for block in blocks), default=1))
        scale = sensitivity.value / form.unit / epsilon
        mechanism = cls(form, scale, workload, objective == "worst", policy.size == "unknown", ratio)
        if form.views:
            mechanism.components.check()
        return mechanism

    def loss(self, x: Cell, y: Cell) -> Fraction:
        # What a form says of a move is a bound where signs or rows may cancel.
        return self.form.net_change({x: 1, y: -1}) / self.scale if self.scale and x != y else Fraction(0)

    def _components_of(self, variances: tuple[float, ...], tables: tuple[Axes, ...]) -> Components:
        form, counted = self.form, not self.secret_size
        levels = weighed(nesting(form), form.shape, form.blocks, variances)
        given = (form.shape, form.blocks, variances, tables)
        if self.workload.ranges:
            return RangeComponents.of(*given, self.workload.ranges, counted=counted, nesting=levels)
        return Components(*given, counted, levels)

    def promises(self, policy: Policy, full_domain: Fraction | None = None) -> list[str]:
        lines: list[str] = []
        if full_domain is not None and not is_differential_privacy(policy):
            lines.append(
                "The accuracy is that of a promise about secret pairs. Against somebody who doubts a person's whole "
                f"record, the same noise keeps epsilon {rounded_up(full_domain)} (full domain)."
            )
        if self.scale and self.ratio is not None:
            best = self.expected_error().rmse / self.ratio
            lines.append(
                f"No unbiased estimate from Laplace noise at this epsilon has an error below {about(best)} (proved); "
                f"this plan has {about(self.ratio)} times that."
            )
        return lines

    def words(self) -> str:
        held = zip(self.scales, self.form.blocks, strict=True)
        noisy = sorted({scale / block.spacing for scale, block in held if scale})
        exact = sum(not block.weight for block in self.form.blocks)
        scales = rounded(noisy[0]) if len(noisy) == 1 else f"{rounded(noisy[0])} to {rounded(noisy[-1])}"
        many = len(self.form.blocks) - exact
        read = sorted({self.form.title(axis) for block in self.form.blocks for axis in block.reading})
        rows = f", some of them sums over neighbouring values of {' and '.join(read)}," if read else ""
        noise = f"The cells of {many:,} table{'s' if many > 1 else ''}{rows} get Laplace noise of scale {scales}"
        free = f", and {exact:,} without secrets get{'s' * (exact == 1)} none" if exact else ""
        return f"{noise}{free}; all tables asked for are estimated from these together, and agree."

    @classmethod
    def _form_of(cls, workload: TablesForm, written: dict[str, Any]) -> TablesForm:
        return workload.of(_read_blocks(workload, written["measured"]))


_MOST_GAUSSIAN_VALUES = 256
_WRONG_COMPONENT = "the document is damaged: a component that was measured has the wrong form."


@dataclass(frozen=True, eq=False)
class GaussianMarginals(TablesMechanism[ComponentForm]):
    """Adds discrete Gaussian noise to the components of tables, each measured as precisely as the tables need it.

    ``scale`` is the variance of the component of the largest weight, in records^2; one of weight w has ``largest / w``
    times as much.

    Privacy: (rho, P)-zero-concentrated Blowfish, rho the largest sum of change^2 / (2 variance) of a secret pair.
    Sensitivity: of all components together, squared, each weighted by its precision, by the worst secret pair.
    Error: in closed form for every cell and sum of cells; the least there is if values are interchangeable.
    Cost: time and memory linear in the cells of the components; the product of all attributes is never built.
    Numerics: rows are whole numbers, noise is an exact integer; precisions are whole numbers of one scale.
    Proof: docs/proofs/tables.md
    """

    best: tuple[Objective, float] | None = None
    """What was to be small, and the squared error that no Gaussian strategy is below, if it was just planned."""

    name = "gaussian-marginals"
    counted_in = RHO
    noise = GAUSSIAN_ROWS

    @classmethod
    def workload_of(cls, query: Query, policy: Policy) -> tuple[TablesForm, Objective]:
        form, objective = super().workload_of(query, policy)
        if any(axis >= len(form.domain.shape) for block in form.blocks for axis in block.axes):
            raise RefusalError(
                "tables on coarser levels of an attribute get Laplace noise only.",
                hint='ask for them with mechanism="marginals".',
            )
        large = [form.title(axis) for axis in form.ranges if form.shape[axis] > _MOST_GAUSSIAN_VALUES]
        if large:
            raise RefusalError(
                f"ranges of {large[0]} get Laplace noise only: it has more than {_MOST_GAUSSIAN_VALUES} values.",
                hint='declare coarser bins, or ask for them with mechanism="marginals".',
            )
        return TablesForm(form.domain, form.blocks, (), form.ranges), objective

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, rho: Fraction, records: int | None) -> Self:
        workload, objective = cls.workload_of(query, policy)
        form, bound = chosen_components(workload, policy, objective, records)
        squares = component_squares(form, policy).value
        best = (objective, bound * policy.rows_per_person**2 / float(2 * rho)) if bound and squares else None
        mechanism = cls(form, squares / (2 * rho), workload, objective == "worst", policy.size == "unknown", best)
        check_secret_size(policy, form.most_added)
        if records is not None and records * form.most_added >= LARGEST_ANSWER:
            raise RefusalError(
                f"components of {form.most_added:,} cells of {records:,} records are too large for 64-bit arithmetic.",
                hint="ask for smaller tables, or declare coarser attributes.",
            )
        return mechanism

    def _sensitivity(self, policy: Policy) -> Sensitivity:
        return component_squares(self.form, policy)

    def _components_of(self, variances: tuple[float, ...], tables: tuple[Axes, ...]) -> MeasuredComponents:
        given = (self.form.shape, self.form.blocks, variances, tables, not self.secret_size)
        return MeasuredComponents(*given, ranges=self.workload.ranges, rows=self.form.rows)

    @cached_property
    def gap(self) -> float | None:
        """The share by which the squared error exceeds that of the best Gaussian strategy, if that is known."""
        return self.components.objective(self.best[0]) / self.best[1] - 1 if self.best else None

    def promises(self, policy: Policy, full_domain: Fraction | None = None) -> list[str]:
        if not self.scale or self.gap is None:
            return []
        return [
            "No unbiased linear estimate from Gaussian noise at this rho has a smaller squared error, but for a "
            f"share of {max(self.gap, 0.0):.1e} (proved by duality)."
        ]

    def words(self) -> str:
        weights = [block.weight for block in self.form.blocks if block.weight]
        exact = len(self.form.blocks) - len(weights)
        ends = [sqrt(self.scale * self.form.largest / each(weights or [1])) for each in (max, min)]
        low, high = (rounded(Fraction(end)) for end in ends)
        free = f", and {exact:,} table{'s' * (exact > 1)} without secrets get{'s' * (exact == 1)} none" if exact else ""
        return (
            f"{len(weights):,} components of tables, what each adds to the smaller ones, get Gaussian noise of "
            f"standard deviation {low if low == high else f'{low} to {high}'}{free}; "
            "all tables asked for are put together from these, and agree."
        )

    def to_document(self) -> dict[str, Any]:
        written = super().to_document()
        if not self.form.rows:
            return written
        rows = {self.form.names[axis]: [rows.times, rows.matrix.tolist()] for axis, rows in self.form.rows.items()}
        return {**written, "rows": rows}

    @classmethod
    def _form_of(cls, workload: TablesForm, written: dict[str, Any]) -> ComponentForm:
        blocks = _read_blocks(workload, written["measured"])
        found: dict[int, AxisRows] = {}
        for axis in (axis for axis in workload.ranges if workload.shape[axis] > 1):
            times, rows = written["rows"][workload.names[axis]]
            size = workload.shape[axis]
            whole = [[number for number in row if type(number) is int and abs(number) < 2**40] for row in rows]
            if type(times) is not int or not 1 <= times < 2**40 or [len(row) for row in whole] != [size] * size:
                raise SpecError(_WRONG_COMPONENT)
            found[axis] = AxisRows(np.array(whole, dtype=np.int64), times)
            if not found[axis].sufficient:
                raise SpecError("the document is damaged: rows do not determine the ranges asked for.")
        form = ComponentForm(workload.domain, blocks, rows=found)
        plain = all(not block.signs and not block.readings for block in blocks)
        ordered = all(block.axes == tuple(sorted(block.axes)) for block in blocks)
        if not plain or not ordered or max(form.sizes, default=0) > MOST_CELLS:
            raise SpecError(_WRONG_COMPONENT)
        return form
