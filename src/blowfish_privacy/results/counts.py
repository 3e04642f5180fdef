"""A noisy histogram."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain, Subset
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.mechanisms import Error, ExpectedError, MeanOffsets, WeightedOffsets
from blowfish_privacy.mechanisms.constraints import ConstrainedError, Constraints, Correction
from blowfish_privacy.queries.query import Pattern
from blowfish_privacy.release.plan import sliced
from blowfish_privacy.results.pictures.figure import Drawing
from blowfish_privacy.results.pictures.intervals import AnswersDrawing, IntervalsDrawing, LabelledInterval
from blowfish_privacy.results.pictures.tables import CountsDrawing
from blowfish_privacy.results.result import Result, as_float, rows_of_cells
from blowfish_privacy.support.arrays import (
    Columns,
    Floats,
    Integers,
    Labels,
    estimates,
    single_estimates,
    standard_errors,
)
from blowfish_privacy.support.exact import Number, about, with_error


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
    def values(self) -> npt.NDArray[Any]:
        return self._estimate.copy()

    @property
    def counts(self) -> npt.NDArray[Any]:
        """The unbiased estimate of each count, shaped like the attributes."""
        return self.values.reshape(self.domain.shape)

    def consistent(self) -> Integers:
        """Return near whole counts that are not negative and meet every public total.

        They are biased: where few records are, what noise took below zero is cut off and what it added is not.
        """
        constraints = self.release.constraints
        if constraints is None:
            total = "number" if self.release.query.counts_records else "total weight"
            raise RefusalError(f"the {total} of these records is not public, so counts have no known total.")
        return constraints.whole(self._estimate).reshape(self.counts.shape)

    def error(self) -> Error:
        raw, constraints = super().error(), self._constraints
        if constraints is None or not isinstance(raw, ExpectedError):
            return raw
        return ConstrainedError.of_cells(raw, constraints)

    def interval(self, level: Number = "0.95") -> tuple[Floats, Floats]:
        """Return, for every cell, bounds between which the true count lies with probability ``level``."""
        half = self._halves(level)
        return self.counts - half, self.counts + half

    def _halves(self, level: Number = "0.95") -> Floats:
        """Return half the width of the interval of every cell: none where it is exact."""
        return np.where(self._selected, _halves_of(self.error(), level), 0.0).reshape(self.domain.shape)

    def _remarks(self) -> list[str]:
        if self._constraints is None:
            return []
        left = f"a typical error of {about(self.error().rmse)} for a cell"
        return [
            f"Tables and pictures meet every public total, which leaves {left}. Whole counts (“consistent”) are biased."
        ]

    @property
    def header(self) -> list[str]:
        extra = ["consistent"] if self.release.constraints is not None else []
        return [*self.domain.names, self.quantity.replace(" ", "_"), *extra, "typical_error"]

    def rows(self) -> Iterator[list[Any]]:
        chosen = np.flatnonzero(self._selected)
        wrong = np.where(self._selected, _sizes_of(self.error()), 0.0)
        whole = [] if self.release.constraints is None else [self.consistent().reshape(-1)]
        numbers = [estimates(self.values, wrong), *whole, standard_errors(wrong)]
        return rows_of_cells(self.domain, *(each[chosen] for each in numbers), cells=chosen)

    def drawings(self) -> Sequence[Drawing]:
        exact = not self.certificate.amount
        return [CountsDrawing(self.domain, self.counts, self._halves(), self.title(), self.quantity, exact)]


def _sizes_of(error: Error) -> Floats | float:
    """Return the root mean squared error of each answer, or that of all: 0 where public totals say it."""
    return error.by_answer() if isinstance(error, ConstrainedError) else error.rmse


def _halves_of(error: Error, level: Number) -> Floats | float:
    """Return half the width of the interval of each answer, or that of all."""
    return error.intervals(level) if isinstance(error, ConstrainedError) else error.interval(level)


# One noisy number: a sum or a mean.


class NumberResult(Result):
    """A sum, a mean or any other single number."""

    kind = "number"

    @property
    def values(self) -> npt.NDArray[Any]:
        mechanism = self.release.mechanism
        if isinstance(mechanism, MeanOffsets | WeightedOffsets):
            return np.clip([mechanism.mean(self.release.noisy)], *self._selected)
        return super().values

    @property
    def _selected(self) -> tuple[float, float]:
        """The lowest and the highest value that a condition on the attribute itself leaves."""
        name = self.release.query.attributes[0]
        attribute = self.release.policy.domain[name]
        chosen = self.release.population.box.get(name, Subset.span(0, attribute.size))
        return float(attribute.value(chosen.first)), float(attribute.value(chosen.last))

    def error(self) -> Error:
        mechanism = self.release.mechanism
        if isinstance(mechanism, MeanOffsets | WeightedOffsets):
            return mechanism.error_of(self.release.noisy)
        return super().error()

    @property
    def value(self) -> float | int:
        """The noisy answer; unbiased, but for a mean whose count is noisy too."""
        return self.values[0].item()

    def in_short(self) -> str:
        return f"{with_error(self.value, self.error().rmse)}; "

    @property
    def header(self) -> list[str]:
        return ["query", "value", "typical_error", "within_95_in_100"]

    def rows(self) -> Iterator[list[Any]]:
        error = self.error()
        (value,) = single_estimates(self.values, error.rmse).tolist()
        query = self.release.query
        asked = f"{query.keyword} of {query.subject}{self.condition()}"
        yield [asked, value, *standard_errors([error.rmse, error.interval("0.95")]).tolist()]

    def intervals_shown(self) -> Sequence[LabelledInterval]:
        width = self.error().interval("0.95")
        ends = self.value - width, self.value + width
        low, high = np.clip(ends, *self._selected).tolist() if self.release.query.keyword == "mean" else ends
        return [LabelledInterval(float(self.value), min(low, self.value), max(high, self.value))]

    def drawings(self) -> Sequence[Drawing]:
        return [IntervalsDrawing({"": self.intervals_shown()}, self.asked(), self.title())]


# Several noisy numbers: a linear query, a cumulative histogram.

_MOST_NAMED = 30
"""Answers that have room for a row each."""


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
        if form.pattern is not Pattern.RANKS or self._constraints is None or not isinstance(error, ExpectedError):
            return None

        def spread(weights: Floats) -> Floats:
            """Multiply by the covariance of differences of neighbours with independent noise of variance 1."""
            return np.diff(weights - np.pad(weights[1:], ((0, 1), (0, 0))), axis=0, prepend=0.0)

        return Correction(self._constraints, spread)

    def _corrected(self, sums: Floats, stated: Constraints | None = None) -> Floats:
        made = self._correction
        return sums if made is None else np.cumsum(made(np.diff(sums, prepend=0.0), stated))

    @property
    def values(self) -> npt.NDArray[Any]:
        return self.noisy if self._correction is None else self._corrected(as_float(self.noisy))

    def error(self) -> Error:
        raw, made = super().error(), self._correction
        if made is None or not isinstance(raw, ExpectedError):
            return raw
        left = 1 - (np.cumsum(made.taken_away(), axis=0) ** 2).sum(axis=1)
        empty = made.constraints.of_table(np.zeros(made.constraints.cells, dtype=np.int64))
        return ConstrainedError(raw, left, lambda noise: self._corrected(noise, empty))

    @property
    def header(self) -> list[str]:
        return ["output", "value", "typical_error"]

    def rows(self) -> Iterator[list[Any]]:
        wrong = np.broadcast_to(_sizes_of(self.error()), len(self.values))
        return Columns(Labels.of_all(self.labels()), estimates(self.values, wrong), standard_errors(wrong))

    def interval(self, level: Number = "0.95") -> tuple[Floats, Floats]:
        """Return, for every answer, bounds between which the true one lies with probability ``level``."""
        half = _halves_of(self.error(), level)
        return as_float(self.values) - half, as_float(self.values) + half

    def intervals_shown(self) -> Sequence[LabelledInterval]:
        if len(self.values) > _MOST_NAMED or self._ordered:
            return ()
        low, high = self.interval()
        answers = zip(as_float(self.values).tolist(), low.tolist(), high.tolist(), self.labels(), strict=True)
        return [LabelledInterval(*each) for each in answers]

    @property
    def _ordered(self) -> bool:
        """Whether the answers are those for the values of an ordered attribute."""
        return self.release.query.labels(self.release.policy.domain) is not None

    def drawings(self) -> Sequence[Drawing]:
        if shown := self.intervals_shown():
            return [IntervalsDrawing({each.name: [each] for each in shown}, self.asked(), self.title())]
        about = ", ".join(self.release.query.attributes)
        along = self.release.query.own_domain(self.release.policy.domain) if self._ordered else None
        return [AnswersDrawing(as_float(self.values), *self.interval(), self.labels(), about, along, self.title())]

    def asked(self) -> str:
        return f"answer about {', '.join(self.release.query.attributes)}"
