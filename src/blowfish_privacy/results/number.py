"""One noisy number: a sum or a mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blowfish_privacy.results.pictures.figure import plain_text
from blowfish_privacy.results.result import Result


class NumberResult(Result):
    """A sum, a mean or any other single number."""

    kind = "number"

    @property
    def value(self) -> float | int:
        """The unbiased noisy answer."""
        return self.values[0].item()

    @property
    def header(self) -> list[str]:
        """What was asked, the answer, and its error."""
        return ["query", "value", "typical_error", "within_95_in_100"]

    def rows(self) -> Iterator[list[Any]]:
        """The only row."""
        asked = f"{self.release.query.keyword} of {self.release.query.attributes[0]}"
        yield [asked, self.value, self.error().rmse, self.error().interval("0.95")]

    def draw(self, axes: Any) -> None:
        """Draw the answer with the interval that holds it in 95 of 100."""
        width = self.error().interval("0.95")
        axes.errorbar([self.value], [0], xerr=[width], fmt="o", capsize=6, color="tab:blue")
        axes.set_yticks([])
        axes.set_xlabel(
            plain_text(f"{self.release.query.keyword} of {self.release.query.attributes[0]}, with its 95 % interval")
        )
