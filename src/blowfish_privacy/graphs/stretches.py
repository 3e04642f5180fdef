"""Stretches of an ordered attribute that no secret pair leaves: which of them a person is in is public."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

Move: TypeAlias = tuple[int, int]
"""The positions that a secret pair has along an attribute, the smaller one first."""


@dataclass(frozen=True)
class Stretches:
    """``count`` neighbouring stretches of ``width`` positions each, from position ``start`` on."""

    start: int
    width: int
    count: int
    reach: int
    """The most positions that a secret pair inside one of them moves."""

    @property
    def stop(self) -> int:
        """The position after the last."""
        return self.start + self.width * self.count


def joined(moves: Iterable[Move], size: int) -> tuple[Stretches, ...]:
    """Cut ``size`` positions into the shortest stretches that none of the moves leaves.

    Moves that overlap without sharing a position inside are joined too: a stretch is a range.
    """
    ranges: list[tuple[int, int, int]] = []
    for low, high in sorted(moves):
        reach = high - low
        if ranges and low <= ranges[-1][1]:
            start, end, widest = ranges.pop()
            low, high, reach = start, max(high, end), max(reach, widest)
        ranges.append((low, high, reach))
    return tuple(_together(_filled(ranges, size)))


def _filled(ranges: Iterable[tuple[int, int, int]], size: int) -> Iterator[Stretches]:
    """Leave every position outside of the ranges alone."""
    position = 0
    for low, high, reach in [*ranges, (size, size, 0)]:
        if low > position:
            yield Stretches(position, 1, low - position, 0)
        if low < size:
            yield Stretches(low, high - low + 1, 1, reach)
        position = high + 1


def _together(single: Iterable[Stretches]) -> list[Stretches]:
    """Write neighbours of equal shape as one."""
    runs: list[Stretches] = []
    for each in single:
        if runs and (runs[-1].width, runs[-1].reach) == (each.width, each.reach):
            before = runs.pop()
            each = Stretches(before.start, each.width, before.count + each.count, each.reach)
        runs.append(each)
    return runs
