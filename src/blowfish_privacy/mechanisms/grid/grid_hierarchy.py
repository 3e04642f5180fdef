"""The grid hierarchy: products of overlapping bins along two attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import sqrt
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, quoted
from blowfish_privacy.errors import DataError, PolicyError, SpecError
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.mechanisms.grid.grid_error import GridError
from blowfish_privacy.mechanisms.grid.grid_flow import bound_grid
from blowfish_privacy.mechanisms.grid.side import Side, least_squares, whole_hats
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, NO_NOISE, Mechanism, check_secret_size
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

Spacings: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
_TOTAL_SHARES = (Fraction(1, 50), Fraction(1, 10), Fraction(1, 4), Fraction(1, 2))


@dataclass(frozen=True, eq=False)
class GridHierarchy(Mechanism):
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

    form: HistogramForm
    spacings: Spacings
    scale: Fraction
    """The noise scale of a row counted in records; whole-number rows get it times both spacings. 0 means no noise."""
    total: Fraction | None = None
    """The noise scale of the number of records, where it is secret and so measured too."""

    name = "grid-hierarchy"
    gives = ("grid",)
    proof = "docs/proofs/grid_flow.md"

    def __post_init__(self) -> None:
        if self.scale:
            checked_scale(self.scale * max(self.spacings[0]) * max(self.spacings[1]))
        if self.total:
            checked_scale(self.total)

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        """Choose one coarse spacing along each attribute, or none, by the exact error."""
        form = bound_grid(query, policy)
        if not sensitivity_of(form, policy).value:
            return cls(form, ((1,), (1,)), Fraction(0))
        neighbours = steps(policy, form.domain.names)
        amount = epsilon / neighbours.rows
        first, second = (_spacings(size) for size in form.domain.shape)
        sides = product(first, second)
        if policy.size == "unknown":
            made = [
                cls(form, side, *scales) for side in sides for scales in _with_total(side, neighbours.graph, amount)
            ]
        else:
            made = [cls(form, (a, b), 2 * len(a) * len(b) / amount) for a, b in sides]
        best = min(made, key=lambda each: each.expected_error().mse)
        check_secret_size(policy, max(best.spacings[0]) * max(best.spacings[1]))
        return best

    def certify(self, policy: Policy) -> Certificate:
        """Add up the loss of every pair of spacings."""
        sensitivity = sensitivity_of(self.form, policy)
        if sensitivity.value and not self.scale:
            raise PolicyError(NO_NOISE)
        pairs = len(self.spacings[0]) * len(self.spacings[1])
        neighbours, names = steps(policy, self.form.domain.names), self.form.domain.names
        if policy.size != "unknown":
            epsilon = neighbours.rows * 2 * pairs / self.scale if sensitivity.value else Fraction(0)
            return self.certified(policy, loss_seen(policy, names, epsilon), sensitivity, self.scale)
        presence = neighbours.rows * self.presence((0, 0))
        moved = neighbours.rows * _most_moved(self.spacings, neighbours.graph) / self.scale
        bound = replace(sensitivity, exact=presence >= moved or pairs == 1)
        scales = (self.scale, *([self.total] if self.total else []))
        return self.certified(policy, loss_seen(policy, names, moved, presence), bound, *scales)

    def presence(self, x: Cell) -> Fraction:
        """Add up what a record adds: one to every pair of spacings and to the total, wherever it is."""
        if not self.scale or not self.total:
            raise PolicyError(NO_NOISE)
        return len(self.spacings[0]) * len(self.spacings[1]) / self.scale + 1 / self.total

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
        return whole_hats(self.form.domain.shape[axis], spacing)

    @property
    def rows(self) -> int:
        """The number of nodes of all pairs of spacings, and the total where it is measured."""
        return sum(a * b for a in self._sizes[0] for b in self._sizes[1]) + (self.total is not None)

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
        if self.total:
            parts.append(counts.sum().reshape(1) + discrete_laplace(self.total, 1, source=source))
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
        first, second = (least_squares(*side) for side in zip(self.form.domain.shape, self.spacings, strict=True))
        counts = np.asarray(first @ table @ second.T, dtype=np.float64)
        if self.total is None:
            return counts
        down, across = (side.pull for side in self._sides)
        return counts + self._trust * np.outer(down, across) * (noisy[-1] - counts.sum())

    @property
    def _sides(self) -> tuple[Side, Side]:
        first, second = (Side.of(*side) for side in zip(self.form.domain.shape, self.spacings, strict=True))
        return first, second

    @property
    def _trust(self) -> float:
        """How far the estimate follows the noisy total, which the cells alone tell less well or better."""
        if not self.total:
            return 0.0
        alone = variance(self.scale) * float(np.prod([side.pull.sum() for side in self._sides]))
        return variance(self.scale) / (alone + variance(self.total))

    def spread(self, weights: Floats) -> Floats:
        """Multiply columns of weights of the cells by the covariance of their estimate."""
        first, second = (least_squares(*side) for side in zip(self.form.domain.shape, self.spacings, strict=True))
        widths = [np.repeat(g, n) for g, n in zip(self.spacings, self._sizes, strict=True)]
        areas = np.multiply.outer(*widths)
        noise = {int(area): variance(self.scale * int(area)) / int(area) ** 2 for area in np.unique(areas)}
        variances = np.vectorize(noise.__getitem__, otypes=[np.float64])(areas)
        columns = weights.T.reshape(-1, *self.form.domain.shape)
        return np.stack(
            [(first @ (variances * (first.T @ v @ second)) @ second.T).reshape(-1) for v in columns], axis=1
        )

    @cached_property
    def _error(self) -> GridError:
        sides, trust = self._sides, self._trust
        mse = (trust**2 * variance(self.total) * sides[0].pulled * sides[1].pulled) if self.total else 0.0
        levels = (zip(spacings, side.levels, strict=True) for spacings, side in zip(self.spacings, sides, strict=True))
        for (first, down), (second, across) in product(*levels):
            scale = self.scale * first * second
            weight = down.alone * across.alone
            if self.total:
                weight -= 2 * trust * down.both * across.both
                weight += trust**2 * sides[0].pulled * sides[1].pulled * down.total * across.total
            mse += (variance(scale) / (first * second) ** 2 if scale else 0.0) * weight
        return GridError(mse, Fraction(1))

    def expected_error(self) -> GridError:
        """Give the error of a random rectangle."""
        return self._error

    def words(self) -> str:
        """State the spacings along both attributes and the scale."""
        first, second = map(quoted, self.form.domain.names)
        return (
            f"Noise of scale {rounded(self.scale)} records goes on products of overlapping bins "
            f"{list(self.spacings[0])} apart along {first} and {list(self.spacings[1])} along {second}"
            + (f", and of scale {rounded(self.total)} on the number of records." if self.total else ".")
        )

    def to_document(self) -> dict[str, Any]:
        """Write spacings and scales."""
        total = {} if self.total is None else {"total": {"scale": str(self.total)}}
        spacings = [list(spacings) for spacings in self.spacings]
        return {"name": self.name, "spacings": spacings, "scale": str(self.scale), **total}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read spacings and scales."""
        first, second = (tuple(spacings) for spacings in written["spacings"])
        if not first or not second or any(type(g) is not int or g < 1 for g in (*first, *second)):
            raise SpecError("the document is damaged: a spacing is not a positive whole number.")
        if ("total" in written) != (policy.size == "unknown"):
            raise SpecError("the document is damaged: the total is measured exactly where it is secret.")
        parts = (written, written["total"]) if "total" in written else (written,)
        scales = (exact(part["scale"], "a noise scale", error=SpecError) for part in parts)
        return cls(bound_grid(query, policy), (first, second), *scales)


def _most_moved(spacings: Spacings, graph: SecretGraph) -> Fraction:
    """Bound the change of all rows together, in records, over the secret moves."""
    shares = (graph.longest_move((Fraction(1, a), Fraction(1, b))) for a, b in product(*spacings))
    return 2 * sum((min(Fraction(1), share) for share in shares), Fraction(0))


def _with_total(spacings: Spacings, graph: SecretGraph, epsilon: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield scales of the rows and of the total: the total gets some share of epsilon, or more if moves leave more."""
    pairs, moved = len(spacings[0]) * len(spacings[1]), _most_moved(spacings, graph)
    for share in _TOTAL_SHARES:
        scale = max(moved, pairs / (1 - share)) / epsilon
        yield scale, 1 / (epsilon - pairs / scale)


def _spacings(size: int) -> list[tuple[int, ...]]:
    root = sqrt(size)
    coarse = sorted({round(root * factor) for factor in (0.8, 1.2)})
    return [(1,), *((1, g) for g in coarse if 2 < g < size)]
