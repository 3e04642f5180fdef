"""Blocks of values, and which classes of values secret pairs join.

Blocks that meet the same groups are of the same *kind*. A block inside a run of positions meets nothing that the blocks
at the ends of the run do not meet, so only the ends of runs are examined, however many blocks there are.

Known facts sort values into classes; where every record moves along a secret pair, it moves between joined classes
only. These are derived from the geometry of the pieces that make up the classes, never by enumerating the domain:
cliques from the classes that each block meets, Cartesian products attribute by attribute, distances from rectangles,
listed pairs one by one. As a last resort all classes are taken to be joined: more pairs only allow more moves, so
bounds stay sound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Attribute, Bin, Binned, Cell, Spaced, Subset
from blowfish_privacy.errors import PolicyError, RefusalError, brief
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import positive, show


class Blocks(ABC):
    """The numbered blocks of one attribute."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of blocks."""

    @abstractmethod
    def label(self, position: int) -> int:
        """Return the number of the block that contains a position."""

    @abstractmethod
    def block(self, label: int) -> Subset:
        """Return the positions of a block."""

    @abstractmethod
    def meeting(self, positions: Subset) -> Iterable[int]:
        """Return enough blocks: if any block contains positions of both this set and another, one of these does."""

    @abstractmethod
    def widest(self) -> Subset:
        """Return the block whose ends are furthest apart."""


@dataclass(frozen=True)
class EqualBlocks(Blocks):
    """Blocks of ``width`` neighbouring positions, of which the last may be shorter; they are computed, not stored."""

    size: int
    width: int

    @property
    def count(self) -> int:
        return -(-self.size // self.width)

    def label(self, position: int) -> int:
        return position // self.width

    def block(self, label: int) -> Subset:
        return Subset.span(label * self.width, min((label + 1) * self.width, self.size))

    def meeting(self, positions: Subset) -> Iterable[int]:
        # The blocks at the ends of each run and one in between: all others lie inside the run.
        ends = {self.label(end) for start, stop in positions.runs for end in (start, stop - 1)}
        inside = {self.label(start) + 1 for start, stop in positions.runs if self.label(start) < self.label(stop - 1)}
        return sorted(ends | inside)

    def widest(self) -> Subset:
        return self.block(0)


@dataclass(frozen=True)
class ListedBlocks(Blocks):
    """Blocks that are listed one by one."""

    blocks: tuple[Subset, ...]

    @property
    def count(self) -> int:
        return len(self.blocks)

    @cached_property
    def _block_of(self) -> GroupOf:
        return GroupOf(self.blocks)

    def label(self, position: int) -> int:
        return self._block_of(position)

    def block(self, label: int) -> Subset:
        return self.blocks[label]

    def meeting(self, positions: Subset) -> Iterable[int]:
        return range(len(self.blocks))

    def widest(self) -> Subset:
        return max(self.blocks, key=lambda block: block.last - block.first)


def single_block(attribute: Attribute) -> Blocks:
    """Return a single block that contains the whole attribute."""
    return EqualBlocks(attribute.size, attribute.size)


def cut_by_width(attribute: Attribute, width: Any) -> Blocks:
    """Cut an ordered attribute into blocks of equal width, in value units, starting at its lowest value."""
    number = positive(width, "a width", error=PolicyError)
    if isinstance(attribute, Spaced):
        steps = number / attribute.spacing
        if steps.denominator != 1:
            raise PolicyError(
                f"the width of a block must be a multiple of {show(attribute.spacing)}, got {show(number)}."
            )
        return EqualBlocks(attribute.size, min(int(steps), attribute.size))
    if isinstance(attribute, Binned):
        origin = attribute.bounds[0]
        labels = [(low - origin) // number for low in attribute.bounds[:-1]]
        for position, label in enumerate(labels):
            if attribute.bounds[position + 1] > origin + (label + 1) * number:
                raise PolicyError(
                    f"the bin {attribute.show(position)} straddles two blocks of width {show(number)}.",
                    hint="choose a width whose multiples are bin edges.",
                )
        starts = [0, *(start for start in range(1, len(labels)) if labels[start] != labels[start - 1])]
        ends = [*starts[1:], len(labels)]
        return ListedBlocks(tuple(Subset.span(start, end) for start, end in zip(starts, ends, strict=True)))
    raise PolicyError("categories have no widths.", hint="list the blocks: blocks={name: [[..], [..]]}.")


def cut_by_list(attribute: Attribute, listed: Any) -> Blocks:
    """Cut an attribute into listed blocks, which must cover every value exactly once."""
    if not isinstance(listed, list | tuple) or not listed:
        raise PolicyError(f"blocks must be a list of blocks, got {brief(listed)}.", hint="write [['a', 'b'], ['c']].")
    if not all(isinstance(block, list | tuple | set | frozenset | range | Bin) for block in listed):
        raise PolicyError("a block must be a list of values.", hint="write [[a, b]] for one block, [[a], [b]] for two.")
    blocks = [attribute.subset(block) for block in listed]
    if any(len(block) == 0 for block in blocks):
        raise PolicyError("a block is empty.", hint="leave it out.")
    covered = Subset(())
    for block in blocks:
        twice = covered & block
        if twice.runs:
            raise PolicyError(
                f"the value {attribute.show(twice.first)} is in two blocks.", hint="blocks must not overlap."
            )
        covered = Subset.union([*covered.runs, *block.runs])
    if len(covered) < attribute.size:
        stray = 0 if not covered.runs or covered.first > 0 else covered.runs[0][1]
        raise PolicyError(
            f"the value {attribute.show(stray)} is not in any block.",
            hint="blocks must cover every declared value.",
        )
    return ListedBlocks(tuple(sorted(blocks, key=lambda block: block.first)))


def cell_labels(shape: tuple[int, ...], along: Mapping[int, Integers]) -> Integers:
    """Label every cell of a shape by the labels of its positions along some axes."""
    labels = np.zeros((1,) * len(shape), dtype=np.int64)
    for axis, positions in along.items():
        side = positions.reshape([-1 if other == axis else 1 for other in range(len(shape))])
        labels = labels * (int(positions.max()) + 1) + side
    return np.broadcast_to(labels, shape)


def canonical(attribute: Attribute, blocks: Blocks) -> Any:
    """Return the canonical spelling of blocks: a width in positions if all are equal, otherwise runs or values."""
    if blocks.count == 1:
        return "full"
    width = len(blocks.block(0))
    if attribute.ordered and blocks.count == -(-attribute.size // width):
        equal = EqualBlocks(attribute.size, width)
        if all(blocks.block(label) == equal.block(label) for label in ([] if blocks == equal else range(blocks.count))):
            return {"width": width} if width > 1 else "public"
    if attribute.ordered:
        return {"blocks": sorted([list(run) for run in blocks.block(label).runs] for label in range(blocks.count))}
    named = sorted(sorted(repr(attribute.value(p)) for p in blocks.block(label)) for label in range(blocks.count))
    return {"blocks": named} if len(named) < attribute.size else "public"


@dataclass(frozen=True, eq=False)
class Meetings:
    """Which groups each kind of block meets: one entry for each kind and group."""

    kinds: int
    kind: Integers
    group: Integers
    values: Integers
    """How many positions of the group lie in blocks of the kind; 2 means two or more."""

    @classmethod
    def of(cls, kinds: Mapping[tuple[int, ...], Sequence[int]]) -> Meetings:
        """Build it from the sets of groups that blocks meet, with the number of positions of each group."""
        kind = np.repeat(np.arange(len(kinds)), [len(groups) for groups in kinds])
        group = np.array([group for groups in kinds for group in groups], dtype=np.int64)
        values = np.array([min(count, 2) for counts in kinds.values() for count in counts], dtype=np.int64)
        return cls(len(kinds), kind, group, values)


def meetings_along(axis: int, along: Meetings, groups: Sequence[Sequence[Subset]]) -> list[Meetings]:
    """Return the blocks of one attribute, with every group of the other attributes as a separate block."""
    singles = (Meetings.of({(number,): [len(group)] for number, group in enumerate(cut)}) for cut in groups)
    return [along if other == axis else single for other, single in enumerate(singles)]


def meetings(cut: Blocks, groups: Sequence[Subset]) -> Meetings:
    """Find the kinds of blocks that a partition of an attribute has."""
    held = _equal(cut, groups) if isinstance(cut, EqualBlocks) else _listed(cut, groups)
    kinds: dict[tuple[int, ...], list[int]] = {}
    for counts in held.values():
        met = tuple(sorted(counts))
        known = kinds.setdefault(met, [0] * len(met))
        for index, group in enumerate(met):
            known[index] += counts[group]
    return Meetings.of(kinds)


def _equal(cut: EqualBlocks, groups: Sequence[Subset]) -> Mapping[int, Mapping[int, int]]:
    """Count the positions of each group in the blocks at the ends of runs; blocks inside meet no other group."""
    held: defaultdict[int, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    for number, group in enumerate(groups):
        for start, stop in group.runs:
            for label in {cut.label(start), cut.label(stop - 1)}:
                block = cut.block(label)
                held[label][number] += min(stop, block.last + 1) - max(start, block.first)
    return held


def _listed(cut: Blocks, groups: Sequence[Subset]) -> Mapping[int, Mapping[int, int]]:
    runs = sorted((start, stop, number) for number, group in enumerate(groups) for start, stop in group.runs)
    starts = [start for start, _, _ in runs]
    held: dict[int, defaultdict[int, int]] = {}
    for label in range(cut.count):
        counts: defaultdict[int, int] = defaultdict(int)
        for start, stop in cut.block(label).runs:
            index = int(np.searchsorted(starts, start, side="right")) - 1
            while index < len(runs) and runs[index][0] < stop:
                counts[runs[index][2]] += min(stop, runs[index][1]) - max(start, runs[index][0])
                index += 1
        held[label] = counts
    return held


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

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs, each with the smaller class first."""
        size = len(self.ends)
        return tuple(zip((self.keys // size).tolist(), (self.keys % size).tolist(), strict=True))


class GroupOf:
    """Finds the group that contains a position."""

    def __init__(self, groups: Sequence[Subset]) -> None:
        runs = sorted((start, number) for number, group in enumerate(groups) for start, _ in group.runs)
        self._starts = np.array([start for start, _ in runs], dtype=np.int64)
        self._numbers = np.array([number for _, number in runs], dtype=np.int64)

    def __call__(self, position: int) -> int:
        """Return the number of the group that contains a position."""
        return int(self._numbers[bisect_right(self._starts, position) - 1])

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


def across(along: Sequence[ClassPairs], pieces: Pieces) -> ClassPairs:
    """Combine what edges along each attribute join, for graphs whose edges change a single attribute."""
    labels = pieces.labels
    touched = np.zeros(labels.shape, dtype=bool)
    for part in along:
        touched |= True if part.touched is None else part.touched
    extents = [np.array([min(len(group), 2) for group in groups], dtype=np.int64) for groups in pieces.groups]
    values = (reduce(np.multiply.outer, extents) * touched).reshape(-1)
    ends = np.bincount(labels.reshape(-1), values, pieces.classes) >= 2
    return ClassPairs(np.unique(np.concatenate([part.keys for part in along])), ends, all(part.exact for part in along))


def by_any(joined: Iterable[tuple[ClassPairs, int]], classes: int) -> ClassPairs:
    """Combine what several graphs join, each of them so many times, at values that the others may not touch."""
    keys, touched, exact = [np.zeros(0, dtype=np.int64)], np.zeros(classes, dtype=np.int64), True
    for pairs, times in joined:
        ends = np.unique(np.concatenate([pairs.keys // classes, pairs.keys % classes]))
        touched[ends] += times * np.where(pairs.ends[ends], 2, 1)
        keys.append(pairs.keys)
        exact = exact and pairs.exact
    return ClassPairs(np.unique(np.concatenate(keys)), touched >= 2, exact)


def joined_along(joined: ClassPairs, axis: int, pieces: Pieces) -> ClassPairs:
    """Join the classes of pieces that differ along one attribute only, in groups that are joined there."""
    many, size = len(pieces.groups[axis]), pieces.classes
    lines = np.moveaxis(pieces.labels, axis, 0).reshape(many, -1)
    if len(joined.keys) * lines.shape[1] > _MOST_WORK:
        return everything(pieces)
    keys: list[Integers] = [np.zeros(0, dtype=np.int64)]
    touched = np.zeros(lines.shape, dtype=bool)
    first, second = joined.keys // many, joined.keys % many
    for part in np.array_split(np.arange(len(first)), len(first) * lines.shape[1] // _CHUNK + 1):
        one, two = lines[first[part]], lines[second[part]]
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
