"""Counts that are not negative and meet totals, and rounding that keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.privacy.public_totals import Totals
from blowfish_privacy.support.arrays import Floats, Integers

_SECONDS = 10.0


def nearest_in_parts(values: Floats, totals: Totals) -> Floats:
    """Project on the counts that are not negative and meet the total of each part.

    The projection subtracts one number from all counts of a part and cuts at zero.
    """
    order = np.lexsort((-values, totals.labels))
    descending, part = values[order], totals.labels[order]
    starts = np.searchsorted(part, np.arange(len(totals.counts)))
    ranks = np.arange(len(values)) - starts[part] + 1
    sums = np.cumsum(descending)
    before = np.concatenate([[0.0], sums])[starts]
    shifts = (sums - before[part] - totals.counts[part]) / ranks
    # The largest of a part always stays: with counts far beyond the total rounding could leave none.
    kept = np.where((descending > shifts) | (ranks == 1), np.arange(len(values)), 0)
    last = np.zeros(len(totals.counts), dtype=np.int64)
    np.maximum.at(last, part, kept)
    nearest = np.maximum(values - shifts[last][totals.labels], 0)
    return np.where(totals.counts[totals.labels] > 0, nearest, 0.0)


def rounded_in_parts(values: Floats, totals: Totals) -> Integers:
    """Round to whole numbers that meet the total of each part: the largest remainders get what is missing."""
    whole = np.floor(values).astype(np.int64)
    missing = np.maximum(totals.counts, 0) - _sums(whole, totals)
    order = np.lexsort((whole - values, totals.labels))
    part = totals.labels[order]
    rank = np.arange(len(values)) - np.searchsorted(part, np.arange(len(totals.counts)))[part]
    whole[order[rank < missing[part]]] += 1
    # Values far beyond 2^53 may have lost whole records: the largest of the part makes up for it.
    largest = np.lexsort((-whole, totals.labels))[np.searchsorted(part, np.arange(len(totals.counts)))]
    whole[largest] += np.maximum(totals.counts, 0) - _sums(whole, totals)
    return whole


def rounded_together(values: Floats, totals: Sequence[Totals]) -> Integers:
    """Round to whole numbers that meet totals of several partitions.

    Each number is rounded up or down, those of large remainders up, if that meets all totals: for two partitions it
    always does, since such systems have whole solutions. For three or more it may not; then numbers move further, as
    little as possible together. If no solution is found in some seconds, the finest partition is met exactly, and the
    others nearly.
    """
    from scipy.sparse import csr_array, vstack

    cells = np.arange(len(values))
    rows = [csr_array((np.ones(len(values)), (t.labels, cells)), shape=(len(t.counts), len(values))) for t in totals]
    found = rounded_to(values, vstack(rows), np.concatenate([each.counts for each in totals]))
    return rounded_in_parts(values, totals[0]) if found is None else found


def rounded_to(values: Floats, sums: Any, counts: npt.NDArray[Any]) -> Integers | None:
    """Round to whole numbers whose ``sums``, rows of a sparse matrix, are given, if some are found in some seconds.

    Each number is rounded up or down if that can be done, and moves further if it cannot.
    """
    found = _solved(values, sums, counts, further=False)
    return _solved(values, sums, counts, further=True) if found is None else found


def _solved(values: Floats, sums: Any, counts: npt.NDArray[Any], *, further: bool) -> Integers | None:
    """Find whole numbers with given sums by an integer program: what is added to, and taken from, each floor."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import hstack

    whole = np.floor(values + 1e-7)
    remainder = np.clip(values - whole, 0, 1)
    most: Any = np.concatenate([np.full(len(values), np.inf if further else 1), whole * further])
    gaps = counts - sums @ whole
    solved = milp(
        np.concatenate([1 - remainder, 1 + remainder]),
        integrality=np.ones(2 * len(values)),
        bounds=Bounds(0, most),
        constraints=LinearConstraint(hstack([sums, -sums]), gaps, gaps),
        options={"time_limit": _SECONDS},
    )
    if solved.x is None:
        return None
    added, taken = np.split(np.rint(solved.x), 2)
    found = (whole + added - taken).astype(np.int64)
    return found if (sums @ found == counts).all() and (found >= 0).all() else None


def _sums(whole: Integers, totals: Totals) -> Integers:
    sums = np.zeros(len(totals.counts), dtype=np.int64)
    np.add.at(sums, totals.labels, whole)
    return sums
