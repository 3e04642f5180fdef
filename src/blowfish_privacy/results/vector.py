"""Several noisy numbers: a linear query, a cumulative histogram."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain, Integer
from blowfish_privacy.mechanisms import Error, ExpectedError
from blowfish_privacy.mechanisms.constraints import ConstrainedError, Constraints, Correction
from blowfish_privacy.queries.query import Pattern
from blowfish_privacy.results.pictures.figure import plain_text
from blowfish_privacy.results.pictures.intervals import Interval, draw_intervals, interval_figure
from blowfish_privacy.results.pictures.steps import draw_steps
from blowfish_privacy.results.pictures.ticks import label_numbers, label_values
from blowfish_privacy.results.result import Result, as_float
from blowfish_privacy.support.arrays import Columns, Labels, estimates, standard_errors
from blowfish_privacy.support.exact import Number

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
        wrong = error.by_answer() if isinstance(error, ConstrainedError) else np.full(len(self.values), error.rmse)
        return Columns(Labels.of_all(self.labels()), estimates(self.values, wrong), standard_errors(wrong))

    def interval(self, level: Number = "0.95") -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return, for every answer, bounds between which the true one lies with probability ``level``."""
        error = self.error()
        half = error.intervals(level) if isinstance(error, ConstrainedError) else error.interval(level)
        return as_float(self.values) - half, as_float(self.values) + half

    def intervals_shown(self) -> Sequence[Interval]:
        """Return the answers, where they are few and have no order of their own."""
        if len(self.values) > _MOST_NAMED or self._ordered:
            return ()
        low, high = self.interval()
        answers = zip(as_float(self.values).tolist(), low.tolist(), high.tolist(), self.labels(), strict=True)
        return [Interval(*each) for each in answers]

    @property
    def _ordered(self) -> bool:
        """Whether the answers are those for the values of an ordered attribute."""
        return self.release.query.labels(self.release.policy.domain) is not None

    def draw(self, axes: Any) -> None:
        """Draw the answers with the interval that holds each in 95 of 100: dots, or a band where there are many."""
        values, (low, high) = as_float(self.values), self.interval()
        words = "answer, with its 95 % interval" if (high > low).any() else "exact answer"
        about = ", ".join(self.release.query.attributes)
        named = about if self._ordered else f"number of the answer about {about}"
        if shown := self.intervals_shown():
            draw_intervals(axes, {each.name: [each] for each in shown}, words, least=0.0)
            axes.set_ylabel(plain_text(named), fontsize=9)
            return
        draw_steps(axes, values, low, high)
        own = self.release.query.own_domain(self.release.policy.domain)
        numbered = Domain(answer=Integer(0, len(values) - 1))
        label_values(axes.xaxis, own if self._ordered and own.size == len(values) else numbered)
        axes.set_xlabel(plain_text(named))
        label_numbers(axes.yaxis, words)

    def _figure(self) -> Any:
        shown = self.intervals_shown()
        return interval_figure({each.name: [each] for each in shown}, self.asked()) if shown else super()._figure()

    def asked(self) -> str:
        """Say in a few words what was asked."""
        return f"answer about {', '.join(self.release.query.attributes)}"


def _between_neighbours(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Multiply by the covariance of the differences of neighbouring numbers with independent noise of variance 1."""
    return np.diff(weights - np.pad(weights[1:], ((0, 1), (0, 0))), axis=0, prepend=0.0)
