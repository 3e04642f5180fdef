"""Ranges with Gaussian noise: near the best that any rows can do, and with the noise that the certificate speaks of."""

from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.mechanisms import GaussianHierarchy, GaussianOrdered
from blowfish_privacy.mechanisms.ordered.level_choice import precise_line
from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel
from blowfish_privacy.mechanisms.row_noise import GAUSSIAN_ROWS
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.release.plan import make_plan
from blowfish_privacy.release.target import Target

QUERY = bp.Cumulative("v")


def policy(values, theta=None, **options):
    secrets = bp.FullDomain() if theta is None else bp.DistanceThreshold(theta)
    return bp.Policy(bp.Domain(v=bp.Integer(0, values - 1)), secrets=secrets, **options)


def mechanism(values, theta=None, *, rho=1, kind=GaussianHierarchy, **options):
    records = None if options.get("size") == "unknown" else 1000
    return kind.calibrated(QUERY, policy(values, theta, **options), rho=Fraction(rho), records=records)


@pytest.mark.parametrize(("size", "theta"), [(24, 23), (64, 63), (64, 3), (64, 10), (128, 127), (128, 40)])
def test_the_error_is_close_to_the_least_that_gaussian_rows_can_have(size, theta, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    from ordered import least_range_error

    bound = least_range_error(size, theta)
    found = mechanism(size, theta).expected_error()
    assert found.precision == 0
    assert bound <= found.mse * (1 + 1e-9) < 1.12 * bound


@pytest.mark.parametrize("options", [{}, {"rows_per_person": 3}, {"size": "unknown"}], ids=str)
@given(size=st.integers(2, 60), data=st.data())
@settings(deadline=None, max_examples=40)
def test_no_move_loses_more_than_rho_and_the_bound_is_almost_attained(options, size, data):
    theta = data.draw(st.integers(1, size - 1))
    made = mechanism(size, theta, rho=Fraction(1, 7), **options)
    certificate = made.certify(policy(size, theta, **options))
    assert certificate.rho == Fraction(1, 7)
    losses = [made.loss((x,), (y,)) for x, y in combinations(range(size), 2) if y - x <= theta]
    if options.get("size") == "unknown":
        losses += [made.presence((x,)) for x in range(size)]
    worst = options.get("rows_per_person", 1) ** 2 * max(losses)
    assert 0.9 * certificate.rho < worst <= certificate.rho
    assert not certificate.sensitivity.exact or worst == certificate.rho


@pytest.mark.parametrize(("size", "theta", "number"), [(60, 5, "known"), (200, None, "known"), (60, 4, "unknown")])
def test_simulation_with_the_real_noise_agrees(size, theta, number):
    made = mechanism(size, theta, size=number)
    expected = made.expected_error().mse
    counts, source = np.arange(size) % 5, SimulationSource("ranges of Gaussian rows")
    truth = np.cumsum(counts)
    draws = []
    for _ in range(300):
        error = np.append(0, made.estimate(made.measure(counts, source), int(truth[-1])) - truth)
        draws.append(((size + 1) * error @ error - error.sum() ** 2) / (size * (size + 1) / 2))
    # The mean of 300 draws of fixed bits; of other bits, 6 standard errors would be exceeded once in 1e8 times.
    deviation = np.std(draws) / 300**0.5
    assert abs(np.mean(draws) - expected) < 6 * deviation
    for mutant in (0.6, 1.6):
        assert abs(np.mean(draws) - mutant * expected) > 6 * deviation


def divergence(change, variance, order):
    """The Renyi divergence between discrete Gaussians, one of them moved by a whole number."""
    reach = 40 * int(variance**0.5 + 1) + int(order * abs(change))
    steps = np.arange(-reach, reach + 1)
    logs = -(steps**2) / (2 * variance), -((steps - change) ** 2) / (2 * variance)
    normal = np.log(np.exp(logs[0]).sum())
    moment = order * logs[0] + (1 - order) * logs[1]
    return (np.log(np.exp(moment - moment.max()).sum()) + moment.max() - normal) / (order - 1)


@pytest.mark.parametrize("order", [1.5, 2, 4, 16, 64])
def test_divergences_are_below_the_certificate(order):
    made = mechanism(6, 3, rho=2)
    bound = float(made.certify(policy(6, 3)).rho)
    levels = made.segments[0].levels

    def lost(x, y, share):
        rows = [(level, *(level.answer(np.eye(6, dtype=np.int64)[z]) for z in (x, y))) for level in levels]
        changes = ((level, int(change)) for level, before, after in rows for change in after - before)
        return sum(divergence(change, float(level.scale * share), order) for level, change in changes)

    pairs = [(x, y) for x, y in combinations(range(6), 2) if y - x <= 3]
    assert max(lost(x, y, 1) for x, y in pairs) <= bound * order * (1 + 1e-9)
    assert max(lost(x, y, Fraction(1, 2)) for x, y in pairs) > bound * order


def test_cumulative_counts_alone_have_the_variance_of_one_move():
    (level,) = mechanism(100, 7, kind=GaussianOrdered).segments[0].levels
    assert level == CumulativeLevel(1, Fraction(7, 2), GAUSSIAN_ROWS)
    assert mechanism(500, 1).segments[0].levels == mechanism(500, 1, kind=GaussianOrdered).segments[0].levels
    with pytest.raises(bp.RefusalError, match="public number of records"):
        mechanism(10, 2, kind=GaussianOrdered, size="unknown")


def test_blocks_of_a_partition_are_measured_with_all_of_rho():
    blocks = bp.Policy(bp.Domain(v=bp.Integer(0, 99)), secrets=bp.Partition(widths=30))
    made = GaussianHierarchy.calibrated(QUERY, blocks, rho=Fraction(1), records=1000)
    assert made.certify(blocks).rho == 1
    assert [segment.stretch.size for segment in made.segments] == [30, 30, 30, 10]
    assert made.segments[0].levels == mechanism(30).segments[0].levels


def test_a_line_loses_one_on_every_unit():
    for size in (1, 2, 7, 64, 600):
        levels = precise_line(size)
        assert sum(level.lost(level.weight(0, size)) for level in levels) == 1
        assert all(sum(level.lost(level.weight(x, size)) for level in levels) <= 1 for x in range(size))


def test_large_sizes_are_simulated_and_many_values_overlap_less():
    made = mechanism(3000)
    assert 0 < made.expected_error().precision < 0.05
    assert max(level.unit // level.spacing for level in made.segments[0].levels) == 4
    many = mechanism(60_000, 1000)
    assert max(level.unit // level.spacing for level in many.segments[0].levels) == 2
    assert many.expected_error().mse < 25


def test_the_noise_is_described_in_records():
    said = mechanism(500, 50).words()
    assert said.startswith("Gaussian noise goes on single counts (standard deviation ")
    assert "overlapping bins 4 apart that reach 16 (standard deviation " in said
    written = mechanism(500, 50).to_document()
    read = GaussianHierarchy.from_document(QUERY, policy(500, 50), written, 1000)
    assert [each.levels for each in read.segments] == [each.levels for each in mechanism(500, 50).segments]
    damaged = {**written, "levels": [[{**level, "overlap": 10**6} for level in written["levels"][0]]]}
    with pytest.raises(bp.SpecError, match="overlap"):
        GaussianHierarchy.from_document(QUERY, policy(500, 50), damaged, 1000)


def test_a_release_in_a_budget_of_rho_reads_back_and_is_verified(tmp_path):
    counts = bp.Counts(np.arange(200) % 9)
    session = bp.Session(counts, policy(200, 20), budget={"rho": 1})
    plan = session.plan(bp.Quantiles("v", ["0.5"]), rho="0.5")
    assert plan.mechanism.name == "gaussian-hierarchy"
    assert plan.expected_error().mse < session.plan(QUERY, rho="0.5", noise="laplace").expected_error().mse / 5
    result = session.release(bp.Quantiles("v", ["0.5"]), rho="0.5")
    assert 90 <= result.quantile("0.5") <= 110
    result.save(tmp_path / "v.json")
    again = bp.load(tmp_path / "v.json")
    assert list(again.rows()) == list(result.rows())
    assert again.error().rmse == result.error().rmse <= 1.5 * plan.expected_error().rmse
    assert "Gaussian" in plan.explain()
    assert session.ledger.verify().ok


def test_where_epsilon_itself_may_be_spent_laplace_noise_is_the_more_accurate_for_ranges():
    chosen = make_plan(QUERY, policy(200, 20), target=Target.of(epsilon=1, delta="1e-9"), records=800)
    assert chosen.mechanism.name == "smooth-hierarchy"


def test_rows_of_a_person_and_secret_sizes_are_released_too():
    for options in ({"rows_per_person": 2}, {"size": "unknown"}):
        session = bp.Session(bp.Counts(np.full(60, 50)), policy(60, 5, **options), budget={"rho": 1})
        result = session.release(QUERY, rho="0.5", noise="gaussian")
        assert abs(result.range(10, 49) - 2000) < 12 * session.plan(QUERY, rho="0.5").expected_error().rmse
