"""What every figure of the reproduction is: points that can be measured one by one, rows of a table, a picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from math import isfinite
from typing import Any, ClassVar, TypeAlias

from blowfish_lab.paper.run import Run

Point: TypeAlias = tuple[str, ...]
"""What is measured in one piece, in words: a point is kept in a file of that name."""
Measured: TypeAlias = dict[str, Any]
Row: TypeAlias = dict[str, Any]


class Figure(ABC):
    """A figure or an example of the paper."""

    name: ClassVar[str]
    """How it is asked for on the command line."""
    title: ClassVar[str]
    real_data: ClassVar[tuple[str, ...]] = ()
    """The files it reads; none for a figure that needs no data."""
    shrinks: ClassVar[bool] = True
    """Whether a quick run measures less of it."""

    @abstractmethod
    def points(self, run: Run) -> list[Point]:
        """List what has to be measured."""

    @abstractmethod
    def measure(self, point: Point, run: Run) -> Measured:
        """Measure one point."""

    @abstractmethod
    def rows(self, measured: Mapping[Point, Measured], run: Run) -> list[Row]:
        """Put the measured points together: the rows of the table."""

    @abstractmethod
    def picture(self, rows: list[Row], run: Run) -> Any:
        """Draw the rows; returns a matplotlib figure."""

    def complete(self, measured: Measured) -> bool:
        """Say whether a point that was kept holds what the rows need."""
        return are_numbers(measured, "seconds")

    @abstractmethod
    def units(self) -> str:
        """Say what the numbers of the table are."""

    def heading(self, run: Run) -> str:
        """Return the title of the picture, which says when data are stand-ins."""
        return f"{self.title} - SYNTHETIC stand-in" if self.real_data and run.synthetic else self.title

    def notes(self, run: Run) -> list[str]:
        """Say what the reader must know."""
        if not self.real_data:
            return []
        return ["SYNTHETIC stand-in for the paper's data."] if run.synthetic else []

    def summary(self, rows: list[Row]) -> list[str]:
        """Say in a few sentences what the table shows."""
        return []

    def worse_than_published(self, rows: list[Row]) -> list[Row]:
        """Return the rows in which ours is above what is published."""
        return [
            row
            for row in rows
            if isinstance(row.get(PUBLISHED), int | float) and row.get(OURS, 0) > row[PUBLISHED] * (1 + _TOLERANCE)
        ]


def are_numbers(measured: Measured, *names: str) -> bool:
    """Say whether finite numbers, none below zero, were measured under these names."""
    return all(is_number(measured.get(name)) for name in names)


def is_number(value: object) -> bool:
    """Say whether a value is a finite number that is not below zero, as everything is that is measured here."""
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and value >= 0


PUBLISHED = "published (read off)"
OURS = "ours"
_TOLERANCE = 0.005
"""A picture cannot be read more exactly than this."""
