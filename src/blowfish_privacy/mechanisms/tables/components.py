"""How precisely noisy tables determine each component, and the tables that are put together from them.

The component of a set S of attributes is the part of its table that is in no smaller one: the counts, less whatever
follows from the tables of fewer attributes if these are spread evenly. Every table is the sum of its components, each
spread evenly over the table's other attributes. Noise of different components is uncorrelated, so the best linear
unbiased estimate of each is the mean of all that measured it, weighted by precision (docs/proofs/tables.md). Where an
attribute is looked at on several levels, a component names the level; the estimate is as unbiased, and its error exact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import inf, prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.tables.nesting import CoarserTable, LevelPattern, Nesting, beside
from blowfish_privacy.mechanisms.tables.shapes import Axes, parts
from blowfish_privacy.queries.tables import Block, Objective
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.progress import task

# What is known of components from all measured tables together.


@dataclass(slots=True)
class Information:
    """What is known of one component from the measured tables."""

    precision: float = 0.0
    """Of all of them together; infinite where one is exact."""
    tables: int = 0
    first: int = -1
    """The number of the first table that contains it, or of the first that is exact."""


Estimates: TypeAlias = Callable[[Axes], Floats]
"""Returns the estimate of a component: some are held, the others are worked out each time they are asked for."""


class Noise(NamedTuple):
    """The noise of one measured table in a sum: its variance, the factors of its numbers, how often there is each."""

    number: int
    variance: float
    factors: Floats
    many: int


# The errors of very many tables at once: the closed form of :class:`Components`, in arrays.
#
# Sets of all tables of three of a hundred attributes have 161,700 tables and as many components; one at a time they
# take half a minute. A component is a number here: its axes, ascending, as digits.


Precisions: TypeAlias = tuple[Integers, Floats]
"""Numbers of components, and the precision with which each is known."""


def cell_variances(
    shape: Sequence[int], known: Sequence[Precisions], tables: Sequence[Axes], *, counted: bool
) -> Floats:
    """Return the variance of a cell of each table, given the precisions of components."""
    numbers, precisions = (np.concatenate(each) for each in zip(*known, strict=True))
    components, place = np.unique(numbers, return_inverse=True)
    spread = 1 / np.bincount(place, precisions)
    if counted and len(components) and components[0] == 0:
        spread[0] = 0.0
    sizes = np.array(shape, dtype=np.float64)
    found = np.zeros(len(tables))
    for where, axes in _by_length(tables):
        for part in parts(tuple(range(axes.shape[1]))):
            rest = [at for at in range(axes.shape[1]) if at not in part]
            weight = (1 - 1 / sizes[axes[:, [*part]]]).prod(axis=1) / (sizes[axes[:, rest]] ** 2).prod(axis=1)
            if part or not counted:
                # Components along attributes of one value are not among those known, and weigh nothing.
                at = np.searchsorted(components, _numbered(axes[:, [*part]], len(shape)))
                found[where] += weight * spread[np.minimum(at, len(components) - 1)]
    return found


def table_precisions(
    shape: Sequence[int], blocks: Sequence[Block], variances: Sequence[float], *, alone: bool = False
) -> Precisions:
    """Number the components of each measured table, with their precisions; if alone, not those of smaller tables."""
    sizes = np.array(shape, dtype=np.float64)
    noise = np.array(variances, dtype=np.float64)
    every: list[Integers] = [np.zeros(0, dtype=np.int64)]
    precisions: list[Floats] = [np.zeros(0)]
    for signs in dict.fromkeys(len(block.signs) for block in blocks):
        chosen = [number for number, block in enumerate(blocks) if len(block.signs) == signs]
        for where, axes in _by_length([blocks[number].axes for number in chosen]):
            counted = axes.shape[1] - signs
            of = noise[np.array(chosen)[where]]
            every_axis = tuple(range(counted))
            for part in [every_axis] if alone else parts(every_axis):
                rest = [at for at in range(counted) if at not in part]
                kept = axes[:, [*part, *range(counted, axes.shape[1])]]
                every.append(_numbered(kept, len(shape)))
                with np.errstate(divide="ignore"):
                    precisions.append(2**signs / (of * sizes[axes[:, rest]].prod(axis=1)))
    return np.concatenate(every), np.concatenate(precisions)


def _by_length(tables: Sequence[Axes]) -> Iterator[tuple[Integers, Integers]]:
    """Go through the tables of each number of axes: which they are, and their axes, one row each."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for number, axes in enumerate(tables):
        by_length[len(axes)].append(number)
    for length, chosen in by_length.items():
        rows = np.array([tables[number] for number in chosen], dtype=np.int64).reshape(len(chosen), length)
        yield np.array(chosen), rows


def _numbered(axes: Integers, attributes: int) -> Integers:
    """Number sets of axes: their digits, ascending."""
    numbers = np.zeros(len(axes), dtype=np.int64)
    for column in np.sort(axes, axis=1).T:
        numbers = numbers * (attributes + 1) + column + 1
    return numbers


@dataclass(frozen=True, eq=False)
class Member:
    """One of the measured tables from which a table is estimated."""

    block: Block
    number: int
    """Among all tables that were measured."""
    variance: float
    readers: dict[int, Floats]


Factors: TypeAlias = Callable[["Member", int, int | None], Floats]
"""The factors of noisy rows along an axis, one column each, given a table and the component's level there."""
Paired: TypeAlias = Callable[[int, Floats, Floats], Floats]
"""What two components have in common along an axis, given the factors of both."""


@dataclass(frozen=True, eq=False)
class Components:
    """How precisely each component of some tables is known from noisy ones."""

    shape: tuple[int, ...]
    """The number of values of each axis."""
    blocks: tuple[Block, ...]
    """The tables that were measured."""
    variances: tuple[float, ...]
    """The variance of the noise in a cell of each; 0 where it is exact."""
    tables: tuple[Axes, ...]
    """The tables that are put together."""
    counted: bool
    """Whether the number of records is known exactly."""
    nesting: Nesting = field(default_factory=Nesting)
    ranges: frozenset[int] = frozenset()
    """Axes of which ranges are asked for."""

    @cached_property
    def spread(self) -> dict[Axes, float]:
        """For each component, the variance of a cell before it is made to sum to zero along each attribute."""
        return {component: 1 / known.precision for component, known in self._information.items()}

    def check(self) -> None:
        """Refuse tables that the measured ones do not determine."""
        _ = self._information

    @property
    def exact(self) -> frozenset[Axes]:
        """The components without noise, but for those along attributes of one value, which are always zero."""
        several = {axis for axis, size in enumerate(self.shape) if size > 1}
        return frozenset(each for each, variance in self.spread.items() if not variance and several.issuperset(each))

    @cached_property
    def _information(self) -> dict[Axes, Information]:
        """What is known of each component from all tables together."""
        found = {component: Information() for table in self.tables for component in self.nesting.parts(table)}
        for number in range(len(self.blocks)):
            for component, precision in self._precisions(number, found):
                known = found[component]
                if not known.tables or known.precision < precision == inf:
                    known.first = number
                known.tables += 1
                known.precision += precision
        if self.counted:
            found[()] = Information(inf, 1)
        # Along an attribute of one value there is nothing beyond the other attributes.
        single = {axis for axis, size in enumerate(self.shape) if size == 1}
        found |= {component: Information(inf, 1) for component in found if not single.isdisjoint(component)}
        if not all(known.tables for known in found.values()):
            raise QueryError("the tables that are measured do not determine all the tables asked for.")
        return found

    def _precisions(self, number: int, wanted: Container[Axes]) -> Iterator[tuple[Axes, float]]:
        """Go through the components of a measured table, each with its precision there."""
        block, variance = self.blocks[number], self.variances[number]
        for part in self.nesting.parts(block.counted):
            component = tuple(sorted((*part, *block.signs)))
            if component in wanted:
                precision = 2 ** len(block.signs) / (variance * self._summed(block, part)) if variance else inf
                yield component, precision

    def _summed(self, block: Block, part: Axes) -> float:
        """Return how many cells of a measured table one cell of a component adds up, on average where they differ."""
        if not self.nesting.parents:
            return float(prod([self.shape[axis] for axis in block.counted if axis not in part]))
        levels, many = self.nesting.levels(part), 1.0
        for axis in block.counted:
            level = levels.get(self.nesting.family(axis))
            if level is None:
                many *= self.shape[axis]
            elif level != axis:
                left = 1 - self.nesting.part(level, self.shape[level])
                inside = np.bincount(self.nesting.positions(axis, level), minlength=self.shape[level])
                # A level on which nothing has a sibling adds nothing to the next coarser one.
                left = np.broadcast_to(left, inside.shape)
                many *= float((inside * left).sum() / left.sum()) if left.any() else float(inside.mean())
        return many

    def estimate(self, measured: Sequence[npt.NDArray[Any]], records: int | None) -> Estimates:
        """Return the best estimate of every component, given the noisy tables in the order of the blocks.

        One that a single table contains is worked out when it is needed: these are the largest ones, and the most.
        """
        held: dict[Axes, Floats] = {
            component: np.zeros([self.shape[axis] for axis in component], dtype=np.float64)
            for component, known in self._information.items()
            if known.tables > 1 and known.precision < inf
        }
        with task("Putting tables together") as report:
            for number, block in enumerate(self.blocks):
                shares = self._shares(number, held)
                values = measured[number].astype(np.float64) if shares else np.zeros(0)
                for component, share in shares:
                    held[component] += share * self._component(values, block, component)
                if report:
                    report(number / len(self.blocks))
        if records is not None or self.counted:
            held[()] = np.asarray(float(records or 0))

        def estimated(component: Axes) -> Floats:
            number = self._information[component].first
            if component in held:
                return held[component]
            if number < 0:
                return np.zeros([self.shape[axis] for axis in component])
            return self._component(measured[number].astype(np.float64), self.blocks[number], component)

        return estimated

    def _component(self, values: Floats, block: Block, component: Axes) -> Floats:
        """Sum a table down to some of its attributes, and take away what coarser tables contain along each of them."""
        shown = tuple([axis for axis in component if axis not in block.signs])
        part = CoarserTable(self.shape, self.nesting, block.counted, shown)
        found, order = part.contrasts(part.sums(values)), [*shown, *block.signs]
        for _ in block.signs:
            found = np.stack([found / 2, -found / 2], axis=-1)
        return np.asarray(found).transpose([order.index(axis) for axis in component])

    def covers(self, axes: Axes) -> bool:
        """Say whether a table is one of those that are put together, or a sum of one."""
        return tuple(sorted(axes)) in self.spread

    def table(self, estimated: Estimates, axes: Axes) -> Floats:
        """Put a table together from its components, with its axes in this order."""
        total = np.zeros([self.shape[axis] for axis in axes], dtype=np.float64)
        families = {self.nesting.family(axis): at for at, axis in enumerate(axes)}
        for component in self.nesting.parts(axes):
            places = {families[self.nesting.family(level)]: level for level in component}
            found = estimated(component).transpose([component.index(places[at]) for at in sorted(places)])
            found = found.reshape([self.shape[places[at]] if at in places else 1 for at in range(len(axes))])
            for at, axis in enumerate(axes):
                if at not in places:
                    shares = self.nesting.shares(None, axis, self.shape[axis])
                    found = found * beside(shares, at, len(axes))
                else:
                    found = self.nesting.split(found, at, places[at], axis)
            total += found
        return total

    def uneven(self, axes: Axes) -> bool:
        """Say whether the cells of a table have different variances."""
        return any(axis in self.nesting.parents or axis in self.nesting.parents.values() for axis in axes)

    def variance(self, axes: Axes, chosen: Sequence[Sequence[int]] | None = None) -> float:
        """Return the variance of a cell of a table, the largest where they differ, or of a sum of chosen cells."""
        if self.uneven(axes):
            return float(self.cell_variances(axes).max()) if chosen is None else self._of_sum(axes, chosen)
        many = dict(zip(axes, [1] * len(axes) if chosen is None else map(len, chosen), strict=True))
        inside = {axis: count * (1 - count / self.shape[axis]) for axis, count in many.items()}
        outside = {axis: (count / self.shape[axis]) ** 2 for axis, count in many.items()}
        return sum(
            self.spread[component] * prod([inside[axis] if axis in component else outside[axis] for axis in axes])
            for component in self.nesting.parts(axes)
        )

    @cached_property
    def table_variances(self) -> tuple[float, ...]:
        """The variance of a cell of each table, the largest where they differ."""
        longest = max(len(axes) for axes in (*self.tables, *(block.axes for block in self.blocks)))
        if self.nesting.parents or (len(self.shape) + 1) ** longest >= 2**62:
            return tuple(self.variance(axes) for axes in self.tables)
        found = cell_variances(self.shape, self._numbered(), self.tables, counted=self.counted)
        return tuple(found.tolist())

    def objective(self, objective: Objective) -> float:
        """Return the variance of a cell of the worst table, or the mean over all cells, each table with a weight."""
        if objective == "worst":
            return max(self.table_variances)
        weights = (1.0,) * len(self.tables) if objective == "mean" else objective
        cells = [
            weight * prod(self.shape[axis] for axis in axes) for weight, axes in zip(weights, self.tables, strict=True)
        ]
        return sum(many * each for many, each in zip(cells, self.table_variances, strict=True)) / sum(cells)

    def _numbered(self) -> list[Precisions]:
        """Return the precisions of components from the measured tables, in arrays."""
        return [table_precisions(self.shape, self.blocks, self.variances)]

    def cell_variances(self, axes: Axes) -> Floats:
        """Return the variance of every cell of a table."""
        shape = [self.shape[axis] for axis in axes]
        if not self.uneven(axes):
            return np.full(shape, self.variance(axes))

        def paired(axis: int, first: Floats, second: Floats) -> Floats:
            return beside((first * second).sum(axis=1), axes.index(axis), len(axes))

        return np.maximum(np.broadcast_to(self._total(axes, self._factors, paired), shape), 0.0)

    def noise_in_cell(self, axes: Axes, cell: Sequence[int]) -> Iterator[Noise]:
        """Go through the noise in one cell: that of measured numbers which agree with it on the same levels at once."""
        for number, shares in self._parts_of(axes).items():
            block = self.blocks[number]
            others = prod(self.shape[axis] for axis in self._outside(block, axes))
            families = [self.nesting.family(axis) for axis in axes]
            for patterns in product(*(self._patterns(block, axis) for axis in axes)):
                here = [*zip(families, patterns, cell, strict=True)]
                many = round(others * prod(float(pattern.many[place]) for _, pattern, place in here))
                factor = 0.0
                for component, share in shares:
                    chosen = self.nesting.levels(component)
                    factor += share * prod(
                        float(pattern.factors[chosen.get(family)][place]) for family, pattern, place in here
                    )
                if many:
                    yield Noise(number, self.variances[number], np.array([factor]), many)

    def _patterns(self, block: Block, axis: int) -> list[LevelPattern]:
        if axis in block.signs:
            return [LevelPattern(np.ones(2), {axis: np.full(2, 0.5)})]
        return self.nesting.patterns(axis, self._level(block, axis), self.shape)

    def _factors(self, member: Member, axis: int, level: int | None) -> Floats:
        """Return the factor of each noisy row in each value of an axis, for a component.

        Where the order of values does not matter, rows with the same factor are one, as often as there are of them.
        """
        if axis in self.ranges:
            return np.stack([self._response(member, axis, level, unit) for unit in np.eye(self.shape[axis])])
        patterns = self._patterns(member.block, axis)
        return np.stack([np.sqrt(each.many) * each.factors[level] for each in patterns], axis=1)

    def _parts_of(self, axes: Axes) -> dict[int, list[tuple[Axes, float]]]:
        """For each measured table with noise, the components of a table that it has a share in."""
        noisy = {each for each in self.nesting.parts(axes) if self._information[each].precision < inf}
        families = self.nesting.levels(axes).keys()
        found: dict[int, list[tuple[Axes, float]]] = {}
        for number, block in enumerate(self.blocks):
            if () in noisy or not families.isdisjoint(map(self.nesting.family, block.axes)):
                shares = self._shares(number, noisy)
                if shares:
                    found[number] = shares
        return found

    def _shares(self, number: int, wanted: Container[Axes]) -> list[tuple[Axes, float]]:
        """List the components of a measured table, each with the table's share in what is known of it."""
        held = self._precisions(number, wanted)
        return [(component, precision / self._information[component].precision) for component, precision in held]

    def _of_sum(self, axes: Axes, chosen: Sequence[Sequence[int]]) -> float:
        """Return the variance of a sum of chosen cells."""
        weights = {axis: np.bincount(c, minlength=self.shape[axis]) for axis, c in zip(axes, chosen, strict=True)}

        def factors(member: Member, axis: int, level: int | None) -> Floats:
            return self._response(member, axis, level, weights[axis].astype(np.float64))[None]

        return max(float(self._total(axes, factors, lambda _, first, second: np.asarray((first * second).sum()))), 0.0)

    def _members(self, number: int) -> Iterator[Member]:
        """List the tables that were measured for a table."""
        yield Member(self.blocks[number], number, self.variances[number], {})

    def _total(self, axes: Axes, factors: Factors, paired: Paired) -> Floats:
        """Sum the variance over all measured tables and pairs of components that each has a share in."""
        total = np.zeros(())
        for number, held in self._parts_of(axes).items():
            shares = dict(held)
            for first, second, both in self._pairs(number, list(shares), axes, factors, paired):
                total = total + shares[first] * shares[second] * both
        return total

    def _pairs(
        self, number: int, components: Sequence[Axes], axes: Axes, factors: Factors, paired: Paired
    ) -> Iterator[tuple[Axes, Axes, Floats]]:
        """Go through what the noise of a group puts into every two components together."""
        of = {each: self.nesting.levels(each) for each in components}
        for member in self._members(number):
            if member.variance:
                common: list[dict[tuple[int | None, int | None], Floats]] = []
                for axis in axes:
                    levels = {found.get(self.nesting.family(axis)) for found in of.values()}
                    by_level = {level: factors(member, axis, level) for level in levels}
                    both = product(levels, repeat=2)
                    common.append({(a, b): paired(axis, by_level[a], by_level[b]) for a, b in both})
                # How much noise is added up over the attributes that the table does not have.
                readers, outside = member.readers, self._outside(member.block, axes)
                noise = member.variance * prod(
                    spread_of(readers[axis], inside=False) if axis in readers else self.shape[axis] for axis in outside
                )
                for first, second in product(components, repeat=2):
                    value = np.asarray(noise)
                    for axis, found in zip(axes, common, strict=True):
                        family = self.nesting.family(axis)
                        value = value * found[of[first].get(family), of[second].get(family)]
                    yield first, second, value

    def _outside(self, block: Block, axes: Axes) -> list[int]:
        """List the axes along which a table that was measured is summed up for another."""
        inside = self.nesting.levels(axes)
        return [axis for family, axis in self.nesting.levels(block.counted).items() if family not in inside]

    def _response(self, member: Member, axis: int, level: int | None, weights: Floats) -> Floats:
        """Return the factor of each noisy row in a weighted sum over the values of an axis, for a component."""
        if axis in member.block.signs:
            return np.array([(weights[0] - weights[1]) / 2])
        plain = self.nesting.response(weights, axis, level, self._level(member.block, axis), self.shape)
        return plain @ member.readers[axis] if axis in member.readers else plain

    def _level(self, block: Block, axis: int) -> int | None:
        """Return the level of an axis's attribute that a table counts."""
        return self.nesting.levels(block.counted).get(self.nesting.family(axis))


def spread_of(reader: Floats, *, inside: bool) -> float:
    """Return how much the noise of rows adds up to: in one value less the mean, or in the sum over all."""
    if inside:
        return float(((reader - reader.mean(axis=0)) ** 2).sum()) / max(len(reader) - 1, 1)
    return float((reader.sum(axis=0) ** 2).sum())
