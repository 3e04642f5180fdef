"""Grids without negative counts: the nearest ones, nearer to the truth, and never worse on shapes of many kinds."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

import blowfish_privacy as bp
from blowfish_privacy.mechanisms import GaussianFlow, GaussianGrid, GridFlow, GridHierarchy, intervals
from blowfish_privacy.mechanisms.constraints import Constraints
from blowfish_privacy.mechanisms.grid.grid_family import (
    cells_of,
    nearest_not_negative,
    over_all_rectangles,
    rectangles_by_wave,
    waves,
)
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.privacy.public_totals import Totals, records_total

QUERY = bp.RangeGrid("a", "b")
BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def policy(side, theta=None, **options):
    domain = bp.Domain(a=bp.Integer(0, side - 1), b=bp.Integer(0, side - 1))
    return bp.Policy(domain, secrets=bp.FullDomain() if theta is None else bp.DistanceThreshold(theta), **options)


def calibrated(kind, side, amount, theta=None, **options):
    public = {kind.counted_in.name: Fraction(amount), "records": None}
    return kind.calibrated(QUERY, policy(side, theta, **options), **public)


def steepness(near, linear, looseness):
    """Half the gradient of the squared distance."""
    return cells_of(waves(near - linear) / looseness)


def metric(dice, shape):
    """Weights that differ by up to a factor of a thousand."""
    return np.exp(dice.uniform(-3.5, 3.5, size=shape))


@given(st.tuples(st.integers(1, 6), st.integers(1, 6)), st.integers(0, 2**32), st.integers(0, 40), st.floats(0.1, 30.0))
@settings(deadline=None, max_examples=60)
def test_no_allowed_grid_is_nearer(shape, seed, total, noise):
    dice = np.random.default_rng(seed)
    linear, looseness = dice.normal(1, noise, size=shape), metric(dice, shape)
    stated = Constraints((records_total(linear.size, total),))
    near = nearest_not_negative(linear, looseness, stated, 0.0)
    assert near.min() >= 0
    assert near.sum() == pytest.approx(total)
    slopes, scale = steepness(near, linear, looseness), noise / looseness.min()
    if total:
        # The conditions of Karush, Kuhn and Tucker: one slope where there are records, and none below it elsewhere.
        level = np.average(slopes, weights=near)
        assert slopes[near > 1e-3 * noise] == pytest.approx(level, abs=1e-3 * scale)
        assert slopes.min() >= level - 1e-3 * scale


@pytest.mark.parametrize("seed", range(3))
def test_a_general_solver_finds_the_same(seed):
    dice = np.random.default_rng(seed)
    linear, looseness = dice.normal(2, 5, size=(4, 5)), metric(dice, (4, 5))
    rows = Totals(np.repeat([0, 1], 10), np.array([30, 12]))
    columns = Totals(np.tile([0, 0, 1, 1, 2], 4), np.array([20, 22, 0]))
    for constraints in (None, Constraints((rows,)), Constraints((columns, rows))):
        near = nearest_not_negative(linear, looseness, constraints, 0.0)

        def distance(cells, linear=linear, looseness=looseness):
            return float((waves(cells.reshape(4, 5) - linear) ** 2 / looseness).sum())

        sums = [] if constraints is None else [np.eye(len(t.counts))[:, t.labels] for t in constraints.totals]
        met = [LinearConstraint(np.vstack(sums), constraints.stated, constraints.stated)] if constraints else []
        found = minimize(
            distance,
            np.full(20, 2.1),
            method="SLSQP",
            bounds=[(0, None)] * 20,
            constraints=met,
            options={"maxiter": 1000, "ftol": 1e-12},
        )
        assert near.min() >= 0
        assert constraints is None or constraints.sums(near.reshape(-1)) == pytest.approx(constraints.stated, abs=1e-4)
        assert distance(near) <= found.fun * (1 + 1e-3) + 1e-6


@pytest.mark.parametrize(
    ("kind", "theta"), [(GridFlow, 1), (GridHierarchy, None), (GaussianFlow, 1), (GaussianGrid, None)]
)
def test_waves_have_the_variance_that_is_stated(kind, theta):
    options = [{}] if kind in (GridFlow, GaussianFlow) else [{}, {"size": "unknown"}]
    for option in options:
        made = calibrated(kind, 12, "0.5", theta, **option)
        empty, source = np.zeros((12, 12), dtype=np.int64), SimulationSource("waves of grids")
        drawn = np.array([waves(made.estimate(made.measure(empty, source))) for _ in range(500)])
        stated = made.wave_variances()
        assert stated.shape == (12, 12)
        loose = stated > 1e-9 * stated.max()
        shares = (drawn**2).mean(axis=0)[loose] / stated[loose]
        # Squares have a standard deviation of at most 2.3 times their mean, here 0.1; fixed bits, so it never flakes.
        assert np.abs(shares - 1).max() < 0.6
        assert shares.mean() == pytest.approx(1, abs=0.03)
        for mutant in (0.7, 1.4):
            assert abs(mutant * shares.mean() - 1) > 0.2


@pytest.mark.parametrize(("kind", "theta"), [(GridFlow, 1), (GridHierarchy, None)])
def test_what_is_shown_is_never_further_from_the_truth_in_its_metric(kind, theta):
    made = calibrated(kind, 16, "0.2", theta)
    source, dice = SimulationSource("nearer"), np.random.default_rng(5)
    variances, along = made.wave_variances(), rectangles_by_wave(16)
    weights = np.outer(along, along) ** made.emphasis / np.where(variances > 1e-9 * variances.max(), variances, np.inf)
    for records in (10, 1000, 100_000):
        truth = dice.multinomial(records, dice.dirichlet(np.full(256, 0.1))).reshape(16, 16)
        noisy = made.measure(truth, source)
        linear = made.meeting(made.estimate(noisy), made.known_total(records))
        shown = made.shown_estimate(noisy, records)
        before, after = (float((weights * waves(each - truth) ** 2).sum()) for each in (linear, shown))
        assert after <= before * (1 + 1e-2)


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1"])
@pytest.mark.parametrize(("kind", "theta"), [(GridFlow, 1), (GridHierarchy, None)])
def test_no_development_shape_suffers(kind, theta, epsilon, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import shapes

    made, source = calibrated(kind, 32, epsilon, theta), SimulationSource("development shapes")
    ratios = {}
    for name, density in shapes.DEVELOPMENT_2.items():
        for records in (1_000, 30_000, 1_000_000):
            truth, squares = shapes.grid(density, 32, records), []
            for _ in range(2):
                noisy = made.measure(truth, source)
                linear = made.meeting(made.estimate(noisy), made.known_total(records))
                squares.append([over_all_rectangles(e - truth) for e in (linear, made.shown_estimate(noisy, records))])
            before, after = np.mean(squares, axis=0)
            ratios[name, records] = after / before
    assert max(ratios.values()) <= 1.05, ratios
    assert np.exp(np.mean(np.log(list(ratios.values())))) < 0.7


def test_a_result_shows_no_negative_count_and_keeps_the_unbiased_one():
    counts = np.zeros((20, 20), dtype=np.int64)
    counts[3:6, 8:12] = 40
    for theta in (1, None):
        session = bp.Session(bp.Counts(counts), policy(20, theta), budget=10)
        result = session.release(QUERY, epsilon="0.3")
        assert result.linear.min() < 0 <= result.counts.min()
        assert result.counts.sum() == pytest.approx(480)
        assert result.linear.sum() == pytest.approx(480)
        assert over_all_rectangles(result.counts - counts) < over_all_rectangles(result.linear - counts)
        error = result.error()
        assert error.mse < error.guaranteed.mse
        assert error.interval() == error.guaranteed.interval()
        assert 0 <= error.precision < 1
        assert "no negative count" in result.remarks()[0]
        said = session.plan(QUERY, epsilon="0.3").explain()
        assert "Without negative counts, simulated on public synthetic shapes" in said


def test_a_secret_number_of_records_and_conditions():
    counts = np.zeros((20, 20), dtype=np.int64)
    counts[3:6, 8:12] = 40
    session = bp.Session(bp.Counts(counts), policy(20, size="unknown"), budget=10)
    result = session.release(QUERY, epsilon=1)
    assert result.counts.min() >= 0
    assert over_all_rectangles(result.counts - counts) < over_all_rectangles(result.linear - counts)
    assert result.error().mse < result.error().guaranteed.mse
    young = session.release(QUERY.where(a=(0, 9)), epsilon=1)
    assert young.counts.min() >= 0
    assert young.counts[10:].sum() == 0
    public = bp.Policy(policy(20).domain, secrets=bp.PerAttribute(a=bp.Public(), b=bp.FullDomain()))
    some = bp.Session(bp.Counts(counts), public, budget=10).release(QUERY.where(a=(0, 4)), epsilon=1)
    assert some.counts[5:].sum() == 0
    assert some.counts.sum() == pytest.approx(counts[:5].sum())


def test_exact_grids_stay_as_they_are():
    counts = np.arange(12).reshape(3, 4)
    with pytest.warns(bp.BlowfishWarning):
        public = bp.Policy(bp.Domain(a=bp.Integer(0, 2), b=bp.Integer(0, 3)), secrets=bp.Public())
    result = bp.Session(bp.Counts(counts), public, budget=1).release(QUERY, epsilon=1)
    assert result.counts.tolist() == counts.tolist()
    assert result.error().mse == 0
    assert result.remarks() == []


def test_whole_cells_keep_sums():
    cells = np.full((7, 9), 0.3)
    whole = intervals.whole_cells(cells)
    assert whole.sum() == 19
    assert set(np.unique(whole)) == {0, 1}
    assert {name: int(made.sum()) for name, made in intervals.shapes((5, 8), 100).items()} == dict.fromkeys(
        ("even", "falling off", "a peak", "most in one cell"), 100
    )
