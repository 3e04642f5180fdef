"""Choosing between a tree and a mixture by what they claim beyond pairs.

A mixture meets pairs better than a tree, which has no room for all of them. But pairs do not settle larger tables: a
mixture that is to meet the pairs of a long chain of attributes puts its records into few places, and its triples are
wrong. Nothing that was measured shows it. So both are compared with triples that claim nothing beyond pairs: those of
largest entropy with the mixture's pairs, which are the best estimates of the pairs that there are. A tree is off where
it misses pairs, a mixture where it claims more than pairs say; the one that is off less is taken.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from math import prod

import numpy as np

from blowfish_privacy.mechanisms.synthetic.mixture.mixture import Mixture
from blowfish_privacy.mechanisms.synthetic.model import Axes
from blowfish_privacy.mechanisms.synthetic.tree.tree_model import TreeModel
from blowfish_privacy.support.arrays import Floats

_MOST_TRIPLES = 60
_MOST_CELLS = 30_000
"""Of one triple."""
_NOISE_OF_PAIRS = 0.7
"""A tree is off for the noise of the mixture's pairs too, which the mixture shares with what it is compared with."""
_RAKING = 10
"""Rounds in which a triple is brought to its three pairs."""


def with_fewer_claims(mixture: Mixture, tree: TreeModel, pairs: Collection[Axes]) -> Mixture | TreeModel:
    """Return the model whose triples are nearer to those that pairs imply; the mixture if there are no triples."""
    of_mixture = of_tree = 0.0
    for axes in triples_of(mixture.shape, pairs):
        claimed = mixture.table(axes)
        implied = implied_by_pairs(claimed)
        of_mixture += float(np.abs(claimed - implied).sum())
        of_tree += float(np.abs(tree.table(axes) - implied).sum())
    return tree if _NOISE_OF_PAIRS * of_tree < of_mixture else mixture


def triples_of(shape: Sequence[int], pairs: Collection[Axes]) -> list[Axes]:
    """List triples of which all pairs are known, evenly chosen where they are many."""
    known = {*pairs}
    found = [
        axes
        for axes in combinations(range(len(shape)), 3)
        if known.issuperset(combinations(axes, 2)) and prod(shape[axis] for axis in axes) <= _MOST_CELLS
    ]
    many = min(len(found), _MOST_TRIPLES)
    return [found[number * len(found) // many] for number in range(many)]


def implied_by_pairs(triple: Floats) -> Floats:
    """Return the table of largest entropy among those with the same pairs, about."""
    pairs = [triple.sum(axis=axis, keepdims=True) for axis in range(3)]
    found = np.ones_like(triple)
    for _ in range(_RAKING):
        for axis, pair in enumerate(pairs):
            sums = found.sum(axis=axis, keepdims=True)
            found = found * np.divide(pair, sums, out=np.zeros_like(sums), where=sums > 0)
    return found
