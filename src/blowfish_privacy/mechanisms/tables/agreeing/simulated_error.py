"""The error of tables that were made non-negative or whole: estimated by a parametric bootstrap.

The tables themselves stand in for the truth: they get the noise of their release again, from bits that everybody can
reproduce, and the same is done to them once more. No private data are touched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Subset
from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.error import in_short
from blowfish_privacy.mechanisms.tables.agreeing.agreement import Agreement
from blowfish_privacy.mechanisms.tables.nesting import Axes
from blowfish_privacy.mechanisms.tables.tables_mechanism import TablesMechanism
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number, exact
from blowfish_privacy.support.progress import task

_DRAWN = 1_000_000
"""How many cells are simulated: few draws of large tables tell as much as many of small ones."""
_FEWEST, _MOST = 4, 40

Fit: TypeAlias = Callable[[Sequence[Floats]], Sequence[npt.NDArray[Any]]]
"""Turns unbiased tables, axes ascending, into biased ones."""


@dataclass(frozen=True, eq=False)
class SimulatedError:
    """The estimated error of biased tables."""

    mechanism: TablesMechanism[Any]
    agreement: Agreement
    fitted: Sequence[npt.NDArray[Any]]
    """The biased tables, axes ascending."""
    fit: Fit
    unit: Fraction = Fraction(1)
    distribution: str = "that of the tables, simulated on themselves"

    def __repr__(self) -> str:
        return in_short(self)

    @property
    def of(self) -> str:
        """What the error refers to."""
        return self.mechanism.expected_error().of

    @cached_property
    def _errors(self) -> list[list[Floats]]:
        """For each simulation, the errors of all tables."""
        cells = sum(table.size for table in self.fitted)
        draws = min(max(_DRAWN // cells, _FEWEST), _MOST)
        source = SimulationSource("fitted tables")
        errors: list[list[Floats]] = []
        with task("Simulating the error of tables") as report:
            for done in range(draws):
                noise = self.mechanism.simulated_noise(source)
                again = self.fit([table + each for table, each in zip(self.fitted, noise, strict=True)])
                errors.append([table - fitted for table, fitted in zip(again, self.fitted, strict=True)])
                if report:
                    report((done + 1) / draws)
        return errors

    def errors(self, axes: Axes) -> Floats:
        """Return the errors of a table, or of one that it contains, for each simulation; axes in this order."""
        return np.stack([self.agreement.sums(errors, axes) for errors in self._errors])

    def standard_error(self, axes: Axes, chosen: Sequence[Subset] | None = None) -> float:
        """Return the root mean squared error of a cell of a table, or of the sum of the cells that are chosen."""
        errors = self.errors(axes)
        if chosen is not None:
            errors = errors[np.ix_(range(len(errors)), *map(list, chosen))].reshape(len(errors), -1).sum(axis=1)
        return sqrt(float(np.mean(errors**2)))

    def standard_errors(self, axes: Axes) -> Floats:
        """Return the root mean squared error of a cell that has one for each of them: few draws tell no more."""
        noisy = self._noisy(axes)
        return np.where(noisy, sqrt(float(np.mean(self.errors(axes)[:, noisy] ** 2))) if noisy.any() else 0.0, 0.0)

    def _noisy(self, axes: Axes) -> npt.NDArray[np.bool_]:
        """Say which cells of a table do not follow from what is public."""
        return self.mechanism.components.cell_variances(axes) > 0

    @cached_property
    def by_table(self) -> tuple[float, ...]:
        """The mean squared error of a cell of each table."""
        each = [[float(np.mean(error**2)) for error in errors] for errors in self._errors]
        return tuple(np.mean(each, axis=0).tolist())

    @property
    def mse(self) -> float:
        """The mean squared error: of the worst table, or over all cells, as the release was planned for."""
        if self.mechanism.worst:
            return max(self.by_table)
        return float(np.average(self.by_table, weights=[table.size for table in self.fitted]))

    @property
    def rmse(self) -> float:
        """The root of the mean squared error: the typical size of the error."""
        return sqrt(self.mse)

    @property
    def precision(self) -> float:
        """The relative standard error of the estimate itself, roughly: cells of one simulation depend on each other."""
        values = [np.mean([np.mean(error**2) for error in errors]) for errors in self._errors]
        return float(np.std(values) / max(np.mean(values), 1e-12) / sqrt(len(values) - 1))

    def interval(self, level: Number = "0.95") -> float:
        """Return a bound on the error of a cell of the worst table that held in this share of the simulations."""
        _, worst = max(zip(self.by_table, self.agreement.tables, strict=True))
        return self.interval_of(worst, level)

    def interval_of(self, axes: Axes, level: Number = "0.95") -> float:
        """Return a bound on the error of a noisy cell of a table that held in this share of the simulations."""
        share = exact(level, "the level", error=QueryError)
        if not 0 < share < 1:
            raise QueryError("the level must lie between 0 and 1.", hint="write it like 0.95.")
        noisy = self._noisy(axes)
        return float(np.quantile(np.abs(self.errors(axes)[:, noisy]), float(share))) if noisy.any() else 0.0
