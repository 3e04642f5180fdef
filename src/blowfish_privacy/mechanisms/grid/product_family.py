"""What mechanisms share that measure products of overlapping bins along two attributes, whatever their noise."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import DataError, PolicyError
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.mechanisms.grid.grid_error import GridError
from blowfish_privacy.mechanisms.grid.grid_family import GridFamily
from blowfish_privacy.mechanisms.grid.not_negative import waves
from blowfish_privacy.mechanisms.grid.rectangles import Corners, between, sums_of
from blowfish_privacy.mechanisms.grid.side import (
    Side,
    hats_of,
    least_squares,
    range_products,
    waves_by_level,
    whole_hats,
)
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, NO_NOISE
from blowfish_privacy.mechanisms.ordered.levels import DifferenceLevel
from blowfish_privacy.mechanisms.row_noise import RowNoise
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import loss_seen
from blowfish_privacy.privacy.sensitivity import steps
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.support.arrays import Floats

Levels: TypeAlias = tuple[tuple[DifferenceLevel, ...], tuple[DifferenceLevel, ...]]
Pair: TypeAlias = tuple[DifferenceLevel, DifferenceLevel]
_TOTAL_SHARES = (Fraction(1, 50), Fraction(1, 10), Fraction(1, 4), Fraction(1, 2))


class ProductFamily(GridFamily):
    """Noisy products of hats for every two levels along both attributes; subclasses say which levels and which noise.

    The noise scale of the whole-number rows of two levels is the product of theirs and of ``scale``.
    """

    form: HistogramForm
    scale: Fraction
    total: Fraction | None
    noise: ClassVar[RowNoise]

    proof = "docs/proofs/grid_flow.md"

    def __post_init__(self) -> None:
        for first, second in product(*self.sides):
            self.noise.check(self._scale(first, second))
        if self.total:
            self.noise.check(self.total)

    @property
    @abstractmethod
    def sides(self) -> Levels:
        """The levels along both attributes."""

    @property
    def heaviest(self) -> int:
        """The most that a record adds to a row, in whole numbers."""
        first, second = (max(level.unit for level in levels) for levels in self.sides)
        return first * second

    @classmethod
    @abstractmethod
    def most_moved(cls, two: Pair, policy: Policy, graph: SecretGraph) -> Fraction:
        """Bound the change of the rows of two levels over the secret moves, as the noise counts it."""

    @classmethod
    def scales(
        cls, levels: Levels, policy: Policy, graph: SecretGraph, amount: Fraction
    ) -> Iterator[tuple[Fraction, Fraction | None]]:
        """Yield scales of the rows that lose the amount, and of the total where it is secret.

        The total gets some share of the amount, or more if moves leave more.
        """
        moved = sum((cls._moved(two, policy, graph) for two in product(*levels)), Fraction(0))
        if policy.size != "unknown":
            yield moved / amount, None
            return
        presence = sum((cls._present(*two, (0, 0)) for two in product(*levels)), Fraction(0))
        for share in _TOTAL_SHARES:
            scale = max(moved, presence / (1 - share)) / amount
            yield scale, cls.noise.lost(1, amount - presence / scale)

    @classmethod
    def _moved(cls, two: Pair, policy: Policy, graph: SecretGraph) -> Fraction:
        """Bound what moves lose on the rows of two levels, at a scale of 1."""
        return cls.noise.lost(cls.most_moved(two, policy, graph), two[0].scale * two[1].scale)

    @classmethod
    def _present(cls, first: DifferenceLevel, second: DifferenceLevel, x: Cell) -> Fraction:
        """Return what a record at x that comes or goes loses on the rows of two levels, at a scale of 1."""
        weights = first.weight(x[0], 1) * second.weight(x[1], 1)
        return cls.noise.lost(weights, first.scale * second.scale)

    def certify(self, policy: Policy) -> Certificate:
        """Add up the loss of every two levels."""
        sensitivity, names = self.noise.sensitivity(self.form, policy), self.form.domain.names
        if sensitivity.value and not self.scale:
            raise PolicyError(NO_NOISE)
        neighbours = steps(policy, names)
        together, pairs = neighbours.rows**self.noise.power, [*product(*self.sides)]
        moved = presence = Fraction(0)
        if sensitivity.value:
            moved = together * sum(self._moved(two, policy, neighbours.graph) for two in pairs) / self.scale
        if policy.size == "unknown":
            presence = together * self.presence((0, 0))
            exact = presence >= moved or len(pairs) == 1
        else:
            exact = sensitivity.exact and (self.noise.power == 1 or len(pairs) == 1)
        scales = (self.scale, *([self.total] if self.total else []))
        loss = loss_seen(policy, names, moved, presence, self.counted_in)
        return self.certified(policy, loss, replace(sensitivity, exact=exact), *scales)

    def presence(self, x: Cell) -> Fraction:
        """Add up what a record adds to the rows of every two levels, and to the total."""
        if not self.scale or not self.total:
            raise PolicyError(NO_NOISE)
        present = sum((self._present(*two, x) for two in product(*self.sides)), Fraction(0))
        return present / self.scale + self.noise.lost(1, self.total)

    def loss(self, x: Cell, y: Cell) -> Fraction:
        """Add up the losses of all rows."""
        if not self.scale:
            return Fraction(0)
        total = Fraction(0)
        for two in product(*self.sides):
            changes = (self._weights(x, *two) - self._weights(y, *two)).reshape(-1).tolist()
            total += self.noise.lost(self.noise.change(changes), self._scale(*two))
        return total

    def _weights(self, x: Cell, first: DifferenceLevel, second: DifferenceLevel) -> npt.NDArray[np.int64]:
        return np.outer(self._hats(0, first)[:, x[0]], self._hats(1, second)[:, x[1]])

    def _hats(self, axis: int, level: DifferenceLevel) -> npt.NDArray[np.int64]:
        return whole_hats(self.form.domain.shape[axis], level)

    def _scale(self, first: DifferenceLevel, second: DifferenceLevel) -> Fraction:
        """Return the scale of the whole-number rows of two levels."""
        return self.scale * first.scale * second.scale

    @property
    def rows(self) -> int:
        """The number of nodes of all pairs of spacings, and the total where it is measured."""
        return sum(a * b for a in self._sizes[0] for b in self._sizes[1]) + (self.total is not None)

    @cached_property
    def _sizes(self) -> tuple[list[int], list[int]]:
        first, second = (
            [level.rows(size) for level in levels]
            for levels, size in zip(self.sides, self.form.domain.shape, strict=True)
        )
        return first, second

    def measure(self, counts: npt.NDArray[np.int64], source: BitSource) -> npt.NDArray[Any]:
        """Answer every pair of spacings exactly and add its noise."""
        if int(counts.sum()) * self.heaviest >= LARGEST_ANSWER:
            raise DataError("the answers may be too large for 64-bit arithmetic.", hint="use fewer values.")
        parts: list[npt.NDArray[np.int64]] = []
        for first, second in product(*self.sides):
            answers = hats_of(second, hats_of(first, counts).T).T.reshape(-1)
            scale = self._scale(first, second)
            parts.append(answers + self.noise.draw(scale, len(answers), source) if scale else answers)
        if self.total:
            parts.append(counts.sum().reshape(1) + self.noise.draw(self.total, 1, source))
        return np.concatenate(parts)

    def estimate(self, noisy: npt.NDArray[np.int64]) -> Floats:
        """Return the least-squares counts of the cells: the estimate along both attributes, one after the other."""
        table = np.zeros((sum(self._sizes[0]), sum(self._sizes[1])))
        start = row = 0
        for first, height in zip(self.sides[0], self._sizes[0], strict=True):
            column = 0
            for second, width in zip(self.sides[1], self._sizes[1], strict=True):
                part = noisy[start : start + height * width].reshape(height, width) / (first.unit * second.unit)
                table[row : row + height, column : column + width] = part
                start, column = start + height * width, column + width
            row += height
        first, second = (least_squares(*side) for side in zip(self.form.domain.shape, self.sides, strict=True))
        counts = np.asarray(first @ table @ second.T, dtype=np.float64)
        if self.total is None:
            return counts
        down, across = (side.pull for side in self._sides)
        return counts + self._trust * np.outer(down, across) * (noisy[-1] - counts.sum())

    @property
    def _sides(self) -> tuple[Side, Side]:
        first, second = (Side.of(*side) for side in zip(self.form.domain.shape, self.sides, strict=True))
        return first, second

    @property
    def _trust(self) -> float:
        """How far the estimate follows the noisy total, which the cells alone tell less well or better."""
        if not self.total:
            return 0.0
        alone = self.noise.variance(self.scale) * float(np.prod([side.pull.sum() for side in self._sides]))
        together = alone + self.noise.variance(self.total)
        # Noise may be so unlikely that its variance is 0 in floating point.
        return self.noise.variance(self.scale) / together if together else 0.0

    def _variance(self, first: DifferenceLevel, second: DifferenceLevel) -> float:
        """Return the variance of the rows of two levels, in records."""
        return self.noise.variance(self._scale(first, second)) / (first.unit * second.unit) ** 2

    def spread(self, weights: Floats) -> Floats:
        """Multiply columns of weights of the cells by the covariance of their estimate."""
        first, second = (least_squares(*side) for side in zip(self.form.domain.shape, self.sides, strict=True))
        each = [[self._variance(one, other) for other in self.sides[1]] for one in self.sides[0]]
        variances = np.repeat(np.repeat(each, self._sizes[0], axis=0), self._sizes[1], axis=1)
        columns = weights.T.reshape(-1, *self.form.domain.shape)
        return np.stack(
            [(first @ (variances * (first.T @ v @ second)) @ second.T).reshape(-1) for v in columns], axis=1
        )

    def wave_variances(self) -> Floats:
        """Add up what the rows of every two levels do to each wave, and what the noisy total does."""
        first, second = (waves_by_level(*side) for side in zip(self.form.domain.shape, self.sides, strict=True))
        variances = np.zeros(self.form.domain.shape)
        for (one, down), (other, across) in product(
            zip(self.sides[0], first, strict=True), zip(self.sides[1], second, strict=True)
        ):
            variances += self._variance(one, other) * np.outer(down, across)
        if not self.total:
            return variances
        together = self.spread(np.ones((variances.size, 1))).reshape(variances.shape)
        pull = self._trust * waves(np.outer(*(side.pull for side in self._sides)))
        of_total = float(together.sum()) + self.noise.variance(self.total)
        return np.maximum(variances - 2 * pull * waves(together) + pull**2 * of_total, 0.0)

    def rectangle_variances(self, corners: Corners) -> Floats:
        """Add up what the rows of every two levels say of a rectangle; a noisy total corrects them."""
        variances = self._covariances(corners, corners)
        if not self.total:
            return variances
        height, width = self.form.domain.shape
        everything = np.tile([0, height, 0, width], (len(corners), 1))
        taken = self._trust * between(sums_of(np.outer(*(side.pull for side in self._sides))), corners)
        whole = self._covariances(everything[:1], everything[:1]) + self.noise.variance(self.total)
        return variances - 2 * taken * self._covariances(corners, everything) + taken**2 * whole

    def _covariances(self, corners: Corners, others: Corners) -> Floats:
        """Return the covariance of every rectangle and another, without the noisy total."""
        ends = ((corners[:, :2], others[:, :2]), (corners[:, 2:], others[:, 2:]))
        down, across = (
            range_products(size, levels, *pair)
            for size, levels, pair in zip(self.form.domain.shape, self.sides, ends, strict=True)
        )
        each = np.array([[self._variance(one, other) for other in self.sides[1]] for one in self.sides[0]])
        return np.asarray((down * (each @ across)).sum(axis=0), dtype=np.float64)

    @cached_property
    def _error(self) -> GridError:
        sides, trust = self._sides, self._trust
        mse = (trust**2 * self.noise.variance(self.total) * sides[0].pulled * sides[1].pulled) if self.total else 0.0
        levels = (zip(levels, side.levels, strict=True) for levels, side in zip(self.sides, sides, strict=True))
        for (first, down), (second, across) in product(*levels):
            weight = down.alone * across.alone
            if self.total:
                weight -= 2 * trust * down.both * across.both
                weight += trust**2 * sides[0].pulled * sides[1].pulled * down.total * across.total
            mse += self._variance(first, second) * weight
        return GridError(mse, Fraction(1))

    def expected_error(self) -> GridError:
        """Give the error of a random rectangle."""
        return self._error
