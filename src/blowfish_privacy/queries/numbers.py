"""The numbers of an attribute, as whole multiples of a unit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Numeric


@dataclass(frozen=True)
class Numbers:
    """The values of an attribute as whole numbers of a unit: the first, and from there on in equal steps."""

    first: int
    step: int
    size: int
    unit: Fraction

    @classmethod
    def of(cls, attribute: Numeric) -> Numbers:
        """Return the numbers that an attribute declares."""
        unit = attribute.unit
        return cls(int(attribute.lowest / unit), int(attribute.spacing / unit), attribute.size, unit)

    def __getitem__(self, position: int) -> int:
        return self.first + self.step * position

    @property
    def largest(self) -> int:
        """The number furthest from zero, without its sign."""
        return max(abs(self[0]), abs(self[self.size - 1]))

    @cached_property
    def whole(self) -> npt.NDArray[np.int64]:
        """All numbers, in units."""
        return self.first + self.step * np.arange(self.size, dtype=np.int64)
