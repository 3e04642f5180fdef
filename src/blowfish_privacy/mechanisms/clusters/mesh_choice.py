"""Where a mesh is fine, and where its records lie: post-processing of noisy numbers.

A record's place in a leaf is unknown, so a leaf of mass m and side s adds about m s^2 to the squared distances. Always
cutting the leaf that adds most keeps their sum small with few leaves, and every leaf costs noise: so leaves are cut in
this order until there are as many as the noise allows, never one whose mass is lost in the noise of the first look.
"""

from __future__ import annotations

import heapq
from itertools import product
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.clusters.deconvolution import deconvolve, hats, keep_largest, kron, project
from blowfish_privacy.mechanisms.clusters.mesh import Mesh
from blowfish_privacy.mechanisms.clusters.synopsis import FINEST, MOST_POINTS
from blowfish_privacy.support.arrays import Floats, Integers

_MOST_FIRST_POINTS = 70_000
_FLOOR = 3.0
"""A cell with less than this many noise scales of the first look is not cut."""
_LEAF_FLOOR = 9.0
"""A cell with less than this many noise scales of the mesh is not cut: its parts would be lost in that noise.

Under full-domain secrets both floors agree. Settled under thresholds 4, 16 and 64 on heavy-tailed, tight and broad
groups, groups with a far one of 1 to 2 %, and a ring: 20,000 records, 512 x 512, epsilon 0.1.
"""
_FALSE_ALARMS = 0.1
"""Rows apart from the rest weigh half of what they measure where noise alone makes so many of them, on average.

Settled at n epsilon from 2,000 to 5,000 on one tight, three tight and one broad group, each with a far group of 0.3 to
3 % and without one, and on heavy-tailed, tight and round groups: two attributes, and a few with three.
"""


class Masses:
    """The number of records in each cell of every level, estimated from the noisy first look."""

    def __init__(self, look: Floats, depth: int, dimensions: int, records: int, noise: float) -> None:
        fine = depth
        while fine < depth + 2 and 2 ** ((fine + 1) * dimensions) <= _MOST_FIRST_POINTS:
            fine += 1
        places = (np.arange(2**fine) + 0.5) / 2**fine
        matrix = kron([hats(2**depth, places)] * dimensions)
        rows = project(look[:, None], np.array([float(records)]))
        tables = [deconvolve(matrix, rows, noise)[:, 0].reshape((2**fine,) * dimensions)]
        for half in (2**level for level in range(fine - 1, -1, -1)):
            tables.insert(0, tables[0].reshape([half, 2] * dimensions).sum(axis=tuple(range(1, 2 * dimensions, 2))))
        self.dimensions, self.noise, self._tables = dimensions, noise, tables

    def of(self, depth: int, cells: Integers) -> Floats:
        """Return the mass of cells; below the finest level known it is spread evenly."""
        beyond = max(depth - (len(self._tables) - 1), 0)
        masses = self._tables[depth - beyond][tuple((cells >> beyond).T)]
        return masses / 2.0 ** (beyond * cells.shape[1])

    def mesh(self, depth: int, most: int, noise: float) -> tuple[Mesh, float]:
        """Cut the costliest leaves until there are ``most``; return the mesh and the total cost of its leaves.

        ``noise`` is the scale of what will be measured on the mesh, in records.
        """
        floor = max(_FLOOR * self.noise, _LEAF_FLOOR * noise)
        spared = self._spared(depth, most, floor)

        def cut(level: int, cells: Integers) -> npt.NDArray[np.bool_]:
            mass = self.of(level, cells)
            return (mass >= floor) & (mass / 4.0**level > spared)

        made = Mesh.grow(self.dimensions, depth, cut)
        levels = range(depth + 1)
        return made, sum(
            float(self.of(level, made.places[made.levels == level]).sum()) / 4.0**level for level in levels
        )

    def _spared(self, depth: int, most: int, floor: float) -> float:
        """Return the cost of the costliest leaf that is not cut, when leaves are cut in falling order of cost."""
        corners = np.array(list(product((0, 1), repeat=self.dimensions)), dtype=np.int64)
        leaves, waiting = 1, [(-float(self._tables[0].sum()), 0, (0,) * self.dimensions)]
        while waiting and leaves + len(corners) - 1 <= most:
            _, level, parent = heapq.heappop(waiting)
            leaves += len(corners) - 1
            if level + 1 == depth:
                continue
            cells = 2 * np.array(parent, dtype=np.int64) + corners
            for cell, mass in zip(cells.tolist(), self.of(level + 1, cells).tolist(), strict=True):
                if mass >= floor:
                    heapq.heappush(waiting, (-mass / 4.0 ** (level + 1), level + 1, tuple(cell)))
        return -waiting[0][0] if waiting else 0.0


def leaf_weights(mesh: Mesh, noisy: Floats, records: int, noise: float) -> tuple[Floats, Floats, Floats]:
    """Cut leaves into finer cells: return their lower and upper ends in units of the box, and their weights."""
    matrix, _, _ = mesh.matrix(np.arange(len(mesh.levels)), 1)
    rows = stand_out(noisy, matrix, float(records), noise)
    # A leaf whose rows are all empty has no records.
    leaves = np.flatnonzero(matrix.T @ rows > 0)
    parts = next(q for q in range(FINEST, 0, -1) if q == 1 or len(leaves) * q**mesh.dimensions <= MOST_POINTS)
    matrix, lows, highs = mesh.matrix(leaves, parts)
    return lows, highs, deconvolve(matrix, rows[:, None], noise)[:, 0]


def stand_out(noisy: Floats, matrix: Any, total: float, noise: float) -> Floats:
    """Weigh the rows of a mesh by how surely they are records, and rescale them to the total.

    Rows that share no leaf with the rest may be a far group or noise, and one false record far away moves a centre more
    than many nearby. The squared distances are linear in the weights, so centres are best on average when such rows
    get their mean weight: what they measure, times the probability that they are records. ``matrix`` says which rows
    each leaf shares (rows x leaves).
    """
    floor = 0.5 * noise * log(max(len(noisy) / 2, 2))
    needed = keep_largest(noisy, total, floor) > 0
    kept = np.flatnonzero(needed | (noisy > floor))
    measured = np.maximum(noisy[kept], 1e-9)
    group = _groups(matrix.tocsr()[kept])
    masses = np.bincount(group, measured)
    # So many of all rows have noise of at least this much.
    alarms = len(noisy) / 2 * np.exp(-masses / max(noise, 1e-12))
    beside = group == masses.argmax()
    # Beside the rest, more rows than it takes to reach the total are noise; far rows are too few to be needed for it.
    weights = np.where(beside, needed[kept], (1 / (1 + alarms / _FALSE_ALARMS))[group])
    rows = np.zeros_like(noisy)
    rows[kept] = weights * measured
    return rows * (total / rows.sum())


def _groups(beside: Any) -> Integers:
    """Number the groups of rows that leaves connect; ``beside`` says which rows each leaf shares (rows x leaves)."""
    from scipy.sparse import block_array
    from scipy.sparse.csgraph import connected_components

    # Rows and leaves as the two sides of a graph: far fewer edges than between all rows of a leaf.
    both: Any = block_array([[None, beside], [beside.T, None]], format="csr")
    _, sides = connected_components(both, directed=False)
    return sides[: beside.shape[0]].astype(np.int64)
