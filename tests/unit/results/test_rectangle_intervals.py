import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.engines import Counts
from blowfish_privacy.mechanisms.grid.grid_family import areas, between, random_rectangles, rectangles_of, sums_of
from blowfish_privacy.mechanisms.intervals import RectangleIntervals, spread_around
from blowfish_privacy.noise import SimulationSource

SIDE = 24
PLACES = np.arange(SIDE)
DOWN, ACROSS = np.meshgrid(PLACES, PLACES, indexing="ij")
SHAPES = {
    "hill": np.rint(60 * np.exp(-0.02 * ((DOWN - 9) ** 2 + (ACROSS - 14) ** 2))).astype(np.int64),
    "points": np.where((DOWN % 8 == 3) & (ACROSS % 6 == 1), 300, 0),
}
SIZES = {"small": (0, 0.02), "middle": (0.02, 0.2), "large": (0.2, 0.9)}
SECRETS = [bp.DistanceThreshold(1), bp.FullDomain()]


def session_of(counts, secrets, **options):
    first, second = (bp.Integer(0, side - 1) for side in counts.shape)
    policy = bp.Policy(bp.Domain(x=first, y=second), secrets=secrets, **options)
    return bp.Session(Counts(counts), policy, budget=1000)


def planned(counts, secrets, epsilon="0.5", **options):
    return session_of(counts, secrets, **options).plan(bp.RangeGrid("x", "y"), epsilon=epsilon)


@pytest.fixture(scope="module")
def town():
    return session_of(SHAPES["hill"], bp.DistanceThreshold(2)).release(bp.RangeGrid("x", "y"), epsilon="0.5")


def test_intervals_are_around_the_estimate_and_among_what_is_possible(town):
    cuts = random_rectangles((SIDE, SIDE), 3_000, SimulationSource("test"))
    corners = cuts - [0, 1, 0, 1]
    low, high = town.intervals(corners)
    values = town.ranges(corners)
    assert (low <= np.maximum(values, 0) + 1e-6).all()
    assert (high >= np.minimum(values, town.release.records) - 1e-6).all()
    assert low.min() >= 0
    assert high.max() <= SHAPES["hill"].sum()
    total = float(SHAPES["hill"].sum())
    assert town.interval((0, SIDE - 1), (0, SIDE - 1)) == (total, total)
    one = corners[17]
    assert town.interval((one[0], one[1]), (one[2], one[3])) == pytest.approx((low[17], high[17]))


def test_a_higher_level_is_a_wider_interval(town):
    widths = [high - low for low, high in (town.interval((4, 15), (8, 20), level) for level in ("0.5", "0.8", 0.95))]
    assert widths == sorted(widths)
    assert widths[0] < 0.7 * widths[2]
    for level in (0, 1, "x"):
        with pytest.raises(bp.QueryError):
            town.interval((4, 15), (8, 20), level)
    with pytest.raises(bp.QueryError):
        town.intervals([[3, 2, 0, 0]])
    with pytest.raises(bp.BlowfishError):
        town.interval((0, SIDE), (0, 1))


def shares_held(counts, secrets):
    """Return for each class of sizes how often intervals hold the truth, and how often half and twice as wide ones."""
    # Only intervals are of interest, so the mechanism is run without a ledger and documents.
    mechanism, records = planned(counts, secrets).mechanism, int(counts.sum())
    source, truth, total = SimulationSource("test"), sums_of(counts), mechanism.known_total(records)
    held = {size: [] for size in SIZES}
    for _ in range(20):
        cells = mechanism.shown_estimate(mechanism.measure(counts, source), records, total)
        intervals = RectangleIntervals(mechanism, cells, records, total, lambda estimate: estimate)
        corners = random_rectangles(counts.shape, 600, source)
        value, true = between(sums_of(cells), corners), between(truth, corners)
        low, high = intervals.of(corners, "0.95")
        value = np.clip(value, low, high)
        inside = [
            (true >= value - factor * (value - low) - 1e-6) & (true <= value + factor * (high - value) + 1e-6)
            for factor in (1, 0.5, 2)
        ]
        for name, (least, most) in SIZES.items():
            share = areas(corners) / counts.size
            held[name].append(np.mean(np.array(inside)[:, (share > least) & (share <= most)], axis=1))
    return {size: np.mean(shares, axis=0) for size, shares in held.items()}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("secrets", SECRETS, ids=str)
def test_intervals_hold_the_truth_about_as_often_as_they_say(shape, secrets):
    # Bits are fixed, so this cannot fail by chance; half of the width must be noticed, and so must twice.
    held = shares_held(SHAPES[shape], secrets)
    for right, half, twice in held.values():
        # Empty rectangles between points are mostly exact, whatever the width of the intervals.
        assert 0.92 <= right <= (0.995 if shape == "points" else 0.985)
        assert twice > right
        assert half < 0.92
    assert held["large"][1] < 0.8
    assert held["large"][2] > 0.985


def test_intervals_where_the_number_of_records_is_secret_and_without_noise():
    hill = SHAPES["hill"]
    result = session_of(hill, bp.FullDomain(), size="unknown").release(bp.RangeGrid("x", "y"), epsilon="0.5")
    low, high = result.interval((0, SIDE - 1), (0, SIDE - 1))
    assert low < result.range((0, SIDE - 1), (0, SIDE - 1)) < high
    with pytest.warns(bp.BlowfishWarning, match="no secret pairs"):
        session = session_of(hill, bp.Public())
    public = session.release(bp.RangeGrid("x", "y"), epsilon="0.5")
    assert public.interval((3, 9), (4, 8)) == (hill[3:10, 4:9].sum(),) * 2


def test_intervals_of_equal_noise_on_every_cell():
    session = session_of(SHAPES["hill"], bp.FullDomain())
    result = session.release(bp.RangeGrid("x", "y"), epsilon="0.5", mechanism="laplace")
    low, high = result.interval((10, 10), (14, 14))
    assert (high - low) / 2 == pytest.approx(result.release.mechanism.expected_error().interval("0.95"))


@pytest.mark.parametrize("options", [{}, {"size": "unknown"}])
@pytest.mark.parametrize("secrets", [*SECRETS, bp.DistanceThreshold(3)], ids=str)
def test_the_variance_of_every_rectangle_is_exact(secrets, options):
    counts = np.zeros((7, 5), dtype=np.int64)
    mechanism = planned(counts, secrets, **options).mechanism
    corners = random_rectangles(counts.shape, 40, SimulationSource("test"))
    weights = np.zeros((counts.size, len(corners)))
    for column, (top, bottom, left, right) in enumerate(corners):
        inside = np.zeros(counts.shape)
        inside[top:bottom, left:right] = 1
        weights[:, column] = inside.reshape(-1)
    if options:
        # The noise of the total comes in by a correction that no covariance of the rows holds.
        draws = [
            sums_of(mechanism.estimate(mechanism.measure(counts, source)))
            for source in [SimulationSource("draws")]
            for _ in range(1_200)
        ]
        expected = np.mean([between(draw, corners) ** 2 for draw in draws], axis=0)
        assert mechanism.rectangle_variances(corners) == pytest.approx(expected, rel=0.25)
    else:
        expected = (weights * mechanism.spread(weights)).sum(axis=0)
        assert mechanism.rectangle_variances(corners) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_plans_bound_errors_by_size():
    plan = planned(SHAPES["hill"], bp.DistanceThreshold(1))
    bounds = list(plan.mechanism.within_by_size().values())
    assert len(bounds) == 4
    assert bounds == sorted(bounds)
    # All rectangles together are as wrong as the plan says.
    corners = random_rectangles((SIDE, SIDE), 20_000, SimulationSource("test"))
    mean = plan.mechanism.rectangle_variances(corners).mean()
    assert mean == pytest.approx(plan.expected_error().mse, rel=0.05)
    assert "(below 1 % of the cells)" in plan.explain()
    ordered = session_of(SHAPES["hill"], bp.DistanceThreshold(1)).plan(bp.Cumulative("x"), epsilon="0.5")
    assert "(1 to 5 % of the values)" in ordered.explain()


def test_records_are_spread_over_the_empty_cells_nearby():
    cells = np.zeros((4, 6))
    cells[1, 1], cells[2, 4] = 12, 6
    spread = spread_around(cells)
    assert spread.sum() == pytest.approx(18)
    assert (spread > 0).all()
    assert not spread_around(np.zeros((3, 3))).any()
    assert areas(rectangles_of(12, (5, 9), 50, SimulationSource("test"))).mean() == pytest.approx(12, rel=0.15)


@pytest.mark.parametrize("size", ["known", "unknown"])
def test_nothing_lies_outside_a_condition(size):
    session = session_of(SHAPES["hill"], bp.FullDomain(), size=size)
    town = session.release(bp.RangeGrid("x", "y").where(x=(0, 9)), epsilon="0.5")
    assert town.interval((10, SIDE - 1), (0, SIDE - 1)) == (0, 0)
    assert town.interval((9, SIDE - 1), (0, SIDE - 1))[1] > 0
    line = session.release(bp.Cumulative("x").where(x=(0, 9)), epsilon="0.5")
    assert line.interval(10, SIDE - 1) == (0, 0)
    assert line.interval(0, SIDE - 1)[1] > 0
