"""Blocks of an ordered attribute, each with a tree of counts inside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from blowfish_privacy.support.arrays import Integers


@dataclass(frozen=True)
class Tree:
    """``size`` positions in blocks of ``block``; inside each, levels of nodes whose widths are powers of ``fan``.

    The root of a block is not counted: it is the difference of two prefixes.
    """

    size: int
    block: int
    fan: int

    @cached_property
    def height(self) -> int:
        """The number of levels below a block's root; 0 for blocks of one position."""
        height, width = 0, 1
        while width < self.block:
            width *= self.fan
            height += 1
        return height

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -(-self.size // self.block)

    @property
    def prefixes(self) -> int:
        """The number of noisy prefixes; the last is the public total."""
        return self.blocks - 1

    def width(self, level: int) -> int:
        """Return how many positions a node of a level covers."""
        return self.fan ** (self.height - level)

    def per_block(self, level: int) -> int:
        """Count the nodes of a level in one block; those of the last block may be empty."""
        return -(-self.block // self.width(level))

    def nodes(self, level: int) -> int:
        """Count the nodes of a level in all blocks."""
        return self.blocks * self.per_block(level)

    def answer(self, counts: Integers) -> tuple[Integers, list[Integers]]:
        """Return the exact counts of the prefixes and of the nodes of each level."""
        padded = np.zeros(self.blocks * self.block, dtype=np.int64)
        padded[: self.size] = counts
        blocks = padded.reshape(self.blocks, self.block)
        nodes: list[Integers] = []
        for level in range(1, self.height + 1):
            starts = np.arange(0, self.block, self.width(level))
            nodes.append(np.add.reduceat(blocks, starts, axis=1).reshape(-1))
        return np.cumsum(blocks.sum(axis=1))[:-1], nodes

    def cumulative(self, rows: Integers) -> Integers:
        """Combine prefixes and nodes into the number of records at or below each position."""
        before = np.concatenate([[0], rows[: self.prefixes]])
        below = np.zeros((self.blocks, self.block), dtype=np.int64)
        start = self.prefixes
        for level in range(1, self.height + 1):
            nodes = rows[start : start + self.nodes(level)].reshape(self.blocks, -1)
            start += self.nodes(level)
            below += self._left_siblings(nodes, level)
        # The count at or below a position is the count below the next: at a block's end, the next block's prefix.
        upto = (before[:, None] + below).reshape(-1)
        return np.append(upto[1:], 0)[: self.size]

    def _left_siblings(self, nodes: Integers, level: int) -> Integers:
        """Add up, for every position, the left siblings of the node that covers it."""
        wide = self.per_block(level)
        sums = np.concatenate([np.zeros((self.blocks, 1), dtype=np.int64), np.cumsum(nodes, axis=1)], axis=1)
        node = np.arange(self.block) // self.width(level)
        first = node - node % self.fan if level > 1 else np.zeros_like(node)
        return sums[:, np.minimum(node, wide)] - sums[:, first]

    def change(self, x: int, y: int) -> tuple[int, int]:
        """Count the block ends between two positions, and the nodes whose count a move between them changes."""
        crossed = abs(x // self.block - y // self.block)
        levels = range(1, self.height + 1)
        differing = sum(crossed > 0 or self._node(x, level) != self._node(y, level) for level in levels)
        return crossed, 2 * differing

    def _node(self, x: int, level: int) -> int:
        return x % self.block // self.width(level)

    def most_crossed(self, theta: int) -> int:
        """Return the most block ends that a move of at most theta crosses."""
        x, y = self._worst(theta)
        return y // self.block - x // self.block

    def worst_move(self, theta: int) -> tuple[tuple[int], tuple[int]]:
        """Return a move of at most theta that crosses most block ends and changes every level."""
        x, y = self._worst(theta)
        return (x,), (y,)

    def _worst(self, theta: int) -> tuple[int, int]:
        theta = min(theta, self.size - 1)
        if self.blocks == 1:
            # Next to the border between the first two nodes of the top level all levels change.
            border = self.width(1) if self.height else 1
            return (border - 1, border) if theta and border < self.size else (0, 0)
        starts = np.arange(min(self.block, self.size - theta))
        best = int(starts[np.argmax((starts + theta) // self.block - starts // self.block)])
        return best, best + theta

    def uses(self) -> tuple[Integers, Integers]:
        """Count for every prefix, and for every node, the positions whose estimate uses it."""
        prefixes, nodes = self.intervals()
        return prefixes[1] - prefixes[0], nodes[1] - nodes[0]

    def intervals(self) -> tuple[Integers, Integers]:
        """Return the positions (first, one past the last) whose estimate uses each prefix and each node.

        The estimate at a position uses the prefix of the block that holds the next position, and there the nodes left
        of that next position under each of its ancestors. The estimate at the last position is the public total.
        """
        ends = np.arange(self.block, self.block * self.blocks, self.block)
        prefixes = np.stack([ends - 1, ends + self.block - 1])
        nodes = np.concatenate([np.zeros((2, 0), dtype=np.int64), *self._node_intervals()], axis=1)
        last = self.size - 1
        prefixes, nodes = np.minimum(prefixes, last), np.minimum(nodes, last)
        return prefixes, nodes[:, nodes[0] < nodes[1]]

    def _node_intervals(self) -> Iterator[Integers]:
        starts = np.arange(0, self.blocks * self.block, self.block)[:, None]
        for level in range(1, self.height + 1):
            width = self.width(level)
            parent = self.block if level == 1 else width * self.fan
            offsets = np.arange(0, self.block, width)
            ends = starts + np.minimum(offsets + width, self.block)
            stops = starts + np.minimum(offsets - offsets % parent + parent, self.block)
            yield np.stack([ends.reshape(-1) - 1, stops.reshape(-1) - 1])
