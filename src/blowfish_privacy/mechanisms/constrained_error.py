"""The error of an estimate that meets public totals, where every answer has noise of one scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt

import numpy as np

from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.constraints import Constraints
from blowfish_privacy.mechanisms.error import ExpectedError, in_short
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number, exact

_DRAWN = 40_000


@dataclass(frozen=True, eq=False)
class ConstrainedError:
    """The error of an answer of the best linear estimate; it does not depend on the data."""

    raw: ExpectedError
    """The error of an answer before the totals are used."""
    left: Floats
    """The share of the variance of each answer that is left."""
    estimate: Callable[[Floats], Floats]
    """Turns noise, counted in units, into the error that it leaves."""
    precision: float = 0.0

    def __repr__(self) -> str:
        return in_short(self)

    @classmethod
    def of_cells(cls, raw: ExpectedError, constraints: Constraints) -> ConstrainedError:
        """Give the error of the cells nearest in squares."""
        empty = constraints.of_table(np.zeros(constraints.cells, dtype=np.int64))
        return cls(raw, 1 - constraints.leverage, empty.nearest)

    @property
    def distribution(self) -> str:
        """How its spread was estimated."""
        return f"{self.raw.law.name} draws, less what the public totals say of them, simulated"

    @property
    def of(self) -> str:
        """What the error refers to."""
        return self.raw.of

    @property
    def unit(self) -> Fraction:
        """What one whole number of the release stands for."""
        return self.raw.unit

    @property
    def mse(self) -> float:
        """The mean squared error, over all answers."""
        return float(np.mean(self.by_answer() ** 2))

    @property
    def rmse(self) -> float:
        """The root of the mean squared error: the typical size of the error."""
        return sqrt(self.mse)

    def by_answer(self) -> Floats:
        """Return the root mean squared error of each answer: 0 where the totals tell it."""
        return np.sqrt(self.raw.mse * np.where(self.left > 1e-9, self.left, 0.0))

    def interval(self, level: Number = "0.95") -> float:
        """Return a bound on the error of a random answer that holds with probability ``level``; simulated."""
        return self._quantile(self._sampled, level)

    def intervals(self, level: Number = "0.95") -> Floats:
        """Return a bound on the error of each answer: 0 where the totals tell it, else in proportion to its error.

        Errors of different sizes have nearly the same shape, so that few draws of each tell enough.
        """
        errors = self.by_answer()
        noisy = errors > 0
        sizes = self._sampled.reshape(-1, len(errors))[:, noisy] / errors[noisy]
        return errors * self._quantile(sizes, level)

    def _quantile(self, sizes: Floats, level: Number) -> float:
        share = exact(level, "the level", error=QueryError)
        if not 0 < share < 1:
            raise QueryError("the level must lie between 0 and 1.", hint="write it like 0.95.")
        return float(np.quantile(sizes, float(share))) if self.mse else 0.0

    @cached_property
    def _sampled(self) -> Floats:
        # Fixed bits, so that everyone computes the same error for the same noise scales.
        source, many = SimulationSource("public totals"), len(self.left)
        draws = (self.raw.law.draw(self.raw.scale, many, source=source) for _ in range(-(-_DRAWN // many)))
        left = [self.estimate(noise.astype(np.float64)) for noise in draws]
        return np.abs(np.concatenate(left)) * float(self.raw.unit)
