"""Linear forms in which a record counts as often as its weight says (docs/proofs/weights.md).

Their cells are those of some attributes and of the weight, which comes last. Every change is a convex function of the
two weights of a pair, and of its two values, so it is largest at a corner: between extreme weights, or extreme values.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, Domain
from blowfish_privacy.graphs.graph import Edge, SecretGraph, differing
from blowfish_privacy.queries.numbers import Numbers
from blowfish_privacy.queries.query import LARGEST_ANSWER, LinearForm

MOST_COMPARED = 100_000
"""Where a corner is not a secret pair, all secret pairs are compared if there are no more pairs than this."""


@dataclass(frozen=True, kw_only=True)
class WeightedForm(LinearForm):
    """A linear form on the cells of some attributes and of a weight, the last of them."""

    domain: Domain
    unit: Fraction
    weights: Numbers
    """The weights by position."""

    @abstractmethod
    def corners(self, graph: SecretGraph) -> Iterable[Edge]:
        """List pairs, one of which changes the outputs as much as any secret pair; they may not be secret themselves.

        There are none where no secret pair changes an attribute.
        """

    def worst_edge(self, graph: SecretGraph) -> tuple[Edge | None, bool]:
        """Return a corner, or the worst of few edges."""
        return self._worst(graph, squared=False)

    def largest_squares(self, graph: SecretGraph) -> tuple[Edge | None, Fraction, bool]:
        """Return a corner, or the worst of few edges, in squares."""
        edge, is_worst = self._worst(graph, squared=True)
        return edge, Fraction(0) if edge is None else self.squared_change(*edge), is_worst

    def largest_squared_weight(self) -> Fraction:
        """Return that of the heaviest cell."""
        return self.squared_weight(self.heaviest())

    def _worst(self, graph: SecretGraph, *, squared: bool) -> tuple[Edge | None, bool]:
        change = self.squared_change if squared else self.change
        corners = [*self.corners(graph)]
        if not corners:
            return None, True
        most = max(change(*edge) for edge in corners)
        largest = [edge for edge in corners if change(*edge) == most]
        secret = next((edge for edge in largest if graph.adjacent(*edge)), None)
        if secret is not None:
            return secret, True
        size = self.domain.size
        listed = graph.edges() if size * (size - 1) // 2 <= MOST_COMPARED else graph.enumerated
        if listed is None:
            return largest[0], False
        return max(listed, key=lambda edge: change(*edge), default=None), True

    def weighed(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Add up the weights of the records of each cell of the other attributes, in units."""
        return exactly(counts.reshape(-1, self.weights.size), self.weights)


def exactly(counts: npt.NDArray[Any], numbers: Numbers) -> npt.NDArray[Any]:
    """Multiply counts, the last axis of which is that of some numbers, with these numbers, and add up; in units."""
    # No partial sum is larger than all records times the largest number, so 64 bits hold it, or arbitrary precision.
    fits = counts.dtype != object and int(counts.sum()) * numbers.largest < LARGEST_ANSWER
    return counts @ numbers.whole if fits else counts.astype(object) @ numbers.whole.astype(object)


@dataclass(frozen=True, kw_only=True)
class WeightedCells(WeightedForm):
    """A record adds its weight to the cell of its other attributes."""

    @property
    def outputs(self) -> int:
        """One for each cell of the other attributes."""
        return self.domain.size // self.weights.size

    def column(self, x: Cell) -> Sequence[int]:
        """Return the weight for the record's own cell and 0 elsewhere."""
        own, weight = self.domain.flat(x) // self.weights.size, self.weights[x[-1]]
        return [weight if number == own else 0 for number in range(self.outputs)]

    def change(self, x: Cell, y: Cell) -> Fraction:
        """Return the difference of the weights inside a cell, and their sum between two."""
        first, second = self.weights[x[-1]], self.weights[y[-1]]
        return self.unit * (abs(first - second) if x[:-1] == y[:-1] else first + second)

    def squared_change(self, x: Cell, y: Cell) -> Fraction:
        """Square the difference inside a cell, and each weight between two."""
        first, second = self.weights[x[-1]], self.weights[y[-1]]
        return self.unit**2 * ((first - second) ** 2 if x[:-1] == y[:-1] else first**2 + second**2)

    def weight(self, x: Cell) -> Fraction:
        """Return the record's weight."""
        return self.unit * self.weights[x[-1]]

    def squared_weight(self, x: Cell) -> Fraction:
        """Square the record's weight."""
        return self.weight(x) ** 2

    def corners(self, graph: SecretGraph) -> Iterable[Edge]:
        """Move the heaviest record between cells, or where none can move, change a weight as far as it goes."""
        *others, weight = self.domain.names
        moved = [edge for name in others if (edge := graph.widest_edge(name)) is not None]
        if moved:
            heavy = (self.weights.size - 1,)
            return [(x[:-1] + heavy, y[:-1] + heavy) for x, y in moved]
        edge = graph.widest_edge(weight)
        return [] if edge is None else [edge]

    def heaviest(self) -> Cell:
        """Return any cell with the largest weight."""
        return tuple(size - 1 for size in self.domain.shape)

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Add up the weights of each cell."""
        return self.weighed(counts)


@dataclass(frozen=True, kw_only=True)
class WeightedValues(WeightedForm):
    """A record of value v and weight w adds ``factors[0] w (v - origin)`` to one output, ``factors[1] w`` to another.

    A sum has the first output only. Values and weights are whole numbers of their units.
    """

    values: Numbers
    """The values by position."""
    factors: tuple[int, ...] = (1,)
    origin: Fraction = Fraction(0)
    """In units of the values; where it is no whole number, a factor makes it one."""

    @property
    def outputs(self) -> int:
        """The weighted sum, and perhaps the sum of the weights."""
        return len(self.factors)

    def column(self, x: Cell) -> Sequence[int]:
        """Multiply the record's offset with its weight, and perhaps count the weight."""
        weight = self.weights[x[1]]
        offset = self.values[x[0]] - self.origin
        return [int(factor * weight * each) for factor, each in zip(self.factors, (offset, 1), strict=False)]

    def corners(self, graph: SecretGraph) -> Iterable[Edge]:
        """Combine the longest moves of the value from either end of its range with those of the weight."""
        ends = [_moves(graph, name) for name in self.domain.names]
        for (v, other), (w, another) in product(*ends):
            if (v, w) != (other, another) and not (graph.one_at_a_time and v != other and w != another):
                yield (v, w), (other, another)
        for axis, name in enumerate(self.domain.names):
            edge = graph.widest_edge(name)
            if edge is not None and len(differing(*edge)) == 1:
                # Where the longest move is not at an end of the range, but the other attribute is.
                yield from (_held(edge, 1 - axis, end) for end in (0, self.domain.shape[1 - axis] - 1))

    def heaviest(self) -> Cell:
        """Return the largest weight, at the end of the range that is further from the origin."""
        last = self.weights.size - 1
        return max(((0, last), (self.values.size - 1, last)), key=self.weight)

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Add up in integers of arbitrary precision: the sum may exceed 64 bits on the way."""
        by_value = exactly(counts, self.weights).astype(object)
        total, weighed = by_value @ self.values.whole.astype(object), sum(by_value.tolist())
        answers = (total - self.origin * weighed, weighed)
        return np.array([int(f * each) for f, each in zip(self.factors, answers, strict=False)], dtype=object)


def _moves(graph: SecretGraph, name: str) -> list[tuple[int, int]]:
    """List the corners of all pairs of positions that are no further apart than any edge moves an attribute."""
    last, longest = graph.domain[name].size - 1, graph.largest_move(name)
    apart = [(0, longest), (last - longest, last)]
    return [*dict.fromkeys([(0, 0), (last, last), *apart, *((b, a) for a, b in apart)])]


def _held(edge: Edge, axis: int, position: int) -> Edge:
    """Return an edge with one position of both ends replaced."""
    first, second = (tuple(position if at == axis else p for at, p in enumerate(cell)) for cell in edge)
    return first, second
