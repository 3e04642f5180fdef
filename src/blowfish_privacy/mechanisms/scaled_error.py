"""The error of a number that is so many times another one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from blowfish_privacy.mechanisms.error import Error
from blowfish_privacy.support.exact import Number


@dataclass(frozen=True)
class ScaledError:
    """The error of a number in other units than those it was computed in, and what it is of."""

    error: Error
    factor: Fraction
    of: str

    unit = Fraction(1)

    @property
    def distribution(self) -> str:
        """The law of the error."""
        return self.error.distribution

    @property
    def precision(self) -> float:
        """The relative standard error of the mean squared error."""
        return self.error.precision

    @property
    def mse(self) -> float:
        """The mean squared error."""
        return self.error.mse * float(self.factor) ** 2

    @property
    def rmse(self) -> float:
        """The root of the mean squared error: the typical size of the error."""
        return self.error.rmse * float(self.factor)

    def interval(self, level: Number = "0.95") -> float:
        """Return a bound on the error that holds with at least this probability."""
        return self.error.interval(level) * float(self.factor)
