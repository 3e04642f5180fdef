"""The adaptive soft mesh: a first look at where the records are, then fine cells there and coarse ones elsewhere."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import log
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Aggregates, Axis, Lattice, Run
from blowfish_privacy.aggregates.lattice import MOST_NODES
from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import PolicyError, RefusalError, SpecError
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.mechanisms.clusters.synopsis import (
    FINEST,
    MOST_DIMENSIONS,
    MOST_POINTS,
    Points,
    Synopsis,
    blocks_pay,
    bound_clusters,
    centred_lattice,
    change,
    choose_resolutions,
    deconvolve,
    few_dimensions,
    hats,
    keep_largest,
    kron,
    largest_moves,
    lattice_sensitivity,
    most_varied,
    project,
    rate,
    row_of_sums,
    stretches,
    to_points,
    whole_numbers,
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
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.exact import rounded
from blowfish_privacy.support.progress import task

# A mesh: a box cut again and again into 2^d equal cells, finely where many records lie.
#
# The rows of a mesh are sums on the finest lattice, handed on: a node that no leaf can use as a corner passes its sum
# to the corners around it, level by level. Handing on splits a whole number into whole parts that grow with
# it, so the L1 distance of two tables of sums never grows. See docs/proofs/soft_mesh.md.


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

        mesh = cls.grow(dimensions, depth, cut)
        if len(mesh.code) != len(code) or (mesh.code != code).any():
            raise SpecError("the document is damaged: its mesh cannot be read.")
        return mesh

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
            node = np.concatenate([node[~hanging], reached[moved.coords[1]]])
            cell = np.concatenate([cell[~hanging], moved.coords[0].astype(np.int64)])
            share = np.concatenate([share[~hanging], moved.data])
            # What one cell gives the same node from several sides is added up.
            order = np.lexsort((node, cell))
            node, cell, share = node[order], cell[order], share[order]
            starts = np.flatnonzero(np.append(True, (np.diff(node) != 0) | (np.diff(cell) != 0)))
            node, cell, share = node[starts], cell[starts], np.add.reduceat(share, starts)
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


# Where a mesh is fine, and where its records lie: post-processing of noisy numbers.
#
# A record's place in a leaf is unknown, so a leaf of mass m and side s adds about m s^2 to the squared distances.
# Always cutting the leaf that adds most keeps their sum small with few leaves, and every leaf costs noise: so leaves
# are cut in this order until there are as many as the noise allows, never one whose mass is lost in the noise of the
# first look.

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

        mesh = Mesh.grow(self.dimensions, depth, cut)
        levels = range(depth + 1)
        return mesh, sum(
            float(self.of(level, mesh.places[mesh.levels == level]).sum()) / 4.0**level for level in levels
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


# The lattices on which a soft mesh measures: one for its first look, and one for each depth the mesh may have.

_DEEPEST = 9

LatticeOf = Callable[[HistogramForm, int, Sequence[int]], Lattice]
"""Lays a lattice of 2^depth cells along every axis, with the given resolutions."""


@dataclass(frozen=True)
class MeshLevel:
    """A lattice of 2^depth cells along every axis that may be measured, and its noise."""

    depth: int
    lattice: Lattice
    scale: Fraction

    def lost(self, moved: Fraction) -> Fraction:
        """Return the privacy loss when the sums change by a number of records."""
        return LAPLACE_ROWS.lost(moved * self.lattice.unit, self.scale)

    def to_document(self) -> dict[str, Any]:
        """Write depth, resolutions and scale."""
        resolutions = [axis.resolution for axis in self.lattice.axes]
        return {"depth": self.depth, "resolutions": resolutions, **LAPLACE_ROWS.to_document(self.scale)}

    @classmethod
    def from_document(cls, written: dict[str, Any], form: HistogramForm, lattice_of: LatticeOf) -> Self:
        """Read depth, resolutions and scale."""
        depth = written["depth"]
        if type(depth) is not int or not 1 <= depth <= _DEEPEST:
            raise SpecError(f"the document is damaged: a depth is not a whole number from 1 to {_DEEPEST}.")
        lattice = lattice_of(form, depth, whole_numbers(written["resolutions"], form))
        return cls(depth, lattice, LAPLACE_ROWS.from_document(written))


def first_lattice(form: HistogramForm, depth: int, resolutions: Sequence[int]) -> Lattice:
    """Lay nodes in the middles of the cells, for the first look."""
    return centred_lattice(form, [2**depth] * len(resolutions), resolutions)


def cornered_lattice(form: HistogramForm, depth: int, resolutions: Sequence[int]) -> Lattice:
    """Lay nodes on the corners of the cells, for a mesh."""
    axes = zip(form.domain.shape, resolutions, strict=True)
    return Lattice(tuple(Axis((Run.cornered(size, 2**depth),), resolution) for size, resolution in axes))


def deepest(form: HistogramForm) -> int:
    """Return the depth at which the longest axis has one value per cell, or the deepest that fits in memory."""
    depth = min(_DEEPEST, max((size - 1).bit_length() for size in form.domain.shape))
    while depth > 1 and (2**depth + 1) ** len(form.domain.shape) > MOST_NODES:
        depth -= 1
    return max(depth, 1)


GATE = 400
"""Below n epsilon = 400 * 2^d one grid with all of epsilon is better, unless secret moves are short."""
_GATE_DEPTH = 5
"""The gate falls with the root of what a secret move changes on 2^5 cells along every attribute.

Settled under thresholds 1, 4 and 16 on heavy-tailed, tight, round and broad groups and groups with a far one of 1 to
2 %: 2,500 to 10,000 records, 512 x 512, epsilon 0.1.
"""
FIRST_SHARE = Fraction(1, 4)
_DEEPEST_FIRST = 7


@dataclass(frozen=True, eq=False)
class SoftMesh(Synopsis):
    """Two soft histograms: a grid that says where to look, and a mesh that is fine there.

    Privacy: (epsilon, P)-Blowfish: the loss of the first look plus the largest loss of any mesh it may lead to.
    Sensitivity: 2 min(1, longest secret move / side of the finest leaf), at most, in records, for the mesh; that of the
        soft grid for the first look.
    Error: variance 2 q / (1 - q)^2 per node, q = exp(-1 / scale), in units of a share of a record.
    Cost: two scans of the data; memory linear in the nodes of the finest lattice, at most 2^24.
    Numerics: whole numbers throughout, handed on without rounding loss; floating point only on noisy numbers.
    Proof: docs/proofs/soft_mesh.md
    """

    form: HistogramForm
    first: MeshLevel
    levels: tuple[MeshLevel, ...]
    """One for each depth that the mesh may have."""

    name = "soft-mesh"
    proof = "docs/proofs/soft_mesh.md"

    def __post_init__(self) -> None:
        LAPLACE_ROWS.check(*(level.scale for level in (self.first, *self.levels)))

    @classmethod
    def suits(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> bool:
        if not cls.answers(query) or records is None or len(query.attributes) > MOST_DIMENSIONS:
            return False
        neighbours = steps(policy, query.attributes)
        graph, signal = neighbours.graph, records * epsilon / neighbours.rows
        if not graph.has_edges:
            return False
        form = cast(HistogramForm, query.on(policy.domain))
        gate = Fraction(GATE * 2 ** len(form.domain.names))
        if signal < gate:
            # Short secret moves cost less noise, so that less is enough for two looks.
            gain = _ratio(form, min(_GATE_DEPTH, deepest(form)), graph, largest_moves(graph))
            if signal**2 < gate**2 * gain:
                return False
        return not blocks_pay(graph.domain, [stretches(graph, name) for name in graph.domain.names], signal)

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        form, many = bound_clusters(query, policy, records)
        few_dimensions(form)
        names = form.domain.names
        neighbours = steps(policy, names)
        graph = neighbours.graph
        if not graph.has_edges:
            raise RefusalError("no secret pair changes these attributes, so they need no noise.", hint="use soft-grid.")
        shares, amount = (FIRST_SHARE * epsilon, (1 - FIRST_SHARE) * epsilon), many / Fraction(neighbours.rows)
        dimensions, top = len(names), deepest(form)
        start, most = min(2, top), 2 * rate(amount * shares[0], dimensions)
        while start < min(_DEEPEST_FIRST, top) and 2 ** ((start + 1) * dimensions) <= most:
            start += 1
        moves = largest_moves(graph)

        def calibrate(depth: int, share: Fraction, lattice_of: LatticeOf) -> MeshLevel:
            strides = [axis.runs[0].step for axis in lattice_of(form, depth, (1,) * dimensions).axes]
            resolutions = choose_resolutions(strides, many, share / neighbours.rows)
            lattice = lattice_of(form, depth, resolutions)
            sensitivity = lattice_sensitivity(lattice, names, policy)
            return MeshLevel(depth, lattice, sensitivity.value * lattice.unit / share)

        depths = [depth for depth in range(start, top + 1) if depth == top or _ratio(form, depth, graph, moves) < 1]
        first = calibrate(start, shares[0], first_lattice)
        return cls(form, first, tuple(calibrate(depth, shares[1], cornered_lattice) for depth in depths))

    def certify(self, policy: Policy) -> Certificate:
        names = self.form.domain.names
        levels = (self.first, *self.levels)
        bounds = [lattice_sensitivity(level.lattice, names, policy) for level in levels]
        losses = [level.lost(bound.value) for level, bound in zip(levels, bounds, strict=True)]
        worst = max(range(1, len(losses)), key=losses.__getitem__)
        theorem = f"the first look, then a mesh: {bounds[worst].theorem}"
        sensitivity = Sensitivity(bounds[worst].value, exact=False, theorem=theorem, witness=None)
        loss = loss_seen(policy, names, losses[0] + losses[worst])
        return self.certified(policy, loss, sensitivity, *(level.scale for level in levels))

    def loss(self, x: Cell, y: Cell) -> Fraction:
        first, *losses = (
            level.lost(change(level.lattice, x, y)) if level.scale else Fraction(0)
            for level in (self.first, *self.levels)
        )
        return first + max(losses)

    @property
    def rows(self) -> int:
        return self.first.lattice.size

    def fits(self, noisy: npt.NDArray[np.int64]) -> bool:
        mesh, _, rows = self.parse(noisy)
        return len(rows) == len(mesh.nodes)

    def draw(self, aggregates: Aggregates, source: BitSource) -> npt.NDArray[Any]:
        """Take the first look, choose a mesh from its noisy numbers, and measure on the mesh.

        The numbers are: the first look; the mesh's depth, the length of its code and the code; its nodes.
        """
        sums = row_of_sums(aggregates, self.first.lattice)
        look = LAPLACE_ROWS.on(sums, self.first.scale, source)
        with task("Choosing a mesh"):
            mesh, level = self.choose(look, int(sums.sum()) // self.first.lattice.unit)
        nodes = LAPLACE_ROWS.on(mesh.restrict(aggregates.lattice_sums(level.lattice)), level.scale, source)
        return np.concatenate([look, [mesh.depth, len(mesh.code)], mesh.code, nodes])

    def choose(self, look: npt.NDArray[np.int64], records: int) -> tuple[Mesh, MeshLevel]:
        """Choose a mesh of every possible depth from the noisy first look, and keep the most promising one."""
        dimensions, unit = len(self.form.domain.names), self.first.lattice.unit
        masses = Masses(look / unit, self.first.depth, dimensions, records, float(self.first.scale / unit))
        candidates: list[tuple[float, Mesh, MeshLevel]] = []
        for level in self.levels:
            shares = level.lattice.unit
            strength = 2 * shares / level.scale if level.scale else Fraction(10**6)
            most = rate(records * strength, dimensions)
            mesh, cost = masses.mesh(level.depth, most, float(level.scale / shares))
            candidates.append((cost, mesh, level))
        if not candidates:
            raise PolicyError("a mesh needs at least one depth.")
        return min(candidates, key=lambda each: each[0])[1:]

    def parse(self, noisy: npt.NDArray[np.int64]) -> tuple[Mesh, MeshLevel, npt.NDArray[np.int64]]:
        """Read the mesh that was chosen, its level, and the noisy numbers of its nodes."""
        start = self.rows + 2
        depth, length = (int(each) for each in noisy[self.rows : start])
        level = next((level for level in self.levels if level.depth == depth), None)
        if level is None or not 0 <= length <= len(noisy):
            raise SpecError("the document is damaged: its mesh cannot be read.")
        mesh = Mesh.decode(len(self.form.domain.names), depth, noisy[start : start + length])
        return mesh, level, noisy[start + length :]

    def points(self, noisy: npt.NDArray[np.int64], records: int | None) -> Points:
        mesh, level, measured = self.parse(noisy)
        records, unit = records or 0, level.lattice.unit
        noise = float(level.scale / unit)
        matrix, _, _ = mesh.matrix(np.arange(len(mesh.levels)), 1)
        rows = stand_out(measured / unit, matrix, float(records), noise)
        # A leaf whose rows are all empty has no records; the others are cut into finer cells.
        leaves = np.flatnonzero(matrix.T @ rows > 0)
        parts = next(q for q in range(FINEST, 0, -1) if q == 1 or len(leaves) * q**mesh.dimensions <= MOST_POINTS)
        matrix, lows, highs = mesh.matrix(leaves, parts)
        weights = deconvolve(matrix, rows[:, None], noise)[:, 0]
        sizes = np.array(self.form.domain.shape, dtype=np.float64)
        weights = weights * (records / max(weights.sum(), 1e-300))
        return to_points(self.form.domain, lows * sizes, highs * sizes, weights)

    def expected_error(self) -> ExpectedError:
        level = self.levels[-1]
        return ExpectedError(level.scale, Fraction(1, level.lattice.unit), "a cell of the mesh")

    def words(self) -> str:
        scale = rounded(self.first.scale / self.first.lattice.unit)
        depths = " or ".join(str(2**level.depth) for level in self.levels)
        return (
            f"A first look on {2**self.first.depth} cells along every attribute, with noise of scale {scale} records, "
            f"says where to look closer; then a mesh of cells down to 1/{depths} of the box is measured with the rest."
        )

    def to_document(self) -> dict[str, Any]:
        levels = [level.to_document() for level in self.levels]
        return {"name": self.name, "first": self.first.to_document(), "levels": levels}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        form, _ = bound_clusters(query, policy, records)
        levels = tuple(MeshLevel.from_document(each, form, cornered_lattice) for each in written["levels"])
        if not levels or len({level.depth for level in levels}) < len(levels):
            raise SpecError("the document is damaged: its levels are not distinct.")
        return cls(form, MeshLevel.from_document(written["first"], form, first_lattice), levels)


def _ratio(form: HistogramForm, depth: int, graph: SecretGraph, moves: tuple[int, ...]) -> Fraction:
    return most_varied(cornered_lattice(form, depth, (2**20,) * len(moves)), graph, moves)
