"""Ordered attributes of tables asked for as ranges: rows in place of values, and their errors."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from math import prod, sqrt
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import QueryError
from blowfish_privacy.graphs.graph import SecretGraph
from blowfish_privacy.mechanisms.error import in_short
from blowfish_privacy.mechanisms.ordered.level_choice import choose_levels
from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel, DifferenceLevel, Level
from blowfish_privacy.mechanisms.tables.components import (
    DRAWN,
    LITTLE,
    MOST_DRAWN,
    Components,
    Estimates,
    TablesError,
    beside,
)
from blowfish_privacy.mechanisms.tables.nesting import Axes, Nesting, nesting
from blowfish_privacy.noise import SimulationSource, discrete_laplace
from blowfish_privacy.queries.tables import Block, Objective, Reading, TablesForm, matrix
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number

# Tables that were measured in rows: sums over bins of ordered attributes, in as many ways as their readings combine.
#
# All tables of one group read the same attributes. Together they tell the counts of the plain table: along each axis
# the rows y of all readings, each with its share of the precision, are turned into counts by least squares. Where the
# sums over one axis are known exactly, only what the rows tell beyond them is used (docs/proofs/tables.md).

RECORDS = -1
"""Stands for the number of records among the tables that were measured."""
_NOT_TOLD = "the rows that are measured do not tell the counts asked for."


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
    # Where only deviations from the mean are told, the mean itself is set to 0.
    told = seen.T @ seen + (1 / size if centred else 0.0)
    try:
        solved = np.linalg.solve(told, seen.T)
    except np.linalg.LinAlgError:
        raise QueryError(_NOT_TOLD) from None
    if not np.allclose(solved @ seen, wanted, atol=1e-6):
        raise QueryError(_NOT_TOLD)
    cuts = np.split(solved, np.cumsum([len(each) for each in rows])[:-1], axis=1)
    return tuple(cut * share / each.spacing for cut, each, share in zip(cuts, readings, shares, strict=True))


@dataclass(frozen=True, eq=False)
class Group:
    """Measured tables that together tell one table; mostly that is one, counted as it is."""

    block: Block
    """The table that they tell."""
    numbers: tuple[int, ...]
    """The numbers of the tables that were measured."""
    members: tuple[Block, ...]
    variances: tuple[float, ...]
    """The variance of the noise of each."""
    shape: tuple[int, ...]
    """The number of values of each axis."""
    known: tuple[int, int] | None = None
    """An axis over which the sums are known exactly, and the number of the table that tells them."""

    @property
    def whole(self) -> bool:
        """Whether every combination of readings was measured once."""
        return len(set(self.members)) == len(self.members) == prod(len(each) for each in self._shares.values())

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
        """Return the table that the measured tables tell, less its mean along an axis whose sums are known."""
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
            kept = tuple(other for other in self.block.axes if other != axis)
            table = _summed(measured[source], sources[source].axes, kept)
            sums = self.block.of_counts(np.expand_dims(table, at)).astype(np.float64)
        return total - sums * self._shift(axis).reshape([-1 if other == at else 1 for other in range(total.ndim)])

    def _shift(self, axis: int) -> Floats:
        """Return what the readers make of rows that would be the same for all values: it is taken away."""
        size = self.shape[axis]
        along = {
            member.reading[axis]: readers[axis] for member, readers in zip(self.members, self.readers, strict=True)
        }
        return np.sum([reader @ matrix(reading, size).sum(axis=1) for reading, reader in along.items()], axis=0) / size


def _summed(values: npt.NDArray[np.int64], axes: Axes, kept: Axes) -> npt.NDArray[np.int64]:
    """Sum a table down to some of its axes, in their order."""
    summed = values.sum(axis=tuple(at for at, axis in enumerate(axes) if axis not in kept))
    left = [axis for axis in axes if axis in kept]
    return np.asarray(summed).transpose([left.index(axis) for axis in kept])


def groups(
    blocks: Sequence[Block], variances: Sequence[float], shape: tuple[int, ...], *, counted: bool
) -> tuple[Group, ...]:
    """Put the measured tables that tell one table together."""
    found: dict[object, list[int]] = {}
    for number, block in enumerate(blocks):
        read = frozenset(block.reading)
        found.setdefault((block.axes, block.signs, read) if read else number, []).append(number)
    exact = [n for n, block in enumerate(blocks) if not (variances[n] or block.signs or block.readings)]
    made: list[Group] = []
    for numbers in found.values():
        first = blocks[numbers[0]]
        known = None
        for axis in first.reading:
            rest = {*first.axes} - {axis}
            sources = [RECORDS] if counted and not rest else [n for n in exact if rest <= {*blocks[n].axes}]
            known = (axis, sources[0]) if sources else known
        members = tuple(blocks[number] for number in numbers)
        plain = Block(first.axes, first.signs, sum(member.weight for member in members))
        noise = tuple(variances[number] for number in numbers)
        made.append(Group(plain, tuple(numbers), members, noise, shape, known))
    return tuple(made)


# Components of tables of which some were measured in rows along ordered attributes, and the error of ranges.

Along: TypeAlias = Callable[["Member", int, int | None], Floats]
"""The factors of noisy rows along an axis, one column each, given a table and the component's level there."""
Paired: TypeAlias = Callable[[int, Floats, Floats], Floats]
"""What two components have in common along an axis, given the factors of both."""


@dataclass(frozen=True, eq=False)
class Member:
    """One of the tables that tell a table together."""

    block: Block
    number: int
    """Among all tables that were measured."""
    variance: float
    readers: dict[int, Floats]


@dataclass(frozen=True, eq=False)
class RangeComponents(Components):
    """Tables that were measured in rows are turned into plain ones, with noise that is correlated but known."""

    ranges: frozenset[int] = frozenset()
    """Axes of which ranges are asked for."""
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
        """Put what was measured in rows together."""
        made = groups(blocks, variances, shape, counted=counted)
        if not all(group.whole for group in made if group.readers[0]):
            raise QueryError("a table was not measured in all rows that belong together.")
        plain, noise = tuple(group.block for group in made), tuple(group.variances[0] for group in made)
        return cls(shape, plain, noise, tables, counted, nesting, ranges, made)

    @cached_property
    def read(self) -> frozenset[int]:
        """The axes along which rows were measured."""
        return frozenset(axis for group in self.groups for axis in group.readers[0])

    @cached_property
    def _measured(self) -> dict[int, Block]:
        return {n: block for group in self.groups for n, block in zip(group.numbers, group.members, strict=True)}

    def estimate(self, measured: Sequence[npt.NDArray[Any]], records: int | None) -> Estimates:
        return super().estimate([group.counts(measured, records, self._measured) for group in self.groups], records)

    def _tells(self, number: int, wanted: Container[Axes]) -> Iterator[tuple[Axes, float]]:
        """Give each component the mean variance that all rows together leave in it."""
        group = self.groups[number]
        if not group.readers[0]:
            yield from super()._tells(number, wanted)
            return
        for part in self.nesting.parts(group.block.counted):
            component = tuple(sorted((*part, *group.block.signs)))
            if component in wanted and (group.known is None or group.known[0] in part):
                plain = self._summed(group.block, part) / prod(
                    self.shape[axis] for axis in group.readers[0] if axis not in part
                )
                spread = sum(
                    variance * prod(_spread(reader, inside=axis in part) for axis, reader in readers.items())
                    for variance, readers in zip(group.variances, group.readers, strict=True)
                )
                yield component, 2 ** len(group.block.signs) / (plain * spread)

    def variance(self, axes: Axes, chosen: Sequence[Sequence[int]] | None = None) -> float:
        if self.read.isdisjoint(axes):
            return super().variance(axes, chosen)
        return float(self.cell_variances(axes).max()) if chosen is None else self._of_sum(axes, chosen)

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

    def told(self, axes: Axes) -> Iterator[tuple[int, dict[Axes, float], list[tuple[Axes, Axes, float]]]]:
        """Go through the groups that have a share in a table.

        That is a group's number, how precisely it tells each component, and what its noise puts into every two of
        them, on average over ranges and cells.
        """
        for number, parts in self._parts_of(axes).items():
            precise = {component: share * self._told[component].precision for component, share in parts}
            pairs = self._pairs(number, list(precise), axes, self._factors, self._on_average)
            yield number, precise, [(first, second, float(value)) for first, second, value in pairs]

    def cell_variances(self, axes: Axes) -> Floats:
        if self.read.isdisjoint(axes):
            return super().cell_variances(axes)

        def paired(axis: int, first: Floats, second: Floats) -> Floats:
            return beside((first * second).sum(axis=1), axes.index(axis), len(axes))

        return np.maximum(self._total(axes, self._factors, paired), 0.0)

    def _of_sum(self, axes: Axes, chosen: Sequence[Sequence[int]]) -> float:
        """Return the variance of a sum of chosen cells."""
        weights = {axis: np.bincount(c, minlength=self.shape[axis]) for axis, c in zip(axes, chosen, strict=True)}

        def along(member: Member, axis: int, level: int | None) -> Floats:
            return self._response(member, axis, level, weights[axis].astype(np.float64))[None]

        return max(float(self._total(axes, along, lambda _, first, second: np.asarray((first * second).sum()))), 0.0)

    def _members(self, number: int) -> Iterator[Member]:
        group = self.groups[number]
        for parts in zip(group.numbers, group.variances, group.readers, strict=True):
            yield Member(group.block, *parts)

    def _total(self, axes: Axes, along: Along, paired: Paired) -> Floats:
        """Sum the variance over all measured tables and pairs of components that each has a share in."""
        total = np.zeros(())
        for number, parts in self._parts_of(axes).items():
            shares = dict(parts)
            for first, second, both in self._pairs(number, list(shares), axes, along, paired):
                total = total + shares[first] * shares[second] * both
        return total

    def _pairs(
        self, number: int, components: Sequence[Axes], axes: Axes, along: Along, paired: Paired
    ) -> Iterator[tuple[Axes, Axes, Floats]]:
        """Go through what the noise of a group puts into every two components together."""
        of = {each: {self.nesting.family(level): level for level in each} for each in components}
        for member in self._members(number):
            if member.variance:
                common: list[dict[tuple[int | None, int | None], Floats]] = []
                for axis in axes:
                    levels = {found.get(self.nesting.family(axis)) for found in of.values()}
                    factors = {level: along(member, axis, level) for level in levels}
                    both = product(levels, repeat=2)
                    common.append({(a, b): paired(axis, factors[a], factors[b]) for a, b in both})
                noise = member.variance * self._others(member, axes)
                for first, second in product(components, repeat=2):
                    value = np.asarray(noise)
                    for axis, found in zip(axes, common, strict=True):
                        family = self.nesting.family(axis)
                        value = value * found[of[first].get(family), of[second].get(family)]
                    yield first, second, value

    def noise_in(self, axes: Axes, weights: Sequence[Floats]) -> Iterator[tuple[int, float, Floats, int]]:
        """Say what is in a weighted sum of cells, for each table that was measured.

        That is its number, the variance of its noise, the factors of its numbers, and how often there is each factor.
        """
        for number, parts in self._parts_of(axes).items():
            for member in self._members(number):
                outside = self._outside(member, axes)
                summed = [member.readers[axis].sum(axis=0) for axis in outside if axis in member.readers]
                factors: Floats = np.zeros(1)
                for component, share in parts:
                    of = {self.nesting.family(level): level for level in component}
                    one = np.array([share])
                    for axis, each in zip(axes, weights, strict=True):
                        one = np.outer(one, self._response(member, axis, of.get(self.nesting.family(axis)), each))
                    factors = factors + one.reshape(-1)
                for each in summed:
                    factors = np.asarray(np.outer(factors, each), dtype=np.float64).reshape(-1)
                many = prod(self.shape[axis] for axis in outside if axis not in member.readers)
                if member.variance:
                    yield member.number, member.variance, factors, many

    def _outside(self, member: Member, axes: Axes) -> list[int]:
        """List the axes along which a table that was measured is summed up for another."""
        inside = {self.nesting.family(axis) for axis in axes}
        return [axis for axis in member.block.counted if self.nesting.family(axis) not in inside]

    def _others(self, member: Member, axes: Axes) -> float:
        """Return how much noise is added up over the attributes that a table does not have."""
        outside = self._outside(member, axes)
        readers = member.readers
        return prod(_spread(readers[axis], inside=False) if axis in readers else self.shape[axis] for axis in outside)

    def _factors(self, member: Member, axis: int, level: int | None) -> Floats:
        """Return the factor of each noisy row in each value of an axis, for a component.

        Where the order of values does not matter, rows with the same factor are one, as often as there are of them.
        """
        if axis in self.ranges:
            return np.stack([self._response(member, axis, level, unit) for unit in np.eye(self.shape[axis])])
        patterns = self._along(member.block, self._measured_level(member, axis), axis)
        return np.stack([np.sqrt(each.many) * each.factors[level] for each in patterns], axis=1)

    def _response(self, member: Member, axis: int, level: int | None, weights: Floats) -> Floats:
        """Return the factor of each noisy row in a weighted sum over the values of an axis, for a component."""
        if axis in member.block.signs:
            return np.array([(weights[0] - weights[1]) / 2])
        plain = self.nesting.response(weights, axis, level, self._measured_level(member, axis), self.shape)
        return plain @ member.readers[axis] if axis in member.readers else plain

    def _measured_level(self, member: Member, axis: int) -> int | None:
        levels = {self.nesting.family(other): other for other in member.block.counted}
        return levels.get(self.nesting.family(axis))


def _spread(reader: Floats, *, inside: bool) -> float:
    """Return how much the noise of rows adds up to: in one value less the mean, or in the sum over all."""
    if inside:
        return float(((reader - reader.mean(axis=0)) ** 2).sum()) / max(len(reader) - 1, 1)
    return float((reader.sum(axis=0) ** 2).sum())


@lru_cache(maxsize=8)
def in_both(size: int) -> Floats:
    """Return, for every two values, the share of ranges that both are in."""
    places = np.arange(size)
    lower, upper = np.minimum.outer(places, places), np.maximum.outer(places, places)
    return (lower + 1) * (size - upper) / (size * (size + 1) / 2)


# The error of sets of tables in which ranges are asked for.

_RANGES = 40


@dataclass(frozen=True, eq=False)
class RangesError(TablesError):
    """The error of a random range in a cell of the other attributes; of a cell, where a table has no ranges."""

    components: RangeComponents

    def __repr__(self) -> str:
        return in_short(self)

    @property
    def of(self) -> str:
        return super().of.replace("a cell", "a random range in a cell", 1)

    def interval(self, level: Number = "0.95") -> float:
        worst = max(range(len(self.by_table)), key=lambda number: self.by_table[number])
        axes = self.components.tables[worst]
        if self.components.ranges.isdisjoint(axes):
            return self.interval_of(axes, level)
        return self._quantile(self._sampled_ranges(axes), level)

    def _sampled(self, axes: Axes) -> Floats:
        """Draw errors of the worst cell."""
        shape = self._shape(axes)
        worst = np.unravel_index(int(self.components.cell_variances(axes).argmax()), shape)
        # Fixed bits, so that everyone computes the same error for the same noise scales.
        weights = [np.eye(1, size, int(at))[0] for size, at in zip(shape, worst, strict=True)]
        return self._errors(axes, weights, DRAWN, SimulationSource("tables"))

    def _sampled_ranges(self, axes: Axes) -> Floats:
        """Draw errors of random ranges, in random cells of the other attributes."""
        generator, source = np.random.default_rng(17), SimulationSource("ranges")
        drawn: list[Floats] = []
        for _ in range(_RANGES):
            weights: list[Floats] = []
            for axis, size in zip(axes, self._shape(axes), strict=True):
                cuts = sorted(generator.choice(size + 1, 2, replace=False).tolist())
                one = int(generator.integers(size))
                first, end = cuts if axis in self.components.ranges else (one, one + 1)
                weights.append(((np.arange(size) >= first) & (np.arange(size) < end)).astype(np.float64))
            drawn.append(self._errors(axes, weights, DRAWN // _RANGES, source))
        return np.concatenate(drawn)

    def _errors(self, axes: Axes, weights: Sequence[Floats], draws: int, source: SimulationSource) -> Floats:
        """Draw errors of a sum: noise that weighs much as it is, all that weighs little as one normal variable."""
        noise = list(self.components.noise_in(axes, weights))
        total = rest = sum(variance * many * float(factors @ factors) for _, variance, factors, many in noise)
        drawn = np.zeros(draws)
        for number, variance, factors, many in noise:
            large = factors[variance * factors**2 > LITTLE * total] if many <= MOST_DRAWN else factors[:0]
            if len(large):
                each = discrete_laplace(self.scales[number], (len(large), many, draws), source=source)
                drawn += large @ each.sum(axis=1)
                rest -= variance * many * float(large @ large)
        normal = np.random.default_rng(17).standard_normal(draws)
        return np.abs(drawn + sqrt(max(rest, 0.0)) * normal)


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
Strategy = tuple[tuple[Level, float], ...]
"""Rows, and the weight of each if a plain table has weight 1; empty where values are counted as they are."""


def row_kind(level: object) -> str:
    """Name the rows that are read."""
    return next(name for name, kind in KINDS.items() if isinstance(level, kind))


def beside_public(size: int, reach: int) -> Strategy:
    """Choose rows where a secret pair moves at most ``reach`` values along the attribute, and changes no other."""
    levels = choose_levels(size, reach, Fraction(1), None)
    if [(row_kind(level), level.spacing) for level in levels] == [("hats", 1)]:
        return ()
    # A plain table changes by 2, and these levels by 1.
    return tuple((type(level)(level.spacing, Fraction(0)), float(2 * level.spacing / level.scale)) for level in levels)


@lru_cache(maxsize=64)
def beside_secrets(size: int) -> Strategy:
    """Choose rows of which a record is in as much as in a single value."""
    spacings = {max(2, round(factor * sqrt(size))) for factor in (1.1, 1.3, 1.5)} if size <= _COMPARED else set[int]()
    spacings = spacings or {round(1.3 * sqrt(size))}
    tried: list[Strategy] = [()]
    for spacing, share in product(sorted(spacings), (0.5, 0.55)):
        if spacing < size:
            tried.append(((_level("hats", 1), share), (_level("hats", spacing), 1 - share)))
    return min(tried, key=lambda strategy: _range_error(size, strategy))


def _level(kind: str, spacing: int) -> Level:
    return KINDS[kind](spacing, Fraction(0))


def _range_error(size: int, strategy: Strategy) -> float:
    """Return the variance of a random range, for noise of variance 1 on rows of weight 1."""
    levels, shares = zip(*(strategy or ((_level("hats", 1), 1.0),)), strict=True)
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
    if all(secret.isdisjoint(rest) for rest in others):
        reach = graph.largest_move(form.domain.names[axis])
        return beside_public(form.shape[axis], reach) if reach else ()
    return beside_secrets(form.shape[axis])


# Weights for tables that read rows: planned as if all attributes were counted, then balanced for what is asked.
#
# The planner knows neither what a random range is worth nor that a threshold makes rows cheaper. So the weights of its
# tables are alternated once more as in :mod:`alternating`, each table with all its rows together, on the exact error of
# ranges and the exact cost of every secret pair.

_ROUNDS, _PATIENCE, _FILLING = 300, 30, 20
_MOST_TABLES = 300
"""Larger sets keep the weights of the planner."""
Places: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GroupInformation:
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
) -> tuple[GroupInformation, list[int]]:
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
    balance = GroupInformation(
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
