"""The errors of very many tables at once: the closed form of :class:`Components`, in arrays.

Sets of all tables of three of a hundred attributes have 161,700 tables and as many components; one at a time they take
half a minute. A component is a number here: its axes, ascending, as digits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TypeAlias

import numpy as np

from blowfish_privacy.mechanisms.tables.nesting import Axes
from blowfish_privacy.queries.tables import Block
from blowfish_privacy.support.arrays import Floats, Integers


def fits(shape: Sequence[int], longest: int) -> bool:
    """Say whether the components of tables of so many axes can be numbered."""
    return (len(shape) + 1) ** longest < 2**62


Precisions: TypeAlias = tuple[Integers, Floats]
"""Numbers of components, and the precision with which something tells each."""


def cell_variances(
    shape: Sequence[int], told: Sequence[Precisions], tables: Sequence[Axes], *, counted: bool
) -> Floats:
    """Return the variance of a cell of each table, given what is told of the components."""
    numbers, precisions = (np.concatenate(each) for each in zip(*told, strict=True))
    known, place = np.unique(numbers, return_inverse=True)
    spread = 1 / np.bincount(place, precisions)
    if counted and len(known) and known[0] == 0:
        spread[0] = 0.0
    sizes = np.array(shape, dtype=np.float64)
    found = np.zeros(len(tables))
    for where, axes in _alike(tables):
        for part in _positions(axes.shape[1]):
            rest = [at for at in range(axes.shape[1]) if at not in part]
            weight = (1 - 1 / sizes[axes[:, part]]).prod(axis=1) / (sizes[axes[:, rest]] ** 2).prod(axis=1)
            if part or not counted:
                # Components along attributes of one value are not among those known, and weigh nothing.
                at = np.searchsorted(known, _numbered(axes[:, part], len(shape)))
                found[where] += weight * spread[np.minimum(at, len(known) - 1)]
    return found


def told_alone(rows: Sequence[tuple[Axes, float]], shape: Sequence[int]) -> Precisions:
    """Number components that were measured by themselves, with the precision of each."""
    variances = np.array([variance for _, variance in rows], dtype=np.float64)
    numbers = np.zeros(len(rows), dtype=np.int64)
    for where, axes in _alike([axes for axes, _ in rows]):
        numbers[where] = _numbered(axes, len(shape))
    with np.errstate(divide="ignore"):
        return numbers, 1 / variances


def told_by_tables(shape: Sequence[int], blocks: Sequence[Block], variances: Sequence[float]) -> Precisions:
    """Number the components that each measured table tells, with the precision of each."""
    sizes = np.array(shape, dtype=np.float64)
    noise = np.array(variances, dtype=np.float64)
    every: list[Integers] = [np.zeros(0, dtype=np.int64)]
    precisions: list[Floats] = [np.zeros(0)]
    signed: dict[int, list[int]] = defaultdict(list)
    for number, block in enumerate(blocks):
        signed[len(block.signs)].append(number)
    for signs, chosen in signed.items():
        for where, axes in _alike([blocks[number].axes for number in chosen]):
            counted = axes.shape[1] - signs
            of = noise[np.array(chosen)[where]]
            for part in _positions(counted):
                rest = [at for at in range(counted) if at not in part]
                kept = axes[:, [*part, *range(counted, axes.shape[1])]]
                every.append(_numbered(np.sort(kept, axis=1), len(shape)))
                with np.errstate(divide="ignore"):
                    precisions.append(2**signs / (of * sizes[axes[:, rest]].prod(axis=1)))
    return np.concatenate(every), np.concatenate(precisions)


def _alike(tables: Sequence[Axes]) -> Iterator[tuple[Integers, Integers]]:
    """Go through the tables of each number of axes: which they are, and their axes, one row each."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for number, axes in enumerate(tables):
        by_length[len(axes)].append(number)
    for length, chosen in by_length.items():
        rows = np.array([tables[number] for number in chosen], dtype=np.int64).reshape(len(chosen), length)
        yield np.array(chosen), rows


def _positions(length: int) -> Iterator[list[int]]:
    return (list(part) for many in range(length + 1) for part in combinations(range(length), many))


def _numbered(axes: Integers, attributes: int) -> Integers:
    """Number sets of axes: their digits, ascending."""
    numbers = np.zeros(len(axes), dtype=np.int64)
    for column in np.sort(axes, axis=1).T:
        numbers = numbers * (attributes + 1) + column + 1
    return numbers
