"""The position of one attribute's value as an SQL expression, with every value that has none accounted for."""

from __future__ import annotations

import decimal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from blowfish_privacy.aggregates import AttributeSets
from blowfish_privacy.aggregates.aggregates import Names, checked_sets
from blowfish_privacy.domain import Attribute, Binned, Categorical, Date, Decimal, Domain, Integer
from blowfish_privacy.engines.sql.comparisons import Lookup, Value, bin_position, locate, locate_date
from blowfish_privacy.engines.sql.expressions import column, number
from blowfish_privacy.errors import DataError, QueryError

# What can be wrong with a value, as a number inside a query and in words that carry no value.

PROBLEMS = MISSING, OUTSIDE, MALFORMED = 1, 2, 3


def raise_problems(domain: Domain, cells: npt.NDArray[np.int64]) -> None:
    """Say what is wrong with rows whose group is marked with a negative number."""
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
    listed = list(problems)
    said = "; ".join(
        dict.fromkeys(f"the column {name!r} {_says(attribute, problem)}" for name, attribute, problem in listed)
    )
    hints = dict.fromkeys(_hint(attribute, problem) for _, attribute, problem in listed)
    return DataError(
        f"{said}.", hint=" ".join([*hints, "blowfish data check looks at every column and spends nothing."])
    )


def _says(attribute: Attribute, problem: int) -> str:
    if problem == MISSING:
        return "has missing values"
    if problem == OUTSIDE:
        return "has values outside the declared ones"
    return f"has values that are not {attribute.plain}"


def _hint(attribute: Attribute, problem: int) -> str:
    if problem == MISSING:
        return "declare what missing values stand for (missing: VALUE), or remove them."
    if problem == MALFORMED:
        advice = "text is never converted leniently: no spaces, no leading zeros or plus signs; correct the file."
        return f"{advice} {attribute.instead_of_rounding}".strip()
    return (
        "correct the data, or declare the category too."
        if isinstance(attribute, Categorical)
        else "correct the data, or widen the declaration, or say outside: clamp."
    )


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
                f"a table of {axes} attributes and {decimal.Decimal(size):.2e} cells is too large to count at once.",
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
            raise self._error(cells[cells < 0])
        flat = np.zeros(self.domain.size, dtype=np.int64)
        flat[cells] = counts
        return flat.reshape(self.domain.shape)

    def _error(self, marked: npt.NDArray[Any]) -> DataError:
        digits = -(marked // self.unit)
        return data_problem(
            (self.domain.column(name), attribute, problem)
            for axis, (name, attribute) in enumerate(zip(self.domain.names, self.domain.attributes, strict=True))
            for problem in PROBLEMS
            if bool(np.any(digits >> (2 * axis) & 3 == problem))
        )


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
                f"a table of {len(names)} attributes and {decimal.Decimal(cells):.2e} cells is too large to count "
                "with others.",
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


NARROW = 2**31
"""Below this, numbers fit 32 bits."""


@dataclass(frozen=True)
class Verdicts:
    """The numbers that stand for values without a position of their own."""

    missing: int
    below: int
    above: int
    malformed: int

    @classmethod
    def in_layout(cls, attribute: Attribute, layout: Layout, axis: int) -> Verdicts:
        """Follow the declaration: clamp and replace where it says so, otherwise mark the row in its cell's number."""
        substitute, outside = attribute.missing_position, layout.mark(axis, OUTSIDE)
        return cls(
            missing=layout.mark(axis, MISSING) if substitute is None else substitute,
            below=0 if attribute.outside == "clamp" else outside,
            above=attribute.size - 1 if attribute.outside == "clamp" else outside,
            malformed=layout.mark(axis, MALFORMED),
        )

    @classmethod
    def as_declared(cls, attribute: Attribute) -> Verdicts:
        """Follow the declaration: clamp and replace where it says so, otherwise give minus the problem's number."""
        substitute, clamped = attribute.missing_position, attribute.outside == "clamp"
        return cls(
            missing=-MISSING if substitute is None else substitute,
            below=0 if clamped else -OUTSIDE,
            above=attribute.size - 1 if clamped else -OUTSIDE,
            malformed=-MALFORMED,
        )

    @classmethod
    def whatever_is_declared(cls, attribute: Attribute) -> Verdicts:  # as as_declared
        """Give minus the problem's number even where the declaration clamps or replaces: for the custodian's check."""
        return cls(missing=-MISSING, below=-OUTSIDE, above=-OUTSIDE, malformed=-MALFORMED)


@dataclass(frozen=True)
class Placement:
    """A position as an expression, and the table it needs joined under its alias, if any.

    ``plain`` is a condition and a short position that holds under it, when rows that miss it have no position at all.
    """

    position: exp.Expr
    lookup: Lookup | None = None
    plain: tuple[exp.Condition, exp.Expr] | None = None


def placement(attribute: Attribute, value: Value, verdicts: Verdicts, alias: str) -> Placement:
    """Express the position of a value, or the verdict on it."""
    if value.type.kind == "null":
        return Placement(_whole(number(verdicts.missing)))
    if isinstance(attribute, Integer) and value.type.kind == "integer":
        return _place_integer(attribute, value, verdicts)
    if isinstance(attribute, Integer | Decimal):
        return _place_number(attribute, value, verdicts)
    if isinstance(attribute, Date):
        dated = locate_date(attribute, value)
        return Placement(_settled(value, dated.inside, dated.position, verdicts, dated.below))
    if isinstance(attribute, Binned):
        inside = value.within(attribute.bounds[0], attribute.bounds[-1])
        position, lookup = bin_position(value, attribute, alias)
        below = value.below(attribute.bounds[0])
        return Placement(_settled(value, inside, position, verdicts, below), lookup)
    if not isinstance(attribute, Categorical):
        raise TypeError(f"no engine knows how to count {type(attribute).__name__}.")
    if attribute.kind is bool:
        return _place_truth(attribute, value, verdicts)
    return _place_category(attribute, value, verdicts, alias)


def _place_integer(attribute: Integer, value: Value, verdicts: Verdicts) -> Placement:
    low = value.type.step * attribute.low
    inside = value.within(low, value.type.step * (attribute.high + 1))
    # Inside the bounds the difference fits 64 bits, whatever the width of the column.
    position = exp.Sub(this=_whole(value.expression.copy()), expression=number(attribute.low))
    settled = _settled(value, inside, position, verdicts, value.below(low))
    alone = value.written is None and max(verdicts.missing, verdicts.below, verdicts.above) < 0
    # Engines count and divide 32-bit numbers faster; inside the bounds they suffice.
    narrow = max(abs(attribute.low), abs(attribute.high), attribute.size) < NARROW
    short = exp.Sub(this=exp.cast(value.expression.copy(), "INT"), expression=number(attribute.low))
    return Placement(settled, plain=(inside, short if narrow else position) if alone else None)


def _place_number(attribute: Integer | Decimal, value: Value, verdicts: Verdicts) -> Placement:
    located = locate(attribute, value)
    position = exp.Case().when(located.declared, located.position).else_(number(verdicts.malformed))
    # What is asked of numbers inside the bounds could overflow outside them, so it must stay inside the CASE.
    return Placement(_settled(value, located.inside, position, verdicts, located.below))


def _place_truth(attribute: Categorical, value: Value, verdicts: Verdicts) -> Placement:
    positions = {bool(category): position for position, category in enumerate(attribute.categories)}
    position = (
        exp.Case()
        .when(value.expression.copy(), number(positions.get(True, verdicts.above)))
        .else_(number(positions.get(False, verdicts.above)))
    )
    return Placement(_settled(value, value.expression.is_(exp.null()).not_(), position, verdicts, None))


def _place_category(attribute: Categorical, value: Value, verdicts: Verdicts, alias: str) -> Placement:
    key: exp.Expr = value.expression.copy()
    if attribute.kind is int:
        # Wide numbers must not reach the join, whose common type might not hold them.
        rows = [(int(code), position) for code, position in attribute.spelt.items()]
        low, high = min(rows)[0], max(rows)[0]
        key = exp.Case().when(value.within(Fraction(low), Fraction(high) + 1), _whole(key))
        table = [(number(code), number(position)) for code, position in rows]
    else:
        table = [(exp.Literal.string(str(name)), number(position)) for name, position in attribute.spelt.items()]
    looked_up = column("position", alias)
    position = _settled(value, looked_up.is_(exp.null()).not_(), looked_up, verdicts, None)
    return Placement(position, Lookup(rows=table, columns=("category", "position"), key=key))


def _settled(
    value: Value,
    inside: exp.Condition,
    position: exp.Expr,
    verdicts: Verdicts,
    below: exp.Condition | None,
) -> exp.Expr:
    """Put the common case first: the engine evaluates the rest only for the rows that remain."""
    case = exp.Case().when(inside, position).when(value.absent(), number(verdicts.missing))
    if value.written is not None:
        case = case.when(value.expression.is_(exp.null()), number(verdicts.malformed))
    if below is not None and verdicts.below != verdicts.above:
        case = case.when(below, number(verdicts.below))
    return _whole(case.else_(number(verdicts.above)))


def _whole(expression: exp.Expr) -> exp.Expr:
    return exp.cast(expression, "BIGINT")
