"""The two queries an engine asks: how many rows are in each cell, and what is wrong with the rows.

Both are built as expressions, never as text: names, paths and categories become identifiers and literals
that the SQL library quotes for the engine's dialect. The data appear as the table :data:`SOURCE`, whose
columns are c0, c1, ... in the order of the attributes, whatever they are called in the data.

Counting goes in up to two steps over one scan. Numbers become positions row by row. Categories are first
grouped as they stand, which costs what a plain GROUP BY costs, and the few groups are looked up afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from blowfish_privacy.domain import Attribute, Categorical, Integer
from blowfish_privacy.engines.sql.bins import Lookup
from blowfish_privacy.engines.sql.cells import MALFORMED, MISSING, OUTSIDE, Layout
from blowfish_privacy.engines.sql.columns import ColumnType
from blowfish_privacy.engines.sql.comparisons import Value, every, number
from blowfish_privacy.engines.sql.dialect import DUCKDB, Dialect
from blowfish_privacy.engines.sql.positions import NARROW, Placement, Verdicts, place
from blowfish_privacy.engines.sql.text import needs_parsing, parsed

SOURCE = "source"


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
        return _column(f"c{self.axis}")

    @property
    def grouped_first(self) -> bool:
        """Whether rows are grouped by the raw column before the position is looked up."""
        if isinstance(self.attribute, Categorical):
            return self.attribute.kind is not bool
        # Clamped numbers may be of any variety; others are as few as the cells unless the data are wrong.
        return isinstance(self.attribute, Integer) and self._unparsed and self.attribute.outside == "error"

    @property
    def _unparsed(self) -> bool:
        return self.type.kind == "unparsed"

    def raw(self) -> exp.Expr:
        """The column as it is grouped: text byte for byte, whatever collation it was stored with."""
        if self.type.kind in ("text", "unparsed"):
            order = exp.to_identifier(self.dialect.bytewise, quoted=self.dialect.quoted)
            return exp.Collate(this=self.column, expression=order).as_(self.column.name, quoted=True)
        return self.column

    def reading(self) -> list[exp.Expr]:
        """The columns to select so that :meth:`placement` can be formed."""
        if self._unparsed and needs_parsing(self.attribute):
            return [self.column, parsed(self.attribute, self.column)[0].as_(f"v{self.axis}", quoted=True)]
        return [self.raw()]

    @cached_property
    def placement(self) -> Placement:
        """The position of the column's value, over the columns of :meth:`reading`."""
        value = Value(self.column, self.type, dialect=self.dialect)
        if self._unparsed:
            value = Value(self.column, ColumnType("text"))
            if needs_parsing(self.attribute):
                value = Value(_column(f"v{self.axis}"), parsed(self.attribute, self.column)[1], written=self.column)
        return place(self.attribute, value, self.verdicts, f"d{self.axis}")


def counts_query(types: Sequence[ColumnType], layout: Layout, dialect: Dialect = DUCKDB) -> exp.Select:
    """Ask for the number of rows (``n``) of each ``cell`` that has any; problems are marked in the cell's number."""
    fields = [
        Field(axis, attribute, column, Verdicts.in_layout(attribute, layout, axis), dialect)
        for axis, (attribute, column) in enumerate(zip(layout.domain.attributes, types, strict=True))
    ]
    early = [field for field in fields if not field.grouped_first]
    late = [field for field in fields if field.grouped_first]
    rows = _read(early, [field.raw() for field in late], _table())
    total = exp.Count(this=exp.Star())
    if not late:
        return _grouped([_cell(early, layout)], total, rows, early)
    keys = [_cell(early, layout)] if early else []
    groups = _grouped([*keys, *(field.column for field in late)], total, rows, early)
    carried = [_column("cell")] if early else []
    read = _read(late, [*carried, _column("n")], _nested(groups, "grouped"))
    return _grouped([_cell(late, layout, *carried)], exp.Sum(this=_column("n")), read, late)


def plain_counts_query(types: Sequence[ColumnType], layout: Layout, dialect: Dialect = DUCKDB) -> exp.Select | None:
    """Ask the same of columns of whole numbers, with all rows that have problems in cell -1; None for other columns.

    One condition over the raw columns guards the cell's number: that costs no more than a plain GROUP BY.
    """
    attributes = layout.domain.attributes
    verdicts = [Verdicts.as_declared(attribute) for attribute in attributes]
    rows, guards, places = guarded_positions(attributes, types, verdicts, dialect)
    if not all(Field(0, *each, dialect).placement.plain for each in zip(attributes, types, verdicts, strict=True)):
        return None
    wide = layout.domain.size >= NARROW
    positions = [exp.cast(place, "BIGINT") if wide else place for place in places]
    terms = [
        exp.Mul(this=place, expression=number(stride)) if stride > 1 else place
        for place, stride in zip(positions, layout.strides, strict=True)
    ]
    total = terms[0]
    for term in terms[1:]:
        total = exp.Add(this=total, expression=term)
    cell = exp.Case().when(every(guards), total).as_("cell", quoted=True)
    many = exp.cast(exp.Count(this=exp.Star()), "BIGINT").as_("n", quoted=True)
    grouped = exp.select(cell, many).from_(rows).group_by(number(1))
    marked = exp.cast(exp.Coalesce(this=_column("cell"), expressions=[number(-1)]), "BIGINT").as_("cell", quoted=True)
    return exp.select(marked, _column("n")).from_(_nested(grouped, "grouped"))


def check_query(
    attributes: Sequence[Attribute], types: Sequence[ColumnType], verdicts: Sequence[Verdicts], dialect: Dialect
) -> exp.Select:
    """Ask for the number of rows and, per attribute, of missing, outside and malformed ones, in this order."""
    positions = positions_query(attributes, types, verdicts, dialect)
    sums = [
        _tally(_column(f"p{axis}"), mark) for axis in range(len(attributes)) for mark in (MISSING, OUTSIDE, MALFORMED)
    ]
    return exp.select(exp.Count(this=exp.Star()), *sums).from_(_nested(positions, "placed"))


def positions_query(
    attributes: Sequence[Attribute],
    types: Sequence[ColumnType],
    verdicts: Sequence[Verdicts],
    dialect: Dialect = DUCKDB,
) -> exp.Select:
    """Select the positions ``p0``, ``p1``, ... of every row, or the verdicts on values that have none."""
    fields = [
        Field(axis, attribute, column, verdict, dialect)
        for axis, (attribute, column, verdict) in enumerate(zip(attributes, types, verdicts, strict=True))
    ]
    placed = [field.placement.position.as_(f"p{field.axis}", quoted=True) for field in fields]
    return _joined(exp.select(*placed).from_(_nested(_read(fields, [], _table()), "rows")), fields)


def guarded_positions(
    attributes: Sequence[Attribute],
    types: Sequence[ColumnType],
    verdicts: Sequence[Verdicts],
    dialect: Dialect = DUCKDB,
) -> tuple[exp.Expr, list[exp.Condition], list[exp.Expr]]:
    """Return a table, and for each attribute a condition over it and the position of rows that meet the condition.

    Raw columns stay as they are where they can: then rows cost little more than the query that uses them.
    """
    fields = [
        Field(axis, attribute, column, verdict, dialect)
        for axis, (attribute, column, verdict) in enumerate(zip(attributes, types, verdicts, strict=True))
    ]
    columns: list[exp.Expr] = []
    guards: list[exp.Condition] = []
    places: list[exp.Expr] = []
    for field in fields:
        plain, settled = field.placement.plain, _column(f"p{field.axis}")
        columns.append(field.column if plain else field.placement.position.as_(settled.name, quoted=True))
        guards.append(plain[0] if plain else exp.GTE(this=settled, expression=number(0)))
        short = exp.cast(settled.copy(), "INT") if field.attribute.size < NARROW else settled.copy()
        places.append(exp.Paren(this=plain[1]) if plain else short)
    table = _joined(exp.select(*columns).from_(_nested(_read(fields, [], _table()), "rows")), fields)
    return _nested(table, "placed"), guards, places


def _read(fields: Sequence[Field], carried: Sequence[exp.Expr], rows: exp.Expr) -> exp.Select:
    columns = [column for field in fields for column in field.reading()]
    return exp.select(*carried, *columns).from_(rows)


def _grouped(keys: Sequence[exp.Expr], total: exp.Expr, rows: exp.Select, fields: Sequence[Field]) -> exp.Select:
    counted = exp.cast(total, "BIGINT").as_("n", quoted=True)
    grouped = exp.select(*keys, counted).from_(_nested(rows, "rows"))
    return _joined(grouped, fields).group_by(*(number(place + 1) for place in range(len(keys))))


def _cell(fields: Sequence[Field], layout: Layout, *carried: exp.Expr) -> exp.Expr:
    terms = list(carried)
    for field in fields:
        position, stride = field.placement.position, layout.strides[field.axis]
        terms.append(position if stride == 1 else exp.Mul(this=position, expression=number(stride)))
    total = terms[0]
    for term in terms[1:]:
        total = exp.Add(this=total, expression=term)
    return total.as_("cell", quoted=True)


def _joined(query: exp.Select, fields: Sequence[Field]) -> exp.Select:
    for field in fields:
        lookup = field.placement.lookup
        if lookup is not None:
            query = _join(query, lookup, f"d{field.axis}")
            if field.dialect.broadcast:
                query = query.hint(exp.Anonymous(this="BROADCAST", expressions=[_name(f"d{field.axis}")]), copy=False)
    return query


def _join(query: exp.Select, lookup: Lookup, alias: str) -> exp.Select:
    rows = [exp.Tuple(expressions=list(row)) for row in lookup.rows]
    columns = [_name(column) for column in lookup.columns]
    table = exp.Values(expressions=rows, alias=exp.TableAlias(this=_name(alias), columns=columns))
    matched = exp.EQ(this=lookup.key, expression=exp.column(lookup.columns[0], alias, quoted=True))
    return query.join(table, on=matched, join_type="left", copy=False)


def _tally(position: exp.Expr, problem: int) -> exp.Expr:
    hit = exp.Case().when(exp.EQ(this=position, expression=number(-problem)), number(1)).else_(number(0))
    return exp.cast(exp.Coalesce(this=exp.Sum(this=hit), expressions=[number(0)]), "BIGINT")


def _nested(query: exp.Select, alias: str) -> exp.Subquery:
    return query.subquery(_name(alias), copy=False)


def _table() -> exp.Table:
    return exp.Table(this=_name(SOURCE))


def _column(name: str) -> exp.Column:
    return exp.column(name, quoted=True)


def _name(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)
