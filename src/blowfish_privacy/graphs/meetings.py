"""Which groups of an attribute the blocks of a partition meet.

Blocks that meet the same groups are of the same *kind*. A block inside a run of positions meets nothing that the blocks
at the ends of the run do not meet, so only the ends of runs are examined, however many blocks there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from blowfish_privacy.domain import Subset
from blowfish_privacy.graphs.blocks import Blocks, EqualBlocks
from blowfish_privacy.support.arrays import Integers


@dataclass(frozen=True, eq=False)
class Meetings:
    """Which groups each kind of block meets: one entry for each kind and group."""

    kinds: int
    kind: Integers
    group: Integers
    values: Integers
    """How many positions of the group lie in blocks of the kind; 2 means two or more."""

    @classmethod
    def everything(cls, groups: Sequence[Subset]) -> Meetings:
        """Return a single block that contains all groups."""
        return cls.of({tuple(range(len(groups))): [len(group) for group in groups]})

    @classmethod
    def of(cls, kinds: Mapping[tuple[int, ...], Sequence[int]]) -> Meetings:
        """Build it from the sets of groups that blocks meet, with the number of positions of each group."""
        kind = np.repeat(np.arange(len(kinds)), [len(groups) for groups in kinds])
        group = np.array([group for groups in kinds for group in groups], dtype=np.int64)
        values = np.array([min(count, 2) for counts in kinds.values() for count in counts], dtype=np.int64)
        return cls(len(kinds), kind, group, values)


def separate(groups: Sequence[Subset]) -> Meetings:
    """Return each group as a separate block."""
    return Meetings.of({(number,): [len(group)] for number, group in enumerate(groups)})


def meetings_along(axis: int, along: Meetings, groups: Sequence[Sequence[Subset]]) -> list[Meetings]:
    """Return the blocks of one attribute, with every group of the other attributes as a separate block."""
    return [along if other == axis else separate(each) for other, each in enumerate(groups)]


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
