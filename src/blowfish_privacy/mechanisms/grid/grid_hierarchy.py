"""The grid hierarchy: products of overlapping bins along two attributes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from math import sqrt
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, quoted
from blowfish_privacy.errors import DataError, PolicyError, SpecError
from blowfish_privacy.mechanisms.grid.grid_error import GridError
from blowfish_privacy.mechanisms.grid.grid_flow import bound_grid
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, NO_NOISE, Mechanism
from blowfish_privacy.mechanisms.ordered.least_squares import Floats
from blowfish_privacy.mechanisms.ordered.levels import DifferenceLevel
from blowfish_privacy.noise import BitSource, checked_scale, discrete_laplace, variance
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import loss_seen
from blowfish_privacy.privacy.sensitivity import sensitivity_of
from blowfish_privacy.privacy.steps import steps
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.histogram import HistogramForm
from blowfish_privacy.support.exact import exact, rounded


@dataclass(frozen=True, eq=False)
class GridHierarchy(Mechanism):
    """Noisy products of hats: for every spacing along one attribute and every spacing along the other.

    Privacy: (epsilon, P)-Blowfish with epsilon = 2 (pairs of spacings) / loss scale: a record's weights in one pair of
        levels are non-negative and add up to a constant, so a move changes them by at most twice that constant.
    Sensitivity: 2 for every pair of spacings, in records; attained by a move to cells without a common node.
    Error: separable: the sum over pairs of noise variance times the two mean squared weights of random ranges.
    Cost: time and memory linear in the number of cells times the number of pairs.
    Numerics: rows are whole numbers with exact integer noise; floating point only afterwards.
    Proof: docs/proofs/grid_flow.md
    """

    form: HistogramForm
    spacings: tuple[tuple[int, ...], tuple[int, ...]]
    scale: Fraction
    """The noise scale of a row counted in records; whole-number rows get it times both spacings. 0 means no noise."""

    name = "grid-hierarchy"
    gives = ("grid",)
    proof = "docs/proofs/grid_flow.md"

    def __post_init__(self) -> None:
        if self.scale:
            checked_scale(self.scale * max(self.spacings[0]) * max(self.spacings[1]))

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        """Choose one coarse spacing along each attribute, or none, by the exact error."""
        form = bound_grid(query, policy)
        if not sensitivity_of(form, policy).value:
            return cls(form, ((1,), (1,)), Fraction(0))
        amount = epsilon / steps(policy, form.domain.names).rows
        first, second = (_spacings(size) for size in form.domain.shape)
        made = [cls(form, (a, b), 2 * len(a) * len(b) / amount) for a in first for b in second]
        return min(made, key=lambda each: each.expected_error().mse)

    def certify(self, policy: Policy) -> Certificate:
        """Add up the loss of every pair of spacings."""
        sensitivity = sensitivity_of(self.form, policy)
        if sensitivity.value and not self.scale:
            raise PolicyError(NO_NOISE)
        pairs = len(self.spacings[0]) * len(self.spacings[1])
        rows = steps(policy, self.form.domain.names).rows
        epsilon = rows * 2 * pairs / self.scale if sensitivity.value else Fraction(0)
        return self.certified(policy, loss_seen(policy, self.form.domain.names, epsilon), sensitivity, self.scale)

    def loss(self, x: Cell, y: Cell) -> Fraction:
        """Add up the changes of all rows, each divided by its scale."""
        if not self.scale:
            return Fraction(0)
        total = Fraction(0)
        for first, second in product(*self.spacings):
            change = np.abs(self._weights(x, first, second) - self._weights(y, first, second)).sum()
            total += Fraction(int(change), first * second) / self.scale
        return total

    def _weights(self, x: Cell, first: int, second: int) -> npt.NDArray[np.int64]:
        return np.outer(self._hats(0, first)[:, x[0]], self._hats(1, second)[:, x[1]])

    def _hats(self, axis: int, spacing: int) -> npt.NDArray[np.int64]:
        return _hats(self.form.domain.shape[axis], spacing)

    @property
    def rows(self) -> int:
        """The number of nodes of all pairs of spacings."""
        return sum(a * b for a in self._sizes[0] for b in self._sizes[1])

    @cached_property
    def _sizes(self) -> tuple[list[int], list[int]]:
        first, second = (
            [DifferenceLevel(g, Fraction(1)).rows(size) for g in spacings]
            for spacings, size in zip(self.spacings, self.form.domain.shape, strict=True)
        )
        return first, second

    def measure(self, counts: npt.NDArray[np.int64], source: BitSource) -> npt.NDArray[Any]:
        """Answer every pair of spacings exactly and add its noise."""
        if int(counts.sum()) * max(self.spacings[0]) * max(self.spacings[1]) >= LARGEST_ANSWER:
            raise DataError("the answers may be too large for 64-bit arithmetic.", hint="use fewer values.")
        parts: list[npt.NDArray[np.int64]] = []
        for first, second in product(*self.spacings):
            answers = (self._hats(0, first) @ counts @ self._hats(1, second).T).reshape(-1)
            scale = self.scale * first * second
            parts.append(answers + discrete_laplace(scale, len(answers), source=source) if scale else answers)
        return np.concatenate(parts)

    def estimate(self, noisy: npt.NDArray[np.int64]) -> Floats:
        """Return the least-squares counts of the cells: the estimate along both attributes, one after the other."""
        table = np.zeros((sum(self._sizes[0]), sum(self._sizes[1])))
        start = row = 0
        for first, height in zip(self.spacings[0], self._sizes[0], strict=True):
            column = 0
            for second, width in zip(self.spacings[1], self._sizes[1], strict=True):
                part = noisy[start : start + height * width].reshape(height, width) / (first * second)
                table[row : row + height, column : column + width] = part
                start, column = start + height * width, column + width
            row += height
        first, second = (_inverse(*side) for side in zip(self.form.domain.shape, self.spacings, strict=True))
        return np.asarray(first @ table @ second.T, dtype=np.float64)

    @cached_property
    def _error(self) -> GridError:
        mse = 0.0
        sides = zip(self.form.domain.shape, self.spacings, strict=True)
        for (first, down), (second, across) in product(
            *(zip(spacings, _range_weights(size, spacings), strict=True) for size, spacings in sides)
        ):
            scale = self.scale * first * second
            mse += (variance(scale) / (first * second) ** 2 if scale else 0.0) * down * across
        return GridError(mse, Fraction(1))

    def expected_error(self) -> GridError:
        """Give the error of a random rectangle."""
        return self._error

    def words(self) -> str:
        """State the spacings along both attributes and the scale."""
        first, second = map(quoted, self.form.domain.names)
        return (
            f"Noise of scale {rounded(self.scale)} records goes on products of overlapping bins "
            f"{list(self.spacings[0])} apart along {first} and {list(self.spacings[1])} along {second}."
        )

    def to_document(self) -> dict[str, Any]:
        """Write spacings and scale."""
        return {"name": self.name, "spacings": [list(spacings) for spacings in self.spacings], "scale": str(self.scale)}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read spacings and scale."""
        first, second = (tuple(spacings) for spacings in written["spacings"])
        if not first or not second or any(type(g) is not int or g < 1 for g in (*first, *second)):
            raise SpecError("the document is damaged: a spacing is not a positive whole number.")
        return cls(
            bound_grid(query, policy), (first, second), exact(written["scale"], "a noise scale", error=SpecError)
        )


def _hats(size: int, spacing: int) -> npt.NDArray[np.int64]:
    """Return whole-number hats (times the spacing) along an attribute."""
    level = DifferenceLevel(spacing, Fraction(1))
    return np.rint(level.hats(size).toarray() * spacing).astype(np.int64)


def _inverse(size: int, spacings: tuple[int, ...]) -> Floats:
    """Return the matrix that turns rows into the least-squares estimate along an attribute."""
    rows = np.vstack([_hats(size, g) / g for g in spacings])
    return np.asarray(np.linalg.solve(rows.T @ rows, rows.T), dtype=np.float64)


@lru_cache(maxsize=64)
def _range_weights(size: int, spacings: tuple[int, ...]) -> list[float]:
    """Return for each spacing the mean squared weight of its rows in a random range, added up."""
    cuts = size + 1
    rows = [DifferenceLevel(g, Fraction(1)).rows(size) for g in spacings]
    means: list[float] = []
    for part in np.split(_inverse(size, spacings), np.cumsum(rows)[:-1], axis=1):
        sums = np.pad(np.cumsum(part, axis=0), ((1, 0), (0, 0)))
        total = cuts * float((sums**2).sum()) - float((sums.sum(axis=0) ** 2).sum())
        means.append(total / (cuts * (cuts - 1) / 2))
    return means


def _spacings(size: int) -> list[tuple[int, ...]]:
    root = sqrt(size)
    coarse = sorted({round(root * factor) for factor in (0.8, 1.2)})
    return [(1,), *((1, g) for g in coarse if 2 < g < size)]
