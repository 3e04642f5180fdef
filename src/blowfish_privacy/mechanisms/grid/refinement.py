"""How the loss of an adaptive grid is shared, and when its blocks are refined; from public numbers only."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, log2, sqrt
from typing import NamedTuple

_LOOK = Fraction(2, 5)
"""The share of the loss that goes to the first look."""
_AGAIN = Fraction(3, 4)
"""What a block that is not refined gets of the rest; its cells get what is left."""
_FULL = 10
"""From how many scales of its cells' noise on a block is refined."""
_BLOCKS = 16
"""About so many blocks lie along a side of a square grid."""
_FEWEST = 1.0
"""Blocks are made larger until they have so many records times epsilon, on average.

These were settled on grids of 64^2 and 128^2 cells with 0.03 to 30 records times epsilon per cell: the development
shapes of benchmarks/shapes.py, San Francisco cabs, tweets, and random cascades, by the geometric mean of the errors.
"""
_LEAST_CELLS = 576
_SPARSE = 1
"""With at most so many records times epsilon per cell it shows less error than a hierarchy, in the geometric mean.

Not on each shape: records in single rows and columns along an edge have several times as much.
Settled on the same shapes, on grids of at least :data:`_LEAST_CELLS`. With more records the gain is smaller on 64^2
cells and gone on 128^2, and the error that a hierarchy guarantees is lower.
"""


class LookScales(NamedTuple):
    """The noise scales of the look, of blocks counted again, and of the cells of blocks that are refined or not."""

    look: Fraction
    again: Fraction
    fine: Fraction
    coarse: Fraction

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """What a document calls them."""
        return cls._fields

    @property
    def once(self) -> Fraction:
        """The most that is lost on a record in a block, where it was not before."""
        return 1 / self.look + max(1 / self.fine, 1 / self.again + 1 / self.coarse)


def refines(cells: int, epsilon: Fraction, records: int) -> bool:
    """Say whether refining is better than a hierarchy for grids of so many cells and records."""
    return cells >= _LEAST_CELLS and records * epsilon <= _SPARSE * cells


def calibrated_scales(cells: int, amount: Fraction, records: int | None) -> tuple[int, int, LookScales]:
    """Choose the side of blocks, the count from which they are refined, and scales of which a move loses the amount."""
    rest = (1 - _LOOK) * amount
    fine = 2 / rest
    scales = LookScales(2 / (_LOOK * amount), 2 / (_AGAIN * rest), fine, 2 / ((1 - _AGAIN) * rest))
    power = max(round(log2(sqrt(cells) / _BLOCKS)), 1)
    if records is not None:
        signal = float(records * amount) / cells
        while signal * 4**power < _FEWEST and 4 ** (power + 2) <= cells:
            power += 1
    return 2**power, ceil(_FULL * fine), scales
