"""Stretches of an ordered attribute that no secret pair leaves: the stretch that a person is in is public."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Move: TypeAlias = tuple[int, int]
"""The positions of a secret pair along an attribute, the smaller one first."""


_MOST_MERGED = 100_000


@dataclass(frozen=True)
class Stretches:
    """``count`` consecutive stretches of ``width`` positions each, starting at position ``start``."""

    start: int
    width: int
    count: int
    reach: int
    """The largest number of positions that a secret pair moves inside one of them."""

    @property
    def stop(self) -> int:
        """The position after the last."""
        return self.start + self.width * self.count


def joined(moves: Iterable[Move], size: int) -> tuple[Stretches, ...]:
    """Cut ``size`` positions into the shortest stretches that none of the moves leaves.

    Overlapping moves are joined even if they share no end: a stretch is a range.
    """
    return _cut(((low, high, high - low) for low, high in moves), size)


def merged(cuts: Sequence[tuple[Stretches, ...]], size: int) -> tuple[Stretches, ...]:
    """Cut ``size`` positions where all of several cuts do; into one stretch if that would take long."""
    moving = [*dict.fromkeys(cut for cut in cuts if any(run.reach for run in cut))]
    if len(moving) == 1:
        return moving[0]
    runs = [run for cut in moving for run in cut if run.reach]
    if sum(run.count for run in runs) > _MOST_MERGED:
        return (Stretches(0, size, 1, max(run.reach for run in runs)),)
    starts = ((run, run.start + run.width * number) for run in runs for number in range(run.count))
    return _cut(((start, start + run.width - 1, run.reach) for run, start in starts), size)


def _cut(ranges: Iterable[tuple[int, int, int]], size: int) -> tuple[Stretches, ...]:
    """Join ranges that overlap, each with its ends and its reach, and cut between them."""
    apart: list[tuple[int, int, int]] = []
    for low, high, reach in sorted(ranges):
        if apart and low <= apart[-1][1]:
            start, end, widest = apart.pop()
            low, high, reach = start, max(high, end), max(reach, widest)
        apart.append((low, high, reach))
    return tuple(_together(_filled(apart, size)))


def _filled(ranges: Iterable[tuple[int, int, int]], size: int) -> Iterator[Stretches]:
    """Make every position outside the ranges a stretch of its own."""
    position = 0
    for low, high, reach in [*ranges, (size, size, 0)]:
        if low > position:
            yield Stretches(position, 1, low - position, 0)
        if low < size:
            yield Stretches(low, high - low + 1, 1, reach)
        position = high + 1


def _together(single: Iterable[Stretches]) -> list[Stretches]:
    """Merge neighbours of equal width and reach into one entry."""
    runs: list[Stretches] = []
    for each in single:
        if runs and (runs[-1].width, runs[-1].reach) == (each.width, each.reach):
            before = runs.pop()
            each = Stretches(before.start, each.width, before.count + each.count, each.reach)
        runs.append(each)
    return runs
