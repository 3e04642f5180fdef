"""Grid flow: noise that moves records between neighbouring cells of a grid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, coarser, quoted
from blowfish_privacy.errors import DataError, PolicyError, QueryError, RefusalError, SpecError
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.mechanisms.grid.grid_error import GridError
from blowfish_privacy.mechanisms.grid.line import DIVISIONS, Line, best_line
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, NO_NOISE, Mechanism
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import loss_seen
from blowfish_privacy.privacy.sensitivity import sensitivity_of
from blowfish_privacy.privacy.steps import steps
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.histogram import HistogramForm
from blowfish_privacy.queries.query import Pattern
from blowfish_privacy.support.exact import exact, rounded
from blowfish_privacy.support.limits import GRID_SIDE


@dataclass(frozen=True, eq=False)
class GridFlow(Mechanism):
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

    form: HistogramForm
    lines: tuple[Line, Line]
    """The line across the first attribute's cuts (as long as the second attribute), and the other way round."""

    name = "grid-flow"
    gives = ("grid",)
    proof = "docs/proofs/grid_flow.md"
    independent_rows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for line in self.lines:
            line.check()

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        """Share epsilon over the steps of the longest secret move along each axis."""
        form = _bound(query, policy)
        neighbours = steps(policy, form.domain.names)
        if not neighbours.graph.has_edges:
            raise RefusalError("no secret pair changes this grid, so it needs no noise.", hint="use grid-hierarchy.")
        first, second = form.domain.shape
        losses = _edge_losses(neighbours.graph, epsilon / neighbours.rows)
        return cls(form, (best_line(second, losses[0]), best_line(first, losses[1])))

    def certify(self, policy: Policy) -> Certificate:
        """Find the largest loss over the secret pairs from the losses of single edges."""
        neighbours = steps(policy, self.form.domain.names)
        sensitivity = sensitivity_of(self.form, policy)
        worst = neighbours.graph.longest_move((self.lines[0].loss, self.lines[1].loss))
        scales = tuple(scale for line in self.lines for scale in (line.leaf_scale, line.hat_scale))
        # A flow may absorb a move along any path, so the sum over one path is an upper bound.
        bound = replace(sensitivity, exact=sensitivity.value == 0)
        loss = loss_seen(policy, self.form.domain.names, neighbours.rows * worst)
        return self.certified(policy, loss, bound, *scales)

    def loss(self, x: Cell, y: Cell) -> Fraction:
        """Add up the losses of the edges on a shortest path."""
        return abs(x[0] - y[0]) * self.lines[0].loss + abs(x[1] - y[1]) * self.lines[1].loss

    @property
    def rows(self) -> int:
        """As many as the grid has cells."""
        return self.form.domain.size

    def measure(self, counts: npt.NDArray[np.int64], source: BitSource) -> npt.NDArray[Any]:
        """Add to each cell what flows in and take away what flows out, in units of 1 / Q."""
        if int(counts.sum()) * DIVISIONS >= LARGEST_ANSWER:
            raise DataError("the answers may be too large for 64-bit arithmetic.", hint="use fewer records.")
        first, second = self.form.domain.shape
        down = self.lines[0].draw(first - 1, source)
        across = self.lines[1].draw(second - 1, source).T
        return (DIVISIONS * counts + divergence(down, across)).reshape(-1)

    def estimate(self, noisy: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the unbiased counts of the cells, which add up to the public total."""
        return (noisy / DIVISIONS).reshape(self.form.domain.shape)

    def spread(self, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Multiply columns of weights of the cells by the covariance of their estimate."""
        down, across = (line.covariance for line in self.lines)
        columns = weights.T.reshape(-1, *self.form.domain.shape)
        flows = ((np.diff(each, axis=0) @ down, across @ np.diff(each, axis=1)) for each in columns)
        return np.stack([divergence(*flow).reshape(-1) for flow in flows], axis=1)

    def expected_error(self) -> GridError:
        """Give the error of a random rectangle."""
        first, second = self.form.domain.shape
        down = 2 * (first - 1) / (first + 1) * self.lines[0].range_variance
        across = 2 * (second - 1) / (second + 1) * self.lines[1].range_variance
        return GridError(down + across, Fraction(1, DIVISIONS))

    def words(self) -> str:
        """Describe the noise along both axes."""
        parts = [
            f"across {quoted(name)} leaf noise of scale {rounded(line.leaf_scale)} records"
            + (f" and bins {line.spacing} apart of scale {rounded(line.hat_scale)} records" if line.spacing > 1 else "")
            for name, line in zip(self.form.domain.names, self.lines, strict=True)
        ]
        return (
            f"Noise moves records between neighbouring cells: {'; '.join(parts)}. A rectangle only sees what crosses "
            "its border, and the total stays exact."
        )

    def to_document(self) -> dict[str, Any]:
        """Write spacing and edge loss of both lines."""
        return {
            "name": self.name,
            "lines": [{"spacing": line.spacing, "edge_loss": str(line.loss)} for line in self.lines],
        }

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read spacing and edge loss of both lines."""
        form = _bound(query, policy)
        made: list[Line] = []
        for length, line in zip(reversed(form.domain.shape), written["lines"], strict=True):
            if type(line["spacing"]) is not int or line["spacing"] < 1:
                raise SpecError("the document is damaged: a spacing is not a positive whole number.")
            loss = exact(line["edge_loss"], "the loss of an edge", error=SpecError)
            if loss <= 0:
                raise PolicyError(NO_NOISE)
            made.append(Line(length, line["spacing"], loss))
        return cls(form, (made[0], made[1]))


def divergence(down: npt.NDArray[Any], across: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return what flows into each cell minus what flows out, for flows to the next row and to the next column."""
    into = np.zeros((down.shape[0] + 1, across.shape[1] + 1), dtype=down.dtype)
    into[1:] += down
    into[:-1] -= down
    into[:, 1:] += across
    into[:, :-1] -= across
    return into


def bound_grid(query: Query, policy: Policy) -> HistogramForm:
    """Bind a query that asks for a grid."""
    form = query.on(policy.domain)
    if query.answer != "grid" or form.pattern is not Pattern.CELLS:
        raise RefusalError(f"this mechanism answers grids, not {query!r}.")
    for name, attribute in zip(form.domain.names, form.domain.attributes, strict=True):
        if attribute.size > GRID_SIDE:
            raise QueryError(
                f"a grid has at most {GRID_SIDE:,} values along each side, and {name} has {attribute.size:,}.",
                hint=coarser(name, attribute, GRID_SIDE),
            )
    return cast(HistogramForm, form)


def _bound(query: Query, policy: Policy) -> HistogramForm:
    if policy.size == "unknown":
        raise RefusalError(
            "a flow keeps the total, so it needs a public number of records.", hint='use mechanism="grid-hierarchy".'
        )
    return bound_grid(query, policy)


def _edge_losses(graph: SecretGraph, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Choose the loss of an edge of each axis so that the longest secret move loses exactly epsilon."""
    moves = [max(1, graph.largest_move(name)) for name in graph.domain]
    losses = Fraction(1, moves[0]), Fraction(1, moves[1])
    worst = graph.longest_move(losses) or Fraction(1)
    return epsilon * losses[0] / worst, epsilon * losses[1] / worst
