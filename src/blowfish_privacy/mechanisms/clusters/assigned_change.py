"""How much one secret move can change the sizes of clusters and the sums of offsets in a round.

With hard assignment a record takes itself and its offsets from one cluster to another. With soft assignment its shares
change with the distance it moves, and its offsets by no more than the move. See docs/proofs/lloyd.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from blowfish_privacy.aggregates import Decay
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.mechanisms.clusters.grid_choice import widths
from blowfish_privacy.queries.counts import HistogramForm

FINEST_WEIGHT = 64
_ROUNDING = 8
_HALVINGS = 120
"""How often shares halve between opposite corners of the box."""


@dataclass(frozen=True)
class Change:
    """The largest L1 change of all sizes, and of all sums of offsets, in shares of a record."""

    sizes: Fraction
    sums: Fraction


@dataclass(frozen=True, eq=False)
class Assigning:
    """How records are assigned to a number of centres, wherever the centres are."""

    form: HistogramForm
    centres: int
    reaches: tuple[int, ...]
    decay: Decay | None

    @property
    def unit(self) -> int:
        """The number of shares that a record is divided into."""
        return 1 if self.decay is None else self.decay.unit

    @property
    def weights(self) -> tuple[int, ...]:
        """Weigh a step along each axis by its width in the units of the values, squared where assignment is hard."""
        shape = self.form.domain.shape
        steps = [width / size for width, size in zip(widths(self.form.domain.attributes), shape, strict=True)]
        power = 2 if self.decay is None else 1
        return tuple(max(1, round(FINEST_WEIGHT * (step / max(steps)) ** power)) for step in steps)

    def soft(self, bits: int) -> Assigning:
        """Share records softly instead, with shares that halve over a 120th of the way between opposite corners."""
        shares = replace(self, decay=Decay(1, bits))
        across = sum(weight * size for weight, size in zip(shares.weights, self.form.domain.shape, strict=True))
        return replace(shares, decay=Decay(max(1, across // _HALVINGS), bits))

    def largest(self, graph: SecretGraph) -> Change:
        """Bound the change over all secret moves of one record."""
        return self._change(graph.longest_move(self.weights), graph.longest_move([1] * len(self.reaches)))

    def changes(self, graph: SecretGraph, *, comes: bool) -> list[Change]:
        """List the largest changes: of a move, where there are any, and of a record that comes or goes, if any does."""
        return [*([self.largest(graph)] if graph.has_edges else []), *([self.presence] if comes else [])]

    @property
    def presence(self) -> Change:
        """The change when a record comes or goes: all its shares, and its offsets."""
        return Change(Fraction(self.unit), Fraction(self.unit * sum(self.reaches)))

    def along(self, moves: Sequence[int]) -> Change:
        """Bound the change when a record moves by this many positions along each axis."""
        far = sum(weight * move for weight, move in zip(self.weights, moves, strict=True))
        return self._change(Fraction(far), Fraction(sum(moves)))

    def _change(self, far: Fraction, positions: Fraction) -> Change:
        total, unit = sum(self.reaches), self.unit
        # With one centre nobody crosses over, and its size is the public number of records.
        sizes = Fraction(2 * unit if self.centres > 1 else 0)
        if self.decay is not None:
            sizes = min(sizes, unit * far / self.decay.halving + _ROUNDING * (self.centres - 1))
        return Change(sizes, min(Fraction(2 * total * unit), sizes * total + unit * positions))
