"""How cells are numbered inside a query, and what can be wrong with a row, in the same number and in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import AttributeSets
from blowfish_privacy.aggregates.aggregates import Names, checked_sets
from blowfish_privacy.domain import Attribute, Categorical, Domain
from blowfish_privacy.errors import DataError, QueryError

PROBLEMS = MISSING, OUTSIDE, MALFORMED = 1, 2, 3


def raise_problems(domain: Domain, cells: npt.NDArray[np.int64]) -> None:
    """Say what is wrong with rows whose group is marked with a negative number: a base-4 digit for each attribute."""
    if not len(cells) or cells.min() >= 0:
        return
    digits = -cells[cells < 0]
    raise data_problem(
        (domain.column(name), attribute, problem)
        for axis, (name, attribute) in enumerate(zip(domain.names, domain.attributes, strict=True))
        for problem in PROBLEMS
        if bool(np.any(digits // 4**axis % 4 == problem))
    )


def data_problem(problems: Iterable[tuple[str, Attribute, int]]) -> DataError:
    """Word the problems of some columns; which rows, which values and how many stay unsaid."""
    said: dict[str, None] = {}
    hints: dict[str, None] = {}
    for name, attribute, problem in problems:
        if problem == MISSING:
            words, hint = "missing values", "declare what missing values stand for (missing: VALUE), or remove them."
        elif problem == MALFORMED:
            advice = "text is never converted leniently: no spaces, no leading zeros or plus signs; correct the file."
            words, hint = f"values that are not {attribute.plain}", f"{advice} {attribute.instead_of_rounding}".strip()
        else:
            categories = isinstance(attribute, Categorical)
            instead = "declare the category too." if categories else "widen the declaration, or say outside: clamp."
            words, hint = "values outside the declared ones", f"correct the data, or {instead}"
        said[f"the column {name!r} has {words}"] = None
        hints[hint] = None
    looking = "blowfish data check looks at every column and spends nothing."
    return DataError(f"{'; '.join(said)}.", hint=" ".join([*hints, looking]))


# How cells are numbered inside a query, and how rows that fit no cell are marked in the same number.
#
# A row's number is the sum over the attributes of position x stride, as :meth:`Domain.flat` has it. A row with a
# problem gets a negative number whose base-4 digits, one for each attribute, say which problem: one GROUP BY
# then both counts and validates, and the number of groups stays bounded whatever the data hold.

MOST_TABLES, MOST_ATTRIBUTES = 32, 64
"""What one GROUP BY has at most: more tables are counted sooner from the rows, and Spark groups by no more columns."""
MOST_CELLS = 10**7
"""The most cells of one of several tables."""
MOST_TOGETHER = 2**24
"""The most cells of several tables that are held at once."""
_LARGEST_TABLE = 2**31
_LARGEST_NUMBER = 2**62


@dataclass(frozen=True)
class Layout:
    """The numbering of the cells of one (projected) domain."""

    domain: Domain

    def __post_init__(self) -> None:
        size, axes = self.domain.size, len(self.domain.names)
        if _too_large(size, axes):
            raise QueryError(
                f"a table of {axes} attributes and {Decimal(size):.2e} cells is too large to count at once.",
                hint="ask for fewer attributes together, or declare coarser ones.",
            )

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """What one step along each attribute adds to a cell's number."""
        shape = self.domain.shape
        return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))

    @cached_property
    def unit(self) -> int:
        """What one unit of the lowest base-4 digit subtracts: a multiple of the number of cells, and large.

        Any multiple would do, but between marks close by, DuckDB squeezes the numbers into a narrower type
        before grouping and back after it, and a count takes one and a half times as long.
        """
        return _LARGEST_NUMBER // 4 ** len(self.strides) // self.domain.size * self.domain.size

    def mark(self, axis: int, problem: int) -> int:
        """Return the negative position that stands for a problem; times its stride it becomes a base-4 digit."""
        return -problem * 4**axis * (self.unit // self.strides[axis])

    def table(self, cells: npt.NDArray[Any], counts: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Spread grouped counts over the domain, or raise when a group is marked."""
        if len(cells) and cells.min() < 0:
            raise_problems(self.domain, cells[cells < 0] // self.unit)
        flat = np.zeros(self.domain.size, dtype=np.int64)
        flat[cells] = counts
        return flat.reshape(self.domain.shape)


def many(domain: Domain, sets: Sequence[Names]) -> bool:
    """Say whether tables are too many for one GROUP BY of all of them."""
    attributes = len({name for names in sets for name in names})
    cells = sum(table_size(domain, names) for names in sets)
    large = len(sets) > MOST_TABLES or attributes > MOST_ATTRIBUTES or cells > MOST_TOGETHER
    return large and len(sets) > 1 and attributes > 0


def check_countable(domain: Domain, sets: AttributeSets) -> list[Names]:
    """Refuse tables with more cells than can be held; return their names."""
    wanted = checked_sets(domain, sets)
    for names in wanted:
        cells = table_size(domain, names)
        if len(wanted) > 1 and cells > MOST_CELLS:
            raise QueryError(
                f"a table of {len(names)} attributes and {Decimal(cells):.2e} cells is too large to count with others.",
                hint=f"ask for tables of at most {MOST_CELLS:,} cells, or declare coarser attributes.",
            )
        if _too_large(cells, len(names)):
            Layout(domain.project(names))
    return wanted


def table_size(domain: Domain, names: Names) -> int:
    """Count the cells of a table."""
    return prod(domain[name].size for name in names)


def _too_large(cells: int, axes: int) -> bool:
    return cells > _LARGEST_TABLE or cells * 4**axes > _LARGEST_NUMBER
