"""The adaptive grid: a first look at blocks of cells, then single cells where the records are and blocks elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, quoted
from blowfish_privacy.errors import PolicyError, SpecError
from blowfish_privacy.mechanisms.constraints import Constraints, Correction
from blowfish_privacy.mechanisms.grid.block_noise import BlockNoise
from blowfish_privacy.mechanisms.grid.blocks import Blocks, gathered
from blowfish_privacy.mechanisms.grid.flow_family import bound_grid
from blowfish_privacy.mechanisms.grid.from_the_top import settled_from_the_top
from blowfish_privacy.mechanisms.grid.grid_error import GridError
from blowfish_privacy.mechanisms.grid.grid_family import GridFamily
from blowfish_privacy.mechanisms.grid.refinement import LookScales, calibrated_scales, refines
from blowfish_privacy.mechanisms.mechanism import NO_NOISE
from blowfish_privacy.mechanisms.row_noise import LAPLACE_ROWS
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import loss_seen
from blowfish_privacy.privacy.sensitivity import sensitivity_of, steps
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import exact, rounded

_LEAST_VARIANCE = 1e-60
"""Noise may be so unlikely that its variance is 0 in floating point."""
_Whole = npt.NDArray[np.int64]
_Chosen = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class AdaptiveGrid(GridFamily):
    """Noisy counts of blocks; then precise cells in the blocks that turned out full, and precise blocks elsewhere.

    Privacy: (epsilon, P)-Blowfish: 2 / look scale, plus twice the larger of 1 / fine scale, for the cells of a full
        block, and 1 / again scale + 1 / coarse scale, for another block and its cells.
    Sensitivity: 2 for the look; after it, one block or cell less and one more, each at its own scale. Where the number
        of records is secret, 1 for each and for the noisy total when a record comes or goes.
    Error: exact for the blocks that were refined; for any data at most that of the worse choice in every block. What
        is shown is closer where blocks are empty, and leaves cells of other blocks even.
    Cost: time and memory linear in the number of cells.
    Numerics: rows are whole numbers with exact integer noise; floating point only afterwards.
    Proof: docs/proofs/adaptive_grid.md
    """

    form: HistogramForm
    side: int
    """How many cells a block has along each attribute, a power of two."""
    full: int
    """The noisy count from which on a block is refined."""
    scales: LookScales
    total: Fraction | None = None
    """The noise scale of the number of records, where it is secret and so measured too."""
    refined: _Chosen | None = None
    """Which blocks were refined, where that is known: see :meth:`taken`."""

    name = "adaptive-grid"
    stands_in_for: ClassVar[str] = "grid-hierarchy"
    proof = "docs/proofs/adaptive_grid.md"
    independent_rows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for scale in self._held:
            LAPLACE_ROWS.check(scale)

    @property
    def _held(self) -> tuple[Fraction, ...]:
        return (*self.scales, *(() if self.total is None else (self.total,)))

    @classmethod
    def suits(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> bool:
        """Require a public number of records, and few of them or few cells."""
        if not cls.answers(query) or records is None or policy.size == "unknown":
            return False
        form = bound_grid(query, policy)
        return refines(form.domain.size, epsilon / steps(policy, form.domain.names).rows, records)

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        """Choose blocks by the records that they have on average, and share the loss between the look and the rest."""
        form = bound_grid(query, policy)
        if not sensitivity_of(form, policy).value:
            return cls(form, 2, 1, LookScales(*[Fraction(0)] * 4))
        amount = epsilon / steps(policy, form.domain.names).rows
        side, full, scales = calibrated_scales(form.domain.size, amount, records)
        # A record that comes or goes loses half as much on blocks and cells as one that moves.
        return cls(form, side, full, scales, 2 / amount if policy.size == "unknown" else None)

    def certify(self, policy: Policy) -> Certificate:
        """Add the loss of the look to the larger loss of what may be measured after it."""
        sensitivity, names = sensitivity_of(self.form, policy), self.form.domain.names
        if sensitivity.value and not all(self._held):
            raise PolicyError(NO_NOISE)
        neighbours = steps(policy, names)
        moved = presence = Fraction(0)
        if sensitivity.value and neighbours.graph.has_edges:
            moved = neighbours.rows * 2 * self.scales.once
        if policy.size == "unknown":
            presence = neighbours.rows * self.presence((0, 0))
        # Which blocks are refined depends on the noise, and a move may stay within a block.
        bound = replace(sensitivity, exact=sensitivity.value == 0)
        return self.certified(policy, loss_seen(policy, names, moved, presence), bound, *self._held)

    def presence(self, x: Cell) -> Fraction:
        """Add up what is lost on a block, a cell and the total."""
        if not self.total or not all(self._held):
            raise PolicyError(NO_NOISE)
        return self.scales.once + 1 / self.total

    def loss(self, x: Cell, y: Cell) -> Fraction:
        """Add up the losses of the rows that change, for the worse choice in both blocks."""
        if not all(self._held) or x == y:
            return Fraction(0)
        same = all(one // self.side == other // self.side for one, other in zip(x, y, strict=True))
        # A move within a block changes the counts of two cells and of no block.
        return 2 / min(self.scales.fine, self.scales.coarse) if same else 2 * self.scales.once

    @property
    def rows(self) -> int:
        """The most numbers there may be: every block twice and every cell, and the total where it is measured."""
        return 2 * self._blocks.many + self.form.domain.size + (self.total is not None)

    @cached_property
    def _blocks(self) -> Blocks:
        first, second = self.form.domain.shape
        return Blocks((first, second), self.side)

    def measure(self, counts: _Whole, source: BitSource) -> npt.NDArray[Any]:
        """Count blocks and add noise; then count those that are not refined again, and all cells."""
        sums = self._blocks.sums(counts)
        look = _drawn(sums.reshape(-1), self.scales.look, source).reshape(sums.shape)
        refined = look >= self.full
        again = _drawn(sums[~refined], self.scales.again, source)
        chosen, cells = self._blocks.to_cells(refined), np.empty_like(counts)
        for part, scale in ((chosen, self.scales.fine), (~chosen, self.scales.coarse)):
            cells[part] = _drawn(counts[part], scale, source)
        total = [] if self.total is None else [_drawn(counts.sum().reshape(1), self.total, source)]
        return np.concatenate([look.reshape(-1), again, cells.reshape(-1), *total])

    def fits(self, noisy: _Whole) -> bool:
        """Count the numbers that the look leads to."""
        seen = noisy[: self._blocks.many]
        return len(noisy) == self.rows - int((seen >= self.full).sum())

    def taken(self, noisy: _Whole) -> AdaptiveGrid:
        """Return the same with the blocks that these numbers say were refined."""
        look = noisy[: self._blocks.many].reshape(self._blocks.table)
        return replace(self, refined=look >= self.full)

    def estimate(self, noisy: _Whole) -> Floats:
        """Return the least-squares counts of the cells, from both looks at blocks and from the cells."""
        if not all(self._held):
            return self._rows(noisy)[2]
        return self.taken(noisy)._least_squares(noisy)

    def _rows(self, noisy: _Whole) -> tuple[Floats, Floats, Floats]:
        """Return both looks at blocks, with 0 for those that were not counted again, and the cells."""
        look = noisy[: self._blocks.many].reshape(self._blocks.table)
        start = len(noisy) - self.form.domain.size - (self.total is not None)
        again = np.zeros(look.shape)
        again[look < self.full] = noisy[look.size : start]
        cells = noisy[start : start + self.form.domain.size].reshape(self.form.domain.shape)
        return look.astype(np.float64), again, cells.astype(np.float64)

    def _least_squares(self, noisy: _Whole) -> Floats:
        look, again, cells = self._rows(noisy)
        first, second, *_ = self._variances
        both = (second * look + first * again) / (first + second)
        estimate = self._noises.estimate(cells, np.where(self._refined, look, both))
        if self.total is None:
            return estimate
        return self._noises.with_total(estimate, float(noisy[-1]), LAPLACE_ROWS.variance(self.total))

    @property
    def _variances(self) -> list[float]:
        return [max(LAPLACE_ROWS.variance(scale), _LEAST_VARIANCE) for scale in self.scales]

    @property
    def _refined(self) -> _Chosen:
        """The blocks that were refined; none where that is not known."""
        return np.zeros(self._blocks.table, dtype=bool) if self.refined is None else self.refined

    @cached_property
    def _noises(self) -> BlockNoise:
        return self._noises_of(self._refined)

    def _noises_of(self, refined: _Chosen) -> BlockNoise:
        look, again, fine, coarse = self._variances
        total = None if self.total is None else LAPLACE_ROWS.variance(self.total)
        blocks = np.where(refined, look, look * again / (look + again))
        return BlockNoise(self._blocks, blocks, np.where(refined, fine, coarse), total)

    def spread(self, weights: Floats) -> Floats:
        """Multiply columns of weights of the cells by the covariance of their linear estimate.

        Where it is not known which blocks were refined, as if none was.
        """
        return self._noises.spread(weights) if all(self._held) else np.zeros(weights.shape)

    def shown_estimate(
        self,
        noisy: _Whole,
        records: int | None,
        totals: Correction | None = None,
        stated: Constraints | None = None,
    ) -> Floats:
        """Settle the counts from the top down, so that none is negative, with even cells in blocks not refined."""
        linear = self.estimate(noisy)
        if not all(self._held):
            return self.meeting(linear, totals, stated)
        taken = self.taken(noisy)
        even = self._blocks.to_cells(self._blocks.sums(linear) / self._blocks.sizes)
        smooth = np.where(self._blocks.to_cells(taken._refined), linear, even)
        given = stated if totals is None or stated is not None else totals.constraints
        if given is not None and len(given.stated) == 1:
            records = int(given.stated[0])
        if given is None or totals is None or len(given.stated) == 1:
            known = smooth if records is None else taken._noises.with_total(smooth, records)
            return settled_from_the_top(known, np.ones(known.shape))
        return _settled(self.meeting(smooth, totals, stated), given)

    def uneven(self, counts: _Whole) -> _Whole:
        """Gather the records of blocks that are not full in few of their cells: what is shown would be even."""
        sparse = self._blocks.to_cells(self._blocks.sums(counts) < self.full)
        return np.where(sparse, gathered(counts, self._blocks), counts)

    def expected_error(self) -> GridError:
        """Give the error of a random rectangle of the linear estimate, for the worse choice where it is not known."""
        if not all(self._held):
            return GridError(0.0, Fraction(1))
        if self.refined is not None:
            return GridError(self._noises.mse, Fraction(1))
        every = np.ones(self._blocks.table, dtype=bool)
        return GridError(float(np.maximum(self._noises.by_block, self._noises_of(every).by_block).sum()), Fraction(1))

    def compared_error(self) -> float:
        """Compare by the error where all blocks are full: where they are not, what is shown is closer than that."""
        return self._noises_of(np.ones(self._blocks.table, dtype=bool)).mse if all(self._held) else 0.0

    def words(self) -> str:
        """State what is counted, and the scales."""
        first, second = map(quoted, self.form.domain.names)
        look, again, fine, coarse = map(rounded, self.scales)
        total = f" The number of records gets noise of scale {rounded(self.total)}." if self.total else ""
        return (
            f"Along {first} and {second}, blocks of {self.side} by {self.side} cells get noise of scale {look}. Where "
            f"that gives at least {self.full:,} records, cells get noise of scale {fine}; elsewhere blocks are counted "
            f"again with noise of scale {again}, and cells with {coarse}.{total} Counts are settled from the whole "
            "grid down to its cells, so that none is negative."
        )

    def to_document(self) -> dict[str, Any]:
        """Write the blocks, when they are refined, and the scales."""
        measured = zip(LookScales.names(), self.scales, strict=True)
        total = {} if self.total is None else {"total": {"scale": str(self.total)}}
        levels = {name: {"scale": str(scale)} for name, scale in measured}
        return {"name": self.name, "side": self.side, "full": self.full, **levels, **total}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read the blocks, when they are refined, and the scales."""
        side, full = written["side"], written["full"]
        if type(side) is not int or side < 2 or side & (side - 1) or type(full) is not int:
            raise SpecError("the document is damaged: blocks have a power of two of cells and a whole count.")
        if ("total" in written) != (policy.size == "unknown"):
            raise SpecError("the document is damaged: the total is measured exactly where it is secret.")
        names = (*LookScales.names(), *(("total",) if "total" in written else ()))
        scales = [exact(written[name]["scale"], "a noise scale", error=SpecError) for name in names]
        return cls(bound_grid(query, policy), side, full, LookScales(*scales[:4]), scales[4] if scales[4:] else None)


def _settled(estimate: Floats, given: Constraints) -> Floats:
    """Settle an estimate from the top down, empty what is known to be empty, and scale the rest to public totals."""
    empty = np.any([each.counts[each.labels] == 0 for each in given.totals], axis=0).reshape(estimate.shape)
    settled = settled_from_the_top(estimate, np.where(empty, 0.0, 1.0)).reshape(-1)
    met = given.scaled(settled)
    return (met if given.met(met) else given.not_negative(met)).reshape(estimate.shape)


def _drawn(rows: _Whole, scale: Fraction, source: BitSource) -> _Whole:
    return rows + LAPLACE_ROWS.draw(scale, len(rows), source) if scale and len(rows) else rows
