"""Which tables may be measured, and what each tells about components and costs on secret pairs.

A measurement is a table with noise of scale b = 1/w on each cell; of a binary attribute it may take the *sign* (the
difference of two cells) instead of both cells. Summed over its other attributes it gives the component S with variance
2 b^2 prod_{q - S} k; each sign halves that, but is of use only for components that contain the attribute. A change of
attributes that the measurement contains changes two cells (or one sign, twice) by 1: it loses 2 w.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from blowfish_privacy.mechanisms.tables.kinds import Shape, parts, smaller
from blowfish_privacy.mechanisms.tables.lattice import MOST_PAIRS, Lattice

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Measurement: TypeAlias = tuple[Shape, Shape]
"""The attributes of a table, and those of them that are measured as a sign."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """Measurements by shape: the precision each gives to each component at w = 1, and each change's loss at w = 1."""

    shapes: tuple[Measurement, ...]
    precision: csr_array
    loss: csr_array


def candidates(lattice: Lattice) -> list[Measurement]:
    """List the tables asked for with their sign variants, and their parts, as far as there is room for them."""
    tables = lattice.tables
    chosen = [(shape, ()) for shape in tables]
    for more in (
        [(shape, signs) for shape in tables for signs in sign_variants(lattice, shape)],
        [(shape, signs) for shape in lattice.components for signs in sign_variants(lattice, shape)],
    ):
        if sum(2 ** len(shape) for shape, _ in more) > MOST_PAIRS:
            break
        chosen += more
    return list(dict.fromkeys(chosen))


def sign_variants(lattice: Lattice, shape: Shape) -> list[Shape]:
    """List which attributes of a table may be measured as a sign."""
    return parts(tuple(kind for kind in shape if lattice.kinds.sizes[kind] == 2))


def measurements(lattice: Lattice, shapes: Iterable[Measurement]) -> Measurements:
    """Work out what measurements tell and cost. One entry stands for all measurements of its shape."""
    from scipy.sparse import csr_array

    listed = tuple(shapes)
    number = {shape: row for row, shape in enumerate(lattice.components)}
    told = [(number[part], column, value) for column, one in enumerate(listed) for part, value in _told(lattice, one)
            if part in number]  # fmt: skip
    lost = [(row, column, value) for column, one in enumerate(listed) for row, value in _lost(lattice, one)]
    rows = len(lattice.changed) + lattice.presence
    return Measurements(
        listed,
        csr_array(_triplets(told), shape=(len(number), len(listed))),
        csr_array(_triplets(lost), shape=(rows, len(listed))),
    )


def _triplets(entries: list[tuple[int, int, float]]) -> tuple[list[float], tuple[list[int], list[int]]]:
    return [value for _, _, value in entries], ([row for row, _, _ in entries], [column for _, column, _ in entries])


def _told(lattice: Lattice, one: Measurement) -> Iterator[tuple[Shape, float]]:
    """Give the precision of each component that contains all signs, from all measurements of the shape."""
    shape, signs = one
    kinds, needed = lattice.kinds, Counter(signs)
    for part in parts(shape):
        if needed <= Counter(part):
            times = kinds.larger(part, shape) * smaller(signs, part)
            yield part, times * 2.0 ** (len(signs) - 1) * kinds.cells(part) / kinds.cells(shape)


def _lost(lattice: Lattice, one: Measurement) -> Iterator[tuple[int, float]]:
    """Give the loss of each changed set, and of presence, in all measurements of the shape."""
    shape, signs = one
    kinds, counts = lattice.kinds, Counter(shape)
    variants = smaller(signs, shape)
    number = kinds.number(shape)
    for row in sorted({row for kind in counts for row in lattice.rows.get(kind, ())}):
        yield row, 2.0 * variants * (number - kinds.avoiding(shape, lattice.changed[row]))
    if lattice.presence:
        yield len(lattice.changed), float(variants * number)
