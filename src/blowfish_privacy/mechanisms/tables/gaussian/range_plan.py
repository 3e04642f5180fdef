"""Which rows are read along the attributes of which ranges are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import floor, log2, prod

from blowfish_privacy.mechanisms.tables.gaussian.axis_rows import AxisRows, best_rows, in_both
from blowfish_privacy.mechanisms.tables.planning.lattice import Along
from blowfish_privacy.mechanisms.tables.planning.planning import Wanted, best_design
from blowfish_privacy.privacy.sensitivity import Norm

_NORMS = (0.8, 0.4, 0.55, 1.1)
"""Squared norms of columns that are tried, in units of the largest squared change."""
_BITS, _FEWEST = 16, 6
"""Numbers of rows have so many bits behind the point, where there is room for them."""


def best_reading(wanted: Wanted, moves: Mapping[int, int], room: int) -> dict[int, AxisRows]:
    """Choose rows for each axis of which ranges are asked for: how long columns may be, beside how far they change.

    ``moves`` says how far a secret pair moves along each; rows of one record have at most ``room`` bits.
    """
    secret = frozenset[int]().union(*wanted.changed)
    bits = min(_bits(wanted, moves, table, room) for table in wanted.tables)
    if wanted.weights == "worst":
        # Nearly as good, and much faster: every table counts the same.
        cells = tuple(1.0 / prod(wanted.sizes[axis] for axis in table) for table in wanted.tables)
        wanted = replace(wanted, weights=cells)

    def reading(norms: Mapping[int, float | None]) -> dict[int, AxisRows]:
        return {axis: best_rows(wanted.sizes[axis], moves[axis], norm, bits) for axis, norm in norms.items()}

    def error(norms: Mapping[int, float | None]) -> float:
        return best_design(replace(wanted, read=read_along(reading(norms), moves)), Norm.L2).objective

    norms: dict[int, float | None] = {}
    for axis in moves:
        beside = {other for table in wanted.tables if axis in table for other in table} - {axis}
        # Where a record moves along the axis only, its columns may be as long as they like.
        alone = moves[axis] and not wanted.presence and secret.isdisjoint(beside)
        norms[axis] = None if alone else _NORMS[0]
    for axis in [axis for axis, norm in norms.items() if norm is not None]:
        norms[axis] = min(_NORMS, key=lambda norm, axis=axis: error({**norms, axis: norm}))
    return reading(norms)


def read_along(rows: Mapping[int, AxisRows], moves: Mapping[int, int]) -> tuple[tuple[int, Along], ...]:
    """Say what rows along some axes do to components, as the planner takes it."""
    return tuple((axis, _along(each, moves[axis])) for axis, each in rows.items())


def _along(rows: AxisRows, move: int) -> Along:
    together, norm = in_both(rows.size), float(rows.norm)
    change = float(rows.changed(move, Fraction(1), Fraction(1))[0]) if move else 0.0
    inside, outside = float((together * rows.covariance).sum()), float(together.sum()) / rows.size**2
    return Along(inside, outside, norm, 1 - change / (2 * norm))


def _bits(wanted: Wanted, moves: Mapping[int, int], table: tuple[int, ...], room: int) -> int:
    """Return how many bits there are for the rows of a table, along each axis with rows; one is for what is above 1."""
    read = [axis for axis in table if axis in moves]
    plain = sum(log2(wanted.sizes[axis]) for axis in table if axis not in moves)
    return max(min(_BITS, floor((room - plain) / len(read)) - 1), _FEWEST) if read else _BITS
