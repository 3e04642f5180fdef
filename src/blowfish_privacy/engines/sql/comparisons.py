"""Exact comparison of a column with a declared number, in the column's own type.

A declared edge is an exact fraction. Against whole numbers and decimals it is first rounded up to the next
number the column can hold, which changes no comparison; an edge beyond the column's reach becomes a constant,
so no literal ever overflows the column's type. Floats are compared with the float nearest to the edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, lcm, nan

from sqlglot import exp

from blowfish_privacy.engines.sql.columns import ColumnType
from blowfish_privacy.engines.sql.dialect import DUCKDB, Dialect
from blowfish_privacy.engines.sql.expressions import double, every, number


@dataclass(frozen=True)
class Value:
    """A column as read: its expression, its type, and for parsed text the text it was written as."""

    expression: exp.Column
    type: ColumnType
    written: exp.Column | None = None
    dialect: Dialect = DUCKDB

    def at_least(self, edge: Fraction) -> exp.Condition:
        """``value >= edge``."""
        reached = self.always(edge)
        if reached is not None:
            return exp.true() if reached else exp.false()
        value, edges = self.alongside([edge])
        return exp.GTE(this=value, expression=edges[0])

    def below(self, edge: Fraction) -> exp.Condition:
        """``value < edge``."""
        reached = self.always(edge)
        if reached is not None:
            return exp.false() if reached else exp.true()
        value, edges = self.alongside([edge])
        return exp.LT(this=value, expression=edges[0])

    def alongside(self, edges: Sequence[Fraction]) -> tuple[exp.Expr, list[exp.Expr]]:
        """Write the value and some edges so that they compare exactly.

        Numbers of any fineness cannot be rounded to, so an edge such as 1/3 is multiplied out, with the value.
        """
        if not self.type.special:
            return self.expression.copy(), [self.literal(edge) for edge in edges]
        factor = lcm(*(edge.denominator for edge in edges))
        value = exp.cast(self.expression.copy(), "DECIMAL")
        scaled = value if factor == 1 else exp.Mul(this=value, expression=number(factor))
        return scaled, [exp.cast(number(int(edge * factor)), "DECIMAL") for edge in edges]

    def within(self, low: Fraction, high: Fraction) -> exp.Condition:
        """``low <= value < high``, never true of a missing value."""
        parts = [self.at_least(low), self.below(high)]
        if any(isinstance(part, exp.Boolean) for part in parts):
            # A constant says nothing about NULL, which a comparison would have refused.
            parts.append(self.expression.is_(exp.null()).not_())
        return every(parts)

    def between(self, low: Fraction, high: Fraction) -> exp.Condition:
        """``low <= value <= high``, never true of a missing value; for exact numbers."""
        if self.type.special:
            value, edges = self.alongside([low, high])
            return exp.and_(exp.GTE(this=value, expression=edges[0]), exp.LTE(this=value.copy(), expression=edges[1]))
        return self.within(low, (floor(high / self.type.step) + 1) * self.type.step)

    def scaled(self, factor: int, *, most: Fraction) -> exp.Expr:
        """Multiply an exact number without rounding; its size is at most ``most`` wherever that is used."""
        if self.type.kind == "integer":
            wide = exp.cast(self.expression.copy(), "BIGINT")
            return wide if factor == 1 else exp.Mul(this=wide, expression=number(factor))
        if self.type.special:
            wide = exp.cast(self.expression.copy(), "DECIMAL")
            return wide if factor == 1 else exp.Mul(this=wide, expression=number(factor))
        if factor == 1:
            return self.expression.copy()
        # Products of decimals have as many digits as both together, and engines cut off what exceeds 38.
        narrow = decimal_of(len(str(int(most))) + self.places, self.places)
        by = exp.Cast(this=number(factor), to=decimal_of(len(str(factor)), 0))
        return exp.Mul(this=exp.Cast(this=self.expression.copy(), to=narrow), expression=by)

    @property
    def places(self) -> int:
        """How many digits of a decimal stand behind the point."""
        return len(str(self.type.step.denominator)) - 1

    def always(self, edge: Fraction) -> bool | None:
        """Say whether every value, or none, reaches an edge; None when it depends on the value."""
        if self.type.kind == "float" or self.type.special:
            return None
        rounded = self._rounded(edge)
        if rounded <= self.type.low:
            return True
        return False if rounded > self.type.high else None

    def literal(self, edge: Fraction) -> exp.Expr:
        """Write an edge in the column's type."""
        if self.type.kind == "float":
            return double(float(edge))
        rounded = self._rounded(edge)
        if self.type.kind == "integer":
            return number(int(rounded))
        scale = self.places
        shifted = int(rounded / self.type.step)
        digits = f"{abs(shifted):0{scale + 1}d}"
        point = len(digits) - scale
        text = f"{'-' if shifted < 0 else ''}{digits[:point]}.{digits[point:]}".rstrip(".")
        return exp.Cast(this=exp.Literal.string(text), to=self._decimal())

    def _decimal(self) -> exp.DataType:
        return decimal_of(self.type.digits, self.places)

    def nothing(self) -> exp.Expr:
        """Write NULL in the column's type, where a table needs one."""
        if self.type.kind == "decimal":
            return exp.Cast(this=exp.null(), to=self._decimal())
        return exp.cast(exp.null(), "DOUBLE" if self.type.kind == "float" else "BIGINT")

    def absent(self) -> exp.Condition:
        """``value`` is missing; a float that is not a number counts as missing."""
        missing: list[exp.Condition] = [(self.written or self.expression).is_(exp.null())]
        if self.type.kind == "float":
            missing.append(self.expression.eq(double(nan)))
        if self.type.special:
            not_a_number = exp.cast(exp.Literal.string("NaN"), "DECIMAL")
            missing.append(exp.EQ(this=exp.cast(self.expression.copy(), "DECIMAL"), expression=not_a_number))
        return exp.or_(*missing)

    def _rounded(self, edge: Fraction) -> Fraction:
        return ceil(edge / self.type.step) * self.type.step


def decimal_of(digits: int, places: int) -> exp.DataType:
    """Write a type of decimals."""
    size = [exp.DataTypeParam(this=exp.Literal.number(part)) for part in (digits, places)]
    return exp.DataType(this=exp.DType.DECIMAL, expressions=size)
