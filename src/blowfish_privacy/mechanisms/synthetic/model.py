"""What is known of tables of records, and which of them a model may hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TypeAlias

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


@dataclass(frozen=True, eq=False)
class Known:
    """All that is known of one table: the mean of its measurements, weighted by their precision."""

    axes: Axes
    counts: Floats
    variance: float

    @classmethod
    def of(cls, measurement: Measurement, before: Known | None) -> Known:
        """Take a measurement into account, together with what was known of the same table before."""
        if before is None:
            return cls(measurement.axes, measurement.noisy.astype(np.float64), measurement.variance)
        if before.variance == 0:
            return before
        # Exact counts have a share of 1.
        share = before.variance / (before.variance + measurement.variance)
        counts = before.counts + share * (measurement.noisy - before.counts)
        return cls(before.axes, counts, share * measurement.variance)


def combined(measurements: Iterable[Measurement]) -> dict[Axes, Known]:
    """Take the measurements of each table together; one without noise stands for itself."""
    found: dict[Axes, Known] = {}
    for each in measurements:
        found[each.axes] = Known.of(each, found.get(each.axes))
    return found


def given_columns(kept: Integers | None) -> Axes:
    """List the columns that are given for every record: those without -1."""
    return () if kept is None else tuple(axis for axis in range(kept.shape[1]) if (kept[:, axis] >= 0).all())


def raked(table: Floats, sums: Sequence[tuple[int, Floats]], rounds: int) -> Floats:
    """Scale a table until it sums along each axis to what is given, one after the other, as far as empty cells let it.

    ``sums`` are axes with the sums along them, which keep their dimension.
    """
    for _ in range(rounds):
        for axis, wanted in sums:
            found = table.sum(axis=axis, keepdims=True)
            table = table * np.divide(wanted, found, out=np.zeros_like(found), where=found > 0)
    return table


# Which tables may be chosen, by public information alone.

MODEL_CELLS = 150_000
"""The most cells of a model's cliques."""
MOST_GROWTH = 0.2
"""The share of the room that one table may take."""
ROOM_COST = 0.3
"""How many records, as a share of all, a table must correct for all the room that a model has."""
REFILLED = 2.5
"""How many times the records expected in a cell noise may add: fits multiply, so that empty cells stay empty."""
_MOST_TABLES = 2_000
_MOST_PAIRS, _LARGEST_PAIR = 20_000, 1_000_000
_MOST_CELLS = 2**23
"""The most cells of all tables to choose from, which are counted at once."""


def tables_within(shape: Sequence[int], workload: Sequence[Axes], *, triples: bool) -> list[Axes]:
    """List the pairs that tables of the workload contain, or those and the triples, the smallest first.

    As many as are counted in bounded memory: pairs come before triples, and small tables before large ones. Where there
    are no triples, there may be more pairs, and larger ones.
    """
    ways, most, largest = ((2, 3), _MOST_TABLES, MODEL_CELLS) if triples else ((2,), _MOST_PAIRS, _LARGEST_PAIR)
    found = {axes for table in workload for many in ways for axes in combinations(sorted(table), many)}
    sizes = {axes: prod(shape[axis] for axis in axes) for axes in found}
    listed: list[Axes] = []
    cells = 0
    for axes in sorted(sizes, key=lambda axes: (len(axes), sizes[axes], axes)):
        if sizes[axes] <= largest and cells + sizes[axes] <= _MOST_CELLS and len(listed) < most:
            listed.append(axes)
            cells += sizes[axes]
    return listed
