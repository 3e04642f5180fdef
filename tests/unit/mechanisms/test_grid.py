from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.engines import Counts
from blowfish_privacy.mechanisms import AdaptiveGrid, GaussianFlow, GaussianGrid, GridFlow, GridHierarchy
from blowfish_privacy.mechanisms.grid.grid_family import mean_product
from blowfish_privacy.mechanisms.grid.grid_flow import DIVISIONS, Line, divergence
from blowfish_privacy.mechanisms.grid.grid_hierarchy import least_squares
from blowfish_privacy.mechanisms.ordered.levels import DifferenceLevel
from blowfish_privacy.mechanisms.row_noise import GAUSSIAN_ROWS, LAPLACE_ROWS
from blowfish_privacy.noise import SystemSource
from blowfish_privacy.testing.strategies import policies

QUERY = bp.RangeGrid("a", "b")


def policy(rows, columns, theta=None, **options):
    domain = bp.Domain(a=bp.Integer(0, rows - 1), b=bp.Integer(0, columns - 1))
    secrets = bp.FullDomain() if theta is None else bp.DistanceThreshold(theta)
    return bp.Policy(domain, secrets=secrets, **options)


def losing(kind, amount, query, under, records):
    return kind.calibrated(query, under, **{kind.counted_in.name: Fraction(amount)}, records=records)


def calibrated(kind, *size, theta=None):
    return losing(kind, 1, QUERY, policy(*size, theta), 10_000)


@pytest.mark.parametrize(("size", "target"), [(64, 132), (100, 168), (256, 280)])
def test_the_error_of_a_random_rectangle_at_theta_one(size, target):
    made = calibrated(GridFlow, size, size, theta=1)
    assert made.expected_error().mse <= target
    assert made.certify(policy(size, size, 1)).epsilon == 1


def test_the_more_accurate_of_the_two_is_planned():
    session = bp.Session(Counts(np.ones((64, 64), dtype=np.int64)), policy(64, 64, 1), budget=10)
    assert session.plan(QUERY, epsilon=1).certificate.mechanism == "grid-flow"
    session = bp.Session(Counts(np.ones((64, 64), dtype=np.int64)), policy(64, 64), budget=10)
    assert session.plan(QUERY, epsilon=1).certificate.mechanism == "adaptive-grid"
    many = bp.Session(Counts(np.full((64, 64), 9)), policy(64, 64), budget=10)
    assert many.plan(QUERY, epsilon=1).certificate.mechanism == "grid-hierarchy"
    plan = bp.Session(Counts(np.ones((64, 64), dtype=np.int64)), policy(64, 64, 1), budget=10).plan(QUERY, error=20)
    assert plan.expected_error().rmse <= 20


LINES = st.tuples(st.integers(1, 30), st.integers(1, 9)).map(
    lambda t: Line.of_one_spacing(t[0], t[1] if t[1] < t[0] else 1, Fraction(1, 3))
)
GAUSSIAN_LINES = st.integers(1, 40).map(lambda length: Line.best(length, Fraction(1, 3), GAUSSIAN_ROWS))


@given(LINES | GAUSSIAN_LINES, st.data())
@settings(deadline=None)
def test_a_unit_on_an_edge_is_absorbed_exactly(line, data):
    # The heart of the proof: shift leaf noise by a unit on edge j and hat noise by column j of the hats, and the flow
    # shifts by exactly a unit on edge j. Whole numbers throughout, so equality is equality.
    draw = SystemSource()
    leaf = (draw.words(line.length).astype(np.int64) % 2001 - 1000).reshape(1, -1)
    hats = (draw.words(len(line.hats)).astype(np.int64) % 2001 - 1000).reshape(1, -1)
    edge = data.draw(st.integers(0, line.length - 1))
    unit = np.zeros((1, line.length), dtype=np.int64)
    unit[0, edge] = 1
    if not line.coarse:
        shifted, plain = DIVISIONS * (leaf + unit), DIVISIONS * leaf
    else:
        shifted, plain = line.flow(leaf + unit, hats + unit @ line.hats.T), line.flow(leaf, hats)
    assert (shifted - plain).tolist() == (DIVISIONS * unit).tolist()
    # What that shift costs: one unit of leaf noise, and hats that add up to the spacing; of their squares, no more than
    # at a node.
    noise, rows = line.leaf.noise, [level.rows(line.length) for level in line.coarse]
    scales = [scale for level, many in zip(line.coarse, rows, strict=True) for scale in [level.scale] * many]
    cost = noise.lost(1, line.leaf.scale) + sum(
        noise.lost(noise.change([int(change)]), scale)
        for change, scale in zip((unit @ line.hats.T)[0], scales, strict=True)
    )
    assert line.loss == Fraction(1, 3)
    assert cost == line.loss if noise is LAPLACE_ROWS or edge == 0 else cost <= line.loss


@given(st.integers(1, 6), st.integers(1, 6), st.data())
@settings(deadline=None)
def test_a_move_is_a_unit_flow_along_a_way(rows, columns, data):
    x = data.draw(st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1)))
    y = data.draw(st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1)))
    down, across = np.zeros((rows - 1, columns), dtype=np.int64), np.zeros((rows, columns - 1), dtype=np.int64)
    for row in range(min(x[0], y[0]), max(x[0], y[0])):
        down[row, x[1]] = 1 if y[0] > x[0] else -1
    for column in range(min(x[1], y[1]), max(x[1], y[1])):
        across[y[0], column] = 1 if y[1] > x[1] else -1
    moved = np.zeros((rows, columns), dtype=np.int64)
    moved[x] -= 1
    moved[y] += 1
    assert divergence(down, across).tolist() == moved.tolist()
    assert np.abs(down).sum() + np.abs(across).sum() == abs(x[0] - y[0]) + abs(x[1] - y[1])


@given(policies(most_cells=40, most_attributes=2))
@settings(deadline=None, max_examples=200)
def test_no_secret_pair_loses_more_than_the_certificate(made):
    names = made.domain.names
    if len(names) < 2 or not all(made.domain[name].ordered for name in names) or not made.graph.has_edges:
        return
    query = bp.RangeGrid(*names)
    for kind in (GridFlow, GridHierarchy, AdaptiveGrid, GaussianFlow, GaussianGrid):
        mechanism = losing(kind, 2, query, made, 10)
        certificate = mechanism.certify(made)
        assert certificate.amount == 2
        assert all(mechanism.loss(x, y) <= 2 for x, y in made.graph.edges())


@pytest.mark.parametrize("kind", [GridFlow, GridHierarchy, GaussianFlow, GaussianGrid])
def test_simulation_with_the_real_noise_agrees_over_all_rectangles(kind):
    made = calibrated(kind, 9, 12, theta=2)
    counts = np.arange(108).reshape(9, 12) % 7
    squares = []
    for _ in range(400):
        error = made.estimate(made.measure(counts, SystemSource())) - counts
        sums = np.pad(np.cumsum(np.cumsum(error, axis=0), axis=1), ((1, 0), (1, 0)))
        over = [
            sums[b, d] - sums[a, d] - sums[b, c] + sums[a, c]
            for a, b in combinations(range(10), 2)
            for c, d in combinations(range(13), 2)
        ]
        squares.append(np.mean(np.square(over)))
    expected = made.expected_error().mse
    spread = np.std(squares) / 400**0.5
    # A deviation of 6 standard errors has a probability of about 1e-8.
    assert abs(np.mean(squares) - expected) < 6 * spread
    for mutant in (0.6, 1.6):
        assert abs(np.mean(squares) - mutant * expected) > 6 * spread


LEVELS = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=3, unique=True)


@given(shape=st.tuples(st.integers(2, 9), st.integers(2, 9)), sides=st.tuples(LEVELS, LEVELS), theta=st.integers(1, 5))
@settings(deadline=None, max_examples=60)
def test_products_of_overlapping_hats_change_by_no_more_than_the_bound(shape, sides, theta):
    # Whatever hats are held, of which those that are chosen are a few.
    levels = tuple(
        tuple(DifferenceLevel(g, Fraction(g + j), GAUSSIAN_ROWS, j) for g, j in ((1, 1), *(set(side) - {(1, 1)})))
        for side in sides
    )
    under = policy(*shape, min(theta, sum(shape) - 2))
    made = GaussianGrid(QUERY.on(under.domain), levels, Fraction(3))
    losses = [made.loss(x, y) for x, y in under.graph.edges()]
    assert max(losses) <= made.certify(under).rho
    # The rows are those that are measured.
    cells = np.eye(shape[0] * shape[1], dtype=np.int64)
    silent = GaussianGrid(made.form, levels, Fraction(0))
    rows = [silent.measure(cell.reshape(shape), SystemSource()) for cell in cells[:2]]
    scales = [
        made.scale * a.scale * b.scale
        for a in levels[0]
        for b in levels[1]
        for _ in range(a.rows(shape[0]) * b.rows(shape[1]))
    ]
    changes = (rows[0] - rows[1]).tolist()
    assert sum(change**2 / (2 * scale) for change, scale in zip(changes, scales, strict=True)) == made.loss(
        (0, 0), (0, 1)
    )


@pytest.mark.parametrize(("kind", "theta"), [(GaussianFlow, 1), (GaussianGrid, None)])
def test_gaussian_noise_is_chosen_where_a_budget_of_rho_allows_it(kind, theta, tmp_path):
    counts = np.ones((48, 64), dtype=np.int64)
    session = bp.Session(Counts(counts), policy(48, 64, theta), budget={"rho": 1})
    plan = session.plan(QUERY, rho="0.5")
    assert plan.mechanism.name == kind.name
    assert plan.expected_error().mse < session.plan(QUERY, rho="0.5", noise="laplace").expected_error().mse / 2
    result = session.release(QUERY, rho="0.5")
    assert "standard deviation" in plan.mechanism.words()
    result.save(tmp_path / "grid.json")
    assert bp.load(tmp_path / "grid.json").counts == pytest.approx(result.counts)
    assert result.range((0, 47), (0, 63)) == pytest.approx(48 * 64, abs=1e-6 if theta else 400)


def test_flows_keep_the_total_and_the_answers_are_looked_up():
    counts = np.zeros((30, 40), dtype=np.int64)
    counts[5:10, 10:30] = 1000
    session = bp.Session(Counts(counts), policy(30, 40, 1), budget=1000)
    result = session.release(QUERY, epsilon=200)
    assert result.counts.sum() == pytest.approx(100_000)
    assert result.range((5, 9), (10, 29)) == pytest.approx(100_000, abs=50)
    assert result.range((0, 29), (0, 39)) == pytest.approx(100_000)
    both = result.ranges([[5, 9, 10, 29], [0, 4, 0, 39]])
    assert both == pytest.approx([result.range((5, 9), (10, 29)), result.range((0, 4), (0, 39))])
    for wrong in ([[5, 4, 0, 1]], [[0, 30, 0, 1]], [[-1, 2, 0, 1]], [[0.5, 1, 0, 1]], [1, 2, 3, 4], [[1, 2, 3]]):
        with pytest.raises(bp.QueryError):
            result.ranges(wrong)
    boxes = result.kd_tree(4)
    assert len(boxes) == 16
    assert sum(box.count for box in boxes) == pytest.approx(100_000)
    assert max(box.count for box in boxes) < 15_000
    assert len(result.kd_tree(0)) == 1
    with pytest.raises(bp.QueryError):
        result.kd_tree(99)


def test_grids_have_tables_pictures_and_files(tmp_path):
    from blowfish_privacy.release import verification

    session = bp.Session(Counts(np.ones((6, 7), dtype=np.int64)), policy(6, 7, 1), budget=100)
    for mechanism in ("grid-flow", "grid-hierarchy", "adaptive-grid", "laplace"):
        result = session.release(QUERY, epsilon=1, mechanism=mechanism)
        result.plot(tmp_path / "g.png")
        result.save(tmp_path / "g.release.json")
        assert bp.load(tmp_path / "g.release.json").values.tolist() == result.values.tolist()
        assert len(result.to_frame()) == 42
        assert verification.problems(result.text) == []


@pytest.mark.parametrize("size", [(1, 1), (1, 5), (2, 2), (5, 1)])
@pytest.mark.filterwarnings("ignore::blowfish_privacy.errors.BlowfishWarning")
def test_tiny_grids(size):
    session = bp.Session(Counts(np.ones(size, dtype=np.int64)), policy(*size, 1), budget=100)
    assert session.release(QUERY, epsilon=1).range((0, size[0] - 1), (0, size[1] - 1)) == pytest.approx(
        size[0] * size[1], abs=60
    )


def test_what_is_refused():
    with pytest.raises(bp.QueryError, match="two different"):
        bp.RangeGrid("a", "a")
    with pytest.raises(bp.QueryError, match="no order"):
        bp.RangeGrid("a", "c").on(bp.Domain(a=bp.Integer(0, 1), c=bp.Categorical(["x", "y"])))
    with pytest.raises(bp.RefusalError, match="public number of records"):
        GridFlow.calibrated(QUERY, policy(3, 3, 1, size="unknown"), epsilon=Fraction(1), records=None)
    with pytest.raises(bp.QueryError, match="at most 2,000"):
        GridFlow.calibrated(QUERY, policy(2_001, 3, 1), epsilon=Fraction(1), records=None)
    with pytest.raises(bp.QueryError):
        GridFlow.calibrated(QUERY, policy(3, 3, 1), epsilon=Fraction(1, 10**18), records=None)


def test_small_epsilons_are_refused_at_planning_and_never_wrap():
    counts = np.ones((30, 30), dtype=np.int64)
    for epsilon in ("1e-6", "3e-7"):
        made = GridFlow.calibrated(QUERY, policy(30, 30, 1), epsilon=Fraction(epsilon), records=900)
        assert made.estimate(made.measure(counts, SystemSource())).sum() == pytest.approx(900, abs=0.01)
    with pytest.raises(bp.QueryError, match="noise scale of a flow"):
        GridFlow.calibrated(QUERY, policy(30, 30, 1), epsilon=Fraction(1, 10**9), records=900)
    assert (
        bp.Session(Counts(counts), policy(30, 30, 1), budget=1).plan(QUERY, epsilon="1e-9").mechanism.name
        != "grid-flow"
    )


def test_thresholds_that_say_the_same_have_the_same_error():
    for theta in ("1", "1.9"):
        made = GridFlow.calibrated(QUERY, policy(64, 64, theta), epsilon=Fraction(1), records=900)
        assert made.lines[0].loss == 1
    scaled = bp.Policy(policy(20, 20).domain, secrets=bp.DistanceThreshold(7, scale={"a": 5, "b": 4}))
    made = GridFlow.calibrated(QUERY, scaled, epsilon=Fraction(1), records=900)
    assert made.certify(scaled).epsilon == max(made.loss(x, y) for x, y in scaled.graph.edges()) == 1


@pytest.mark.parametrize("coarse", [(), ((9, 1),), ((4, 2), (16, 2))])
def test_few_coarse_rows_are_solved_for_by_a_small_matrix(coarse):
    levels = tuple(DifferenceLevel(g, Fraction(g + 2 * j), LAPLACE_ROWS, j) for g, j in ((1, 1), *coarse))
    rows = np.vstack([level.whole_hats(60) / level.unit for level in levels])
    roots = np.repeat([level.precision**0.5 for level in levels], [level.rows(60) for level in levels])[:, None]
    direct = np.linalg.lstsq(roots * rows, np.diag(roots[:, 0]), rcond=None)[0]
    assert least_squares(60, levels) == pytest.approx(direct, abs=1e-9)
    sums = np.pad(np.cumsum(direct, axis=0), ((1, 0), (0, 0)))
    slow = np.mean([((sums[b] - sums[a]) ** 2).sum() for a, b in combinations(range(61), 2)])
    assert mean_product(direct, direct) == pytest.approx(slow)
