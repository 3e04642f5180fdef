"""How much one secret move can change the sizes of clusters and the sums of offsets in a round.

With hard assignment a record takes itself and its offsets from one cluster to another. With soft assignment its shares
change with the distance it moves, and its offsets by no more than the move. See docs/proofs/lloyd.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from blowfish_privacy.domain import Binned, Softness
from blowfish_privacy.mechanisms.grid_choice import widths
from blowfish_privacy.mechanisms.lattice_sensitivity import largest_moves
from blowfish_privacy.policies import SecretGraph
from blowfish_privacy.policies.distance_threshold import ThresholdGraph
from blowfish_privacy.policies.explicit import ExplicitEdges
from blowfish_privacy.policies.per_attribute import CartesianGraph
from blowfish_privacy.queries.histogram import HistogramForm

_MOST_EDGES = 20_000
FINEST_WEIGHT = 64
_ROUNDING = 8


@dataclass(frozen=True)
class Change:
    """The largest L1 change of all sizes, and of all sums of offsets, in shares of a record."""

    sizes: Fraction
    sums: Fraction


@dataclass(frozen=True, eq=False)
class Assigning:
    """How records are assigned to so many centres, wherever these are."""

    form: HistogramForm
    centres: int
    reaches: tuple[int, ...]
    soft: Softness | None

    @property
    def unit(self) -> int:
        """The number of shares of a record."""
        return 1 if self.soft is None else self.soft.unit

    @property
    def weights(self) -> tuple[int, ...]:
        """Weigh a step along each axis by its width in the units of the values, squared where assignment is hard."""
        shape = self.form.domain.shape
        steps = [width / size for width, size in zip(widths(self.form.domain.attributes), shape, strict=True)]
        power = 2 if self.soft is None else 1
        return tuple(max(1, round(FINEST_WEIGHT * (step / max(steps)) ** power)) for step in steps)

    def largest(self, graph: SecretGraph) -> Change:
        """Bound the change over all secret moves of one record."""
        return self._change(longest_move(graph, self.weights), longest_move(graph, [1] * len(self.reaches)))

    def along(self, moves: Sequence[int]) -> Change:
        """Bound the change when a record moves so many positions along each axis."""
        far = sum(weight * move for weight, move in zip(self.weights, moves, strict=True))
        return self._change(Fraction(far), Fraction(sum(moves)))

    def _change(self, far: Fraction, positions: Fraction) -> Change:
        total, unit = sum(self.reaches), self.unit
        # With one centre nobody crosses over, and its size is the public number of records.
        sizes = Fraction(2 * unit if self.centres > 1 else 0)
        if self.soft is not None:
            sizes = min(sizes, unit * far / self.soft.halving + _ROUNDING * (self.centres - 1))
        return Change(sizes, min(Fraction(2 * total * unit), sizes * total + unit * positions))


def longest_move(graph: SecretGraph, prices: Sequence[int]) -> Fraction:
    """Bound how far one edge leads, where each position along an axis has a price."""
    if isinstance(graph, ExplicitEdges) and len(graph.pairs) <= _MOST_EDGES:
        lengths = (sum(price * abs(a - b) for price, a, b in zip(prices, x, y, strict=True)) for x, y in graph.pairs)
        return Fraction(max(lengths, default=0))
    alone = [price * move for price, move in zip(prices, largest_moves(graph), strict=True)]
    if isinstance(graph, CartesianGraph):
        return Fraction(max(alone))
    together = Fraction(sum(alone))
    return min(together, _within(graph, prices)) if isinstance(graph, ThresholdGraph) else together


def _within(graph: ThresholdGraph, prices: Sequence[int]) -> Fraction:
    """Spend all of theta where it leads furthest; neighbouring bins are no distance apart."""
    free, rates, theta = Fraction(0), [Fraction(0)], graph.theta
    for attribute, weight, price in zip(graph.domain.attributes, graph.weights, prices, strict=True):
        if attribute.size == 1 or weight * attribute.gap(0, 1) > graph.theta:
            continue
        step = Fraction(1)
        if isinstance(attribute, Binned):
            free += price
            step = min(high - low for low, high in pairwise(attribute.bounds))
        rates.append(price / (weight * step))
    if not free and len(set(graph.weights)) == 1:
        # Whole positions of one price: what remains of theta below one step is of no use.
        theta = theta // graph.weights[0] * graph.weights[0]
    return free + theta * max(rates)
