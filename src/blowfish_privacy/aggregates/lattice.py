"""A public lattice of nodes laid over positions, between which every record is shared in whole numbers.

Along one axis a record at position p lies between two neighbouring nodes and gives each a whole number of shares, R
together, in proportion to how near it is. With several axes shares multiply, so a record gives its up to 2^d nodes
exactly ``unit`` (the product of all R) together. Everything is arithmetic on non-negative integers, so that every
engine computes the same numbers, in SQL or in numpy:

    q = (p - start) div width;  r = (p - start) - q width
    u = clamp(slope r + shift, 0, step (nodes - 1));  v = (2 u R + step) div (2 step)
    lower node = first + q nodes + v div R;  shares of the node above it = v - R (v div R)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import gcd, prod
from typing import Any

import numpy as np

from blowfish_privacy.errors import QueryError
from blowfish_privacy.support.arrays import Integers

MOST_NODES = 2**24
"""The most nodes of a lattice: their sums are held in memory."""
_LARGEST = 2**62
_WIDE = 2**31


@dataclass(frozen=True)
class Run:
    """``count`` neighbouring pieces of ``width`` positions, each with ``nodes`` nodes of its own."""

    start: int
    width: int
    count: int
    nodes: int
    slope: int = 0
    shift: int = 0
    step: int = 1

    @property
    def stop(self) -> int:
        """One past the last position."""
        return self.start + self.width * self.count

    @classmethod
    def centred(cls, start: int, width: int, count: int, nodes: int) -> Run:
        """Put the nodes in the middles of equal cells of each piece; a position is the middle of its unit stretch."""
        return cls(start, width, count, nodes, *_reduced(2 * nodes, nodes - width, 2 * width))

    @classmethod
    def cornered(cls, size: int, cells: int) -> Run:
        """Put the nodes on the corners of equal cells of one piece, both ends included."""
        return cls(0, size, 1, cells + 1, *_reduced(2 * cells, cells, 2 * size))

    def coordinates(self, offsets: Integers, resolution: int) -> Integers:
        """Return v of the module's formula for positions counted from a piece's start."""
        u = np.clip(self.slope * offsets + self.shift, 0, self.step * (self.nodes - 1))
        return (2 * u * resolution + self.step) // (2 * self.step)


@dataclass(frozen=True)
class Axis:
    """The nodes along one attribute: runs that cover its positions in order, and the shares R of a record."""

    runs: tuple[Run, ...]
    resolution: int = 1

    def __post_init__(self) -> None:
        stops = [0, *(run.stop for run in self.runs)]
        if [run.start for run in self.runs] != stops[:-1] or not self.runs:
            raise QueryError("the runs of an axis must cover its positions in order.")
        for run in self.runs:
            if min(run.width, run.count, run.nodes, run.step, self.resolution) < 1:
                raise QueryError("a run needs positions, pieces, nodes and a step.")
            if 2 * (run.slope * run.width + abs(run.shift) + run.step * run.nodes) * self.resolution >= _LARGEST:
                raise QueryError(
                    "the attribute has too many values for exact arithmetic.", hint="declare coarser ones."
                )

    @classmethod
    def identity(cls, size: int) -> Axis:
        """Give every position its own node."""
        return cls((Run(0, 1, size, 1),))

    @property
    def size(self) -> int:
        """The number of positions."""
        return self.runs[-1].stop

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """The first node of each run."""
        return tuple(sum(run.nodes * run.count for run in self.runs[:rank]) for rank in range(len(self.runs)))

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self.firsts[-1] + self.runs[-1].nodes * self.runs[-1].count

    @property
    def shared(self) -> bool:
        """Whether a record may be shared between nodes at all."""
        return any(run.nodes > 1 for run in self.runs)

    @cached_property
    def affine(self) -> bool:
        """Whether shares are affine in the position between any two nodes, and constant beyond the last ones."""
        run = self.runs[0]
        if len(self.runs) > 1 or not self.shared:
            return len(self.runs) == 1
        ends = (run.shift, run.slope * (run.width - 1) + run.shift)
        inside = -run.step <= ends[0] and ends[1] < run.step * run.nodes
        return run.count == 1 and self.resolution == run.step and inside

    @property
    def pieces(self) -> int:
        """The number of pieces on which the shares of an affine axis are an affine function of the position."""
        return self.nodes + 1 if self.shared else self.nodes

    def locate(self, positions: Integers) -> tuple[Integers, Integers]:
        """Return the lower node of every position, and the shares of the node above it."""
        node, share = np.zeros_like(positions), np.zeros_like(positions)
        for run, first in zip(self.runs, self.firsts, strict=True):
            inside = slice(None) if len(self.runs) == 1 else (positions >= run.start) & (positions < run.stop)
            offsets = positions[inside] - run.start
            piece = offsets // run.width
            v = run.coordinates(offsets - piece * run.width, self.resolution)
            lower = v // self.resolution
            node[inside] = first + piece * run.nodes + lower
            share[inside] = v - lower * self.resolution
        return node, share

    def matrix(self) -> Any:
        """Return the shares that each position gives each node, as a sparse whole-number matrix nodes x positions."""
        from scipy.sparse import csr_array

        positions = np.arange(self.size)
        node, share = self.locate(positions)
        above = np.minimum(node + 1, self.nodes - 1)
        values = np.concatenate([self.resolution - share, share])
        rows, columns = np.concatenate([node, above]), np.concatenate([positions, positions])
        return csr_array((values, (rows, columns)), shape=(self.nodes, self.size), dtype=np.int64)


@dataclass(frozen=True)
class Lattice:
    """The product of one axis for each attribute."""

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        if self.size > MOST_NODES:
            raise QueryError(f"a lattice has at most {MOST_NODES:,} nodes, got {self.size:,}.")

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of nodes along each axis."""
        return tuple(axis.nodes for axis in self.axes)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return prod(self.shape)

    @cached_property
    def unit(self) -> int:
        """What one record gives all nodes together."""
        return prod(axis.resolution for axis in self.axes)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """What one step along each axis adds to a node's number."""
        return tuple(prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))

    @cached_property
    def shared(self) -> tuple[int, ...]:
        """The axes along which records are shared between nodes."""
        return tuple(rank for rank, axis in enumerate(self.axes) if axis.shared)

    def sums(self, positions: Sequence[Integers]) -> Integers:
        """Add up the shares of records given by their positions along every axis."""
        located = [axis.locate(column) for axis, column in zip(self.axes, positions, strict=True)]
        base = np.zeros(len(positions[0]), dtype=np.int64)
        for (node, _), stride in zip(located, self.strides, strict=True):
            base += node * stride
        flat = np.zeros(self.size, dtype=np.int64)
        for corner in product((0, 1), repeat=len(self.shared)):
            shares, nodes = np.ones_like(base), base.copy()
            for axis, up in zip(self.shared, corner, strict=True):
                share = located[axis][1]
                shares *= share if up else self.axes[axis].resolution - share
                nodes += up * self.strides[axis]
            # The node above the last one exists in name only: its shares are zero.
            np.add.at(flat, np.minimum(nodes, self.size - 1), shares)
        return flat.reshape(self.shape) * self._constant

    def contract(self, counts: Integers) -> Integers:
        """Add up the shares of records given by the counts of all cells."""
        table = counts
        for rank, axis in enumerate(self.axes):
            moved = np.moveaxis(table, rank, 0)
            summed = np.asarray(axis.matrix() @ moved.reshape(axis.size, -1), dtype=np.int64)
            table = np.moveaxis(summed.reshape(axis.nodes, *moved.shape[1:]), 0, rank)
        return np.ascontiguousarray(table)

    def from_moments(self, cells: Integers, moments: Sequence[Integers]) -> Integers:
        """Add up shares from sums over the records of each cell, a cell being known by its lower node.

        ``moments`` holds for every subset of the shared axes, in the order of :meth:`subsets`, the sum of the product
        of the upper shares along them; the empty product counts the records.
        """
        depth = len(self.shared)
        corners = np.stack([np.asarray(each, dtype=np.int64) for each in moments]).reshape((2,) * depth + (len(cells),))
        for rank, axis in enumerate(self.shared):
            none, upper = np.take(corners, 0, axis=rank), np.take(corners, 1, axis=rank)
            corners = np.stack([self.axes[axis].resolution * none - upper, upper], axis=rank)
        flat = np.zeros(self.size, dtype=np.int64)
        for corner in product((0, 1), repeat=depth):
            step = sum(up * self.strides[axis] for axis, up in zip(self.shared, corner, strict=True))
            np.add.at(flat, np.minimum(cells + step, self.size - 1), corners[corner])
        return flat.reshape(self.shape) * self._constant

    @cached_property
    def affine(self) -> bool:
        """Whether sums of products of positions over each piece tell all shares, and fit exact arithmetic."""
        wide = prod(self.axes[rank].size for rank in self.shared) >= _WIDE
        return all(axis.affine for axis in self.axes) and not wide

    def from_pieces(self, cells: Integers, moments: Sequence[Integers]) -> Integers:
        """Add up shares from sums over the records of each product of pieces, on an affine lattice.

        ``moments`` holds sums of products of positions. Along an axis the upper share of a record between two nodes is
        slope p + shift - step x (pieces before it), zero beyond the ends, which turns moments of positions into moments
        of shares. Numbers on the way may wrap around; the sums at the end fit, so they are right.
        """
        depth, counts = len(self.shared), [axis.pieces for axis in self.axes]
        turned = np.stack([np.asarray(each, dtype=np.int64) for each in moments]).reshape((2,) * depth + (len(cells),))
        lower = np.zeros_like(cells)
        for number, (axis, piece) in enumerate(zip(self.axes, np.unravel_index(cells, counts), strict=True)):
            if not axis.shared:
                lower += piece * self.strides[number]
                continue
            run, between = axis.runs[0], (piece > 0) & (piece < axis.nodes)
            start = np.maximum(piece - 1, 0)
            lower += start * self.strides[number]
            rank = self.shared.index(number)
            none, product = np.take(turned, 0, axis=rank), np.take(turned, 1, axis=rank)
            upper = np.where(between, run.slope * product + (run.shift - run.step * start) * none, 0)
            turned = np.stack([none, upper], axis=rank)
        return self.from_moments(lower, list(turned.reshape(2**depth, len(cells))))

    def subsets(self) -> list[tuple[int, ...]]:
        """List the subsets of the shared axes in the order of :meth:`from_moments`."""
        chosen = product((0, 1), repeat=len(self.shared))
        return [tuple(axis for axis, up in zip(self.shared, corner, strict=True) if up) for corner in chosen]

    @property
    def _constant(self) -> int:
        return prod(axis.resolution for axis in self.axes if not axis.shared)


def _reduced(slope: int, shift: int, step: int) -> tuple[int, int, int]:
    common = gcd(slope, shift, step)
    return slope // common, shift // common, step // common


# Public centres among which records are divided, in whole-number arithmetic on positions.
#
# Each record goes to its nearest centre or, softly, is shared between all of them. Shares halve with every further
# ``halving`` of distance, and are linear in between: g(D) = 2^-m (1 - r / (2 halving)) for D = m halving + r.

_CHUNK = 2**15


@dataclass(frozen=True)
class Decay:
    """How the shares of a record decay with the distance of the centres, and how fine they are."""

    halving: int
    """The distance over which the share of a centre halves."""
    bits: int
    """A record has 2^bits shares."""

    def __post_init__(self) -> None:
        if any(type(each) is not int or each < 1 for each in (self.halving, self.bits)):
            raise QueryError("soft assignment needs a positive distance and number of bits.")

    @property
    def unit(self) -> int:
        """The number of shares of a record."""
        return 2**self.bits

    def fits(self, centres: int, records: int, reach: int) -> bool:
        """Say whether all arithmetic stays inside 64 bits."""
        largest = 2 * self.halving * self.unit
        return max(largest * self.unit, largest * centres, 2 * records * self.unit * reach) < _LARGEST


@dataclass(frozen=True)
class Assignment:
    """Centres among which records are divided, by distances in weighted positions."""

    centres: tuple[tuple[int, ...], ...]
    """Positions along every axis."""
    weights: tuple[int, ...]
    """The weight of a step along each axis; of its square, where each record goes to its nearest centre."""
    reaches: tuple[int, ...]
    """How far from its centre an offset counts in full, along each axis."""
    decay: Decay | None = None
    """How records are shared; None where each goes to its nearest centre."""

    def __post_init__(self) -> None:
        if not self.centres or any(len(centre) != len(self.weights) for centre in self.centres):
            raise QueryError("a centre needs a position along every axis.")
        if len(self.reaches) != len(self.weights) or min(*self.weights, *self.reaches) < 1:
            raise QueryError("an axis needs a positive weight and reach.")

    @property
    def unit(self) -> int:
        """The number of shares of a record."""
        return 1 if self.decay is None else self.decay.unit

    def sums(self, positions: Sequence[Integers], counts: Integers | None = None) -> Integers:
        """Return for each centre the number of its records and the sums of their clipped offsets, one row each.

        Both are in shares of a record where the assignment is soft.
        """
        many = len(positions[0])
        counts = np.ones(many, dtype=np.int64) if counts is None else counts
        sums = np.zeros((len(self.centres), 1 + len(self.weights)), dtype=np.int64)
        if self.decay is not None:
            for start in range(0, many, _CHUNK):
                part = slice(start, start + _CHUNK)
                self._share([column[part] for column in positions], counts[part], self.decay, sums)
            return sums
        best, label = np.full(many, np.iinfo(np.int64).max), np.zeros(many, dtype=np.int64)
        for number, centre in enumerate(self.centres):
            far = np.zeros(many, dtype=np.int64)
            for column, at, weight in zip(positions, centre, self.weights, strict=True):
                far += weight * (column - at) ** 2
            nearer = far < best
            best[nearer], label[nearer] = far[nearer], number
        np.add.at(sums[:, 0], label, counts)
        centres = np.array(self.centres, dtype=np.int64)
        for axis, (column, reach) in enumerate(zip(positions, self.reaches, strict=True)):
            offsets = np.clip(column - centres[label, axis], -reach, reach)
            np.add.at(sums[:, 1 + axis], label, offsets * counts)
        return sums

    def _share(self, positions: Sequence[Integers], counts: Integers, decay: Decay, sums: Integers) -> None:
        """Add what some records give each centre; the last one gets what rounding leaves over."""
        far = np.zeros((len(self.centres), len(counts)), dtype=np.int64)
        for axis, (column, weight) in enumerate(zip(positions, self.weights, strict=True)):
            for number, centre in enumerate(self.centres):
                far[number] += weight * np.abs(column - centre[axis])
        halvings, rest = np.divmod(far - far.min(axis=0) // decay.halving * decay.halving, decay.halving)
        near = halvings <= decay.bits
        parts = np.where(near, (2 * decay.halving - rest) << (decay.bits - np.where(near, halvings, 0)), 0)
        shares = decay.unit * parts // parts.sum(axis=0)
        shares[-1] = decay.unit - shares[:-1].sum(axis=0)
        shares *= counts
        sums[:, 0] += shares.sum(axis=1)
        for axis, (column, reach) in enumerate(zip(positions, self.reaches, strict=True)):
            for number, centre in enumerate(self.centres):
                sums[number, 1 + axis] += shares[number] @ np.clip(column - centre[axis], -reach, reach)
