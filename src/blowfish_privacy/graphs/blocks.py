"""How a partition cuts one attribute into blocks: of equal width, or as listed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Attribute, Bin, Binned, Spaced, Subset
from blowfish_privacy.errors import PolicyError, brief
from blowfish_privacy.support.exact import show


class Blocks(Protocol):
    """The numbered blocks of one attribute."""

    @property
    def count(self) -> int:
        """The number of blocks."""
        ...

    def label(self, position: int) -> int:
        """Return the number of the block that contains a position."""
        ...

    def block(self, label: int) -> Subset:
        """Return the positions of a block."""
        ...

    def meeting(self, positions: Subset) -> Iterable[int]:
        """Return enough blocks: if any block contains positions of both this set and another, one of these does."""
        ...

    def widest(self) -> Subset:
        """Return the block whose ends are furthest apart."""
        ...


@dataclass(frozen=True)
class EqualBlocks:
    """Blocks of ``width`` neighbouring positions, of which the last may be shorter; they are computed, not stored."""

    size: int
    width: int

    @property
    def count(self) -> int:
        """The number of blocks."""
        return -(-self.size // self.width)

    def label(self, position: int) -> int:
        """Return the number of the block that contains a position."""
        return position // self.width

    def block(self, label: int) -> Subset:
        """Return the positions of a block."""
        return Subset.span(label * self.width, min((label + 1) * self.width, self.size))

    def meeting(self, positions: Subset) -> Iterable[int]:
        """Return the blocks at the ends of each run and one in between: all others lie inside the run."""
        ends = {self.label(end) for start, stop in positions.runs for end in (start, stop - 1)}
        inside = {self.label(start) + 1 for start, stop in positions.runs if self.label(start) < self.label(stop - 1)}
        return sorted(ends | inside)

    def widest(self) -> Subset:
        """Return the first block: none is wider."""
        return self.block(0)


@dataclass(frozen=True)
class ListedBlocks:
    """Blocks that are listed one by one."""

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
        """Return the number of the block that contains a position."""
        from bisect import bisect_right

        starts, labels = self._starts
        return labels[bisect_right(starts, position) - 1]

    def block(self, label: int) -> Subset:
        """Return the positions of a block."""
        return self.blocks[label]

    def meeting(self, positions: Subset) -> Iterable[int]:
        """Return all blocks."""
        return range(len(self.blocks))

    def widest(self) -> Subset:
        """Return the block whose ends are furthest apart."""
        return max(self.blocks, key=lambda block: block.last - block.first)


def whole(attribute: Attribute) -> Blocks:
    """Return a single block that contains the whole attribute."""
    return EqualBlocks(attribute.size, attribute.size)


def cut_by_width(attribute: Attribute, width: Any) -> Blocks:
    """Cut an ordered attribute into blocks of equal width, in value units, starting at its lowest value."""
    from blowfish_privacy.support.exact import positive

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


def labels(cuts: Sequence[Blocks], shape: Sequence[int]) -> npt.NDArray[np.intp]:
    """Number the blocks of several attributes together, for every cell."""
    numbers = np.zeros((), dtype=np.intp)
    for cut, size in zip(cuts, shape, strict=True):
        own = np.array([cut.label(position) for position in range(size)], dtype=np.intp)
        numbers = numbers[..., None] * cut.count + own
    return numbers


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
