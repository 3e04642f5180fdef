"""Estimates that meet public totals: the nearest in squares, and the nearest whole counts that are not negative.

Both are post-processing and free. The nearest in squares is linear, so it stays unbiased, and for equal independent
noise it is the best linear estimate: what the totals say of a cell leaves 1 - h of its variance, h its leverage. Counts
that must not be negative lean upwards where the truth is near 0: they are biased. docs/proofs/public_totals.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.error import ExpectedError, NoiseError, checked_level
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.privacy.public_totals import Totals
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.exact import Number

# Counts that are not negative and meet totals, and rounding that keeps them.

_SECONDS = 10.0


def nearest_in_parts(values: Floats, totals: Totals) -> Floats:
    """Project on the counts that are not negative and meet the total of each part.

    The projection subtracts one number from all counts of a part and cuts at zero.
    """
    order = np.lexsort((-values, totals.labels))
    descending, part = values[order], totals.labels[order]
    starts = np.searchsorted(part, np.arange(len(totals.counts)))
    ranks = np.arange(len(values)) - starts[part] + 1
    sums = np.cumsum(descending)
    before = np.concatenate([[0.0], sums])[starts]
    shifts = (sums - before[part] - totals.counts[part]) / ranks
    # The largest of a part always stays: with counts far beyond the total rounding could leave none.
    kept = np.where((descending > shifts) | (ranks == 1), np.arange(len(values)), 0)
    last = np.zeros(len(totals.counts), dtype=np.int64)
    np.maximum.at(last, part, kept)
    nearest = np.maximum(values - shifts[last][totals.labels], 0)
    return np.where(totals.counts[totals.labels] > 0, nearest, 0.0)


def rounded_in_parts(values: Floats, totals: Totals) -> Integers:
    """Round to whole numbers that meet the total of each part: the largest remainders get what is missing."""
    whole = np.floor(values).astype(np.int64)
    missing = np.maximum(totals.counts, 0) - _sums(whole, totals)
    order = np.lexsort((whole - values, totals.labels))
    part = totals.labels[order]
    rank = np.arange(len(values)) - np.searchsorted(part, np.arange(len(totals.counts)))[part]
    whole[order[rank < missing[part]]] += 1
    # Values far beyond 2^53 may have lost whole records: the largest of the part makes up for it.
    largest = np.lexsort((-whole, totals.labels))[np.searchsorted(part, np.arange(len(totals.counts)))]
    whole[largest] += np.maximum(totals.counts, 0) - _sums(whole, totals)
    return whole


def rounded_to(values: Floats, sums: Any, counts: npt.NDArray[Any]) -> Integers | None:
    """Round to whole numbers whose ``sums``, rows of a sparse matrix, are given, if some are found in some seconds.

    Each number is rounded up or down if that can be done, and moves further if it cannot.
    """
    found = _solved(values, sums, counts, further=False)
    return _solved(values, sums, counts, further=True) if found is None else found


def _solved(values: Floats, sums: Any, counts: npt.NDArray[Any], *, further: bool) -> Integers | None:
    """Find whole numbers with given sums by an integer program: what is added to, and taken from, each floor."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import hstack

    whole = np.floor(values + 1e-7)
    remainder = np.clip(values - whole, 0, 1)
    most: Any = np.concatenate([np.full(len(values), np.inf if further else 1), whole * further])
    gaps = counts - sums @ whole
    solved = milp(
        np.concatenate([1 - remainder, 1 + remainder]),
        integrality=np.ones(2 * len(values)),
        bounds=Bounds(0, most),
        constraints=LinearConstraint(hstack([sums, -sums]), gaps, gaps),
        options={"time_limit": _SECONDS},
    )
    if solved.x is None:
        return None
    added, taken = np.split(np.rint(solved.x), 2)
    found = (whole + added - taken).astype(np.int64)
    return found if (sums @ found == counts).all() and (found >= 0).all() else None


def _sums(whole: Integers, totals: Totals) -> Integers:
    sums = np.zeros(len(totals.counts), dtype=np.int64)
    np.add.at(sums, totals.labels, whole)
    return sums


Spread: TypeAlias = Callable[[Floats], Floats]
"""Multiplies columns of weights of the cells by the covariance of their estimate."""

_MOST_SOLVED = 2_000
_MOST_SPREAD = 5_000_000
_ROUNDS = 500
_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class Constraints:
    """Totals of parts of the cells, none of which follows from another; at least one."""

    totals: tuple[Totals, ...]

    @classmethod
    def of(cls, totals: Iterable[Totals]) -> Constraints:
        """Leave out partitions of which another one is a refinement: each of its parts lies in a part of them."""
        kept: list[Totals] = []
        for each in sorted(totals, key=lambda each: -len(each.counts)):
            both = (_joined([other.labels, each.labels]) for other in kept)
            if all(len(np.unique(b)) > len(np.unique(other.labels)) for other, b in zip(kept, both, strict=True)):
                kept.append(each)
        return cls(tuple(kept))

    def of_table(self, counts: Integers) -> Constraints:
        """Return the same parts with the totals of another table; of an empty one, for what becomes of noise alone."""
        return Constraints(tuple(Totals(each.labels, _sums(counts, each)) for each in self.totals))

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.totals[0].labels)

    def nearest(self, values: npt.NDArray[Any]) -> Floats:
        """Return the estimate that meets all totals and is nearest in squares."""
        estimate = np.asarray(values, dtype=np.float64).reshape(-1)
        if self._solvable:
            return estimate + (self._members.T @ (self._inverse @ (self.stated - self.sums(estimate))))[self._atom]
        for _ in range(_ROUNDS):
            # Projections on partitions in turn: at once for one, or for marginals, and in the limit for any.
            for each in self.totals:
                gaps = each.counts - np.bincount(each.labels, estimate, len(each.counts))
                estimate = estimate + (gaps / np.maximum(each.sizes, 1))[each.labels]
            if len(self.totals) == 1 or self.met(estimate):
                break
        return estimate

    @cached_property
    def leverage(self) -> Floats:
        """The share of the variance of each cell that the totals take away, for equal independent noise.

        Where there are too many totals to solve for, what the finest partition alone takes away.
        """
        if self._solvable:
            return ((self._inverse @ self._members) * self._members).sum(axis=0)[self._atom]
        return np.max([(1 / each.sizes[each.labels]) for each in self.totals], axis=0)

    def known_ends(self) -> npt.NDArray[np.bool_]:
        """Say for each cell whether the totals determine how many records are in it and all cells before it."""
        places = np.arange(self.cells)
        known = np.zeros(self.cells, dtype=bool)
        for each in self.totals:
            last = np.zeros(len(each.counts), dtype=np.int64)
            np.maximum.at(last, each.labels, places)
            known |= np.maximum.accumulate(last[each.labels]) == places
        return known

    def whole(self, values: npt.NDArray[Any]) -> Integers:
        """Return whole counts that are not negative, meet the totals, and are near in squares.

        Totals of two partitions can always be met by rounding each count up or down, since such systems have whole
        solutions. Where those of three or more are not met in some seconds, the finest is, and the others nearly.
        """
        estimate = np.asarray(values, dtype=np.float64).reshape(-1)
        if len(self.totals) == 1:
            return rounded_in_parts(nearest_in_parts(estimate, self.totals[0]), self.totals[0])
        from scipy.sparse import csr_array, vstack

        estimate, cells, ones = self.not_negative(estimate), np.arange(self.cells), np.ones(self.cells)
        rows = [csr_array((ones, (t.labels, cells)), shape=(len(t.counts), self.cells)) for t in self.totals]
        found = rounded_to(estimate, vstack(rows), np.concatenate([each.counts for each in self.totals]))
        return rounded_in_parts(estimate, self.totals[0]) if found is None else found

    def not_negative(self, values: Floats) -> Floats:
        """Return counts that are not negative and meet the totals, nearest in squares, by Dykstra's projections."""
        estimate, memory = values, [np.zeros_like(values) for _ in self.totals]
        for _ in range(_ROUNDS):
            before = estimate
            for number, each in enumerate(self.totals):
                shifted = estimate + memory[number]
                estimate = nearest_in_parts(shifted, each)
                memory[number] = shifted - estimate
            if len(self.totals) == 1 or np.abs(estimate - before).max(initial=0) < 1e-6:
                break
        return estimate

    def scaled(self, values: Floats) -> Floats:
        """Scale counts that are not negative until they meet the totals; a part without any gets its total evenly."""
        estimate = values
        for _ in range(_ROUNDS):
            if self.met(estimate):
                break
            for each in self.totals:
                sums = np.bincount(each.labels, estimate, len(each.counts))
                estimate = estimate * np.divide(each.counts, sums, out=np.ones_like(sums), where=sums > 0)[each.labels]
                estimate = estimate + (np.where(sums > 0, 0, each.counts) / np.maximum(each.sizes, 1))[each.labels]
        return estimate

    @cached_property
    def stated(self) -> Floats:
        """All totals in a row."""
        return np.concatenate([each.counts for each in self.totals]).astype(np.float64)

    def sums(self, values: Floats) -> Floats:
        """Add up an estimate over all parts, in the order of :attr:`stated`."""
        sums = [np.bincount(each.labels, values, len(each.counts)) for each in self.totals]
        return np.concatenate(sums).astype(np.float64, copy=False)

    def met(self, values: Floats) -> bool:
        """Say whether an estimate meets all totals, but for rounding."""
        return bool((np.abs(self.sums(values) - self.stated) <= _CLOSE * (1 + np.abs(self.stated))).all())

    @property
    def _solvable(self) -> bool:
        """Whether several partitions are few enough parts to solve for them all at once."""
        parts = len(self.stated)
        return len(self.totals) > 1 and parts <= _MOST_SOLVED and parts * (int(self._atom.max()) + 1) <= _MOST_SPREAD

    @cached_property
    def _atom(self) -> Integers:
        """Cells that have all parts in common, by the same number."""
        return _joined([each.labels for each in self.totals])

    @cached_property
    def _members(self) -> Floats:
        """Say for each part which atoms it has."""
        _, first = np.unique(self._atom, return_index=True)
        return np.concatenate([np.eye(len(each.counts))[:, each.labels[first]] for each in self.totals])

    @cached_property
    def _inverse(self) -> Floats:
        between: Floats = (self._members * np.bincount(self._atom)) @ self._members.T
        return np.asarray(np.linalg.pinv(between, rcond=1e-12, hermitian=True), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Correction:
    """The best linear estimate that meets public totals, for noise of any covariance C.

    With A the parts, b their totals and x an unbiased estimate it is x + C A' (A C A')^-1 (b - A x): no weighted sum of
    cells has a larger variance than before.
    """

    constraints: Constraints
    spread: Spread

    def __call__(self, values: Floats, constraints: Constraints | None = None) -> Floats:
        """Correct an estimate; ``constraints`` may state other totals of the same parts."""
        stated = self.constraints if constraints is None else constraints
        if self._gains is not None:
            gains, inverse = self._gains
            values = values + gains @ (inverse @ (stated.stated - stated.sums(values)))
        return stated.nearest(values)

    @cached_property
    def _gains(self) -> tuple[Floats, Floats] | None:
        """C A' and (A C A')^-1; None where that is too much."""
        parts = len(self.constraints.stated)
        if parts * self.constraints.cells > _MOST_SPREAD or parts > _MOST_SOLVED:
            return None
        rows = [np.eye(len(each.counts))[each.labels] for each in self.constraints.totals]
        gains = self.spread(np.concatenate(rows, axis=1))
        between = np.stack([self.constraints.sums(column) for column in gains.T], axis=1)
        inverse = np.linalg.pinv((between + between.T) / 2, rcond=1e-9, hermitian=True)
        return gains, np.asarray(inverse, dtype=np.float64)

    def taken_away(self) -> Floats:
        """Return columns K with K K' the part of the covariance that the totals take away."""
        if self._gains is None:
            return np.zeros((self.constraints.cells, 0))
        gains, inverse = self._gains
        values, vectors = np.linalg.eigh(inverse)
        return gains @ (vectors * np.sqrt(np.maximum(values, 0)))


def _joined(labels: Sequence[Integers]) -> Integers:
    """Number cells from 0 so that two have the same number exactly if they have all labels in common."""
    number = labels[0]
    for each in labels[1:]:
        _, inverse = np.unique(number * (int(each.max()) + 1) + each, return_inverse=True)
        number = inverse.reshape(-1)
    return number


# The error of an estimate that meets public totals, where every answer has noise of one scale.

_DRAWN = 40_000


@dataclass(frozen=True, eq=False, repr=False)
class ConstrainedError(NoiseError):
    """The error of an answer of the best linear estimate; it does not depend on the data."""

    raw: ExpectedError
    """The error of an answer before the totals are used."""
    left: Floats
    """The share of the variance of each answer that is left."""
    estimate: Callable[[Floats], Floats]
    """Turns noise, counted in units, into the error that it leaves."""

    @classmethod
    def of_cells(cls, raw: ExpectedError, constraints: Constraints) -> ConstrainedError:
        """Give the error of the cells nearest in squares."""
        empty = constraints.of_table(np.zeros(constraints.cells, dtype=np.int64))
        return cls(raw, 1 - constraints.leverage, empty.nearest)

    @property
    def distribution(self) -> str:
        """How its spread was estimated."""
        return f"{self.raw.law.name} draws, less what the public totals say of them, simulated"

    @property
    def of(self) -> str:
        """What the error refers to."""
        return self.raw.of

    @property
    def unit(self) -> Fraction:
        """What one whole number of the release stands for."""
        return self.raw.unit

    @property
    def mse(self) -> float:
        """The mean squared error, over all answers."""
        return float(np.mean(self.by_answer() ** 2))

    def by_answer(self) -> Floats:
        """Return the root mean squared error of each answer: 0 where the totals determine it."""
        return np.sqrt(self.raw.mse * np.where(self.left > 1e-9, self.left, 0.0))

    def bound(self, level: Fraction) -> float:
        """Bound the error of a random answer; simulated."""
        return float(np.quantile(self._sampled, float(level))) if self.mse else 0.0

    def intervals(self, level: Number = "0.95") -> Floats:
        """Return a bound on the error of each answer: 0 where the totals determine it, else in proportion to its error.

        Errors of different sizes have nearly the same shape, so that few draws of each are enough.
        """
        share, errors = float(checked_level(level)), self.by_answer()
        noisy = errors > 0
        if not noisy.any():
            return errors
        sizes = self._sampled.reshape(-1, len(errors))[:, noisy] / errors[noisy]
        return errors * float(np.quantile(sizes, share))

    @cached_property
    def _sampled(self) -> Floats:
        # Fixed bits, so that everyone computes the same error for the same noise scales.
        source, many = SimulationSource("public totals"), len(self.left)
        draws = (self.raw.law.draw(self.raw.scale, many, source=source) for _ in range(-(-_DRAWN // many)))
        left = [self.estimate(noise.astype(np.float64)) for noise in draws]
        return np.abs(np.concatenate(left)) * float(self.raw.unit)
