"""A noisy histogram."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.mechanisms import Error, ExpectedError
from blowfish_privacy.mechanisms.constraints import ConstrainedError, Constraints
from blowfish_privacy.release.plan import sliced
from blowfish_privacy.results.pictures.tables import draw_table, table_figure
from blowfish_privacy.results.result import Result
from blowfish_privacy.support.arrays import Columns, Floats, Labels, estimates, standard_errors
from blowfish_privacy.support.exact import Number, about


class HistogramResult(Result):
    """A count for every cell: unbiased, so some may be negative, and a consistent version beside it.

    Both meet every public total; :attr:`noisy` has the counts as they were released.
    """

    kind = "histogram"

    @property
    def domain(self) -> Domain:
        """The attributes, each cell of which has a count."""
        return self.release.query.cells(self.release.policy.domain)

    @property
    def quantity(self) -> str:
        """What a cell holds: a count, or a sum of weights."""
        return "count" if self.release.query.counts_records else "weighted count"

    @cached_property
    def _estimate(self) -> npt.NDArray[Any]:
        constraints = self._constraints
        estimate = self.noisy if constraints is None else constraints.nearest(self.noisy)
        return np.where(self._selected, estimate, 0)

    @cached_property
    def _selected(self) -> npt.NDArray[np.bool_]:
        """The cells that a condition selects; the others are empty, whatever noise they got."""
        domain = self.domain
        every = np.ones(domain.shape, dtype=np.int64)
        return sliced(every, domain, self.release.population.box).reshape(-1).astype(bool)

    @property
    def _constraints(self) -> Constraints | None:
        """The public totals, where there is noise to take away."""
        return self.release.constraints if self.release.certificate.amount else None

    @property
    def values(self) -> npt.NDArray[Any]:
        """The unbiased estimate of each count: the nearest to the noisy counts that meets every public total."""
        return self._estimate.copy()

    @property
    def counts(self) -> npt.NDArray[Any]:
        """The unbiased estimate of each count, shaped like the attributes."""
        return self.values.reshape(self.domain.shape)

    def consistent(self) -> npt.NDArray[np.int64]:
        """Return near whole counts that are not negative and meet every public total.

        They are biased: where few records are, what noise took below zero is cut off and what it added is not.
        """
        constraints = self.release.constraints
        if constraints is None:
            total = "number" if self.release.query.counts_records else "total weight"
            raise RefusalError(f"the {total} of these records is not public, so counts have no known total.")
        return constraints.whole(self._estimate).reshape(self.counts.shape)

    def error(self) -> Error:
        """Say how wrong a count is: one of :attr:`values`, which uses the public totals."""
        raw = super().error()
        constraints = self._constraints
        return (
            raw
            if constraints is None or not isinstance(raw, ExpectedError)
            else ConstrainedError.of_cells(raw, constraints)
        )

    @property
    def _wrong(self) -> Floats:
        """The root mean squared error of each count: 0 where it is exact."""
        error = self.error()
        wrong = error.by_answer() if isinstance(error, ConstrainedError) else error.rmse
        return np.where(self._selected, wrong, 0.0)

    def interval(self, level: Number = "0.95") -> tuple[Floats, Floats]:
        """Return, for every cell, bounds between which the true count lies with probability ``level``."""
        half = self._halves(level)
        return self.counts - half, self.counts + half

    def _halves(self, level: Number = "0.95") -> Floats:
        """Return half the width of the interval of every cell: none where it is exact."""
        error = self.error()
        half = error.intervals(level) if isinstance(error, ConstrainedError) else error.interval(level)
        return np.where(self._selected, half, 0.0).reshape(self.domain.shape)

    def remarks(self) -> list[str]:
        """State the error of the counts shown, and that whole counts are biased."""
        if self._constraints is None:
            return []
        left = f"a typical error of {about(self.error().rmse)} for a cell"
        return [
            f"Tables and pictures meet every public total, which leaves {left}. Whole counts (“consistent”) are biased."
        ]

    @property
    def header(self) -> list[str]:
        """The attributes, the estimated count, and the consistent one where the total is public."""
        extra = ["consistent"] if self.release.constraints is not None else []
        return [*self.domain.names, self.quantity.replace(" ", "_"), *extra, "typical_error"]

    def rows(self) -> Iterator[list[Any]]:
        """One row for each cell that is selected; the error is that of the estimated count."""
        domain = self.domain
        chosen = np.flatnonzero(self._selected)
        wrong = self._wrong
        whole = [] if self.release.constraints is None else [self.consistent().reshape(-1)]
        numbers = [estimates(self.values, wrong), *whole, standard_errors(wrong)]
        places = np.unravel_index(chosen, domain.shape)
        labels = [Labels(each.texts(), at) for each, at in zip(domain.attributes, places, strict=True)]
        return Columns(*labels, *(each[chosen] for each in numbers))

    def draw(self, axes: Any) -> None:
        """Draw bars, dots, a pyramid or a map, whichever suits the attributes, each count with its interval."""
        draw_table(axes, self.counts, self.domain, self._halves(), self._said)

    def _figure(self) -> Any:
        return table_figure(self.counts, self.domain, self._halves(), self._said)

    @property
    def _said(self) -> str:
        return self.quantity if self.release.certificate.amount else f"exact {self.quantity}"
