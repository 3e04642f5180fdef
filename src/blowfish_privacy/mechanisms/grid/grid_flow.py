"""Grid flow: noise that moves records between neighbouring cells of a grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from blowfish_privacy.errors import PolicyError, SpecError
from blowfish_privacy.mechanisms.grid.flow_family import FlowFamily, bound_flow
from blowfish_privacy.mechanisms.grid.line import Line, best_laplace_line, laplace_line
from blowfish_privacy.mechanisms.mechanism import NO_NOISE
from blowfish_privacy.mechanisms.row_noise import LAPLACE_ROWS
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import Query
from blowfish_privacy.support.exact import exact, rounded


@dataclass(frozen=True, eq=False)
class GridFlow(FlowFamily):
    """Adds the divergence of a noisy flow on the grid's edges: what leaves a cell enters its neighbour.

    Privacy: (epsilon, P)-Blowfish: a record's move by (d1, d2) is a unit flow along |d1| + |d2| edges, which the noise
        absorbs at a loss of l1 |d1| + l2 |d2|; epsilon is its largest value over the secret pairs.
    Sensitivity: the loss of a unit on an edge of each direction, times the longest secret move.
    Error: only flow across a rectangle's border matters: for each axis 2 (k - 1) / (k + 1) times the mean variance of a
        random stretch of a line across it. The total is exact.
    Cost: time and memory linear in the number of cells times the spacing of the lines.
    Numerics: flows are whole numbers of 2^-20 records, computed exactly, so cells are too.
    Proof: docs/proofs/grid_flow.md
    """

    name = "grid-flow"
    noise = LAPLACE_ROWS

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        """Share epsilon over the steps of the longest secret move along each axis."""
        form, down, across = cls.edge_losses(query, policy, epsilon)
        first, second = form.domain.shape
        return cls(form, (best_laplace_line(second, down), best_laplace_line(first, across)))

    def line_words(self, name: str, line: Line) -> str:
        """State the scales of the leaf and of the bins."""
        bins = (f" and bins {each.spacing} apart of scale {rounded(each.scale)} records" for each in line.coarse)
        return f"across {name} leaf noise of scale {rounded(line.leaf.scale)} records" + "".join(bins)

    def to_document(self) -> dict[str, Any]:
        """Write spacing and edge loss of both lines."""
        lines = [{"spacing": line.levels[-1].spacing, "edge_loss": str(line.loss)} for line in self.lines]
        return {"name": self.name, "lines": lines}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read spacing and edge loss of both lines."""
        form = bound_flow(query, policy)
        made: list[Line] = []
        for length, line in zip(reversed(form.domain.shape), written["lines"], strict=True):
            if type(line["spacing"]) is not int or line["spacing"] < 1:
                raise SpecError("the document is damaged: a spacing is not a positive whole number.")
            loss = exact(line["edge_loss"], "the loss of an edge", error=SpecError)
            if loss <= 0:
                raise PolicyError(NO_NOISE)
            made.append(laplace_line(length, line["spacing"], loss))
        return cls(form, (made[0], made[1]))
