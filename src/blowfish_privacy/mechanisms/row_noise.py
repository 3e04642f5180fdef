"""The noise on rows of whole numbers: which law it follows, what a change of the rows loses, how it is written down."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import sqrt
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import PolicyError
from blowfish_privacy.mechanisms.mechanism import NO_NOISE
from blowfish_privacy.noise import BitSource, checked_scale, checked_variance, discrete_gaussian, discrete_laplace
from blowfish_privacy.noise.law import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE, Law
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
from blowfish_privacy.support.exact import about, rounded


class RowNoise(ABC):
    """Independent noise on whole-number rows, each with what the law calls its scale. A scale of 0 means no noise."""

    law: ClassVar[Law]
    counted_in: ClassVar[Measure]
    power: ClassVar[int]
    """By which power changes of rows count: as they are, or squared."""
    key: ClassVar[str]
    """What a document calls the scale."""

    @abstractmethod
    def check(self, scale: Fraction) -> None:
        """Refuse, before anything is charged, a scale that cannot be drawn from."""

    @abstractmethod
    def draw(self, scale: Fraction, size: int | Sequence[int], source: BitSource) -> npt.NDArray[np.int64]:
        """Draw noise of a scale."""

    @abstractmethod
    def scaled(self, scale: Fraction, unit: int) -> Fraction:
        """Return the scale of noise that is so many times as large."""

    def sensitivity(self, form: LinearForm, policy: Policy) -> Sensitivity:
        """Derive how much a linear form changes between neighbours, counted as the noise counts it."""
        return sensitivity_of(form, policy, Norm.L1 if self.power == 1 else Norm.L2)

    def by_class(self, form: LinearForm, policy: Policy, largest: Fraction) -> dict[PairClass, Fraction]:
        """Derive how much a linear form changes along the secret pairs of each class, counted alike."""
        return sensitivity_by_class(form, policy, largest, Norm.L1 if self.power == 1 else Norm.L2)

    @abstractmethod
    def moved(self, form: LinearForm, x: Cell, y: Cell) -> Fraction:
        """Return how much a linear form changes when a record moves, counted alike."""

    @abstractmethod
    def weighed(self, form: LinearForm, x: Cell) -> Fraction:
        """Return how much a linear form changes when a record comes or goes, counted alike."""

    @abstractmethod
    def words(self, scale: Fraction, unit: int) -> str:
        """Say how large the noise is on rows that count in parts of a record."""

    @abstractmethod
    def described(self, scale: Fraction, unit: Fraction) -> str:
        """Name the law of the noise, and how large it is in units."""

    @abstractmethod
    def _ratio(self, change: Fraction, scale: Fraction) -> Fraction:
        """Return what a change loses; neither is zero."""

    def change(self, rows: Iterable[int]) -> int:
        """Add up the changes of rows, each to the power by which it counts."""
        return sum(abs(row) ** self.power for row in rows)

    def lost(self, change: Fraction | int, scale: Fraction) -> Fraction:
        """Return the privacy loss on a change of rows that have noise of a scale."""
        if change and not scale:
            raise PolicyError(NO_NOISE)
        return self._ratio(Fraction(change), scale) if change else Fraction(0)

    def variance(self, scale: Fraction) -> float:
        """Return the variance of the noise."""
        return self.law.variance(scale) if scale else 0.0


class LaplaceRows(RowNoise):
    """Discrete Laplace noise: the loss in epsilon is the sum of |change| / scale."""

    law = DISCRETE_LAPLACE
    counted_in = EPSILON
    power = 1
    key = "scale"

    def check(self, scale: Fraction) -> None:
        if scale:
            checked_scale(scale)

    def draw(self, scale: Fraction, size: int | Sequence[int], source: BitSource) -> npt.NDArray[np.int64]:
        return discrete_laplace(scale, size, source=source)

    def scaled(self, scale: Fraction, unit: int) -> Fraction:
        return scale * unit

    def moved(self, form: LinearForm, x: Cell, y: Cell) -> Fraction:
        return form.change(x, y)

    def weighed(self, form: LinearForm, x: Cell) -> Fraction:
        return form.weight(x)

    def words(self, scale: Fraction, unit: int) -> str:
        return f"scale {rounded(scale)}"

    def described(self, scale: Fraction, unit: Fraction) -> str:
        return f"Laplace noise of scale {rounded(scale * unit)}"

    def _ratio(self, change: Fraction, scale: Fraction) -> Fraction:
        return change / scale


class GaussianRows(RowNoise):
    """Discrete Gaussian noise of a variance: the loss in rho is the sum of change^2 / (2 variance)."""

    law = DISCRETE_GAUSSIAN
    counted_in = RHO
    power = 2
    key = "variance"

    def check(self, scale: Fraction) -> None:
        if scale:
            checked_variance(scale)

    def draw(self, scale: Fraction, size: int | Sequence[int], source: BitSource) -> npt.NDArray[np.int64]:
        return discrete_gaussian(scale, size, source=source)

    def scaled(self, scale: Fraction, unit: int) -> Fraction:
        return scale * unit**2

    def moved(self, form: LinearForm, x: Cell, y: Cell) -> Fraction:
        return form.squared_change(x, y)

    def weighed(self, form: LinearForm, x: Cell) -> Fraction:
        return form.squared_weight(x)

    def words(self, scale: Fraction, unit: int) -> str:
        return f"standard deviation {sqrt(scale) / unit:.4g}"

    def described(self, scale: Fraction, unit: Fraction) -> str:
        return f"Gaussian noise of standard deviation {about(sqrt(scale) * float(unit))}"

    def _ratio(self, change: Fraction, scale: Fraction) -> Fraction:
        return change / (2 * scale)


LAPLACE_ROWS = LaplaceRows()
GAUSSIAN_ROWS = GaussianRows()
