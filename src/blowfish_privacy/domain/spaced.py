"""Attributes whose values follow one another at equal distances: whole numbers, decimals, dates."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from math import gcd
from typing import Any

import numpy.typing as npt

from blowfish_privacy.domain.attribute import Attribute, Positions
from blowfish_privacy.domain.subset import Subset
from blowfish_privacy.errors import DomainError, brief


class Spaced(Attribute):
    """Ordered values, every one of them as far from the next."""

    ordered = True

    @property
    @abstractmethod
    def spacing(self) -> Fraction:
        """The distance between neighbouring values, in the units that distances are stated in."""

    def gap(self, first: int, second: int) -> Fraction:
        """Return the distance between two values."""
        return abs(first - second) * self.spacing

    def subset(self, chosen: object) -> Subset:
        """Read one value, an inclusive pair or a list of values."""
        if isinstance(chosen, tuple):
            if len(chosen) != 2:
                raise DomainError(
                    f"a pair (low, high) is needed, got {len(chosen)} values.", hint="use a list for a set of values."
                )
            low, high = self.range_start(chosen[0]), self.range_end(chosen[1])
            if low > high:
                raise DomainError(
                    f"the range from {brief(chosen[0])} to {brief(chosen[1])} is empty: its ends are reversed."
                )
            return Subset.span(low, high + 1)
        if isinstance(chosen, list | set | frozenset):
            return Subset.of(self.exactly(value) for value in chosen)
        return Subset.of([self.exactly(chosen)])

    def range_start(self, value: object) -> int:
        """Return the first position of a range that begins with a value."""
        return self.position(value)

    def range_end(self, value: object) -> int:
        """Return the last position of a range that ends with a value."""
        return self.position(value)

    def range_starts(self, values: npt.NDArray[Any]) -> Positions | None:
        """Return :meth:`range_start` of a whole array by arithmetic on it; None where each value must be looked at."""
        return self._at_once(values)

    def range_ends(self, values: npt.NDArray[Any]) -> Positions | None:
        """Return :meth:`range_end` of a whole array by arithmetic on it; None where each value must be looked at."""
        return self._at_once(values)

    def _at_once(self, values: npt.NDArray[Any]) -> Positions | None:
        """Return :meth:`position` of a whole array; None also where one of the values is wrong."""
        return None

    def exactly(self, value: object) -> int:
        """Return the position that holds a value and nothing else."""
        return self.position(value)


class Numeric(Spaced):
    """Numbers that can be added up: the value at a position is ``lowest + position * spacing``."""

    @property
    @abstractmethod
    def lowest(self) -> Fraction:
        """The number at position 0."""

    def number(self, position: int) -> Fraction:
        """Return the exact number at a position."""
        return self.lowest + position * self.spacing

    @property
    def unit(self) -> Fraction:
        """The largest number of which all values are whole multiples."""
        low, step = self.lowest, self.spacing
        shared = low.denominator * step.denominator
        return Fraction(gcd(low.numerator * step.denominator, step.numerator * low.denominator), shared)
