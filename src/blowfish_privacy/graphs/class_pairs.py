"""Which classes of values secret pairs join.

Known facts sort values into classes; where every record moves along a secret pair, it moves between joined classes
only. These are derived from the geometry of the pieces that make up the classes, never by enumerating the domain:
cliques from the classes that each block meets, Cartesian products attribute by attribute, distances from rectangles,
listed pairs one by one. As a last resort all classes are taken to be joined: more pairs only allow more moves, so
bounds stay sound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, Subset
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.graphs.meetings import Meetings
from blowfish_privacy.support.arrays import Integers

Bools: TypeAlias = npt.NDArray[np.bool_]

MOST_LISTED = 20_000
"""Up to this many pairs of values are always examined one by one."""
_MOST_PAIRS = 1_000_000
_MOST_WORK = 300_000_000
_CHUNK = 4_000_000


@dataclass(frozen=True, eq=False)
class Pieces:
    """A domain cut into pieces, one group of positions of each attribute, and the class of every piece."""

    groups: Sequence[Sequence[Subset]]
    labels: Integers
    """The class of each piece, in the shape of the groups."""
    classes: int

    def along(self, axis: int) -> Pieces:
        """Return the groups of one attribute, each as a separate class."""
        groups = self.groups[axis]
        return Pieces([groups], np.arange(len(groups)), len(groups))


@dataclass(frozen=True, eq=False)
class ClassPairs:
    """Pairs of joined classes, sorted, each encoded as a number: smaller class times number of classes, plus larger."""

    keys: Integers
    ends: Bools
    """For each class, whether secret pairs that leave it touch at least two of its values, or may do so."""
    exact: bool = True
    """Whether every pair listed is really joined; no joined pair is ever missing."""
    touched: Bools | None = None
    """The pieces whose values a joining secret pair touches; None if this was not worked out."""


class GroupOf:
    """Finds the group that contains a position."""

    def __init__(self, groups: Sequence[Subset]) -> None:
        runs = sorted((start, number) for number, group in enumerate(groups) for start, _ in group.runs)
        self._starts = np.array([start for start, _ in runs], dtype=np.int64)
        self._numbers = np.array([number for _, number in runs], dtype=np.int64)

    def __call__(self, position: int) -> int:
        """Return the number of the group that contains a position."""
        return int(self._numbers[np.searchsorted(self._starts, position, side="right") - 1])

    def many(self, positions: Integers) -> Integers:
        """Return the numbers of the groups that contain many positions."""
        return self._numbers[np.searchsorted(self._starts, positions, side="right") - 1]


def everything(pieces: Pieces) -> ClassPairs:
    """Take all classes to be joined."""
    size = pieces.classes
    _check(size * (size - 1) // 2)
    return ClassPairs(keys_of(*np.triu_indices(size, 1), size), np.ones(size, dtype=bool), exact=False)


def keys_of(first: Integers, second: Integers, size: int) -> Integers:
    """Encode pairs of classes, sorted and without duplicates."""
    return np.unique(np.minimum(first, second) * size + np.maximum(first, second))


def listed(pairs: Iterable[tuple[Cell, Cell]], pieces: Pieces) -> ClassPairs:
    """Find the joined classes by examining each secret pair."""
    labels, size = pieces.labels, pieces.classes
    ends = np.array(list(pairs), dtype=np.int64).reshape(-1, 2, labels.ndim)
    indices = tuple(GroupOf(groups).many(ends[:, :, axis]) for axis, groups in enumerate(pieces.groups))
    labelled = labels[indices]
    crossing = labelled[:, 0] != labelled[:, 1]
    touched = np.column_stack([labelled[crossing].reshape(-1), ends[crossing].reshape(-1, labels.ndim)])
    values = np.bincount(np.unique(touched, axis=0)[:, 0], minlength=size)
    return ClassPairs(keys_of(labelled[crossing, 0], labelled[crossing, 1], size), values >= 2)


def cliques(along: Sequence[Meetings], pieces: Pieces) -> ClassPairs:
    """Join the classes that meet a common block; a block is the product of one kind of block per attribute."""
    labels, size = pieces.labels, pieces.classes
    if prod(len(meetings.kind) for meetings in along) > _MOST_WORK // 10:
        return everything(pieces)
    kinds = tuple(meetings.kinds for meetings in along)
    kind = np.ravel_multi_index(np.ix_(*(meetings.kind for meetings in along)), kinds).reshape(-1)
    piece = np.ravel_multi_index(np.ix_(*(meetings.group for meetings in along)), labels.shape).reshape(-1)
    met = labels.reshape(-1)[piece]
    pairs, entry = np.unique(kind * size + met, return_inverse=True)
    _, block = np.unique(pairs // size, return_inverse=True)
    several = np.bincount(block) > 1
    mixed = several[block[entry]]
    values = reduce(np.multiply.outer, [meetings.values for meetings in along]).reshape(-1)
    touched = np.zeros(labels.size, dtype=bool)
    touched[piece[mixed]] = True
    inside = several[block]
    keys = _together(block[inside], (pairs % size)[inside], size)
    return ClassPairs(keys, np.bincount(met, values * mixed, size) >= 2, touched=touched.reshape(labels.shape))


def _together(block: Integers, member: Integers, size: int) -> Integers:
    """Encode all pairs of members of each block."""
    from scipy.sparse import csr_array

    counts = np.bincount(block)
    _check(int((counts * (counts - 1) // 2).max(initial=0)))
    shape = (int(block.max(initial=0)) + 1, size)
    incidence = csr_array((np.ones(len(block), dtype=np.int64), (block, member)), shape=shape)
    joined = (incidence.T @ incidence).tocoo()
    upper = joined.row < joined.col
    keys = keys_of(joined.row[upper].astype(np.int64), joined.col[upper].astype(np.int64), size)
    _check(len(keys))
    return keys


def across(parts: Sequence[ClassPairs], pieces: Pieces) -> ClassPairs:
    """Combine what edges along each attribute join, for graphs whose edges change a single attribute."""
    labels = pieces.labels
    touched = np.zeros(labels.shape, dtype=bool)
    for part in parts:
        touched |= True if part.touched is None else part.touched
    extents = [np.array([min(len(group), 2) for group in groups], dtype=np.int64) for groups in pieces.groups]
    values = (reduce(np.multiply.outer, extents) * touched).reshape(-1)
    ends = np.bincount(labels.reshape(-1), values, pieces.classes) >= 2
    return ClassPairs(np.unique(np.concatenate([part.keys for part in parts])), ends, all(part.exact for part in parts))


def by_any(found: Iterable[tuple[ClassPairs, int]], classes: int) -> ClassPairs:
    """Combine what several graphs join, each of them so many times, at values that the others may not touch."""
    keys, touched, exact = [np.zeros(0, dtype=np.int64)], np.zeros(classes, dtype=np.int64), True
    for each, times in found:
        ends = np.unique(np.concatenate([each.keys // classes, each.keys % classes]))
        touched[ends] += times * np.where(each.ends[ends], 2, 1)
        keys.append(each.keys)
        exact = exact and each.exact
    return ClassPairs(np.unique(np.concatenate(keys)), touched >= 2, exact)


def joined_along(joined: ClassPairs, axis: int, pieces: Pieces) -> ClassPairs:
    """Join the classes of pieces that differ along one attribute only, in groups that are joined there."""
    many, size = len(pieces.groups[axis]), pieces.classes
    turned = np.moveaxis(pieces.labels, axis, 0).reshape(many, -1)
    if len(joined.keys) * turned.shape[1] > _MOST_WORK:
        return everything(pieces)
    keys: list[Integers] = [np.zeros(0, dtype=np.int64)]
    touched = np.zeros(turned.shape, dtype=bool)
    first, second = joined.keys // many, joined.keys % many
    for part in np.array_split(np.arange(len(first)), len(first) * turned.shape[1] // _CHUNK + 1):
        one, two = turned[first[part]], turned[second[part]]
        differ = one != two
        keys.append(keys_of(one[differ], two[differ], size))
        for numbers in (first[part], second[part]):
            for number in np.unique(numbers):
                touched[number] |= differ[numbers == number].any(axis=0)
    rest = pieces.labels.shape[:axis] + pieces.labels.shape[axis + 1 :]
    touched_pieces = np.moveaxis(touched.reshape(many, *rest), 0, axis)
    return ClassPairs(np.unique(np.concatenate(keys)), np.ones(size, dtype=bool), joined.exact, touched_pieces)


def _check(pairs: int) -> None:
    if pairs > _MOST_PAIRS:
        raise RefusalError(
            "secret pairs join too many pairs of classes to work out how records can move together.",
            hint="list fewer known counts, or choose compensation='anywhere'.",
        )
