"""What the custodian learns about data and declaration before any release.

This report carries exact counts of private rows, and values that are not declared: it is for the person who holds the
data, and no part of it may enter a release, a document, an error or a log. Its ``repr`` leaves the values out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


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

    undeclared: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    """The most frequent values that are not declared, or not of the declared kind, with their numbers of rows."""
    hints: tuple[str, ...] = ()
    """How such values are declared, where they look like another kind."""
    smallest: str | None = field(default=None, repr=False)
    """The smallest number outside the declared range."""
    largest: str | None = field(default=None, repr=False)
    """The largest number outside the declared range."""
    unused: tuple[str, ...] = field(default=(), repr=False)
    """Categories that are declared and do not occur; the first few of them."""
    similar: tuple[str, ...] = field(default=(), repr=False)
    """Columns with a name much like that of an attribute that has none."""

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


_LONGEST, _MOST_NAMES = 100, 1_000
"""Comparing takes time that grows with the lengths of the names and with their number."""


def near_columns(name: str, names: Sequence[str]) -> list[str]:
    """Name up to three columns that may be meant by a name which no column has."""
    from difflib import get_close_matches

    folded = {each[:_LONGEST].casefold(): each for each in names[:_MOST_NAMES]}
    wanted = name[:_LONGEST].casefold()
    close = get_close_matches(wanted, folded, n=3, cutoff=0.6)
    parts = [each for each in folded if len(wanted) > 2 and wanted in each and each not in close]
    return [folded[each] for each in [*close, *parts][:3]]
