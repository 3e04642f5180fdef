"""A junction tree for pairs that have all been measured: which of them it holds is decided by the noisy counts alone.

The tree grows from the attributes by themselves. In each round the pairs are found from which it is farthest: the
difference of a noisy pair from the model is cleared of noise by shrinking its singular values [gavish2017], and what is
left, in records, is what the pair tells. First come pairs that close no circle, then a few at a time, as long as there
is room. Everything that lies in one of its cliques is fitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from blowfish_privacy.mechanisms.synthetic.candidates import MODEL_CELLS
from blowfish_privacy.mechanisms.synthetic.mixture.evidence import shrunk_values
from blowfish_privacy.mechanisms.synthetic.model import Axes, Known, Zeros
from blowfish_privacy.mechanisms.synthetic.tree.junction_tree import JunctionTree, cells_of, cliques_of
from blowfish_privacy.mechanisms.synthetic.tree.tree_fit import TreeFit, fit_tree
from blowfish_privacy.mechanisms.synthetic.tree.tree_model import TreeModel
from blowfish_privacy.support.arrays import Floats

FEW_ATTRIBUTES = 40
"""Of more, the tree is one of pairs that close no circle: scoring all pairs by a model takes too long."""
_MOST_ROUNDS = 8
_FITTING, _LAST_FITTING = 60, 120
"""Steps of a fit between two rounds, which starts from the one before, and of the last one."""
_ROOM_PRICE = 0.3
"""How many records, as a share of all, a pair must tell for all the room that a model has."""
_MOST_GROWTH = 0.2
"""The share of the room that one pair may take."""
_LEAST_TOLD = 0.002
"""The share of the records that a pair must tell."""
_REFILLED = 2.5
"""How many times the records expected in a cell noise may add: fits multiply, so that empty cells stay empty."""
_ABOVE_NOISE = 0.25
"""What a pair must tell besides, as a share of the records that its noise misplaces: fitting it brings noise in."""


def noisy_tree(
    shape: tuple[int, ...], total: float, known: Mapping[Axes, Known], zeros: Sequence[Zeros] = ()
) -> TreeModel | None:
    """Choose pairs for a junction tree by their noisy counts, and fit it; None if what it must hold is too large."""
    from threadpoolctl import threadpool_limits  # as in the fit of a mixture

    first = [axes for axes, each in known.items() if len(axes) == 1 or each.variance == 0]
    growth = _Growth(shape, total, known, zeros, first)
    if growth.cells() > MODEL_CELLS:
        return None
    with threadpool_limits(limits=1):
        fit = growth.fitted(None, _FITTING)
        for number in range(_MOST_ROUNDS if len(shape) <= FEW_ATTRIBUTES else 1):
            scores = growth.scores(fit.model)
            if not growth.take(spanning(scores, len(shape)) if number == 0 else disjoint(scores)):
                break
            fit = growth.fitted(fit, _FITTING)
        return growth.fitted(fit, _LAST_FITTING).model


@dataclass(eq=False)
class _Growth:
    """A tree that grows pair by pair."""

    shape: tuple[int, ...]
    total: float
    known: Mapping[Axes, Known]
    zeros: Sequence[Zeros]
    held: list[Axes]
    """The tables that the tree is built for."""

    def _sets(self) -> list[Axes]:
        return [*self.held, *(each.axes for each in self.zeros)]

    def cells(self, *more: Axes) -> int:
        """Count the cells that the tree has, or would have with more pairs."""
        return cells_of(self.shape, cliques_of(self.shape, [*self._sets(), *more]))

    def fitted(self, before: TreeFit | None, rounds: int) -> TreeFit:
        """Fit the tree to all tables that lie in its cliques."""
        tree = JunctionTree.of(self.shape, self._sets())
        inside = {axes: each for axes, each in self.known.items() if tree.home(axes) is not None}
        start = before.factors if before else None
        return fit_tree(self.shape, self.total, inside, self.zeros, start=start, rounds=rounds)

    def scores(self, model: TreeModel) -> dict[Axes, float]:
        """Say how many records each pair tells beyond the model, less the price of its room; only those worth it."""
        found: dict[Axes, float] = {}
        for axes, each in self.known.items():
            if len(axes) != 2 or model.tree.home(axes) is not None or each.counts.size > _MOST_GROWTH * MODEL_CELLS:
                continue
            expected, deviation = model.table(axes), sqrt(each.variance)
            told = float(np.abs(_cleared(each.counts - expected, deviation)).sum())
            noise = float(np.minimum(deviation, _REFILLED * expected).sum())
            if told > _LEAST_TOLD * self.total + _ABOVE_NOISE * noise:
                growth = self._growth(model, axes) / MODEL_CELLS
                found[axes] = told - _ROOM_PRICE * growth * self.total
        return {axes: score for axes, score in found.items() if score > 0}

    def _growth(self, model: TreeModel, axes: Axes) -> int:
        """Return how many cells the tree would grow by."""
        if max(map(len, model.tree.cliques)) == 1:
            return self.known[axes].counts.size
        return max(0, self.cells(axes) - model.tree.cells)

    def take(self, pairs: Sequence[Axes]) -> bool:
        """Add pairs in their order as far as there is room; say whether there was any."""
        before, many = self.cells(), len(self.held)
        for axes in pairs:
            cells = self.cells(axes)
            if cells <= min(MODEL_CELLS, before + _MOST_GROWTH * MODEL_CELLS):
                self.held.append(axes)
                before = cells
        return len(self.held) > many


def _cleared(residual: Floats, deviation: float) -> Floats:
    """Shrink singular values to what is not noise."""
    left, singular, right = np.linalg.svd(residual, full_matrices=False)
    # Rows and columns of this residual do not sum to 0, so that none of its dimensions is lost.
    sizes = (residual.shape[0] + 1, residual.shape[1] + 1)
    return (left * shrunk_values(singular, deviation, sizes)) @ right


def spanning(scores: Mapping[Axes, float], attributes: int) -> list[Axes]:
    """Take the pairs with the highest scores that close no circle."""
    part = list(range(attributes))
    chosen: list[Axes] = []
    for axes in _best_first(scores):
        one, other = (part[axis] for axis in axes)
        if one != other:
            chosen.append(axes)
            part = [one if each == other else each for each in part]
    return chosen


def disjoint(scores: Mapping[Axes, float]) -> list[Axes]:
    """Take the pairs with the highest scores that share no attribute."""
    taken: set[int] = set()
    chosen: list[Axes] = []
    for axes in _best_first(scores):
        if taken.isdisjoint(axes):
            chosen.append(axes)
            taken.update(axes)
    return chosen


def _best_first(scores: Mapping[Axes, float]) -> list[Axes]:
    return sorted(scores, key=lambda axes: (-scores[axes], axes))
