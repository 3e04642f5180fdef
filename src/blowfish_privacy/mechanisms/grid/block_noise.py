"""Cells and blocks of cells with noise of their own: the least-squares estimate, its covariance and its error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from blowfish_privacy.mechanisms.grid.blocks import Blocks
from blowfish_privacy.mechanisms.grid.grid_error import over_all_rectangles
from blowfish_privacy.support.arrays import Floats


@dataclass(frozen=True, eq=False)
class BlockNoise:
    """The variances of the counts of blocks and of their cells, block by block, and of the total where it is measured.

    The covariance of the cells of a block is v (1 - v J / (w + m v)): m cells of variance v, a block of variance w, J
    all ones. Blocks are independent, until the total is looked at.
    """

    blocks: Blocks
    of_blocks: Floats
    of_cells: Floats
    of_total: float | None = None

    @cached_property
    def _trust(self) -> Floats:
        """How much of what a block says more each of its cells gets."""
        return self.of_cells / (self.of_blocks + self.blocks.sizes * self.of_cells)

    @cached_property
    def pull(self) -> Floats:
        """The covariance of each cell with the sum of all, before the total is looked at."""
        return self.blocks.to_cells(self.of_cells * (1 - self.blocks.sizes * self._trust))

    def estimate(self, cells: Floats, blocks: Floats) -> Floats:
        """Share what blocks say more among their cells."""
        return cells + self.blocks.to_cells((blocks - self.blocks.sums(cells)) * self._trust)

    def with_total(self, cells: Floats, total: float, variance: float = 0.0) -> Floats:
        """Move cells towards a total in proportion to how much each is uncertain."""
        return cells + self.pull * (total - cells.sum()) / (self.pull.sum() + variance)

    def spread(self, weights: Floats) -> Floats:
        """Multiply columns of weights of the cells by the covariance of the estimate."""
        columns: list[Floats] = []
        for each in weights.T.reshape(-1, *self.blocks.shape):
            shared = each - self.blocks.to_cells(self._trust * self.blocks.sums(each))
            spread = self.blocks.to_cells(self.of_cells) * shared
            if self.of_total is not None:
                spread = spread - self.pull * (self.pull * each).sum() / (self.pull.sum() + self.of_total)
            columns.append(spread.reshape(-1))
        return np.stack(columns, axis=1)

    @cached_property
    def by_block(self) -> Floats:
        """What each block adds to the mean squared error of a random rectangle, before the total is looked at."""
        return self.of_cells * self.blocks.met - self.of_cells * self._trust * self.blocks.seen

    @cached_property
    def mse(self) -> float:
        """The mean squared error of a random rectangle."""
        known = 0.0
        if self.of_total is not None:
            known = over_all_rectangles(self.pull) / (self.pull.sum() + self.of_total)
        return float(self.by_block.sum()) - known
