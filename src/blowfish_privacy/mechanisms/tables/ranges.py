"""Tables that were measured in rows along ordered attributes, of which ranges are asked for; how wrong tables are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import prod, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Subset
from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.error import NoiseError, checked_level, normal_width
from blowfish_privacy.mechanisms.tables.components import Components, Estimates, Member, Noise, spread_of
from blowfish_privacy.mechanisms.tables.nesting import Nesting, beside
from blowfish_privacy.mechanisms.tables.shapes import Axes
from blowfish_privacy.noise import DISCRETE_LAPLACE, Law, SimulationSource, discrete_laplace
from blowfish_privacy.queries.tables import Block, Reading, matrix
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number

# Tables that were measured in rows: sums over bins of ordered attributes, in as many ways as their readings combine.
#
# All tables of one group read the same attributes. Together they determine the counts of the plain table: along each
# axis the rows y of all readings, each with its share of the precision, are turned into counts by least squares. Where
# the sums over one axis are known exactly, only what the rows add to them is used (docs/proofs/tables.md).

RECORDS = -1
"""Stands for the number of records among the tables that were measured."""
_UNDETERMINED = "the rows that are measured do not determine the counts asked for."


@lru_cache(maxsize=256)
def counts_from(
    size: int,
    readings: tuple[Reading, ...],
    shares: tuple[float, ...],
    centred: bool,  # noqa: FBT001
) -> tuple[Floats, ...]:
    """Return, for each reading, the matrix that turns its noisy rows into counts; the results are added up.

    If centred, the counts are those less their mean.
    """
    rows = [share / each.spacing * matrix(each, size) for each, share in zip(readings, shares, strict=True)]
    wanted = np.eye(size) - (1 / size if centred else 0.0)
    seen = np.concatenate(rows) @ wanted
    # Where only deviations from the mean are determined, the mean itself is set to 0.
    gram = seen.T @ seen + (1 / size if centred else 0.0)
    try:
        solved = np.linalg.solve(gram, seen.T)
    except np.linalg.LinAlgError:
        raise QueryError(_UNDETERMINED) from None
    if not np.allclose(solved @ seen, wanted, atol=1e-6):
        raise QueryError(_UNDETERMINED)
    cuts = np.split(solved, np.cumsum([len(each) for each in rows])[:-1], axis=1)
    return tuple(cut * share / each.spacing for cut, each, share in zip(cuts, readings, shares, strict=True))


@dataclass(frozen=True, eq=False)
class Group:
    """Measured tables that together determine one table; mostly that is one, counted as it is."""

    block: Block
    """The table that they determine."""
    numbers: tuple[int, ...]
    """The numbers of the tables that were measured."""
    members: tuple[Block, ...]
    variances: tuple[float, ...]
    """The variance of the noise of each."""
    shape: tuple[int, ...]
    """The number of values of each axis."""
    known: tuple[int, int] | None = None
    """An axis over which the sums are known exactly, and the number of the table that has them."""

    @property
    def whole(self) -> bool:
        """Whether every combination of readings was measured once."""
        return len(set(self.members)) == len(self.members) == prod(map(len, self._shares.values()))

    @cached_property
    def _shares(self) -> dict[int, dict[Reading, int]]:
        """For each axis that rows are read along, the readings and how much each weighs in all tables."""
        found: dict[int, dict[Reading, int]] = {}
        for member in self.members:
            for axis, reading in member.readings:
                along = found.setdefault(axis, {})
                along[reading] = along.get(reading, 0) + member.weight
        return found

    @cached_property
    def readers(self) -> tuple[dict[int, Floats], ...]:
        """For each table, and each axis that rows are read along, what turns them into counts of values."""
        along: dict[tuple[int, Reading], Floats] = {}
        for axis, weights in self._shares.items():
            largest = max(weights.values())
            # Few digits will do, and many groups have the same.
            shares = tuple(max(round(weight / largest, 3), 0.001) for weight in weights.values())
            centred = self.known is not None and self.known[0] == axis
            found = counts_from(self.shape[axis], tuple(weights), shares, centred)
            along.update({(axis, reading): each for reading, each in zip(weights, found, strict=True)})
        return tuple({axis: along[axis, reading] for axis, reading in member.readings} for member in self.members)

    def counts(
        self, measured: Sequence[npt.NDArray[np.int64]], records: int | None, sources: Mapping[int, Block]
    ) -> Floats:
        """Return the table that the measured tables determine, less its mean along an axis whose sums are known."""
        total = np.zeros(())
        for number, readers in zip(self.numbers, self.readers, strict=True):
            values = measured[number].astype(np.float64)
            for axis, reader in readers.items():
                at = self.block.counted.index(axis)
                values = np.moveaxis(np.tensordot(reader, values, axes=(1, at)), 0, at)
            total = total + values
        if self.known is None:
            return total
        axis, source = self.known
        at = self.block.counted.index(axis)
        sums = np.asarray(float(records or 0))
        if source != RECORDS:
            kept, axes = [other for other in self.block.axes if other != axis], sources[source].axes
            table = measured[source].sum(axis=tuple(at for at, other in enumerate(axes) if other not in kept))
            left = [other for other in axes if other in kept]
            table = np.asarray(table).transpose([left.index(other) for other in kept])
            sums = self.block.of_counts(np.expand_dims(table, at)).astype(np.float64)
        # What the readers make of rows that would be the same for all values is taken away.
        size = self.shape[axis]
        along = {
            member.reading[axis]: readers[axis] for member, readers in zip(self.members, self.readers, strict=True)
        }
        rows = [reader @ matrix(reading, size).sum(axis=1) for reading, reader in along.items()]
        return total - sums * beside(np.sum(rows, axis=0) / size, at, total.ndim)


# Components of tables of which some were measured in rows along ordered attributes, and the error of ranges.


@dataclass(frozen=True, eq=False)
class RangeComponents(Components):
    """Tables that were measured in rows are turned into plain ones, with noise that is correlated but known."""

    groups: tuple[Group, ...] = ()

    @classmethod
    def of(
        cls,
        shape: tuple[int, ...],
        blocks: tuple[Block, ...],
        variances: tuple[float, ...],
        tables: tuple[Axes, ...],
        ranges: frozenset[int],
        *,
        counted: bool,
        nesting: Nesting,
    ) -> RangeComponents:
        """Put the measured tables that determine one table together."""
        together: dict[object, list[int]] = {}
        for number, block in enumerate(blocks):
            read = frozenset(block.reading)
            together.setdefault((block.axes, block.signs, read) if read else number, []).append(number)
        exact = [n for n, block in enumerate(blocks) if not (variances[n] or block.signs or block.readings)]
        groups: list[Group] = []
        for numbers in together.values():
            first, known = blocks[numbers[0]], None
            for axis in first.reading:
                rest = {*first.axes} - {axis}
                sources = [RECORDS] if counted and not rest else [n for n in exact if rest <= {*blocks[n].axes}]
                known = (axis, sources[0]) if sources else known
            members = tuple(blocks[number] for number in numbers)
            plain = Block(first.axes, first.signs, sum(member.weight for member in members))
            noise = tuple(variances[number] for number in numbers)
            groups.append(Group(plain, tuple(numbers), members, noise, shape, known))
        if not all(group.whole for group in groups if group.readers[0]):
            raise QueryError("a table was not measured in all rows that belong together.")
        plain, noise = tuple(group.block for group in groups), tuple(group.variances[0] for group in groups)
        return cls(shape, plain, noise, tables, counted, nesting, ranges, tuple(groups))

    @cached_property
    def read(self) -> frozenset[int]:
        """The axes along which rows were measured."""
        return frozenset(axis for group in self.groups for axis in group.readers[0])

    @cached_property
    def _measured(self) -> dict[int, Block]:
        return {n: block for group in self.groups for n, block in zip(group.numbers, group.members, strict=True)}

    def estimate(self, measured: Sequence[npt.NDArray[Any]], records: int | None) -> Estimates:
        return super().estimate([group.counts(measured, records, self._measured) for group in self.groups], records)

    def _precisions(self, number: int, wanted: Container[Axes]) -> Iterator[tuple[Axes, float]]:
        """Give each component the mean variance that all rows together leave in it."""
        group = self.groups[number]
        if not group.readers[0]:
            yield from super()._precisions(number, wanted)
            return
        for part in self.nesting.parts(group.block.counted):
            component = tuple(sorted((*part, *group.block.signs)))
            if component in wanted and (group.known is None or group.known[0] in part):
                plain = self._summed(group.block, part) / prod(
                    self.shape[axis] for axis in group.readers[0] if axis not in part
                )
                spread = sum(
                    variance * prod(spread_of(reader, inside=axis in part) for axis, reader in readers.items())
                    for variance, readers in zip(group.variances, group.readers, strict=True)
                )
                yield component, 2 ** len(group.block.signs) / (plain * spread)

    def uneven(self, axes: Axes) -> bool:
        return not self.read.isdisjoint(axes) or super().uneven(axes)

    @cached_property
    def table_variances(self) -> tuple[float, ...]:
        return tuple(
            self.variance(axes) if self.ranges.isdisjoint(axes) else self.range_variance(axes) for axes in self.tables
        )

    def range_variance(self, axes: Axes) -> float:
        """Return the mean variance of a random range along every such axis, in a cell of the other attributes."""
        return max(float(self._total(axes, self._factors, self._on_average)), 0.0)

    def _on_average(self, axis: int, first: Floats, second: Floats) -> Floats:
        """Return what two components have in common in a random range, or in a cell where no ranges are asked for."""
        if axis not in self.ranges:
            return np.asarray((first * second).sum(axis=1).mean())
        return np.asarray(((in_both(self.shape[axis]) @ first) * second).sum())

    def contributions(self, axes: Axes) -> Iterator[tuple[int, dict[Axes, float], list[tuple[Axes, Axes, float]]]]:
        """Go through the groups that have a share in a table.

        That is a group's number, its precision for each component, and what its noise puts into every two of
        them, on average over ranges and cells.
        """
        for number, parts in self._parts_of(axes).items():
            precise = {component: share * self._information[component].precision for component, share in parts}
            pairs = self._pairs(number, list(precise), axes, self._factors, self._on_average)
            yield number, precise, [(first, second, float(value)) for first, second, value in pairs]

    def _members(self, number: int) -> Iterator[Member]:
        group = self.groups[number]
        for parts in zip(group.numbers, group.variances, group.readers, strict=True):
            yield Member(group.block, *parts)

    def noise_in_cell(self, axes: Axes, cell: Sequence[int]) -> Iterator[Noise]:
        units = [np.eye(1, self.shape[axis], place)[0] for axis, place in zip(axes, cell, strict=True)]
        yield from self.noise_in(axes, units)

    def noise_in(self, axes: Axes, weights: Sequence[Floats]) -> Iterator[Noise]:
        """Go through the noise in a weighted sum of cells, for each table that was measured."""
        for number, parts in self._parts_of(axes).items():
            for member in self._members(number):
                outside = self._outside(member.block, axes)
                summed = [member.readers[axis].sum(axis=0) for axis in outside if axis in member.readers]
                factors: Floats = np.zeros(1)
                for component, share in parts:
                    of = self.nesting.levels(component)
                    one = np.array([share])
                    for axis, each in zip(axes, weights, strict=True):
                        one = np.outer(one, self._response(member, axis, of.get(self.nesting.family(axis)), each))
                    factors = factors + one.reshape(-1)
                for each in summed:
                    factors = np.asarray(np.outer(factors, each), dtype=np.float64).reshape(-1)
                many = prod(self.shape[axis] for axis in outside if axis not in member.readers)
                if member.variance:
                    yield Noise(member.number, member.variance, factors, many)


@lru_cache(maxsize=8)
def in_both(size: int) -> Floats:
    """Return, for every two values, the share of ranges that both are in."""
    at = np.arange(size)
    return 2 * (np.minimum.outer(at, at) + 1) * (size - np.maximum.outer(at, at)) / (size * (size + 1))


# The error of sets of tables, known before any data are read.

_DRAWN, _MOST_DRAWN, _LITTLE = 40_000, 16, 0.002
"""Noise of more cells than this is added up as normal, and so is what makes up little of the whole."""
_RANGES = 40


class CellsError(NoiseError):
    """How wrong the cells of tables are, and sums of them."""

    unit = Fraction(1)

    @abstractmethod
    def standard_error(self, axes: Axes, chosen: Sequence[Subset] | None = None) -> float:
        """Return that of a cell of a table, or of the sum of the cells that are chosen."""

    @abstractmethod
    def standard_errors(self, axes: Axes) -> Floats:
        """Return that of every cell of a table."""

    @abstractmethod
    def interval_of(self, axes: Axes, level: Number = "0.95") -> float:
        """Return a bound on the error of a noisy cell of a table that holds with probability ``level``."""


@dataclass(frozen=True, eq=False, repr=False)
class TablesError(CellsError):
    """The error of the cells of several tables: the same for all cells of one, unless attributes have levels.

    Where ranges are asked for, that of a random range in a cell of the other attributes.
    """

    components: Components
    scales: tuple[Fraction, ...]
    """What the law calls the scale of the noise of each block that was measured."""
    worst: bool
    """Whether the error stated is that of the worst table, and not the mean over all cells."""
    law: Law = DISCRETE_LAPLACE

    @property
    def distribution(self) -> str:
        """How the law of the error was found; Gaussian draws, and sums of very many draws, are nearly normal."""
        return "sums of discrete Laplace draws, simulated" if self._simulated else "normal, almost exactly"

    @property
    def _simulated(self) -> bool:
        return self.law is DISCRETE_LAPLACE

    @property
    def of(self) -> str:
        """What the error refers to."""
        what = "a random range in a cell" if self.components.ranges else "a cell"
        if len(self.components.tables) == 1:
            return what
        return f"{what} of the worst table" if self.worst else f"{what} of all tables"

    def standard_error(self, axes: Axes, chosen: Sequence[Subset] | None = None) -> float:
        return sqrt(self.components.variance(axes, None if chosen is None else [list(subset) for subset in chosen]))

    def standard_errors(self, axes: Axes) -> Floats:
        return np.sqrt(self.components.cell_variances(axes))

    @property
    def mse(self) -> float:
        return self.components.objective("worst" if self.worst else "mean")

    @property
    def by_table(self) -> tuple[float, ...]:
        """The variance of a cell of each table, or of a random range in one."""
        return self.components.table_variances

    def bound(self, level: Fraction) -> float:
        """Bound the error of a cell, or range, of the worst table."""
        number = max(range(len(self.by_table)), key=self.by_table.__getitem__)
        axes = self.components.tables[number]
        if not self._simulated and self.components.ranges:
            return normal_width(level) * sqrt(self.by_table[number])
        if isinstance(self.components, RangeComponents) and not self.components.ranges.isdisjoint(axes):
            return float(np.quantile(self._sampled_ranges(self.components, axes), float(level)))
        return self.interval_of(axes, level)

    def interval_of(self, axes: Axes, level: Number = "0.95") -> float:
        share = checked_level(level)
        if not self._simulated:
            return normal_width(share) * self.standard_error(axes)
        cells = self.components.cell_variances(axes)
        if not cells.any():
            return 0.0
        worst = [int(place) for place in np.unravel_index(cells.argmax(), cells.shape)]
        # Fixed bits, so that everyone computes the same error for the same noise scales.
        drawn = self._drawn(self.components.noise_in_cell(axes, worst), _DRAWN, SimulationSource("tables"))
        return float(np.quantile(drawn, float(share)))

    def _sampled_ranges(self, components: RangeComponents, axes: Axes) -> Floats:
        """Draw errors of random ranges, in random cells of the other attributes."""
        generator, source = np.random.default_rng(17), SimulationSource("ranges")
        drawn: list[Floats] = []
        for _ in range(_RANGES):
            weights: list[Floats] = []
            for axis in axes:
                size = components.shape[axis]
                cuts = sorted(generator.choice(size + 1, 2, replace=False).tolist())
                one = int(generator.integers(size))
                first, end = cuts if axis in components.ranges else (one, one + 1)
                weights.append(((np.arange(size) >= first) & (np.arange(size) < end)).astype(np.float64))
            drawn.append(self._drawn(components.noise_in(axes, weights), _DRAWN // _RANGES, source))
        return np.concatenate(drawn)

    def _drawn(self, found: Iterator[Noise], draws: int, source: SimulationSource) -> Floats:
        """Draw errors of a sum: noise that weighs much as it is, all that weighs little as one normal variable."""
        noise = list(found)
        total = rest = sum(each.variance * each.many * float(each.factors @ each.factors) for each in noise)
        drawn = np.zeros(draws)
        for each in noise:
            much = each.variance * each.factors**2 > _LITTLE * total
            large = each.factors[much] if each.many <= _MOST_DRAWN else each.factors[:0]
            if len(large):
                errors = discrete_laplace(self.scales[each.number], (len(large), each.many, draws), source=source)
                drawn += large @ errors.sum(axis=1)
                rest -= each.variance * each.many * float(large @ large)
        normal = np.random.default_rng(17).standard_normal(draws)
        return np.abs(drawn + sqrt(max(rest, 0.0)) * normal)
