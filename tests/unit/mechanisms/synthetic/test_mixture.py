"""The mixture of products: what tables tell, the fit, any table, and the records drawn. All seeds are fixed."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blowfish_privacy.mechanisms.synthetic import mixture_fit
from blowfish_privacy.mechanisms.synthetic import mixture_fit as evidence
from blowfish_privacy.mechanisms.synthetic.mixture import Mixture, fit_mixture
from blowfish_privacy.mechanisms.synthetic.mixture_fit import gathered, on_simplex, shrunk_values, tree_steps
from blowfish_privacy.mechanisms.synthetic.model import Measurement, Zeros


def counted(records, shape, axes):
    """Count the records in each cell of a table."""
    sizes = [shape[axis] for axis in axes]
    cells = np.ravel_multi_index(tuple(records[:, axis] for axis in axes), sizes)
    return np.bincount(cells, minlength=int(np.prod(sizes))).reshape(sizes)


def measured(records, shape, deviation, seed=0, ways=(1, 2)):
    """Measure all tables of some numbers of attributes."""
    generator = np.random.default_rng(seed)
    found = []
    for axes in (axes for many in ways for axes in combinations(range(len(shape)), many)):
        exact = counted(records, shape, axes)
        noise = np.rint(generator.normal(0, deviation, exact.shape)).astype(np.int64) if deviation else 0
        found.append(Measurement(axes, exact + noise, float(deviation) ** 2))
    return found


def two_groups(many=6000, seed=3):
    """Make records of two groups, in each of which attributes are independent."""
    shape, generator = (2, 3, 4, 5, 2), np.random.default_rng(seed)
    group = generator.integers(2, size=many)
    columns = []
    for size in shape:
        chances = np.cumsum(generator.dirichlet(np.full(size, 0.7), size=2), axis=1)[group]
        columns.append(np.minimum((generator.random((many, 1)) > chances).sum(axis=1), size - 1))
    return shape, np.stack(columns, axis=1)


def variation(records, shape, table, ways=3):
    """Return the mean total variation over all tables of so many attributes."""
    tables = combinations(range(len(shape)), ways)
    return np.mean([np.abs(counted(records, shape, axes) - table(axes)).sum() / 2 / len(records) for axes in tables])


def independence(records, shape):
    """Return tables as if attributes were independent."""
    shares = [counted(records, shape, (axis,)) / len(records) for axis in range(len(shape))]

    def table(axes):
        product = np.array(float(len(records)))
        for axis in axes:
            product = np.multiply.outer(product, shares[axis])
        return product

    return table


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8))
def test_the_nearest_shares_are_found(values):
    found = on_simplex(np.array(values))
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    # Nearest, by the condition of optimality: what is positive was moved by the same amount, the rest by no more.
    moved = found - np.array(values)
    assert np.allclose(moved[found > 1e-9], moved[found > 1e-9][0])
    assert (moved[found <= 1e-9] >= moved[found > 1e-9][0] - 1e-9).all()


def test_noise_is_shrunk_away_and_a_strong_dependence_stays():
    noise = np.random.default_rng(1).normal(0, 1.0, (40, 30))
    noise -= noise.mean(axis=0)
    noise -= noise.mean(axis=1, keepdims=True)
    singular = np.linalg.svd(noise, compute_uv=False)
    assert np.linalg.norm(shrunk_values(singular, 1.0, (40, 30))) < 0.2 * np.linalg.norm(singular)
    # Mutants: with half the deviation much noise survives; with ten times as much, so does no dependence.
    assert np.linalg.norm(shrunk_values(singular, 0.5, (40, 30))) > 0.5 * np.linalg.norm(singular)
    assert shrunk_values(np.array([50.0]), 1.0, (40, 30))[0] == pytest.approx(50, rel=0.05)
    assert shrunk_values(np.array([50.0]), 10.0, (40, 30))[0] == 0
    assert shrunk_values(np.array([3.0]), 0.0, (40, 30))[0] == 3.0


def test_exact_tables_are_taken_as_they_are():
    shape, records = two_groups()
    found = gathered(shape, len(records), measured(records, shape, 0))
    for pair in found.pairs:
        assert np.allclose(pair.shares, counted(records, shape, pair.axes) / len(records), atol=1e-6)


def test_larger_tables_tell_about_their_pairs():
    shape, records = two_groups()
    found = gathered(shape, len(records), measured(records, shape, 5.0, ways=(3,)))
    assert [pair.axes for pair in found.pairs] == list(combinations(range(5), 2))
    # The pair (0, 4) is the mean of the tables with 3, 4 and 5 further values: 25 / (1/3 + 1/4 + 1/5).
    assert found.pairs[3].axes == (0, 4)
    assert found.pairs[3].deviation * len(records) == pytest.approx((25 / (1 / 3 + 1 / 4 + 1 / 5)) ** 0.5)


def test_many_values_are_looked_at_in_groups(monkeypatch):
    monkeypatch.setattr(evidence, "MOST_GROUPS", 8)
    generator = np.random.default_rng(0)
    shape = (100, 3)
    records = np.stack([np.minimum(generator.geometric(0.1, 5000), 99), generator.integers(3, size=5000)], axis=1)
    found = gathered(shape, 5000, measured(records, shape, 2.0))
    grouping = found.groupings[0]
    assert grouping.many <= 8
    assert np.bincount(grouping.of_values).tolist() == grouping.sizes.tolist()
    assert np.allclose(np.bincount(grouping.of_values, grouping.within), 1)
    assert found.pairs[0].shares.shape == (grouping.many, 3)
    model = fit_mixture(shape, 5000.0, measured(records, shape, 2.0))
    assert model.table((1, 0)).shape == (3, 100)
    assert np.abs(model.table((0,)) - counted(records, shape, (0,))).sum() / 10_000 < 0.03


def test_all_attributes_together_stay_within_the_limit(monkeypatch):
    monkeypatch.setattr(evidence, "MOST_IN_ALL", 40)
    found = gathered((30, 30, 5), 10.0, [])
    assert sum(grouping.many for grouping in found.groupings) <= 40
    assert found.groupings[2].many == 5


def test_the_slopes_are_those_of_the_stated_objective():
    shape, records = two_groups(500)
    goal = mixture_fit._goal(gathered(shape, 500, measured(records, shape, 4.0)), 500.0)
    generator = np.random.default_rng(0)
    values = len(goal.margins)
    weights, shares = generator.normal(size=6), generator.normal(size=(6, values))

    def objective(weights, shares):
        found = mixture_fit._components(goal, weights, shares)
        pairs = found.shares.T @ (found.weights[:, None] * found.shares)
        error = (goal.counts * (pairs - goal.pairs) ** 2).sum()
        singles = goal.singles * ((found.weights @ found.shares - goal.margins) ** 2).sum()
        logarithms = np.log(found.shares / np.maximum(goal.margins, 1e-12))
        return error + singles + found.weights @ (found.shares * logarithms) @ goal.penalties

    along_weights, along_shares = mixture_fit._slopes(goal, mixture_fit._components(goal, weights, shares))
    for place in range(6):
        step = np.eye(6)[place] * 1e-5
        slope = (objective(weights + step, shares) - objective(weights - step, shares)) / 2e-5
        assert along_weights[place] / 6 == pytest.approx(slope, rel=1e-3, abs=1e-6)
    for place in ((0, 0), (3, 7), (5, values - 1)):
        step = np.zeros_like(shares)
        step[place] = 1e-5
        slope = (objective(weights, shares + step) - objective(weights, shares - step)) / 2e-5
        assert along_shares[place] / 6 == pytest.approx(slope, rel=1e-3, abs=1e-6)


def test_the_fit_finds_two_groups_from_pairs():
    shape, records = two_groups()
    exact = fit_mixture(shape, 6000.0, measured(records, shape, 0))
    noisy = fit_mixture(shape, 6000.0, measured(records, shape, 20.0))
    assert variation(records, shape, independence(records, shape)) > 0.05
    assert variation(records, shape, exact.table) < 0.02
    assert variation(records, shape, noisy.table) < 0.03


def chain(many=20_000, seed=6):
    """Make records in which every attribute depends on the one before it."""
    shape, generator = (8,) * 10, np.random.default_rng(seed)
    columns = [generator.integers(shape[0], size=many)]
    for size, before in zip(shape[1:], shape, strict=False):
        chances = np.cumsum(generator.dirichlet(np.full(size, 0.4), size=before), axis=1)[columns[-1]]
        columns.append(np.minimum((generator.random((many, 1)) > chances).sum(axis=1), size - 1))
    return shape, np.stack(columns, axis=1)


def test_the_fit_starts_from_the_strongest_tree(monkeypatch):
    monkeypatch.setattr(mixture_fit, "MOST", 600)
    shape, records = chain()
    noisy = measured(records, shape, 30.0)
    steps = tree_steps(gathered(shape, len(records), noisy))
    assert sorted(tuple(sorted((step.axis, *step.parents))) for step in steps if step.parents) == [
        (axis, axis + 1) for axis in range(9)
    ]
    ours = variation(records, shape, fit_mixture(shape, float(len(records)), noisy).table)

    def anywhere(evidence, many, generator):
        margins = np.concatenate(evidence.margins)
        return (np.log(margins + 1e-7) + generator.normal(size=(many, len(margins)))).astype(np.float32)

    monkeypatch.setattr(mixture_fit, "tree_start", anywhere)
    # Short chains gain nothing, long ones do: their pairs leave more open.
    assert ours < 0.9 * variation(records, shape, fit_mixture(shape, float(len(records)), noisy).table)


def test_attributes_that_tell_nothing_hang_on_none():
    steps = tree_steps(gathered((3, 4, 2), 10.0, []))
    assert [(step.axis, step.parents) for step in steps] == [(0, ()), (1, ()), (2, ())]


def test_noise_alone_stays_independence():
    shape, generator = (4, 5, 6, 3), np.random.default_rng(2)
    records = np.stack([generator.integers(size, size=4000) for size in shape], axis=1)
    model = fit_mixture(shape, 4000.0, measured(records, shape, 40.0))
    single = [model.table((axis,)) / 4000 for axis in range(4)]
    for one, other in combinations(range(4), 2):
        assert np.abs(model.table((one, other)) / 4000 - np.outer(single[one], single[other])).sum() < 0.02


def test_impossible_combinations_are_left_out_of_the_fit():
    generator = np.random.default_rng(5)
    shape, first = (6, 4, 3), generator.integers(6, size=5000)
    second = np.where(first < 2, 0, generator.integers(4, size=5000))
    records = np.stack([first, second, (first + generator.integers(2, size=5000)) % 3], axis=1)
    impossible = np.zeros((6, 4), bool)
    impossible[:2, 1:] = True
    zeros, noisy = (Zeros((0, 1), impossible),), measured(records, shape, 60.0)
    pair = gathered(shape, 5000, noisy, zeros).pairs[0]
    assert not pair.shares[impossible].any()
    assert np.allclose(pair.shares.sum(axis=1), gathered(shape, 5000, noisy).margins[0], atol=1e-3)
    without, with_zeros = fit_mixture(shape, 5000.0, noisy), fit_mixture(shape, 5000.0, noisy, zeros)
    assert not with_zeros.table((1, 0)).T[impossible].any()
    # Already the components avoid them, so that few records have to be drawn again.
    by_itself = replace(with_zeros, zeros=()).table((0, 1))[impossible].sum()
    assert by_itself < 0.3 * without.table((0, 1))[impossible].sum()


@pytest.mark.parametrize(
    ("shape", "total", "tables"),
    [
        ((3, 4), 10.0, []),
        ((3, 4), 10.0, [Measurement((0,), np.array([1, 2, 7]), 1.0)]),
        ((2, 2), 10.0, [Measurement((0, 1), np.array([[5, 0], [0, 5]]), 0.0)]),
        ((2, 2), 0.0, [Measurement((0, 1), np.array([[-50, 30], [2, 0]]), 900.0)]),
        ((2, 2), 1.0, [Measurement((0, 1), np.array([[-(10**9), 10**9], [2, 10**8]]), 1e18)]),
        ((2, 2), 3.0, [Measurement((0,), np.zeros(2, np.int64), 0.0), Measurement((0, 1), -np.ones((2, 2), int), 4.0)]),
    ],
)
def test_little_or_absurd_evidence_still_gives_a_distribution(shape, total, tables):
    model = fit_mixture(shape, total, tables)
    for axes in ((0,), (1,), (0, 1), (1, 0)):
        table = model.table(axes)
        assert table.min() >= 0
        assert table.sum() == pytest.approx(total)
    drawn = model.records(7, np.random.default_rng(0))
    assert drawn.shape == (7, 2)
    assert (drawn < np.array(shape)).all()


def test_tables_agree_in_any_order(monkeypatch):
    shape, records = two_groups()
    model = fit_mixture(shape, 6000.0, measured(records, shape, 10.0))
    assert np.allclose(model.table((3, 0, 2)), model.table((0, 2, 3)).transpose(2, 0, 1))
    assert np.allclose(model.table((0, 1, 2, 3)).sum(axis=(1, 3)), model.table((0, 2)))
    assert model.table(()) == pytest.approx(6000)
    whole = model.table((0, 1, 2, 3, 4))
    monkeypatch.setattr("blowfish_privacy.mechanisms.synthetic.mixture.MOST_CELLS", 50)
    assert np.allclose(model.table((0, 1, 2, 3, 4)), whole)


def test_the_same_measurements_give_the_same_mixture():
    shape, records = two_groups()
    one, other = (fit_mixture(shape, 6000.0, measured(records, shape, 10.0)) for _ in range(2))
    assert isinstance(one, Mixture)
    assert np.array_equal(one.table((0, 1, 2)), other.table((0, 1, 2)))
    assert np.array_equal(one.records(50, np.random.default_rng(4)), other.records(50, np.random.default_rng(4)))
