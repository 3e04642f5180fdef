"""Estimates from components that were measured one by one: each is told once, by its own rows."""

from __future__ import annotations

from collections.abc import Container, Iterator
from math import inf, prod
from statistics import NormalDist

from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.tables import many_tables
from blowfish_privacy.mechanisms.tables.components import Components
from blowfish_privacy.mechanisms.tables.many_tables import Precisions
from blowfish_privacy.mechanisms.tables.nesting import Axes
from blowfish_privacy.mechanisms.tables.tables_error import TablesError
from blowfish_privacy.queries.tables import Block
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number, exact


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
        tables = many_tables.told_by_tables(self.shape, exact, [0.0] * len(exact))
        return [many_tables.told_alone(rows, self.shape), tables]


class NormalTablesError(TablesError):
    """The error of tables with Gaussian noise: a sum of very many draws, or of draws that are nearly normal."""

    def interval_of(self, axes: Axes, level: Number = "0.95") -> float:
        """Return a bound on the error of a cell of a table that holds with probability ``level``."""
        return normal_quantile(level) * self.standard_error(axes)


def normal_quantile(level: Number) -> float:
    """Return how many standard deviations a normal error is at most, with a probability."""
    share = exact(level, "the level", error=QueryError)
    if not 0 < share < 1:
        raise QueryError("the level must lie between 0 and 1.", hint="write it like 0.95.")
    return NormalDist().inv_cdf((1 + float(share)) / 2)
