"""A soft grid where the number of records is secret: it is measured first, and says how fine the grid may be."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Aggregates, Axis, Lattice, Run
from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import PolicyError, RefusalError, SpecError
from blowfish_privacy.mechanisms.clusters.deconvolution import project
from blowfish_privacy.mechanisms.clusters.grid_choice import MOST_DIMENSIONS, choose_cells, even_resolutions, widths
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
    independent_rows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for scale in (self.scale, self.count_scale):
            if scale:
                checked_scale(scale)

    @classmethod
    def suits(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> bool:
        """Require a secret number of records, and at most eight attributes."""
        return policy.size == "unknown" and len(query.attributes) <= MOST_DIMENSIONS

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        """Give the count what moves leave over: half, since they cost the grid twice as much as coming and going."""
        form, most = _bound(query, policy)
        few_dimensions(form)
        neighbours = steps(policy, form.domain.names)
        amount = epsilon / neighbours.rows
        resolutions = even_resolutions([size > 1 for size in form.domain.shape], most, amount)
        of_grid = amount * (Fraction(1, 2) if neighbours.graph.has_edges else 1 - _COUNT_SHARE)
        return cls(form, resolutions, prod(resolutions) / of_grid, 1 / (amount - of_grid))

    def certify(self, policy: Policy) -> Certificate:
        """Add up the losses of count and grid, whatever the grid will be."""
        names = self.form.domain.names
        neighbours = steps(policy, names)
        presence = neighbours.rows * self.presence((0,) * len(names))
        moves = neighbours.graph.has_edges
        moved = neighbours.rows * 2 * self.unit / self.scale if moves else Fraction(0)
        theorem = "a record adds 1 to the count and 1 to the grid; a move changes the grid by at most 2"
        # Whether some move changes a grid that much depends on the grid; coming and going does on all of several nodes.
        attained = presence >= moved and self.form.domain.size > 1
        sensitivity = Sensitivity(Fraction(2 * neighbours.rows), attained, f"{theorem} [{self.proof}]", None)
        return self.certified(
            policy, loss_seen(policy, names, moved, presence), sensitivity, self.count_scale, self.scale
        )

    def loss(self, x: Cell, y: Cell) -> Fraction:
        """Bound the change of the shares by twice a record; the count stays."""
        return 2 * self.unit / self.scale if x != y else Fraction(0)

    def presence(self, x: Cell) -> Fraction:
        """Add up the record counted and its shares, each divided by its scale."""
        if not self.scale or not self.count_scale:
            raise PolicyError(NO_NOISE)
        return 1 / self.count_scale + self.unit / self.scale

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
        return Lattice(
            tuple(
                Axis((Run.centred(0, size, 1, many),), resolution if size > 1 else 1)
                for size, many, resolution in zip(self.form.domain.shape, cells, self.resolutions, strict=True)
            )
        )

    @property
    def rows(self) -> int:
        """The count; it decides how many nodes follow."""
        return 1

    def fits(self, noisy: npt.NDArray[np.int64]) -> bool:
        """Compare with the number of nodes that follows from the count."""
        return len(noisy) > 0 and len(noisy) == 1 + prod(self.cells(int(noisy[0])))

    def draw(self, aggregates: Aggregates, source: BitSource) -> npt.NDArray[Any]:
        """Count with noise, then add up shares on the grid that the noisy count allows, and add the noise."""
        alone = self.lattice((1,) * len(self.form.domain.names))
        counted = aggregates.lattice_sums(alone).reshape(-1) // alone.unit
        count = counted + discrete_laplace(self.count_scale, 1, source=source) if self.count_scale else counted
        sums = aggregates.lattice_sums(self.lattice(self.cells(int(count[0])))).reshape(-1)
        check_size(sums)
        nodes = sums + discrete_laplace(self.scale, len(sums), source=source) if self.scale else sums
        return np.concatenate([count, nodes])

    def points(self, noisy: npt.NDArray[np.int64], records: int | None) -> Points:
        """Make the sums non-negative with the noisy total, then estimate where between the nodes records lie."""
        count = max(int(noisy[0]), 1)
        rows = project((noisy[1:] / self.unit)[:, None], np.array([float(count)]))
        noise = float(self.scale / self.unit)
        lows, highs, weights = spread(self.cells(count), self.form.domain.shape, rows, noise, MOST_POINTS)
        return to_points(self.form.domain, lows, highs, weights[:, 0])

    def expected_error(self) -> ExpectedError:
        """Give the error of one node's sum, in records."""
        return ExpectedError(self.scale, Fraction(1, self.unit), "a cell of the grid")

    def words(self) -> str:
        """Describe both kinds of noise."""
        return (
            f"The number of records gets noise of scale {rounded(self.count_scale)}. Records are shared between the "
            f"nodes of a grid that is as fine as the noisy number allows; every node gets noise of scale "
            f"{rounded(self.scale / self.unit)} records. Clusters are found in it."
        )

    def to_document(self) -> dict[str, Any]:
        """Write shares and scales."""
        scales = {"count": {"scale": str(self.count_scale)}, "grid": {"scale": str(self.scale)}}
        return {"name": self.name, "resolutions": list(self.resolutions), **scales}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read shares and scales."""
        form, _ = _bound(query, policy)
        scales = (exact(written[part]["scale"], "a noise scale", error=SpecError) for part in ("grid", "count"))
        return cls(form, whole_numbers(written["resolutions"], form), *scales)


def _bound(query: Query, policy: Policy) -> tuple[HistogramForm, int]:
    if policy.size != "unknown":
        raise RefusalError("the number of records is public, so it need not be measured.", hint="use soft-grid.")
    return bound_clusters(query, policy, None, secret=True)
