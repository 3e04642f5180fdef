"""Tables, their components and what is secret about them, as arrays over shapes.

A table is the sum of its components, one for each subset of its attributes, each spread evenly over the others. If the
component S is known with variance s_S per cell before projection, a cell of the table W has the variance

    sum over S in W of s_S * prod_{i in S} (1 - 1/k_i) * prod_{i in W, not in S} 1/k_i^2.

Components that no secret pair can change are exact: they are left out. Proof: ``docs/proofs/tables.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.errors import RefusalError
from blowfish_privacy.mechanisms.tables.planning.kinds import Axes, Kinds, Shape, alike, parts
from blowfish_privacy.support.arrays import Floats, Matrix, matrix

MOST_PAIRS = 4_000_000
"""The largest number of pairs of a table and a component of it (by shape) that planning takes on."""


@dataclass(frozen=True)
class Along:
    """What an attribute does to components: those with it, and tables without it in the component.

    ``inside`` is the factor of a component's variance in what is asked for, ``outside`` that of one without the
    attribute (the square of its share). ``norm`` is the squared norm of a record's column along it, and ``ratio`` the
    product of the columns of two values, in units of that.
    """

    inside: float
    outside: float
    norm: float
    ratio: float

    @classmethod
    def of(cls, size: int) -> Along:
        """Count every value, less the mean of all."""
        return cls(1 - 1 / size, 1 / size**2, 1 - 1 / size, -1 / (size - 1) if size > 1 else 0.0)


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is asked for, and what is secret.

    ``weights`` is the objective: "worst" is the largest variance of a cell, "mean" the mean over all cells of all
    tables; numbers weigh the tables in that mean. ``changed`` are the maximal sets of attributes that one secret pair
    may change. With ``presence`` records come and go, so that the total (the empty table) is measured too.
    """

    sizes: tuple[int, ...]
    tables: tuple[Axes, ...]
    weights: Literal["worst", "mean"] | tuple[float, ...]
    changed: tuple[frozenset[int], ...]
    presence: bool
    read: tuple[tuple[int, Along], ...] = ()
    """Attributes along which other rows are measured than their values."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """The tables asked for that are not exact, and their components that are not exact, by shape.

    ``spread`` maps variances of components to variances of one cell of each table. ``importance`` is each table
    shape's share in the mean, None if the worst table counts. ``changed`` are the shapes of the changed sets.
    """

    kinds: Kinds
    tables: tuple[Shape, ...]
    components: tuple[Shape, ...]
    spread: Matrix
    importance: Floats | None
    changed: tuple[Shape, ...]
    presence: bool
    along: tuple[Along, ...]
    """What an attribute of each kind does."""

    @cached_property
    def rows(self) -> dict[int, list[int]]:
        """Say which changed sets contain attributes of each kind."""
        found: dict[int, list[int]] = {}
        for row, shape in enumerate(self.changed):
            for kind in set(shape):
                found.setdefault(kind, []).append(row)
        return found

    def contrast(self, shape: Shape) -> float:
        """Return the squared norm of a record's column in a component."""
        return prod(self.along[kind].norm for kind in shape)

    def objective(self, variances: Floats) -> float:
        """Return what the variances of the components amount to."""
        cells = self.spread @ variances
        return float(cells.max() if self.importance is None else cells @ self.importance)


def lattice(wanted: Wanted, sorted_by: Callable[..., Kinds] = alike) -> Lattice:
    """Arrange what is asked for. Attributes of one value have no components, and are left out."""
    sizes, tables = wanted.sizes, _weighted(wanted)
    changed = {tuple(sorted(i for i in axes if sizes[i] > 1)) for axes in wanted.changed} - {()}
    read = dict(wanted.read)
    # Attributes along which different rows are measured are not alike.
    kinds = sorted_by(tuple((size, read.get(axis)) for axis, size in enumerate(sizes)), tables, changed)
    kinds = replace(kinds, sizes=tuple(sizes[axes[0]] for axes in kinds.members))
    along = tuple(read.get(axes[0], Along.of(sizes[axes[0]])) for axes in kinds.members)
    shares: dict[Shape, float] = {}
    for shape, weight in zip(kinds.shapes(tables), tables.values(), strict=True):
        shares[shape] = shares.get(shape, 0.0) + weight * kinds.cells(shape)
    secret = frozenset(kind for shape in kinds.shapes(changed) for kind in shape)
    noisy = [shape for shape in shares if wanted.presence or not secret.isdisjoint(shape)]
    if sum(2 ** len(shape) for shape in noisy) > MOST_PAIRS:
        raise RefusalError(
            f"{len(tables)} tables have too many components to plan for.", hint="ask for tables of fewer attributes."
        )
    subsets = {shape: parts(shape) for shape in noisy}
    known = dict.fromkeys(
        part for shapes in subsets.values() for part in shapes if wanted.presence or not secret.isdisjoint(part)
    )
    importance = np.array([shares[shape] for shape in noisy]) / (sum(shares.values()) or 1.0)
    return Lattice(
        kinds,
        tuple(noisy),
        tuple(known),
        _spread(kinds, along, subsets, tuple(known)),
        None if wanted.weights == "worst" else importance,
        tuple(dict.fromkeys(kinds.shapes(changed))),
        wanted.presence,
        along,
    )


def exact_tables(wanted: Wanted) -> tuple[Axes, ...]:
    """List the largest parts of tables asked for that no secret pair can change, the empty one left out."""
    if wanted.presence:
        return ()
    secret = frozenset[int]().union(*wanted.changed)
    found = {tuple(i for i in table if i not in secret and wanted.sizes[i] > 1) for table in wanted.tables} - {()}
    return tuple(sorted(found - {part for axes in found for part in parts(axes)[:-1]}))


def _weighted(wanted: Wanted) -> dict[Axes, float]:
    """Join equal tables, with the sum of their weights."""
    weights = wanted.weights if isinstance(wanted.weights, tuple) else (1.0,) * len(wanted.tables)
    tables: dict[Axes, float] = {}
    for table, weight in zip(wanted.tables, weights, strict=True):
        axes = tuple(sorted(axis for axis in table if wanted.sizes[axis] > 1))
        tables[axes] = tables.get(axes, 0.0) + weight
    return tables


def _spread(
    kinds: Kinds, along: Sequence[Along], subsets: dict[Shape, list[Shape]], components: tuple[Shape, ...]
) -> Matrix:
    """Return what the variance of each component adds to that of a cell of each table."""
    pairs = Pairs.of(list(subsets.values()), components)
    kept = np.array([prod(along[kind].inside for kind in shape) for shape in components])
    tables = list(subsets)
    inside = np.array([prod(along[kind].outside for kind in shape) for shape in components])[pairs.columns]
    share = np.array([prod(along[kind].outside for kind in shape) for shape in tables])[pairs.rows] / inside
    times = kinds.within(
        [components[place] for place in pairs.columns.tolist()], [tables[place] for place in pairs.rows.tolist()]
    )
    return pairs.matrix(times * kept[pairs.columns] * share)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Where a matrix over lists of parts (rows) and components (columns) has entries."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    shape: tuple[int, int]

    @classmethod
    def of(cls, lists: Sequence[Sequence[Shape]], components: Sequence[Shape]) -> Pairs:
        """Find the components among the parts."""
        number = {shape: column for column, shape in enumerate(components)}
        found = [[number[part] for part in shapes if part in number] for shapes in lists]
        rows = np.repeat(np.arange(len(lists)), [len(columns) for columns in found])
        return cls(rows, np.array([one for columns in found for one in columns], np.int64), (len(lists), len(number)))

    def matrix(self, values: Floats) -> Matrix:
        """Return the matrix with these values, without zeros."""
        kept = values != 0
        return matrix(values[kept], self.rows[kept], self.columns[kept], self.shape)
