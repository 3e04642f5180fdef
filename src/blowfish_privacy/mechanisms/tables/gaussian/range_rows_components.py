"""Estimates and errors of tables whose components read rows along ordered attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod, sqrt

import numpy as np

from blowfish_privacy.mechanisms.tables.components import beside
from blowfish_privacy.mechanisms.tables.gaussian.axis_rows import AxisRows, in_both
from blowfish_privacy.mechanisms.tables.gaussian.measured_components import (
    MeasuredComponents,
    NormalTablesError,
    normal_quantile,
)
from blowfish_privacy.mechanisms.tables.nesting import Axes
from blowfish_privacy.queries.tables import Block
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number


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
        """Return the variance of every cell of a table."""
        shape = [self.shape[axis] for axis in axes]
        found = self._total(
            axes, lambda axis: np.diag(self._covariance(axis)), lambda axis: np.array([1 / self.shape[axis] ** 2])
        )
        return np.broadcast_to(found, shape).copy()

    def variance(self, axes: Axes, chosen: Sequence[Sequence[int]] | None = None) -> float:
        """Return the largest variance of a cell of a table, or that of a sum of chosen cells."""
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
        """The mean variance of a random range in a cell of each table; of a cell, where a table has no ranges."""
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
        """What the error refers to."""
        return super().of.replace("a cell", "a random range in a cell", 1)

    def interval(self, level: Number = "0.95") -> float:
        """Return a bound on the error of a range of typical error in the worst table, with probability ``level``."""
        return normal_quantile(level) * sqrt(max(self.by_table))
