"""Square blocks of a grid's cells: what they add up to, and what random rectangles see of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.support.arrays import Floats

_STRIDE, _SHIFT = 7, 5


@dataclass(frozen=True)
class Blocks:
    """A grid cut into blocks of ``side`` cells along both attributes; those at the far ends may be smaller."""

    shape: tuple[int, int]
    side: int

    @property
    def table(self) -> tuple[int, int]:
        """The number of blocks along both attributes."""
        first, second = (-(-size // self.side) for size in self.shape)
        return first, second

    @property
    def many(self) -> int:
        """The number of blocks."""
        first, second = self.table
        return first * second

    def sums(self, cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Add up the cells of each block; whole numbers stay whole."""
        down = np.add.reduceat(cells, np.arange(0, self.shape[0], self.side), axis=0)
        return np.add.reduceat(down, np.arange(0, self.shape[1], self.side), axis=1)

    def to_cells(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Give every cell the value of its block."""
        return np.repeat(np.repeat(values, self._lengths[0], axis=0), self._lengths[1], axis=1)

    @cached_property
    def sizes(self) -> Floats:
        """The number of cells of each block."""
        return np.outer(*self._lengths).astype(np.float64)

    @cached_property
    def met(self) -> Floats:
        """How many cells of each block a random rectangle has, on average over all rectangles."""
        return np.outer(*(_mean(size, lengths) for size, lengths in zip(self.shape, self._lengths, strict=True)))

    @cached_property
    def seen(self) -> Floats:
        """How many cells of each block a random rectangle has, squared, on average over all rectangles."""
        return np.outer(*(_mean_square(size, lengths) for size, lengths in zip(self.shape, self._lengths, strict=True)))

    @property
    def _lengths(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        first, second = (
            np.diff(np.append(np.arange(0, size, self.side), size)).astype(np.int64) for size in self.shape
        )
        return first, second


def gathered(counts: npt.NDArray[np.int64], blocks: Blocks) -> npt.NDArray[np.int64]:
    """Move the records of every block to few of its cells: most to one, here to these and there to those."""
    table = np.zeros_like(counts)
    for number, (row, column) in enumerate(np.ndindex(blocks.table)):
        inside = tuple(slice(at * blocks.side, (at + 1) * blocks.side) for at in (row, column))
        part = counts[inside]
        ends = np.cumsum(1 / np.arange(1, part.size + 1) ** 2)
        ranked = np.diff(np.rint(ends / ends[-1] * int(part.sum())).astype(np.int64), prepend=0)
        # Any fixed order that differs between neighbouring blocks will do.
        order = np.argsort((np.arange(part.size) * _STRIDE + number * _SHIFT) % part.size, kind="stable")
        table[inside] = ranked[order].reshape(part.shape)
    return table


def _mean(size: int, lengths: npt.NDArray[np.int64]) -> Floats:
    """Average over all ranges of positions the number of positions that a range shares with each stretch.

    Position p lies in (p + 1) (size - p) of the size (size + 1) / 2 ranges.
    """
    places = np.arange(size, dtype=np.float64)
    held = np.append(0.0, np.cumsum((places + 1) * (size - places)))
    ends = np.cumsum(lengths)
    return (held[ends] - held[ends - lengths]) / (size * (size + 1) / 2)


def _mean_square(size: int, lengths: npt.NDArray[np.int64]) -> Floats:
    """Average over all ranges of positions the squared number of positions that a range shares with each stretch.

    With c(s) = min(max(s - start, 0), length) at the cuts s = 0..size, a range shares c(end) - c(start); the sum of
    its square over all pairs of cuts is (size + 1) sum c^2 - (sum c)^2.
    """
    starts = np.cumsum(lengths) - lengths
    after = size - starts - lengths
    squares = lengths * (lengths + 1) * (2 * lengths + 1) / 6 + after * lengths.astype(np.float64) ** 2
    sums = lengths * (lengths + 1) / 2 + after * lengths
    return np.asarray(((size + 1) * squares - sums**2) / (size * (size + 1) / 2), dtype=np.float64)
