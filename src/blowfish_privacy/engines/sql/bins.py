"""Which bin a number inside the bins falls in.

Few bins, or very uneven ones, are found by bisection: a balanced tree of CASE. It costs one comparison per
level, but every engine pays for each branch on each batch of rows, so many bins are found through a grid:
an even ruler is laid over the bins, the number's place on it is computed, and a joined table says for each
place how many edges lie safely below it and which edges are too near to tell without comparing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, isfinite

from sqlglot import exp

from blowfish_privacy.domain import Binned
from blowfish_privacy.engines.sql.comparisons import Value
from blowfish_privacy.engines.sql.expressions import double, number

_BISECTED = 64
_REFINEMENTS = (2, 4, 8, 16)
_NEAR = 2


@dataclass(frozen=True)
class Lookup:
    """A small table to join: its rows, its columns, and the key it is joined by (its first column)."""

    rows: Sequence[tuple[exp.Expr, ...]]
    columns: tuple[str, ...]
    key: exp.Expr


@dataclass(frozen=True)
class _Edges:
    """The inner edges a column's type can both reach and miss, after ``passed`` edges that it always reaches."""

    passed: int
    edges: tuple[Fraction, ...]

    @classmethod
    def of(cls, value: Value, binned: Binned) -> _Edges:
        inner = binned.bounds[1:-1]
        passed = sum(value.always(edge) is True for edge in inner)
        return cls(passed, tuple(edge for edge in inner if value.always(edge) is None))


def bin_position(value: Value, binned: Binned, alias: str) -> tuple[exp.Expr, Lookup | None]:
    """Return the position of a number that lies within the bins, and the table it is looked up in, if any."""
    edges = _Edges.of(value, binned)
    if value.dialect.bucketed and len(edges.edges) > _BISECTED:
        return _bucket(value, edges), None
    ruler = _Ruler.over(binned, edges) if len(edges.edges) > _BISECTED else None
    if ruler is None:
        return _bisect(value, edges, 0, len(edges.edges)), None
    position: exp.Expr = exp.column("base", alias, quoted=True)
    for nth in range(_NEAR):
        near = exp.GTE(this=value.expression.copy(), expression=exp.column(f"edge{nth}", alias, quoted=True))
        step = exp.Case().when(near, number(1)).else_(number(0))
        position = exp.Add(this=position, expression=step)
    lookup = Lookup(
        rows=[ruler.row(place, value, edges.passed) for place in range(-1, ruler.places + 2)],
        columns=("place", "base", *(f"edge{nth}" for nth in range(_NEAR))),
        key=ruler.place(value, binned),
    )
    return position, lookup


def _bucket(value: Value, edges: _Edges) -> exp.Expr:
    """Let the engine search the edges: it says how many of them the value reaches."""
    kind = {"float": "DOUBLE", "decimal": "DECIMAL", "integer": "BIGINT"}[value.type.kind]
    wanted, literals = value.alongside(edges.edges)
    array = exp.cast(exp.array(*literals), f"{kind}[]")
    place = exp.Anonymous(this="width_bucket", expressions=[exp.cast(wanted, kind), array])
    return exp.Add(this=place, expression=number(edges.passed))


def _bisect(value: Value, edges: _Edges, first: int, last: int) -> exp.Expr:
    if first == last:
        return number(edges.passed + first)
    middle = (first + last) // 2
    upper, lower = _bisect(value, edges, middle + 1, last), _bisect(value, edges, first, middle)
    return exp.Case().when(value.at_least(edges.edges[middle]), upper).else_(lower)


@dataclass(frozen=True)
class _Ruler:
    """An even division of the range of the bins into places.

    Engines may round the computed place differently at its borders. An edge therefore counts as safely
    below a number only when its place is two or more lower; those up to one place away are compared.
    """

    low: float
    scale: float
    places: int
    at: tuple[int, ...]
    edges: tuple[Fraction, ...]

    @classmethod
    def over(cls, binned: Binned, edges: _Edges) -> _Ruler | None:
        """Lay the coarsest ruler that leaves at most two edges near any place; None when the bins are too uneven."""
        low, high = float(binned.bounds[0]), float(binned.bounds[-1])
        for refinement in _REFINEMENTS:
            places = refinement * binned.size
            scale = places / (high - low)
            if not isfinite(high - low) or not isfinite(scale):
                return None
            at = tuple(floor((float(edge) - low) * scale) for edge in edges.edges)
            crowded = any(later - earlier <= 2 for earlier, later in zip(at, at[_NEAR:], strict=False))
            if not crowded:
                return cls(low, scale, places, at, edges.edges)
        return None

    def place(self, value: Value, binned: Binned) -> exp.Expr:
        """Compute a number's place; NULL outside the bins, where the arithmetic could overflow."""
        shifted = exp.Sub(this=exp.cast(value.expression.copy(), "DOUBLE"), expression=double(self.low))
        scaled = exp.Mul(this=exp.Paren(this=shifted), expression=double(self.scale))
        place = exp.cast(exp.Floor(this=scaled), "BIGINT")
        return exp.Case().when(value.within(binned.bounds[0], binned.bounds[-1]), place)

    def row(self, place: int, value: Value, passed: int) -> tuple[exp.Expr, ...]:
        """Say what is known of the numbers at a place."""
        first, last = bisect_left(self.at, place - 1), bisect_right(self.at, place + 1)
        near = [value.literal(edge) for edge in self.edges[first:last]]
        near += [value.nothing()] * (_NEAR - len(near))
        return number(place), number(passed + first), *near
