"""The rows of the data as positions, which every query starts from, with every value that has none accounted for.

Queries are built as expressions, never as text: names, paths and categories become identifiers and literals
that the SQL library quotes for the engine's dialect. The data appear as the table :data:`SOURCE`, whose
columns are c0, c1, ... in the order of the attributes, whatever they are called in the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from sqlglot import exp

from blowfish_privacy.domain import Attribute, Binned, Categorical, Date, Decimal, Domain, Integer
from blowfish_privacy.engines.engine import ColumnType
from blowfish_privacy.engines.sql.cells import MALFORMED, MISSING, OUTSIDE, PROBLEMS
from blowfish_privacy.engines.sql.comparisons import (
    WRITTEN,
    Lookup,
    Value,
    bin_position,
    locate,
    locate_date,
    parsed_date,
)
from blowfish_privacy.engines.sql.expressions import DUCKDB, Dialect, column, identifier, nested, number

# Reading the text of a CSV file as what the declaration says, and as nothing else.
#
# Accepted, after the quotes of the file are taken off:
#
# - whole numbers: ``0``, ``-12``, ``345``, ``5.0``; not ``007``, ``+5``, `` 5``, ``5.5``, ``1e3``, ``-0``;
# - numbers for bins and decimals: ``12``, ``-0.5``, ``1.5e-3``, and ``nan`` (missing) and ``inf`` (outside) in any
#   case; not ``.5``, ``5.``, ``+5``, ``0x1F``, ``1_000``; such a number means the float nearest to it;
# - dates: ``2020-01-31``, with or without a time: ``2020-01-31 23:59:59``; not ``2020-1-31``, ``31.01.2020``;
# - truth values: ``true`` or ``false``, ``True``, ``TRUE``...; not ``1``, ``yes``;
# - text: every character as it stands, spaces and leading zeros included.
#
# A field with nothing in it is missing; a quoted empty field is the empty text. A cast is only ever applied to
# text that one of the patterns has matched as a whole, where it is exact or, for floats, correctly rounded.

# 38 digits always fit a 128-bit number. Longer ones stand beyond every bound a declaration can have.
_WHOLE = r"^((0|-?[1-9][0-9]{0,37})(\.0+)?|-0\.0+)$"
_HUGE = r"^[1-9][0-9]{38,}(\.0+)?$"
_HUGE_NEGATIVE = r"^-[1-9][0-9]{38,}(\.0+)?$"
_BEYOND = 10**38
_NUMBER = r"^(-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?|(?i:nan|[+-]?inf(inity)?))$"
_TRUE, _FALSE = r"^(?i:true)$", r"^(?i:false)$"

WHOLE_NUMBERS = ColumnType.integer(-(2**127), 2**127 - 1)


def needs_parsing(attribute: Attribute) -> bool:
    """Say whether the text stands for something else than text."""
    return not (isinstance(attribute, Categorical) and attribute.kind is str)


def parsed(attribute: Attribute, text: exp.Column) -> tuple[exp.Expr, ColumnType]:
    """Turn text into the attribute's kind of value; text that is not one becomes NULL."""
    if isinstance(attribute, Binned | Decimal):
        value = exp.Case().when(_matches(text, _NUMBER), exp.cast(text.copy(), "DOUBLE"))
        return value, ColumnType("float")
    if isinstance(attribute, Date):
        return parsed_date(text), WRITTEN
    if isinstance(attribute, Categorical) and attribute.kind is bool:
        truth = exp.Case().when(_matches(text, _TRUE), exp.true()).when(_matches(text, _FALSE), exp.false())
        return truth, ColumnType("boolean")
    digits = exp.SplitPart(this=text.copy(), delimiter=exp.Literal.string("."), part_index=number(1))
    whole = exp.Case().when(_matches(text, _WHOLE), exp.cast(digits, "HUGEINT"))
    whole = whole.when(_matches(text, _HUGE), number(_BEYOND)).when(_matches(text, _HUGE_NEGATIVE), number(-_BEYOND))
    return whole, WHOLE_NUMBERS


def _matches(text: exp.Column, pattern: str) -> exp.Expr:
    return exp.RegexpLike(this=text.copy(), expression=exp.Literal.string(pattern))


# The position of one attribute's value.

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
    def as_declared(cls, attribute: Attribute, scale: int = 1) -> Verdicts:
        """Follow the declaration: clamp and replace where it says so, otherwise mark the problem, times a scale."""
        substitute, clamped = attribute.missing_position, attribute.outside == "clamp"
        return cls(
            missing=-MISSING * scale if substitute is None else substitute,
            below=0 if clamped else -OUTSIDE * scale,
            above=attribute.size - 1 if clamped else -OUTSIDE * scale,
            malformed=-MALFORMED * scale,
        )

    @classmethod
    def whatever_is_declared(cls, attribute: Attribute) -> Verdicts:  # as as_declared
        """Mark problems even where the declaration clamps or replaces: for the custodian's check."""
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
        located = locate(attribute, value)
        # What is asked of numbers inside the bounds could overflow outside them, so it must stay inside the CASE.
        position = exp.Case().when(located.declared, located.position).else_(number(verdicts.malformed))
        return Placement(_settled(value, located.inside, position, verdicts, located.below))
    if isinstance(attribute, Date):
        located = locate_date(attribute, value)
        return Placement(_settled(value, located.inside, located.position, verdicts, located.below))
    if isinstance(attribute, Binned):
        inside = value.within(attribute.bounds[0], attribute.bounds[-1])
        position, lookup = bin_position(value, attribute, alias)
        return Placement(_settled(value, inside, position, verdicts, value.below(attribute.bounds[0])), lookup)
    if not isinstance(attribute, Categorical):
        raise TypeError(f"no engine knows how to count {type(attribute).__name__}.")
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


def _place_category(attribute: Categorical, value: Value, verdicts: Verdicts, alias: str) -> Placement:
    if attribute.kind is bool:
        positions = {bool(category): position for position, category in enumerate(attribute.categories)}
        yes, no = (number(positions.get(truth, verdicts.above)) for truth in (True, False))
        position = exp.Case().when(value.expression.copy(), yes).else_(no)
        return Placement(_settled(value, value.expression.is_(exp.null()).not_(), position, verdicts, None))
    key: exp.Expr = value.expression.copy()
    if attribute.kind is int:
        # Wide numbers must not reach the join, whose common type might not hold them.
        codes = [int(code) for code in attribute.spelt]
        key = exp.Case().when(value.within(Fraction(min(codes)), Fraction(max(codes)) + 1), _whole(key))
        names = [number(code) for code in codes]
    else:
        names = [exp.Literal.string(str(name)) for name in attribute.spelt]
    rows = [(name, number(position)) for name, position in zip(names, attribute.spelt.values(), strict=True)]
    looked_up = column("position", alias)
    position = _settled(value, looked_up.is_(exp.null()).not_(), looked_up, verdicts, None)
    return Placement(position, Lookup(rows=rows, columns=("category", "position"), key=key))


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


# The rows.

SOURCE = "source"

Judge: TypeAlias = Callable[[Attribute], Verdicts]
"""Says for an attribute what stands for values without a position."""


@dataclass(frozen=True)
class Field:
    """One attribute and the column that holds it."""

    axis: int
    attribute: Attribute
    type: ColumnType
    verdicts: Verdicts
    dialect: Dialect = DUCKDB

    @property
    def column(self) -> exp.Column:
        """The column as the source names it."""
        return column(f"c{self.axis}")

    @property
    def grouped_first(self) -> bool:
        """Whether rows are grouped by the raw column before the position is looked up."""
        if isinstance(self.attribute, Categorical):
            return self.attribute.kind is not bool
        # Clamped numbers may be of any variety; others are as few as the cells unless the data are wrong.
        return isinstance(self.attribute, Integer | Date) and self._parsed and self.attribute.outside == "error"

    @property
    def _unparsed(self) -> bool:
        return self.type.kind == "unparsed"

    @property
    def _parsed(self) -> bool:
        """Whether the column holds text that stands for something else."""
        dated = isinstance(self.attribute, Date) and self.type.kind == "text"
        return dated or (self._unparsed and needs_parsing(self.attribute))

    def raw(self) -> exp.Expr:
        """The column as it is grouped: text byte for byte, whatever collation it was stored with."""
        if self.type.kind in ("text", "unparsed"):
            order = exp.to_identifier(self.dialect.bytewise, quoted=self.dialect.quoted)
            return exp.Collate(this=self.column, expression=order).as_(self.column.name, quoted=True)
        return self.column

    def reading(self) -> list[exp.Expr]:
        """The columns to select so that :meth:`placement` can be formed."""
        if self._parsed:
            return [self.column, parsed(self.attribute, self.column)[0].as_(f"v{self.axis}", quoted=True)]
        return [self.raw()]

    @cached_property
    def placement(self) -> Placement:
        """The position of the column's value, over the columns of :meth:`reading`."""
        value = Value(self.column, self.type, dialect=self.dialect)
        if self._parsed:
            value = Value(column(f"v{self.axis}"), parsed(self.attribute, self.column)[1], written=self.column)
        elif self._unparsed:
            value = Value(self.column, ColumnType("text"))
        return placement(self.attribute, value, self.verdicts, f"d{self.axis}")


def _fields(
    attributes: Sequence[Attribute], types: Sequence[ColumnType], dialect: Dialect, judge: Judge
) -> list[Field]:
    held = enumerate(zip(attributes, types, strict=True))
    return [Field(axis, attribute, kind, judge(attribute), dialect) for axis, (attribute, kind) in held]


def check_query(
    attributes: Sequence[Attribute], types: Sequence[ColumnType], dialect: Dialect, judge: Judge
) -> exp.Select:
    """Ask for the number of rows and, per attribute, of missing, outside and malformed ones, in this order."""
    positions = positions_query(attributes, types, dialect, judge)
    hits = (column(f"p{axis}").eq(-problem) for axis in range(len(attributes)) for problem in PROBLEMS)
    tallies = (exp.Sum(this=exp.Case().when(hit, number(1)).else_(number(0))) for hit in hits)
    sums = [exp.cast(exp.Coalesce(this=tally, expressions=[number(0)]), "BIGINT") for tally in tallies]
    return exp.select(exp.Count(this=exp.Star()), *sums).from_(nested(positions, "placed"))


def positions_query(
    attributes: Sequence[Attribute],
    types: Sequence[ColumnType],
    dialect: Dialect,
    judge: Judge = Verdicts.as_declared,
) -> exp.Select:
    """Select the positions ``p0``, ``p1``, ... of every row, or the verdicts on values that have none."""
    fields = _fields(attributes, types, dialect, judge)
    placed = [field.placement.position.as_(f"p{field.axis}", quoted=True) for field in fields]
    return joined(exp.select(*placed).from_(nested(read(fields, [], source()), "rows")), fields)


def guarded_positions(
    attributes: Sequence[Attribute], types: Sequence[ColumnType], dialect: Dialect
) -> tuple[exp.Expr, list[exp.Condition], list[exp.Expr]]:
    """Return a table, and for each attribute a condition over it and the position of rows that meet the condition.

    Raw columns stay as they are where they can: then rows cost little more than the query that uses them.
    """
    fields = _fields(attributes, types, dialect, Verdicts.as_declared)
    columns: list[exp.Expr] = []
    guards: list[exp.Condition] = []
    positions: list[exp.Expr] = []
    for field in fields:
        plain, settled = field.placement.plain, column(f"p{field.axis}")
        columns.append(field.column if plain else field.placement.position.as_(settled.name, quoted=True))
        guards.append(plain[0] if plain else settled >= 0)
        short = exp.cast(settled.copy(), "INT") if field.attribute.size < NARROW else settled.copy()
        positions.append(exp.Paren(this=plain[1]) if plain else short)
    table = joined(exp.select(*columns).from_(nested(read(fields, [], source()), "rows")), fields)
    return nested(table, "placed"), guards, positions


def read(fields: Sequence[Field], carried: Sequence[exp.Expr], rows: exp.Expr) -> exp.Select:
    """Select the columns of some fields, and those to carry along."""
    return exp.select(*carried, *(read for field in fields for read in field.reading())).from_(rows)


def joined(query: exp.Select, fields: Sequence[Field]) -> exp.Select:
    """Join the tables that the positions of some fields are looked up in."""
    for field in fields:
        lookup = field.placement.lookup
        if lookup is not None:
            alias = f"d{field.axis}"
            rows = [exp.Tuple(expressions=list(row)) for row in lookup.rows]
            columns = [identifier(name) for name in lookup.columns]
            table = exp.Values(expressions=rows, alias=exp.TableAlias(this=identifier(alias), columns=columns))
            matched = exp.EQ(this=lookup.key, expression=column(lookup.columns[0], alias))
            query = query.join(table, on=matched, join_type="left", copy=False)
            if field.dialect.broadcast:
                query = query.hint(exp.Anonymous(this="BROADCAST", expressions=[identifier(alias)]), copy=False)
    return query


def source() -> exp.Table:
    """Refer to the data."""
    return exp.Table(this=identifier(SOURCE))


def marked(domain: Domain, cell: exp.Expr) -> exp.Expr:
    """Give rows with problems the cell -1: what is wrong with them is asked for only when there are any."""
    wrong = [column(f"p{axis}") < 0 for axis in range(len(domain.names))]
    return exp.Case().when(exp.or_(*wrong), number(-1)).else_(cell)
