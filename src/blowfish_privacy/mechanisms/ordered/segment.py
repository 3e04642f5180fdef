"""A stretch of an ordered attribute that no secret pair leaves, with the levels that measure it.

A distance threshold has one stretch, the whole attribute; a partition into ranges has one for each block, whose total
is public. Estimates and errors of different stretches are independent. Where the number of records is secret no total
is public, and the whole attribute is one stretch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from blowfish_privacy.domain import Domain, coarser
from blowfish_privacy.errors import QueryError, SpecError
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel, DifferenceLevel, LeastSquares, Level, TotalLevel
from blowfish_privacy.mechanisms.row_noise import RowNoise
from blowfish_privacy.noise import BitSource, SimulationSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.limits import ORDERED_VALUES

EXACT_SIZE = 6_000
"""Errors are computed exactly up to this many positions, and from simulated noise beyond."""
_DRAWS = 12
_MOST_WORK = 2_000_000
_EXACT_OVERLAPPING = 2_500
_DRAWS_OVERLAPPING = 300


@dataclass(frozen=True)
class Stretch:
    """Positions ``start`` to ``stop - 1``; secret pairs inside are at most ``theta`` positions apart."""

    start: int
    stop: int
    theta: int

    @property
    def size(self) -> int:
        """The number of positions."""
        return self.stop - self.start


def stretches(graph: SecretGraph) -> tuple[Stretch, ...]:
    """Cut a graph on one ordered attribute into stretches that no edge leaves; without edges, into a single one."""
    check_size(graph.domain)
    (name,) = graph.domain.names
    if not graph.changes(name):
        return (Stretch(0, graph.domain.size, 0),)
    return tuple(
        Stretch(start, start + run.width, run.reach)
        for run in graph.stretches(name)
        for start in range(run.start, run.stop, run.width)
    )


def check_size(domain: Domain) -> None:
    """Refuse an ordered attribute of more values than a mechanism can go through."""
    if domain.size > ORDERED_VALUES:
        (name,) = domain.names
        raise QueryError(
            f"a cumulative histogram has at most {ORDERED_VALUES:,} values, and {name} has {domain.size:,}.",
            hint=coarser(name, domain[name], ORDERED_VALUES),
        )


@dataclass(frozen=True, eq=False)
class Segment:
    """A stretch and its levels, finest first."""

    stretch: Stretch
    levels: tuple[Level, ...]

    @property
    def rows(self) -> int:
        """The number of noisy numbers."""
        return sum(level.rows(self.stretch.size) for level in self.levels)

    def loss(self, x: int, y: int) -> Fraction:
        """Return the privacy loss of a move inside the stretch."""
        return sum((level.lost(level.change(x, y)) for level in self.levels), Fraction(0))

    def most(self, theta: int) -> Fraction:
        """Bound the loss over all moves of at most theta."""
        return sum((level.lost(level.most(theta)) for level in self.levels), Fraction(0))

    def presence(self, x: int) -> Fraction:
        """Return the privacy loss of a record at x that comes or goes."""
        return sum((level.lost(level.weight(x, self.stretch.size)) for level in self.levels), Fraction(0))

    @property
    def has_total(self) -> bool:
        """Whether the total is secret, and measured beside the other levels."""
        return bool(self.levels) and isinstance(self.levels[-1], TotalLevel)

    @property
    def exact(self) -> bool:
        """Whether errors are computed exactly: with overlapping bins there are more rows than positions."""
        return self.stretch.size <= (_EXACT_OVERLAPPING if self._overlapping else EXACT_SIZE)

    @property
    def _overlapping(self) -> bool:
        return any(level.unit > level.spacing for level in self.levels)

    def measure(self, counts: Integers, source: BitSource) -> Iterator[Integers]:
        """Answer every level exactly and add its noise."""
        for level in self.levels:
            yield level.noise.on(level.answer(counts), level.scale, source)

    def estimate(self, noisy: Integers, total: int) -> Floats:
        """Return the estimated number of records at or below each position; ``total`` matters where it is public."""
        return self.estimates(noisy[None], np.array([total]))[0]

    def estimates(self, noisy: Integers, totals: Integers) -> Floats:
        """Return the same for several releases at once, one in each row."""
        totals = noisy[:, -1] if self.has_total else totals
        if not self.levels:
            return totals[:, None].astype(np.float64)
        parts = [noisy[:, start:stop] for start, stop in self._places]
        if isinstance(self.levels[0], CumulativeLevel):
            return np.column_stack([parts[0], totals]).astype(np.float64)
        if not self.levels[0].scale:
            return np.cumsum(parts[0], axis=1).astype(np.float64)
        hats = [*zip(self.levels, parts, strict=True)][1 : -1 if self.has_total else None]
        coarse = [level.as_hats(part) for level, part in hats]
        sums = np.cumsum(self._solver.estimates(parts[0].astype(np.float64), coarse, totals.astype(np.float64)), axis=1)
        if not self.has_total:
            sums[:, -1] = totals
        return sums

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """Where the rows of each level start and stop."""
        stops = [*accumulate(level.rows(self.stretch.size) for level in self.levels)]
        return [*zip([0, *stops], stops, strict=False)]

    def moments(self) -> tuple[float, float, float]:
        """Return trace and sum of the covariance of the cumulative estimate, and the relative error of both."""
        size = self.stretch.size
        if not self.levels or not self.levels[0].scale:
            return 0.0, 0.0, 0.0
        if isinstance(self.levels[0], CumulativeLevel):
            alone = (size - 1) * self.levels[0].variance
            return alone, alone, 0.0
        if self.exact:
            return (*self._solver.moments(), 0.0)
        # Each draw averages over all positions, so large stretches need few.
        draws = max(3, min(_DRAWS_OVERLAPPING if self._overlapping else _DRAWS, _MOST_WORK // size))
        source = SimulationSource(f"a stretch of {size}")
        nobody = np.zeros(size, dtype=np.int64)
        drawn = (np.concatenate([*self.measure(nobody, source)]) for _ in range(draws))
        errors = [self.errors(noise[None])[0] for noise in drawn]
        traces, sums = [float(e @ e) for e in errors], [float(e.sum()) ** 2 for e in errors]
        precision = float(np.std(traces) / np.mean(traces) / np.sqrt(draws - 1))
        return float(np.mean(traces)), float(np.mean(sums)), precision

    def errors(self, noise: Integers) -> Floats:
        """Return the errors of the estimate for several draws of the noise, one in each row."""
        return self.estimates(noise, np.zeros(len(noise), dtype=np.int64))

    def covariance(self) -> Floats:
        """Return the exact covariance of the cumulative estimate; only for small stretches."""
        size = self.stretch.size
        if not self.levels or not self.levels[0].scale:
            return np.zeros((size, size))
        if isinstance(self.levels[0], CumulativeLevel):
            return np.diag(np.append(np.full(size - 1, self.levels[0].variance), 0.0))
        return self._solver.covariance()

    def spread(self, weights: Floats) -> Floats:
        """Multiply columns of weights of the positions by the covariance of their estimated counts."""
        if self.stretch.size == 1 or not self.levels[0].scale:
            return np.zeros_like(weights)
        if isinstance(self.levels[0], CumulativeLevel):
            apart = self.levels[0].variance * np.diff(weights, axis=0)
            return np.pad(apart, ((0, 1), (0, 0))) * -1 + np.pad(apart, ((1, 0), (0, 0)))
        return self._solver.spread(weights)

    @cached_property
    def _solver(self) -> LeastSquares:
        return _solver(self.stretch.size, self.levels)


@lru_cache(maxsize=32)
def _solver(size: int, levels: tuple[Level, ...]) -> LeastSquares:
    """Share one solver among all stretches of the same size and levels."""
    leaf, *coarse = levels
    total = coarse.pop().variance if isinstance(levels[-1], TotalLevel) else 0.0
    return LeastSquares(size, leaf.variance, tuple(coarse), total)


# Levels in words and in documents, and which of them allow an estimate.

MOST_OVERLAP = 16
"""Hats that overlap more often than this would cost time and tell nothing more."""


def measurable(segment: Segment, policy: Policy) -> bool:
    """Say whether levels begin at spacing 1, differences first, with at most one cumulative level at the end.

    Where the number of records is secret, the end is the total, and all others are differences.
    """
    levels = segment.levels
    if policy.size == "unknown":
        levels = levels[:-1]
        if not segment.has_total or not levels or isinstance(levels[-1], CumulativeLevel):
            return False
    elif segment.stretch.size == 1 or not levels:
        return segment.stretch.size == 1 and not levels
    differences = all(isinstance(level, DifferenceLevel) for level in levels[:-1])
    distinct = {(type(level), level.spacing, level.unit) for level in levels}
    return levels[0].unit == 1 and differences and len(distinct) == len(levels)


def level_words(level: Level) -> str:
    """Name the rows of a level and their noise."""
    scale = f"({level.noise.size_words(level.scale, level.unit)})"
    if isinstance(level, TotalLevel):
        return f"the number of records {scale}"
    if isinstance(level, CumulativeLevel):
        blocks = f"cumulative counts added up in blocks of {level.spacing:,}"
        return f"{'the cumulative counts' if level.spacing == 1 else blocks} {scale}"
    if level.unit == 1:
        return f"single counts {scale}"
    reach = f" that reach {level.unit:,}" if level.unit > level.spacing else ""
    return f"overlapping bins {level.spacing:,} apart{reach} {scale}"


def level_to_document(level: Level) -> dict[str, Any]:
    """Write kind, spacing and scale, and how far bins overlap where it is further than to the next."""
    scale = level.noise.to_document(level.scale)
    if isinstance(level, TotalLevel):
        return {"total": True, **scale}
    overlap = {"overlap": level.overlap} if isinstance(level, DifferenceLevel) and level.overlap > 1 else {}
    return {"cumulative": isinstance(level, CumulativeLevel), "spacing": level.spacing, **overlap, **scale}


def level_from_document(written: dict[str, Any], noise: RowNoise) -> Level:
    """Read kind, spacing, overlap and scale."""
    scale = noise.from_document(written)
    if "total" in written:
        return TotalLevel(1, scale, noise)
    spacing, overlap, cumulative = written["spacing"], written.get("overlap", 1), written["cumulative"]
    if type(cumulative) is not bool or not all(type(each) is int and each >= 1 for each in (spacing, overlap)):
        raise SpecError("the document is damaged: a spacing is not a positive whole number.")
    if overlap > MOST_OVERLAP:
        raise SpecError("the document is damaged: its bins overlap more often than any release's do.")
    return CumulativeLevel(spacing, scale, noise) if cumulative else DifferenceLevel(spacing, scale, noise, overlap)


def levels_of_hats(written: list[dict[str, Any]], noise: RowNoise) -> tuple[DifferenceLevel, ...]:
    """Read levels of which the first is single values and the others are different bins."""
    levels = [level_from_document(each, noise) for each in written]
    hats = tuple(level for level in levels if isinstance(level, DifferenceLevel))
    if len({(level.spacing, level.unit) for level in hats}) != len(levels) or not hats or hats[0].unit != 1:
        raise SpecError("the document is damaged: its levels do not allow an estimate.")
    return hats
