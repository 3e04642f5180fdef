"""Agreeing whole numbers by controlled rounding.

Tables of at most two attributes are rounded one by one, the small ones first, each to the sums it must have. This
always succeeds: rows and columns make a network, whose linear program has a whole solution where it has any [cox1982].
With three attributes or more that is not so: small sets are rounded by one integer program, which may find no solution
in time, and then we say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blowfish_privacy.errors import RefusalError
from blowfish_privacy.mechanisms.constraints import rounded_in_parts, rounded_to
from blowfish_privacy.mechanisms.tables.agreeing.agreement import Agreement
from blowfish_privacy.mechanisms.tables.agreeing.nonnegative import fit_one, fit_two, within
from blowfish_privacy.mechanisms.tables.nesting import Axes
from blowfish_privacy.privacy.public_totals import records_total
from blowfish_privacy.support.arrays import Floats, Integers

_MOST_CELLS = 20_000
"""How many cells tables may have together if some are of three or more attributes."""


def whole(tables: Sequence[Floats], agreement: Agreement) -> list[Integers]:
    """Round tables that agree and are not negative to whole numbers that do; exact components stay exact."""
    if max(map(len, agreement.tables)) > 2:
        return _together(tables, agreement)
    found: dict[Axes, Integers] = {}
    for axes, table in agreement.contained(tables).items():
        if axes in agreement.exact or not axes:
            found[axes] = np.rint(table).astype(np.int64)
        else:
            found[axes] = within(table, axes, found, agreement, _rounded_one, _rounded_two)
    return [found[table] for table in agreement.tables]


def _rounded_one(table: Floats, total: Any) -> Integers:
    """Round a table of one attribute to whole numbers with a given total."""
    return rounded_in_parts(fit_one(table, total), records_total(table.size, int(total)))


def _rounded_two(table: Floats, down: Integers, across: Integers) -> Integers:
    """Round each cell up or down, those of large remainders up, after the table was fitted to its sums."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, vstack

    near = fit_two(table, down.astype(np.float64), across.astype(np.float64))
    floor = np.floor(near + 1e-7)
    rows, columns = np.nonzero(near - floor > 1e-7)
    cells, ones = np.arange(len(rows)), np.ones(len(rows))
    rounded = floor.astype(np.int64)
    sums = vstack(
        [
            csr_array((ones, (columns, cells)), shape=(len(down), len(rows))),
            csr_array((ones, (rows, cells)), shape=(len(across), len(rows))),
        ]
    )
    missing = np.concatenate([down - rounded.sum(axis=0), across - rounded.sum(axis=1)])
    if missing.any():
        remainder = (near - floor)[rows, columns]
        solved = linprog(1 - 2 * remainder, A_eq=sums, b_eq=missing, bounds=(0, 1), method="highs-ds")
        rounded[rows, columns] += np.rint(solved.x).astype(np.int64)
    return rounded


def _together(tables: Sequence[Floats], agreement: Agreement) -> list[Integers]:
    """Search for agreeing whole numbers, all tables at once, that move as little as possible."""
    values = np.concatenate([table.reshape(-1) for table in tables])
    found = None
    if len(values) <= _MOST_CELLS:
        found = rounded_to(np.maximum(values, 0), *agreement.equations(tables))
    if found is None:
        raise RefusalError(
            f"no agreeing whole numbers were found for these {len(tables):,} tables of {len(values):,} cells.",
            hint="beyond two attributes that may be too hard; use nonnegative(), or ask for tables of two attributes.",
        )
    ends = np.cumsum([table.size for table in tables])[:-1]
    return [part.reshape(table.shape) for part, table in zip(np.split(found, ends), tables, strict=True)]
