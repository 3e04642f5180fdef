"""The type of a column, reduced to what counting needs to know."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from blowfish_privacy.domain import Attribute, Binned, Categorical, Date, Numeric

Kind: TypeAlias = Literal[
    "integer",
    "decimal",
    "float",
    "text",
    "enum",
    "boolean",
    "date",
    "timestamp",
    "instant",
    "unparsed",
    "null",
    "other",
]
"""A timestamp has no time zone; an instant has one."""


@dataclass(frozen=True)
class ColumnType:
    """The kind of a column's values; exact numbers also say how fine they are and how far they reach."""

    kind: Kind
    step: Fraction = Fraction(1)
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    digits: int = 0
    special: bool = False
    """Whether exact numbers of any fineness stand beside NaN and infinities, as in PostgreSQL."""

    @classmethod
    def integer(cls, low: int, high: int) -> ColumnType:
        """Whole numbers of one width."""
        return cls("integer", low=Fraction(low), high=Fraction(high))

    @classmethod
    def decimal(cls, digits: int, scale: int) -> ColumnType:
        """Decimal numbers of ``digits`` digits, ``scale`` of them behind the point."""
        step = Fraction(1, 10**scale)
        return cls("decimal", step, low=(1 - 10**digits) * step, high=(10**digits - 1) * step, digits=digits)


NUMERIC = ColumnType("decimal", special=True)
"""PostgreSQL's exact numbers, whatever precision is declared: even then NaN is one of them."""

MOST_PLACES = 18
"""Decimals of more places would not leave room to multiply them out in 38 digits."""

UNPARSED = ColumnType("unparsed")
"""Text of a CSV file, which stands for whatever the declaration says."""


def accepts(attribute: Attribute, column: ColumnType) -> bool:
    """Say whether a column can hold an attribute's values without any conversion being guessed."""
    if column.kind in ("unparsed", "null"):
        return True
    if isinstance(attribute, Numeric):
        exact = column.special or 10**MOST_PLACES % column.step.denominator == 0
        return column.kind in ("integer", "float") or (column.kind == "decimal" and exact)
    if isinstance(attribute, Date):
        return column.kind in ("date", "timestamp", "instant", "text")
    if isinstance(attribute, Categorical):
        if attribute.kind is str:
            return column.kind in ("text", "enum")
        return column.kind == ("boolean" if attribute.kind is bool else "integer")
    return isinstance(attribute, Binned) and column.kind in ("integer", "decimal", "float")


def wanted(attribute: Attribute) -> str:
    """Word what a column must hold."""
    if isinstance(attribute, Categorical):
        return {str: "text", bool: "truth values", int: "whole numbers"}[attribute.kind]
    return attribute.column_type
