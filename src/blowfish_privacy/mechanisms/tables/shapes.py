"""Attributes that are interchangeable, so that large symmetrical plans are small problems.

Two attributes are interchangeable if swapping them changes neither the tables asked for nor what is secret. This is an
equivalence, and swaps generate all permutations within each *kind*, so sets of attributes fall into orbits named by
their *shape*: the kinds of their attributes, ascending, with repetitions. A convex plan may be averaged over these
permutations; so planning looks at shapes only, and every count below is a product of binomial coefficients.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations, product
from math import comb, inf, prod
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.errors import RefusalError
from blowfish_privacy.support.arrays import Floats, Integers, Matrix, matrix, turned

Axes: TypeAlias = tuple[int, ...]
"""Numbers of attributes, ascending."""
Shape: TypeAlias = tuple[int, ...]
"""Numbers of kinds, ascending, once for each attribute."""
_Counted: TypeAlias = Callable[[Integers, Integers, Integers], Floats]


@dataclass(frozen=True, eq=False)
class Kinds:
    """The attributes of each kind, and how many values one of them has."""

    members: tuple[Axes, ...]
    sizes: tuple[int, ...]

    def shapes(self, sets: Iterable[Iterable[int]]) -> Iterator[Shape]:
        """Name the orbit of each set of attributes."""
        kind = {axis: number for number, axes in enumerate(self.members) for axis in axes}
        return (tuple(sorted([kind[axis] for axis in axes])) for axes in sets)

    def cells(self, shape: Shape) -> int:
        """Count the cells of one table."""
        return prod(self.sizes[kind] for kind in shape)

    def number(self, shape: Shape) -> int:
        """Count the sets of a shape."""
        return prod(comb(len(self.members[kind]), count) for kind, count in Counter(shape).items())

    def sets(self, shape: Shape) -> Iterator[Axes]:
        """List the sets of a shape."""
        parts = [combinations(self.members[kind], count) for kind, count in sorted(Counter(shape).items())]
        return (tuple(sorted(chain.from_iterable(choice))) for choice in product(*parts))

    @cached_property
    def plural(self) -> list[int]:
        """List the kinds of more than one attribute: the others count once or not at all."""
        return [kind for kind, axes in enumerate(self.members) if len(axes) > 1]

    def within(self, small: Sequence[Shape], large: Sequence[Shape]) -> Floats:
        """Count, pair by pair, the sets of a small shape within a given one of a large shape."""
        return self._times(lambda _, some, many: binomial(many, some), small, large)

    def around(self, small: Sequence[Shape], large: Sequence[Shape]) -> Floats:
        """Count, pair by pair, the sets of a large shape that contain a given one of a small shape."""
        return self._times(lambda members, some, many: binomial(members - some, many - some), small, large)

    def beside(self, one: Sequence[Shape], other: Sequence[Shape]) -> Floats:
        """Return, pair by pair, the share of the sets of a shape that do not meet a given one of another shape."""
        several, pairs = set(self.plural), zip(one, other, strict=True)
        apart = [1.0 if set(shape).isdisjoint(set(rest) - several) else 0.0 for shape, rest in pairs]
        return np.array(apart) * self._times(
            lambda members, count, rest: binomial(members - rest, count) / binomial(members, count), one, other
        )

    def _times(self, counted: _Counted, one: Sequence[Shape], other: Sequence[Shape]) -> Floats:
        """Multiply a count over the kinds of more than one attribute."""
        product = np.ones(len(one))
        for kind in self.plural:
            first = np.array([shape.count(kind) for shape in one], dtype=np.int64)
            second = np.array([shape.count(kind) for shape in other], dtype=np.int64)
            product *= counted(np.array(len(self.members[kind])), first, second)
        return product


def binomial(of: Integers, choose: Integers) -> Floats:
    """Return binomial coefficients, from a table."""
    top, most = int(of.max(initial=0)), int(choose.max(initial=0))
    table = np.array([[comb(n, k) for k in range(most + 1)] for n in range(top + 1)], dtype=np.float64)
    return np.where((of >= 0) & (choose >= 0), table[np.maximum(of, 0), np.maximum(choose, 0)], 0.0)


def parts(shape: Shape) -> list[Shape]:
    """List the shapes of all subsets, from the empty one to the whole."""
    subsets = chain.from_iterable(combinations(shape, length) for length in range(len(shape) + 1))
    return list(dict.fromkeys(subsets))


def interchangeable(sizes: tuple[Any, ...], tables: Mapping[Axes, float], changed: Iterable[Axes]) -> Kinds:
    """Sort the attributes that matter into kinds."""
    wanted, secret = _links(tables), _links(dict.fromkeys(changed, 1.0))
    found: list[list[int]] = []
    for axis in sorted(wanted.keys() | secret.keys()):
        for axes in found:
            first = axes[0]
            if sizes[first] == sizes[axis] and all(_swap(links, first, axis) for links in (wanted, secret)):
                axes.append(axis)
                break
        else:
            found.append([axis])
    return Kinds(tuple(tuple(axes) for axes in found), tuple(sizes[axes[0]] for axes in found))


def apart(sizes: tuple[Any, ...], tables: Mapping[Axes, float], changed: Iterable[Axes]) -> Kinds:
    """Give each attribute that matters a kind of its own."""
    axes = sorted({axis for axes in (*tables, *changed) for axis in axes})
    return Kinds(tuple((axis,) for axis in axes), tuple(sizes[axis] for axis in axes))


_Links: TypeAlias = dict[int, dict[Axes, float]]


def _links(sets: Mapping[Axes, float]) -> _Links:
    """Note for each attribute the rest of every set that contains it."""
    links: _Links = {}
    for axes, weight in sets.items():
        for place, axis in enumerate(axes):
            links.setdefault(axis, {})[axes[:place] + axes[place + 1 :]] = weight
    return links


def _swap(links: _Links, one: int, other: int) -> bool:
    """Say whether swapping two attributes leaves the sets as they are."""
    first, second = links.get(one, {}), links.get(other, {})
    if len(first) != len(second):
        return False
    return {rest: weight for rest, weight in first.items() if other not in rest} == {
        rest: weight for rest, weight in second.items() if one not in rest
    }


# Tables, their components and what is secret about them, as arrays over shapes.
#
# A table is the sum of its components, one for each subset of its attributes, each spread evenly over the others. If
# the component S is known with variance s_S per cell before projection, a cell of the table W has the variance
#
#     sum over S in W of s_S * prod_{i in S} (1 - 1/k_i) * prod_{i in W, not in S} 1/k_i^2.
#
# Components that no secret pair can change are exact: they are left out. Proof: ``docs/proofs/tables.md``.

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


@dataclass(frozen=True)
class WantedTables:
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
class TableLattice:
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

    def objective(self, variances: Floats) -> float:
        """Return what the variances of the components amount to."""
        cells = self.spread @ variances
        return float(cells.max() if self.importance is None else cells @ self.importance)


def lattice(wanted: WantedTables, sorted_by: Callable[..., Kinds] = interchangeable) -> TableLattice:
    """Arrange what is asked for. Attributes of one value have no components, and are left out."""
    sizes, tables = wanted.sizes, _weighted(wanted)
    changed = {tuple(sorted(i for i in axes if sizes[i] > 1)) for axes in wanted.changed} - {()}
    read = dict(wanted.read)
    # Attributes along which different rows are measured are not interchangeable.
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
    return TableLattice(
        kinds,
        tuple(noisy),
        tuple(known),
        _spread(kinds, along, subsets, tuple(known)),
        None if wanted.weights == "worst" else importance,
        tuple(dict.fromkeys(kinds.shapes(changed))),
        wanted.presence,
        along,
    )


def exact_tables(wanted: WantedTables) -> tuple[Axes, ...]:
    """List the largest parts of tables asked for that no secret pair can change, the empty one left out."""
    if wanted.presence:
        return ()
    secret = frozenset[int]().union(*wanted.changed)
    found = {tuple(i for i in table if i not in secret and wanted.sizes[i] > 1) for table in wanted.tables} - {()}
    return tuple(sorted(found - {part for axes in found for part in parts(axes)[:-1]}))


def _weighted(wanted: WantedTables) -> dict[Axes, float]:
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


# Which tables may be measured, and how precise each is on components and what it costs on secret pairs.
#
# A measurement is a table with noise of scale b = 1/w on each cell; of a binary attribute it may take the *sign* (the
# difference of two cells) instead of both cells. Summed over its other attributes it gives the component S with
# variance 2 b^2 prod_{q - S} k; each sign halves that, but is of use only for components that contain the attribute. A
# change of attributes that the measurement contains changes two cells (or one sign, twice) by 1: it loses 2 w.

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


def candidates(lattice: TableLattice) -> list[Measurement]:
    """List the tables asked for with their sign variants, and their parts, as far as there is room for them."""
    chosen = [(shape, ()) for shape in lattice.tables]
    for shapes in (lattice.tables, lattice.components):
        if sum(2 ** (len(shape) + len(_binary(lattice, shape))) for shape in shapes) > MOST_PAIRS:
            break
        chosen += [(shape, signs) for shape in shapes for signs in parts(_binary(lattice, shape))]
    return list(dict.fromkeys(chosen))


def _binary(lattice: TableLattice, shape: Shape) -> Shape:
    return tuple(kind for kind in shape if lattice.kinds.sizes[kind] == 2)


def unions(lattice: TableLattice, listed: list[Measurement]) -> list[Measurement]:
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


def measurements(lattice: TableLattice, shapes: Sequence[Measurement]) -> Measurements:
    """Work out how precise measurements are and what they cost. One entry stands for all measurements of its shape."""
    return Measurements(tuple(shapes), _precision(lattice, shapes), _loss(lattice, shapes))


def _precision(lattice: TableLattice, shapes: Sequence[Measurement]) -> Matrix:
    """Return the precision of each component that contains all signs, from all measurements of each shape."""
    kinds, components = lattice.kinds, lattice.components
    held = [parts(shape) if not signs else [part for part in parts(shape) if set(part).issuperset(signs)]
            for shape, signs in shapes]  # fmt: skip
    pairs = Pairs.of(held, components)
    inside = [components[column] for column in pairs.columns.tolist()]
    times = kinds.around(inside, [shapes[row][0] for row in pairs.rows.tolist()])
    times *= kinds.within([shapes[row][1] for row in pairs.rows.tolist()], inside)
    signs = np.array([len(signs) for _, signs in shapes])[pairs.rows]
    cells = np.array([kinds.cells(shape) for shape, _ in shapes], dtype=np.float64)[pairs.rows]
    share = np.array([kinds.cells(shape) for shape in components], dtype=np.float64)[pairs.columns] / cells
    return turned(pairs.matrix(times * 2.0 ** (signs - 1) * share))


def _loss(lattice: TableLattice, shapes: Sequence[Measurement]) -> Matrix:
    """Return the loss of each changed set, and of presence, in all measurements of each shape."""
    kinds, changed = lattice.kinds, lattice.changed
    of_kind = [[row for row, shape in enumerate(changed) if kind in shape] for kind in range(len(kinds.members))]
    met = [sorted({row for kind in set(shape) for row in of_kind[kind]}) for shape, _ in shapes]
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
