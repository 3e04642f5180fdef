"""Impossible combinations taken together: how large a tree they need, and whether they leave anything possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.synthetic.candidates import MODEL_CELLS
from blowfish_privacy.mechanisms.synthetic.mixture.possible import impossible_records, mended
from blowfish_privacy.mechanisms.synthetic.model import Zeros
from blowfish_privacy.mechanisms.synthetic.tree.junction_tree import JunctionTree, cells_of, cliques_of
from blowfish_privacy.mechanisms.synthetic.tree.tree_model import spread_over

LARGEST_TREE = MODEL_CELLS // 4
"""The most cells that impossible combinations may take of a tree, so that there is room for tables."""
_TRIED = 50


def fit_a_tree(shape: Sequence[int], zeros: Sequence[Zeros]) -> bool:
    """Say whether a tree can hold all impossible combinations, and tables beside them."""
    return cells_of(shape, cliques_of(shape, [each.axes for each in zeros])) <= LARGEST_TREE


def check_possible(shape: Sequence[int], zeros: Sequence[Zeros]) -> None:
    """Refuse combinations that leave nothing possible, or nothing that is found where too many hang together."""
    if zeros and not (_some_possible(shape, zeros) if fit_a_tree(shape, zeros) else _some_found(shape, zeros)):
        raise QueryError("the impossible combinations leave no record possible.", hint="take some of them back.")


def _some_found(shape: Sequence[int], zeros: Sequence[Zeros]) -> bool:
    """Look for a possible record by changing single values of others, always from the same ones."""
    generator = np.random.default_rng(0)
    tried = generator.integers(0, shape, (_TRIED, len(shape)))
    return any(not impossible_records(mended(record, shape, zeros, (), generator)[None], zeros)[0] for record in tried)


def _some_possible(shape: Sequence[int], zeros: Sequence[Zeros]) -> bool:
    """Pass what is possible from the leaves of a tree up to its root."""
    tree = JunctionTree.of(shape, [each.axes for each in zeros])
    possible = [np.ones(tree.sizes(number), dtype=np.bool_) for number in range(len(tree.cliques))]
    for each in zeros:
        home = tree.home(each.axes) or 0
        possible[home] &= ~each.impossible.reshape(spread_over(shape, each.axes, tree.cliques[home]))
    for number in range(len(possible) - 1, 0, -1):
        clique, shared, above = tree.cliques[number], tree.separators[number], tree.parents[number]
        others = tuple(place for place, axis in enumerate(clique) if axis not in shared)
        message = possible[number].any(axis=others)
        possible[above] &= np.reshape(message, spread_over(shape, shared, tree.cliques[above]))
    return bool(possible[0].any())
