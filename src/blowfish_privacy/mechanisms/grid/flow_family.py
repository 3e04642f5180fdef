"""What mechanisms share that move records between neighbouring cells of a grid, whatever their noise."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, coarser, quoted
from blowfish_privacy.errors import DataError, QueryError, RefusalError, brief
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.mechanisms.grid.grid_error import GridError
from blowfish_privacy.mechanisms.grid.grid_family import GridFamily
from blowfish_privacy.mechanisms.grid.line import DIVISIONS, Line
from blowfish_privacy.mechanisms.grid.not_negative import differences_by_wave, variances_by_wave
from blowfish_privacy.mechanisms.grid.rectangles import Corners, between, sums_of
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER
from blowfish_privacy.mechanisms.row_noise import RowNoise
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import loss_seen
from blowfish_privacy.privacy.sensitivity import steps
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.queries.query import Pattern
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.limits import GRID_SIDE


@dataclass(frozen=True, eq=False)
class FlowFamily(GridFamily):
    """Adds the divergence of a noisy flow on the grid's edges; subclasses say which noise makes the flow."""

    form: HistogramForm
    lines: tuple[Line, Line]
    """The line across the first attribute's cuts (as long as the second attribute), and the other way round."""

    proof = "docs/proofs/grid_flow.md"
    independent_rows: ClassVar[bool] = False
    emphasis = 0.15
    noise: ClassVar[RowNoise]

    def __post_init__(self) -> None:
        for line in self.lines:
            line.check()

    @classmethod
    def edge_losses(cls, query: Query, policy: Policy, amount: Fraction) -> tuple[HistogramForm, Fraction, Fraction]:
        """Share the amount over the steps of the longest secret move along each axis."""
        form = bound_flow(query, policy)
        neighbours = steps(policy, form.domain.names)
        if not neighbours.graph.has_edges:
            raise RefusalError("no secret pair changes this grid, so it needs no noise.", hint="use grid-hierarchy.")
        return form, *_edge_losses(neighbours.graph, amount / neighbours.rows**cls.noise.power)

    def certify(self, policy: Policy) -> Certificate:
        """Find the largest loss over the secret pairs from the losses of single edges."""
        neighbours = steps(policy, self.form.domain.names)
        sensitivity = self.noise.sensitivity(self.form, policy)
        worst = neighbours.graph.longest_move((self.lines[0].loss, self.lines[1].loss))
        scales = tuple(level.scale for line in self.lines for level in line.levels)
        # A flow may absorb a move along any path, so the sum over one path is an upper bound.
        bound = replace(sensitivity, exact=sensitivity.value == 0)
        moved = neighbours.rows**self.noise.power * worst
        loss = loss_seen(policy, self.form.domain.names, moved, measure=self.counted_in)
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

    def wave_variances(self) -> Floats:
        """Add up what the flows along both attributes do to each wave."""
        first, second = map(differences_by_wave, self.form.domain.shape)
        down, across = (variances_by_wave(line.covariance) for line in self.lines)
        return np.outer(first, down) + np.outer(across, second)

    def rectangle_variances(self, corners: Corners) -> npt.NDArray[np.float64]:
        """Add up the variances of what flows across the four sides; nothing crosses those of the grid itself."""
        first, second = self.form.domain.shape
        top, bottom, left, right = corners.T
        down, across = (sums_of(line.covariance) for line in self.lines)
        above = ((top > 0).astype(np.int64) + (bottom < first)) * between(down, corners[:, [2, 3, 2, 3]])
        return above + ((left > 0).astype(np.int64) + (right < second)) * between(across, corners[:, [0, 1, 0, 1]])

    def expected_error(self) -> GridError:
        """Give the error of a random rectangle."""
        first, second = self.form.domain.shape
        down = 2 * (first - 1) / (first + 1) * self.lines[0].range_variance
        across = 2 * (second - 1) / (second + 1) * self.lines[1].range_variance
        return GridError(down + across, Fraction(1, DIVISIONS))

    def words(self) -> str:
        """Describe the noise along both axes."""
        named = zip(map(quoted, self.form.domain.names), self.lines, strict=True)
        return (
            f"Noise moves records between neighbouring cells: {'; '.join(self.line_words(*each) for each in named)}. A "
            "rectangle only sees what crosses its border, and the total stays exact."
        )

    @abstractmethod
    def line_words(self, name: str, line: Line) -> str:
        """Describe the noise across an attribute."""


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
        raise RefusalError(f"this mechanism answers grids, not {brief(query)}.")
    for name, attribute in zip(form.domain.names, form.domain.attributes, strict=True):
        if attribute.size > GRID_SIDE:
            raise QueryError(
                f"a grid has at most {GRID_SIDE:,} values along each side, and {name} has {attribute.size:,}.",
                hint=coarser(name, attribute, GRID_SIDE),
            )
    return cast(HistogramForm, form)


def bound_flow(query: Query, policy: Policy) -> HistogramForm:
    """Bind a query that asks for a grid whose total is public."""
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
