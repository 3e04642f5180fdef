"""How cells are numbered inside a query, and what can be wrong with a row, in the same number and in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import prod

from blowfish_privacy.aggregates import AttributeSets
from blowfish_privacy.aggregates.aggregates import Names, checked_sets
from blowfish_privacy.domain import Attribute, Categorical, Domain
from blowfish_privacy.errors import DataError, QueryError

PROBLEMS = MISSING, OUTSIDE, MALFORMED = 1, 2, 3


def data_problem(problems: Iterable[tuple[str, Attribute, int]]) -> DataError:
    """Describe the problems of some columns, but not in which rows, with which values or how many."""
    sentences: dict[str, None] = {}
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
        sentences[f"the column {name!r} has {words}"] = None
        hints[hint] = None
    looking = "blowfish data check looks at every column and spends nothing."
    return DataError(f"{'; '.join(sentences)}.", hint=" ".join([*hints, looking]))


# How cells are numbered inside a query, and how rows that fit no cell are marked in the same number.
#
# A row's number is the sum over the attributes of position x stride, as :meth:`Domain.flat` has it. A row with a
# problem gets a negative number: one GROUP BY then both counts and validates, and the number of groups stays bounded
# whatever the data hold. What is wrong is looked up only when there are such rows.

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
        size = self.domain.size
        if size > _LARGEST_TABLE:
            axes = len(self.domain.names)
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
        """What a problem subtracts from a cell's number: a multiple of the number of cells, and large.

        Any multiple would do, but between numbers close by, DuckDB squeezes them into a narrower type before
        grouping and back after it, and a count takes one and a half times as long.
        """
        most = max(PROBLEMS) * len(self.strides)
        return _LARGEST_NUMBER // most // self.domain.size * self.domain.size


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
        if cells > _LARGEST_TABLE:
            Layout(domain.project(names))
    return wanted


def table_size(domain: Domain, names: Names) -> int:
    """Count the cells of a table."""
    return prod(domain[name].size for name in names)
