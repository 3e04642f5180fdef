"""The soft grid: one noisy soft histogram on a public grid, or on a grid of its own for every block of a partition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from math import prod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Aggregates, Axis, Lattice, Run
from blowfish_privacy.domain import Cell, Domain, quoted
from blowfish_privacy.errors import PolicyError, RefusalError
from blowfish_privacy.mechanisms.clusters.synopsis import (
    MOST_DIMENSIONS,
    MOST_NODES_OF_BLOCKS,
    MOST_PER_AXIS,
    MOST_POINTS,
    Equal,
    Points,
    Synopsis,
    blocks_pay,
    bound_clusters,
    centred_lattice,
    change,
    choose_cells,
    choose_resolutions,
    even_resolutions,
    few_dimensions,
    grid_points,
    largest_moves,
    lattice_sensitivity,
    most_varied,
    project,
    row_of_sums,
    spread,
    stretches,
    to_points,
    whole_numbers,
    width_of,
    widths,
)
from blowfish_privacy.mechanisms.error import ExpectedError
from blowfish_privacy.mechanisms.row_noise import LAPLACE_ROWS
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import loss_seen
from blowfish_privacy.privacy.sensitivity import Sensitivity, steps
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import rounded

# A soft grid in every block of a partition, as fine as the block's exact, public count allows.


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
            pieces = [each[at] for each, at in zip(self.pieces, indices, strict=True)]
            sizes = tuple(size for _, size, _ in pieces)
            axes = zip(self.domain.attributes, pieces, strict=True)
            box = tuple(width_of(attribute, start, start + size) for attribute, (start, size, _) in axes)
            cells = _choose(int(table[tuple(indices)]), self.strength, box, tuple(min(size, most) for size in sizes))
            if prod(cells) > 1:
                yield BlockGrid(int(np.ravel_multi_index(tuple(indices), self.lattice.shape)), tuple(indices), cells)

    def _fine(self, grids: tuple[BlockGrid, ...]) -> list[list[int]]:
        """Return for every run of every axis the most cells that any block in it has."""
        fine = [[1] * len(each) for each in self.blocks]
        for block in grids:
            for axis, (at, cells) in enumerate(zip(block.indices, block.cells, strict=True)):
                run = self.pieces[axis][at][2]
                fine[axis][run] = max(fine[axis][run], cells)
        return fine

    def _lattice(self, fine: list[list[int]]) -> Lattice:
        return Lattice(
            tuple(
                Axis(tuple(Run.centred(*run, nodes) for nodes, run in zip(many, each, strict=True)), resolution)
                for many, each, resolution in zip(fine, self.blocks, self.resolutions, strict=True)
            )
        )

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
            list(accumulate((axis.runs[run].nodes for _, _, run in each), initial=0))
            for axis, each in zip(lattice.axes, self.pieces, strict=True)
        ]
        rows = [self._block(sums, firsts, block) for block in grids]
        return np.concatenate([counts, LAPLACE_ROWS.on(np.concatenate(rows), scale, source)])

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
        places = np.unravel_index(np.array(numbers, dtype=np.int64), self.lattice.shape)
        starts, wide = (
            np.stack([np.array(each)[at, part] for each, at in zip(self.pieces, places, strict=True)], axis=1)
            for part in (0, 1)
        )
        return [starts.astype(float)], [(starts + wide).astype(float)], [counts[numbers].astype(float)]


@lru_cache(maxsize=100_000)
def _choose(count: int, strength: Fraction, box: tuple[Fraction, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    return choose_cells(count * strength, box, sizes)


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
    coarse = np.zeros((cells + 1, *moved.shape[1:]), dtype=np.int64)
    np.add.at(coarse, lower, moved - upper)
    np.add.at(coarse, lower + 1, upper)
    return np.moveaxis(coarse[:cells], 0, axis)


@dataclass(frozen=True, eq=False)
class SoftGrid(Synopsis):
    """Noise on a histogram whose bins overlap: every record is shared between the nodes around it.

    Privacy: (epsilon, P)-Blowfish with epsilon = S / scale: discrete Laplace noise on sums of sensitivity S.
    Sensitivity: 2 min(1, longest secret move / distance of nodes), at most, in records: shares change with the distance
        a record moves, not at once as counts do. Blocks that no secret pair leaves are counted exactly.
    Error: variance 2 q / (1 - q)^2 per node, q = exp(-1 / scale), in units of a share of a record.
    Cost: one scan of the data (two with blocks); time and memory linear in nodes times 2^d.
    Numerics: shares are whole numbers that add up exactly, noise is an exact integer; floating point only afterwards.
    Proof: docs/proofs/soft_grid.md
    """

    form: HistogramForm
    cells: tuple[int, ...] | None
    """The number of cells along every axis; None for a grid in every block, chosen from its exact count."""
    blocks: tuple[tuple[Equal, ...], ...]
    """Along every axis, the stretches that no secret pair leaves."""
    resolutions: tuple[int, ...]
    scale: Fraction
    """Of the noise on a node, in shares of a record; 0 means that no noise is added."""

    name = "soft-grid"
    proof = "docs/proofs/soft_grid.md"

    def __post_init__(self) -> None:
        LAPLACE_ROWS.check(self.scale)
        _ = self.counted

    @classmethod
    def suits(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> bool:
        from blowfish_privacy.mechanisms.clusters.soft_mesh import SoftMesh

        mesh = SoftMesh.suits(query, policy, epsilon=epsilon, records=records)
        return len(query.attributes) <= MOST_DIMENSIONS and policy.size != "unknown" and not mesh

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        form, many = bound_clusters(query, policy, records)
        few_dimensions(form)
        neighbours = steps(policy, form.domain.names)
        graph, amount = neighbours.graph, epsilon / neighbours.rows
        blocks = tuple(stretches(graph, name) for name in form.domain.names)
        if not graph.has_edges or blocks_pay(form.domain, blocks, many * amount):
            shared = [max(width for _, width, _ in each) > 1 for each in blocks]
            resolutions = even_resolutions(shared, many, amount)
            noiseless = cls(form, None, blocks, resolutions, Fraction(0))
            return cls(form, None, blocks, resolutions, 2 * noiseless.unit / amount if graph.has_edges else Fraction(0))
        moves = largest_moves(graph)

        def ratio(cells: Any) -> Fraction:
            return most_varied(_grid(form, cells, (2**20,) * len(cells)), graph, moves)

        cells = choose_cells(many * amount, widths(form.domain.attributes), form.domain.shape, ratio)
        strides = [axis.runs[0].step if axis.shared else 1 for axis in _grid(form, cells, (1,) * len(cells)).axes]
        resolutions = choose_resolutions(strides, many, amount)
        noiseless = cls(form, cells, (), resolutions, Fraction(0))
        sensitivity = lattice_sensitivity(noiseless.lattice, form.domain.names, policy)
        return cls(form, cells, (), resolutions, sensitivity.value * noiseless.unit / epsilon)

    @cached_property
    def lattice(self) -> Lattice:
        """The nodes of one grid over the whole domain."""
        return _grid(self.form, self.cells or (), self.resolutions)

    @cached_property
    def grids(self) -> BlockGrids:
        """A grid for each block, where blocks are counted exactly."""
        strength = 2 * self.unit / self.scale if self.scale else Fraction(0)
        return BlockGrids(self.form.domain, self.blocks, self.resolutions, strength)

    @property
    def counted(self) -> Lattice:
        """The nodes of the grid, or the blocks that are counted exactly."""
        return self.lattice if self.cells is not None else self.grids.lattice

    @property
    def blind(self) -> bool:
        return self.cells is not None and max(self.cells) == 1 < self.form.domain.size

    @property
    def unit(self) -> int:
        """The number of shares that a record is divided into."""
        return prod(self.resolutions)

    def certify(self, policy: Policy) -> Certificate:
        names = self.form.domain.names
        if self.cells is not None and self.blocks:
            raise PolicyError("a grid over everything has no blocks.")
        sensitivity = (
            lattice_sensitivity(self.lattice, names, policy)
            if self.cells is not None
            else self.grids.sensitivity(policy)
        )
        epsilon = LAPLACE_ROWS.lost(sensitivity.value * self.unit, self.scale)
        return self.certified(policy, loss_seen(policy, names, epsilon), sensitivity, self.scale)

    def loss(self, x: Cell, y: Cell) -> Fraction:
        if not self.scale:
            return Fraction(0)
        moved = change(self.lattice, x, y) if self.cells is not None else Fraction(2 if x != y else 0)
        return moved * self.unit / self.scale

    @property
    def rows(self) -> int:
        return self.counted.size

    def fits(self, noisy: npt.NDArray[np.int64]) -> bool:
        if self.cells is not None:
            return len(noisy) == self.rows
        counts = noisy[: self.rows]
        return len(counts) == self.rows and counts.min() >= 0 and len(noisy) == self.grids.values(counts)

    def draw(self, aggregates: Aggregates, source: BitSource) -> npt.NDArray[Any]:
        if self.cells is None:
            return self.grids.draw(aggregates, self.scale, source)
        return LAPLACE_ROWS.on(row_of_sums(aggregates, self.lattice), self.scale, source)

    def points(self, noisy: npt.NDArray[np.int64], records: int | None) -> Points:
        if self.cells is None:
            return self.grids.points(noisy, self.scale)
        return grid_points(self.form, self.cells, noisy, self.unit, self.scale, float(records or 0))

    def expected_error(self) -> ExpectedError:
        return ExpectedError(self.scale, Fraction(1, self.unit), "a cell of the grid")

    @property
    def notices(self) -> list[str]:
        domain = self.form.domain
        axes = zip(domain.names, self.cells or (), strict=False)
        flat = ", ".join(quoted(name) for name, cells in axes if cells == 1 < domain[name].size)
        if not flat:
            return []
        return [
            f"Records are not told apart by {flat}: at this epsilon the cells go to attributes of wider range, and "
            "centres lie in the middle there. Declare attributes in units that make them comparable."
        ]

    @property
    def exact_parts(self) -> int:
        return 1 if self.cells is not None else self.rows

    def without_noise(self) -> str | None:
        if self.cells is not None:
            return None
        return f"how many records are in each of the {self.rows:,} blocks that no secret pair leaves"

    def words(self) -> str:
        noise = f"noise of scale {rounded(self.scale / self.unit)} records" if self.scale else "no noise"
        if self.cells is None:
            blocks = f"The {self.rows:,} blocks are counted exactly"
            return f"{blocks}; each gets a grid as fine as its count allows, with {noise}."
        grid = " x ".join(map(str, self.cells))
        shared = f"Records are shared between the nodes of a grid of {grid}; every node gets {noise}."
        return f"{shared} Clusters are found in it."

    def to_document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "cells": None if self.cells is None else list(self.cells),
            "blocks": [[list(run) for run in each] for each in self.blocks],
            "resolutions": list(self.resolutions),
            **LAPLACE_ROWS.to_document(self.scale),
        }

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        form, _ = bound_clusters(query, policy, records)
        cells = None if written["cells"] is None else whole_numbers(written["cells"], form)
        blocks = tuple(tuple((int(a), int(b), int(c)) for a, b, c in each) for each in written["blocks"])
        scale = LAPLACE_ROWS.from_document(written)
        return cls(form, cells, blocks, whole_numbers(written["resolutions"], form), scale)


def _grid(form: HistogramForm, cells: Sequence[int], resolutions: Sequence[int]) -> Lattice:
    """Lay a grid over everything; along an axis of one cell no record is shared."""
    shares = [each if many > 1 else 1 for each, many in zip(resolutions, cells, strict=True)]
    return centred_lattice(form, cells, shares)


# A soft grid where the number of records is secret: it is measured first, and says how fine the grid may be.

_COUNT_SHARE = Fraction(1, 20)
"""Of epsilon, for the count where nothing moves: it only decides how fine the grid is, and scales its sums."""


@dataclass(frozen=True, eq=False)
class CountedGrid(Synopsis):
    """Noise on the number of records, then on a soft histogram whose grid is as fine as that number allows.

    Privacy: (epsilon, P)-Blowfish: a record that comes or goes loses 1 / count scale + a record / scale, one that moves
        two records / scale; epsilon is the larger.
    Sensitivity: 1 and 1 record when a record comes or goes, for shares add up to a record on every grid; 0 and at most
        2 when it moves.
    Error: variance 2 q / (1 - q)^2 per node, q = exp(-1 / scale), in units of a share of a record.
    Cost: two scans of the data; time and memory linear in nodes times 2^d.
    Numerics: shares are whole numbers that add up exactly, noise is an exact integer; floating point only afterwards.
    Proof: docs/proofs/counted_grid.md
    """

    form: HistogramForm
    resolutions: tuple[int, ...]
    scale: Fraction
    """Of the noise on a node, in shares of a record."""
    count_scale: Fraction

    name = "counted-grid"
    proof = "docs/proofs/counted_grid.md"

    def __post_init__(self) -> None:
        LAPLACE_ROWS.check(self.scale, self.count_scale)

    @classmethod
    def suits(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> bool:
        return policy.size == "unknown" and len(query.attributes) <= MOST_DIMENSIONS

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        form, most = _bound(query, policy)
        few_dimensions(form)
        neighbours = steps(policy, form.domain.names)
        amount = epsilon / neighbours.rows
        resolutions = even_resolutions([size > 1 for size in form.domain.shape], most, amount)
        of_grid = amount * (Fraction(1, 2) if neighbours.graph.has_edges else 1 - _COUNT_SHARE)
        return cls(form, resolutions, prod(resolutions) / of_grid, 1 / (amount - of_grid))

    def certify(self, policy: Policy) -> Certificate:
        names = self.form.domain.names
        neighbours = steps(policy, names)
        presence = neighbours.rows * self.presence((0,) * len(names))
        moved = neighbours.rows * 2 * self.unit / self.scale if neighbours.graph.has_edges else Fraction(0)
        theorem = "a record adds 1 to the count and 1 to the grid; a move changes the grid by at most 2"
        # Whether some move changes a grid that much depends on the grid; coming and going does on all of several nodes.
        attained = presence >= moved and self.form.domain.size > 1
        sensitivity = Sensitivity(Fraction(2 * neighbours.rows), attained, f"{theorem} [{self.proof}]", None)
        return self.certified(
            policy, loss_seen(policy, names, moved, presence), sensitivity, self.count_scale, self.scale
        )

    def loss(self, x: Cell, y: Cell) -> Fraction:
        return LAPLACE_ROWS.lost(2 * self.unit if x != y else 0, self.scale)

    def presence(self, x: Cell) -> Fraction:
        return LAPLACE_ROWS.lost(1, self.count_scale) + LAPLACE_ROWS.lost(self.unit, self.scale)

    @property
    def unit(self) -> int:
        """The number of shares that a record is divided into."""
        return prod(self.resolutions)

    def cells(self, count: int) -> tuple[int, ...]:
        """Choose the number of cells along every axis from the noisy count, which is taken to be 1 at least."""
        signal = max(count, 1) * 2 * self.unit / self.scale
        return choose_cells(signal, widths(self.form.domain.attributes), self.form.domain.shape)

    def lattice(self, cells: tuple[int, ...]) -> Lattice:
        """Lay the nodes of a grid with so many cells along every axis."""
        return centred_lattice(self.form, cells, self.resolutions)

    @property
    def rows(self) -> int:
        return 1

    def fits(self, noisy: npt.NDArray[np.int64]) -> bool:
        return len(noisy) > 0 and len(noisy) == 1 + prod(self.cells(int(noisy[0])))

    def draw(self, aggregates: Aggregates, source: BitSource) -> npt.NDArray[Any]:
        alone = self.lattice((1,) * len(self.form.domain.names))
        counted = aggregates.lattice_sums(alone).reshape(-1) // alone.unit
        count = LAPLACE_ROWS.on(counted, self.count_scale, source)
        sums = row_of_sums(aggregates, self.lattice(self.cells(int(count[0]))))
        return np.concatenate([count, LAPLACE_ROWS.on(sums, self.scale, source)])

    def points(self, noisy: npt.NDArray[np.int64], records: int | None) -> Points:
        count = max(int(noisy[0]), 1)
        return grid_points(self.form, self.cells(count), noisy[1:], self.unit, self.scale, float(count))

    def expected_error(self) -> ExpectedError:
        return ExpectedError(self.scale, Fraction(1, self.unit), "a cell of the grid")

    def words(self) -> str:
        return (
            f"The number of records gets noise of scale {rounded(self.count_scale)}. Records are shared between the "
            f"nodes of a grid that is as fine as the noisy number allows; every node gets noise of scale "
            f"{rounded(self.scale / self.unit)} records. Clusters are found in it."
        )

    def to_document(self) -> dict[str, Any]:
        scales = {"count": self.count_scale, "grid": self.scale}
        written = {part: LAPLACE_ROWS.to_document(scale) for part, scale in scales.items()}
        return {"name": self.name, "resolutions": list(self.resolutions), **written}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        form, _ = _bound(query, policy)
        scales = (LAPLACE_ROWS.from_document(written[part]) for part in ("grid", "count"))
        return cls(form, whole_numbers(written["resolutions"], form), *scales)


def _bound(query: Query, policy: Policy) -> tuple[HistogramForm, int]:
    if policy.size != "unknown":
        raise RefusalError("the number of records is public, so it need not be measured.", hint="use soft-grid.")
    return bound_clusters(query, policy, None, secret=True)
