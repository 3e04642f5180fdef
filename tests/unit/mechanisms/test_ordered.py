from fractions import Fraction
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression, linprog

import blowfish_privacy as bp
from blowfish_privacy.mechanisms import Ordered, OrderedHierarchical, SmoothHierarchy
from blowfish_privacy.mechanisms.ordered import levels as hat_rows
from blowfish_privacy.mechanisms.ordered.level_choice import Shape, calibrated_levels, choose_levels
from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel, DifferenceLevel, LeastSquares
from blowfish_privacy.mechanisms.ordered.ordered_family import _nearest, nearest_in_absolute, nearest_in_squares
from blowfish_privacy.mechanisms.ordered.ordered_hierarchical import Tree, _split
from blowfish_privacy.mechanisms.row_noise import GAUSSIAN_ROWS, LAPLACE_ROWS
from blowfish_privacy.noise import SystemSource
from blowfish_privacy.support import arrays
from blowfish_privacy.support.arrays import dense


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


QUERY = bp.Cumulative("v")


def policy(values, theta=None, **options):
    secrets = bp.FullDomain() if theta is None else bp.DistanceThreshold(theta)
    return bp.Policy(bp.Domain(v=bp.Integer(0, values - 1)), secrets=secrets, **options)


def mechanism(size, theta=None, *, epsilon=1, records=None, kind=SmoothHierarchy):
    return kind.calibrated(QUERY, policy(size, theta), epsilon=Fraction(epsilon), records=records or 1000 * size)


# The expected error of a random range that this project set out to reach, at epsilon 1.
ADULT = ((1, 3.7), (10, 69.1), (50, 201.9), (100, 289.1), (500, 549.9), (1000, 691.7), (None, 689.4))

LATITUDE = ((1, 3.7), (9, 63.2), (90, 242.1), (None, 242.1))

TARGETS = [*((4357, *target) for target in ADULT), *((400, *target) for target in LATITUDE)]


@pytest.mark.parametrize(("size", "theta", "target"), TARGETS)
def test_the_error_is_within_three_percent_of_the_target_or_below(size, theta, target):
    made = mechanism(size, theta)
    assert made.expected_error().mse <= 1.03 * target
    assert made.certify(policy(size, theta)).epsilon == 1
    assert made.expected_error().precision == 0


@pytest.mark.parametrize("cumulative", [False, True])
@given(size=st.integers(1, 40), spacing=st.integers(1, 50), data=st.data())
@settings(deadline=None)
def test_rows_are_what_the_table_of_the_module_says(cumulative, size, spacing, data):
    level = (CumulativeLevel if cumulative else DifferenceLevel)(spacing, Fraction(1))
    counts = np.array(data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)))
    rows = level.rows(size)
    weights = np.zeros((rows, size), dtype=np.int64)
    for x in range(size):
        for row in range(rows):
            if cumulative:
                weights[row, x] = min(spacing, max(0, (row + 1) * spacing - x))
            else:
                weights[row, x] = max(0, spacing - abs(x - row * spacing))
    assert level.answer(counts).tolist() == (weights @ counts).tolist()
    if not cumulative:
        assert dense(level.hats(size)) == pytest.approx(weights / spacing)
    for x in range(size):
        for y in range(size):
            assert level.change(x, y) == np.abs(weights[:, x] - weights[:, y]).sum()
            assert level.change(x, y) <= level.most(abs(x - y))
        assert level.change(0, x) == level.most(x)


@pytest.mark.parametrize("noise", [LAPLACE_ROWS, GAUSSIAN_ROWS], ids=type)
@given(size=st.integers(1, 30), spacing=st.integers(1, 9), overlap=st.integers(0, 5), data=st.data())
@settings(deadline=None)
def test_the_largest_change_of_a_level_is_that_of_its_rows(noise, size, spacing, overlap, data):
    # An overlap of 0 stands for sums. Compared are all moves, in absolute values or in squares.
    sums = CumulativeLevel(spacing, Fraction(1), noise)
    level = DifferenceLevel(spacing, Fraction(1), noise, overlap) if overlap else sums
    rows = np.array([level.answer(row) for row in np.eye(size, dtype=np.int64)]).T
    counts = np.array(data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)))
    assert level.answer(counts).tolist() == (rows @ counts).tolist()
    assert rows.shape == (level.rows(size), size)
    if overlap:
        reached = np.maximum(0, level.unit - np.abs(np.arange(size) - level.places(size)[:, None]))
        assert rows.tolist() == reached.tolist()
        assert dense(level.hats(size)) == pytest.approx(rows / level.unit)
    changes = (np.abs(rows[:, :, None] - rows[:, None, :]) ** noise.power).sum(axis=0)
    far = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    assert changes.tolist() == [[level.change(x, y) for y in range(size)] for x in range(size)]
    for distance in range(size):
        assert level.most(distance) == changes[far <= distance].max()
        assert level.most(distance) == changes[0, : distance + 1].max()
    for x in range(size):
        assert level.weight(x, size) == (rows[:, x] ** noise.power).sum() <= level.weight(0, size)


LEVELS = st.sampled_from([(), (3,), (5,), (2, 8), (4, 20)])


@given(size=st.integers(2, 30), spacings=LEVELS, cumulative=st.booleans())
@settings(deadline=None, max_examples=60)
def test_the_estimate_is_generalised_least_squares(size, spacings, cumulative):
    spacings = tuple(g for g in spacings if g < size)
    theta = min(4, size - 1)
    agrees_with_dense_least_squares(
        size, calibrated_levels(Shape(spacings, cumulative and bool(spacings)), size, theta, Fraction(1), None)
    )


@given(
    size=st.integers(2, 30), hats=st.lists(st.tuples(st.integers(1, 5), st.integers(2, 4)), max_size=3), data=st.data()
)
@settings(deadline=None, max_examples=60)
def test_the_estimate_from_overlapping_hats_is_generalised_least_squares(size, hats, data):
    overlapping = [DifferenceLevel(g, Fraction(g * 7), GAUSSIAN_ROWS, j) for g, j in hats]
    sums = [CumulativeLevel(g, Fraction(5), GAUSSIAN_ROWS) for g in data.draw(st.lists(st.integers(1, 4), max_size=1))]
    agrees_with_dense_least_squares(size, (DifferenceLevel(1, Fraction(3), GAUSSIAN_ROWS), *overlapping, *sums))


def agrees_with_dense_least_squares(size, levels):
    for is_small in (arrays.is_small, lambda shape: False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(arrays, "is_small", is_small)
            hat_rows._kept.cache_clear()
            agrees_with_reference(size, levels)
    hat_rows._kept.cache_clear()


def agrees_with_reference(size, levels):
    solver = LeastSquares(size, levels[0].variance, levels[1:])
    # Dense reference: weighted least squares with the total imposed by a Lagrange multiplier.
    design = np.vstack([np.eye(size), *(dense(level.hats(size)) for level in levels[1:])])
    from scipy.linalg import block_diag

    noise = block_diag(levels[0].variance * np.eye(size), *(dense(level.covariance(size)) for level in levels[1:]))
    weight = np.linalg.inv(noise)
    normal = design.T @ weight @ design
    system = np.block([[normal, np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
    observed = np.arange(len(design)) % 7 - 2.0
    right = np.append(design.T @ weight @ observed, 11.0)
    reference = np.linalg.solve(system, right)[:size]
    parts = np.split(observed, np.cumsum([size, *(level.rows(size) for level in levels[1:])])[:-1])
    estimate = solver.estimates(parts[0][None], [each[None] for each in parts[1:]], np.array([11.0]))[0]
    assert estimate == pytest.approx(reference, abs=1e-6)
    covariance = np.linalg.inv(system)[:size, :size]
    summing = np.tril(np.ones((size, size)))
    spread = summing @ covariance @ summing.T
    assert solver.covariance() == pytest.approx(spread, abs=1e-6)
    trace, together = solver.moments()
    assert trace == pytest.approx(np.trace(spread))
    assert together == pytest.approx(spread.sum(), abs=1e-5)


@pytest.mark.parametrize(("size", "theta"), [(60, 5), (300, 40), (300, None)])
def test_simulation_with_the_real_noise_agrees(size, theta):
    made = mechanism(size, theta)
    expected = made.expected_error()
    counts = np.arange(size) % 5
    truth = np.cumsum(counts)
    draws = []
    for _ in range(200):
        error = np.append(0, made.estimate(made.measure(counts, SystemSource()), int(truth[-1])) - truth)
        draws.append(((size + 1) * error @ error - error.sum() ** 2) / (size * (size + 1) / 2))
    # The mean of 200 draws; a deviation of 6 standard errors has a probability of about 1e-8.
    deviation = (np.mean(draws) - expected.mse) / (np.std(draws) / 200**0.5)
    assert abs(deviation) < 6
    for mutant in (0.6, 1.6):
        assert abs(np.mean(draws) - mutant * expected.mse) / (np.std(draws) / 200**0.5) > 6


def test_beyond_exact_sizes_the_error_is_simulated_and_says_how_well(monkeypatch):
    exact = mechanism(1500, 30).expected_error().mse
    monkeypatch.setattr("blowfish_privacy.mechanisms.ordered.smooth_hierarchy.EXACT_SIZE", 100)
    simulated = mechanism(1500, 30).expected_error()
    assert 0 < simulated.precision < 0.1
    assert simulated.mse == pytest.approx(exact, rel=8 * simulated.precision)


def test_ordered_is_the_special_case_of_one_cumulative_level():
    for theta in (1, 7):
        (level,) = mechanism(100, theta, kind=Ordered).segments[0].levels
        assert level == CumulativeLevel(1, Fraction(theta))
    assert mechanism(4357, 1).segments[0].levels == mechanism(4357, 1, kind=Ordered).segments[0].levels
    assert mechanism(100, 99, kind=Ordered).expected_error().mse <= 4 * 99**2


def test_small_error_for_small_thresholds_beats_differential_privacy():
    errors = [mechanism(1000, theta).expected_error().mse for theta in (1, 10, 100, None)]
    assert errors == sorted(errors)


def test_blocks_of_a_partition_are_measured_with_all_of_epsilon_and_exact_totals():
    domain = bp.Domain(v=bp.Integer(0, 99))
    blocks = bp.Policy(domain, secrets=bp.Partition(widths=30))
    made = SmoothHierarchy.calibrated(QUERY, blocks, epsilon=Fraction(1), records=1000)
    assert [(s.stretch.start, s.stretch.stop, s.stretch.theta) for s in made.segments] == [
        (0, 30, 29),
        (30, 60, 29),
        (60, 90, 29),
        (90, 100, 9),
    ]
    assert made.certify(blocks).epsilon == 1
    counts = np.arange(100)
    noisy = made.measure(counts, SystemSource())
    truth = np.cumsum(counts)
    for estimate in (made.estimate(noisy, 4950), made.shown_estimate(noisy, 4950)):
        assert estimate[[29, 59, 89, 99]] == pytest.approx(truth[[29, 59, 89, 99]])
    assert (np.diff(made.shown_estimate(noisy, 4950)) >= -1e-9).all()
    # No range ever pays for more than one block's noise at each end.
    alone = mechanism(30, None, records=300).expected_error().mse
    assert made.expected_error().mse < 2.5 * alone


def test_blocks_that_are_not_ranges_and_other_graphs_are_bounded_by_their_widest_pair():
    domain = bp.Domain(v=bp.Integer(0, 9))
    odd_and_even = bp.Policy(domain, secrets=bp.Partition(blocks=[[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]))
    made = SmoothHierarchy.calibrated(QUERY, odd_and_even, epsilon=Fraction(1), records=100)
    assert len(made.segments) == 1
    assert made.segments[0].stretch.theta == 8
    pairs = bp.Policy(domain, secrets=bp.ExplicitGraph([(3, 6)]))
    bound = SmoothHierarchy.calibrated(QUERY, pairs, epsilon=Fraction(1), records=100).certify(pairs)
    assert bound.epsilon == 1
    assert bound.sensitivity.value == 3


def test_a_mechanism_for_another_policy_does_not_certify():
    domain = bp.Domain(v=bp.Integer(0, 99))
    blocks = bp.Policy(domain, secrets=bp.Partition(widths=30))
    made = SmoothHierarchy.calibrated(QUERY, blocks, epsilon=Fraction(1), records=1000)
    with pytest.raises(bp.PolicyError, match="not those of the policy"):
        made.certify(policy(100, 5))
    narrow = mechanism(100, 5)
    with pytest.raises(bp.PolicyError, match="not those of the policy"):
        narrow.certify(policy(100, 6))


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("theta", [None, 1, "1/2", 50])
@pytest.mark.filterwarnings("ignore::blowfish_privacy.errors.BlowfishWarning")
def test_tiny_domains_work(size, theta):
    made = mechanism(size, theta)
    counts = np.arange(size) + 1
    estimate = made.shown_estimate(made.measure(counts, SystemSource()), int(counts.sum()))
    assert estimate[-1] == counts.sum()
    if theta == "1/2" or size == 1:
        assert estimate.tolist() == np.cumsum(counts).tolist()
        assert made.certify(policy(size, theta)).epsilon == 0


def test_shares_favour_coarse_levels_where_bins_are_mostly_empty_and_cost_exactly_epsilon():
    dense = choose_levels(4096, 4095, Fraction(1), 40 * 4096)
    sparse = choose_levels(4096, 4095, Fraction(1, 100), 10_000)
    assert [level.spacing for level in sparse] == [1, 8, 64, 512]
    assert all(level.scale == dense[0].scale * level.spacing for level in dense)
    for levels, epsilon in ((dense, 1), (sparse, Fraction(1, 100))):
        assert sum(level.most(4095) / level.scale for level in levels) == epsilon
    assert sparse[0].scale / sparse[-1].scale > Fraction(1, 512)


def test_scales_that_cannot_be_drawn_are_refused_at_planning():
    with pytest.raises(bp.QueryError, match="noise scale"):
        mechanism(10**6, None, epsilon="1/1000000000000")


@pytest.mark.parametrize("kind", [Ordered, OrderedHierarchical])
def test_prefixes_need_a_public_number_of_records(kind):
    unknown = policy(10, 2, size="unknown")
    with pytest.raises(bp.RefusalError, match="public number of records"):
        kind.calibrated(QUERY, unknown, epsilon=Fraction(1), records=None)
    known = kind.calibrated(QUERY, policy(10, 2), epsilon=Fraction(1), records=None)
    with pytest.raises(bp.BlowfishError, match="public number of records|do not allow an estimate"):
        kind.from_document(QUERY, unknown, known.to_document(), None)


def test_several_rows_per_person_cost_as_many_times():
    double = policy(100, 5, rows_per_person=2)
    made = SmoothHierarchy.calibrated(QUERY, double, epsilon=Fraction(1), records=10**5)
    assert made.certify(double).epsilon == 1
    assert made.segments[0].most(5) == Fraction(1, 2)


def test_a_huge_epsilon_is_answered_exactly():
    made = mechanism(40, 10, epsilon=5000)
    counts = np.arange(40)
    noisy = made.measure(counts, SystemSource())
    assert made.estimate(noisy, int(counts.sum())) == pytest.approx(np.cumsum(counts))
    assert made.expected_error().mse == pytest.approx(0, abs=1e-20)


@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_the_default_is_never_worse_than_ordered_on_small_domains(size):
    for theta in range(1, size):
        smooth, ordered = (
            mechanism(size, theta, kind=kind).expected_error().mse for kind in (SmoothHierarchy, Ordered)
        )
        assert smooth <= 1.05 * ordered


def test_many_equal_blocks_share_their_work():
    blocks = bp.Policy(bp.Domain(v=bp.Integer(0, 19_999)), secrets=bp.Partition(widths=20))
    made = SmoothHierarchy.calibrated(QUERY, blocks, epsilon=Fraction(1), records=10**6)
    one = mechanism(20, None, records=1000)
    assert made.moments()[0] == pytest.approx(1000 * one.moments()[0])
    assert made.words().count("blocks of 20") == 1


def test_documents_with_impossible_levels_are_refused():
    wide = policy(40, 10)
    written = mechanism(40, 10).to_document()
    level = {"cumulative": False, "spacing": 1, "scale": "10"}
    for levels in (
        [],
        [{**level, "cumulative": True, "spacing": 4}],
        [{**level, "spacing": 2}],
        [{**level, "spacing": True}],
        [{**level, "spacing": 0}],
        [level, level],
        [{**level, "cumulative": True}, level],
    ):
        with pytest.raises(bp.SpecError):
            SmoothHierarchy.from_document(QUERY, wide, {**written, "levels": [levels]}, 100)
    from blowfish_privacy.mechanisms import OrderedHierarchical

    trees = mechanism(40, 10, kind=OrderedHierarchical).to_document()
    for change in ({"fan": 1}, {"fan": 0}, {"fan": -2}, {"fan": True}, {"block": 0}, {"block": 41}):
        with pytest.raises(bp.SpecError):
            OrderedHierarchical.from_document(QUERY, wide, {**trees, **change}, 100)


def test_a_threshold_that_brings_nothing_is_planned_like_the_full_domain():
    # Most of 100,001 values are empty; ordering then needs a coarse level, and a wide threshold changes nothing.
    wide, full = (choose_levels(100_001, theta, Fraction(1, 2), 5_000) for theta in (20_000, 100_000))
    assert [level.spacing for level in wide] == [level.spacing for level in full] == [1, 8, 64, 512, 4096]
    assert [level.scale for level in wide] == [level.scale for level in full]
    # The benchmark's sizes keep the levels that were measured there.
    assert [level.spacing for level in choose_levels(4096, 4095, Fraction(1, 10), 9_415)] == [1, 8, 64, 512]


VALUES = st.lists(st.integers(-9, 9), min_size=1, max_size=12).map(lambda values: np.array(values, dtype=float))


def smallest_absolute_error(values):
    """The optimum by linear programming: x non-decreasing, t >= |x - values|, the sum of t smallest."""
    size = len(values)
    eye, zero = np.eye(size), np.zeros((max(size - 1, 0), size))
    steps = np.diff(np.eye(size), axis=0) if size > 1 else zero
    limits = np.vstack([np.hstack([eye, -eye]), np.hstack([-eye, -eye]), np.hstack([-steps, zero])])
    bounds = np.concatenate([values, -values, np.zeros(len(steps))])
    return linprog(np.r_[np.zeros(size), np.ones(size)], A_ub=limits, b_ub=bounds, bounds=(None, None)).fun


@given(VALUES)
@settings(deadline=None)
def test_absolute_values_are_minimised_by_both_ends_and_their_middle(values):
    best = smallest_absolute_error(values)
    high, low = _nearest(values), -_nearest(-values[::-1])[::-1]
    for found in (high, low, nearest_in_absolute(values)):
        assert (np.diff(found) >= 0).all()
        assert np.abs(found - values).sum() == pytest.approx(best)


@given(VALUES)
@settings(deadline=None)
def test_squares_leave_ordered_values_alone(values):
    ordered = np.sort(values)
    assert nearest_in_squares(ordered) == pytest.approx(ordered)
    assert nearest_in_absolute(ordered) == pytest.approx(ordered)
    assert (np.diff(nearest_in_squares(values)) >= -1e-12).all()


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60).map(np.array))
@settings(deadline=None)
def test_few_values_are_pooled_to_the_same_bits_as_many(values):
    assert nearest_in_squares(values).tolist() == isotonic_regression(values).x.tolist()
