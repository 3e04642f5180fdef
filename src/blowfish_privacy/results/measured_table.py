"""How wrong a table is that was measured as it stands: every cell has noise of one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod, sqrt

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Subset
from blowfish_privacy.noise.law import Law
from blowfish_privacy.support.exact import Number


@dataclass(frozen=True, eq=False)
class MeasuredError:
    """The error of the cells of one measured table, which is that of the noise alone."""

    shape: tuple[int, ...]
    scale: Fraction
    law: Law

    @property
    def variance(self) -> float:
        """That of the noise in one cell."""
        return self.law.variance(self.scale) if self.scale else 0.0

    def standard_error(self, axes: Sequence[int], chosen: Sequence[Subset] | None = None) -> float:
        """Return that of a cell, or of the sum of the cells that are chosen."""
        cells = 1 if chosen is None else prod(len(subset) for subset in chosen)
        return sqrt(cells * self.variance)

    def standard_errors(self, axes: Sequence[int]) -> npt.NDArray[np.float64]:
        """Return that of every cell."""
        return np.full(self.shape, sqrt(self.variance))

    def interval_of(self, axes: Sequence[int], level: Number = "0.95") -> float:
        """Return a bound on the error of a cell that holds with probability ``level``."""
        return float(self.law.quantile(self.scale, level)) if self.scale else 0.0
