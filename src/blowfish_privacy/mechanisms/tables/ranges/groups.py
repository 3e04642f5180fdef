"""Tables that were measured in rows: sums over bins of ordered attributes, in as many ways as their readings combine.

All tables of one group read the same attributes. Together they tell the counts of the plain table: along each axis the
rows y of all readings, each with its share of the precision, are turned into counts by least squares. Where the sums
over one axis are known exactly, only what the rows tell beyond them is used (docs/proofs/tables.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.tables.nesting import Axes
from blowfish_privacy.queries.tables import Block, Reading, matrix
from blowfish_privacy.support.arrays import Floats

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
