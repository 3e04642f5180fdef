"""Several noisy numbers: a linear query, a cumulative histogram."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blowfish_privacy.plots import plain_text
from blowfish_privacy.queries import Cumulative
from blowfish_privacy.results.result import Result, as_float


class VectorResult(Result):
    """A list of answers."""

    def labels(self) -> list[str]:
        """Name the outputs: the values of an ordered attribute, or their numbers."""
        if isinstance(self.release.query, Cumulative):
            attribute = self.release.policy.domain[self.release.query.attribute]
            return [attribute.show(place) for place in range(attribute.size)]
        return [str(output) for output in range(len(self.values))]

    @property
    def header(self) -> list[str]:
        """The output, the answer, and its error."""
        return ["output", "value", "typical_error"]

    def rows(self) -> Iterator[list[Any]]:
        """One row for each output."""
        for label, value in zip(self.labels(), self.values.tolist(), strict=True):
            yield [label, value, self.error().rmse]

    def draw(self, axes: Any) -> None:
        """Draw the answers with the band that holds each in 95 of 100."""
        values, width = as_float(self.values), self.error().interval("0.95")
        places = range(len(values))
        axes.fill_between(places, values - width, values + width, alpha=0.25, step="mid")
        axes.step(places, values, where="mid")
        shown = list(places)[:: max(1, len(values) // 8)]
        axes.set_xticks(shown, [plain_text(self.labels()[place]) for place in shown])
        about = ", ".join(self.release.query.attributes)
        cumulative = isinstance(self.release.query, Cumulative)
        axes.set_xlabel(plain_text(about if cumulative else f"number of the answer about {about}"))
        axes.set_ylabel("answer, with its 95 % interval" if width else "exact answer")
