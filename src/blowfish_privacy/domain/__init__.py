"""The declared domain of a table: its attributes, their product, and choices of their values."""

from blowfish_privacy.domain.attribute import Attribute, Positions
from blowfish_privacy.domain.binned import Bin, Binned, coarser
from blowfish_privacy.domain.box import Box, left, narrowed, read_box
from blowfish_privacy.domain.categorical import Categorical
from blowfish_privacy.domain.choice import BLOCK_FORM, CHOICE_FORM, choice_from_file, choice_to_file
from blowfish_privacy.domain.date import Date
from blowfish_privacy.domain.decimal import Decimal
from blowfish_privacy.domain.hierarchy import AT, Hierarchy, Level
from blowfish_privacy.domain.integer import Integer
from blowfish_privacy.domain.marks import Marks
from blowfish_privacy.domain.product import Cell, Domain
from blowfish_privacy.domain.quotation import one_line, quoted, worded
from blowfish_privacy.domain.spaced import Numeric, Spaced
from blowfish_privacy.domain.subset import Subset

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
    "Integer",
    "Level",
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
