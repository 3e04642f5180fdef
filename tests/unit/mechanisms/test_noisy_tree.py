"""A tree or a mixture for pairs that have all been measured. All seeds are fixed."""

from itertools import combinations

import numpy as np
import pytest

from blowfish_privacy.mechanisms.synthetic import mixture_fit
from blowfish_privacy.mechanisms.synthetic.mixture import Mixture, fit_mixture
from blowfish_privacy.mechanisms.synthetic.model import Measurement, Zeros, combined
from blowfish_privacy.mechanisms.synthetic.synthetic import (
    disjoint,
    implied_by_pairs,
    noisy_tree,
    spanning,
    triples_of,
    with_fewer_claims,
)
from blowfish_privacy.mechanisms.synthetic.tree import TreeModel


@pytest.fixture(autouse=True)
def _fewer_components(monkeypatch):
    monkeypatch.setattr(mixture_fit, "MOST", 400)


def counted(records, shape, axes):
    """Count the records in each cell of a table."""
    found = np.zeros([shape[axis] for axis in axes], np.int64)
    np.add.at(found, tuple(records[:, axis] for axis in axes), 1)
    return found


def measured(records, shape, deviation, pairs=None):
    """Measure all attributes and pairs."""
    generator = np.random.default_rng(0)
    found = []
    for axes in [*((axis,) for axis in range(len(shape))), *(pairs or combinations(range(len(shape)), 2))]:
        exact = counted(records, shape, axes)
        noise = np.rint(generator.normal(0, deviation, exact.shape)).astype(np.int64)
        found.append(Measurement(axes, exact + noise, float(deviation) ** 2))
    return found


def chain(many=20_000, attributes=9, values=8):
    """Make records in which each attribute is mostly settled by the one before it."""
    generator = np.random.default_rng(1)
    columns = [generator.integers(0, values, many)]
    for _ in range(attributes - 1):
        followed = generator.permutation(values)[columns[-1]]
        columns.append(np.where(generator.random(many) < 0.75, followed, generator.integers(0, values, many)))
    return (values,) * attributes, np.column_stack(columns)


def groups(many=20_000, attributes=12, values=12):
    """Make records of a few groups, in each of which attributes are independent."""
    generator = np.random.default_rng(2)
    group = generator.integers(0, 6, many)
    columns = []
    for _ in range(attributes):
        chances = np.cumsum(generator.dirichlet(np.full(values, 0.5), size=6), axis=1)[group]
        columns.append(np.minimum((generator.random((many, 1)) > chances).sum(axis=1), values - 1))
    return (values,) * attributes, np.column_stack(columns)


def variation(records, shape, model):
    """Return the mean total variation over all tables of three attributes."""
    tables = list(combinations(range(len(shape)), 3))
    distances = [np.abs(counted(records, shape, axes) - model.table(axes)).sum() for axes in tables]
    return np.mean(distances) / 2 / len(records)


def both(shape, records, deviation):
    """Fit a mixture and a tree, and choose between them."""
    noisy = measured(records, shape, deviation)
    known = combined(noisy)
    mixture, tree = fit_mixture(shape, float(len(records)), noisy), noisy_tree(shape, float(len(records)), known)
    assert tree is not None
    return mixture, tree, with_fewer_claims(mixture, tree, known)


def test_a_chain_is_a_tree():
    shape, records = chain()
    mixture, tree, chosen = both(shape, records, 15.0)
    assert chosen is tree
    assert variation(records, shape, tree) < 0.7 * variation(records, shape, mixture)
    assert all(tree.tree.home((axis, axis + 1)) is not None for axis in range(len(shape) - 1))


def test_groups_are_a_mixture():
    shape, records = groups()
    mixture, tree, chosen = both(shape, records, 15.0)
    assert chosen is mixture
    assert variation(records, shape, mixture) < variation(records, shape, tree)


def test_noise_alone_adds_no_pairs():
    records = np.random.default_rng(4).integers(0, 6, (20_000, 7))
    tree = noisy_tree((6,) * 7, 20_000.0, combined(measured(records, (6,) * 7, 60.0)))
    assert tree is not None
    assert {len(clique) for clique in tree.tree.cliques} == {1}


def test_the_same_counts_give_the_same_tree():
    shape, records = chain(4_000, 5)
    known = combined(measured(records, shape, 10.0))
    one, other = (noisy_tree(shape, 4_000.0, known) for _ in range(2))
    assert one is not None
    assert other is not None
    assert one.tree.cliques == other.tree.cliques
    assert all(np.array_equal(*each) for each in zip(one.beliefs, other.beliefs, strict=True))


def test_impossible_combinations_get_no_records():
    shape, records = chain(4_000, 5)
    impossible = np.zeros((8, 8), bool)
    impossible[:3, 5:] = True
    tree = noisy_tree(shape, 4_000.0, combined(measured(records, shape, 10.0)), [Zeros((0, 3), impossible)])
    assert tree is not None
    assert tree.table((0, 3))[impossible].sum() == 0
    drawn = tree.records(3_000, np.random.default_rng(0))
    assert not impossible[drawn[:, 0], drawn[:, 3]].any()


@pytest.mark.parametrize("attributes", [2, 3])
@pytest.mark.parametrize("many", [1, 20, 2_000])
def test_few_attributes_and_few_records(attributes, many):
    shape, records = chain(many, attributes)
    mixture, tree, chosen = both(shape, records, 5.0)
    assert chosen in (mixture, tree)
    assert isinstance(chosen, Mixture | TreeModel)
    for model in (mixture, tree):
        table = model.table((0, 1))
        assert np.isfinite(table).all()
        assert table.sum() == pytest.approx(many)
    if attributes == 2:
        assert chosen is mixture


def test_exact_tables_lie_in_the_tree():
    shape, records = chain(4_000, 6)
    exact = Measurement((0, 3, 5), counted(records, shape, (0, 3, 5)), 0.0)
    tree = noisy_tree(shape, 4_000.0, combined([exact, *measured(records, shape, 10.0)]))
    assert tree is not None
    assert tree.tree.home((0, 3, 5)) is not None
    assert np.abs(tree.table((0, 3, 5)) - exact.noisy).sum() < 0.02 * 4_000


def test_many_attributes_make_a_tree_of_pairs():
    generator, many = np.random.default_rng(4), 20_000
    columns = [generator.integers(0, 2, many)]
    while len(columns) < 45:
        columns.append(np.where(generator.random(many) < 0.9, columns[-1], 1 - columns[-1]))
    measured = [Measurement((axis,), np.bincount(column, minlength=2), 100.0) for axis, column in enumerate(columns)]
    for one, other in combinations(range(45), 2):
        counts = np.bincount(2 * columns[one] + columns[other], minlength=4).reshape(2, 2)
        noise = np.rint(generator.normal(0, 10, (2, 2))).astype(np.int64)
        measured.append(Measurement((one, other), counts + noise, 100.0))
    tree = noisy_tree((2,) * 45, float(many), combined(measured))
    assert tree is not None
    assert {*tree.tree.cliques} == {(axis, axis + 1) for axis in range(44)}


def test_no_tree_where_what_it_must_hold_is_too_large():
    large = Measurement((0, 1), np.ones((400, 400), np.int64), 0.0)
    assert noisy_tree((400, 400), 160_000.0, combined([large])) is None


def test_pairs_are_taken_by_their_scores():
    scores = {(0, 1): 1.0, (0, 2): 3.0, (1, 2): 2.0, (2, 3): 0.5}
    assert spanning(scores, 4) == [(0, 2), (1, 2), (2, 3)]
    assert disjoint(scores) == [(0, 2)]
    assert disjoint({**scores, (1, 3): 0.1}) == [(0, 2), (1, 3)]


def test_triples_need_all_their_pairs():
    assert triples_of((2,) * 4, [(0, 1), (0, 2), (1, 2), (2, 3)]) == [(0, 1, 2)]
    many = triples_of((2,) * 12, list(combinations(range(12), 2)))
    assert len(many) == len(set(many)) == 60


def test_what_pairs_imply_has_the_same_pairs_and_nothing_else():
    generator = np.random.default_rng(5)
    # Exclusive or: all pairs are even, and so is what they imply.
    parity = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    assert np.allclose(implied_by_pairs(parity), 0.5)
    triple = generator.gamma(1.0, size=(3, 4, 5))
    implied = implied_by_pairs(triple)
    for axis in range(3):
        assert np.abs(implied.sum(axis=axis) - triple.sum(axis=axis)).sum() < 1e-2 * triple.sum()
    assert np.isfinite(implied_by_pairs(triple * (triple > 1.5))).all()
