"""Tables without negative counts that still agree: near the unbiased ones, and biased.

Dykstra's algorithm [boyle1986] comes close to the nearest such tables, weighted by precision. What is left is mended.
Tables of one or two attributes are fitted to the tables they contain, the small ones first, which keeps every count at
zero or above; larger ones are moved inside together. Either way no count is negative, and two tables agree to the
rounding of floats: to about 1e-12 of all records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import RefusalError
from blowfish_privacy.mechanisms.tables.agreeing.agreement import Agreement
from blowfish_privacy.mechanisms.tables.agreeing.interior import moved_inside
from blowfish_privacy.mechanisms.tables.nesting import Axes
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.progress import task

_ROUNDS = 60
_MOST_CELLS = 10_000_000


def nonnegative(tables: Sequence[Floats], agreement: Agreement) -> list[Floats]:
    """Return near tables that agree and have no negative count; exact components stay exact."""
    cells = sum(table.size for table in tables)
    if cells > _MOST_CELLS:
        raise RefusalError(
            f"tables of {cells:,} cells are too many to fit without negative counts; the most is {_MOST_CELLS:,}.",
            hint="use the unbiased tables, or ask for fewer.",
        )
    near = _near(tables, agreement)
    if max(map(len, agreement.tables)) > 2:
        return moved_inside(near, agreement)
    every = fitted(near, agreement)
    return [every[table] for table in agreement.tables]


def _near(tables: Sequence[Floats], agreement: Agreement) -> list[Floats]:
    """Project in turn on tables that agree and on tables that are not negative."""
    exact = agreement.exact_sums(tables)
    agreeing, cut = list(tables), [np.zeros(table.shape) for table in tables]
    with task("Moving tables to zero and above") as report:
        for done in range(_ROUNDS):
            before = [table + taken for table, taken in zip(agreeing, cut, strict=True)]
            # Only the cone needs its correction remembered: the other set is a plane.
            cut = [np.minimum(table, 0) for table in before]
            agreeing = agreement.nearest([np.maximum(table, 0) for table in before], exact)
            if report:
                report(done / _ROUNDS)
    return agreeing


def fitted(tables: Sequence[Floats], agreement: Agreement) -> dict[Axes, Floats]:
    """Cut tables that agree at zero, and make them agree again with all tables they contain, the small ones first."""
    found: dict[Axes, Floats] = {}
    for axes, table in agreement.contained(tables).items():
        if axes in agreement.exact:
            found[axes] = np.rint(table)
        else:
            found[axes] = within(np.maximum(table, 0), axes, found, agreement, fit_one, fit_two)
    return found


def within(
    table: Floats,
    axes: Axes,
    found: Mapping[Axes, npt.NDArray[Any]],
    agreement: Agreement,
    one: Callable[[Floats, Any], npt.NDArray[Any]],
    two: Callable[[Floats, npt.NDArray[Any], npt.NDArray[Any]], npt.NDArray[Any]],
) -> npt.NDArray[Any]:
    """Fit a table of at most two attributes to the next coarser ones.

    Without levels of a hierarchy, ``one`` and ``two`` see the whole table: with its total, or its sums over both axes.
    With levels they see one branch after the other.
    """
    if not axes:
        return table
    groups = [agreement.nesting.above.get(axis, np.zeros(agreement.sizes[axis], dtype=np.int64)) for axis in axes]
    sides = [_side(axes, at, found, agreement) for at in range(len(axes))]
    branches = [[np.flatnonzero(each == group) for group in range(int(each.max()) + 1)] for each in groups]
    parts: list[tuple[Any, npt.NDArray[Any]]] = []
    if len(axes) == 1:
        parts = [(rows, one(table[rows], sides[0][group])) for group, rows in enumerate(branches[0])]
    else:
        for (first, rows), (second, columns) in product(enumerate(branches[0]), enumerate(branches[1])):
            block = np.ix_(rows, columns)
            parts.append((block, two(table[block], sides[0][first, columns], sides[1][rows, second])))
    result = np.zeros(table.shape, dtype=parts[0][1].dtype)
    for where, values in parts:
        result[where] = values
    return result


def _side(axes: Axes, at: int, found: Mapping[Axes, npt.NDArray[Any]], agreement: Agreement) -> npt.NDArray[Any]:
    """Return the table with one axis coarser, or left out and then of length 1; axes in the same order."""
    parent = agreement.nesting.parents.get(axes[at])
    if parent is None:
        return np.expand_dims(found[axes[:at] + axes[at + 1 :]], at)
    order = (*axes[:at], parent, *axes[at + 1 :])
    return found[tuple(sorted(order))].transpose([sorted(order).index(axis) for axis in order])


def fit_one(table: Floats, total: Any) -> Floats:
    """Give a table of one attribute its total."""
    everything = float(table.sum())
    return table * (float(total) / everything) if everything else np.full(table.shape, float(total) / table.size)


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
