"""How a partition cuts one attribute into blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from blowfish_privacy.domain import Attribute, Bin, Binned, Integer, Subset
from blowfish_privacy.errors import PolicyError, brief
from blowfish_privacy.support.exact import show


class Blocks(Protocol):
    """The blocks of one attribute, numbered."""

    @property
    def count(self) -> int:
        """The number of blocks."""
        ...

    def label(self, position: int) -> int:
        """Number the block that holds a position."""
        ...

    def block(self, label: int) -> Subset:
        """Return the positions of a block."""
        ...

    def meeting(self, positions: Subset) -> Iterable[int]:
        """Number blocks so that each set of positions that shares a block with this one shares one of these."""
        ...

    def widest(self) -> Subset:
        """Return the block whose ends are furthest apart."""
        ...


@dataclass(frozen=True)
class EqualBlocks:
    """Blocks of ``width`` neighbouring positions; the last may be shorter. Nothing is stored."""

    size: int
    width: int

    @property
    def count(self) -> int:
        """The number of blocks."""
        return -(-self.size // self.width)

    def label(self, position: int) -> int:
        """Number the block that holds a position."""
        return position // self.width

    def block(self, label: int) -> Subset:
        """Return the positions of a block."""
        return Subset.span(label * self.width, min((label + 1) * self.width, self.size))

    def meeting(self, positions: Subset) -> Iterable[int]:
        """Name the blocks at the ends of each run, and one inside: the other blocks lie within the run."""
        ends = {self.label(end) for start, stop in positions.runs for end in (start, stop - 1)}
        inside = {self.label(start) + 1 for start, stop in positions.runs if self.label(start) < self.label(stop - 1)}
        return sorted(ends | inside)

    def widest(self) -> Subset:
        """Return the first block: none is wider."""
        return self.block(0)


@dataclass(frozen=True)
class ListedBlocks:
    """Blocks given one by one."""

    blocks: tuple[Subset, ...]

    @property
    def count(self) -> int:
        """The number of blocks."""
        return len(self.blocks)

    @cached_property
    def _starts(self) -> tuple[list[int], list[int]]:
        runs = sorted((start, label) for label, block in enumerate(self.blocks) for start, _ in block.runs)
        return [start for start, _ in runs], [label for _, label in runs]

    def label(self, position: int) -> int:
        """Number the block that holds a position."""
        from bisect import bisect_right

        starts, labels = self._starts
        return labels[bisect_right(starts, position) - 1]

    def block(self, label: int) -> Subset:
        """Return the positions of a block."""
        return self.blocks[label]

    def meeting(self, positions: Subset) -> Iterable[int]:
        """Name all blocks."""
        return range(len(self.blocks))

    def widest(self) -> Subset:
        """Return the block whose ends are furthest apart."""
        return max(self.blocks, key=lambda block: block.last - block.first)


def whole(attribute: Attribute) -> Blocks:
    """Leave an attribute uncut."""
    return EqualBlocks(attribute.size, attribute.size)


def cut_by_width(attribute: Attribute, width: Any) -> Blocks:
    """Cut an ordered attribute into blocks of equal width, in value units, from its lowest value on."""
    from blowfish_privacy.support.exact import positive

    number = positive(width, "a width", error=PolicyError)
    if isinstance(attribute, Integer):
        if number.denominator != 1:
            raise PolicyError(f"the width of a block of whole numbers must be whole, got {show(number)}.")
        return EqualBlocks(attribute.size, min(int(number), attribute.size))
    if isinstance(attribute, Binned):
        origin = attribute.bounds[0]
        labels = [(low - origin) // number for low in attribute.bounds[:-1]]
        for position, label in enumerate(labels):
            if attribute.bounds[position + 1] > origin + (label + 1) * number:
                raise PolicyError(
                    f"the bin {attribute.show(position)} lies across two blocks of width {show(number)}.",
                    hint="choose a width whose multiples are bin edges.",
                )
        starts = [0, *(start for start in range(1, len(labels)) if labels[start] != labels[start - 1])]
        ends = [*starts[1:], len(labels)]
        return ListedBlocks(tuple(Subset.span(start, end) for start, end in zip(starts, ends, strict=True)))
    raise PolicyError("categories have no widths.", hint="list the blocks: blocks={name: [[..], [..]]}.")


def cut_by_list(attribute: Attribute, listed: Any) -> Blocks:
    """Cut an attribute into listed blocks, which must cover every value once."""
    if not isinstance(listed, list | tuple) or not listed:
        raise PolicyError(f"blocks must be a list of blocks, got {brief(listed)}.", hint="write [['a', 'b'], ['c']].")
    if not all(isinstance(block, list | tuple | set | frozenset | range | Bin) for block in listed):
        raise PolicyError("a block is a list of values.", hint="write [[a, b]] for one block, [[a], [b]] for two.")
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
            f"the value {attribute.show(stray)} is in no block.",
            hint="blocks must cover every declared value.",
        )
    return ListedBlocks(tuple(sorted(blocks, key=lambda block: block.first)))


def canonical(attribute: Attribute, blocks: Blocks) -> Any:
    """Write blocks in one way: a width in positions where all are equal, else the runs of values."""
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
