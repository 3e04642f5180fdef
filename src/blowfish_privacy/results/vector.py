"""Several noisy numbers: a linear query, a cumulative histogram."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blowfish_privacy.results.pictures.figure import plain_text
from blowfish_privacy.results.result import Result, as_float


class VectorResult(Result):
    """Answers in a row, for queries that no other result shows."""

    kind = "vector"

    def labels(self) -> list[str]:
        """Name the outputs: the values of an ordered attribute, or their numbers."""
        named = self.release.query.labels(self.release.policy.domain)
        return [str(output) for output in range(len(self.values))] if named is None else named

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
        positions = range(len(values))
        axes.fill_between(positions, values - width, values + width, alpha=0.25, step="mid")
        axes.step(positions, values, where="mid")
        shown = list(positions)[:: max(1, len(values) // 8)]
        axes.set_xticks(shown, [plain_text(self.labels()[position]) for position in shown])
        about = ", ".join(self.release.query.attributes)
        named = self.release.query.labels(self.release.policy.domain) is not None
        axes.set_xlabel(plain_text(about if named else f"number of the answer about {about}"))
        axes.set_ylabel("answer, with its 95 % interval" if width else "exact answer")
