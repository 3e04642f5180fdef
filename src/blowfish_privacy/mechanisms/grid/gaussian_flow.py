"""Grid flow with Gaussian noise, for budgets in rho."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any, Self

from blowfish_privacy.errors import PolicyError, SpecError
from blowfish_privacy.mechanisms.grid.flow_family import FlowFamily, bound_flow
from blowfish_privacy.mechanisms.grid.line import Line, gaussian_line
from blowfish_privacy.mechanisms.mechanism import NO_NOISE
from blowfish_privacy.mechanisms.ordered.segment import level_to_document, levels_of_hats
from blowfish_privacy.mechanisms.row_noise import GAUSSIAN_ROWS
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.queries import Query


@dataclass(frozen=True, eq=False)
class GaussianFlow(FlowFamily):
    """Adds the divergence of a flow with Gaussian noise: what leaves a cell enters its neighbour.

    Privacy: (rho, P)-zero-concentrated Blowfish: a record's move by (d1, d2) is a unit flow across |d1| + |d2| cuts,
        one line each, which the noise absorbs at a loss of l1 |d1| + l2 |d2|; rho is its largest value.
    Sensitivity: the loss of a unit on an edge of each direction, times the longest secret move.
    Error: only flow across a rectangle's border matters: for each axis 2 (k - 1) / (k + 1) times the mean variance of a
        random stretch of a line across it. The total is exact.
    Cost: time linear in the number of cells times the length of the lines, memory linear in the number of cells.
    Numerics: flows are whole numbers of 2^-20 records, computed exactly, so cells are too.
    Proof: docs/proofs/grid_flow.md
    """

    name = "gaussian-flow"
    counted_in = RHO
    noise = GAUSSIAN_ROWS

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, rho: Fraction, records: int | None) -> Self:
        """Share rho over the steps of the longest secret move along each axis."""
        form, down, across = cls.edge_losses(query, policy, rho)
        first, second = form.domain.shape
        return cls(form, (gaussian_line(second, down), gaussian_line(first, across)))

    def line_words(self, name: str, line: Line) -> str:
        """State the standard deviations of the leaf and of the bins, in records."""
        bins = (f", {sqrt(each.scale) / each.unit:.4g} on bins {each.spacing} apart" for each in line.coarse)
        return f"across {name} Gaussian noise of standard deviation {sqrt(line.leaf.scale):.4g}" + "".join(bins)

    def to_document(self) -> dict[str, Any]:
        """Write the levels of both lines."""
        lines = [{"levels": [level_to_document(level) for level in line.levels]} for line in self.lines]
        return {"name": self.name, "lines": lines}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read the levels of both lines."""
        form = bound_flow(query, policy)
        made: list[Line] = []
        for length, line in zip(reversed(form.domain.shape), written["lines"], strict=True):
            leaf, *coarse = levels_of_hats(line["levels"], cls.noise)
            if not all(level.scale for level in (leaf, *coarse)):
                raise PolicyError(NO_NOISE)
            if any(level.unit >= length for level in coarse):
                raise SpecError("the document is damaged: its bins are wider than the grid.")
            made.append(Line(length, leaf, tuple(coarse)))
        return cls(form, (made[0], made[1]))
