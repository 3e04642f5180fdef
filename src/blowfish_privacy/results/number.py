"""One noisy number: a sum or a mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Subset
from blowfish_privacy.mechanisms import Error, MeanOffsets
from blowfish_privacy.results.pictures.figure import plain_text
from blowfish_privacy.results.result import Result


class NumberResult(Result):
    """A sum, a mean or any other single number."""

    kind = "number"

    @property
    def values(self) -> npt.NDArray[Any]:
        """The one answer; a mean is divided here where its count is noisy too."""
        mechanism = self.release.mechanism
        if isinstance(mechanism, MeanOffsets):
            return np.clip([mechanism.mean(self.release.noisy)], *self._selected)
        return super().values

    @property
    def _selected(self) -> tuple[float, float]:
        """The lowest and the highest value that a condition on the attribute itself leaves."""
        (name,) = self.release.query.attributes
        attribute = self.release.policy.domain[name]
        chosen = self.release.population.box.get(name, Subset.span(0, attribute.size))
        return float(attribute.value(chosen.first)), float(attribute.value(chosen.last))

    def error(self) -> Error:
        """Say how wrong the answer is."""
        mechanism = self.release.mechanism
        return mechanism.error_of(self.release.noisy) if isinstance(mechanism, MeanOffsets) else super().error()

    @property
    def value(self) -> float | int:
        """The noisy answer; unbiased, but for a mean whose count is noisy too."""
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
