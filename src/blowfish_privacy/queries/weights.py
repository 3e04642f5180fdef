"""Weighted histograms, sums and means: a record stands for as many as its weight says.

``Histogram("age").weighted("w")``: the weight is an attribute of the domain, so its range and its step are declared,
and the policy says whether it is secret.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, Domain, Numeric, quoted
from blowfish_privacy.errors import QueryError
from blowfish_privacy.graphs.graph import Edge, SecretGraph, differing
from blowfish_privacy.queries.counts import Histogram
from blowfish_privacy.queries.linear import Mean, Numbers, Sum
from blowfish_privacy.queries.query import LARGEST_ANSWER, LinearForm, Query, checked_attribute, named
from blowfish_privacy.support.limits import WEIGHTED_CELLS

# Linear forms in which a record counts as often as its weight says (docs/proofs/weights.md).
#
# Their cells are those of some attributes and of the weight, which comes last. Every change is a convex function of the
# two weights of a pair, and of its two values, so it is largest at a corner: between extreme weights, or extreme
# values.

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
        return self._worst(graph, self.change)

    def largest_squares(self, graph: SecretGraph) -> tuple[Edge | None, Fraction, bool]:
        edge, is_worst = self._worst(graph, self.squared_change)
        return edge, Fraction(0) if edge is None else self.squared_change(*edge), is_worst

    def largest_squared_weight(self) -> Fraction:
        return self.squared_weight(self.heaviest())

    def _worst(self, graph: SecretGraph, change: Callable[[Cell, Cell], Fraction]) -> tuple[Edge | None, bool]:
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


def exactly(counts: npt.NDArray[Any], numbers: Numbers) -> npt.NDArray[Any]:
    """Multiply counts, the last axis of which is that of some numbers, with these numbers, and add up; in units."""
    # No partial sum is larger than all records times the largest number, so 64 bits hold it, or arbitrary precision.
    fits = counts.dtype != object and int(counts.sum()) * numbers.largest < LARGEST_ANSWER
    return counts @ numbers.multiples if fits else counts.astype(object) @ numbers.multiples.astype(object)


@dataclass(frozen=True, kw_only=True)
class WeightedCells(WeightedForm):
    """A record adds its weight to the cell of its other attributes."""

    @property
    def outputs(self) -> int:
        return self.domain.size // self.weights.size

    def column(self, x: Cell) -> Sequence[int]:
        cell, weight = self.domain.flat(x) // self.weights.size, self.weights[x[-1]]
        return [weight if number == cell else 0 for number in range(self.outputs)]

    def change(self, x: Cell, y: Cell) -> Fraction:
        first, second = self.weights[x[-1]], self.weights[y[-1]]
        return self.unit * (abs(first - second) if x[:-1] == y[:-1] else first + second)

    def squared_change(self, x: Cell, y: Cell) -> Fraction:
        first, second = self.weights[x[-1]], self.weights[y[-1]]
        return self.unit**2 * ((first - second) ** 2 if x[:-1] == y[:-1] else first**2 + second**2)

    def weight(self, x: Cell) -> Fraction:
        return self.unit * self.weights[x[-1]]

    def squared_weight(self, x: Cell) -> Fraction:
        return self.weight(x) ** 2

    def corners(self, graph: SecretGraph) -> Iterable[Edge]:
        *others, weight = self.domain.names
        moved = [edge for name in others if (edge := graph.widest_edge(name)) is not None]
        if moved:
            heavy = (self.weights.size - 1,)
            return [(x[:-1] + heavy, y[:-1] + heavy) for x, y in moved]
        edge = graph.widest_edge(weight)
        return [] if edge is None else [edge]

    def heaviest(self) -> Cell:
        return tuple(size - 1 for size in self.domain.shape)

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        return exactly(counts.reshape(-1, self.weights.size), self.weights)


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
        return len(self.factors)

    def column(self, x: Cell) -> Sequence[int]:
        weight = self.weights[x[1]]
        offset = self.values[x[0]] - self.origin
        return [int(factor * weight * part) for factor, part in zip(self.factors, (offset, 1), strict=False)]

    def corners(self, graph: SecretGraph) -> Iterable[Edge]:
        ends = [_moves(graph, name) for name in self.domain.names]
        for (v, other), (w, another) in product(*ends):
            if (v, w) != (other, another) and not (graph.one_at_a_time and v != other and w != another):
                yield (v, w), (other, another)
        for axis, name in enumerate(self.domain.names):
            edge = graph.widest_edge(name)
            if edge is not None and len(differing(*edge)) == 1:
                # Where the longest move is not at an end of the range, but the other attribute is.
                for end in (0, self.domain.shape[1 - axis] - 1):
                    x, y = ((cell[0], end) if axis == 0 else (end, cell[1]) for cell in edge)
                    yield x, y

    def heaviest(self) -> Cell:
        last = self.weights.size - 1
        return max(((0, last), (self.values.size - 1, last)), key=self.weight)

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        by_value = exactly(counts, self.weights).astype(object)
        total, weighed = by_value @ self.values.multiples.astype(object), sum(by_value.tolist())
        answers = (total - self.origin * weighed, weighed)
        return np.array([int(f * answer) for f, answer in zip(self.factors, answers, strict=False)], dtype=object)


def _moves(graph: SecretGraph, name: str) -> list[tuple[int, int]]:
    """List the corners of all pairs of positions that are no further apart than any edge moves an attribute."""
    last, longest = graph.domain[name].size - 1, graph.largest_move(name)
    apart = [(0, longest), (last - longest, last)]
    return [*dict.fromkeys([(0, 0), (last, last), *apart, *((b, a) for a, b in apart)])]


@dataclass(frozen=True, repr=False)
class Weighted(Query):
    """A query of some attributes, and the attribute that says how many a record stands for, which comes last."""

    plain: Query
    """The query without weights."""
    weight: str
    attributes: tuple[str, ...] = field(init=False)

    def __init_subclass__(cls, of: type[Query], **options: Any) -> None:
        """Register for a kind of query; in a file it goes by the keyword of that one, which reads it."""
        cls.keyword, cls.result = of.keyword, of.result
        Query.weighted_kinds[of] = cls

    def __post_init__(self) -> None:
        weight = checked_attribute(self.weight)
        if weight in self.plain.attributes:
            raise QueryError(f"{weight} cannot be asked about and be the weight.", hint="leave one of them out.")
        object.__setattr__(self, "attributes", (*self.plain.attributes, weight))

    def __repr__(self) -> str:
        return f"{self.plain!r}.weighted({self.weight!r})"

    @property
    def weighted_by(self) -> str:
        return self.weight

    def unweighted(self) -> Query:
        return self.plain

    @property
    def subject(self) -> str:
        return f"{self.plain.subject} weighted by {self.weight}"

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Query:
        return Query.read(entry)

    def cells(self, domain: Domain) -> Domain:
        return self.plain.cells(domain)

    def cautions(self) -> Mapping[str, str]:
        text = f"Every record counts as often as its {quoted(self.weight)} says"
        return {**self.plain.cautions(), "Weights": f"{text}. The noise covers the largest weight that is declared."}

    def to_file(self, domain: Domain) -> dict[str, Any]:
        return {**self.plain.to_file(domain), "weight": self.weight}

    def bound(self, domain: Domain) -> tuple[Domain, Numbers]:
        """Return the domain of the query's attributes and the declared weights, or say why they do not fit."""
        cells = self.own_domain(domain)
        attribute = cells[self.weight]
        if not isinstance(attribute, Numeric):
            raise QueryError(
                f"{self.weight} does not have numbers to weight records with.",
                hint="declare it as {decimal: [0.5, 20], step: 0.1}, for example.",
            )
        weights = Numbers.of(attribute)
        if weights[0] < 0:
            raise QueryError(
                f"the weight {self.weight} may be below zero.", hint="declare a range of weights from 0 or above."
            )
        if cells.size > WEIGHTED_CELLS:
            raise QueryError(
                f"a weighted query counts the records of every value and weight: {cells.size:,} cells are too many.",
                hint=f"declare a coarser step of {self.weight}, or ask for fewer attributes "
                f"(at most {WEIGHTED_CELLS:,} cells).",
            )
        return cells, weights


@dataclass(frozen=True, repr=False)
class WeightedHistogram(Weighted, of=Histogram):
    """The sum of the weights of the records in every cell: ``Histogram("age", "sex").weighted("w")``."""

    error_of = "a weighted cell"
    changed = "the weighted counts"

    def on(self, domain: Domain) -> WeightedCells:
        projected, weights = self.bound(domain)
        return WeightedCells(domain=projected, unit=weights.unit, weights=weights)

    def says(self) -> str:
        return f"The sum of {quoted(self.weight)} of the records with each {named(self.plain.attributes)}"

    @property
    def measured_in(self) -> str:
        return f"sums of {self.weight}"


@dataclass(frozen=True, repr=False)
class WeightedSum(Weighted, of=Sum):
    """The sum of an attribute times the weight: ``Sum("wage").weighted("w")``."""

    plain: Sum

    error_of = "the weighted sum"
    changed = "the weighted sum"

    def on(self, domain: Domain) -> WeightedValues:
        values = self.plain.on(domain).values
        projected, weights = self.bound(domain)
        return WeightedValues(domain=projected, unit=values.unit * weights.unit, weights=weights, values=values)

    def says(self) -> str:
        return f"The sum of {quoted(self.plain.attribute)} times {quoted(self.weight)}"

    @property
    def measured_in(self) -> str:
        return f"units of {self.plain.attribute} times {self.weight}"


@dataclass(frozen=True, repr=False)
class WeightedMean(WeightedSum, of=Mean):
    """The weighted sum of an attribute divided by the sum of the weights: ``Mean("wage").weighted("w")``."""

    error_of = "the weighted mean"
    changed = "sum of weights and weighted sum of offsets together"
    divisor_measured = True
    of_some = True
    needs_records = True

    def on(self, domain: Domain) -> WeightedValues:
        form = super().on(domain)
        values = form.values
        # Both outputs are whole multiples of half the unit of the values, which need not be a whole number itself.
        up, down = values.unit.as_integer_ratio()
        middle = Fraction(values[0] + values[values.size - 1], 2)
        unit = form.weights.unit / (2 * down)
        return replace(form, unit=unit, factors=(2 * up, 2 * down), origin=middle)

    def says(self) -> str:
        return f"The mean of {quoted(self.plain.attribute)}, weighted by {quoted(self.weight)}"

    def amount(self, domain: Domain) -> str:
        return "one number"

    @property
    def measured_in(self) -> str:
        return self.plain.measured_in
