"""A noisy histogram."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import RefusalError
from blowfish_privacy.results.pictures.counts import draw_counts
from blowfish_privacy.results.result import Result, as_float


class HistogramResult(Result):
    """A count for every cell: unbiased, so some may be negative, and a consistent version beside it."""

    kind = "histogram"

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """The unbiased noisy counts, shaped like the attributes."""
        return self.values.reshape(self.release.query.own_domain(self.release.policy.domain).shape)

    def consistent(self) -> npt.NDArray[np.int64]:
        """Return the nearest whole counts that are not negative and add up to the public number of records."""
        records = self.release.records
        if records is None:
            raise RefusalError("the number of records is not public under this policy, so counts have no known total.")
        return consistent_counts(self.values, records).reshape(self.counts.shape)

    @property
    def header(self) -> list[str]:
        """The attributes, the noisy count, and the consistent one where the total is public."""
        extra = ["consistent"] if self.release.records is not None else []
        return [*self.release.query.attributes, "count", *extra, "typical_error"]

    def rows(self) -> Iterator[list[Any]]:
        """One row for each cell."""
        domain = self.release.query.own_domain(self.release.policy.domain)
        columns: list[Any] = [self.values.tolist()]
        if self.release.records is not None:
            columns.append(self.consistent().reshape(-1).tolist())
        rmse = self.error().rmse
        labels = ([attribute.show(position) for position in range(attribute.size)] for attribute in domain.attributes)
        for shown, *numbers in zip(product(*labels), *columns, strict=True):
            yield [*shown, *numbers, rmse]

    def draw(self, axes: Any) -> None:
        """Draw bars with error bars for one attribute, lines for the second, a picture of colours beyond."""
        domain = self.release.query.own_domain(self.release.policy.domain)
        draw_counts(axes, self.counts, domain, self.error().interval("0.95"))


def consistent_counts(noisy: npt.NDArray[Any], records: int) -> npt.NDArray[np.int64]:
    """Project on the counts that are not negative and add up to ``records``, then round to whole numbers.

    The projection subtracts one number from all counts and cuts at zero; rounding gives the largest remainders what is
    missing to the total.
    """
    values = as_float(noisy)
    descending = np.sort(values)[::-1]
    excess = np.cumsum(descending) - records
    ranks = np.arange(1, len(values) + 1)
    positive = np.flatnonzero(descending - excess / ranks > 0)
    # With counts far beyond the total rounding can leave none: then the largest takes all.
    kept = int(positive[-1]) if len(positive) else 0
    projected = np.maximum(values - excess[kept] / (kept + 1), 0) if records else np.zeros(len(values))
    whole = np.floor(projected).astype(np.int64)
    remainder = projected - whole
    missing = records - int(whole.sum())
    order = np.argsort(-remainder, kind="stable")
    np.add.at(whole, order[: max(missing, 0)], 1)
    whole[order[0] if missing > len(order) else int(whole.argmax())] += records - int(whole.sum())
    return whole
