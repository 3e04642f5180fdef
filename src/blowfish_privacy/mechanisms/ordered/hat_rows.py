"""The rows of the coarser levels of a smooth hierarchy as one matrix, whatever noise they get.

All of it depends on sizes and spacings alone, so it is kept: plans that differ in what they spend share it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.ordered.levels import Level
from blowfish_privacy.support.arrays import Matrix, stacked, turned

_KEPT = 12
_LARGEST_KEPT = 2**17
"""Matrices of more positions are not kept: one takes some ten megabytes at this size."""


@dataclass(frozen=True, eq=False)
class HatRows:
    """The hats of some levels over ``size`` positions; nothing of it may be changed."""

    size: int
    levels: tuple[Level, ...]

    @cached_property
    def hats(self) -> Matrix:
        """The rows of all levels, counted in records."""
        return stacked([level.hats(self.size) for level in self.levels] or [np.zeros((0, self.size))])

    @cached_property
    def turned(self) -> Matrix:
        """The same with rows and columns exchanged."""
        return turned(self.hats)

    @cached_property
    def products(self) -> Matrix:
        """The products of every two rows."""
        return self.hats @ self.turned

    @property
    def overlapping(self) -> bool:
        """Whether the hats of some level reach further than their neighbours."""
        return any(level.unit > level.spacing for level in self.levels)

    @cached_property
    def order(self) -> npt.NDArray[np.intp]:
        """An order of the rows in which elimination stays local.

        Nodes strictly inside the cells of the next coarser level come first: what they leave behind couples the two
        ends of their cell only. In order along the line, coarse nodes would be carried from cell to cell.
        """
        places = np.concatenate([level.places(self.size) for level in self.levels])
        counts = [level.rows(self.size) for level in self.levels]
        if self.overlapping:
            depth = self._widest_cut(places, np.repeat([level.unit for level in self.levels], counts))
        else:
            depth = np.sum([places % level.spacing == 0 for level in self.levels], axis=0)
        return np.lexsort((np.repeat(np.arange(len(counts)), counts), places, depth))

    def _widest_cut(self, places: npt.NDArray[np.int64], reach: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return for each hat the highest power of 2 of which a multiple lies inside it, at which it ends parts."""
        depth = np.zeros(len(places), dtype=np.int64)
        for power in range(1, self.size.bit_length() + 1):
            last = (places + reach - 1) >> power << power
            depth[last > places - reach] = power
        return depth


def hat_rows(size: int, levels: tuple[Level, ...]) -> HatRows:
    """Return the rows of levels, which do not depend on the scales of their noise."""
    if size > _LARGEST_KEPT:
        return HatRows(size, levels)
    return _kept(size, tuple(replace(level, scale=Fraction(0)) for level in levels))


@lru_cache(maxsize=_KEPT)
def _kept(size: int, levels: tuple[Level, ...]) -> HatRows:
    return HatRows(size, levels)
