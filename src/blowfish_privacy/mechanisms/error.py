"""The error to expect of an answer, known before any data are read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Protocol

from blowfish_privacy.noise.law import DISCRETE_LAPLACE, Law
from blowfish_privacy.support.exact import Number, about


class Error(Protocol):
    """The error of an answer, whichever mechanism gave it."""

    @property
    def of(self) -> str:
        """What the error refers to: a cell, the sum, a random range, ..."""
        ...

    @property
    def distribution(self) -> str:
        """The law that the error follows, or how its spread was estimated."""
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
        """The relative standard error of :attr:`mse` itself; 0 where it is computed exactly."""
        ...

    def interval(self, level: Number = "0.95") -> float:
        """Return a bound on the error that holds with probability ``level``."""
        ...


def in_short(error: Error) -> str:
    """Write an error in one line: what it is of, and its typical size."""
    return f"<{type(error).__name__} of {error.of}: {about(error.rmse)} (root mean squared)>"


def shown(bound: float, error: Error) -> str:
    """Write the size of an error, over what the answer will be divided by where that is not known beforehand."""
    divisor = error.of.partition(" times the ")[2]
    return f"{about(bound)} / {divisor}" if divisor else about(bound)


@dataclass(frozen=True)
class ExpectedError:
    """The error of one answer with noise of one scale, counted in units. A scale of 0 means an exact answer."""

    scale: Fraction
    unit: Fraction
    of: str
    """What the error refers to: a cell, the sum, ..."""
    law: Law = DISCRETE_LAPLACE

    def __repr__(self) -> str:
        return in_short(self)

    @property
    def distribution(self) -> str:
        """The law of the noise."""
        return self.law.name

    @property
    def precision(self) -> float:
        """Always 0: the variance of one draw is known exactly."""
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
        """Return a bound on the error that holds with probability ``level``."""
        return float(self.law.quantile(self.scale, level) * self.unit) if self.scale else 0.0
