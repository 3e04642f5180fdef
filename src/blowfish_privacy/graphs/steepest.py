"""The secret pair along which a number given for every value changes most, found without listing pairs.

Numbers come as rows, one array in the shape of the domain after the other, and all rows are searched together: the sum
of several absolute changes is the largest of the changes of their signed sums, which are such rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Rows: TypeAlias = npt.NDArray[np.int64]
Cells: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]

_MOST_SHIFTED = 400_000_000
"""Numbers that are compared with others a few positions away, in all."""


@dataclass(frozen=True)
class Steepest:
    """An edge along which the numbers of a row change most, and by how much; no edge if none changes any."""

    rise: int
    row: int = 0
    edge: Cells | None = None


FLAT = Steepest(0)


def steepest_of(found: Iterable[Steepest | None]) -> Steepest | None:
    """Return the steepest of several; None if one of them is not known."""
    best = FLAT
    for each in found:
        if each is None:
            return None
        best = max(best, each, key=lambda steepest: steepest.rise)
    return best


def among_all(rows: Rows) -> Steepest:
    """Compare every two values."""
    flat = rows.reshape(len(rows), -1)
    rises = flat.max(axis=1) - flat.min(axis=1)
    row = int(rises.argmax())
    return _between(rows, row, int(flat[row].argmin()), int(flat[row].argmax()))


def inside_blocks(rows: Rows, labels: npt.NDArray[np.intp]) -> Steepest:
    """Compare every two values with the same label; labels have the shape of the domain."""
    order = np.argsort(labels, axis=None, kind="stable")
    ordered, flat = labels.reshape(-1)[order], rows.reshape(len(rows), -1)[:, order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    rises = np.maximum.reduceat(flat, starts, axis=1) - np.minimum.reduceat(flat, starts, axis=1)
    row, block = divmod(int(rises.argmax()), len(starts))
    ends = [*starts[1:], len(order)]
    members = order[starts[block] : ends[block]]
    heights = rows[row].reshape(-1)[members]
    return _between(rows, row, int(members[heights.argmin()]), int(members[heights.argmax()]))


def inside_windows(rows: Rows, last: npt.NDArray[np.intp]) -> Steepest:
    """Compare every position of one attribute with those after it, up to the last that is a secret pair with it.

    The highest and the lowest number of a window are those of two shorter windows, of a power of two each.
    """
    size, lengths = rows.shape[1], last - np.arange(rows.shape[1]) + 1
    levels = np.frexp(lengths)[1] - 1
    highest, lowest, best = rows.copy(), rows.copy(), FLAT
    for level in range(int(levels.max()) + 1):
        span = 2**level
        own = np.flatnonzero(levels == level)
        if len(own):
            second = last[own] - span + 1
            up = np.maximum(highest[:, own], highest[:, second]) - rows[:, own]
            down = rows[:, own] - np.minimum(lowest[:, own], lowest[:, second])
            rises = np.maximum(up, down)
            row, at = divmod(int(rises.argmax()), len(own))
            if rises[row, at] > best.rise:
                best = _within_window(rows, row, int(own[at]), int(last[own[at]]))
        if span < size:
            highest[:, :-span] = np.maximum(highest[:, :-span], highest[:, span:])
            lowest[:, :-span] = np.minimum(lowest[:, :-span], lowest[:, span:])
    return best


def _within_window(rows: Rows, row: int, first: int, last: int) -> Steepest:
    changes = np.abs(rows[row, first : last + 1] - rows[row, first])
    return Steepest(int(changes.max()), row, ((first,), (first + int(changes.argmax()),)))


def shifted(rows: Rows, reaches: Iterable[int], near: Callable[[tuple[int, ...]], bool]) -> Steepest | None:
    """Compare values some positions apart; ``near`` says whether so many positions are, whatever the values.

    None if that would take long.
    """
    shape = rows.shape[1:]
    sides = [min(reach, size - 1) for reach, size in zip(reaches, shape, strict=True)]
    if rows.size * np.prod([2 * side + 1 for side in sides], dtype=float) > _MOST_SHIFTED:
        return None
    return steepest_of(_shifts(rows, sides, near))


def _shifts(rows: Rows, sides: list[int], near: Callable[[tuple[int, ...]], bool]) -> Iterator[Steepest]:
    zero = tuple(0 for _ in sides)
    for offset in product(*(range(-side, side + 1) for side in sides)):
        if offset <= zero or not near(offset):
            continue
        ahead = tuple(
            slice(max(step, 0), size + min(step, 0)) for step, size in zip(offset, rows.shape[1:], strict=True)
        )
        behind = tuple(
            slice(max(-step, 0), size - max(step, 0)) for step, size in zip(offset, rows.shape[1:], strict=True)
        )
        changes = np.abs(rows[:, *ahead] - rows[:, *behind])
        row, *at = (int(each) for each in np.unravel_index(int(changes.argmax()), changes.shape))
        start = tuple(position + part.start for position, part in zip(at, behind, strict=True))
        end = tuple(position + step for position, step in zip(start, offset, strict=True))
        yield Steepest(int(changes[row, *at]), row, (start, end))


def along_axis(rows: Rows, axis: int, search: Callable[[Rows], Steepest | None]) -> Steepest | None:
    """Search along one attribute, whatever the values of the others are."""
    lines = np.moveaxis(rows, axis + 1, -1)
    outer = lines.shape[:-1]
    found = search(np.ascontiguousarray(lines.reshape(-1, lines.shape[-1])))
    if found is None or found.edge is None:
        return found
    row, *others = (int(each) for each in np.unravel_index(found.row, outer))
    x, y = ((*others[:axis], end[0], *others[axis:]) for end in found.edge)
    return Steepest(found.rise, row, (x, y))


def among_listed(rows: Rows, edges: Iterable[Cells]) -> Steepest:
    """Compare the ends of listed edges."""
    listed = [*edges]
    if not listed:
        return FLAT
    ends: Any = np.array(listed, dtype=np.intp)
    first, second = (rows[:, *ends[:, side].T] for side in (0, 1))
    changes = np.abs(first - second)
    row, edge = divmod(int(changes.argmax()), len(listed))
    rise = int(changes[row, edge])
    return Steepest(rise, row, listed[edge] if rise else None)


def _between(rows: Rows, row: int, first: int, second: int) -> Steepest:
    flat, shape = rows[row].reshape(-1), rows.shape[1:]
    rise = int(flat[second] - flat[first])
    x, y = (tuple(int(each) for each in np.unravel_index(number, shape)) for number in (first, second))
    return Steepest(rise, row, (min(x, y), max(x, y)) if rise else None)
