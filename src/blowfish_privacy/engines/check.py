"""What the custodian learns about data and declaration before any release.

This report carries exact counts of private rows: it is for the person who holds the data, and no part of it
may enter a release. It never carries a value.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnCheck:
    """How one attribute's column fits its declaration; counts are None where there was nothing to count."""

    name: str
    present: bool
    """Whether the data have exactly one column of this name."""
    type_fits: bool
    """Whether the column can hold the attribute's values at all."""
    missing: int | None = None
    """Rows without a value (NULL, NaN, an empty field)."""
    outside: int | None = None
    """Rows with a value that is not declared."""
    malformed: int | None = None
    """Rows of a CSV file whose text is not a number, or not a truth value, where one is declared."""

    declared: tuple[str, ...] = ()
    """Which of missing and outside the declaration says how to count, so that they are no problem."""

    @property
    def fits(self) -> bool:
        """Whether every row has a value that the declaration covers."""
        missing = 0 if "missing" in self.declared else self.missing
        outside = 0 if "outside" in self.declared else self.outside
        return self.present and self.type_fits and not (missing or outside or self.malformed)


@dataclass(frozen=True)
class DataCheck:
    """How data fit a domain."""

    rows: int
    columns: tuple[ColumnCheck, ...]

    @property
    def fits(self) -> bool:
        """Whether every row has a declared value for every attribute."""
        return all(column.fits for column in self.columns)
