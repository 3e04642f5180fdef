"""The ordered mechanism: noise on the cumulative histogram itself."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from blowfish_privacy.mechanisms.ordered.levels import Level
from blowfish_privacy.mechanisms.ordered.segment import Stretch
from blowfish_privacy.mechanisms.ordered.smooth_hierarchy import SmoothHierarchy
from blowfish_privacy.mechanisms.ordered.spacings import Shape, calibrated_levels


@dataclass(frozen=True, eq=False)
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
        """Measure the cumulative counts alone."""
        return calibrated_levels(Shape((), cumulative=True), stretch.size, stretch.theta, amount, records)
