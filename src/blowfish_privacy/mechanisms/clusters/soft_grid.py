"""The soft grid: one noisy soft histogram on a public grid, or on a grid of its own for every block of a partition."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Aggregates, Axis, Lattice, Run
from blowfish_privacy.domain import Cell, quoted
from blowfish_privacy.errors import PolicyError, SpecError
from blowfish_privacy.mechanisms.clusters.block_grids import BlockGrids
from blowfish_privacy.mechanisms.clusters.deconvolution import project
from blowfish_privacy.mechanisms.clusters.grid_choice import (
    MOST_DIMENSIONS,
    blocks_pay,
    choose_cells,
    choose_resolutions,
    even_resolutions,
    widths,
)
from blowfish_privacy.mechanisms.clusters.lattice_sensitivity import (
    change,
    largest_moves,
    lattice_sensitivity,
    most_varied,
)
from blowfish_privacy.mechanisms.clusters.stretches import Equal, stretches
from blowfish_privacy.mechanisms.clusters.synopsis import (
    MOST_POINTS,
    Points,
    Synopsis,
    bound_clusters,
    check_size,
    few_dimensions,
    spread,
    to_points,
    whole_numbers,
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
from blowfish_privacy.support.exact import exact, rounded


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
    independent_rows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.scale:
            checked_scale(self.scale)
        _ = self.lattice if self.cells is not None else self.grids.lattice

    @classmethod
    def suits(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> bool:
        """Require at most eight attributes, and too few records for a mesh or blocks whose counts are public."""
        from blowfish_privacy.mechanisms.clusters.soft_mesh import SoftMesh

        mesh = SoftMesh.suits(query, policy, epsilon=epsilon, records=records)
        return len(query.attributes) <= MOST_DIMENSIONS and policy.size != "unknown" and not mesh

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        """Choose the grid from public numbers, then set the scale to S / epsilon."""
        form, many = bound_clusters(query, policy, records)
        few_dimensions(form)
        neighbours = steps(policy, form.domain.names)
        graph, amount = neighbours.graph, epsilon / neighbours.rows
        blocks = tuple(stretches(graph, name) for name in form.domain.names)
        if not graph.has_edges or blocks_pay(form.domain, blocks, many * amount):
            shared = [max(width for _, width, _ in each) > 1 for each in blocks]
            resolutions = even_resolutions(shared, many, amount)
            made = cls(form, None, blocks, resolutions, Fraction(0))
            return cls(form, None, blocks, resolutions, 2 * made.unit / amount if graph.has_edges else Fraction(0))
        moves = largest_moves(graph)

        def ratio(cells: Any) -> Fraction:
            return most_varied(Lattice(tuple(_axes(form, cells, (2**20,) * len(cells)))), graph, moves)

        cells = choose_cells(many * amount, widths(form.domain.attributes), form.domain.shape, ratio)
        strides = [axis.runs[0].step if axis.shared else 1 for axis in _axes(form, cells, (1,) * len(cells))]
        resolutions = choose_resolutions(strides, many, amount)
        made = cls(form, cells, (), resolutions, Fraction(0))
        sensitivity = lattice_sensitivity(made.lattice, form.domain.names, policy)
        return cls(form, cells, (), resolutions, sensitivity.value * made.unit / epsilon)

    @cached_property
    def lattice(self) -> Lattice:
        """The nodes of one grid over the whole domain."""
        return Lattice(tuple(_axes(self.form, self.cells or (), self.resolutions)))

    @cached_property
    def grids(self) -> BlockGrids:
        """A grid for each block, where blocks are counted exactly."""
        strength = 2 * self.unit / self.scale if self.scale else Fraction(0)
        return BlockGrids(self.form.domain, self.blocks, self.resolutions, strength)

    @property
    def blind(self) -> bool:
        """Whether there is a single cell, so that the answer is the same for all data."""
        return self.cells is not None and max(self.cells) == 1 < self.form.domain.size

    @property
    def unit(self) -> int:
        """The number of shares that a record is divided into."""
        return int(np.prod([int(each) for each in self.resolutions], dtype=object))

    def certify(self, policy: Policy) -> Certificate:
        """Derive the sensitivity of the lattice again and divide it by the scale held."""
        sensitivity = self._sensitivity(policy)
        if sensitivity.value and not self.scale:
            raise PolicyError(NO_NOISE)
        epsilon = sensitivity.value * self.unit / self.scale if sensitivity.value else Fraction(0)
        return self.certified(policy, loss_seen(policy, self.form.domain.names, epsilon), sensitivity, self.scale)

    def _sensitivity(self, policy: Policy) -> Sensitivity:
        if self.cells is None:
            return self.grids.sensitivity(policy)
        if self.blocks:
            raise PolicyError("a grid over everything has no blocks.")
        return lattice_sensitivity(self.lattice, self.form.domain.names, policy)

    def loss(self, x: Cell, y: Cell) -> Fraction:
        """Divide the change of the shares by the scale; inside blocks, bound it by twice a record."""
        if not self.scale:
            return Fraction(0)
        moved = change(self.lattice, x, y) if self.cells is not None else Fraction(2 if x != y else 0)
        return moved * self.unit / self.scale

    @property
    def rows(self) -> int:
        """The nodes of one grid; with blocks, only their counts, which decide how many nodes follow."""
        return self.lattice.size if self.cells is not None else self.grids.lattice.size

    def fits(self, noisy: npt.NDArray[np.int64]) -> bool:
        """Compare with the number of nodes, which follows from the exact counts where there are blocks."""
        if self.cells is not None:
            return len(noisy) == self.rows
        counts = noisy[: self.rows]
        return len(counts) == self.rows and counts.min() >= 0 and len(noisy) == self.grids.values(counts)

    def draw(self, aggregates: Aggregates, source: BitSource) -> npt.NDArray[Any]:
        """Add up shares exactly, then add the noise."""
        if self.cells is None:
            return self.grids.draw(aggregates, self.scale, source)
        sums = aggregates.lattice_sums(self.lattice).reshape(-1)
        check_size(sums)
        return sums + discrete_laplace(self.scale, len(sums), source=source) if self.scale else sums

    def points(self, noisy: npt.NDArray[np.int64], records: int | None) -> Points:
        """Make the sums non-negative with the right total, then estimate where between the nodes records lie."""
        if self.cells is None:
            return self.grids.points(noisy, self.scale)
        rows = project((noisy / self.unit)[:, None], np.array([float(records or 0)]))
        noise = float(self.scale / self.unit)
        lows, highs, weights = spread(self.cells, self.form.domain.shape, rows, noise, MOST_POINTS)
        return to_points(self.form.domain, lows, highs, weights[:, 0])

    def expected_error(self) -> ExpectedError:
        """Give the error of one node's sum, in records."""
        return ExpectedError(self.scale, Fraction(1, self.unit), "a cell of the grid")

    @property
    def notices(self) -> list[str]:
        """The attributes along which the grid has a single cell."""
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
        """The blocks, where they are counted."""
        return 1 if self.cells is not None else self.grids.lattice.size

    def without_noise(self) -> str | None:
        """Describe the blocks, which are counted exactly."""
        if self.cells is not None:
            return None
        return f"how many records are in each of the {self.grids.lattice.size:,} blocks that no secret pair leaves"

    def words(self) -> str:
        """Describe the grid, or the grids of the blocks, and the noise."""
        noise = f"noise of scale {rounded(self.scale / self.unit)} records" if self.scale else "no noise"
        if self.cells is None:
            blocks = f"The {self.grids.lattice.size:,} blocks are counted exactly"
            return f"{blocks}; each gets a grid as fine as its count allows, with {noise}."
        grid = " x ".join(map(str, self.cells))
        shared = f"Records are shared between the nodes of a grid of {grid}; every node gets {noise}."
        return f"{shared} Clusters are found in it."

    def to_document(self) -> dict[str, Any]:
        """Write grid, shares and scale."""
        return {
            "name": self.name,
            "cells": None if self.cells is None else list(self.cells),
            "blocks": [[list(run) for run in each] for each in self.blocks],
            "resolutions": list(self.resolutions),
            "scale": str(self.scale),
        }

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read grid, shares and scale."""
        form, _ = bound_clusters(query, policy, records)
        cells = None if written["cells"] is None else whole_numbers(written["cells"], form)
        blocks = tuple(tuple((int(a), int(b), int(c)) for a, b, c in each) for each in written["blocks"])
        scale = exact(written["scale"], "a noise scale", error=SpecError)
        return cls(form, cells, blocks, whole_numbers(written["resolutions"], form), scale)


def _axes(form: HistogramForm, cells: Any, resolutions: Any) -> list[Axis]:
    return [
        Axis((Run.centred(0, size, 1, m),), resolution if m > 1 else 1)
        for size, m, resolution in zip(form.domain.shape, cells, resolutions, strict=True)
    ]
