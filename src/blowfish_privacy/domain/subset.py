"""A set of positions along one attribute, stored as runs, so that large ranges cost nothing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Subset:
    """Sorted, disjoint, non-touching half-open runs of positions."""

    runs: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, positions: Iterable[int]) -> Subset:
        """Collect positions, in any order, into runs."""
        return cls.union((position, position + 1) for position in positions)

    @classmethod
    def span(cls, start: int, stop: int) -> Subset:
        """Return the positions start, start + 1, ..., stop - 1."""
        return cls(((start, stop),)) if start < stop else cls(())

    @classmethod
    def union(cls, runs: Iterable[tuple[int, int]]) -> Subset:
        """Merge half-open runs that may touch, overlap or be out of order."""
        merged: list[tuple[int, int]] = []
        for start, stop in sorted(runs):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
            else:
                merged.append((start, stop))
        return cls(tuple(merged))

    def __contains__(self, position: int) -> bool:
        index = bisect_right(self.runs, position, key=lambda run: run[0]) - 1
        return index >= 0 and position < self.runs[index][1]

    def __iter__(self) -> Iterator[int]:
        for start, stop in self.runs:
            yield from range(start, stop)

    def __len__(self) -> int:
        return sum(stop - start for start, stop in self.runs)

    @property
    def first(self) -> int:
        """The lowest position; the set must not be empty."""
        return self.runs[0][0]

    @property
    def last(self) -> int:
        """The highest position; the set must not be empty."""
        return self.runs[-1][1] - 1

    def __and__(self, other: Subset) -> Subset:
        shared: list[tuple[int, int]] = []
        left, right = 0, 0
        while left < len(self.runs) and right < len(other.runs):
            start = max(self.runs[left][0], other.runs[right][0])
            stop = min(self.runs[left][1], other.runs[right][1])
            if start < stop:
                shared.append((start, stop))
            if self.runs[left][1] <= other.runs[right][1]:
                left += 1
            else:
                right += 1
        return Subset(tuple(shared))

    def __le__(self, other: Subset) -> bool:
        return self & other == self
