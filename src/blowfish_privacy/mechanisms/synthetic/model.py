"""What is known of a table of records, and what a model of it answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.support.arrays import Floats, Integers

Axes: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Measurement:
    """The counts of one table, with noise."""

    axes: Axes
    """Ascending."""
    noisy: Integers
    """One dimension for each axis."""
    variance: float
    """Of the noise in one cell; 0 where the counts are exact."""


@dataclass(frozen=True, eq=False)
class Zeros:
    """Combinations of values that no record has."""

    axes: Axes
    """Ascending."""
    impossible: npt.NDArray[np.bool_]
    """One dimension for each axis."""


class Model(Protocol):
    """A distribution of records, fitted to what was measured."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each attribute."""
        ...

    @property
    def total(self) -> float:
        """The number of records that it stands for."""
        ...

    def table(self, axes: Axes) -> Floats:
        """Return the expected counts of any table, one dimension for each axis in the order given."""
        ...

    def records(self, many: int, generator: np.random.Generator, kept: Integers | None = None) -> Integers:
        """Draw records, one row each; where ``kept`` is not negative its values are taken."""
        ...


@dataclass(frozen=True, eq=False)
class Known:
    """All that is known of one table: the mean of its measurements, weighted by their precision."""

    axes: Axes
    counts: Floats
    variance: float

    def with_another(self, measurement: Measurement) -> Known:
        """Take another measurement of the same table into account."""
        if self.variance == 0:
            return self
        # Exact counts have a share of 1.
        share = self.variance / (self.variance + measurement.variance)
        counts = self.counts + share * (measurement.noisy - self.counts)
        return Known(self.axes, counts, share * measurement.variance)


def combined(measurements: Iterable[Measurement]) -> dict[Axes, Known]:
    """Take the measurements of each table together; one without noise stands for itself."""
    found: dict[Axes, Known] = {}
    for each in measurements:
        before = found.get(each.axes)
        found[each.axes] = (
            Known(each.axes, each.noisy.astype(np.float64), each.variance)
            if before is None
            else before.with_another(each)
        )
    return found
