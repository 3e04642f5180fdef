"""Evenly spaced marks on the line of numbers, and how many of them a float reaches.

A float is not the decimal that it was written as: 0.7 as a float is a little less than seven tenths, and as a 32-bit
float a little less than that. So a float *is* a mark when it is the 64-bit or the 32-bit float nearest to it, and
*reaches* a mark when it is at least one of these two. Where marks are so close that 32 bits hardly tell them apart,
only 64-bit floats count. All is decided with one multiplication, one addition, one division and comparisons of 64-bit
floats, which are the same in every data engine and here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from blowfish_privacy.support.arrays import Floats, Integers

LARGEST = 2**50
"""Numerators below this are exact as floats, and a float times the denominator is off by less than a quarter."""


@dataclass(frozen=True)
class Marks:
    """The numbers ``(first + n * step) / denominator``."""

    first: int
    step: int
    denominator: int
    single: bool = True
    """Whether 32-bit floats nearest to marks count too."""

    @property
    def halfway(self) -> Marks:
        """Marks half a step below each of these: whoever reaches one is nearest to the mark above it."""
        return Marks(2 * self.first - self.step, 2 * self.step, 2 * self.denominator, self.single)

    def number(self, n: int) -> Fraction:
        """Return a mark exactly."""
        return Fraction(self.first + n * self.step, self.denominator)

    def floats(self, n: int) -> tuple[float, float]:
        """Return the 64-bit float nearest to a mark, and the 32-bit one if that counts."""
        nearest = (self.first + n * self.step) / self.denominator
        return nearest, float(np.float32(nearest)) if self.single else nearest

    def reached(self, column: Floats) -> Integers:
        """Return the last mark that each float reaches; none may be far outside the marks in use."""
        near = np.floor(column * self.denominator).astype(np.int64)
        guess = (near - self.first) // self.step
        return guess + self._reaches(column, guess + 1) - ~self._reaches(column, guess)

    def exactly(self, column: Floats) -> tuple[Integers, npt.NDArray[np.bool_]]:
        """Return the mark that each float may be, and whether it is that mark."""
        numerators = np.floor(column * self.denominator + 0.5).astype(np.int64)
        nearest = numerators / np.float64(self.denominator)
        matches = (nearest == column) | (self._rounded(nearest) == column)
        marks, rest = np.divmod(numerators - self.first, self.step)
        return marks, matches & (rest == 0)

    def _reaches(self, column: Floats, marks: Integers) -> npt.NDArray[np.bool_]:
        nearest = (self.first + marks * self.step) / np.float64(self.denominator)
        return (column >= nearest) | (column >= self._rounded(nearest))

    def _rounded(self, nearest: Floats) -> Floats:
        return nearest.astype(np.float32).astype(np.float64) if self.single else nearest
