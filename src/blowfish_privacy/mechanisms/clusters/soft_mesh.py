"""The adaptive soft mesh: a first look at where the records are, then fine cells there and coarse ones elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Aggregates, Lattice
from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import PolicyError, RefusalError, SpecError
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.mechanisms.clusters.grid_choice import MOST_DIMENSIONS, blocks_pay, choose_resolutions, rate
from blowfish_privacy.mechanisms.clusters.lattice_sensitivity import (
    change,
    largest_moves,
    lattice_sensitivity,
    most_varied,
)
from blowfish_privacy.mechanisms.clusters.mesh import Mesh
from blowfish_privacy.mechanisms.clusters.mesh_choice import Masses, leaf_weights
from blowfish_privacy.mechanisms.clusters.mesh_levels import (
    LatticeOf,
    MeshLevel,
    centred_lattice,
    cornered_lattice,
    deepest,
)
from blowfish_privacy.mechanisms.clusters.stretches import stretches
from blowfish_privacy.mechanisms.clusters.synopsis import (
    Points,
    Synopsis,
    bound_clusters,
    check_size,
    few_dimensions,
    to_points,
)
from blowfish_privacy.mechanisms.error import ExpectedError
from blowfish_privacy.mechanisms.mechanism import NO_NOISE
from blowfish_privacy.noise import BitSource, checked_scale, discrete_laplace
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import loss_seen
from blowfish_privacy.privacy.sensitivity import Sensitivity, steps
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.support.exact import rounded
from blowfish_privacy.support.progress import task

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
    independent_rows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for level in (self.first, *self.levels):
            if level.scale:
                checked_scale(level.scale)

    @classmethod
    def suits(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> bool:
        """Require enough records, at most eight attributes, and not many blocks whose counts are public anyway."""
        if not cls.answers(query) or records is None or len(query.attributes) > MOST_DIMENSIONS:
            return False
        neighbours = steps(policy, query.attributes)
        graph = neighbours.graph
        signal = records * epsilon / neighbours.rows
        if not graph.has_edges or not _enough(signal, cast(HistogramForm, query.on(policy.domain)), graph):
            return False
        return not blocks_pay(graph.domain, [stretches(graph, name) for name in graph.domain.names], signal)

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        """Give a quarter of epsilon to the first look and the rest to the mesh, whatever its depth will be."""
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
            return MeshLevel(depth, resolutions, sensitivity.value * lattice.unit / share)

        depths = [depth for depth in range(start, top + 1) if depth == top or _ratio(form, depth, graph, moves) < 1]
        first = calibrate(start, shares[0], centred_lattice)
        return cls(form, first, tuple(calibrate(depth, shares[1], cornered_lattice) for depth in depths))

    def lattice(self, level: MeshLevel) -> Lattice:
        """Return the nodes and shares of a level."""
        lattice_of = centred_lattice if level is self.first else cornered_lattice
        return lattice_of(self.form, level.depth, level.resolutions)

    @cached_property
    def _lattices(self) -> dict[int, Lattice]:
        return {level.depth: self.lattice(level) for level in self.levels}

    def certify(self, policy: Policy) -> Certificate:
        """Add the loss of the first look to the worst loss of a mesh, each derived from its lattice and its scale."""
        names = self.form.domain.names
        levels = (self.first, *self.levels)
        lattices = [self.lattice(level) for level in levels]
        bounds = [lattice_sensitivity(lattice, names, policy) for lattice in lattices]
        if any(bound.value and not level.scale for bound, level in zip(bounds, levels, strict=True)):
            raise PolicyError(NO_NOISE)
        losses = [
            bound.value * lattice.unit / level.scale if bound.value else Fraction(0)
            for bound, lattice, level in zip(bounds, lattices, levels, strict=True)
        ]
        worst = max(range(1, len(losses)), key=losses.__getitem__)
        theorem = f"the first look, then a mesh: {bounds[worst].theorem}"
        sensitivity = Sensitivity(bounds[worst].value, exact=False, theorem=theorem, witness=None)
        loss = loss_seen(policy, names, losses[0] + losses[worst])
        return self.certified(policy, loss, sensitivity, *(level.scale for level in levels))

    def loss(self, x: Cell, y: Cell) -> Fraction:
        """Bound the loss by that of the lattices, which handing on cannot increase."""
        losses = [
            change(self.lattice(level), x, y) * self.lattice(level).unit / level.scale if level.scale else Fraction(0)
            for level in (self.first, *self.levels)
        ]
        return losses[0] + max(losses[1:])

    @property
    def rows(self) -> int:
        """The nodes of the first look; the mesh and its nodes come after them."""
        return self.lattice(self.first).size

    def fits(self, noisy: npt.NDArray[np.int64]) -> bool:
        """Read the mesh, and compare the numbers that follow with its nodes."""
        mesh, rows = self.parse(noisy)
        return len(rows) == len(mesh.nodes)

    def draw(self, aggregates: Aggregates, source: BitSource) -> npt.NDArray[Any]:
        """Take the first look, choose a mesh from its noisy numbers, and measure on the mesh.

        The numbers are: the first look; the mesh's depth, the length of its code and the code; its nodes.
        """
        lattice = self.lattice(self.first)
        sums = aggregates.lattice_sums(lattice).reshape(-1)
        check_size(sums)
        records = int(sums.sum()) // lattice.unit
        look = sums + discrete_laplace(self.first.scale, len(sums), source=source) if self.first.scale else sums
        with task("Choosing a mesh"):
            mesh, level = self.choose(look, records)
        nodes = mesh.restrict(aggregates.lattice_sums(self._lattices[level.depth]))
        rows = nodes + discrete_laplace(level.scale, len(nodes), source=source) if level.scale else nodes
        return np.concatenate([look, [mesh.depth, len(mesh.code)], mesh.code, rows])

    def choose(self, look: npt.NDArray[np.int64], records: int) -> tuple[Mesh, MeshLevel]:
        """Choose a mesh of every possible depth from the noisy first look, and keep the most promising one."""
        dimensions, unit = len(self.form.domain.names), self.lattice(self.first).unit
        masses = Masses(look / unit, self.first.depth, dimensions, records, float(self.first.scale / unit))
        candidates: list[tuple[float, Mesh, MeshLevel]] = []
        for level in self.levels:
            shares = self._lattices[level.depth].unit
            strength = 2 * shares / level.scale if level.scale else Fraction(10**6)
            most = rate(records * strength, dimensions)
            mesh, cost = masses.mesh(level.depth, most, float(level.scale / shares))
            candidates.append((cost, mesh, level))
        if not candidates:
            raise PolicyError("a mesh needs at least one depth.")
        return min(candidates, key=lambda each: each[0])[1:]

    def parse(self, noisy: npt.NDArray[np.int64]) -> tuple[Mesh, npt.NDArray[np.int64]]:
        """Read the mesh that was chosen, and the noisy numbers of its nodes."""
        depth, length = (int(each) for each in noisy[self.rows : self.rows + 2])
        if depth not in self._lattices or not 0 <= length <= len(noisy):
            raise SpecError("the document is damaged: its mesh cannot be read.")
        start = self.rows + 2
        mesh = Mesh.decode(len(self.form.domain.names), depth, noisy[start : start + length])
        return mesh, noisy[start + length :]

    def points(self, noisy: npt.NDArray[np.int64], records: int | None) -> Points:
        """Keep what stands out from the noise, and estimate where in the leaves it lies."""
        mesh, noisy_rows, records = *self.parse(noisy), records or 0
        level = next(each for each in self.levels if each.depth == mesh.depth)
        unit = self._lattices[mesh.depth].unit
        lows, highs, weights = leaf_weights(mesh, noisy_rows / unit, records, float(level.scale / unit))
        sizes = np.array(self.form.domain.shape, dtype=np.float64)
        weights = weights * (records / max(weights.sum(), 1e-300))
        return to_points(self.form.domain, lows * sizes, highs * sizes, weights)

    def expected_error(self) -> ExpectedError:
        """Give the error of one node of the deepest mesh, in records."""
        level = self.levels[-1]
        return ExpectedError(level.scale, Fraction(1, self._lattices[level.depth].unit), "a cell of the mesh")

    def words(self) -> str:
        """Describe the first look and the mesh."""
        scale = rounded(self.first.scale / self.lattice(self.first).unit)
        depths = " or ".join(str(2**level.depth) for level in self.levels)
        return (
            f"A first look on {2**self.first.depth} cells along every attribute, with noise of scale {scale} records, "
            f"says where to look closer; then a mesh of cells down to 1/{depths} of the box is measured with the rest."
        )

    def to_document(self) -> dict[str, Any]:
        """Write the lattices and scales."""
        levels = [level.to_document() for level in self.levels]
        return {"name": self.name, "first": self.first.to_document(), "levels": levels}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read the lattices and scales."""
        form, _ = bound_clusters(query, policy, records)
        levels = tuple(MeshLevel.from_document(each, form) for each in written["levels"])
        if not levels or len({level.depth for level in levels}) < len(levels):
            raise SpecError("the document is damaged: its levels are not distinct.")
        return cls(form, MeshLevel.from_document(written["first"], form), levels)


def _enough(signal: Fraction, form: HistogramForm, graph: SecretGraph) -> bool:
    """Say whether n epsilon is enough for two looks; short secret moves cost less noise."""
    gate = Fraction(GATE * 2 ** len(form.domain.names))
    if signal >= gate:
        return True
    depth = min(_GATE_DEPTH, deepest(form))
    return signal**2 >= gate**2 * _ratio(form, depth, graph, largest_moves(graph))


def _ratio(form: HistogramForm, depth: int, graph: SecretGraph, moves: tuple[int, ...]) -> Fraction:
    return most_varied(cornered_lattice(form, depth, (2**20,) * len(moves)), graph, moves)
