"""Grid flow: noise that moves records between neighbouring cells of a grid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, quoted
from blowfish_privacy.errors import DataError, PolicyError, QueryError, RefusalError, SpecError
from blowfish_privacy.mechanisms.grid.grid_family import (
    Corners,
    GridError,
    GridFamily,
    between,
    bound_grid,
    mean_product,
    sums_of,
    waves,
)
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, NO_NOISE
from blowfish_privacy.mechanisms.ordered.level_choice import precise_line
from blowfish_privacy.mechanisms.ordered.levels import DifferenceLevel, level_to_document, levels_of_hats
from blowfish_privacy.mechanisms.row_noise import GAUSSIAN_ROWS, LAPLACE_ROWS, RowNoise
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import loss_seen
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.privacy.sensitivity import steps
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.exact import exact, rounded

# Noise along one line of a grid's edges, made so that sums over stretches of the line stay small.
#
# The line has k edges. Leaf noise e is one integer per edge; hat noise h one per node of coarser levels. With G the
# whole-number hats and any matrix B, the flow ``z = e + B (h - G e)`` has the property on which everything rests:
# adding a unit to edge j of e and column j of G to h adds exactly a unit to z_j, because the bracket does not change. B
# is the least-squares weight of h, rounded to multiples of 1 / Q, so that Q z is a whole number, computed exactly.

DIVISIONS = 2**20
"""Q: a flow is a whole number of 1 / Q records."""
_LARGEST = 2**61
_EXACT_FLOATS = 2**53
_LARGEST_SCALE = 2**24


@dataclass(frozen=True)
class Line:
    """The noise of one line: ``length`` edges, leaf noise on each, and hats of coarser levels, if any."""

    length: int
    leaf: DifferenceLevel
    coarse: tuple[DifferenceLevel, ...]

    @classmethod
    def of_one_spacing(cls, length: int, spacing: int, loss: Fraction) -> Line:
        """Make a line with Laplace noise of one spacing (1: leaf noise alone) of which a unit on an edge loses so much.

        Leaf noise takes half of the loss, or all of it where there is no coarser level. A unit on an edge adds up to g
        over the whole-number hats, so their noise is g times as large.
        """
        if spacing == 1:
            return cls(length, DifferenceLevel(1, 1 / loss), ())
        return cls(length, DifferenceLevel(1, 2 / loss), (DifferenceLevel(spacing, 2 * spacing / loss),))

    @classmethod
    def best(cls, length: int, loss: Fraction, noise: RowNoise) -> Line:
        """Choose the line of the least error of which a unit on an edge loses so much."""
        if noise is GAUSSIAN_ROWS:
            leaf, *coarse = (replace(level, scale=level.scale / loss) for level in precise_line(length))
            return cls(length, leaf, tuple(coarse))
        # The best spacing is near 1.25 times the root of the length.
        spacings = sorted({1, *(round(sqrt(length) * factor) for factor in (0.9, 1.05, 1.15, 1.25, 1.35, 1.5))})
        lines = [cls.of_one_spacing(length, g, loss) for g in spacings if g == 1 or 2 < g < length]
        return min(lines, key=lambda line: line.range_variance)

    @property
    def levels(self) -> tuple[DifferenceLevel, ...]:
        """The leaf and the coarser levels."""
        return (self.leaf, *self.coarse)

    @cached_property
    def loss(self) -> Fraction:
        """What a unit on an edge loses at most: it adds one to the leaf, and most to the hats where all have a node."""
        return sum((level.lost(level.weight(0, self.length)) for level in self.levels), Fraction(0))

    def check(self) -> None:
        """Refuse, before anything is charged, noise whose flows could exceed 64 bits."""
        for level in self.levels:
            if level.scale > level.noise.scaled(Fraction(1), _LARGEST_SCALE):
                hint = f"spend more {level.noise.counted_in.name}."
                raise QueryError("the noise scale of a flow must be at most 2^24.", hint=hint)

    @cached_property
    def hats(self) -> Integers:
        """The whole-number hats G: one row for each node."""
        none = np.zeros((0, self.length), dtype=np.int64)
        return np.concatenate([none, *(level.whole_hats(self.length) for level in self.coarse)])

    @cached_property
    def weights(self) -> Integers:
        """Q B: the least-squares weight of the hats' noise, in whole numbers."""
        units = np.repeat([level.unit for level in self.coarse], self._rows)[:, None]
        roots = np.repeat([sqrt(level.precision / self.leaf.precision) for level in self.coarse], self._rows)[:, None]
        weighed = roots * (self.hats / units)
        # (1 + W'W)^-1 W' = W' (1 + W W')^-1, and there are fewer hats than edges.
        between = np.eye(len(weighed)) + weighed @ weighed.T
        gain = np.linalg.solve(between, weighed).T * roots.T / units.T
        return np.rint(DIVISIONS * gain).astype(np.int64)

    @property
    def _rows(self) -> list[int]:
        return [level.rows(self.length) for level in self.coarse]

    def draw(self, lines: int, source: BitSource) -> Integers:
        """Draw the flows of several lines, one a row, in units of 1 / Q."""
        leaf = self.leaf.noise.draw(self.leaf.scale, (lines, self.length), source)
        if not self.coarse:
            return DIVISIONS * leaf
        hats = [
            level.noise.draw(level.scale, (lines, rows), source)
            for level, rows in zip(self.coarse, self._rows, strict=True)
        ]
        return self.flow(leaf, np.concatenate(hats, axis=1))

    def flow(self, leaf: Integers, hats: Integers) -> Integers:
        """Combine leaf and hat noise into a flow, exactly."""
        gap = hats - leaf @ self.hats.T
        largest = int(np.abs(gap).max(initial=0)) * int(np.abs(self.weights).max(initial=0)) * max(len(self.hats), 1)
        if largest < _EXACT_FLOATS:
            # All sums are whole numbers that a float holds, whatever their order.
            return DIVISIONS * leaf + (gap.astype(np.float64) @ self.weights.T.astype(np.float64)).astype(np.int64)
        if largest + DIVISIONS * int(np.abs(leaf).max(initial=0)) < _LARGEST:
            return DIVISIONS * leaf + gap @ self.weights.T
        # Intermediate sums may exceed 64 bits, so they are added as Python integers.
        whole = DIVISIONS * leaf.astype(object) + gap.astype(object) @ self.weights.T.astype(object)
        return whole.astype(np.int64)

    @cached_property
    def covariance(self) -> Floats:
        """The covariance of the flows of one line, in records."""
        spread = np.zeros((self.length, self.length))
        for level, part in zip(self.levels, self.parts(), strict=True):
            spread += level.noise.variance(level.scale) * (part @ part.T)
        return spread

    def parts(self) -> list[Floats]:
        """Return by what the noise of each level is multiplied."""
        back = self.weights / DIVISIONS
        rest = np.eye(self.length) - back @ self.hats
        return [rest, *np.split(back, np.cumsum(self._rows)[:-1], axis=1)] if self.coarse else [rest]

    @cached_property
    def range_variance(self) -> float:
        """The mean variance of the sum over a uniformly random stretch of the line."""
        relative = (replace(level, scale=level.scale / self.leaf.scale) for level in self.coarse)
        shares = _range_shares(Line(self.length, replace(self.leaf, scale=Fraction(1)), tuple(relative)))
        return sum(level.noise.variance(level.scale) * share for level, share in zip(self.levels, shares, strict=True))

    def words(self) -> str:
        """Describe the noise."""
        if self.leaf.noise.power == 2:
            bins = (f", {sqrt(each.scale) / each.unit:.4g} on bins {each.spacing} apart" for each in self.coarse)
            return f"Gaussian noise of standard deviation {sqrt(self.leaf.scale):.4g}" + "".join(bins)
        bins = (f" and bins {each.spacing} apart of scale {rounded(each.scale)} records" for each in self.coarse)
        return f"leaf noise of scale {rounded(self.leaf.scale)} records" + "".join(bins)

    def to_document(self) -> dict[str, Any]:
        """Write what the levels follow from."""
        if self.leaf.noise.power == 2:
            return {"levels": [level_to_document(level) for level in self.levels]}
        return {"spacing": self.levels[-1].spacing, "edge_loss": str(self.loss)}

    @classmethod
    def from_document(cls, length: int, written: dict[str, Any], noise: RowNoise) -> Line:
        """Read what :meth:`to_document` writes."""
        if noise is GAUSSIAN_ROWS:
            leaf, *coarse = levels_of_hats(written["levels"], noise)
            if not all(level.scale for level in (leaf, *coarse)):
                raise PolicyError(NO_NOISE)
            if any(level.unit >= length for level in coarse):
                raise SpecError("the document is damaged: its bins are wider than the grid.")
            return cls(length, leaf, tuple(coarse))
        if type(written["spacing"]) is not int or written["spacing"] < 1:
            raise SpecError("the document is damaged: a spacing is not a positive whole number.")
        loss = exact(written["edge_loss"], "the loss of an edge", error=SpecError)
        if loss <= 0:
            raise PolicyError(NO_NOISE)
        return cls.of_one_spacing(length, written["spacing"], loss)


@lru_cache(maxsize=256)
def _range_shares(line: Line) -> list[float]:
    """Return the mean variance of the sum over a random stretch for noise of variance 1 on each level."""
    return [mean_product(part, part) for part in line.parts()]


# What mechanisms share that move records between neighbouring cells of a grid, whatever their noise.


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
    def calibrated(cls, query: Query, policy: Policy, *, records: int | None, **amount: Fraction) -> Self:
        """Share the amount over the steps of the longest secret move along each axis."""
        form = bound_flow(query, policy)
        neighbours = steps(policy, form.domain.names)
        if not neighbours.graph.has_edges:
            raise RefusalError("no secret pair changes this grid, so it needs no noise.", hint="use grid-hierarchy.")
        each = amount[cls.counted_in.name] / neighbours.rows**cls.noise.power
        down, across = (Fraction(1, max(1, neighbours.graph.largest_move(name))) for name in neighbours.graph.domain)
        worst = neighbours.graph.longest_move((down, across)) or Fraction(1)
        first, second = form.domain.shape
        lines = (Line.best(second, each * down / worst, cls.noise), Line.best(first, each * across / worst, cls.noise))
        return cls(form, lines)

    def certify(self, policy: Policy) -> Certificate:
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
        return abs(x[0] - y[0]) * self.lines[0].loss + abs(x[1] - y[1]) * self.lines[1].loss

    @property
    def rows(self) -> int:
        return self.form.domain.size

    def measure(self, counts: Integers, source: BitSource) -> npt.NDArray[Any]:
        if int(counts.sum()) * DIVISIONS >= LARGEST_ANSWER:
            raise DataError("the answers may be too large for 64-bit arithmetic.", hint="use fewer records.")
        first, second = self.form.domain.shape
        down = self.lines[0].draw(first - 1, source)
        across = self.lines[1].draw(second - 1, source).T
        return (DIVISIONS * counts + divergence(down, across)).reshape(-1)

    def estimate(self, noisy: Integers) -> Floats:
        return (noisy / DIVISIONS).reshape(self.form.domain.shape)

    def spread(self, weights: Floats) -> Floats:
        down, across = (line.covariance for line in self.lines)
        columns = weights.T.reshape(-1, *self.form.domain.shape)
        flows = ((np.diff(each, axis=0) @ down, across @ np.diff(each, axis=1)) for each in columns)
        return np.stack([divergence(*flow).reshape(-1) for flow in flows], axis=1)

    def wave_variances(self) -> Floats:
        # The waves are the singular vectors of the differences between neighbours, with these squared singular values.
        first, second = (2 - 2 * np.cos(np.pi * np.arange(size) / size) for size in self.form.domain.shape)
        down, across = (np.diagonal(waves(line.covariance)) for line in self.lines)
        return np.outer(first, down) + np.outer(across, second)

    def rectangle_variances(self, corners: Corners) -> Floats:
        first, second = self.form.domain.shape
        top, bottom, left, right = corners.T
        down, across = (sums_of(line.covariance) for line in self.lines)
        above = ((top > 0).astype(np.int64) + (bottom < first)) * between(down, corners[:, [2, 3, 2, 3]])
        return above + ((left > 0).astype(np.int64) + (right < second)) * between(across, corners[:, [0, 1, 0, 1]])

    def expected_error(self) -> GridError:
        first, second = self.form.domain.shape
        down = 2 * (first - 1) / (first + 1) * self.lines[0].range_variance
        across = 2 * (second - 1) / (second + 1) * self.lines[1].range_variance
        return GridError(down + across, Fraction(1, DIVISIONS))

    def words(self) -> str:
        named = zip(map(quoted, self.form.domain.names), self.lines, strict=True)
        noise = "; ".join(f"across {name} {line.words()}" for name, line in named)
        return (
            f"Noise moves records between neighbouring cells: {noise}. A rectangle only sees what crosses its border, "
            "and the total stays exact."
        )

    def to_document(self) -> dict[str, Any]:
        return {"name": self.name, "lines": [line.to_document() for line in self.lines]}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        form = bound_flow(query, policy)
        lengths = reversed(form.domain.shape)
        down, across = (
            Line.from_document(length, each, cls.noise) for length, each in zip(lengths, written["lines"], strict=True)
        )
        return cls(form, (down, across))


def divergence(down: npt.NDArray[Any], across: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return what flows into each cell minus what flows out, for flows to the next row and to the next column."""
    into = np.zeros((down.shape[0] + 1, across.shape[1] + 1), dtype=down.dtype)
    into[1:] += down
    into[:-1] -= down
    into[:, 1:] += across
    into[:, :-1] -= across
    return into


def bound_flow(query: Query, policy: Policy) -> HistogramForm:
    """Bind a query that asks for a grid whose total is public."""
    if policy.size == "unknown":
        raise RefusalError(
            "a flow keeps the total, so it needs a public number of records.", hint='use mechanism="grid-hierarchy".'
        )
    return bound_grid(query, policy)


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
