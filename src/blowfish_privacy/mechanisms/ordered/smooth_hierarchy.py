"""The smooth hierarchy: one release that answers every range, quantile and cumulative count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, quoted
from blowfish_privacy.errors import DataError, PolicyError, SpecError
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, check_secret_size
from blowfish_privacy.mechanisms.ordered.level_choice import choose_levels, levels_with_total
from blowfish_privacy.mechanisms.ordered.levels import (
    CumulativeLevel,
    DifferenceLevel,
    LeastSquares,
    Level,
    TotalLevel,
    level_from_document,
    level_to_document,
    level_words,
)
from blowfish_privacy.mechanisms.ordered.ordered_family import (
    EXACT_SIZE,
    OrderedFamily,
    nearest_in_absolute,
    ordered_form,
)
from blowfish_privacy.mechanisms.row_noise import GAUSSIAN_ROWS, LAPLACE_ROWS
from blowfish_privacy.noise import BitSource, SimulationSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import loss_seen
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.privacy.sensitivity import steps
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.counts import CumulativeForm
from blowfish_privacy.support.arrays import Floats, Integers

# A stretch of an ordered attribute that no secret pair leaves, with the levels that measure it.
#
# A distance threshold has one stretch, the whole attribute; a partition into ranges has one for each block, whose total
# is public. Estimates and errors of different stretches are independent. Where the number of records is secret no total
# is public, and the whole attribute is one stretch.

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


def stretches(graph: SecretGraph, policy: Policy) -> tuple[Stretch, ...]:
    """Cut a graph on one ordered attribute into stretches that no edge leaves; a single one where totals are secret."""
    (name,) = graph.domain.names
    if policy.size == "unknown" or not graph.changes(name):
        return (Stretch(0, graph.domain.size, graph.largest_move(name)),)
    return tuple(
        Stretch(start, start + run.width, run.reach)
        for run in graph.stretches(name)
        for start in range(run.start, run.stop, run.width)
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

    def estimates(self, noisy: Integers, totals: Integers) -> Floats:
        """Return the estimated numbers of records at or below each position, for several releases, one in each row.

        ``totals`` matter where they are public.
        """
        totals = noisy[:, -1] if self.has_total else totals
        if not self.levels:
            return totals[:, None].astype(np.float64)
        parts = np.split(noisy, np.cumsum([level.rows(self.stretch.size) for level in self.levels])[:-1], axis=1)
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

    @property
    def _alone(self) -> float | None:
        """The variance of cumulative counts that are estimated as measured, 0 without noise; None where levels join."""
        if not self.levels:
            return 0.0
        leaf = self.levels[0]
        return leaf.variance if isinstance(leaf, CumulativeLevel) or not leaf.scale else None

    def moments(self) -> tuple[float, float, float]:
        """Return trace and sum of the covariance of the cumulative estimate, and the relative error of both."""
        size = self.stretch.size
        if self._alone is not None:
            return (size - 1) * self._alone, (size - 1) * self._alone, 0.0
        if self.exact:
            return (*self._solver.moments(), 0.0)
        # Each draw averages over all positions, so large stretches need few.
        draws = max(3, min(_DRAWS_OVERLAPPING if self._overlapping else _DRAWS, _MOST_WORK // size))
        source = SimulationSource(f"a stretch of {size}")
        nobody, none = np.zeros(size, dtype=np.int64), np.zeros(1, dtype=np.int64)
        drawn = (np.concatenate([*self.measure(nobody, source)]) for _ in range(draws))
        errors = [self.estimates(noise[None], none)[0] for noise in drawn]
        traces, sums = [float(e @ e) for e in errors], [float(e.sum()) ** 2 for e in errors]
        precision = float(np.std(traces) / np.mean(traces) / np.sqrt(draws - 1))
        return float(np.mean(traces)), float(np.mean(sums)), precision

    def covariance(self) -> Floats:
        """Return the exact covariance of the cumulative estimate; only for small stretches."""
        if self._alone is not None:
            return np.diag(np.append(np.full(self.stretch.size - 1, self._alone), 0.0))
        return self._solver.covariance()

    def spread(self, weights: Floats) -> Floats:
        """Multiply columns of weights of the positions by the covariance of their estimated counts."""
        if self._alone is not None:
            apart = self._alone * np.diff(weights, axis=0)
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


# What mechanisms share that measure levels on every stretch of an ordered attribute, whatever their noise.


@dataclass(frozen=True, eq=False)
class LevelFamily(OrderedFamily):
    """Noisy rows of several levels on each stretch; subclasses say which levels, and with which noise."""

    form: CumulativeForm
    segments: tuple[Segment, ...]

    proof = "docs/proofs/smooth_hierarchy.md"
    prefixes_alone: ClassVar[bool] = False
    """Whether it measures the cumulative counts and nothing else, for which the number of records must be public."""

    def __post_init__(self) -> None:
        self.noise.check(*(level.scale for segment in self.segments for level in segment.levels))

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, records: int | None, **amount: Fraction) -> Self:
        """Choose levels for each stretch; every stretch gets all of the amount, since secret moves stay inside one."""
        form = ordered_form(query, policy, total=cls.prefixes_alone)
        neighbours = steps(policy, form.domain.names)
        pieces = stretches(neighbours.graph, policy)
        each = amount[cls.counted_in.name] / neighbours.rows**cls.noise.power
        if policy.size == "unknown":
            levels = levels_with_total(form.domain.size, pieces[0].theta, each, cls.noise)
            check_secret_size(policy, max(level.unit for level in levels))
            return cls(form, (Segment(pieces[0], levels),))
        chosen: dict[tuple[int, int], tuple[Level, ...]] = {}
        for stretch in pieces:
            shape = (stretch.size, stretch.theta)
            if shape not in chosen:
                expected = None if records is None else records * stretch.size // form.domain.size
                chosen[shape] = choose_levels(*shape, each, expected, cls.noise, prefixes_alone=cls.prefixes_alone)
        return cls(form, tuple(Segment(stretch, chosen[stretch.size, stretch.theta]) for stretch in pieces))

    def certify(self, policy: Policy) -> Certificate:
        neighbours = steps(policy, self.form.domain.names)
        if [segment.stretch for segment in self.segments] != list(stretches(neighbours.graph, policy)):
            raise PolicyError("the stretches measured are not those of the policy's secret pairs.")
        together = neighbours.rows**self.noise.power
        moved = together * max(segment.most(segment.stretch.theta) for segment in self.segments)
        presence = together * self.presence((0,)) if policy.size == "unknown" else Fraction(0)
        edge = neighbours.graph.widest_edge(self.form.domain.names[0])
        attained = edge is None or (not neighbours.forced and together * self.loss(*edge) == moved)
        sensitivity = replace(self.noise.sensitivity(self.form, policy), exact=attained or presence >= moved)
        kinds = dict.fromkeys(segment.levels for segment in self.segments)
        scales = tuple(dict.fromkeys(level.scale for levels in kinds for level in levels))
        loss = loss_seen(policy, self.form.domain.names, moved, presence, self.counted_in)
        return self.certified(policy, loss, sensitivity, *scales)

    def loss(self, x: Cell, y: Cell) -> Fraction:
        for segment in self.segments:
            if segment.stretch.start <= min(x[0], y[0]) and max(x[0], y[0]) < segment.stretch.stop:
                return segment.loss(x[0] - segment.stretch.start, y[0] - segment.stretch.start)
        raise PolicyError("a secret pair leaves its stretch.")

    def presence(self, x: Cell) -> Fraction:
        (segment,) = self.segments
        return segment.presence(x[0])

    @property
    def rows(self) -> int:
        return sum(segment.rows for segment in self.segments) + (len(self.segments) if len(self.segments) > 1 else 0)

    def measure(self, counts: Integers, source: BitSource) -> npt.NDArray[Any]:
        largest = max((level.unit for segment in self.segments for level in segment.levels), default=1)
        if int(counts.sum()) * largest >= LARGEST_ANSWER:
            raise DataError("the answers may be too large for 64-bit arithmetic.", hint="use fewer values.")
        parts = [counts[segment.stretch.start : segment.stretch.stop] for segment in self.segments]
        rows = [
            row for segment, part in zip(self.segments, parts, strict=True) for row in segment.measure(part, source)
        ]
        totals = [np.array([part.sum() for part in parts])] if len(parts) > 1 else []
        return np.concatenate([*rows, *totals]) if rows or totals else np.zeros(0, dtype=np.int64)

    def estimate(self, noisy: Integers, records: int | None) -> Floats:
        return self._estimates(noisy[None], records or 0)[0]

    def errors(self, drawn: npt.NDArray[Any]) -> Floats:
        return self._estimates(drawn, 0)

    def _estimates(self, noisy: Integers, records: int) -> Floats:
        """Estimate several releases, one in each row."""
        parts = np.split(noisy, np.cumsum([segment.rows for segment in self.segments]), axis=1)
        # After the rows of all segments come their totals, where there are several.
        totals = parts.pop() if len(self.segments) > 1 else np.full((len(noisy), 1), records)
        below = np.cumsum(totals, axis=1) - totals
        estimates = [s.estimates(part, total) for s, part, total in zip(self.segments, parts, totals.T, strict=False)]
        return np.concatenate([start[:, None] + each for start, each in zip(below.T, estimates, strict=True)], axis=1)

    def spread(self, weights: Floats) -> Floats:
        parts = [segment.spread(weights[s.start : s.stop]) for segment in self.segments if (s := segment.stretch)]
        return np.concatenate(parts)

    def public_ends(self) -> list[int]:
        return [segment.stretch.stop for segment in self.segments if not segment.has_total]

    def moments(self) -> tuple[float, float, float]:
        kinds = Counter((segment.stretch.size, segment.levels) for segment in self.segments)
        one = {(segment.stretch.size, segment.levels): segment for segment in self.segments}
        parts = [(many, *one[kind].moments()) for kind, many in kinds.items()]
        return sum(m * t for m, t, _, _ in parts), sum(m * s for m, _, s, _ in parts), max(p for _, _, _, p in parts)

    def covariance(self) -> Floats:
        size = sum(segment.stretch.size for segment in self.segments)
        joined = np.zeros((size, size))
        for segment in self.segments:
            inside = slice(segment.stretch.start, segment.stretch.stop)
            joined[inside, inside] = segment.covariance()
        return joined

    @property
    def exact(self) -> bool:
        return super().exact and all(segment.exact for segment in self.segments)

    @cached_property
    def _counts_below(self) -> bool:
        """Whether all that is measured are cumulative counts."""
        measured = (segment.levels[0] for segment in self.segments if segment.levels)
        return all(isinstance(level, CumulativeLevel) for level in measured)

    def nearest(self, linear: Floats) -> Floats:
        # The nearest in absolute values is the most likely truth for Laplace noise on the cumulative counts themselves.
        likely = self.noise is LAPLACE_ROWS and self._counts_below
        return nearest_in_absolute(linear) if likely else super().nearest(linear)

    @property
    def exact_parts(self) -> int:
        return len(self.segments)

    def without_noise(self) -> str | None:
        if len(self.segments) == 1:
            return None
        name, attribute, first = self.form.domain.names[0], self.form.domain.attributes[0], self.segments[0].stretch
        return (
            f"how many records are in each of the {len(self.segments):,} stretches of {quoted(name)} that no secret "
            f"pair leaves, of which {attribute.say(first.start)} to {attribute.say(first.stop - 1)} is the first"
        )

    def words(self) -> str:
        kinds = Counter((segment.stretch.size, segment.levels) for segment in self.segments)
        noisy = [(size, levels, many) for (size, levels), many in kinds.items() if levels]
        parts = [", ".join(level_words(level) for level in levels) for _, levels, _ in noisy]
        if len(self.segments) > 1:
            parts = [
                f"{part} in {many:,} blocks of {size:,}" for part, (size, _, many) in zip(parts, noisy, strict=True)
            ]
            parts = [*parts[:3], *(["and so on"] if len(parts) > 3 else [])]
        law = "Noise" if self.noise is LAPLACE_ROWS else "Gaussian noise"
        return (
            f"{law} goes on {'; '.join(parts) or 'nothing, since every block has a single value'}. "
            "Coarse levels answer wide ranges with few noisy numbers, fine ones narrow ranges; spacings and shares "
            f"follow from the number of values{', ' if self.public_ends() else ' and '}the longest secret step"
            f"{' and the number of records' if self.public_ends() else ''}."
        )

    def to_document(self) -> dict[str, Any]:
        kinds: dict[tuple[Level, ...], int] = {}
        for segment in self.segments:
            kinds.setdefault(segment.levels, len(kinds))
        return {
            "name": self.name,
            "levels": [[level_to_document(level) for level in levels] for levels in kinds],
            "stretches": [[s.stretch.start, s.stretch.stop, s.stretch.theta, kinds[s.levels]] for s in self.segments],
        }

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        kinds = [tuple(level_from_document(level, cls.noise) for level in levels) for levels in written["levels"]]
        if not all(type(number) is int for stretch in written["stretches"] for number in stretch):
            raise SpecError("the document is damaged: its stretches are not whole numbers.")
        segments = [Segment(Stretch(a, b, t), kinds[kind]) for a, b, t, kind in written["stretches"] if kind >= 0]
        if not all(measurable(segment, policy) for segment in segments) or len(segments) != len(written["stretches"]):
            raise SpecError("the document is damaged: its levels do not allow an estimate.")
        return cls(ordered_form(query, policy, total=cls.prefixes_alone), tuple(segments))


class SmoothHierarchy(LevelFamily):
    """Noisy overlapping bins of several spacings, and block sums of the cumulative histogram at the top.

    Privacy: (epsilon, P)-Blowfish, epsilon = the largest sum over levels of change / scale over the secret pairs.
    Sensitivity: a move of t positions changes a difference level of spacing g by at most 2 min(t, g), a cumulative
        level by t, both times g; attained together by a move of theta from position 0. Where the number of records is
        secret there is no cumulative level but a noisy total, and a record that comes or goes adds g to each level.
    Error: the exact covariance of the least-squares estimate, (K tr C - 1'C1) / (K (K - 1) / 2) for a random range.
    Cost: time and memory close to linear in the number of values; one sparse solve.
    Numerics: rows are whole numbers with exact integer noise; floating point only afterwards.
    Proof: docs/proofs/smooth_hierarchy.md
    """

    name = "smooth-hierarchy"


class GaussianHierarchy(LevelFamily):
    """Bins of several widths that overlap several times, and cumulative counts, with discrete Gaussian noise.

    Privacy: (rho, P)-zero-concentrated Blowfish, rho = the largest sum over levels of squared change / (2 variance)
        over the secret pairs [bun2016; canonne2020].
    Sensitivity: level by level the largest squared change over moves of at most theta, which a move from position 0
        attains; their sum is a bound, attained where one move attains all. Where the number of records is secret there
        are no cumulative counts but a noisy total, and a record that comes or goes adds the squares of its weights.
    Error: the exact covariance of the least-squares estimate, (K tr C - 1'C1) / (K (K - 1) / 2) for a random range.
    Cost: time and memory close to linear in the number of values; one sparse solve.
    Numerics: rows are whole numbers with exact integer noise; floating point only afterwards.
    Proof: docs/proofs/smooth_hierarchy.md
    """

    name = "gaussian-hierarchy"
    counted_in = RHO
    noise = GAUSSIAN_ROWS


class GaussianOrdered(GaussianHierarchy):
    """Discrete Gaussian noise of variance theta / (2 rho) on every cumulative count.

    Privacy: (rho, P)-zero-concentrated Blowfish: a move of t positions changes t cumulative counts by one.
    Sensitivity: min(theta, k - 1), the largest rank gap of a secret pair.
    Error: a range has twice the variance of one draw, at most theta / rho.
    Cost: time and memory linear in the number of values.
    Numerics: whole numbers with exact integer noise.
    Proof: docs/proofs/smooth_hierarchy.md, of which this is the case of one cumulative level of spacing 1.
    """

    name = "gaussian-ordered"
    preferred_for = ()
    prefixes_alone = True


class Ordered(SmoothHierarchy):
    """Noise of scale theta / epsilon on every cumulative count [he2014, section 7.1].

    Privacy: (epsilon, P)-Blowfish: a move of t positions changes t cumulative counts by one.
    Sensitivity: min(theta, k - 1), the largest rank gap of a secret pair.
    Error: a range has twice the variance of one draw, at most 4 theta^2 / epsilon^2.
    Cost: time and memory linear in the number of values.
    Numerics: whole numbers with exact integer noise.
    Proof: docs/proofs/smooth_hierarchy.md, of which this is the case of one cumulative level of spacing 1.
    """

    name = "ordered"
    preferred_for = ()
    prefixes_alone = True
