"""The error of rectangles answered from a noisy grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist

from blowfish_privacy.errors import QueryError
from blowfish_privacy.support.exact import Number, exact


@dataclass(frozen=True)
class GridError:
    """The mean squared error of a uniformly random rectangle."""

    mse: float
    unit: Fraction
    of: str = "a random rectangle"
    precision: float = 0.0
    distribution: str = "normal, as the sum of many draws"

    @property
    def rmse(self) -> float:
        """The root of the mean squared error: the typical size of the error."""
        return sqrt(self.mse)

    def interval(self, level: Number = "0.95") -> float:
        """Return a bound on the error of a random rectangle, for a probability of ``level`` under a normal law."""
        share = exact(level, "the level", error=QueryError)
        if not 0 < share < 1:
            raise QueryError("the level must lie between 0 and 1.", hint="write it like 0.95.")
        return self.rmse * NormalDist().inv_cdf((1 + float(share)) / 2)
