"""A soft grid in every block of a partition, as fine as the block's exact, public count allows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Aggregates, Axis, Lattice, Run
from blowfish_privacy.domain import Binned, Domain
from blowfish_privacy.errors import PolicyError
from blowfish_privacy.mechanisms.clusters.deconvolution import project
from blowfish_privacy.mechanisms.clusters.grid_choice import MOST_NODES_OF_BLOCKS, MOST_PER_AXIS, choose_cells
from blowfish_privacy.mechanisms.clusters.lattice_sensitivity import lattice_sensitivity
from blowfish_privacy.mechanisms.clusters.stretches import Equal, stretches
from blowfish_privacy.mechanisms.clusters.synopsis import MOST_POINTS, Points, spread, to_points
from blowfish_privacy.noise import BitSource, discrete_laplace
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.sensitivity import Sensitivity, steps
from blowfish_privacy.support.arrays import Integers


@dataclass(frozen=True)
class BlockGrid:
    """The grid of one block: the number of the block, its index along every axis, and the cells along it."""

    number: int
    indices: tuple[int, ...]
    cells: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class BlockGrids:
    """All blocks of a domain, which are the products of stretches along every axis."""

    domain: Domain
    blocks: tuple[tuple[Equal, ...], ...]
    resolutions: tuple[int, ...]
    strength: Fraction
    """The privacy loss of a record that moves; 0 when there is no noise."""

    @cached_property
    def lattice(self) -> Lattice:
        """One node for every block: its sums are the blocks' counts."""
        return Lattice(
            tuple(Axis(tuple(Run(start, width, count, 1) for start, width, count in each)) for each in self.blocks)
        )

    def sensitivity(self, policy: Policy) -> Sensitivity:
        """Bound the L1 change of the shares inside blocks, in records; the blocks' own counts must be public."""
        neighbours = steps(policy, self.domain.names)
        if self.blocks != tuple(stretches(neighbours.graph, name) for name in self.domain.names):
            raise PolicyError("the blocks counted exactly are not those that no secret pair leaves.")
        of_counts = lattice_sensitivity(self.lattice, self.domain.names, policy)
        if of_counts.value:
            raise PolicyError("the blocks' counts depend on secrets.")
        if not neighbours.graph.has_edges:
            return of_counts
        theorem = "block counts are public; inside a block shares change by at most 2 [docs/proofs/soft_grid.md]"
        return Sensitivity(Fraction(2 * neighbours.rows), exact=False, theorem=theorem, witness=None)

    @cached_property
    def pieces(self) -> list[list[tuple[int, int, int]]]:
        """Along every axis, the start and width of each stretch and the run it belongs to."""
        return [
            [
                (start + nth * width, width, run)
                for run, (start, width, count) in enumerate(each)
                for nth in range(count)
            ]
            for each in self.blocks
        ]

    def chosen(self, counts: Integers) -> tuple[tuple[BlockGrid, ...], Lattice | None]:
        """Choose the grids of all blocks from their counts, and one lattice fine enough for all of them."""
        most = MOST_PER_AXIS
        while True:
            grids = tuple(self._choices(counts, most))
            fine = self._fine(grids)
            size = prod(
                sum(nodes * count for nodes, (_, _, count) in zip(nodes_of_runs, each, strict=True))
                for nodes_of_runs, each in zip(fine, self.blocks, strict=True)
            )
            if size <= MOST_NODES_OF_BLOCKS or most == 1:
                return grids, self._lattice(fine) if grids else None
            most //= 2

    def _choices(self, counts: Integers, most: int) -> Iterator[BlockGrid]:
        if not self.strength or most == 1:
            return
        table = counts.reshape(self.lattice.shape)
        for indices in np.argwhere(table > 0).tolist():
            sizes = tuple(each[at][1] for each, at in zip(self.pieces, indices, strict=True))
            box = tuple(self._width(axis, at) for axis, at in enumerate(indices))
            cells = _choose(int(table[tuple(indices)]), self.strength, box, tuple(min(size, most) for size in sizes))
            if prod(cells) > 1:
                yield BlockGrid(int(np.ravel_multi_index(tuple(indices), self.lattice.shape)), tuple(indices), cells)

    def _width(self, axis: int, at: int) -> Fraction:
        attribute, (start, width, _) = self.domain.attributes[axis], self.pieces[axis][at]
        return (
            attribute.bounds[start + width] - attribute.bounds[start]
            if isinstance(attribute, Binned)
            else width * attribute.gap(0, 1)
        )

    def _fine(self, grids: tuple[BlockGrid, ...]) -> list[list[int]]:
        """Return for every run of every axis the most cells that any block in it has."""
        fine = [[1] * len(each) for each in self.blocks]
        for block in grids:
            for axis, (at, cells) in enumerate(zip(block.indices, block.cells, strict=True)):
                run = self.pieces[axis][at][2]
                fine[axis][run] = max(fine[axis][run], cells)
        return fine

    def _lattice(self, fine: list[list[int]]) -> Lattice:
        axes: list[Axis] = []
        for nodes_of_runs, each, resolution in zip(fine, self.blocks, self.resolutions, strict=True):
            runs = tuple(
                Run.centred(start, width, count, nodes)
                for nodes, (start, width, count) in zip(nodes_of_runs, each, strict=True)
            )
            axes.append(Axis(runs, resolution))
        return Lattice(tuple(axes))

    def values(self, counts: Integers) -> int:
        """Return how many numbers a release has if its blocks have these counts."""
        return len(counts) + sum(prod(block.cells) for block in self.chosen(counts)[0])

    def draw(self, aggregates: Aggregates, scale: Fraction, source: BitSource) -> npt.NDArray[Any]:
        """Count the blocks exactly, then share records inside the blocks and add the noise."""
        counts = aggregates.lattice_sums(self.lattice).reshape(-1)
        grids, lattice = self.chosen(counts)
        if lattice is None:
            return counts
        sums = aggregates.lattice_sums(lattice)
        firsts = [
            list(accumulate((_nodes(axis, run) for _, _, run in each), initial=0))
            for axis, each in zip(lattice.axes, self.pieces, strict=True)
        ]
        rows = [self._block(sums, firsts, block) for block in grids]
        noise = discrete_laplace(scale, sum(map(len, rows)), source=source)
        return np.concatenate([counts, np.concatenate(rows) + noise])

    def _block(self, sums: Integers, firsts: list[list[int]], block: BlockGrid) -> Integers:
        part = sums[tuple(slice(first[at], first[at + 1]) for first, at in zip(firsts, block.indices, strict=True))]
        for axis, cells in enumerate(block.cells):
            part = coarsened(part, axis, cells)
        return part.reshape(-1)

    def points(self, noisy: Integers, scale: Fraction) -> Points:
        """Estimate where the records of every block lie; a block without a grid becomes one point."""
        counts, unit = noisy[: self.lattice.size], prod(self.resolutions)
        grids, _ = self.chosen(counts)
        groups: defaultdict[tuple[tuple[int, ...], tuple[int, ...]], list[tuple[BlockGrid, Any]]] = defaultdict(list)
        start = self.lattice.size
        for block in grids:
            many = prod(block.cells)
            sizes = tuple(each[at][1] for each, at in zip(self.pieces, block.indices, strict=True))
            groups[block.cells, sizes].append((block, noisy[start : start + many] / unit))
            start += many
        lows, highs, weights = self._alone(counts, {block.number for block in grids})
        for (cells, sizes), members in groups.items():
            totals = np.array([float(counts[block.number]) for block, _ in members])
            rows = project(np.stack([rows for _, rows in members], axis=1), totals)
            low, high, weight = spread(
                cells, sizes, rows, float(scale / unit), max(1.0, MOST_POINTS / max(len(grids), 1))
            )
            starts = np.array(
                [[each[at][0] for each, at in zip(self.pieces, block.indices, strict=True)] for block, _ in members]
            )
            for ends, part in ((lows, low), (highs, high)):
                ends.append((starts[:, None, :] + part[None, :, :]).reshape(-1, starts.shape[1]))
            weights.append(weight.T.reshape(-1))
        return to_points(self.domain, np.concatenate(lows), np.concatenate(highs), np.concatenate(weights))

    def _alone(self, counts: Integers, served: set[int]) -> tuple[list[Any], list[Any], list[Any]]:
        numbers = [number for number in np.flatnonzero(counts > 0).tolist() if number not in served]
        places = (
            np.stack(np.unravel_index(numbers, self.lattice.shape), axis=1)
            if numbers
            else np.zeros((0, len(self.blocks)), dtype=int)
        )
        starts = np.stack(
            [np.array([s for s, _, _ in each])[places[:, axis]] for axis, each in enumerate(self.pieces)], axis=1
        )
        wide = np.stack(
            [np.array([w for _, w, _ in each])[places[:, axis]] for axis, each in enumerate(self.pieces)], axis=1
        )
        return [starts.astype(float)], [(starts + wide).astype(float)], [counts[numbers].astype(float)]


@lru_cache(maxsize=100_000)
def _choose(count: int, strength: Fraction, box: tuple[Fraction, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    return choose_cells(count * strength, box, sizes)


def _nodes(axis: Axis, run: int) -> int:
    return axis.runs[run].nodes


def coarsened(sums: Integers, axis: int, cells: int) -> Integers:
    """Share the sums of nodes between fewer nodes along an axis.

    A sum is split into two whole parts, neither of which shrinks when the sum grows: the L1 distance of two tables of
    sums therefore does not grow, and rounding costs no privacy.
    """
    many = sums.shape[axis]
    if many == cells:
        return sums
    run = Run.centred(0, many, 1, cells)
    resolution = run.step
    v = run.coordinates(np.arange(many), resolution)
    lower, share = v // resolution, v % resolution
    moved = np.moveaxis(sums, axis, 0)
    # In two steps, so that no product exceeds 64 bits.
    whole, rest = moved // resolution, moved % resolution
    shares = share.reshape(-1, *([1] * (moved.ndim - 1)))
    upper = whole * shares + rest * shares // resolution
    made = np.zeros((cells + 1, *moved.shape[1:]), dtype=np.int64)
    np.add.at(made, lower, moved - upper)
    np.add.at(made, lower + 1, upper)
    return np.moveaxis(made[:cells], 0, axis)
