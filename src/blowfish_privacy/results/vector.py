"""Several noisy numbers: a linear query, a cumulative histogram."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms import Error, ExpectedError
from blowfish_privacy.mechanisms.constrained_error import ConstrainedError
from blowfish_privacy.mechanisms.constraints import Constraints, Correction
from blowfish_privacy.queries.query import Pattern
from blowfish_privacy.results.pictures.figure import plain_text
from blowfish_privacy.results.result import Result, as_float
from blowfish_privacy.support.columns import Columns, Labels


class VectorResult(Result):
    """Answers in a row, for queries that no other result shows."""

    kind = "vector"

    def labels(self) -> list[str]:
        """Name the outputs: the values of an ordered attribute, or their numbers."""
        named = self.release.query.labels(self.release.policy.domain)
        return [str(output) for output in range(len(self.values))] if named is None else named

    @cached_property
    def _correction(self) -> Correction | None:
        """What public totals say of a cumulative histogram whose counts up to each value have independent noise."""
        made = self.release
        form, error = made.query.on(made.policy.domain), made.mechanism.expected_error()
        if form.pattern is not Pattern.RANKS or made.constraints is None or not made.certificate.amount:
            return None
        return Correction(made.constraints, _between_neighbours) if isinstance(error, ExpectedError) else None

    def _corrected(self, sums: npt.NDArray[np.float64], stated: Constraints | None = None) -> npt.NDArray[np.float64]:
        made = self._correction
        return sums if made is None else np.cumsum(made(np.diff(sums, prepend=0.0), stated))

    @property
    def values(self) -> npt.NDArray[Any]:
        """The unbiased answers; counts up to each value meet every public total."""
        return self.noisy if self._correction is None else self._corrected(as_float(self.noisy))

    def error(self) -> Error:
        """Say how wrong an answer is: one of :attr:`values`."""
        raw, made = super().error(), self._correction
        if made is None or not isinstance(raw, ExpectedError):
            return raw
        left = 1 - (np.cumsum(made.taken_away(), axis=0) ** 2).sum(axis=1)
        empty = made.constraints.of_table(np.zeros(made.constraints.cells, dtype=np.int64))
        return ConstrainedError(raw, left, lambda noise: self._corrected(noise, empty))

    @property
    def header(self) -> list[str]:
        """The output, the answer, and its error."""
        return ["output", "value", "typical_error"]

    def rows(self) -> Iterator[list[Any]]:
        """One row for each output."""
        error = self.error()
        alike = np.full(len(self.values), error.rmse)
        wrong = error.by_answer() if isinstance(error, ConstrainedError) else alike
        return Columns(Labels.of_all(self.labels()), self.values, wrong)

    def draw(self, axes: Any) -> None:
        """Draw the answers with the band that holds each in 95 of 100."""
        values, width = as_float(self.values), self.error().interval("0.95")
        positions = range(len(values))
        axes.fill_between(positions, values - width, values + width, alpha=0.25, step="mid")
        axes.step(positions, values, where="mid")
        shown = list(positions)[:: max(1, len(values) // 8)]
        axes.set_xticks(shown, [plain_text(self.labels()[position]) for position in shown])
        about = ", ".join(self.release.query.attributes)
        named = self.release.query.labels(self.release.policy.domain) is not None
        axes.set_xlabel(plain_text(about if named else f"number of the answer about {about}"))
        axes.set_ylabel("answer, with its 95 % interval" if width else "exact answer")


def _between_neighbours(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Multiply by the covariance of the differences of neighbouring numbers with independent noise of variance 1."""
    return np.diff(weights - np.pad(weights[1:], ((0, 1), (0, 0))), axis=0, prepend=0.0)
