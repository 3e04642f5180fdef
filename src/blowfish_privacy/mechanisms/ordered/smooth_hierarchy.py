"""The smooth hierarchy: one release that answers every range, quantile and cumulative count."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, quoted
from blowfish_privacy.errors import DataError, PolicyError, SpecError
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, check_secret_size
from blowfish_privacy.mechanisms.ordered.level_choice import (
    choose_levels,
    levels_with_total,
    precise_levels,
    precise_levels_with_total,
)
from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel, DifferenceLevel, Level
from blowfish_privacy.mechanisms.ordered.ordered_family import (
    OrderedFamily,
    nearest_in_absolute,
    nearest_in_squares,
    ordered_form,
)
from blowfish_privacy.mechanisms.ordered.segment import (
    Segment,
    Stretch,
    level_from_document,
    level_to_document,
    level_words,
    measurable,
    stretches,
)
from blowfish_privacy.mechanisms.row_noise import GAUSSIAN_ROWS
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import loss_seen
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.privacy.sensitivity import Steps, steps
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.counts import CumulativeForm
from blowfish_privacy.support.arrays import Floats, Integers

# What mechanisms share that measure levels on every stretch of an ordered attribute, whatever their noise.


@dataclass(frozen=True, eq=False)
class LevelFamily(OrderedFamily):
    """Noisy rows of several levels on each stretch; subclasses say which levels, and with which noise."""

    form: CumulativeForm
    segments: tuple[Segment, ...]

    proof = "docs/proofs/smooth_hierarchy.md"
    noise_words: ClassVar[str] = "Noise"
    needs_total: ClassVar[bool] = False
    """Whether it is of use only where the number of records is public."""

    def __post_init__(self) -> None:
        self.noise.check(*(level.scale for segment in self.segments for level in segment.levels))

    @classmethod
    @abstractmethod
    def levels(cls, stretch: Stretch, amount: Fraction, records: int | None) -> tuple[Level, ...]:
        """Choose the levels of a stretch whose total is public, so that a secret move loses the amount."""

    @classmethod
    @abstractmethod
    def levels_with_total(cls, size: int, theta: int, amount: Fraction) -> tuple[Level, ...]:
        """Choose levels where the number of records is secret, so that no secret pair loses more than the amount."""

    @classmethod
    def prefixes(cls, theta: int, amount: Fraction) -> tuple[Level, ...]:
        """Measure the cumulative counts alone: a move of theta changes theta of them by one."""
        return (CumulativeLevel(1, cls.noise.lost(theta, amount), cls.noise),)

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, records: int | None, **amount: Fraction) -> Self:
        """Choose levels for each stretch; every stretch gets all of the amount, since secret moves stay inside one."""
        form = ordered_form(query, policy, total=cls.needs_total)
        neighbours = steps(policy, form.domain.names)
        pieces = _pieces(neighbours, policy)
        each = amount[cls.counted_in.name] / neighbours.rows**cls.noise.power
        if policy.size == "unknown":
            levels = cls.levels_with_total(form.domain.size, pieces[0].theta, each)
            check_secret_size(policy, max(level.unit for level in levels))
            return cls(form, (Segment(pieces[0], levels),))
        chosen: dict[tuple[int, int], tuple[Level, ...]] = {}
        for stretch in pieces:
            shape = (stretch.size, stretch.theta)
            if stretch.size == 1:
                # Its count is the total.
                chosen[shape] = ()
            elif stretch.theta == 0:
                chosen[shape] = (DifferenceLevel(1, Fraction(0), cls.noise),)
            elif shape not in chosen:
                expected = None if records is None else records * stretch.size // form.domain.size
                chosen[shape] = cls.levels(stretch, each, expected)
        return cls(form, tuple(Segment(stretch, chosen[stretch.size, stretch.theta]) for stretch in pieces))

    def certify(self, policy: Policy) -> Certificate:
        neighbours = steps(policy, self.form.domain.names)
        if [segment.stretch for segment in self.segments] != list(_pieces(neighbours, policy)):
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
        totals = noisy[-len(self.segments) :].tolist() if len(self.segments) > 1 else [records or 0]
        estimates: list[Floats] = []
        start, below = 0, 0
        for segment, total in zip(self.segments, totals, strict=True):
            estimates.append(below + segment.estimate(noisy[start : start + segment.rows], total))
            start, below = start + segment.rows, below + total
        return np.concatenate(estimates)

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

    def errors(self, drawn: npt.NDArray[Any]) -> Floats:
        # After the rows of all segments come their totals, which are 0.
        parts = np.split(drawn, np.cumsum([segment.rows for segment in self.segments]), axis=1)
        return np.concatenate([s.errors(part) for s, part in zip(self.segments, parts, strict=False)], axis=1)

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
        return (
            f"{self.noise_words} goes on {'; '.join(parts) or 'nothing, since every block has a single value'}. "
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
        return cls(ordered_form(query, policy, total=cls.needs_total), tuple(segments))


def _pieces(neighbours: Steps, policy: Policy) -> tuple[Stretch, ...]:
    """Return the stretches that no secret pair leaves; a single one where their totals are secret."""
    if policy.size != "unknown":
        return stretches(neighbours.graph)
    (name,) = neighbours.graph.domain.names
    return (Stretch(0, neighbours.graph.domain.size, neighbours.graph.largest_move(name)),)


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

    @classmethod
    def levels(cls, stretch: Stretch, amount: Fraction, records: int | None) -> tuple[Level, ...]:
        return choose_levels(stretch.size, stretch.theta, amount, records)

    @classmethod
    def levels_with_total(cls, size: int, theta: int, amount: Fraction) -> tuple[Level, ...]:
        return levels_with_total(size, theta, amount)

    def nearest(self, linear: Floats) -> Floats:
        alone = all(isinstance(segment.levels[0], CumulativeLevel) for segment in self.segments if segment.levels)
        return nearest_in_absolute(linear) if alone else nearest_in_squares(linear)


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
    noise_words = "Gaussian noise"

    @classmethod
    def levels(cls, stretch: Stretch, amount: Fraction, records: int | None) -> tuple[Level, ...]:
        return precise_levels(stretch.size, stretch.theta, amount)

    @classmethod
    def levels_with_total(cls, size: int, theta: int, amount: Fraction) -> tuple[Level, ...]:
        return precise_levels_with_total(size, theta, amount)


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
    needs_total = True

    @classmethod
    def levels(cls, stretch: Stretch, amount: Fraction, records: int | None) -> tuple[Level, ...]:
        return cls.prefixes(stretch.theta, amount)


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
    needs_total = True

    @classmethod
    def levels(cls, stretch: Stretch, amount: Fraction, records: int | None) -> tuple[Level, ...]:
        return cls.prefixes(stretch.theta, amount)
