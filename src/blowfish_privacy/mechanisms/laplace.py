"""Discrete Laplace noise on every output of a linear query."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell
from blowfish_privacy.mechanisms.noise_alike import NoiseAlike
from blowfish_privacy.noise import BitSource, checked_scale, discrete_laplace
from blowfish_privacy.noise.law import DISCRETE_LAPLACE
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import PairClass
from blowfish_privacy.privacy.sensitivity import Sensitivity, sensitivity_by_class, sensitivity_of
from blowfish_privacy.queries import Query
from blowfish_privacy.support.exact import rounded


@dataclass(frozen=True, eq=False)
class Laplace(NoiseAlike):
    """Adds independent discrete Laplace noise of one scale to every output.

    Privacy: (epsilon, P)-Blowfish with epsilon = S(W, P) / scale [he2014, Theorem 5.1], noise as in [ghosh2009].
    Sensitivity: S(W, P), the worst secret pair of the projected graph; an output of sensitivity 0 gets no noise.
    Error: variance 2 q / (1 - q)^2 per output in units^2, q = exp(-1 / scale); below 2 scale^2.
    Cost: time and memory linear in the number of outputs.
    Numerics: answers are whole numbers of a unit, noise is an exact integer, and their sum is exact.
    Proof: docs/proofs/laplace.md
    """

    name = "laplace"
    preferred_for = ("numbers",)
    proof = "docs/proofs/laplace.md"
    law = DISCRETE_LAPLACE
    scale_key = "scale"

    def __post_init__(self) -> None:
        if self.scale:
            # Checked when planning, before anything is charged: not every scale can be drawn from.
            checked_scale(self.scale)

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        """Set the scale to S / epsilon, S the sensitivity in units."""
        form = query.on(policy.domain)
        return cls.of_query(query, policy, sensitivity_of(form, policy).value / form.unit / epsilon, records)

    def sensitivity(self, policy: Policy) -> Sensitivity:
        """Derive the largest sum of absolute changes."""
        return sensitivity_of(self.form, policy)

    def changes(self, policy: Policy, largest: Fraction) -> dict[PairClass, Fraction]:
        """Derive the largest sum of absolute changes along the secret pairs of each class."""
        return sensitivity_by_class(self.form, policy, largest)

    def change(self, x: Cell, y: Cell | None) -> Fraction:
        """Add up the absolute changes of the answers."""
        return self.form.weight(x) if y is None else self.form.change(x, y)

    def hidden(self, change: Fraction) -> Fraction:
        """Divide the L1 change of the answers by the scale."""
        return change / self.form.unit / self.scale

    def noise(self, count: int, source: BitSource) -> npt.NDArray[np.int64]:
        """Draw discrete Laplace noise."""
        return discrete_laplace(self.scale, count, source=source)

    def words(self) -> str:
        """State the scale and the unit of the noise."""
        unit = self.form.unit / self.divisor
        scale = rounded(self.scale * unit)
        return f"Each number gets Laplace noise of scale {scale}, in whole multiples of {rounded(unit)}."
