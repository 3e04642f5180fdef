"""What noisy tables tell about each component, and the tables that are put together from them.

The component of a set S of attributes is the part of its table that is in no smaller one: the counts, less whatever
follows from the tables of fewer attributes if these are spread evenly. Every table is the sum of its components, each
spread evenly over the table's other attributes. Noise of different components is uncorrelated, so the best linear
unbiased estimate of each is the mean of all that measured it, weighted by precision (docs/proofs/tables.md). Where an
attribute is looked at on several levels, a component names the level; the estimate is as unbiased, and its error exact.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import inf, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.tables import many_tables
from blowfish_privacy.mechanisms.tables.many_tables import Precisions
from blowfish_privacy.mechanisms.tables.nesting import Axes, Nesting, Pattern
from blowfish_privacy.mechanisms.tables.told import Estimates, Told
from blowfish_privacy.queries.tables import Block, Objective
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.progress import task


def subsets(axes: Axes) -> Iterator[Axes]:
    """Go through the components of a table without levels: all subsets of its axes."""
    return Nesting().parts(axes)


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

    @cached_property
    def spread(self) -> dict[Axes, float]:
        """For each component, the variance of a cell before it is made to sum to zero along each attribute."""
        return {component: 1 / told.precision for component, told in self._told.items()}

    def check(self) -> None:
        """Refuse tables of which the measured ones do not tell everything."""
        _ = self._told

    @property
    def exact(self) -> frozenset[Axes]:
        """The components without noise, but for those along attributes of one value, which are always zero."""
        several = {axis for axis, size in enumerate(self.shape) if size > 1}
        return frozenset(each for each, variance in self.spread.items() if not variance and several.issuperset(each))

    @cached_property
    def _told(self) -> dict[Axes, Told]:
        """What all tables together tell of each component."""
        found = {component: Told() for table in self.tables for component in self.nesting.parts(table)}
        for number in range(len(self.blocks)):
            for component, precision in self._tells(number, found):
                found[component].add(number, precision)
        if self.counted:
            found[()] = Told(inf, 1)
        # Along an attribute of one value there is nothing beyond what the other attributes tell.
        single = {axis for axis, size in enumerate(self.shape) if size == 1}
        found |= {component: Told(inf, 1) for component in found if not single.isdisjoint(component)}
        if not all(told.tables for told in found.values()):
            raise QueryError("the tables that are measured do not tell all the tables asked for.")
        return found

    def _tells(self, number: int, wanted: Container[Axes]) -> Iterator[tuple[Axes, float]]:
        """Go through the components that a measured table tells, and how precisely it does."""
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
        levels = {self.nesting.family(axis): axis for axis in part}
        many = 1.0
        for axis in block.counted:
            level = levels.get(self.nesting.family(axis))
            if level is None:
                many *= self.shape[axis]
            elif level != axis:
                left = 1 - self.nesting.part(level, self.shape[level])
                inside = np.bincount(self.nesting.positions(axis, level), minlength=self.shape[level])
                # A level on which nothing has a sibling tells nothing beyond the next coarser one.
                left = np.broadcast_to(left, inside.shape)
                many *= float((inside * left).sum() / left.sum()) if left.any() else float(inside.mean())
        return many

    def estimate(self, measured: Sequence[npt.NDArray[Any]], records: int | None) -> Estimates:
        """Return the best estimate of every component, given the noisy tables in the order of the blocks.

        One that a single table told is worked out when it is asked for: these are the largest ones, and the most.
        """
        held: dict[Axes, Floats] = {
            component: np.zeros([self.shape[axis] for axis in component], dtype=np.float64)
            for component, told in self._told.items()
            if told.tables > 1 and told.precision < inf
        }
        with task("Putting tables together") as report:
            for number, block in enumerate(self.blocks):
                told = self._tells(number, held)
                shares = [(each, precision / self._told[each].precision) for each, precision in told]
                values = measured[number].astype(np.float64) if shares else np.zeros(0)
                for component, share in shares:
                    held[component] += share * self._component(values, block, component)
                if report:
                    report(number / len(self.blocks))
        if records is not None or self.counted:
            held[()] = np.asarray(float(records or 0))
        return Estimates(held, self.spread, lambda component: self._told_by_one(measured, component))

    def _told_by_one(self, measured: Sequence[npt.NDArray[Any]], component: Axes) -> Floats:
        """Return a component that a single table told, or that one told exactly."""
        number = self._told[component].first
        if number < 0:
            return np.zeros([self.shape[axis] for axis in component])
        return self._component(measured[number].astype(np.float64), self.blocks[number], component)

    def _component(self, values: Floats, block: Block, component: Axes) -> Floats:
        """Sum a table down to some of its attributes, and take away what coarser tables tell along each of them."""
        levels = {self.nesting.family(axis): axis for axis in component}
        kept = [(axis, levels.get(self.nesting.family(axis))) for axis in block.counted]
        found = values.sum(axis=tuple(at for at, (_, level) in enumerate(kept) if level is None))
        order: list[int] = []
        for axis, level in kept:
            if level is not None:
                at = len(order)
                found = self.nesting.contrast(self.nesting.summed(found, at, axis, level), at, level)
                order.append(level)
        for sign in block.signs:
            found = np.stack([found / 2, -found / 2], axis=-1)
            order.append(sign)
        return np.asarray(found).transpose([order.index(axis) for axis in component])

    def tell(self, axes: Axes) -> bool:
        """Say whether a table is one of those that are put together, or a sum of one."""
        return tuple(sorted(axes)) in self.spread

    def table(self, components: Mapping[Axes, Floats], axes: Axes) -> Floats:
        """Put a table together from its components, with its axes in this order."""
        total = np.zeros([self.shape[axis] for axis in axes], dtype=np.float64)
        families = {self.nesting.family(axis): at for at, axis in enumerate(axes)}
        for component in self.nesting.parts(axes):
            places = {families[self.nesting.family(level)]: level for level in component}
            found = components[component].transpose([component.index(places[at]) for at in sorted(places)])
            found = found.reshape([self.shape[places[at]] if at in places else 1 for at in range(len(axes))])
            for at, axis in enumerate(axes):
                if at not in places:
                    shares = self.nesting.shares(None, axis, self.shape[axis])
                    found = found * shares.reshape([-1 if other == at else 1 for other in range(len(axes))])
                else:
                    found = self.nesting.split(found, at, places[at], axis)
            total += found
        return total

    def variance(self, axes: Axes, chosen: Sequence[Sequence[int]] | None = None) -> float:
        """Return the variance of a cell of a table, the largest where they differ, or of a sum of chosen cells."""
        if self.nesting.nested(axes):
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
        if self.nesting.parents or not many_tables.fits(self.shape, longest):
            return tuple(self.variance(axes) for axes in self.tables)
        found = many_tables.cell_variances(self.shape, self._numbered(), self.tables, counted=self.counted)
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
        """Say how precisely components are told, in arrays."""
        return [many_tables.told_by_tables(self.shape, self.blocks, self.variances)]

    def cell_variances(self, axes: Axes) -> Floats:
        """Return the variance of every cell of a table."""
        shape = [self.shape[axis] for axis in axes]
        if not self.nesting.nested(axes):
            return np.full(shape, self.variance(axes))
        total = np.zeros(shape)
        for number, factor, many in self.loads(axes):
            total += self.variances[number] * factor**2 * many
        return total

    def loads(self, axes: Axes) -> Iterator[tuple[int, Floats, Floats]]:
        """Say how much of the noise of each measured table is in each cell: with which factor, from how many cells."""
        every = list(enumerate(axes))
        for number, parts in self._parts_of(axes).items():
            block = self.blocks[number]
            levels = {self.nesting.family(axis): axis for axis in block.counted}
            inside = {self.nesting.family(axis) for axis in axes}
            others = prod(self.shape[axis] for axis in block.counted if self.nesting.family(axis) not in inside)
            along = [self._along(block, levels.get(self.nesting.family(axis)), axis) for axis in axes]
            for patterns in product(*along):
                many = np.full([self.shape[axis] for axis in axes], float(others))
                for at, pattern in enumerate(patterns):
                    many = many * beside(pattern.many, at, len(axes))
                factor = np.zeros(())
                for component, share in parts:
                    chosen = {self.nesting.family(level): level for level in component}
                    one = np.asarray(share)
                    for at, axis in every:
                        factors = patterns[at].factors[chosen.get(self.nesting.family(axis))]
                        one = one * beside(factors, at, len(axes))
                    factor = factor + one
                if many.any():
                    yield number, np.broadcast_to(factor, many.shape), many

    def _along(self, block: Block, measured: int | None, axis: int) -> list[Pattern]:
        if axis in block.signs:
            return [Pattern(np.ones(2), {axis: np.full(2, 0.5)})]
        return self.nesting.patterns(axis, measured, self.shape)

    def _parts_of(self, axes: Axes) -> dict[int, list[tuple[Axes, float]]]:
        """For each measured table with noise, the components of a table that it has a share in."""
        noisy = {each for each in self.nesting.parts(axes) if self._told[each].precision < inf}
        families = {self.nesting.family(axis) for axis in axes}
        found: dict[int, list[tuple[Axes, float]]] = {}
        for number, block in enumerate(self.blocks):
            if () in noisy or not families.isdisjoint(map(self.nesting.family, block.axes)):
                told = [
                    (each, precision / self._told[each].precision) for each, precision in self._tells(number, noisy)
                ]
                if told:
                    found[number] = told
        return found

    def _of_sum(self, axes: Axes, chosen: Sequence[Sequence[int]]) -> float:
        """Return the variance of a sum of chosen cells, where axes are nested."""
        weights = [
            np.bincount(each, minlength=self.shape[axis]).astype(np.float64)
            for axis, each in zip(axes, chosen, strict=True)
        ]
        total = 0.0
        for number, parts in self._parts_of(axes).items():
            block = self.blocks[number]
            levels = {self.nesting.family(axis): axis for axis in block.counted}
            inside = {self.nesting.family(axis) for axis in axes}
            others = prod(self.shape[axis] for axis in block.counted if self.nesting.family(axis) not in inside)
            responses: list[list[Floats]] = []
            for component, share in parts:
                of = {self.nesting.family(level): level for level in component}
                vectors = [
                    np.array([(each[0] - each[1]) / 2])
                    if axis in block.signs
                    else self.nesting.response(
                        each, axis, of.get(self.nesting.family(axis)), levels.get(self.nesting.family(axis)), self.shape
                    )
                    for axis, each in zip(axes, weights, strict=True)
                ]
                responses.append([share * vectors[0], *vectors[1:]])
            for first, second in product(responses, repeat=2):
                both = prod(float(a @ b) for a, b in zip(first, second, strict=True))
                total += self.variances[number] * others * both
        return max(total, 0.0)


def beside(values: Floats, at: int, axes: int) -> Floats:
    """Lay values along one of several axes."""
    return values.reshape([-1 if other == at else 1 for other in range(axes)])
