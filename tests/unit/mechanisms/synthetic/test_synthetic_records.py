"""Records drawn from conditional tables: rounded as closely as can be, without bias, never impossible."""

from itertools import combinations
from math import log, sqrt
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blowfish_privacy.mechanisms.synthetic import tree as records
from blowfish_privacy.mechanisms.synthetic.tree import Step, tree_records

FALSE_ALARM = 1e-10


def counted(drawn, axes, shape):
    """Count the records in each cell of a table."""
    sizes = [shape[axis] for axis in axes]
    codes = np.ravel_multi_index(tuple(drawn[:, axis] for axis in axes), sizes) if len(drawn) else np.zeros(0, int)
    return np.bincount(codes, minlength=int(np.prod(sizes))).reshape(sizes)


def joint(steps, shape):
    """Multiply the conditionals out: the probability of every cell of the whole domain."""
    whole = np.ones(shape)
    for step in steps:
        shares = step.table / step.table.sum(axis=-1, keepdims=True)
        places = (*step.parents, step.axis)
        arranged = np.transpose(shares, np.argsort(places))
        whole = whole * arranged.reshape([size if axis in places else 1 for axis, size in enumerate(shape)])
    return whole


@st.composite
def trees(draw):
    """Make steps with up to two parents each, for attributes of 2 to 5 values in any order."""
    shape = draw(st.lists(st.integers(2, 5), min_size=1, max_size=5))
    order = draw(st.permutations(range(len(shape))))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    steps = []
    for place, axis in enumerate(order):
        many = draw(st.integers(0, min(2, place)))
        parents = tuple(int(parent) for parent in generator.permutation(order[:place])[:many])
        table = generator.gamma(0.5, size=[*(shape[parent] for parent in parents), shape[axis]])
        steps.append(Step(axis, parents, table + 1e-3))
    return shape, steps


@given(trees(), st.integers(0, 300), st.integers(0, 2**32))
def test_every_group_is_rounded_up_or_down_and_complete(tree, many, seed):
    shape, steps = tree
    drawn = tree_records(steps, many, np.random.default_rng(seed))
    assert drawn.shape == (many, len(shape))
    for step in steps:
        found = counted(drawn, (*step.parents, step.axis), shape)
        expected = step.table / step.table.sum(axis=-1, keepdims=True) * found.sum(axis=-1, keepdims=True)
        assert (np.abs(found - expected) < 1 + 1e-6).all()
    assert (drawn >= 0).all()
    assert (drawn < np.array(shape)).all()


TREE = [
    Step(1, (), np.array([0.5, 0.3, 0.2])),
    Step(0, (1,), np.array([[0.7, 0.3], [0.15, 0.85], [0.5, 0.5]])),
    Step(2, (1,), np.array([[0.2, 0.8], [0.6, 0.4], [0.35, 0.65]])),
    Step(3, (0, 2), np.array([[[0.25, 0.75], [0.9, 0.1]], [[0.45, 0.55], [0.3, 0.7]]])),
]
SHAPE = [2, 3, 2, 2]


def off_by(draws, many):
    """Return how far the mean number of records in a cell of the whole domain is from the expected one, at most."""
    sums = np.zeros(SHAPE)
    for seed in range(draws):
        sums += counted(tree_records(TREE, many, np.random.default_rng(seed)), range(4), SHAPE)
    return np.abs(sums / draws - joint(TREE, SHAPE) * many).max()


@pytest.mark.parametrize("many", [1, 2, 5])
def test_records_have_the_law_of_the_model(many, monkeypatch):
    """Hoeffding: a mean of counts in [0, many] misses by more than the bound with probability below 1e-10 overall.

    Seeds are fixed, so the test cannot fail by chance. A mutant without random offset is caught.
    """
    draws = 3000
    bound = many * sqrt(log(2 * 24 / FALSE_ALARM) / (2 * draws))
    assert off_by(draws, many) < bound
    if many == 1:

        def without_offset(shares, of_records, points):
            return below(shares, of_records, np.floor(points * many) / many)

        below = records._below
        monkeypatch.setattr(records, "_below", without_offset)
        assert off_by(draws, many) > bound


class InOrder(np.random.Generator):
    """A mutant: nothing is ever shuffled."""

    def permutation(self, given, axis=0):
        return np.arange(given) if isinstance(given, int) else np.asarray(given)


def test_who_gets_the_first_point_is_random():
    """Two kept records, alike but for one column: either must get the first value, half of the time.

    Over 2,000 seeds a fair share is within 0.08 of 1/2 but for a probability of 2 exp(-2 * 2000 * 0.08^2) < 2e-11.
    """
    steps = [Step(0, (), np.ones(2)), Step(1, (), np.ones(2))]
    kept = np.array([[0, -1], [1, -1]])

    def share(made):
        return np.mean([tree_records(steps, 2, made(np.random.PCG64(seed)), kept)[0, 1] for seed in range(2000)])

    class Unturned(InOrder):
        """A mutant: the first record always gets the first point."""

        def integers(self, low, high):
            return np.zeros_like(high)

    assert abs(share(np.random.Generator) - 0.5) < 0.08
    assert abs(share(Unturned) - 0.5) > 0.08


def chain(values, attributes, generator):
    """Make a chain of attributes, each one close to the one before."""
    near = np.exp(-np.abs(np.subtract.outer(np.arange(values), np.arange(values)))) + 0.02
    start = generator.dirichlet(np.ones(values))
    return [Step(0, (), start), *(Step(axis, (axis - 1,), near) for axis in range(1, attributes))]


def independent(steps, many, generator):
    """Draw every value by itself."""
    drawn = np.zeros((many, len(steps)), dtype=np.int64)
    for step in steps:
        shares = step.table[tuple(drawn[:, parent] for parent in step.parents)]
        ends = np.cumsum(np.broadcast_to(shares, (many, step.table.shape[-1])), axis=1)
        drawn[:, step.axis] = (ends < generator.random(many)[:, None] * ends[:, -1:]).sum(axis=1)
    return drawn


def test_the_error_is_far_below_that_of_independent_draws():
    shape, many = [6] * 5, 20_000
    generator = np.random.default_rng(3)
    steps = chain(6, 5, generator)
    whole = joint(steps, shape) * many

    def error(drawn, ways):
        tables = list(combinations(range(5), ways))
        off = [
            np.abs(counted(drawn, axes, shape) - whole.sum(axis=tuple(set(range(5)) - set(axes)))).sum()
            for axes in tables
        ]
        return np.mean(off) / 2 / many

    ours, theirs = tree_records(steps, many, generator), independent(steps, many, generator)
    for ways, ratio in ((1, 0.15), (2, 0.2), (3, 0.5)):
        assert error(ours, ways) < ratio * error(theirs, ways)


@pytest.mark.parametrize("sizes", [[4] * 30, [3000, *[4] * 9], [2, 3000, 2000, *[5] * 6]])
def test_attributes_with_the_same_parents_do_not_depend_on_each_other(sizes):
    """Many attributes, or one of so many values that it tells all records apart: no order may come back.

    The statistic of Pearson of each pair of small attributes, over its degrees of freedom, is about one for independent
    draws with given sums; 5 with 9 degrees or more is passed with a probability below 1e-5, and seeds are fixed.
    """
    steps = [Step(0, (), np.ones(3)), *(Step(place, (0,), np.ones((3, size))) for place, size in enumerate(sizes, 1))]
    small = [axis for axis, size in enumerate(sizes, 1) if 4 <= size <= 5]

    def worst(generator):
        drawn, found = tree_records(steps, 12_000, generator), []
        for axes in combinations(small, 2):
            counts = counted(drawn, axes, [3, *sizes])
            expected = 12_000 / counts.size
            found.append(((counts - expected) ** 2).sum() / expected / np.prod([size - 1 for size in counts.shape]))
        return max(found)

    assert worst(np.random.Generator(np.random.PCG64(1))) < 5
    assert worst(InOrder(np.random.PCG64(1))) > 100


def test_impossible_combinations_never_come_out():
    generator = np.random.default_rng(5)
    possible = generator.random((4, 5, 6)) < 0.5
    possible[..., 2] = True
    steps = [
        Step(0, (), np.array([1.0, 0.0, 2.0, 1e-13])),
        Step(1, (0,), np.array([[0, 1, 1, 1, 0], [0, 0, 0, 0, 1], [1, 0, 1, 0, 0], [1, 1, 1, 1, 1]]) * 1.0),
        Step(2, (0, 1), np.where(possible, generator.random((4, 5, 6)), 0.0)),
    ]
    drawn = tree_records(steps, 100_000, generator)
    assert not (drawn[:, 0] == 1).any()
    assert not ((drawn[:, 0] == 0) & np.isin(drawn[:, 1], [0, 4])).any()
    assert possible[tuple(drawn.T)].all()


def test_kept_columns_stay_row_by_row_and_steer_the_others():
    generator = np.random.default_rng(6)
    kept = np.full((999, 3), -1)
    kept[:, 1] = generator.integers(0, 3, 999)
    steps = [Step(1, (), np.ones(3)), Step(0, (1,), np.eye(3)), Step(2, (0,), np.array([[1, 1], [0, 1], [1, 0]]) * 1.0)]
    drawn = tree_records(steps, 999, generator, kept)
    assert (drawn[:, 1] == kept[:, 1]).all()
    assert (drawn[:, 0] == kept[:, 1]).all()
    assert abs(drawn[kept[:, 1] == 0, 2].mean() - 0.5) < 0.01
    assert (drawn[kept[:, 1] == 1, 2] == 1).all()


def test_a_group_that_the_model_does_not_know_gets_what_each_parent_allows():
    """(0, 0) never occurs; the first parent excludes value 0 and the second value 3, and 1 and 2 are left."""
    table = np.zeros((2, 2, 4))
    table[0, 1], table[1, 0], table[1, 1] = [0, 3, 1, 4], [2, 3, 1, 0], [1, 1, 1, 1]
    steps = [Step(0, (), np.ones(2)), Step(1, (), np.ones(2)), Step(2, (0, 1), table)]
    kept = np.array([[0, 0, -1]] * 100)
    found = np.bincount(tree_records(steps, 100, np.random.default_rng(7), kept)[:, 2], minlength=4)
    # The shares are 7 * (3/7) * (3/7) = 9/7 and 3 * (1/3) * (1/3) = 1/3: 79.4 and 20.6 of a hundred.
    assert found[0] == found[3] == 0
    assert found[1] in (79, 80)


def test_where_the_parents_contradict_each_other_the_attribute_goes_by_itself():
    table = np.zeros((2, 2, 3))
    table[0, 1], table[1, 0] = [1, 0, 0], [0, 3, 0]
    steps = [Step(0, (), np.ones(2)), Step(1, (), np.ones(2)), Step(2, (0, 1), table)]
    drawn = tree_records(steps, 8, np.random.default_rng(8), np.array([[0, 0, -1]] * 8))
    assert np.bincount(drawn[:, 2], minlength=3).tolist() == [2, 6, 0]
    empty = [*steps[:2], Step(2, (0, 1), np.zeros((2, 2, 4)))]
    drawn = tree_records(empty, 8, np.random.default_rng(8), np.array([[0, 0, -1]] * 8))
    assert np.bincount(drawn[:, 2]).tolist() == [2, 2, 2, 2]


def test_records_depend_on_the_seed_alone():
    steps = chain(7, 4, np.random.default_rng(9))
    first = tree_records(steps, 500, np.random.default_rng(1))
    assert (first == tree_records(steps, 500, np.random.default_rng(1))).all()
    assert (first != tree_records(steps, 500, np.random.default_rng(2))).any()


def test_the_first_records_are_no_special_ones():
    drawn = tree_records(chain(10, 3, np.random.default_rng(10)), 10_000, np.random.default_rng(1))
    shares = np.bincount(drawn[:, 0], minlength=10) / 10_000
    start = np.bincount(drawn[:1000, 0], minlength=10) / 1000
    assert np.abs(start - shares).max() < 0.12  # Hoeffding, ten values: 20 exp(-2 * 1000 * 0.12^2) < 1e-11


def test_many_values_and_no_records():
    wide = [Step(0, (), np.arange(65_536.0)), Step(1, (0,), np.ones((65_536, 2)))]
    drawn = tree_records(wide, 1000, np.random.default_rng(11))
    assert len(np.unique(drawn[:, 0])) == 1000
    assert abs(drawn[:, 1].sum() - 500) <= 30
    assert tree_records(wide, 0, np.random.default_rng(11)).shape == (0, 2)


@pytest.mark.slow
def test_a_million_records_take_seconds():
    steps = chain(20, 14, np.random.default_rng(12))
    begin = perf_counter()
    tree_records(steps, 10**6, np.random.default_rng(1))
    assert perf_counter() - begin < 60
