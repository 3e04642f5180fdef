"""Tables without negative counts that still agree: near the unbiased ones, and biased.

Dykstra's algorithm [boyle1986] comes close to the nearest such tables, weighted by precision. What is left is mended.
Tables of one or two attributes are fitted to the tables they contain, the small ones first, which keeps every count at
zero or above; larger ones are moved inside together. Either way no count is negative, and two tables agree to the
rounding of floats: to about 1e-12 of all records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.tables.agreement import Agreement, contained
from blowfish_privacy.mechanisms.tables.components import Axes, Floats
from blowfish_privacy.mechanisms.tables.interior import moved_inside

_ROUNDS = 60
_Values = TypeVar("_Values", bound=npt.NDArray[Any])


def nonnegative(tables: Sequence[Floats], agreement: Agreement) -> list[Floats]:
    """Return near tables that agree and have no negative count; exact components stay exact."""
    near = _near(tables, agreement)
    if max(map(len, agreement.tables)) > 2:
        return moved_inside(near, agreement)
    every = fitted(near, agreement)
    return [every[table] for table in agreement.tables]


def _near(tables: Sequence[Floats], agreement: Agreement) -> list[Floats]:
    """Project in turn on tables that agree and on tables that are not negative."""
    exact = agreement.exact_sums(tables)
    agreeing, cut = list(tables), [np.zeros(table.shape) for table in tables]
    for _ in range(_ROUNDS):
        before = [table + taken for table, taken in zip(agreeing, cut, strict=True)]
        # Only the cone needs its correction remembered: the other set is a plane.
        cut = [np.minimum(table, 0) for table in before]
        agreeing = agreement.nearest([np.maximum(table, 0) for table in before], exact)
    return agreeing


def fitted(tables: Sequence[Floats], agreement: Agreement) -> dict[Axes, Floats]:
    """Cut tables that agree at zero, and make them agree again with all tables they contain, the small ones first."""
    found: dict[Axes, Floats] = {}
    for part, table in contained(tables, agreement.tables).items():
        found[part] = np.rint(table) if part in agreement.exact else fit(np.maximum(table, 0), sides(part, found))
    return found


def sides(part: Axes, found: Mapping[Axes, _Values]) -> list[_Values]:
    """Return the tables with one attribute less, in the order of the attribute that is summed."""
    return [found[side] for side in reversed(list(combinations(part, len(part) - 1)))] if part else []


def fit(table: Floats, sums: Sequence[Floats]) -> Floats:
    """Give a table without negative counts the sums over each of its axes: at most two, of one total."""
    if len(sums) == 1:
        everything = float(table.sum())
        return table * (float(sums[0]) / everything) if everything else np.full(table.shape, sums[0] / table.size)
    return fit_two(table, *sums) if sums else table


def fit_two(table: Floats, down: Floats, across: Floats) -> Floats:
    """Give a table of two attributes its sums, whatever they are, if they have one total.

    Scale down where there is too much, then spread what is missing over the rows and columns that lack something
    [altschuler2017, algorithm 2]: nothing becomes negative, and little moves where little is wrong.
    """
    for axis, wanted in ((0, down), (1, across)):
        sums = table.sum(axis=axis)
        ratio = np.divide(wanted, sums, out=np.ones(sums.shape), where=sums > wanted)
        table = table * np.expand_dims(ratio, axis)
    lacking_down = np.maximum(down - table.sum(axis=0), 0)
    lacking_across = np.maximum(across - table.sum(axis=1), 0)
    everything = float(lacking_down.sum())
    return table + np.outer(lacking_across, lacking_down / everything) if everything else table
