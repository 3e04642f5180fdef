"""The levels of a smooth hierarchy: overlapping bins and block sums, in whole numbers.

A level of spacing g has nodes at 0, g, 2g, ... A record at position x = i g + r adds, times g,

- *difference level*: g - r to node i and r to node i + 1 (a "hat" around each node; g = 1 is the histogram);
  with overlap j the nodes are j times as dense, and every record is in 2 j hats;
- *cumulative level*: min(g, max(0, (i + 1) g - x)) to row i, which makes row i the sum of S over block i.

Both change smoothly with x, so a short move changes them little: that is what a distance threshold pays for. Where the
number of records is secret, its noisy *total* is one more row, which no move changes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import SpecError
from blowfish_privacy.mechanisms.row_noise import LAPLACE_ROWS, RowNoise
from blowfish_privacy.support.arrays import (
    Floats,
    Integers,
    Matrix,
    blocks,
    column_by_column,
    dense,
    diagonal,
    matrix,
    solver,
    stacked,
    times,
    turned,
)

_SMALLEST = 1e-60


@dataclass(frozen=True)
class Level(ABC):
    """Rows of one spacing, with noise of one scale on their whole-number form. A scale of 0 means no noise."""

    spacing: int
    scale: Fraction
    noise: RowNoise = LAPLACE_ROWS

    @property
    def unit(self) -> int:
        """What one record adds to a row at most: whole-number rows count in such parts of a record."""
        return self.spacing

    @abstractmethod
    def rows(self, size: int) -> int:
        """Count the rows over ``size`` positions."""

    def places(self, size: int) -> Integers:
        """Return the nodes of the rows."""
        return self.spacing * np.arange(self.rows(size))

    @abstractmethod
    def change(self, x: int, y: int) -> int:
        """Return the change of the rows, times :attr:`unit` and as the noise counts it, on a move from x to y."""

    @abstractmethod
    def most(self, distance: int) -> int:
        """Bound :meth:`change` over all moves of at most ``distance`` positions; a move from 0 attains the bound."""

    @abstractmethod
    def weight(self, x: int, size: int) -> int:
        """Return what a record at x adds to the rows, as the noise counts it; at 0 it is largest."""

    def lost(self, change: int) -> Fraction:
        """Return the privacy loss on a change of the rows."""
        return self.noise.lost(change, self.scale)

    @abstractmethod
    def answer(self, counts: Integers) -> Integers:
        """Return the exact rows along the first axis, times :attr:`unit`."""

    @abstractmethod
    def hats(self, size: int) -> Matrix:
        """Return what the rows observe as a sparse matrix of hats, counted in records."""

    def covariance(self, size: int) -> Matrix:
        """Return the covariance of the noise on what :meth:`hats` observes, as a sparse matrix."""
        return diagonal(np.full(self.rows(size), self.variance))

    def as_hats(self, noisy: Integers) -> Floats:
        """Turn noisy rows into noisy observations of :meth:`hats`."""
        return noisy / self.unit

    @property
    def precision(self) -> Fraction:
        """How precise the rows are, compared with others: one over the square of the scale, or over the variance."""
        return (self.noise.scaled(Fraction(1), self.unit) / self.scale) ** (2 // self.noise.power)

    @property
    def variance(self) -> float:
        """The variance of the noise of one row, counted in records."""
        # Noise of a tiny scale is almost always 0; the floor avoids a division by zero in the least squares.
        return max(self.noise.variance(self.scale), _SMALLEST) / self.unit**2 if self.scale else 0.0


@dataclass(frozen=True)
class DifferenceLevel(Level):
    """Overlapping bins: each row is a hat around its node that reaches as many nodes further as the overlap says."""

    overlap: int = 1

    @property
    def unit(self) -> int:
        return self.spacing * self.overlap

    def rows(self, size: int) -> int:
        return 2 * self.overlap - 1 - (-(size - 1) // self.spacing)

    def places(self, size: int) -> Integers:
        return self.spacing * np.arange(1 - self.overlap, self.rows(size) - self.overlap + 1)

    def change(self, x: int, y: int) -> int:
        weights: dict[int, int] = {}
        for position, sign in ((x, 1), (y, -1)):
            first = position // self.spacing - self.overlap + 1
            for node in range(first, first + 2 * self.overlap):
                weights[node] = weights.get(node, 0) + sign * self._height(node, position)
        return self.noise.change(weights.values())

    def most(self, distance: int) -> int:
        """Compare moves from a node to the nodes within the distance and to its end.

        Between nodes the weights are linear, so the change is convex in both ends of a move: it is largest where they
        are nodes, or the move is as long as possible and one of them is. Two hats away nothing is left in common.
        """
        nodes = range(self.spacing, min(distance, 2 * self.unit) + 1, self.spacing)
        return max(self.change(0, y) for y in (*nodes, min(distance, 2 * self.unit)))

    def weight(self, x: int, size: int) -> int:
        first = x // self.spacing - self.overlap + 1
        return self.noise.change(self._height(node, x) for node in range(first, first + 2 * self.overlap))

    def _height(self, node: int, position: int) -> int:
        return self.unit - abs(position - node * self.spacing)

    def answer(self, counts: Integers) -> Integers:
        if self.unit == 1:
            return counts.copy()
        answers = np.empty((self.rows(len(counts)), *counts.shape[1:]), dtype=np.int64)
        for first in range(self.overlap):
            places = answers[first :: self.overlap]
            places[:] = self._touching(counts, (self.overlap - 1 - first) * self.spacing)[: len(places)]
        return answers

    def _touching(self, counts: Integers, before: int) -> Integers:
        """Add up both sides of every hat, block by block; the first node is some positions before the first count."""
        g = self.unit
        blocks = np.zeros((-(-(before + len(counts)) // g) * g, *counts.shape[1:]), dtype=np.int64)
        blocks[before : before + len(counts)] = counts
        blocks = blocks.reshape(-1, g, *counts.shape[1:])
        total, right = blocks.sum(axis=1), np.einsum("bg...,g->b...", blocks, np.arange(g, dtype=np.int64))
        answers = np.zeros((len(total) + 1, *counts.shape[1:]), dtype=np.int64)
        answers[:-1] += g * total - right
        answers[1:] += right
        return answers

    def hats(self, size: int) -> Matrix:
        x = np.arange(size)
        node, rest = np.divmod(x, self.spacing)
        below = [rest + self.spacing * step for step in range(self.overlap)]
        beyond = [self.spacing * step - rest for step in range(1, self.overlap + 1)]
        weights = [*(1 - far / self.unit for far in below), *((self.unit - far) / self.unit for far in beyond)]
        rows = [node - step for step in range(self.overlap)] + [node + step for step in range(1, self.overlap + 1)]
        places = (np.concatenate(rows) + self.overlap - 1, np.tile(x, 2 * self.overlap))
        shape = (int(node[-1]) + 2 * self.overlap, size)
        return matrix(np.concatenate(weights), *places, shape)[: self.rows(size)]

    def whole_hats(self, size: int) -> Integers:
        """Return the hats times :attr:`unit`, in whole numbers."""
        return np.rint(dense(self.hats(size)) * self.unit).astype(np.int64)

    def heights(self, x: int, size: int) -> Integers:
        """Return one column of :meth:`whole_hats`: what a record at a position adds to each row."""
        first, touched = x // self.spacing, 2 * self.overlap
        heights = np.zeros(self.rows(size) + 1, dtype=np.int64)
        heights[first : first + touched] = [self._height(first - self.overlap + 1 + n, x) for n in range(touched)]
        # At a node, the hat of the last one beyond it is 0, and may be none of the rows.
        return heights[:-1]


@dataclass(frozen=True)
class CumulativeLevel(Level):
    """Block sums of the cumulative histogram; the last, which is public, is left out."""

    def rows(self, size: int) -> int:
        return -(-(size - 1) // self.spacing)

    def change(self, x: int, y: int) -> int:
        distance = abs(x - y)
        first = min(distance, self.spacing - min(x, y) % self.spacing)
        return self.noise.change((first,)) + self.most(distance - first)

    def most(self, distance: int) -> int:
        whole, rest = divmod(distance, self.spacing)
        return whole * self.noise.change((self.spacing,)) + self.noise.change((rest,))

    def weight(self, x: int, size: int) -> int:
        return self.change(x, max(x, self.rows(size) * self.spacing))

    def answer(self, counts: Integers) -> Integers:
        rows = self.rows(len(counts))
        sums = np.pad(np.cumsum(counts), (0, self.spacing), mode="edge")
        return sums[: rows * self.spacing].reshape(rows, self.spacing).sum(axis=1)

    def hats(self, size: int) -> Matrix:
        return DifferenceLevel(self.spacing, self.scale).hats(size)[: self.rows(size)]

    def covariance(self, size: int) -> Matrix:
        main = np.full(self.rows(size), 2 * self.variance)
        main[:1] = self.variance
        return diagonal(main, beside=-self.variance)

    def as_hats(self, noisy: Integers) -> Floats:
        return np.diff(noisy, prepend=0) / self.spacing


@dataclass(frozen=True)
class TotalLevel(Level):
    """The number of records, where it is secret: a single row."""

    def rows(self, size: int) -> int:
        return 1

    def change(self, x: int, y: int) -> int:
        return 0

    def most(self, distance: int) -> int:
        return 0

    def weight(self, x: int, size: int) -> int:
        return 1

    def answer(self, counts: Integers) -> Integers:
        return counts.sum(keepdims=True)

    def hats(self, size: int) -> Matrix:
        return np.ones((1, size))


# The rows of the coarser levels of a smooth hierarchy as one matrix, whatever noise they get.
#
# All of it depends on sizes and spacings alone, so it is kept: plans that differ in what they spend share it.

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
    def transposed(self) -> Matrix:
        """The same with rows and columns exchanged."""
        return turned(self.hats)

    @cached_property
    def products(self) -> Matrix:
        """The products of every two rows."""
        return self.hats @ self.transposed

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
            # The highest power of 2 of which a multiple lies inside each hat, at which it ends parts.
            reach, depth = np.repeat([level.unit for level in self.levels], counts), np.zeros_like(places)
            for power in range(1, self.size.bit_length() + 1):
                last = (places + reach - 1) >> power << power
                depth[last > places - reach] = power
        else:
            depth = np.sum([places % level.spacing == 0 for level in self.levels], axis=0)
        return np.lexsort((np.repeat(np.arange(len(counts)), counts), places, depth))


_kept = lru_cache(maxsize=_KEPT)(HatRows)


# Generalised least squares for a smooth hierarchy: the best linear estimate, given the total, exact or noisy.
#
# Unknown are the counts c. Observed are the leaf, y = c + noise of variance v, the hats of the coarser levels,
# z = A c + noise of covariance D, and the total with noise of variance w, which is 0 where the number of records is
# public. With B = [A; 1] and E = blockdiag(D, w) the estimate is
# ``y + v B' G^-1 (o - B y)``, G = E + v B B', and its covariance ``v I - v^2 B' G^-1 B``. G is sparse: hats touch only
# their neighbours.

_FINE = 16


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The linear step over ``size`` positions: leaf noise of variance ``leaf``, and coarser levels above it."""

    size: int
    leaf: float
    coarse: tuple[Level, ...]
    total: float = 0.0
    """The variance of the noise on the total."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was worked out: a factorisation can be neither copied nor pickled."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _shape(self) -> HatRows:
        if self.size > _LARGEST_KEPT:
            return HatRows(self.size, self.coarse)
        # They do not depend on the scales of the noise.
        return _kept(self.size, tuple(replace(level, scale=Fraction(0)) for level in self.coarse))

    @cached_property
    def _solve(self) -> Any:
        if not self.coarse:
            return np.asarray
        noise = blocks([level.covariance(self.size) for level in self.coarse])
        system: Any = noise + self.leaf * self._shape.products
        if isinstance(system, np.ndarray):
            return partial(column_by_column, solver(system))
        from scipy.sparse.linalg import splu

        order = self._shape.order
        system = system.tocsr()[order][:, order].tocsc()
        factor = splu(system, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True})

        def solve(right: Floats) -> Floats:
            solved = np.empty_like(right)
            solved[order] = factor.solve(right[order])
            return solved

        return solve

    @cached_property
    def _total(self) -> tuple[Floats, float]:
        """Return the hats' response to the total, and how far it may be from what leaf and hats say of it."""
        response = self._solve(self._ones)
        return response, self.total + self.leaf * self.size - float(self._ones @ response)

    @cached_property
    def _ones(self) -> Floats:
        """What the hats see of one record everywhere, times the variance of the leaf's noise."""
        return self.leaf * (self._shape.hats @ np.ones(self.size))

    def estimates(self, leaf: Floats, coarse: Sequence[Floats], totals: Floats) -> Floats:
        """Return the estimated counts of several releases, one in each row; they add up to totals that are exact."""
        observed = np.concatenate([np.zeros((len(leaf), 0)), *coarse], axis=1)
        response, spread = self._total
        solved = np.ascontiguousarray(self._solve(observed.T - times(self._shape.hats, leaf.T)).T)
        # Product by product, so that a release is estimated to the same bits alone and among others.
        seen = np.array([float(self._ones @ each) for each in solved])
        multipliers = ((totals - leaf.sum(axis=1) - seen) / spread)[:, None]
        return leaf + self.leaf * (times(self._shape.transposed, (solved - multipliers * response).T).T + multipliers)

    def spread(self, weights: Floats) -> Floats:
        """Multiply columns of weights by the covariance of the estimated counts, v I - v^2 B' G^-1 B."""
        response, left = self._total
        solved = self._solve(self._shape.hats @ weights)
        multiplier = (weights.sum(axis=0) - self._ones @ solved) / left
        known = self._shape.transposed @ (solved - np.outer(response, multiplier)) + multiplier
        return self.leaf * weights - self.leaf**2 * known

    def moments(self) -> tuple[float, float]:
        """Return the trace and the sum of all entries of the covariance of the cumulative estimate, exactly."""
        if self._shape.overlapping:
            covariance = self._inverse_information
            return float(np.trace(covariance)), float(covariance.sum())
        summed = np.cumsum(self._joined, axis=1)
        trace = self.leaf * self.size * (self.size + 1) / 2
        trace -= self.leaf**2 * float(np.vdot(summed, self._joint_solve(summed)))
        weights = np.arange(self.size, 0, -1.0)
        seen = self._joined @ weights
        both = self.leaf * float(weights @ weights) - self.leaf**2 * float(seen @ self._joint_solve(seen))
        return trace, both

    def covariance(self) -> Floats:
        """Return the covariance of the cumulative estimate, entry by entry."""
        if self._shape.overlapping:
            return self._inverse_information
        summed = np.cumsum(self._joined, axis=1)
        places = np.arange(1, self.size + 1)
        first = self.leaf * np.minimum.outer(places, places)
        return first - self.leaf**2 * (summed.T @ self._joint_solve(summed))

    @cached_property
    def _inverse_information(self) -> Floats:
        """The covariance where there are as many rows as positions: the inverse of what all rows say together.

        That is the information on the counts, then on their cumulative sums.
        """
        from scipy.linalg import get_lapack_funcs

        information = np.diag(np.full(self.size, 1 / self.leaf)) + (1 / self.total if self.total else 0.0)
        for level in self.coarse:
            if not isinstance(level, CumulativeLevel):
                # Products of rows are faster as arrays where the rows are long.
                hats = level.hats(self.size) if level.spacing < _FINE else dense(level.hats(self.size))
                information += dense(hats.T @ hats) / level.variance
        # A count is the difference of two cumulative counts.
        information[:-1] -= information[1:]
        information[:, :-1] -= information[:, 1:]
        for level in self.coarse:
            if isinstance(level, CumulativeLevel):
                for block in (slice(start, start + level.spacing) for start in range(0, self.size, level.spacing)):
                    information[block, block] += 1 / level.spacing**2 / level.variance
        # A public total is the last cumulative count, and has no variance.
        noisy = slice(None if self.total else -1)
        factor, inverse = get_lapack_funcs(("potrf", "potri"), (information,))
        half: Any = inverse(factor(information[noisy, noisy])[0])[0]
        whole = np.triu(half) + np.triu(half, 1).T
        return np.pad(whole, (0, self.size - len(whole)))

    @cached_property
    def _joined(self) -> Floats:
        return np.vstack([dense(self._shape.hats), np.ones((1, self.size))])

    @cached_property
    def _joint_solve(self) -> Any:
        noise = blocks([*(level.covariance(self.size) for level in self.coarse), np.full((1, 1), self.total)])
        return solver(dense(noise) + self.leaf * (self._joined @ self._joined.T))


# Levels in words and in documents.

MOST_OVERLAP = 16
"""Hats that overlap more often than this would cost time and add no information."""


def level_words(level: Level) -> str:
    """Name the rows of a level and their noise."""
    scale = f"({level.noise.size_words(level.scale, level.unit)})"
    if isinstance(level, TotalLevel):
        return f"the number of records {scale}"
    if isinstance(level, CumulativeLevel):
        blocks = f"cumulative counts added up in blocks of {level.spacing:,}"
        return f"{'the cumulative counts' if level.spacing == 1 else blocks} {scale}"
    if level.unit == 1:
        return f"single counts {scale}"
    reach = f" that reach {level.unit:,}" if level.unit > level.spacing else ""
    return f"overlapping bins {level.spacing:,} apart{reach} {scale}"


def level_to_document(level: Level) -> dict[str, Any]:
    """Write kind, spacing and scale, and how far bins overlap where it is further than to the next."""
    scale = level.noise.to_document(level.scale)
    if isinstance(level, TotalLevel):
        return {"total": True, **scale}
    overlap = {"overlap": level.overlap} if isinstance(level, DifferenceLevel) and level.overlap > 1 else {}
    return {"cumulative": isinstance(level, CumulativeLevel), "spacing": level.spacing, **overlap, **scale}


def level_from_document(written: dict[str, Any], noise: RowNoise) -> Level:
    """Read kind, spacing, overlap and scale."""
    scale = noise.from_document(written)
    if "total" in written:
        return TotalLevel(1, scale, noise)
    spacing, overlap, cumulative = written["spacing"], written.get("overlap", 1), written["cumulative"]
    if type(cumulative) is not bool or not all(type(each) is int and each >= 1 for each in (spacing, overlap)):
        raise SpecError("the document is damaged: a spacing is not a positive whole number.")
    if overlap > MOST_OVERLAP:
        raise SpecError("the document is damaged: its bins overlap more often than any release's do.")
    return CumulativeLevel(spacing, scale, noise) if cumulative else DifferenceLevel(spacing, scale, noise, overlap)


def levels_of_hats(written: list[dict[str, Any]], noise: RowNoise) -> tuple[DifferenceLevel, ...]:
    """Read levels of which the first is single values and the others are different bins."""
    levels = [level_from_document(each, noise) for each in written]
    hats = tuple(level for level in levels if isinstance(level, DifferenceLevel))
    if len({(level.spacing, level.unit) for level in hats}) != len(levels) or not hats or hats[0].unit != 1:
        raise SpecError("the document is damaged: its levels do not allow an estimate.")
    return hats
