"""The declared domain of a table: its attributes, their product, and choices of their values."""

from blowfish_privacy.domain.attribute import Attribute, Numeric, Positions, Spaced, Subset
from blowfish_privacy.domain.categorical import AT, Categorical, Hierarchy, HierarchyLevel
from blowfish_privacy.domain.date import Date
from blowfish_privacy.domain.numbers import Bin, Binned, Decimal, Integer, Marks, coarser
from blowfish_privacy.domain.product import (
    BLOCK_FORM,
    CHOICE_FORM,
    Box,
    Cell,
    Domain,
    choice_from_file,
    choice_to_file,
    left,
    narrowed,
    read_box,
)
from blowfish_privacy.support.text import one_line, quoted, worded

__all__ = [
    "AT",
    "BLOCK_FORM",
    "CHOICE_FORM",
    "Attribute",
    "Bin",
    "Binned",
    "Box",
    "Categorical",
    "Cell",
    "Date",
    "Decimal",
    "Domain",
    "Hierarchy",
    "HierarchyLevel",
    "Integer",
    "Marks",
    "Numeric",
    "Positions",
    "Spaced",
    "Subset",
    "choice_from_file",
    "choice_to_file",
    "coarser",
    "left",
    "narrowed",
    "one_line",
    "quoted",
    "read_box",
    "worded",
]
