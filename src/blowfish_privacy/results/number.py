"""One noisy number: a sum or a mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Subset
from blowfish_privacy.mechanisms import Error, MeanOffsets, WeightedOffsets
from blowfish_privacy.results.pictures.intervals import Interval, draw_intervals, interval_figure
from blowfish_privacy.results.result import Result
from blowfish_privacy.support.arrays import single_estimates, standard_errors
from blowfish_privacy.support.exact import with_error


class NumberResult(Result):
    """A sum, a mean or any other single number."""

    kind = "number"

    @property
    def values(self) -> npt.NDArray[Any]:
        """The one answer; a mean is divided here where its count is noisy too."""
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

    @property
    def _asked(self) -> str:
        return f"{self.release.query.keyword} of {self.release.query.subject}{self.condition()}"

    def error(self) -> Error:
        """Say how wrong the answer is."""
        mechanism = self.release.mechanism
        return (
            mechanism.error_of(self.release.noisy)
            if isinstance(mechanism, MeanOffsets | WeightedOffsets)
            else super().error()
        )

    @property
    def value(self) -> float | int:
        """The noisy answer; unbiased, but for a mean whose count is noisy too."""
        return self.values[0].item()

    def in_short(self) -> str:
        """Write the answer with its standard error, to the digits that this leaves."""
        return f"{with_error(self.value, self.error().rmse)}; "

    @property
    def header(self) -> list[str]:
        """What was asked, the answer, and its error."""
        return ["query", "value", "typical_error", "within_95_in_100"]

    def rows(self) -> Iterator[list[Any]]:
        """The only row."""
        error = self.error()
        (value,) = single_estimates(self.values, error.rmse).tolist()
        yield [self._asked, value, *standard_errors([error.rmse, error.interval("0.95")]).tolist()]

    def intervals_shown(self) -> Sequence[Interval]:
        """Return the one answer; the interval of a mean ends where the declared values do."""
        width = self.error().interval("0.95")
        ends = self.value - width, self.value + width
        low, high = np.clip(ends, *self._selected).tolist() if self.release.query.keyword == "mean" else ends
        return [Interval(float(self.value), min(low, self.value), max(high, self.value))]

    def draw(self, axes: Any) -> None:
        """Draw the answer with the interval that holds it in 95 of 100."""
        draw_intervals(axes, {"": self.intervals_shown()}, self.asked())

    def _figure(self) -> Any:
        return interval_figure({"": self.intervals_shown()}, self.asked())
