"""Rows along an ordered attribute for accurate ranges: whole numbers, chosen for the moves that they have to hide.

Of all matrices B with B 1 = 0 that change by at most 1 along every own move, and whose columns have a squared norm
of at most r, the best for random ranges is found by its Gram matrix G = B'B: it minimises tr(V G^+), a convex problem,
where V says how often a random range contains two values. What is certified is derived from the whole numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from math import inf, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.graphs.graph import Edge, SecretGraph, differing
from blowfish_privacy.known_facts.facts import crosses
from blowfish_privacy.mechanisms.tables.components import Components, Precisions, table_precisions
from blowfish_privacy.mechanisms.tables.nesting import beside
from blowfish_privacy.mechanisms.tables.ranges import in_both
from blowfish_privacy.mechanisms.tables.shapes import Axes, Kinds, interchangeable, parts
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.sensitivity import Norm, Sensitivity, sensitivity_of
from blowfish_privacy.queries.tables import Block, TablesForm
from blowfish_privacy.support.arrays import Floats, Integers

_ROUNDS = 60
_POWER = 0.7


@dataclass(frozen=True, eq=False)
class AxisRows:
    """As many rows as there are values, each of which adds up to 0; ``times`` times what they stand for."""

    matrix: Integers
    times: int

    @property
    def size(self) -> int:
        """The number of values."""
        return self.matrix.shape[1]

    @cached_property
    def gram(self) -> npt.NDArray[Any]:
        """The products of all columns, in whole numbers of any size."""
        exact = self.matrix.astype(object)
        return exact.T @ exact

    def product(self, x: int, y: int) -> Fraction:
        """Return the product of two columns."""
        return Fraction(int(self.gram[x, y]), self.times**2)

    @cached_property
    def heaviest(self) -> int:
        """The value with the longest column."""
        return int(np.argmax(np.diag(self.gram)))

    @property
    def norm(self) -> Fraction:
        """The largest squared norm of a column."""
        return self.product(self.heaviest, self.heaviest)

    def changed(self, move: int, kept: Fraction, crossed: Fraction) -> tuple[Fraction, tuple[int, int]]:
        """Return the largest kept (G_xx + G_yy) - 2 crossed G_xy over moves no longer than that, and that move."""
        known = self._changes.get((move, kept, crossed))
        if known is None:
            below = kept.denominator * crossed.denominator
            a, c = int(kept * below), int(crossed * below)
            norms = np.diag(self.gram)
            changes = a * (norms[:, None] + norms[None, :]) - 2 * c * self.gram
            apart = np.abs(np.subtract.outer(np.arange(self.size), np.arange(self.size)))
            inside = np.argwhere((apart >= 1) & (apart <= move))
            values = changes[inside[:, 0], inside[:, 1]]
            x, y = inside[int(np.argmax(values))].tolist()
            known = Fraction(int(changes[x, y]), below * self.times**2), (x, y)
            self._changes[move, kept, crossed] = known
        return known

    @cached_property
    def _changes(self) -> dict[tuple[int, Fraction, Fraction], tuple[Fraction, tuple[int, int]]]:
        return {}

    @cached_property
    def products(self) -> tuple[Fraction, Fraction]:
        """The smallest and the largest product of two different columns."""
        others = self.gram[~np.eye(self.size, dtype=bool)]
        return Fraction(int(others.min()), self.times**2), Fraction(int(others.max()), self.times**2)

    @property
    def most(self) -> int:
        """The largest number of a row."""
        return int(np.abs(self.matrix).max())

    @cached_property
    def reader(self) -> Floats:
        """The matrix that turns rows into counts less their mean."""
        return np.asarray(np.linalg.pinv(self.matrix / self.times, rcond=1e-9), dtype=np.float64)

    @cached_property
    def covariance(self) -> Floats:
        """That of the counts less their mean, where every row has noise of variance 1."""
        return self.reader @ self.reader.T

    def read(self, counts: Integers, at: int) -> Integers:
        """Turn counts into rows, along one of their axes."""
        return np.moveaxis(np.tensordot(self.matrix, counts, axes=(1, at)), 0, at)

    @property
    def sufficient(self) -> bool:
        """Whether the rows determine all counts but for their sum, and contain nothing of the sum."""
        return not self.matrix.sum(axis=1).any() and int(np.linalg.matrix_rank(self.matrix)) == self.size - 1


@lru_cache(maxsize=256)
def best_rows(size: int, move: int, norm: float | None, bits: int) -> AxisRows:
    """Find the best rows of squared changes of at most 1 along moves, and columns of at most a squared norm.

    They are rounded to so many bits behind the point.
    """
    gram = _best_gram(size, move, norm)
    lengths, directions = np.linalg.eigh(gram)
    root = (directions * np.sqrt(np.maximum(lengths, 0.0))) @ directions.T
    matrix = np.rint(root * 2**bits).astype(np.int64)
    for row in matrix:
        # What rounding leaves of the sum is taken away, one by one.
        left = int(row.sum())
        row[: abs(left)] -= np.sign(left)
    return AxisRows(matrix, 2**bits)


def _best_gram(size: int, move: int, norm: float | None) -> Floats:
    """Raise the multiplier of what changes most, until all that has one changes equally; the last is scaled to 1."""
    centred = np.eye(size) - 1 / size
    _, basis = np.linalg.eigh(centred)
    basis = basis[:, 1:]
    wanted = basis.T @ in_both(size) @ basis
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    moves = (apart >= 1) & (apart <= move)
    multipliers, weights = moves / max(moves.sum(), 1), np.full(size, 1 / size if norm else 0.0)
    gram = centred
    for _ in range(_ROUNDS):
        total = np.diag(multipliers.sum(axis=1)) - multipliers + np.diag(weights / (norm or 1.0))
        half, inverse = _roots(basis.T @ total @ basis)
        root, _ = _roots(half @ wanted @ half)
        gram = basis @ (inverse @ root @ inverse) @ basis.T
        norms = np.diag(gram)
        own = np.where(moves, norms[:, None] + norms[None, :] - 2 * gram, 0.0)
        heavy = norms / norm if norm else np.zeros(size)
        gram = gram / max(own.max(), heavy.max())
        multipliers, weights = multipliers * own**_POWER, weights * heavy**_POWER
        both = multipliers.sum() + weights.sum()
        multipliers, weights = multipliers / both, weights / both
    return gram


def _roots(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the root of a symmetric matrix, and its inverse."""
    lengths, directions = np.linalg.eigh(matrix)
    roots = np.sqrt(np.maximum(lengths, 1e-14 * lengths[-1]))
    return (directions * roots) @ directions.T, (directions / roots) @ directions.T


# The components of tables as rows of whole numbers: what a record changes, squared.
#
# The rows of the component S are the product over its attributes of k I - J, for k values: prod(k) times the part of
# the table of S that is in no smaller table. Proof: ``docs/proofs/tables.md``.

MOST_CHANGES = 1 << 16
"""So many sets of changed attributes are all looked at: beyond that a sum of largest changes bounds them."""
MOST_WORK = 400_000_000
"""The most multiplications for that."""
NEAR = 1e-6
"""Floats leave out changes that are smaller than the largest by this share; they are wrong by much less."""


@dataclass(frozen=True, eq=False)
class ComponentForm(TablesForm):
    """Blocks of a weight are components that are measured so precisely, those of weight 0 are tables of exact counts.

    Squares count each row of a component by its weight / prod(k)^2, which is one over its variance but for a scale;
    those of the largest weight are counted as they are.
    """

    rows: Mapping[int, AxisRows] = field(default_factory=dict[int, AxisRows])
    """What every component with one of these axes reads along it in place of its values."""
    moves: Mapping[int, int] = field(default_factory=dict[int, int])
    """How far records move at most along each of these axes; over all values, where that is not stated."""

    def __post_init__(self) -> None:
        """Count changes as they are: squares have weights of their own."""

    def of_data(self, block: Block, counts: Integers) -> Integers:
        counts = super().of_data(block, counts)
        for at, axis in enumerate(block.axes if block.weight else ()):
            plain, size = axis not in self.rows, counts.shape[at]
            counts = size * counts - counts.sum(axis=at, keepdims=True) if plain else self.rows[axis].read(counts, at)
        return counts

    def answer(self, counts: Integers) -> Integers:
        table = counts.reshape(self.domain.shape)
        rows = (self.of_data(block, self.marginal(table, block)).reshape(-1) for block in self.blocks)
        return np.concatenate([np.zeros(0, dtype=np.int64), *rows])

    def column(self, x: Cell) -> Sequence[int]:
        counts = np.zeros(self.domain.shape, dtype=np.int64)
        counts[x] = 1
        return self.answer(counts).tolist()

    @cached_property
    def largest(self) -> int:
        """The largest weight."""
        return max((block.weight for block in self.blocks), default=0) or 1

    def times(self, block: Block) -> int:
        return prod([self.rows[axis].times if axis in self.rows else self.shape[axis] for axis in block.axes])

    def scale_of(self, kind: tuple[int, int], scale: Fraction) -> Fraction:
        weight, times = kind
        return scale * self.largest * times**2 / weight if weight else Fraction(0)

    @cached_property
    def most_added(self) -> int:
        most = [self.rows[axis].most if axis in self.rows else size for axis, size in enumerate(self.shape)]
        return max((prod([most[axis] for axis in block.axes]) for block in self.blocks if block.weight), default=1)

    def _product(self, axis: int, x: int, y: int) -> Fraction:
        """Return the product of the columns of two values, in a component with an axis."""
        if axis in self.rows:
            return self.rows[axis].product(x, y)
        size = self.shape[axis]
        return Fraction(size - 1 if x == y else -1, size)

    def _products(self, x: Cell, y: Cell) -> Fraction:
        """Add up the products of the columns of two records in all components, each with its weight."""
        along = [self._product(axis, *ends) for axis, ends in enumerate(zip(x, y, strict=True))]
        every = (block.weight * prod([along[axis] for axis in block.axes], start=Fraction(1)) for block in self.blocks)
        return sum(every, Fraction(0)) / self.largest

    def squared_change(self, x: Cell, y: Cell) -> Fraction:
        if not self.rows:
            return self.squares(differing(x, y))
        return self._products(x, x) + self._products(y, y) - 2 * self._products(x, y)

    def squared_weight(self, x: Cell) -> Fraction:
        return self._products(x, x) if self.rows else self.largest_squared_weight()

    def heaviest(self) -> Cell:
        return tuple(self.rows[axis].heaviest if axis in self.rows else 0 for axis in range(len(self.shape)))

    def largest_squared_weight(self) -> Fraction:
        if self.rows:
            return self.squared_weight(self.heaviest())
        kept = Counter[tuple[int, int]]()
        for block, same, cells in zip(self.blocks, self._contrasts, self.sizes, strict=True):
            kept[same, cells] += block.weight
        return _total(kept) / self.largest

    def squares(self, changed: Iterable[int]) -> Fraction:
        """Return the squared change of a record that moves along exactly these axes."""
        moved = frozenset(changed)
        if moved not in self._known:
            kept = Counter[tuple[int, int]]()
            alone = tuple(moved) if len(moved) == 1 else ()
            for number in self._meeting(moved):
                block = self.blocks[number]
                met = alone or tuple([axis for axis in block.axes if axis in moved])
                kept[self.term(number, met)] += block.weight
            self._known[moved] = _total(kept) / self.largest
        return self._known[moved]

    @cached_property
    def _known(self) -> dict[frozenset[int], Fraction]:
        return {}

    def term(self, number: int, met: Axes) -> tuple[int, int]:
        """Return the squared change of one component along some of its axes, above and below the line.

        Where rows are read it is a bound over all moves: along one axis with rows all moves are compared; where several
        change at once, their products are bounded.
        """
        axes = self.blocks[number].axes
        if self.rows.keys().isdisjoint(axes):
            same = self._contrasts[number]
            return 2 * (same - same // prod([1 - self.shape[axis] for axis in met])), self.sizes[number]
        norms = {axis: self.rows[axis].norm if axis in self.rows else self._product(axis, 0, 0) for axis in axes}
        around = prod([norms[axis] for axis in axes if axis not in met], start=Fraction(1))
        plain = [axis for axis in met if axis not in self.rows]
        kept = prod([norms[axis] for axis in plain], start=Fraction(1))
        crossed = prod([self._product(axis, 0, 1) for axis in plain], start=Fraction(1))
        read = [axis for axis in met if axis in self.rows]
        if not read:
            change = 2 * (kept - crossed)
        elif len(read) == 1:
            change, _ = self.rows[read[0]].changed(self._move(read[0]), kept, crossed)
        else:
            corners = (crossed * prod(each) for each in product(*(self.rows[axis].products for axis in read)))
            change = 2 * (kept * prod(norms[axis] for axis in read) - min(corners))
        return (around * change).as_integer_ratio()

    @cached_property
    def _contrasts(self) -> list[int]:
        """The product of k - 1 over the axes of each block."""
        return [prod([self.shape[axis] - 1 for axis in block.axes]) for block in self.blocks]

    def _move(self, axis: int) -> int:
        return max(self.moves.get(axis, self.shape[axis] - 1), 1)

    def bound(self, changed: Iterable[int]) -> Fraction:
        """Bound the squared change along any of these axes: the largest of each component, added up."""
        moved = frozenset(changed)
        kept = Counter[tuple[int, int]]()
        for number in self._meeting(moved):
            axes = tuple([axis for axis in self.blocks[number].axes if axis in moved])
            largest = max((self.term(number, part) for part in parts(axes)[1:]), key=lambda term: Fraction(*term))
            kept[largest] += self.blocks[number].weight
        return _total(kept) / self.largest

    def _meeting(self, changed: frozenset[int]) -> Iterable[int]:
        """Number the components that have one of these axes."""
        if len(changed) == 1:
            return self._with.get(next(iter(changed)), [])
        return sorted({number for axis in changed for number in self._with.get(axis, [])})

    @cached_property
    def _with(self) -> dict[int, list[int]]:
        """Number the components with each axis."""
        found: dict[int, list[int]] = {}
        for number, block in enumerate(self.blocks):
            for axis in block.axes if block.weight else ():
                found.setdefault(axis, []).append(number)
        return found

    def worst_edge(self, graph: SecretGraph) -> tuple[Edge | None, bool]:
        edge, _, attained = self.largest_squares(graph)
        return edge, attained

    def largest_squares(self, graph: SecretGraph) -> tuple[Edge | None, Fraction, bool]:
        """Compare all sets of attributes that may change together, or bound them where these are many.

        Parts of what a pair changes are looked at too: they may change more. Where no secret pair changes such a part
        alone, the largest is an upper bound only.
        """
        moves = {axis: graph.largest_move(self.domain.names[axis]) for axis in self.rows}
        if moves != self.moves:
            return replace(self, moves=moves).largest_squares(graph)
        found: list[tuple[Fraction, bool, Edge]] = []
        edges, listed = graph.broadest()
        for x, y in edges:
            value, changed = self._largest(tuple(differing(x, y)))
            edge = self._witness(x, y, changed)
            attained = listed and self.squared_change(*edge) == value and (edge == (x, y) or graph.adjacent(*edge))
            found.append((value, attained, edge))
        if not found:
            return None, Fraction(0), True
        value, attained, edge = max(found, key=lambda each: each[:2])
        return edge, value, attained

    def _witness(self, x: Cell, y: Cell, changed: Axes) -> Edge:
        """Let a record move along some axes only of those along which two cells differ, and as rows change most."""
        ends = [*x], [y[axis] if axis in changed else x[axis] for axis in range(len(x))]
        for axis, rows in self.rows.items():
            best = rows.heaviest, rows.heaviest
            if axis in changed:
                _, best = rows.changed(self._move(axis), Fraction(1), Fraction(1))
            for end, position in zip(ends, best, strict=True):
                end[axis] = position
        return tuple(ends[0]), tuple(ends[1])

    def _largest(self, together: Axes) -> tuple[Fraction, Axes]:
        """Return the largest squared change of any nonempty part of a set of axes, and that part."""
        if len(together) <= 1:
            return self.squares(together), together
        # Swapping two attributes of one kind changes no component and no weight.
        weights: dict[Axes, float] = {}
        for block in self.blocks:
            if block.weight:
                weights[block.axes] = weights.get(block.axes, 0.0) + block.weight
        labels = tuple((axis, "rows") if axis in self.rows else size for axis, size in enumerate(self.shape))
        shapes = list(_parts(interchangeable(labels, weights, [together]), together))
        if shapes and len(shapes) * sum(len(block.axes) for block in self.blocks) <= MOST_WORK:
            near = self._nearest(shapes)
            return max(((self.squares(changed), changed) for changed in near), key=lambda each: each[0])
        return self.bound(together), together

    def _nearest(self, changes: Sequence[Axes]) -> list[Axes]:
        """Leave out the parts whose squared change is certainly not the largest, by floats.

        Each term is exact until it is rounded, and none is negative, so their sum is right to many more digits.
        """
        moved = np.zeros((len(self.shape), len(changes)), dtype=bool)
        for number, axes in enumerate(changes):
            moved[list(axes), number] = True
        total = np.zeros(len(changes))
        for number, block in enumerate(self.blocks):
            if block.weight:
                which = sum((moved[axis].astype(np.int64) << place for place, axis in enumerate(block.axes)), 0)
                values = [0.0]
                for chosen in range(1, 2 ** len(block.axes)):
                    met = tuple([axis for place, axis in enumerate(block.axes) if chosen >> place & 1])
                    values.append(float(Fraction(*self.term(number, met))))
                total += block.weight * np.array(values)[which]
        return [changes[number] for number in np.flatnonzero(total >= total.max() * (1 - NEAR)).tolist()]


def _parts(kinds: Kinds, together: Axes) -> Iterator[Axes]:
    """List the nonempty parts of a set of axes, one of each shape; none if they are too many."""
    inside = [[axis for axis in axes if axis in together] for axes in kinds.members]
    inside = [axes for axes in inside if axes]
    if prod([len(axes) + 1 for axes in inside]) > MOST_CHANGES:
        return
    for counts in product(*(range(len(axes) + 1) for axes in inside)):
        part = [axis for axes, count in zip(inside, counts, strict=True) for axis in axes[:count]]
        if part:
            yield tuple(sorted(part))


def _total(kept: Counter[tuple[int, int]]) -> Fraction:
    """Add up fractions, each so many times."""
    by_size = Counter[int]()
    for (above, below), times in kept.items():
        by_size[below] += above * times
    return sum((Fraction(above, below) for below, above in by_size.items()), Fraction(0))


# How much components change together between neighbours, in squares; known facts included.


def component_squares(form: ComponentForm, policy: Policy) -> Sensitivity:
    """Derive the largest weighted sum of squared changes between neighbours."""
    if not crosses(policy):
        return sensitivity_of(form, policy, Norm.L2)
    from blowfish_privacy.known_facts.theorems import most_secret_moves

    moves = most_secret_moves(policy, form.domain.names)
    if moves is None:
        raise RefusalError(
            "secret pairs and known facts cross each other, and Gaussian noise on components of tables does not cover "
            "records that move together anywhere.",
            hint="ask for Laplace noise; if attackers already know each record up to its secret pairs, compensation: "
            "secret-moves may be enough.",
        )
    _, value, _ = form.largest_squares(policy.graph.project(form.domain.names))
    theorem = f"at most {moves} records move together along secret pairs, in squares"
    return Sensitivity(moves**2 * value, not value, theorem, None, Norm.L2)


# Estimates from components that were measured one by one, each by its own rows.


@dataclass(frozen=True, eq=False)
class MeasuredComponents(Components):
    """Blocks of weight 0 are tables of exact counts, all others prod(k) times the rows of one component.

    Variances are those of a row, divided by prod(k)^2. Where other rows are read along an axis than its values, the
    estimates of these are correlated.
    """

    rows: Mapping[int, AxisRows] = field(default_factory=dict[int, AxisRows])

    def _precisions(self, number: int, wanted: Container[Axes]) -> Iterator[tuple[Axes, float]]:
        block, variance = self.blocks[number], self.variances[number]
        if not block.weight:
            yield from super()._precisions(number, wanted)
        elif block.axes in wanted:
            yield block.axes, 1 / variance if variance else inf

    def _component(self, values: Floats, block: Block, component: Axes) -> Floats:
        if not self.rows or not block.weight:
            return super()._component(values / (prod(values.shape) if block.weight else 1), block, component)
        for at, axis in enumerate(block.axes):
            if axis in self.rows:
                read = self.rows[axis]
                values = np.moveaxis(np.tensordot(read.reader / read.times, values, axes=(1, at)), 0, at)
            else:
                values = (values - values.mean(axis=at, keepdims=True)) / self.shape[axis]
        return values

    def _numbered(self) -> list[Precisions]:
        noise = [variance for block, variance in zip(self.blocks, self.variances, strict=True) if block.weight]
        rows, exact = ([block for block in self.blocks if bool(block.weight) is noisy] for noisy in (True, False))
        return [
            table_precisions(self.shape, rows, noise, alone=True),
            table_precisions(self.shape, exact, [0.0] * len(exact)),
        ]

    def _covariance(self, axis: int) -> Floats:
        """Return that of the values of an axis in a component of variance 1."""
        return self.rows[axis].covariance if axis in self.rows else np.eye(self.shape[axis]) - 1 / self.shape[axis]

    def _over_components(self, axes: Axes, inside: Callable[[int], Floats], outside: Callable[[int], Floats]) -> Floats:
        """Add up over the components of a table: along each axis one factor if the component has it, else another."""
        factors = [(beside(inside(axis), at, len(axes)), beside(outside(axis), at, len(axes)))
                   for at, axis in enumerate(axes)]  # fmt: skip
        total = np.zeros([1] * len(axes))
        for component in self.nesting.parts(axes):
            each = [first if axis in component else second for axis, (first, second) in zip(axes, factors, strict=True)]
            total = total + self.spread[component] * prod(each, start=np.ones([1] * len(axes)))
        return total

    def uneven(self, axes: Axes) -> bool:
        return not self.rows.keys().isdisjoint(axes)

    def cell_variances(self, axes: Axes) -> Floats:
        if not self.uneven(axes):
            return super().cell_variances(axes)
        shape = [self.shape[axis] for axis in axes]
        found = self._over_components(
            axes, lambda axis: np.diag(self._covariance(axis)), lambda axis: np.array([1 / self.shape[axis] ** 2])
        )
        return np.broadcast_to(found, shape).copy()

    def _of_sum(self, axes: Axes, chosen: Sequence[Sequence[int]]) -> float:
        picked = dict(zip(axes, (list(each) for each in chosen), strict=True))
        total = self._over_components(
            axes,
            lambda axis: np.array([self._covariance(axis)[np.ix_(picked[axis], picked[axis])].sum()]),
            lambda axis: np.array([(len(picked[axis]) / self.shape[axis]) ** 2]),
        )
        return max(float(total.sum()), 0.0)

    @cached_property
    def table_variances(self) -> tuple[float, ...]:
        if not self.rows:
            return super().table_variances

        def inside(axis: int) -> Floats:
            if axis not in self.rows:
                return np.array([1 - 1 / self.shape[axis]])
            return np.array([(in_both(self.shape[axis]) * self._covariance(axis)).sum()])

        def outside(axis: int) -> Floats:
            together = in_both(self.shape[axis]).sum() if axis in self.rows else 1.0
            return np.array([together / self.shape[axis] ** 2])

        return tuple(float(self._over_components(axes, inside, outside).sum()) for axes in self.tables)
