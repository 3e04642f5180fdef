"""How wrong an answer will be, known before anything is read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Protocol

from blowfish_privacy.noise.law import DISCRETE_LAPLACE, Law
from blowfish_privacy.support.exact import Number


class Error(Protocol):
    """The error of an answer, whatever made it."""

    @property
    def of(self) -> str:
        """What the error is the error of: a cell, the sum, a random range, ..."""
        ...

    @property
    def distribution(self) -> str:
        """The law that the error follows, or where its spread is taken from."""
        ...

    @property
    def unit(self) -> Fraction:
        """What one whole number of the release stands for."""
        ...

    @property
    def mse(self) -> float:
        """The mean squared error."""
        ...

    @property
    def rmse(self) -> float:
        """The root of the mean squared error: the typical size of the error."""
        ...

    @property
    def precision(self) -> float:
        """How exactly the error itself is known: its relative standard error, 0 when it is computed exactly."""
        ...

    def interval(self, level: Number = "0.95") -> float:
        """Return how far off the answer is at most, with this probability."""
        ...


@dataclass(frozen=True)
class ExpectedError:
    """The error of one answer with noise of a scale, counted in units. A scale of 0 is exact."""

    scale: Fraction
    unit: Fraction
    of: str
    """What the error is the error of: a cell, the sum, ..."""
    law: Law = DISCRETE_LAPLACE

    @property
    def distribution(self) -> str:
        """The law of the noise."""
        return self.law.name

    @property
    def precision(self) -> float:
        """It is computed exactly."""
        return 0.0

    @property
    def mse(self) -> float:
        """The mean squared error."""
        return self.law.variance(self.scale) * float(self.unit) ** 2 if self.scale else 0.0

    @property
    def rmse(self) -> float:
        """The root of the mean squared error: the typical size of the error."""
        return sqrt(self.mse)

    def interval(self, level: Number = "0.95") -> float:
        """Return how far off the answer is at most, with this probability."""
        return float(self.law.quantile(self.scale, level) * self.unit) if self.scale else 0.0
