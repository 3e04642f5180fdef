from fractions import Fraction
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.mechanisms.ordered.ordered_hierarchical import OrderedHierarchical, Tree, _split


def form(size):
    return bp.Cumulative("v").on(bp.Domain(v=bp.Integer(0, size - 1)))


def height(theta, fan):
    levels, width = 0, 1
    while width < theta:
        width *= fan
        levels += 1
    return levels


def printed_loss(theta, fan, epsilon_s, epsilon):
    """The loss of a move from the last value of block 1 to the first of block 2 under the printed scales."""
    h, epsilon_h = height(theta, fan), epsilon - epsilon_s
    first_tree = (h + 1) / (2 * h / epsilon)  # h nodes of block 1, and s_1
    second_tree = h / (2 * h / epsilon_h)
    return first_tree + second_tree


def printed_split(size, theta, fan):
    """The paper's optimal epsilon_S at epsilon = 1, from its c1 and c2."""
    c1 = 4 * (size - theta) / (size + 1)
    c2 = 8 * (fan - 1) * log(theta, fan) ** 3 * size / (size + 1)
    return c1 ** (1 / 3) / (c1 ** (1 / 3) + c2 ** (1 / 3))


@pytest.mark.parametrize(("theta", "loss"), [(10, 1.36), (50, 1.16), (100, 1.17), (500, 1.11), (1000, 1.11)])
def test_the_printed_budget_of_the_first_subtree_overspends(theta, loss):
    assert printed_loss(theta, 16, printed_split(4357, theta, 16), 1.0) == pytest.approx(loss, abs=0.006)


def test_at_theta_one_the_printed_first_prefix_has_no_noise():
    assert 2 * height(1, 16) / 1.0 == 0


def test_blocks_of_theta_can_be_worse_than_the_plain_tree():
    blocked = _split(form(8), Tree(8, 5, 2), 5, Fraction(1))[0]
    plain = _split(form(8), Tree(8, 8, 2), 7, Fraction(1))[0]
    assert blocked == pytest.approx(191.0, abs=0.05)
    assert plain == pytest.approx(159.6, abs=0.05)
    policy = bp.Policy(bp.Domain(v=bp.Integer(0, 7)), secrets=bp.DistanceThreshold(5))
    free = OrderedHierarchical.calibrated(bp.Cumulative("v"), policy, epsilon=Fraction(1), records=100)
    assert free.expected_error().mse < plain


TREES = st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(2, 5)).map(
    lambda t: Tree(t[0], min(t[1], t[0]), t[2])
)


@given(TREES, st.data())
@settings(deadline=None)
def test_prefixes_and_nodes_add_up_to_the_cumulative_histogram(tree, data):
    counts = np.array(data.draw(st.lists(st.integers(0, 9), min_size=tree.size, max_size=tree.size)))
    prefixes, nodes = tree.answer(counts)
    assert len(prefixes) == tree.prefixes
    assert [len(level) for level in nodes] == [tree.nodes(level) for level in range(1, tree.height + 1)]
    rebuilt = tree.cumulative(np.concatenate([prefixes, *nodes]))
    assert rebuilt[:-1].tolist() == np.cumsum(counts)[:-1].tolist()


@given(TREES)
@settings(deadline=None, max_examples=60)
def test_a_move_changes_what_the_tree_says_it_changes(tree):
    unit = np.eye(tree.size, dtype=np.int64)
    rows = [np.concatenate([tree.answer(row)[0], *tree.answer(row)[1]]) for row in unit]
    for theta in {1, 3, tree.size - 1} & set(range(1, tree.size)):
        most = 0
        for x in range(tree.size):
            for y in range(x + 1, min(x + theta, tree.size - 1) + 1):
                crossed, changed = tree.change(x, y)
                assert np.abs(rows[x] - rows[y])[: tree.prefixes].sum() == crossed
                assert np.abs(rows[x] - rows[y])[tree.prefixes :].sum() == changed
                most = max(most, crossed)
        assert tree.most_crossed(theta) == most
        (x,), (y,) = tree.worst_move(theta)
        assert y - x <= theta
        assert tree.change(x, y) == (most, 2 * tree.height if tree.size > 1 else 0) or tree.width(1) >= tree.size


@given(TREES)
@settings(deadline=None, max_examples=60)
def test_errors_are_counted_from_the_nodes(tree):
    mechanism = OrderedHierarchical(form(tree.size), tree, Fraction(3), Fraction(5))
    # Row by row: what one unit of noise in it does to the estimate.
    spread = np.zeros((tree.size, tree.size))
    for row in range(mechanism.rows):
        noise = np.zeros(mechanism.rows, dtype=np.int64)
        noise[row] = 1
        effect = mechanism.estimate(noise, 0)
        spread += mechanism._variances[0 if row < tree.prefixes else 1] * np.outer(effect, effect)
    assert mechanism.covariance() == pytest.approx(spread)
    trace, together, _ = mechanism.moments()
    assert trace == pytest.approx(np.trace(spread))
    assert together == pytest.approx(spread.sum())


def test_the_choice_includes_both_ends():
    domain = bp.Domain(v=bp.Integer(0, 99))
    ordered = OrderedHierarchical.calibrated(
        bp.Cumulative("v"), bp.Policy(domain, secrets=bp.DistanceThreshold(1)), epsilon=Fraction(1), records=10
    )
    assert ordered.tree.block == 1
    assert ordered.tree.height == 0
    full = OrderedHierarchical.calibrated(
        bp.Cumulative("v"), bp.Policy(domain, secrets=bp.FullDomain()), epsilon=Fraction(1), records=10
    )
    assert full.certify(bp.Policy(domain, secrets=bp.FullDomain())).epsilon == 1
    plain_trees = [_split(form(100), Tree(100, 100, fan), 99, Fraction(1))[0] for fan in (2, 5, 10, 16)]
    assert full.expected_error().mse <= min(plain_trees)
