"""A mesh: a box cut again and again into 2^d equal cells, finely where many records lie.

The rows of a mesh are sums on the finest lattice, handed on: a node that no leaf can use as a corner passes its sum
to the corners around it, level by level. Handing on splits a whole number into whole parts that grow with
it, so the L1 distance of two tables of sums never grows. See docs/proofs/soft_mesh.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import SpecError
from blowfish_privacy.support.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class Mesh:
    """The leaves of a tree: their level (0 is the whole box), and their indices among the cells of that level."""

    dimensions: int
    depth: int
    """The level of the finest lattice; no leaf is deeper."""
    levels: Integers
    places: Integers
    code: Integers
    """For every cell, level by level, whether it is cut: 1 or 0."""

    @classmethod
    def grow(cls, dimensions: int, depth: int, cut: Callable[[int, Integers], npt.NDArray[np.bool_]]) -> Mesh:
        """Cut cells, starting with the whole box, where ``cut`` says so, down to a depth."""
        corners = np.array(list(product((0, 1), repeat=dimensions)), dtype=np.int64)
        cells = np.zeros((1, dimensions), dtype=np.int64)
        levels: list[Integers] = []
        places: list[Integers] = []
        code: list[Integers] = []
        for level in range(depth + 1):
            chosen = cut(level, cells) if level < depth else np.zeros(len(cells), dtype=np.bool_)
            code.append(chosen.astype(np.int64))
            places.append(cells[~chosen])
            levels.append(np.full(int((~chosen).sum()), level, dtype=np.int64))
            cells = (2 * cells[chosen][:, None, :] + corners[None]).reshape(-1, dimensions)
            if not len(cells):
                break
        return cls(dimensions, depth, np.concatenate(levels), np.concatenate(places), np.concatenate(code))

    @classmethod
    def decode(cls, dimensions: int, depth: int, code: Integers) -> Mesh:
        """Rebuild a mesh from its code, as documents store it."""
        start = 0

        def cut(_: int, cells: Integers) -> npt.NDArray[np.bool_]:
            nonlocal start
            part = code[start : start + len(cells)]
            start += len(cells)
            if len(part) != len(cells) or not np.isin(part, (0, 1)).all():
                raise SpecError("the document is damaged: its mesh cannot be read.")
            return part.astype(np.bool_)

        made = cls.grow(dimensions, depth, cut)
        if len(made.code) != len(code) or (made.code != code).any():
            raise SpecError("the document is damaged: its mesh cannot be read.")
        return made

    @property
    def shape(self) -> tuple[int, ...]:
        """The nodes of the finest lattice along every axis."""
        return (2**self.depth + 1,) * self.dimensions

    @cached_property
    def _coarsest(self) -> npt.NDArray[np.int8]:
        """The level of the largest leaf that touches each node of the finest lattice."""
        coarsest = np.full(self.shape, self.depth, dtype=np.int8)
        order = np.argsort(-self.levels, kind="stable")
        for level, leaf in zip(self.levels[order].tolist(), self.places[order].tolist(), strict=True):
            side = 2 ** (self.depth - level)
            coarsest[tuple(slice(at * side, at * side + side + 1) for at in leaf)] = level
        return coarsest

    @cached_property
    def _native(self) -> npt.NDArray[np.int8]:
        """The level at which each node of the finest lattice first appears."""
        along = np.zeros(2**self.depth + 1, dtype=np.int8)
        for level in range(1, self.depth + 1):
            stride = 2 ** (self.depth - level)
            along[stride :: 2 * stride] = level
        native = np.zeros(self.shape, dtype=np.int8)
        for axis in range(self.dimensions):
            native = np.maximum(native, along.reshape([-1 if each == axis else 1 for each in range(self.dimensions)]))
        return native

    @cached_property
    def nodes(self) -> Integers:
        """The nodes that are corners of every leaf touching them: one row each."""
        return np.flatnonzero(self._coarsest >= self._native)

    def restrict(self, sums: Integers) -> Integers:
        """Hand on sums of the finest lattice to the nodes of the mesh; exact whole numbers with the same total."""
        table = sums.copy()
        for level in range(self.depth, 0, -1):
            stride = (slice(None, None, 2 ** (self.depth - level)),) * self.dimensions
            grid, coarsest = table[stride], self._coarsest[stride]
            for odd in product((False, True), repeat=self.dimensions):
                if any(odd):
                    _hand_on(grid, coarsest < level, odd)
        return table.reshape(-1)[self.nodes]

    def matrix(self, leaves: Integers, parts: int) -> tuple[Any, Floats, Floats]:
        """Cut leaves into parts^d cells; return their shares (rows x cells) and their ends in units of the box."""
        from scipy.sparse import csr_array

        offsets = np.array(list(product(range(parts), repeat=self.dimensions)), dtype=np.float64)
        sides = 0.5 ** self.levels[leaves][:, None, None]
        lows = ((self.places[leaves][:, None, :] + offsets[None] / parts) * sides).reshape(-1, self.dimensions)
        highs = lows + np.repeat(sides[:, 0] / parts, len(offsets), axis=0)
        local = (offsets + 0.5) / parts
        side = (2 ** (self.depth - self.levels[leaves]))[:, None]
        entries: list[tuple[Integers, Integers, Floats]] = []
        cells = np.arange(len(lows))
        for corner in product((0, 1), repeat=self.dimensions):
            share = np.prod(np.where(corner, local, 1 - local), axis=1)
            at = (self.places[leaves] + np.array(corner)) * side
            flat = np.ravel_multi_index(tuple(at.T), self.shape)
            entries.append((np.repeat(flat, len(offsets)), cells, np.tile(share, len(leaves))))
        node, cell, share = (np.concatenate(each) for each in zip(*entries, strict=True))
        node, cell, share = self._settle(node, cell, share)
        rows = np.searchsorted(self.nodes, node)
        return csr_array((share, (rows, cell)), shape=(len(self.nodes), len(cells))), lows, highs

    def _settle(self, node: Integers, cell: Integers, share: Floats) -> tuple[Integers, Integers, Floats]:
        """Hand on the shares of nodes that are not rows, level by level, as :meth:`restrict` does with sums."""
        from scipy.sparse import csr_array

        native, coarsest = self._native.reshape(-1), self._coarsest.reshape(-1)
        strides = np.array([(2**self.depth + 1) ** (self.dimensions - 1 - axis) for axis in range(self.dimensions)])
        for level in range(self.depth, 0, -1):
            hanging = (native[node] == level) & (coarsest[node] < level)
            if not hanging.any():
                continue
            stride = 2 ** (self.depth - level)
            nodes, which = np.unique(node[hanging], return_inverse=True)
            odd = (np.stack(np.unravel_index(nodes, self.shape), axis=1) // stride) % 2 == 1
            # Along even axes there is no neighbour to choose: half of the share from either sign.
            targets = np.stack(
                [
                    nodes + (np.where(odd, np.array(signs), 0) * stride) @ strides
                    for signs in product((-1, 1), repeat=self.dimensions)
                ]
            )
            reached, places = np.unique(targets, return_inverse=True)
            sources = np.tile(np.arange(len(nodes)), len(targets))
            even = np.full(targets.size, 0.5**self.dimensions)
            handed: Any = csr_array((even, (sources, places.reshape(-1))), shape=(len(nodes), len(reached)))
            cells = int(cell.max()) + 1
            held: Any = csr_array((share[hanging], (cell[hanging], which)), shape=(cells, len(nodes)))
            moved: Any = (held @ handed).tocoo()
            node, cell, share = _merged(
                np.concatenate([node[~hanging], reached[moved.coords[1]]]),
                np.concatenate([cell[~hanging], moved.coords[0].astype(np.int64)]),
                np.concatenate([share[~hanging], moved.data]),
            )
        return node, cell, share


def _hand_on(grid: Integers, hanging: npt.NDArray[np.bool_], odd: tuple[bool, ...]) -> None:
    """Split what the hanging nodes of one parity have between the neighbours at which the odd axes are even."""
    parity = tuple(slice(1, None, 2) if each else slice(0, None, 2) for each in odd)
    moving = np.where(hanging[parity], grid[parity], 0)
    grid[parity] -= moving
    many = 2 ** sum(odd)
    for part, up in enumerate(product((False, True), repeat=sum(odd))):
        sides = iter(up)
        neighbours = tuple(
            (slice(2, None, 2) if next(sides) else slice(0, -1, 2)) if each else slice(0, None, 2) for each in odd
        )
        # The parts (v + i) div m for i = 0..m-1 add up to v, and none shrinks when v grows.
        grid[neighbours] += (moving + part) // many


def _merged(node: Integers, cell: Integers, share: Floats) -> tuple[Integers, Integers, Floats]:
    order = np.lexsort((node, cell))
    node, cell, share = node[order], cell[order], share[order]
    starts = np.flatnonzero(np.append(True, (np.diff(node) != 0) | (np.diff(cell) != 0)))
    return node[starts], cell[starts], np.add.reduceat(share, starts)
