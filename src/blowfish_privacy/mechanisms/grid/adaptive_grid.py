"""The adaptive grid: a first look at blocks of cells, then single cells where the records are and blocks elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, log2, sqrt
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, quoted
from blowfish_privacy.errors import PolicyError, SpecError
from blowfish_privacy.mechanisms.constraints import Constraints, Correction
from blowfish_privacy.mechanisms.grid.grid_family import GridError, GridFamily, bound_grid, over_all_rectangles
from blowfish_privacy.mechanisms.mechanism import NO_NOISE
from blowfish_privacy.mechanisms.row_noise import LAPLACE_ROWS
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import loss_seen
from blowfish_privacy.privacy.sensitivity import sensitivity_of, steps
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.exact import rounded

# Square blocks of a grid's cells: what they add up to, and what random rectangles see of them.

_STRIDE, _SHIFT = 7, 5


@dataclass(frozen=True)
class SquareBlocks:
    """A grid cut into blocks of ``side`` cells along both attributes; those at the far ends may be smaller."""

    shape: tuple[int, int]
    side: int

    @property
    def table(self) -> tuple[int, int]:
        """The number of blocks along both attributes."""
        first, second = (-(-size // self.side) for size in self.shape)
        return first, second

    @property
    def many(self) -> int:
        """The number of blocks."""
        first, second = self.table
        return first * second

    def sums(self, cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Add up the cells of each block; whole numbers stay whole."""
        down = np.add.reduceat(cells, np.arange(0, self.shape[0], self.side), axis=0)
        return np.add.reduceat(down, np.arange(0, self.shape[1], self.side), axis=1)

    def to_cells(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Give every cell the value of its block."""
        return np.repeat(np.repeat(values, self._lengths[0], axis=0), self._lengths[1], axis=1)

    @cached_property
    def sizes(self) -> Floats:
        """The number of cells of each block."""
        return np.outer(*self._lengths).astype(np.float64)

    @cached_property
    def met(self) -> Floats:
        """How many cells of each block a random rectangle has, on average over all rectangles."""
        return np.outer(*(mean for mean, _ in self._shared))

    @cached_property
    def seen(self) -> Floats:
        """How many cells of each block a random rectangle has, squared, on average over all rectangles."""
        return np.outer(*(square for _, square in self._shared))

    @cached_property
    def _shared(self) -> list[tuple[Floats, Floats]]:
        """How many positions of each stretch a range along a side has, and its square, averaged over all ranges.

        With c(s) = min(max(s - start, 0), length) at the cuts s = 0..size, a range shares c(end) - c(start). Over all
        pairs of cuts that adds up to sum (2 s - size) c(s), and its square to (size + 1) sum c^2 - (sum c)^2.
        """
        shared: list[tuple[Floats, Floats]] = []
        for size, lengths in zip(self.shape, self._lengths, strict=True):
            cuts, ranges = np.arange(size + 1)[:, None], size * (size + 1) / 2
            held = np.clip(cuts - np.cumsum(lengths) + lengths, 0, lengths)
            squares = (size + 1) * (held**2).sum(axis=0) - held.sum(axis=0) ** 2
            shared.append((((2 * cuts - size) * held).sum(axis=0) / ranges, squares / ranges))
        return shared

    @property
    def _lengths(self) -> tuple[Integers, Integers]:
        first, second = (
            np.diff(np.append(np.arange(0, size, self.side), size)).astype(np.int64) for size in self.shape
        )
        return first, second


def gathered(counts: Integers, blocks: SquareBlocks) -> Integers:
    """Move the records of every block to few of its cells: most to one, here to these and there to those."""
    table = np.zeros_like(counts)
    for number, (row, column) in enumerate(np.ndindex(blocks.table)):
        inside = tuple(slice(at * blocks.side, (at + 1) * blocks.side) for at in (row, column))
        part = counts[inside]
        ends = np.cumsum(1 / np.arange(1, part.size + 1) ** 2)
        ranked = np.diff(np.rint(ends / ends[-1] * int(part.sum())).astype(np.int64), prepend=0)
        # Any fixed order that differs between neighbouring blocks will do.
        order = np.argsort((np.arange(part.size) * _STRIDE + number * _SHIFT) % part.size, kind="stable")
        table[inside] = ranked[order].reshape(part.shape)
    return table


# Cells and blocks of cells with noise of their own: the least-squares estimate, its covariance and its error.


@dataclass(frozen=True, eq=False)
class BlockNoise:
    """The variances of the counts of blocks and of their cells, block by block, and of the total where it is measured.

    The covariance of the cells of a block is v (1 - v J / (w + m v)): m cells of variance v, a block of variance w, J
    all ones. Blocks are independent, until the total is looked at.
    """

    blocks: SquareBlocks
    of_blocks: Floats
    of_cells: Floats
    of_total: float | None = None

    @cached_property
    def _trust(self) -> Floats:
        """How much of what a block says more each of its cells gets."""
        return self.of_cells / (self.of_blocks + self.blocks.sizes * self.of_cells)

    @cached_property
    def pull(self) -> Floats:
        """The covariance of each cell with the sum of all, before the total is looked at."""
        return self.blocks.to_cells(self.of_cells * (1 - self.blocks.sizes * self._trust))

    def estimate(self, cells: Floats, blocks: Floats) -> Floats:
        """Share what blocks say more among their cells."""
        return cells + self.blocks.to_cells((blocks - self.blocks.sums(cells)) * self._trust)

    def with_total(self, cells: Floats, total: float, variance: float = 0.0) -> Floats:
        """Move cells towards a total in proportion to how much each is uncertain."""
        return cells + self.pull * (total - cells.sum()) / (self.pull.sum() + variance)

    def spread(self, weights: Floats) -> Floats:
        """Multiply columns of weights of the cells by the covariance of the estimate."""
        columns: list[Floats] = []
        for each in weights.T.reshape(-1, *self.blocks.shape):
            shared = each - self.blocks.to_cells(self._trust * self.blocks.sums(each))
            spread = self.blocks.to_cells(self.of_cells) * shared
            if self.of_total is not None:
                spread = spread - self.pull * (self.pull * each).sum() / (self.pull.sum() + self.of_total)
            columns.append(spread.reshape(-1))
        return np.stack(columns, axis=1)

    @cached_property
    def by_block(self) -> Floats:
        """What each block adds to the mean squared error of a random rectangle, before the total is looked at."""
        return self.of_cells * self.blocks.met - self.of_cells * self._trust * self.blocks.seen

    @cached_property
    def mse(self) -> float:
        """The mean squared error of a random rectangle."""
        known = 0.0
        if self.of_total is not None:
            known = over_all_rectangles(self.pull) / (self.pull.sum() + self.of_total)
        return float(self.by_block.sum()) - known


# Counts that are not negative, found from the whole grid down to its cells.
#
# The nearest non-negative grid pulls what it adds to the many cells of empty regions out of the full ones. Here every
# quarter of a square is settled before its parts are looked at, so a correction stays in the smallest square that needs
# it, and large rectangles keep the exactness of the linear estimate. docs/proofs/adaptive_grid.md


def settled_from_the_top(estimate: Floats, weights: Floats) -> Floats:
    """Return counts that are not negative and add up to what the estimate does, or to 0 if that is negative.

    Squares of 2^j cells are split into four, until single cells are left. Within each, the estimates of the parts
    become the nearest that are not negative and add up to what the square got, where a part moves in proportion to
    the weights of its cells. Cells of weight 0 stay empty, whatever their estimate.
    """
    pyramid = [(np.where(weights > 0, estimate, 0.0), weights)]
    while pyramid[-1][0].size > 1:
        shape = pyramid[-1][0].shape
        halves = SquareBlocks((shape[0], shape[1]), 2)
        pyramid.append((halves.sums(pyramid[-1][0]), halves.sums(pyramid[-1][1])))
    counts = np.maximum(pyramid[-1][0], 0.0)
    for values, each in reversed(pyramid[:-1]):
        parts = _near(_quarters(values), _quarters(each), counts.reshape(-1))
        rows, columns = counts.shape
        whole = parts.reshape(rows, columns, 2, 2).transpose(0, 2, 1, 3).reshape(2 * rows, 2 * columns)
        counts = whole[: values.shape[0], : values.shape[1]]
    return counts


def _quarters(table: Floats) -> Floats:
    """List the four parts of every square; parts beyond the end are 0."""
    rows, columns = (-(-size // 2) for size in table.shape)
    padded = np.pad(table, ((0, 2 * rows - table.shape[0]), (0, 2 * columns - table.shape[1])))
    return padded.reshape(rows, 2, columns, 2).transpose(0, 2, 1, 3).reshape(-1, 4)


def _near(values: Floats, weights: Floats, totals: Floats) -> Floats:
    """Project each row of four on the parts that are not negative and add up to its total.

    All parts move by the same multiple of their weights; those that end below zero are emptied, and the rest moves
    on. At most three parts can be emptied.
    """
    kept = weights > 0
    moved = values
    for _ in range(4):
        free = np.where(kept, weights, 0.0)
        gap = totals - np.where(kept, values, 0.0).sum(axis=1)
        moved = values + free * (gap / np.maximum(free.sum(axis=1), 1e-300))[:, None]
        kept = kept & (moved > 0)
    settled = np.where(kept, moved, 0.0)
    # Rounding may leave nothing of a total that is next to nothing.
    even = totals[:, None] * weights / np.maximum(weights.sum(axis=1), 1e-300)[:, None]
    left = kept.sum(axis=1, keepdims=True) > 0
    return np.where(left, settled, even)


# How the loss of an adaptive grid is shared, and when its blocks are refined; from public numbers only.

_LOOK = Fraction(2, 5)
"""The share of the loss that goes to the first look."""
_AGAIN = Fraction(3, 4)
"""What a block that is not refined gets of the rest; its cells get what is left."""
_FULL = 10
"""From how many scales of its cells' noise on a block is refined."""
_BLOCKS = 16
"""About so many blocks lie along a side of a square grid."""
_FEWEST = 1.0
"""Blocks are made larger until they have so many records times epsilon, on average.

These were settled on grids of 64^2 and 128^2 cells with 0.03 to 30 records times epsilon per cell: the development
shapes of benchmarks/shapes.py, San Francisco cabs, tweets, and random cascades, by the geometric mean of the errors.
"""
_LEAST_CELLS = 576
_SPARSE = 1
"""With at most so many records times epsilon per cell it shows less error than a hierarchy, in the geometric mean.

Not on each shape: records in single rows and columns along an edge have several times as much.
Settled on the same shapes, on grids of at least :data:`_LEAST_CELLS`. With more records the gain is smaller on 64^2
cells and gone on 128^2, and the error that a hierarchy guarantees is lower.
"""


class LookScales(NamedTuple):
    """The noise scales of the look, of blocks counted again, and of the cells of blocks that are refined or not."""

    look: Fraction
    again: Fraction
    fine: Fraction
    coarse: Fraction

    @property
    def once(self) -> Fraction:
        """The most that is lost on a record in a block, where it was not before."""
        return 1 / self.look + max(1 / self.fine, 1 / self.again + 1 / self.coarse)


def calibrated_scales(cells: int, amount: Fraction, records: int | None) -> tuple[int, int, LookScales]:
    """Choose the side of blocks, the count from which they are refined, and scales of which a move loses the amount."""
    rest = (1 - _LOOK) * amount
    fine = 2 / rest
    scales = LookScales(2 / (_LOOK * amount), 2 / (_AGAIN * rest), fine, 2 / ((1 - _AGAIN) * rest))
    power = max(round(log2(sqrt(cells) / _BLOCKS)), 1)
    if records is not None:
        signal = float(records * amount) / cells
        while signal * 4**power < _FEWEST and 4 ** (power + 2) <= cells:
            power += 1
    return 2**power, ceil(_FULL * fine), scales


_LEAST_VARIANCE = 1e-60
"""Noise may be so unlikely that its variance is 0 in floating point."""
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
        LAPLACE_ROWS.check(*self._held)

    @property
    def _held(self) -> tuple[Fraction, ...]:
        return (*self.scales, *(() if self.total is None else (self.total,)))

    @classmethod
    def suits(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> bool:
        if not cls.answers(query) or records is None or policy.size == "unknown":
            return False
        domain = bound_grid(query, policy).domain
        amount = epsilon / steps(policy, domain.names).rows
        return domain.size >= _LEAST_CELLS and records * amount <= _SPARSE * domain.size

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        form = bound_grid(query, policy)
        if not sensitivity_of(form, policy).value:
            return cls(form, 2, 1, LookScales(*[Fraction(0)] * 4))
        amount = epsilon / steps(policy, form.domain.names).rows
        side, full, scales = calibrated_scales(form.domain.size, amount, records)
        # A record that comes or goes loses half as much on blocks and cells as one that moves.
        return cls(form, side, full, scales, 2 / amount if policy.size == "unknown" else None)

    def certify(self, policy: Policy) -> Certificate:
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
        if not self.total or not all(self._held):
            raise PolicyError(NO_NOISE)
        return self.scales.once + 1 / self.total

    def loss(self, x: Cell, y: Cell) -> Fraction:
        if not all(self._held) or x == y:
            return Fraction(0)
        same = all(one // self.side == other // self.side for one, other in zip(x, y, strict=True))
        # A move within a block changes the counts of two cells and of no block.
        return 2 / min(self.scales.fine, self.scales.coarse) if same else 2 * self.scales.once

    @property
    def rows(self) -> int:
        return 2 * self._blocks.many + self.form.domain.size + (self.total is not None)

    @cached_property
    def _blocks(self) -> SquareBlocks:
        first, second = self.form.domain.shape
        return SquareBlocks((first, second), self.side)

    def measure(self, counts: Integers, source: BitSource) -> npt.NDArray[Any]:
        sums = self._blocks.sums(counts)
        look = LAPLACE_ROWS.on(sums.reshape(-1), self.scales.look, source).reshape(sums.shape)
        refined = look >= self.full
        again = LAPLACE_ROWS.on(sums[~refined], self.scales.again, source)
        chosen, cells = self._blocks.to_cells(refined), np.empty_like(counts)
        for part, scale in ((chosen, self.scales.fine), (~chosen, self.scales.coarse)):
            cells[part] = LAPLACE_ROWS.on(counts[part], scale, source)
        total = [] if self.total is None else [LAPLACE_ROWS.on(counts.sum().reshape(1), self.total, source)]
        return np.concatenate([look.reshape(-1), again, cells.reshape(-1), *total])

    def fits(self, noisy: Integers) -> bool:
        seen = noisy[: self._blocks.many]
        return len(noisy) == self.rows - int((seen >= self.full).sum())

    def taken(self, noisy: Integers) -> AdaptiveGrid:
        look = noisy[: self._blocks.many].reshape(self._blocks.table)
        return replace(self, refined=look >= self.full)

    def estimate(self, noisy: Integers) -> Floats:
        start = len(noisy) - self.form.domain.size - (self.total is not None)
        cells = noisy[start : start + self.form.domain.size].reshape(self.form.domain.shape).astype(np.float64)
        if not all(self._held):
            return cells
        taken = self.taken(noisy)
        look = noisy[: self._blocks.many].reshape(self._blocks.table).astype(np.float64)
        again = np.zeros(look.shape)
        again[~taken._refined] = noisy[look.size : start]
        first, second, *_ = self._variances
        both = (second * look + first * again) / (first + second)
        estimate = taken._noises.estimate(cells, np.where(taken._refined, look, both))
        if self.total is None:
            return estimate
        return taken._noises.with_total(estimate, float(noisy[-1]), LAPLACE_ROWS.variance(self.total))

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
        # Where it is not known which blocks were refined, as if none was.
        return self._noises.spread(weights) if all(self._held) else np.zeros(weights.shape)

    def shown_estimate(
        self,
        noisy: Integers,
        records: int | None,
        totals: Correction | None = None,
        stated: Constraints | None = None,
    ) -> Floats:
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
        # What is known to be empty is emptied, and the rest scaled to the public totals.
        empty = np.any([each.counts[each.labels] == 0 for each in given.totals], axis=0).reshape(smooth.shape)
        settled = settled_from_the_top(self.meeting(smooth, totals, stated), np.where(empty, 0.0, 1.0)).reshape(-1)
        met = given.scaled(settled)
        return (met if given.met(met) else given.not_negative(met)).reshape(smooth.shape)

    def uneven(self, counts: Integers) -> Integers:
        sparse = self._blocks.to_cells(self._blocks.sums(counts) < self.full)
        return np.where(sparse, gathered(counts, self._blocks), counts)

    def expected_error(self) -> GridError:
        if not all(self._held):
            return GridError(0.0, Fraction(1))
        if self.refined is not None:
            return GridError(self._noises.mse, Fraction(1))
        every = np.ones(self._blocks.table, dtype=bool)
        return GridError(float(np.maximum(self._noises.by_block, self._noises_of(every).by_block).sum()), Fraction(1))

    def compared_error(self) -> float:
        return self._noises_of(np.ones(self._blocks.table, dtype=bool)).mse if all(self._held) else 0.0

    def words(self) -> str:
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
        scales = dict(zip((*LookScales._fields, "total"), self._held, strict=False))
        written = {name: LAPLACE_ROWS.to_document(scale) for name, scale in scales.items()}
        return {"name": self.name, "side": self.side, "full": self.full, **written}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        side, full = written["side"], written["full"]
        if type(side) is not int or side < 2 or side & (side - 1) or type(full) is not int:
            raise SpecError("the document is damaged: blocks have a power of two of cells and a whole count.")
        if ("total" in written) != (policy.size == "unknown"):
            raise SpecError("the document is damaged: the total is measured exactly where it is secret.")
        scales = LookScales(*(LAPLACE_ROWS.from_document(written[name]) for name in LookScales._fields))
        total = LAPLACE_ROWS.from_document(written["total"]) if "total" in written else None
        return cls(bound_grid(query, policy), side, full, scales, total)
