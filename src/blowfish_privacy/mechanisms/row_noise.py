"""The noise on rows of whole numbers: which law it follows, what a change of the rows loses, how it is written down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import PolicyError, SpecError
from blowfish_privacy.mechanisms.mechanism import NO_NOISE
from blowfish_privacy.noise import (
    DISCRETE_GAUSSIAN,
    DISCRETE_LAPLACE,
    BitSource,
    Law,
    discrete_gaussian,
    discrete_laplace,
)
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import PairClass
from blowfish_privacy.privacy.measure import EPSILON, RHO, Measure
from blowfish_privacy.privacy.sensitivity import (
    Norm,
    Sensitivity,
    sensitivity_by_class,
    sensitivity_of,
)
from blowfish_privacy.queries import LinearForm
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import about, exact, rounded


@dataclass(frozen=True)
class RowNoise:
    """Independent noise on whole-number rows, each with what the law calls its scale. A scale of 0 means no noise.

    Laplace noise loses the sum of |change| / scale, Gaussian noise that of change^2 / (2 variance).
    """

    law: Law
    counted_in: Measure
    power: int
    """By which power changes of rows count: as they are, or squared."""
    key: str
    """What a document calls the scale."""

    def check(self, *scales: Fraction | None) -> None:
        """Refuse, before anything is charged, scales that cannot be drawn from."""
        for scale in filter(None, scales):
            self.law.check(scale)

    def draw(self, scale: Fraction, size: int | Sequence[int], source: BitSource) -> Integers:
        """Draw noise of a scale that is not 0."""
        sampler = discrete_laplace if self.power == 1 else discrete_gaussian
        return sampler(scale, size, source=source)

    def on(self, rows: Integers, scale: Fraction | None, source: BitSource) -> Integers:
        """Add noise to exact rows."""
        return rows + self.draw(scale, len(rows), source) if scale and len(rows) else rows

    def scaled(self, scale: Fraction, unit: int) -> Fraction:
        """Return the scale of noise that is ``unit`` times as large."""
        return scale * unit**self.power

    def sensitivity(self, form: LinearForm, policy: Policy) -> Sensitivity:
        """Derive how much a linear form changes between neighbours, counted as the noise counts it."""
        return sensitivity_of(form, policy, Norm.L1 if self.power == 1 else Norm.L2)

    def by_class(self, form: LinearForm, policy: Policy, largest: Fraction) -> Mapping[PairClass, Fraction]:
        """Derive how much a linear form changes along the secret pairs of each class."""
        return sensitivity_by_class(form, policy, largest, Norm.L1 if self.power == 1 else Norm.L2)

    def moved(self, form: LinearForm, x: Cell, y: Cell) -> Fraction:
        """Return how much a linear form changes when a record moves."""
        return form.change(x, y) if self.power == 1 else form.squared_change(x, y)

    def weighed(self, form: LinearForm, x: Cell) -> Fraction:
        """Return how much a linear form changes when a record comes or goes."""
        return form.weight(x) if self.power == 1 else form.squared_weight(x)

    def change(self, rows: Iterable[int]) -> int:
        """Add up the changes of rows."""
        return sum(abs(row) ** self.power for row in rows)

    def lost(self, change: Fraction | int, scale: Fraction) -> Fraction:
        """Return the privacy loss on a change of rows that have noise of a scale.

        Loss and scale change places: the scale at which a change loses an amount is its loss at that scale.
        """
        if not change:
            return Fraction(0)
        if not scale:
            raise PolicyError(NO_NOISE)
        return Fraction(change) / (self.power * scale)

    def to_document(self, scale: Fraction) -> dict[str, str]:
        """Write a scale."""
        return {self.key: str(scale)}

    def from_document(self, written: Mapping[str, Any]) -> Fraction:
        """Read a scale."""
        return exact(written[self.key], f"a noise {self.key}", error=SpecError)

    def variance(self, scale: Fraction) -> float:
        """Return the variance of the noise."""
        return self.law.variance(scale) if scale else 0.0

    def size_words(self, scale: Fraction, unit: int) -> str:
        """Say how large the noise is on rows that count in parts of a record."""
        return f"scale {rounded(scale)}" if self.power == 1 else f"standard deviation {sqrt(scale) / unit:.4g}"

    def words(self, scale: Fraction, unit: Fraction) -> str:
        """Name the law of the noise, and how large it is in units."""
        if self.power == 1:
            return f"Laplace noise of scale {rounded(scale * unit)}"
        return f"Gaussian noise of standard deviation {about(sqrt(scale) * float(unit))}"


LAPLACE_ROWS = RowNoise(DISCRETE_LAPLACE, EPSILON, power=1, key="scale")
GAUSSIAN_ROWS = RowNoise(DISCRETE_GAUSSIAN, RHO, power=2, key="variance")
