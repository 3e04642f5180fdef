"""The graph of distance-threshold secrets, which answers from distances."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise
from math import gcd, lcm
from typing import Any

import numpy as np

from blowfish_privacy.domain import Attribute, Binned, Cell, Domain, Subset, quoted
from blowfish_privacy.graphs.class_pairs import ClassPairs, Pieces, everything, keys_of
from blowfish_privacy.graphs.graph import Edge, Hops, SecretGraph
from blowfish_privacy.graphs.reach import largest_gap, narrowest, widest, within
from blowfish_privacy.graphs.rectangles import near
from blowfish_privacy.graphs.spending import PricedAxis, furthest
from blowfish_privacy.graphs.steepest import Rows, Steepest, along_axis, inside_windows, shifted, steepest_of
from blowfish_privacy.graphs.stepping import Stride, fewest_steps
from blowfish_privacy.graphs.words import Rule, Words

_MOST_FREE = 10
"""Of more attributes that may move, the sets that may move together are not listed."""


@dataclass(frozen=True)
class ThresholdGraph(SecretGraph):
    """Pairs with weighted L1 distance at most theta."""

    domain: Domain
    theta: Fraction
    weights: tuple[Fraction, ...]

    @property
    def homogeneous(self) -> bool:
        """Always: distances along the attributes add up."""
        return True

    @property
    def one_at_a_time(self) -> bool:
        """Whether the shortest moves along two attributes together exceed theta."""
        parts = zip(self.domain.attributes, self.weights, self._frozen, strict=True)
        shortest = sorted(weight * attribute.gap(0, 1) for attribute, weight, frozen in parts if not frozen)
        return sum(shortest[:2]) > self.theta or len(shortest) < 2

    def adjacent(self, x: Cell, y: Cell) -> bool:
        """Compare theta with the distance of the closest members."""
        parts = zip(self.domain.attributes, self.weights, x, y, strict=True)
        return x != y and sum(weight * attribute.gap(a, b) for attribute, weight, a, b in parts) <= self.theta

    def hops(self, x: Cell, y: Cell) -> Hops:
        """Count the fewest steps that each land on declared values; see :mod:`.stepping`."""
        parts = zip(self.domain.attributes, self.weights, x, y, strict=True)
        return fewest_steps(self.theta, [_stride(attribute, w, a, b) for attribute, w, a, b in parts if a != b])

    @cached_property
    def _frozen(self) -> tuple[bool, ...]:
        """For each attribute, whether even its shortest move exceeds theta."""
        parts = zip(self.domain.attributes, self.weights, strict=True)
        return tuple(attribute.size == 1 or weight * attribute.gap(0, 1) > self.theta for attribute, weight in parts)

    def component(self, x: Cell) -> Hashable:
        """Label with the positions of the attributes that no edge changes: along the others steps lead everywhere."""
        return tuple(position for position, frozen in zip(x, self._frozen, strict=True) if frozen)

    @property
    def connected(self) -> bool:
        """Whether some edge changes every attribute that has several values."""
        return all(size == 1 or not frozen for size, frozen in zip(self.domain.shape, self._frozen, strict=True))

    def project(self, names: Sequence[str]) -> ThresholdGraph:
        """Keep theta and the weights: moves along the other attributes could only use up distance."""
        return ThresholdGraph(
            self.domain.project(names), self.theta, tuple(self.weights[self.domain.axis(n)] for n in names)
        )

    def widest_edge(self, name: str) -> Edge | None:
        """Spend all of theta along one attribute."""
        axis = self.domain.axis(name)
        if self._frozen[axis]:
            return None
        first, last = widest(self.domain[name], self.theta / self.weights[axis])
        origin = (0,) * len(self.weights)
        return (*origin[:axis], first, *origin[axis + 1 :]), (*origin[:axis], last, *origin[axis + 1 :])

    def broadest(self) -> tuple[tuple[Edge, ...], bool]:
        """Take the shortest moves along as many attributes together as theta allows."""
        free = [axis for axis, frozen in enumerate(self._frozen) if not frozen]
        shortest = {axis: self.weights[axis] * self.domain.attributes[axis].gap(0, 1) for axis in free}
        if sum(shortest.values()) > self.theta and len(free) > _MOST_FREE:
            return super().broadest()
        together: list[set[int]] = []
        for many in range(len(free), 0, -1):
            for axes in combinations(free, many):
                if sum(shortest[axis] for axis in axes) <= self.theta and not any(
                    larger.issuperset(axes) for larger in together
                ):
                    together.append({*axes})
        x = tuple(0 for _ in self.weights)
        return tuple((x, tuple(int(axis in axes) for axis in range(len(x)))) for axes in together), True

    def joins(self, name: str, first: Subset, second: Subset) -> tuple[int, int] | None:
        """Compare the closest positions: neighbouring runs of different sets, or neighbours in one set."""
        axis = self.domain.axis(name)
        attribute, weight = self.domain[name], self.weights[axis]
        for pair in _closest(first, second):
            if weight * attribute.gap(*pair) <= self.theta:
                return pair
        return None

    def largest_move(self, name: str) -> int:
        """Spend all of theta along one attribute."""
        return self._moves[self.domain.axis(name)]

    @cached_property
    def _moves(self) -> tuple[int, ...]:
        return tuple(super(ThresholdGraph, self).largest_move(name) for name in self.domain.names)

    def longest_move(self, prices: Sequence[Fraction | int]) -> Fraction:
        """Spend all of theta where it leads furthest."""
        alone = super().longest_move(prices)
        return alone if self.one_at_a_time else min(alone, furthest(self._axes(prices), self.theta))

    def _axes(self, prices: Sequence[Fraction | int]) -> list[PricedAxis]:
        parts = zip(self.domain.attributes, self.weights, self._moves, prices, strict=True)
        return [
            PricedAxis(Fraction(price), weight * narrowest(attribute), move, binned=not attribute.gap(0, 1))
            for attribute, weight, move, price in parts
            if move and price
        ]

    def covers(self, other: SecretGraph) -> bool:
        """Compare the weights in units of theta.

        If weight / theta is at most the other's for each attribute, then so is distance / theta, which is at most 1 on
        an edge of the other graph.
        """
        if super().covers(other) or not isinstance(other, ThresholdGraph):
            return super().covers(other)
        pairs = zip(self.weights, other.weights, strict=True)
        return all(new / self.theta <= old / other.theta for new, old in pairs)

    def steps_along(self, other: SecretGraph) -> Hops | None:
        """Count the steps along the other graph's widest edge, or from end to end.

        Steps between whole numbers depend on the distance only and grow with it, so the widest edge is the worst. The
        furthest bin within reach grows with the bin one starts from, so no walk takes longer than from end to end.
        """
        (attribute,) = self.domain.attributes
        widest = other.widest_edge(self.domain.names[0]) if attribute.gap(0, 1) else None
        return self.hops(*(widest or ((0,), (attribute.size - 1,))))

    def edges(self) -> Iterator[Edge]:
        """Yield the edges from windows where there is one attribute; refused if the domain is large."""
        listed = super().edges()
        if len(self.domain.names) > 1:
            return listed
        windows = _windows(self.domain.attributes[0], self.theta / self.weights[0])
        return (((first,), (other,)) for first, last in windows for other in range(first + 1, last + 1))

    def steepest(self, rows: Rows) -> Steepest | None:
        """Search windows of an attribute; where several move at once, shift by all the moves that theta allows."""
        if len(self.weights) == 1:
            (attribute,), (weight,) = self.domain.attributes, self.weights
            ends = [last for _, last in _windows(attribute, self.theta / weight)]
            return inside_windows(rows, np.array(ends, dtype=np.intp))
        if self.one_at_a_time:
            alone = [self.project([name]) for name in self.domain.names]
            return steepest_of(along_axis(rows, axis, graph.steepest) for axis, graph in enumerate(alone))
        if any(isinstance(attribute, Binned) for attribute in self.domain.attributes):
            return None
        prices = [
            weight * a.gap(0, 1) if a.size > 1 else Fraction(0)
            for a, weight in zip(self.domain.attributes, self.weights, strict=True)
        ]
        return shifted(
            rows,
            self._moves,
            lambda offset: sum(price * abs(step) for price, step in zip(prices, offset, strict=True)) <= self.theta,
        )

    def class_pairs(self, pieces: Pieces) -> ClassPairs:
        """Compare the distances of the rectangles that make up the classes."""
        close = near(self.domain, self.theta, self.weights, pieces)
        if close is None:
            return everything(pieces)
        return ClassPairs(keys_of(close.first, close.second, pieces.classes), close.ends)

    def _canonical(self) -> Any:
        """State how far an edge reaches along each attribute; ``full`` if anywhere, ``public`` if nowhere."""
        if not self.has_edges:
            return "public"
        diameter = sum(w * a.gap(0, a.size - 1) for a, w in zip(self.domain.attributes, self.weights, strict=True))
        if diameter <= self.theta:
            return "full"
        if self.one_at_a_time and len(self.domain.names) > 1:
            return {"per_attribute": {name: self.project([name]).canonical() for name in self.domain.names}}
        parts = [*zip(self.domain.names, self.domain.attributes, self.weights, strict=True)]
        theta = self.theta
        if not any(isinstance(attribute, Binned) for _, attribute, _ in parts):
            # Distances are multiples of the greatest common divisor of the weighted steps.
            steps = [weight * attribute.gap(0, 1) for _, attribute, weight in parts]
            denominator = lcm(*(step.denominator for step in steps))
            common = Fraction(gcd(*(int(step * denominator) for step in steps)), denominator)
            theta = theta // common * common
        elif len(self.domain.names) == 1:
            theta = largest_gap(self.domain.attributes[0], theta / self.weights[0]) * self.weights[0]
        return {"threshold": {name: str(theta / weight) for name, _, weight in parts}}

    def _words(self) -> Words:
        """State the threshold of each attribute in its own units, with an example."""
        protected: list[Rule] = []
        unprotected: list[str] = []
        for name, frozen in zip(self.domain.names, self._frozen, strict=True):
            if self.domain[name].size == 1:
                continue
            if frozen:
                unprotected.append(
                    f"{quoted(name)}: not protected at all: its values are further apart than the threshold allows."
                )
            else:
                protected.append(self._rule(name))
        added = "A change of several attributes at once counts with the sum of their distances, each in its unit."
        return Words(tuple(protected), tuple(unprotected), (added,) if len(protected) > 1 else ())

    def _rule(self, name: str) -> Rule:
        axis, attribute = self.domain.axis(name), self.domain[name]
        edge = self.widest_edge(name)
        first, last = (0, 0) if edge is None else (edge[0][axis], edge[1][axis])
        if last - first >= attribute.size - 1:
            return Rule(f"{quoted(name)}: every two values are a secret pair")
        reach = attribute.distance(self.theta / self.weights[axis])
        return Rule(
            f"{quoted(name)}: values at most {reach} apart are secret pairs",
            f"{attribute.say(first)} and {attribute.say(last)}",
            "; values further apart take several steps",
        )


def _windows(attribute: Attribute, distance: Fraction) -> Iterable[tuple[int, int]]:
    """Yield every position with the last one that is near enough."""
    if isinstance(attribute, Binned):
        return within(attribute, distance)
    first, last = widest(attribute, distance)
    return ((start, min(start + last - first, attribute.size - 1)) for start in range(attribute.size))


def _closest(first: Subset, second: Subset) -> Iterator[tuple[int, int]]:
    """Yield pairs of positions, one from each set, that include a closest pair."""
    if first == second:
        yield from ((start, start + 1) for start, stop in first.runs if stop - start > 1)
        yield from ((before[1] - 1, after[0]) for before, after in pairwise(first.runs))
        return
    runs = sorted([*((run, 0) for run in first.runs), *((run, 1) for run in second.runs)])
    for (before, one), (after, other) in pairwise(runs):
        if one != other:
            low, high = before[1] - 1, after[0]
            yield (low, high) if one == 0 else (high, low)


def _stride(attribute: Attribute, weight: Fraction, start: int, end: int) -> Stride:
    low, high = min(start, end), max(start, end)
    if not isinstance(attribute, Binned):
        return Stride(high - low, weight * attribute.gap(0, 1), None)
    crossed = [weight * bound for bound in attribute.bounds[low : high + 2]]
    # The order of the bins matters when several attributes move at once, so a move down is mirrored, not reversed.
    return Stride(high - low, None, tuple(crossed if start < end else [-bound for bound in reversed(crossed)]))
