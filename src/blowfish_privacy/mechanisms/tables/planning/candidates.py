"""Which tables may be measured, and what each tells about components and costs on secret pairs.

A measurement is a table with noise of scale b = 1/w on each cell; of a binary attribute it may take the *sign* (the
difference of two cells) instead of both cells. Summed over its other attributes it gives the component S with variance
2 b^2 prod_{q - S} k; each sign halves that, but is of use only for components that contain the attribute. A change of
attributes that the measurement contains changes two cells (or one sign, twice) by 1: it loses 2 w.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

import numpy as np

from blowfish_privacy.mechanisms.tables.planning.kinds import Shape, parts
from blowfish_privacy.mechanisms.tables.planning.lattice import MOST_PAIRS, Lattice, Pairs
from blowfish_privacy.support.arrays import Matrix, turned

MOST_UNIONS = 300_000
"""The largest number of pairs of a larger table and a component of it that are looked at."""
MOST_CELLS = 1000
"""Larger tables of so many cells are looked at even if those asked for are smaller."""
Measurement: TypeAlias = tuple[Shape, Shape]
"""The attributes of a table, and those of them that are measured as a sign."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """Measurements by shape: the precision each gives to each component at w = 1, and each change's loss at w = 1."""

    shapes: tuple[Measurement, ...]
    precision: Matrix
    loss: Matrix


def candidates(lattice: Lattice) -> list[Measurement]:
    """List the tables asked for with their sign variants, and their parts, as far as there is room for them."""
    chosen = [(shape, ()) for shape in lattice.tables]
    for shapes in (lattice.tables, lattice.components):
        if sum(2 ** (len(shape) + len(_binary(lattice, shape))) for shape in shapes) > MOST_PAIRS:
            break
        chosen += [(shape, signs) for shape in shapes for signs in parts(_binary(lattice, shape))]
    return list(dict.fromkeys(chosen))


def _binary(lattice: Lattice, shape: Shape) -> Shape:
    return tuple(kind for kind in shape if lattice.kinds.sizes[kind] == 2)


def unions(lattice: Lattice, listed: list[Measurement]) -> list[Measurement]:
    """List larger tables: unions of two asked for that are no larger than the largest, and small ones of more."""
    kinds, known = lattice.kinds, {shape for shape, _ in listed}
    largest = max([MOST_CELLS, *map(kinds.cells, lattice.tables)])
    added = sorted((kinds.cells(shape), shape) for shape in lattice.components)
    last, found = list(lattice.tables), list[Shape]()
    while last and len(last) * len(added) <= MOST_UNIONS:
        grown: set[Shape] = set()
        for table in last:
            few = bisect_right(added, (largest // kinds.cells(table), (inf,)))
            grown.update(tuple(sorted(table + shape)) for _, shape in added[:few])
        last = sorted(
            (shape for shape in grown - known if kinds.number(shape)), key=lambda shape: (kinds.cells(shape), shape)
        )
        known.update(last)
        found += last
        last, largest = [shape for shape in last if kinds.cells(shape) <= MOST_CELLS], MOST_CELLS
    pairs = np.cumsum([2 ** len(shape) for shape in found])
    return [(shape, ()) for shape in found[: int(np.searchsorted(pairs, MOST_UNIONS))]]


def containment(shapes: Sequence[Measurement], places: Sequence[int]) -> Matrix:
    """Say which measurements each of some tables contains, itself left out."""
    known: dict[Shape, list[int]] = {}
    for place, (shape, _) in enumerate(shapes):
        known.setdefault(shape, []).append(place)
    inside = [
        [one for part in parts(shapes[place][0]) for one in known.get(part, ()) if one != place] for place in places
    ]
    rows = np.repeat(np.arange(len(places)), [len(several) for several in inside])
    columns = np.array([one for several in inside for one in several], np.int64)
    return Pairs(rows, columns, (len(places), len(shapes))).matrix(np.ones(len(rows)))


def measurements(lattice: Lattice, shapes: Sequence[Measurement]) -> Measurements:
    """Work out what measurements tell and cost. One entry stands for all measurements of its shape."""
    return Measurements(tuple(shapes), _precision(lattice, shapes), _loss(lattice, shapes))


def _precision(lattice: Lattice, shapes: Sequence[Measurement]) -> Matrix:
    """Return the precision of each component that contains all signs, from all measurements of each shape."""
    kinds, components = lattice.kinds, lattice.components
    told = [parts(shape) if not signs else [part for part in parts(shape) if set(part).issuperset(signs)]
            for shape, signs in shapes]  # fmt: skip
    pairs = Pairs.of(told, components)
    inside = [components[column] for column in pairs.columns.tolist()]
    times = kinds.around(inside, [shapes[row][0] for row in pairs.rows.tolist()])
    times *= kinds.within([shapes[row][1] for row in pairs.rows.tolist()], inside)
    signs = np.array([len(signs) for _, signs in shapes])[pairs.rows]
    cells = np.array([kinds.cells(shape) for shape, _ in shapes], dtype=np.float64)[pairs.rows]
    share = np.array([kinds.cells(shape) for shape in components], dtype=np.float64)[pairs.columns] / cells
    return turned(pairs.matrix(times * 2.0 ** (signs - 1) * share))


def _loss(lattice: Lattice, shapes: Sequence[Measurement]) -> Matrix:
    """Return the loss of each changed set, and of presence, in all measurements of each shape."""
    kinds, changed = lattice.kinds, lattice.changed
    met = [sorted({row for kind in set(shape) for row in lattice.rows.get(kind, ())}) for shape, _ in shapes]
    rows = np.repeat(np.arange(len(shapes)), [len(several) for several in met])
    columns = np.array([row for several in met for row in several], np.int64)
    numbers = kinds.within([signs for _, signs in shapes], [shape for shape, _ in shapes])
    numbers *= np.array([kinds.number(shape) for shape, _ in shapes], dtype=np.float64)
    beside = kinds.beside([shapes[row][0] for row in rows.tolist()], [changed[column] for column in columns.tolist()])
    values = 2 * numbers[rows] * (1 - beside)
    if lattice.presence:
        rows, columns = np.append(rows, np.arange(len(shapes))), np.append(columns, np.full(len(shapes), len(changed)))
        values = np.append(values, numbers)
    return turned(Pairs(rows, columns, (len(shapes), len(changed) + lattice.presence)).matrix(values))
