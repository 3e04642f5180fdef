"""The grid hierarchy: products of overlapping bins along two attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from math import sqrt
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, quoted
from blowfish_privacy.errors import DataError, PolicyError, SpecError
from blowfish_privacy.graphs import SecretGraph
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
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, NO_NOISE, check_secret_size
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
from blowfish_privacy.support.exact import rounded

# One side of a grid of products of hats: its least-squares weights, and what random ranges make of them.


@dataclass(frozen=True)
class SideLevel:
    """The rows of one spacing: what they weigh in a random range, squared, added up and averaged over all ranges."""

    alone: float
    """The weights of the range."""
    both: float
    """The products with the weights of the total, times what a range takes of a correction of the total."""
    total: float
    """The weights of the total."""


@dataclass(frozen=True, eq=False)
class Side:
    """An attribute of some size with levels of hats, whose scales say how precise each is compared with the others."""

    pull: Floats
    """How much of a correction of the total each position takes: (A'A)^-1 1."""
    pulled: float
    """What a random range takes of it, squared, on average."""
    levels: tuple[SideLevel, ...]


@lru_cache(maxsize=64)
def side_of(size: int, levels: tuple[DifferenceLevel, ...]) -> Side:
    """Compute what depends on a size and levels alone, once for each of them."""
    parts = _by_level(size, levels)
    of_totals = [part.sum(axis=0) for part in parts]
    pulls = [(part @ of_total)[:, None] for part, of_total in zip(parts, of_totals, strict=True)]
    pull = np.sum([each / float(level.precision) for each, level in zip(pulls, levels, strict=True)], axis=0)
    side_levels = [
        SideLevel(mean_product(part, part), mean_product(pull, each), float(of_total @ of_total))
        for part, each, of_total in zip(parts, pulls, of_totals, strict=True)
    ]
    return Side(pull[:, 0], mean_product(pull, pull), tuple(side_levels))


@lru_cache(maxsize=64)
def waves_by_level(size: int, levels: tuple[DifferenceLevel, ...]) -> list[Floats]:
    """Return, for rows of each level with variance 1, the variance of the cosine coefficients of the estimate."""
    from scipy.fft import dct

    coefficients = (np.asarray(dct(part, axis=0, norm="ortho")) for part in _by_level(size, levels))
    return [(each**2).sum(axis=1).astype(np.float64, copy=False) for each in coefficients]


def _by_level(size: int, levels: tuple[DifferenceLevel, ...]) -> list[Floats]:
    ends = np.cumsum([level.rows(size) for level in levels])[:-1]
    return np.split(least_squares(size, levels), ends, axis=1)


def least_squares(size: int, levels: tuple[DifferenceLevel, ...]) -> Floats:
    """Return the matrix that turns rows, in records, into the least-squares estimate along an attribute."""
    rows = np.vstack([level.whole_hats(size) / level.unit for level in levels])
    roots = np.repeat([sqrt(level.precision) for level in levels], [level.rows(size) for level in levels])[:, None]
    weighed = roots * rows
    if levels[0].unit == levels[0].overlap == 1 and len(rows) < 1.5 * size:
        # (r^2 + W'W) X = (r, W') for few coarse rows W, beside leaves of weight r, by the smaller matrix W W'.
        coarse, root = weighed[size:], float(roots[0, 0])
        hats = np.linalg.solve(root**2 * np.eye(len(coarse)) + coarse @ coarse.T, coarse).T
        leaves = (np.eye(size) - hats @ coarse) / root
        return np.concatenate([leaves, hats], axis=1).astype(np.float64, copy=False) * roots.T
    return np.asarray(np.linalg.solve(weighed.T @ weighed, weighed.T) * roots.T, dtype=np.float64)


def range_products(
    size: int,
    levels: tuple[DifferenceLevel, ...],
    ranges: Integers,
    others: Integers,
) -> Floats:
    """Multiply what rows weigh in the estimates of ranges and of others, and add up each level: a row for each.

    Both are pairs of cut points.
    """
    sums = (np.pad(np.cumsum(part, axis=0), ((1, 0), (0, 0))).T for part in _by_level(size, levels))
    return np.array([(between(each, ranges) * between(each, others)).sum(axis=0) for each in sums])


# What mechanisms share that measure products of overlapping bins along two attributes, whatever their noise.

Levels: TypeAlias = tuple[tuple[DifferenceLevel, ...], tuple[DifferenceLevel, ...]]
Pair: TypeAlias = tuple[DifferenceLevel, DifferenceLevel]
_TOTAL_SHARES = (Fraction(1, 50), Fraction(1, 10), Fraction(1, 4), Fraction(1, 2))


@dataclass(frozen=True, eq=False)
class ProductFamily(GridFamily):
    """Noisy products of hats for every two levels along both attributes; subclasses say which levels."""

    form: HistogramForm
    levels: Levels
    """The levels along both attributes."""
    scale: Fraction
    """The scale of the whole-number rows of two levels is the product of theirs and of this; 0 means no noise."""
    total: Fraction | None = None
    """The scale of the noise on the number of records, where it is secret and so measured too."""

    noise: ClassVar[RowNoise]
    proof = "docs/proofs/grid_flow.md"

    def __post_init__(self) -> None:
        self.noise.check(*(self._scale(*two) for two in product(*self.levels)), self.total)

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, records: int | None, **amount: Fraction) -> Self:
        form = bound_grid(query, policy)
        single = (DifferenceLevel(1, Fraction(1), cls.noise),)
        if not cls.noise.sensitivity(form, policy).value:
            return cls(form, (single, single), Fraction(0))
        neighbours = steps(policy, form.domain.names)
        each = amount[cls.counted_in.name] / neighbours.rows**cls.noise.power
        first, second = (dict.fromkeys([single, *cls._coarser(size)]) for size in form.domain.shape)
        choices = [
            cls(form, levels, *scales)
            for levels in product(first, second)
            for scales in cls._scales(levels, policy, neighbours.graph, each)
        ]
        best = min(choices, key=lambda mechanism: mechanism.expected_error().mse)
        check_secret_size(policy, best.heaviest)
        return best

    @classmethod
    def _coarser(cls, size: int) -> list[tuple[DifferenceLevel, ...]]:
        """List levels to try along an attribute, beside single values."""
        if cls.noise is GAUSSIAN_ROWS:
            return [precise_line(size)]
        return [spaced(1, g) for g in sorted({round(sqrt(size) * factor) for factor in (0.8, 1.2)}) if 2 < g < size]

    @property
    def heaviest(self) -> int:
        """The most that a record adds to a row, in whole numbers."""
        first, second = (max(level.unit for level in levels) for levels in self.levels)
        return first * second

    @classmethod
    def _scales(
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
        first, second = two
        units, parts = first.unit * second.unit, (Fraction(1, first.unit), Fraction(1, second.unit))
        if cls.noise is GAUSSIAN_ROWS:
            short = first.overlap * second.overlap * (graph.longest_move(parts) * units) ** 2
            change = 2 * min(Fraction(first.weight(0, 1) * second.weight(0, 1)), short)
        else:
            change = 2 * units * (min(Fraction(1), graph.longest_move(parts)) if policy.size == "unknown" else 1)
        return cls.noise.lost(change, first.scale * second.scale)

    @classmethod
    def _present(cls, first: DifferenceLevel, second: DifferenceLevel, x: Cell) -> Fraction:
        """Return what a record at x that comes or goes loses on the rows of two levels, at a scale of 1."""
        weights = first.weight(x[0], 1) * second.weight(x[1], 1)
        return cls.noise.lost(weights, first.scale * second.scale)

    def certify(self, policy: Policy) -> Certificate:
        sensitivity, names = self.noise.sensitivity(self.form, policy), self.form.domain.names
        if sensitivity.value and not self.scale:
            raise PolicyError(NO_NOISE)
        neighbours = steps(policy, names)
        together, pairs = neighbours.rows**self.noise.power, [*product(*self.levels)]
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
        if not self.scale or not self.total:
            raise PolicyError(NO_NOISE)
        present = sum((self._present(*two, x) for two in product(*self.levels)), Fraction(0))
        return present / self.scale + self.noise.lost(1, self.total)

    def loss(self, x: Cell, y: Cell) -> Fraction:
        if not self.scale:
            return Fraction(0)
        total = Fraction(0)
        for two in product(*self.levels):
            changes = (self._weights(x, *two) - self._weights(y, *two)).reshape(-1).tolist()
            total += self.noise.lost(self.noise.change(changes), self._scale(*two))
        return total

    def _weights(self, x: Cell, first: DifferenceLevel, second: DifferenceLevel) -> Integers:
        height, width = self.form.domain.shape
        return np.outer(first.heights(x[0], height), second.heights(x[1], width))

    def _scale(self, first: DifferenceLevel, second: DifferenceLevel) -> Fraction:
        """Return the scale of the whole-number rows of two levels."""
        return self.scale * first.scale * second.scale

    @property
    def rows(self) -> int:
        return sum(height * width for height, width in product(*self._sizes)) + (self.total is not None)

    @cached_property
    def _sizes(self) -> tuple[list[int], list[int]]:
        first, second = ([level.rows(size) for level in levels] for size, levels in self._axes)
        return first, second

    @property
    def _axes(self) -> list[tuple[int, tuple[DifferenceLevel, ...]]]:
        """The size of the grid along both attributes, and the levels there."""
        return [*zip(self.form.domain.shape, self.levels, strict=True)]

    def measure(self, counts: Integers, source: BitSource) -> npt.NDArray[Any]:
        if int(counts.sum()) * self.heaviest >= LARGEST_ANSWER:
            raise DataError("the answers may be too large for 64-bit arithmetic.", hint="use fewer values.")
        parts: list[Integers] = []
        for first, second in product(*self.levels):
            answers = second.answer(first.answer(counts).T).T.reshape(-1)
            parts.append(self.noise.on(answers, self._scale(first, second), source))
        if self.total:
            parts.append(self.noise.on(counts.sum().reshape(1), self.total, source))
        return np.concatenate(parts)

    def estimate(self, noisy: Integers) -> Floats:
        parts = iter(np.split(noisy, np.cumsum([height * width for height, width in product(*self._sizes)])))
        table = np.block(
            [
                [next(parts).reshape(height, -1) / (first.unit * second.unit) for second in self.levels[1]]
                for first, height in zip(self.levels[0], self._sizes[0], strict=True)
            ]
        )
        first, second = (least_squares(*axis) for axis in self._axes)
        counts = np.asarray(first @ table @ second.T, dtype=np.float64)
        if self.total is None:
            return counts
        down, across = (side.pull for side in self._sides)
        return counts + self._trust * np.outer(down, across) * (noisy[-1] - counts.sum())

    @property
    def _sides(self) -> tuple[Side, Side]:
        first, second = (side_of(*axis) for axis in self._axes)
        return first, second

    @property
    def _trust(self) -> float:
        """How far the estimate follows the noisy total, rather than the sum of the cells alone."""
        if not self.total:
            return 0.0
        alone = self.noise.variance(self.scale) * float(np.prod([side.pull.sum() for side in self._sides]))
        together = alone + self.noise.variance(self.total)
        # Noise may be so unlikely that its variance is 0 in floating point.
        return self.noise.variance(self.scale) / together if together else 0.0

    def _variance(self, first: DifferenceLevel, second: DifferenceLevel) -> float:
        """Return the variance of the rows of two levels, in records."""
        return self.noise.variance(self._scale(first, second)) / (first.unit * second.unit) ** 2

    @property
    def _variances(self) -> Floats:
        return np.array([[self._variance(one, other) for other in self.levels[1]] for one in self.levels[0]])

    def spread(self, weights: Floats) -> Floats:
        first, second = (least_squares(*axis) for axis in self._axes)
        variances = np.repeat(np.repeat(self._variances, self._sizes[0], axis=0), self._sizes[1], axis=1)
        columns = weights.T.reshape(-1, *self.form.domain.shape)
        return np.stack(
            [(first @ (variances * (first.T @ v @ second)) @ second.T).reshape(-1) for v in columns], axis=1
        )

    def wave_variances(self) -> Floats:
        first, second = (waves_by_level(*axis) for axis in self._axes)
        variances = np.zeros(self.form.domain.shape)
        for (one, down), (other, across) in product(
            zip(self.levels[0], first, strict=True), zip(self.levels[1], second, strict=True)
        ):
            variances += self._variance(one, other) * np.outer(down, across)
        if not self.total:
            return variances
        together = self.spread(np.ones((variances.size, 1))).reshape(variances.shape)
        pull = self._trust * waves(np.outer(*(side.pull for side in self._sides)))
        of_total = float(together.sum()) + self.noise.variance(self.total)
        return np.maximum(variances - 2 * pull * waves(together) + pull**2 * of_total, 0.0)

    def rectangle_variances(self, corners: Corners) -> Floats:
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
        down, across = (range_products(*axis, *pair) for axis, pair in zip(self._axes, ends, strict=True))
        return np.asarray((down * (self._variances @ across)).sum(axis=0), dtype=np.float64)

    @cached_property
    def _error(self) -> GridError:
        sides, trust = self._sides, self._trust
        mse = (trust**2 * self.noise.variance(self.total) * sides[0].pulled * sides[1].pulled) if self.total else 0.0
        levels = (zip(levels, side.levels, strict=True) for levels, side in zip(self.levels, sides, strict=True))
        for (first, down), (second, across) in product(*levels):
            weight = down.alone * across.alone
            if self.total:
                weight -= 2 * trust * down.both * across.both
                weight += trust**2 * sides[0].pulled * sides[1].pulled * down.total * across.total
            mse += self._variance(first, second) * weight
        return GridError(mse, Fraction(1))

    def expected_error(self) -> GridError:
        return self._error

    def to_document(self) -> dict[str, Any]:
        written: dict[str, Any] = {"name": self.name}
        if self.noise is GAUSSIAN_ROWS:
            written["sides"] = [[level_to_document(level) for level in levels] for levels in self.levels]
        else:
            written["spacings"] = self._spacings
        total = {} if self.total is None else {"total": self.noise.to_document(self.total)}
        return {**written, **self.noise.to_document(self.scale), **total}

    @property
    def _spacings(self) -> list[list[int]]:
        return [[level.spacing for level in levels] for levels in self.levels]

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        if cls.noise is GAUSSIAN_ROWS:
            first, second = (levels_of_hats(side, cls.noise) for side in written["sides"])
        else:
            down, across = written["spacings"]
            if not down or not across or any(type(g) is not int or g < 1 for g in (*down, *across)):
                raise SpecError("the document is damaged: a spacing is not a positive whole number.")
            first, second = spaced(*down), spaced(*across)
        if ("total" in written) != (policy.size == "unknown"):
            raise SpecError("the document is damaged: the total is measured exactly where it is secret.")
        parts = (written, written["total"]) if "total" in written else (written,)
        return cls(bound_grid(query, policy), (first, second), *map(cls.noise.from_document, parts))


def spaced(*spacings: int) -> tuple[DifferenceLevel, ...]:
    """Return bins of several spacings that all lose the same."""
    return tuple(DifferenceLevel(g, Fraction(g)) for g in spacings)


class GridHierarchy(ProductFamily):
    """Noisy products of hats: for every spacing along one attribute and every spacing along the other.

    Privacy: (epsilon, P)-Blowfish with epsilon = 2 (pairs of spacings) / loss scale: a record's weights in one pair of
        levels are non-negative and add up to a constant, so a move changes them by at most twice that constant.
    Sensitivity: 2 for every pair of spacings, in records; attained by a move to cells without a common node. Where the
        number of records is secret, 1 for every pair and for the noisy total when a record comes or goes, and
        2 min(1, |d1| / g1 + |d2| / g2) for a pair when it moves by (d1, d2).
    Error: separable: the sum over pairs of noise variance times the two mean squared weights of random ranges.
    Cost: time and memory linear in the number of cells times the number of pairs.
    Numerics: rows are whole numbers with exact integer noise; floating point only afterwards.
    Proof: docs/proofs/grid_flow.md
    """

    name = "grid-hierarchy"
    noise = LAPLACE_ROWS

    def words(self) -> str:
        (first, second), (down, across) = map(quoted, self.form.domain.names), self._spacings
        return (
            f"Noise of scale {rounded(self.scale)} records goes on products of overlapping bins {down} apart along "
            f"{first} and {across} along {second}"
            + (f", and of scale {rounded(self.total)} on the number of records." if self.total else ".")
        )


class GaussianGrid(ProductFamily):
    """Products of hats that overlap twice, with Gaussian noise: for every level along one attribute and the other.

    Privacy: (rho, P)-zero-concentrated Blowfish, rho = the sum over every two levels of squared change / (2 variance).
    Sensitivity: for every two levels twice the squares of a record's weights, at most, and less on short moves. Where
        the number of records is secret, the squares themselves and one for the noisy total when a record comes or goes.
    Error: separable: the sum over pairs of noise variance times the two mean squared weights of random ranges.
    Cost: time and memory linear in the number of cells times the number of pairs.
    Numerics: rows are whole numbers with exact integer noise; floating point only afterwards.
    Proof: docs/proofs/grid_flow.md
    """

    name = "gaussian-grid"
    counted_in = RHO
    noise = GAUSSIAN_ROWS

    def words(self) -> str:
        along = (
            f"{spacings} apart along {quoted(name)}"
            for name, spacings in zip(self.form.domain.names, self._spacings, strict=True)
        )
        deviations = [sqrt(self._variance(*two)) for two in product(*self.levels)]
        total = f", and of {sqrt(self.total):.4g} on the number of records" if self.total else ""
        return (
            f"Gaussian noise goes on products of overlapping bins {' and '.join(along)}, of standard deviation "
            f"{min(deviations):.4g} to {max(deviations):.4g} records{total}."
        )
