"""The error of sets of tables in which ranges are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from blowfish_privacy.mechanisms.error import in_short
from blowfish_privacy.mechanisms.tables.nesting import Axes
from blowfish_privacy.mechanisms.tables.ranges.range_components import RangeComponents
from blowfish_privacy.mechanisms.tables.tables_error import DRAWN, LITTLE, MOST_DRAWN, TablesError
from blowfish_privacy.noise import SimulationSource, discrete_laplace
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number

_RANGES = 40


@dataclass(frozen=True, eq=False)
class RangesError(TablesError):
    """The error of a random range in a cell of the other attributes; of a cell, where a table has no ranges."""

    components: RangeComponents

    def __repr__(self) -> str:
        return in_short(self)

    @property
    def of(self) -> str:
        """What the error refers to."""
        return super().of.replace("a cell", "a random range in a cell", 1)

    def interval(self, level: Number = "0.95") -> float:
        """Return a bound on the error of a random range in the worst table that holds with probability ``level``."""
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
