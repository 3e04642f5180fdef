"""Fitting a junction tree to noisy tables.

Among all distributions that come near the tables, the one of largest entropy is taken: it is a product of factors, one
for each table, exp(nu). The factors minimise the convex function

    n log Z(nu) - nu . y + sum over tables of (ridge / 2) |nu|^2

where y are the noisy counts and the ridge is a share of the noise's standard deviation, so that what is noise is not
fitted [docs/proofs/synthetic.md]. Its gradient is n p - y + ridge nu: expected counts differ from the noisy ones by
about as much as the noise does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from blowfish_privacy.mechanisms.synthetic.model import Axes, Known, Zeros
from blowfish_privacy.mechanisms.synthetic.tree.junction_tree import JunctionTree
from blowfish_privacy.mechanisms.synthetic.tree.tree_model import TreeModel, beliefs_of, spread_over
from blowfish_privacy.support.arrays import Floats

_SHARE = 0.3
"""The ridge of a table, as a share of the standard deviation of its noise."""
_LEAST_RIDGE = 0.05
"""The ridge of exact counts, in records."""
_IMPOSSIBLE = -np.inf
"""The logarithm of no probability at all: a finite one would be outweighed where noisy counts say otherwise."""
_MEMORY = 12
_SWEEPS = 10


@dataclass(frozen=True, eq=False)
class TreeFit:
    """A model, and the factors that it is made of, from which the next fit starts."""

    model: TreeModel
    factors: Mapping[Axes, Floats]


def fit_tree(
    shape: Sequence[int],
    total: float,
    known: Mapping[Axes, Known],
    zeros: Sequence[Zeros] = (),
    *,
    start: Mapping[Axes, Floats] | None = None,
    rounds: int = 1000,
    tolerance: float = 1e-12,
) -> TreeFit:
    """Fit a tree that holds all tables known; impossible combinations get no records."""
    tree = JunctionTree.of(shape, [*known, *(each.axes for each in zeros)])
    problem = _Problem(tree, total, list(known.values()), _fixed(tree, zeros))
    from scipy.optimize import minimize

    found = minimize(
        problem.value_and_slope,
        problem.start(start or {}),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": rounds, "maxfun": 2 * rounds, "ftol": tolerance, "maxcor": _MEMORY},
    )
    factors = problem.factors(found.x)
    beliefs = problem.meeting_exact_tables(factors)
    model = TreeModel(tree, tuple(beliefs), total)
    return TreeFit(model, {each.axes: factor for each, factor in zip(problem.tables, factors, strict=True)})


def _fixed(tree: JunctionTree, zeros: Sequence[Zeros]) -> list[Floats]:
    """Return what the logarithms start from: 0, and minus infinity where no record can be."""
    fixed = [np.zeros(tree.sizes(number)) for number in range(len(tree.cliques))]
    for each in zeros:
        for number, clique in enumerate(tree.cliques):
            if {*each.axes} <= {*clique}:
                place = np.broadcast_to(
                    each.impossible.reshape(spread_over(tree.shape, each.axes, clique)), fixed[number].shape
                )
                fixed[number][place] = _IMPOSSIBLE
    return fixed


@dataclass(frozen=True, eq=False)
class _Table:
    """One table to be met, and where it lies in the tree."""

    axes: Axes
    counts: Floats
    ridge: float
    home: int
    spread: tuple[int, ...]
    summed: Axes
    scale: Floats
    """One over the root of the curvature in each cell, about: in these units all directions are alike."""


@dataclass(frozen=True, eq=False)
class _Problem:
    """The function to be minimised."""

    tree: JunctionTree
    total: float
    known: Sequence[Known]
    fixed: Sequence[Floats]

    @cached_property
    def tables(self) -> list[_Table]:
        return [self._placed(each) for each in self.known]

    def _placed(self, known: Known) -> _Table:
        tree = self.tree
        home = tree.home(known.axes) or 0
        clique = tree.cliques[home]
        ridge = max(_SHARE * sqrt(known.variance), _LEAST_RIDGE)
        return _Table(
            known.axes,
            known.counts,
            ridge,
            home,
            spread_over(tree.shape, known.axes, clique),
            tuple(place for place, axis in enumerate(clique) if axis not in known.axes),
            1 / np.sqrt(np.maximum(known.counts, 0.0) + ridge),
        )

    def start(self, factors: Mapping[Axes, Floats]) -> Floats:
        """Start from factors of an earlier fit where there are any."""
        parts = [
            factors[each.axes] / each.scale if each.axes in factors else np.zeros_like(each.counts)
            for each in self.tables
        ]
        return np.concatenate([part.reshape(-1) for part in parts])

    def factors(self, point: Floats) -> list[Floats]:
        """Cut a point into one factor for each table, in their own units."""
        ends = np.cumsum([each.counts.size for each in self.tables])[:-1]
        parts = zip(np.split(point, ends), self.tables, strict=True)
        return [part.reshape(each.counts.shape) * each.scale for part, each in parts]

    def potentials(self, factors: Sequence[Floats]) -> list[Floats]:
        """Add up the factors of each clique."""
        potentials = [part.copy() for part in self.fixed]
        for factor, each in zip(factors, self.tables, strict=True):
            potentials[each.home] += factor.reshape(each.spread)
        return potentials

    def meeting_exact_tables(self, factors: Sequence[Floats]) -> list[Floats]:
        """Scale the cells of tables without noise to their counts, one table after the other, until all are met."""
        potentials = self.potentials(factors)
        _, beliefs = beliefs_of(self.tree, potentials)
        exact = [table for table, known in zip(self.tables, self.known, strict=True) if known.variance == 0]
        for _ in range(_SWEEPS if len(exact) > 1 else len(exact)):
            for each in exact:
                expected = self.total * beliefs[each.home].sum(axis=each.summed)
                possible = (expected > 0) & (each.counts > 0)
                if not possible.any():  # what was declared impossible contradicts the data altogether
                    continue
                ratio = np.divide(each.counts, expected, out=np.zeros_like(expected), where=possible)
                logs = np.log(ratio, out=np.full_like(ratio, -np.inf), where=possible)
                potentials[each.home] += logs.reshape(each.spread)
                _, beliefs = beliefs_of(self.tree, potentials)
        return beliefs

    def value_and_slope(self, point: Floats) -> tuple[float, Floats]:
        """Return the function and its gradient."""
        factors = self.factors(point)
        logarithm, beliefs = beliefs_of(self.tree, self.potentials(factors))
        value, slopes = self.total * logarithm, []
        for factor, each in zip(factors, self.tables, strict=True):
            value += each.ridge / 2 * float((factor * factor).sum()) - float((factor * each.counts).sum())
            expected = self.total * beliefs[each.home].sum(axis=each.summed)
            slopes.append(((expected - each.counts + each.ridge * factor) * each.scale).reshape(-1))
        return value, np.concatenate(slopes)
