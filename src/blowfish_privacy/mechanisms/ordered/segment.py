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

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain, coarser
from blowfish_privacy.errors import QueryError
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.mechanisms.ordered.least_squares import LeastSquares
from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel, Level, TotalLevel
from blowfish_privacy.mechanisms.ordered.range_error import EXACT_SIZE
from blowfish_privacy.noise import BitSource, SimulationSource
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.limits import ORDERED_VALUES

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

    def measure(self, counts: npt.NDArray[np.int64], source: BitSource) -> Iterator[npt.NDArray[np.int64]]:
        """Answer every level exactly and add its noise."""
        for level in self.levels:
            answers = level.answer(counts)
            yield answers + level.noise.draw(level.scale, len(answers), source) if level.scale else answers

    def estimate(self, noisy: npt.NDArray[np.int64], total: int) -> Floats:
        """Return the estimated number of records at or below each position; ``total`` matters where it is public."""
        return self.estimates(noisy[None], np.array([total]))[0]

    def estimates(self, noisy: npt.NDArray[np.int64], totals: npt.NDArray[np.int64]) -> Floats:
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
        errors = [self.simulated_error(source) for _ in range(draws)]
        traces, sums = [float(e @ e) for e in errors], [float(e.sum()) ** 2 for e in errors]
        precision = float(np.std(traces) / np.mean(traces) / np.sqrt(draws - 1))
        return float(np.mean(traces)), float(np.mean(sums)), precision

    def simulated_error(self, source: BitSource) -> Floats:
        """Draw the noise once and return the error of the estimate, which is linear and so does not depend on data."""
        return self.errors(self.drawn(source)[None])[0]

    def drawn(self, source: BitSource) -> npt.NDArray[np.int64]:
        """Draw the noise of all rows once."""
        none = np.zeros(0, dtype=np.int64)
        return np.concatenate([none, *(self._noise(level, source) for level in self.levels)])

    def errors(self, noise: npt.NDArray[np.int64]) -> Floats:
        """Return the errors of the estimate for several draws of the noise, one in each row."""
        # Nobody is counted, so that every answer is its noise.
        return self.estimates(noise, np.zeros(len(noise), dtype=np.int64))

    def _noise(self, level: Level, source: BitSource) -> npt.NDArray[np.int64]:
        rows = level.rows(self.stretch.size)
        return level.noise.draw(level.scale, rows, source) if level.scale else np.zeros(rows, dtype=np.int64)

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
