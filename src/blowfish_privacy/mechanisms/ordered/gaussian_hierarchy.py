"""The smooth hierarchy with Gaussian noise: every range, quantile and cumulative count, for budgets in rho."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from blowfish_privacy.mechanisms.ordered.level_family import LevelFamily
from blowfish_privacy.mechanisms.ordered.levels import Level
from blowfish_privacy.mechanisms.ordered.precisions import precise_levels, precise_levels_with_total, precise_sums
from blowfish_privacy.mechanisms.ordered.segment import Stretch
from blowfish_privacy.mechanisms.row_noise import GAUSSIAN_ROWS
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.queries import Query


@dataclass(frozen=True, eq=False)
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
    proof = "docs/proofs/smooth_hierarchy.md"
    counted_in = RHO
    noise = GAUSSIAN_ROWS
    noise_words = "Gaussian noise"

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, rho: Fraction, records: int | None) -> Self:
        """Choose levels for each stretch, so that the sum of the largest squared changes loses rho."""
        return cls.spending(query, policy, rho, records)

    @classmethod
    def levels(cls, stretch: Stretch, amount: Fraction, records: int | None) -> tuple[Level, ...]:
        """Choose levels and precisions by the error of waves."""
        return precise_levels(stretch.size, stretch.theta, amount)

    @classmethod
    def levels_with_total(cls, size: int, theta: int, amount: Fraction) -> tuple[Level, ...]:
        """Choose levels and precisions by the error of waves, the total's too."""
        return precise_levels_with_total(size, theta, amount)


@dataclass(frozen=True, eq=False)
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
        """Measure the cumulative counts alone."""
        return precise_sums(stretch.theta, amount)
