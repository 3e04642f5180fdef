"""Counting records that are in memory, one table after the other, in the memory of one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates.attribute_sets import Names
from blowfish_privacy.domain import Domain
from blowfish_privacy.support.arrays import Integers

Positions = npt.NDArray[Any]
"""Whole numbers from 0, of any width."""


def narrow(positions: Positions, size: int) -> Positions:
    """Return positions below ``size`` in as few bytes as hold them: counting takes less memory, and less time."""
    return positions.astype(np.min_scalar_type(size - 1), copy=False)


def record_tables(
    domain: Domain, positions: Sequence[Positions], times: Integers | None, sets: Iterable[Names]
) -> Iterator[Integers]:
    """Count the records of every cell of each set, given narrow positions along every attribute of a domain.

    ``times`` says how many records each one stands for. The numbers of the cells of a set's first attributes are kept
    for the next one: sets that begin alike are counted faster side by side, as those of ``combinations`` are.
    """
    columns, sizes = dict(zip(domain.names, positions, strict=True)), dict(zip(domain.names, domain.shape, strict=True))
    cells: list[tuple[Positions, int]] = []
    last: Names = ()
    for names in sets:
        del cells[len([*takewhile(lambda pair: pair[0] == pair[1], zip(last, names, strict=False))]) :]
        for name in names[len(cells) :]:
            cells.append(_refined(cells[-1] if cells else None, columns[name], sizes[name]))
        last = names
        yield _counted(cells, positions, times).reshape([sizes[name] for name in names])


def _refined(coarser: tuple[Positions, int] | None, column: Positions, size: int) -> tuple[Positions, int]:
    """Number cells that one more attribute divides, in as few bytes as hold the numbers."""
    if coarser is None:
        return column, size
    numbers, many = coarser
    finer: Positions = np.multiply(numbers, size, dtype=np.min_scalar_type(many * size - 1))
    finer += column
    return finer, many * size


def _counted(
    cells: Sequence[tuple[Positions, int]], positions: Sequence[Positions], times: Integers | None
) -> Integers:
    if not cells:
        return np.array(len(positions[0]) if times is None else times.sum(), dtype=np.int64)
    numbers, many = cells[-1]
    if times is None:
        return np.bincount(numbers, minlength=many).astype(np.int64, copy=False)
    # bincount would add up weights in floating point.
    table = np.zeros(many, dtype=np.int64)
    np.add.at(table, numbers, times)
    return table
