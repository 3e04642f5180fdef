"""The smooth hierarchy: one release that answers every range, quantile and cumulative count."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from blowfish_privacy.mechanisms.ordered.isotonic import nearest_in_absolute, nearest_in_squares
from blowfish_privacy.mechanisms.ordered.level_family import LevelFamily
from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel, Level
from blowfish_privacy.mechanisms.ordered.secret_total import levels_with_total
from blowfish_privacy.mechanisms.ordered.segment import Stretch
from blowfish_privacy.mechanisms.ordered.spacings import choose_levels
from blowfish_privacy.mechanisms.row_noise import LAPLACE_ROWS
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import Query
from blowfish_privacy.support.arrays import Floats


@dataclass(frozen=True, eq=False)
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
    proof = "docs/proofs/smooth_hierarchy.md"
    noise = LAPLACE_ROWS

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        """Choose levels for each stretch, so that the widest secret pair loses epsilon."""
        return cls.spending(query, policy, epsilon, records)

    @classmethod
    def levels(cls, stretch: Stretch, amount: Fraction, records: int | None) -> tuple[Level, ...]:
        """Choose spacings and shares by the predicted error."""
        return choose_levels(stretch.size, stretch.theta, amount, records)

    @classmethod
    def levels_with_total(cls, size: int, theta: int, amount: Fraction) -> tuple[Level, ...]:
        """Choose spacings and weights by the predicted error, the total's too."""
        return levels_with_total(size, theta, amount)

    def nearest(self, linear: Floats) -> Floats:
        """Measure distance in absolute values where the cumulative counts themselves have independent noise."""
        alone = all(isinstance(segment.levels[0], CumulativeLevel) for segment in self.segments if segment.levels)
        return nearest_in_absolute(linear) if alone else nearest_in_squares(linear)
