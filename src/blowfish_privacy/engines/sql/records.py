"""The query for the rows as positions, equal ones as one: for more tables than a database groups by at once.

The positions of a row are packed into as few 64-bit numbers as hold them, and unpacked here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from sqlglot import exp

from blowfish_privacy.aggregates.aggregates import Positions, narrow
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines.sql.columns import ColumnType
from blowfish_privacy.engines.sql.dialect import Dialect
from blowfish_privacy.engines.sql.expressions import column, nested, nested_apart, number, rows_counted, summed
from blowfish_privacy.engines.sql.rows import positions_query
from blowfish_privacy.support.arrays import Integers

_LARGEST_NUMBER = 2**62
_PRIME, _FACTOR = 2**31 - 1, 1_103_515_245
"""What spreads rows over parts: remainders alone would follow the last attributes."""


@dataclass(frozen=True)
class Part:
    """One of so many parts of the rows; equal rows are in the same one."""

    number: int
    many: int


@dataclass(frozen=True)
class Packing:
    """Which attributes of a domain share a number."""

    domain: Domain

    @cached_property
    def axes(self) -> Sequence[Sequence[int]]:
        """The axes in each number, the first of which counts most."""
        packed: list[list[int]] = [[]]
        for axis, size in enumerate(self.domain.shape):
            if size * prod(self.domain.shape[each] for each in packed[-1]) > _LARGEST_NUMBER:
                packed.append([])
            packed[-1].append(axis)
        return packed

    @property
    def width(self) -> int:
        """The bytes of a row, packed, and the number of times it occurs."""
        return 8 * (len(self.axes) + 1)

    def query(self, types: Sequence[ColumnType], dialect: Dialect, part: Part | int) -> exp.Select:
        """Ask for the different rows, and how often each occurs (``n``): for a part of them, or for at most so many.

        The first number of a row with a problem is -1; such rows are in every part.
        """
        placed = nested_apart(positions_query(self.domain.attributes, types, dialect), dialect)
        names = [f"w{rank}" for rank in range(len(self.axes))]
        numbers = [self._number(axes) for axes in self.axes]
        wrong = [exp.LT(this=column(f"p{axis}"), expression=number(0)) for axis in range(len(self.domain.shape))]
        numbers[0] = exp.Case().when(exp.or_(*wrong), number(-1)).else_(numbers[0])
        packed = exp.select(
            *(exp.cast(each, "BIGINT").as_(name, quoted=True) for name, each in zip(names, numbers, strict=True))
        ).from_(placed)
        columns = [column(name) for name in names]
        grouped = exp.select(*columns, rows_counted().as_("n", quoted=True)).from_(nested(packed, "packed"))
        grouped = grouped.group_by(*(number(rank) for rank in range(1, len(names) + 1)))
        return grouped.limit(part) if isinstance(part, int) else grouped.where(_belongs(columns, part))

    def unpacked(self, groups: Mapping[str, Any]) -> tuple[list[Positions], Integers | None]:
        """Return narrow positions along every axis, and how often each row occurs; None where each occurs once."""
        positions: dict[int, Positions] = {}
        for rank, axes in enumerate(self.axes):
            rest = np.asarray(groups[f"w{rank}"], dtype=np.int64)
            for axis in reversed(axes):
                size = self.domain.shape[axis]
                rest, position = np.divmod(rest, size)
                positions[axis] = narrow(position, size)
        times = np.asarray(groups["n"], dtype=np.int64)
        return [positions[axis] for axis in range(len(positions))], times if bool(np.any(times != 1)) else None

    def _number(self, axes: Sequence[int]) -> exp.Expr:
        shape = self.domain.shape
        strides = [prod(shape[each] for each in axes[rank + 1 :]) for rank in range(len(axes))]
        return summed(
            [
                exp.Mul(this=column(f"p{axis}"), expression=number(step))
                for axis, step in zip(axes, strides, strict=True)
            ]
        )


def _belongs(columns: Sequence[exp.Expr], part: Part) -> exp.Condition:
    def rest(each: exp.Expr, divisor: int) -> exp.Expr:
        return exp.Mod(this=exp.Paren(this=each), expression=number(divisor))

    mixed = rest(summed([rest(each.copy(), _PRIME) for each in columns]), _PRIME)
    spread = rest(exp.Mul(this=mixed, expression=number(_FACTOR)), _PRIME)
    matched = exp.EQ(this=rest(spread, part.many), expression=number(part.number))
    return exp.or_(matched, exp.LT(this=columns[0].copy(), expression=number(0)))
