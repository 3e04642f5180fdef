"""Records made from a chain of conditional tables, with far less error than independent draws have.

A model that is a junction tree says for each attribute how its values are shared out, given those of its parents. The
records with equal parents are a group. A group of n records gets the values at n points of equal distance below the
curve of cumulative shares, moved together by a random offset: every value comes out as often as expected, rounded up or
down, and the group is complete. Which record gets which point is a matter of the other attributes: records alike in
these get points far apart, so that tables across the parts of the tree come close to what is expected as well.

Nothing here is private: a model is made from noisy tables. Every record has exactly the law of the model (the offset
and the turn that decides who gets the first point are uniform), so the expected number of records in a cell is that of
the model, in every table; only the spread around it is smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from blowfish_privacy.mechanisms.synthetic.model import Axes
from blowfish_privacy.support.arrays import Floats, Integers

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: the multiples of it, cut off at 2^64, fill the range evenly wherever one stops."""
_MOST_CODE = 2**62
"""Combined positions stay below, so that 64-bit integers hold them."""


@dataclass(frozen=True, eq=False)
class Step:
    """How the values of one attribute are shared out, given those of attributes that come before it."""

    axis: int
    parents: Axes
    table: Floats
    """Expected counts or probabilities, one dimension for each parent in their order, the last one for ``axis``."""


@dataclass(frozen=True, eq=False)
class _Groups:
    """Records with equal parents, ordered so that those of one group follow each other, the similar ones closely."""

    order: Integers
    codes: Integers
    """The cell of the parents, of each group."""
    starts: Integers
    sizes: Integers

    @property
    def of_records(self) -> Integers:
        """The group of each record in ``order``."""
        return np.repeat(np.arange(len(self.codes)), self.sizes)


def tree_records(
    steps: Sequence[Step], many: int, generator: np.random.Generator, kept: Integers | None = None
) -> Integers:
    """Draw records by one step for each attribute, parents first; one row for each record, one column for each axis.

    Columns of ``kept`` that are not negative are given and stay as they are, row by row. They must come first in the
    steps, since values are not made up backwards. Without them the records come out in random order.
    """
    drawn = np.zeros((many, len(steps)), dtype=np.int64, order="F")
    if many == 0:
        return drawn
    sizes = {step.axis: step.table.shape[-1] for step in steps}
    before: list[int] = []
    for step in steps:
        if kept is not None and (kept[:, step.axis] >= 0).all():
            drawn[:, step.axis] = kept[:, step.axis]
        else:
            groups = _grouped(drawn, step, before, sizes, generator)
            drawn[groups.order, step.axis] = _shared_out(_conditional(step, groups.codes), groups, generator)
        before.append(step.axis)
    return drawn if kept is not None else generator.permutation(drawn, axis=0)


def _grouped(
    drawn: Integers, step: Step, before: Sequence[int], sizes: dict[int, int], generator: np.random.Generator
) -> _Groups:
    """Sort the records by their parents, and inside a group by the other attributes.

    The order of these attributes, of their values and of records alike is drawn anew in every step. In an order that
    comes back, two attributes of the same parents would get their values side by side, and depend on each other.
    """
    codes = np.zeros(len(drawn), dtype=np.int64)
    for parent, size in zip(step.parents, step.table.shape, strict=False):
        codes = codes * size + drawn[:, parent]
    keys, room = codes, _MOST_CODE // step.table[..., 0].size // len(drawn)
    for other in generator.permutation(sorted(set(before) - set(step.parents))):
        if sizes[other] > room:
            break
        keys = keys * sizes[other] + generator.permutation(sizes[other])[drawn[:, other]]
        room //= sizes[other]
    shuffled = generator.permutation(len(drawn))
    order = shuffled[_sorted_places(keys[shuffled])]
    arranged = codes[order]
    starts = np.flatnonzero(np.diff(arranged, prepend=arranged[0] - 1))
    return _Groups(order, arranged[starts], starts, np.diff(starts, append=len(drawn)))


def _conditional(step: Step, codes: Integers) -> Floats:
    """Return a row of shares for each group; a group that the table holds impossible gets shares of its own."""
    table = np.maximum(step.table, 0.0)
    rows = table.reshape(-1, table.shape[-1])[codes]
    without = rows.sum(axis=1) <= 0
    if without.any():
        rows[without] = _from_single_parents(table, codes[without])
    return rows / rows.sum(axis=1, keepdims=True)


def _from_single_parents(table: Floats, codes: Integers) -> Floats:
    """Share out by each parent alone, as if they were independent given the value: what one of them excludes stays out.

    Only where that leaves nothing the attribute's own distribution is taken, and an even one where even that is empty.
    """
    last = table.ndim - 1
    margin = table.sum(axis=tuple(range(last)))
    margin = margin if margin.sum() > 0 else np.ones_like(margin)
    rows = np.tile(margin, (len(codes), 1))
    for parent, position in enumerate(np.unravel_index(codes, table.shape[:-1]) if last else ()):
        alone = table.sum(axis=tuple(axis for axis in range(last) if axis != parent))[position]
        rows *= np.divide(alone, margin, out=np.zeros_like(alone), where=margin > 0)
        # Only the proportions matter; without this, many parents with small counts would come below what floats hold.
        rows /= np.maximum(rows.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    rows[rows.sum(axis=1) <= 0] = margin
    return rows


def _shared_out(shares: Floats, groups: _Groups, generator: np.random.Generator) -> Integers:
    """Give every record of each group a value, by points of equal distance below the group's cumulative shares."""
    of_records, many = groups.of_records, len(groups.order)
    within = np.arange(many) - groups.starts[of_records]
    # Offsets of consecutive groups fill [0, 1) evenly too: otherwise sums over many small groups would wander.
    offsets = (np.arange(len(groups.codes)).astype(np.uint64) * _GOLDEN) / 2.0**64 + generator.random()
    points = (within + (offsets % 1.0)[of_records]) / groups.sizes[of_records]
    found = _below(shares, of_records, points)
    turns = generator.integers(0, groups.sizes)
    ranks = _spread_ranks(of_records, within, groups)
    return found[groups.starts[of_records] + (ranks + turns[of_records]) % groups.sizes[of_records]]


def _below(shares: Floats, of_records: Integers, points: Floats) -> Integers:
    """Find for each point, in [0, 1), the value of its group in whose part of the cumulative shares it lies.

    In whole numbers, with all groups one behind the other on a line: a value of share 0 has no length there.
    """
    groups, values = shares.shape
    length = 2 ** (62 - groups.bit_length())
    cumulative = np.cumsum(shares, axis=1)
    cumulative /= cumulative[:, -1:]
    ends = (cumulative * length).astype(np.int64)
    ends += np.arange(groups)[:, None] * length
    places = np.minimum((points * length).astype(np.int64), length - 1)
    places += of_records * length
    return np.searchsorted(ends.ravel(), places, side="right") - of_records * values


def _spread_ranks(of_records: Integers, within: Integers, groups: _Groups) -> Integers:
    """Number the records of each group so that the numbers of any run of neighbours are spread evenly."""
    bits = 62 - len(groups.codes).bit_length() - len(within).bit_length()
    spread = ((within.astype(np.uint64) * _GOLDEN) >> np.uint64(64 - bits)).astype(np.int64)
    ranks = np.empty(len(within), dtype=np.int64)
    ranks[_sorted_places((of_records << bits) | spread)] = within
    return ranks


def _sorted_places(keys: Integers) -> Integers:
    """Return where the keys lie in ascending order, equal ones in their order; in a third of the time of ``argsort``.

    The keys, times their number, must fit in 63 bits.
    """
    return np.sort(keys * len(keys) + np.arange(len(keys))) % len(keys)
