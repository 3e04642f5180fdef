"""Components of tables of which some were measured in rows along ordered attributes, and the error of ranges."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.tables.components import Components, beside
from blowfish_privacy.mechanisms.tables.nesting import Axes, Nesting
from blowfish_privacy.mechanisms.tables.ranges.groups import Group, groups
from blowfish_privacy.mechanisms.tables.told import Estimates
from blowfish_privacy.queries.tables import Block
from blowfish_privacy.support.arrays import Floats

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
        """Return the estimate of every component, given the noisy tables in the order they were measured in."""
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
        """Return the variance of a cell of a table, the largest where they differ, or of a sum of chosen cells."""
        if self.read.isdisjoint(axes):
            return super().variance(axes, chosen)
        return float(self.cell_variances(axes).max()) if chosen is None else self._of_sum(axes, chosen)

    @cached_property
    def table_variances(self) -> tuple[float, ...]:
        """The mean squared error of a random range in a cell of each table, or of a cell where no ranges are asked."""
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
        """Return the variance of every cell of a table."""
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
