"""The error of rectangles answered from a noisy grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.error import in_short
from blowfish_privacy.support.exact import Number, exact


@dataclass(frozen=True)
class GridError:
    """The mean squared error of a uniformly random rectangle."""

    mse: float
    unit: Fraction
    of: str = "a random rectangle"
    precision: float = 0.0
    distribution: str = "normal, as the sum of many draws"

    def __repr__(self) -> str:
        return in_short(self)

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


def over_all_rectangles(errors: npt.NDArray[np.float64]) -> float:
    """Return the mean squared error over all rectangles of a grid whose cells have these errors."""
    sums = np.pad(np.cumsum(np.cumsum(errors, axis=0), axis=1), ((1, 0), (1, 0)))
    first, second = sums.shape
    centred = sums - sums.mean(axis=0) - sums.mean(axis=1)[:, None] + sums.mean()
    return 4 * float((centred**2).sum()) / ((first - 1) * (second - 1))
