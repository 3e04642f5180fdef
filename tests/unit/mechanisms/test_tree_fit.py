"""Junction trees and their fits against the whole distribution, written out on small domains."""

from __future__ import annotations

from itertools import combinations
from math import log, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from blowfish_privacy.mechanisms.synthetic import tree as tree_model
from blowfish_privacy.mechanisms.synthetic.model import Known, Measurement, Zeros, combined
from blowfish_privacy.mechanisms.synthetic.tree import (
    JunctionTree,
    TreeModel,
    beliefs_of,
    cells_of,
    cliques_of,
    fit_tree,
)
from effort import examples

SHAPES = st.lists(st.integers(2, 4), min_size=2, max_size=6).map(tuple)


def spread_over(shape, axes, clique):
    """The shape in which a table of some of a clique's attributes is added to the clique's table."""
    return tuple(shape[axis] if axis in axes else 1 for axis in clique)


@st.composite
def trees(draw):
    shape = draw(SHAPES)
    tables = [axes for ways in (1, 2, 3) for axes in combinations(range(len(shape)), ways)]
    chosen = draw(st.lists(st.sampled_from(tables), max_size=8))
    return shape, chosen


def whole(tree, potentials):
    """The distribution over all cells, written out."""
    total = np.zeros(tree.shape)
    for clique, potential in zip(tree.cliques, potentials, strict=True):
        total = total + potential.reshape(spread_over(tree.shape, clique, tuple(range(len(tree.shape)))))
    weights = np.exp(total)
    return log(weights.sum()), weights / weights.sum()


def summed(table, axes):
    left = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in axes))
    ordered = sorted(axes)
    return left.transpose([ordered.index(axis) for axis in axes])


@given(trees(), st.integers(0, 2**32 - 1), st.sampled_from([1, 8, 2**20]))
@settings(max_examples=examples(200), deadline=None)
def test_beliefs_and_tables_are_those_of_the_whole_distribution(tree_of, seed, most_passed):
    """Also where little may be passed through the tree at once, and tables are put together value by value."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_model, "_MOST_PASSED", most_passed)
        compare_with_the_whole(tree_of, seed)


def compare_with_the_whole(tree_of, seed):
    shape, sets = tree_of
    tree = JunctionTree.of(shape, sets)
    random = np.random.default_rng(seed)
    potentials = [random.normal(size=tree.sizes(number)) for number in range(len(tree.cliques))]
    logarithm, beliefs = beliefs_of(tree, potentials)
    expected, joint = whole(tree, potentials)
    assert logarithm == pytest.approx(expected)
    for clique, belief in zip(tree.cliques, beliefs, strict=True):
        assert belief == pytest.approx(summed(joint, clique))
    model = TreeModel(tree, tuple(beliefs), 10.0)
    for ways in (1, 2, 3):
        for axes in combinations(reversed(range(len(shape))), min(ways, len(shape))):
            assert model.table(axes) == pytest.approx(10 * summed(joint, axes))


@given(trees())
@settings(max_examples=examples(200), deadline=None)
def test_every_set_lies_in_a_clique_and_what_cliques_share_runs_through_the_tree(tree_of):
    shape, sets = tree_of
    tree = JunctionTree.of(shape, sets)
    assert all(tree.home(axes) is not None for axes in sets)
    assert {axis for clique in tree.cliques for axis in clique} == {*range(len(shape))}
    assert not any({*a} <= {*b} for a in tree.cliques for b in tree.cliques if a is not b)
    for number in range(1, len(tree.cliques)):
        before = {axis for clique in tree.cliques[:number] for axis in clique}
        # The running intersection property: what was seen before lies in the one clique above.
        assert {*tree.cliques[number]} & before == {*tree.separators[number]}
        assert tree.parents[number] < number
    assert tree.cells == cells_of(shape, cliques_of(shape, sets))


def test_a_fit_minimises_what_it_says():
    shape, total = (3, 2, 4), 500.0
    random = np.random.default_rng(5)
    tables = [(0,), (0, 1), (1, 2), (2,)]
    known = {
        axes: Known(axes, random.normal(total / prod(shape[a] for a in axes), 20, [shape[a] for a in axes]), 400.0)
        for axes in tables
    }
    fit = fit_tree(shape, total, known, rounds=2000)
    axes_all = tuple(range(len(shape)))

    def value(point):
        exponent, penalty, start = np.zeros(shape), 0.0, 0
        for axes in tables:
            size = prod(shape[axis] for axis in axes)
            factor = point[start : start + size].reshape([shape[axis] for axis in axes])
            start += size
            exponent = exponent + factor.reshape(spread_over(shape, axes, axes_all))
            penalty += 0.3 * 20 / 2 * (factor**2).sum() - (factor * known[axes].counts).sum()
        return total * log(np.exp(exponent).sum()) + penalty

    point = np.concatenate([fit.factors[axes].reshape(-1) for axes in tables])
    best = minimize(value, np.zeros_like(point), method="BFGS", options={"gtol": 1e-4}).fun
    assert value(point) == pytest.approx(best, abs=1e-3)
    assert fit.model.table((0, 1)).sum() == pytest.approx(total)
    # Expected counts differ from the noisy ones by the ridge times the factor: a share of the noise.
    residual = fit.model.table((1, 2)) - known[(1, 2)].counts
    assert residual == pytest.approx(-0.3 * 20 * fit.factors[(1, 2)], abs=0.05)


def test_exact_tables_are_met_and_noise_is_not_fitted():
    random = np.random.default_rng(1)
    joint = random.dirichlet(np.ones(12)).reshape(3, 4) * 1000
    exact = combined([Measurement((0, 1), np.rint(joint).astype(np.int64), 0.0)])
    total = float(exact[(0, 1)].counts.sum())
    assert fit_tree((3, 4), total, exact).model.table((0, 1)) == pytest.approx(exact[(0, 1)].counts, abs=1e-6)
    noise = combined([Measurement((0, 1), random.normal(1000 / 12, 1e6, (3, 4)).astype(np.int64), 1e12)])
    assert np.ptp(fit_tree((3, 4), 1000.0, noise).model.table((0, 1))) > 0
    assert fit_tree((3, 4), 1000.0, noise).model.table((0, 1)).min() >= 0


def test_impossible_combinations_get_nothing_in_tables_and_records():
    impossible = np.zeros((3, 4), dtype=bool)
    impossible[0, 2:] = True
    zeros = [Zeros((0, 2), impossible)]
    random = np.random.default_rng(3)
    known = combined(
        [Measurement((axis,), random.integers(50, 100, size), 25.0) for axis, size in enumerate((3, 2, 4))]
    )
    model = fit_tree((3, 2, 4), 200.0, known, zeros).model
    assert model.table((0, 2))[impossible].max() < 1e-9
    records = model.records(1000, np.random.default_rng(0))
    assert not ((records[:, 0] == 0) & (records[:, 2] >= 2)).any()


def test_kept_columns_stay_as_they_are():
    random = np.random.default_rng(3)
    table = random.integers(0, 40, (3, 2, 4))
    known = combined([Measurement((0, 2), table.sum(1), 4.0), Measurement((1, 2), table.sum(0), 4.0)])
    model = fit_tree((3, 2, 4), float(table.sum()), known).model
    kept = np.full((500, 3), -1)
    kept[:, 1] = np.arange(500) % 2
    records = model.records(500, np.random.default_rng(0), kept)
    assert (records[:, 1] == kept[:, 1]).all()
    assert records.min() >= 0


def test_measurements_of_one_table_are_weighted_by_their_precision():
    first, second = Measurement((0,), np.array([10, 20]), 4.0), Measurement((0,), np.array([20, 20]), 1.0)
    known = combined([first, second])[(0,)]
    assert known.counts == pytest.approx([18, 20])
    assert known.variance == pytest.approx(0.8)
    exact = Measurement((0,), np.array([7, 7]), 0.0)
    assert combined([first, exact])[(0,)].counts == pytest.approx([7, 7])
    assert combined([exact, first])[(0,)].counts == pytest.approx([7, 7])
