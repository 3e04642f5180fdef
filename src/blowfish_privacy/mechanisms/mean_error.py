"""The error of a mean whose count is noisy too."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.error import in_short
from blowfish_privacy.noise.law import DISCRETE_LAPLACE
from blowfish_privacy.support.exact import Number, exact


@dataclass(frozen=True)
class MeanError:
    """The error of (sum + e) / (count + f), which is exactly (e - offset f) / (count + f), offset the true mean's.

    Before a release neither the count nor the offset is known: the error is then that of the mean times the number of
    records, for an offset that may be anywhere in the range. After it, both are taken as released (delta method).
    """

    sum_scale: Fraction
    """In half steps."""
    count_scale: Fraction
    """0 where the count is exact."""
    width: int
    """The width of the range of values, in steps."""
    offset: float | None = None
    """The released distance, in steps, of the mean from the middle of the range; None before a release."""
    records: int = 1
    """The released count."""
    step: Fraction = Fraction(1)
    """The distance between neighbouring values."""

    distribution = "two discrete Laplace draws, at the count that is released"
    precision = 0.0
    unit = Fraction(1)

    def __repr__(self) -> str:
        return in_short(self)

    @property
    def of(self) -> str:
        """The mean, or what can be said of it before the count is released."""
        return "the mean times the number of records" if self.offset is None else "the mean"

    @property
    def mse(self) -> float:
        """The mean squared error."""
        squared = self.width**2 / 12 if self.offset is None else self.offset**2
        of_sum, of_count = (DISCRETE_LAPLACE.variance(s) if s else 0.0 for s in (self.sum_scale, self.count_scale))
        squares = (of_sum / 4 + squared * of_count) / self.records**2
        # A released mean lies in the range, so it is never further off than that.
        return float(self.step) ** 2 * (squares if self.offset is None else min(squares, float(self.width) ** 2))

    @property
    def rmse(self) -> float:
        """The root of the mean squared error: the typical size of the error."""
        return sqrt(self.mse)

    def interval(self, level: Number = "0.95") -> float:
        """Return a bound on the error that holds with at least this probability, whatever the data.

        Both draws stay within their own bound with that probability. With bounds E and F of theirs the true offset
        is at most the released one and the error together, so the error is at most (E + offset F) / (count - F).
        """
        share = exact(level, "the level", error=QueryError)
        if not 0 < share < 1:
            raise QueryError("the level must lie between 0 and 1.", hint="write it like 0.95.")
        each = (1 + share) / 2
        of_sum, of_count = (
            float(DISCRETE_LAPLACE.quantile(s, each)) if s else 0.0 for s in (self.sum_scale, self.count_scale)
        )
        if self.offset is None:
            return (of_sum / 2 + self.width / 2 * of_count) * float(self.step)
        if self.records <= of_count:
            return self.width * float(self.step)
        steps = (of_sum / 2 + self.offset * of_count) / (self.records - of_count)
        return min(self.width, steps) * float(self.step)
