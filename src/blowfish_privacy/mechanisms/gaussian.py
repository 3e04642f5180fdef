"""Discrete Gaussian noise on every output of a linear query."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell
from blowfish_privacy.mechanisms.noise_alike import NoiseAlike
from blowfish_privacy.noise import BitSource, checked_variance, discrete_gaussian
from blowfish_privacy.noise.law import DISCRETE_GAUSSIAN
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import PairClass
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.privacy.sensitivity import Sensitivity, squared_by_class, squared_sensitivity
from blowfish_privacy.queries import Query
from blowfish_privacy.support.exact import about, rounded


@dataclass(frozen=True, eq=False)
class Gaussian(NoiseAlike):
    """Adds independent discrete Gaussian noise of one variance to every output.

    Privacy: (rho, P)-zero-concentrated Blowfish with rho = S / (2 variance) [bun2016, canonne2020].
    Sensitivity: S, the largest sum of squared changes along a secret pair of the projected graph.
    Error: the variance itself, in units^2, or a little less where it is small.
    Cost: time and memory linear in the number of outputs.
    Numerics: answers are whole numbers of a unit, noise is an exact integer, and their sum is exact.
    Proof: docs/proofs/gaussian.md
    """

    name = "gaussian"
    counted_in = RHO
    preferred_for = ("numbers",)
    proof = "docs/proofs/gaussian.md"
    law = DISCRETE_GAUSSIAN
    scale_key = "variance"

    def __post_init__(self) -> None:
        if self.scale:
            # Checked when planning, before anything is charged: not every variance can be drawn from.
            checked_variance(self.scale)

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, rho: Fraction, records: int | None) -> Self:
        """Set the variance to S / (2 rho), S the largest sum of squared changes in units."""
        form = query.on(policy.domain)
        return cls.of_query(query, policy, squared_sensitivity(form, policy).value / form.unit**2 / (2 * rho), records)

    def sensitivity(self, policy: Policy) -> Sensitivity:
        """Derive the largest sum of squared changes."""
        return squared_sensitivity(self.form, policy)

    def changes(self, policy: Policy, largest: Fraction) -> dict[PairClass, Fraction]:
        """Derive the largest sum of squared changes along the secret pairs of each class."""
        return squared_by_class(self.form, policy, largest)

    def change(self, x: Cell, y: Cell | None) -> Fraction:
        """Add up the squared changes of the answers."""
        return self.form.squared_weight(x) if y is None else self.form.squared_change(x, y)

    def hidden(self, change: Fraction) -> Fraction:
        """Divide the squared change of the answers by twice the variance."""
        return change / self.form.unit**2 / (2 * self.scale)

    def noise(self, count: int, source: BitSource) -> npt.NDArray[np.int64]:
        """Draw discrete Gaussian noise."""
        return discrete_gaussian(self.scale, count, source=source)

    def words(self) -> str:
        """State the standard deviation and the unit of the noise."""
        unit = self.form.unit / self.divisor
        deviation = about(sqrt(self.scale) * float(unit))
        return (
            f"Each number gets Gaussian noise of standard deviation {deviation}, in whole multiples of {rounded(unit)}."
        )
