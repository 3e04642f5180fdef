"""The position of one attribute's value as an SQL expression, with every value that has none accounted for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from blowfish_privacy.domain import Attribute, Binned, Categorical, Date, Decimal, Integer
from blowfish_privacy.engines.sql.cells import (
    MALFORMED,
    MISSING,
    OUTSIDE,
    Layout,
)
from blowfish_privacy.engines.sql.comparisons import Lookup, Value, bin_position, locate, locate_date
from blowfish_privacy.engines.sql.expressions import column, number

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
