"""Mechanisms where the number of records is secret: what they lose on records that come and go, and their errors."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.aggregates import TableAggregates
from blowfish_privacy.domain import Binned, Numeric
from blowfish_privacy.mechanisms import CountedGrid, GridHierarchy, MeanOffsets, NoisyLloyd, SmoothHierarchy
from blowfish_privacy.mechanisms.clusters.synopsis import change, column
from blowfish_privacy.mechanisms.grid.grid_hierarchy import spaced
from blowfish_privacy.mechanisms.ordered.level_choice import _levels, _Shape
from blowfish_privacy.mechanisms.ordered.smooth_hierarchy import Segment, Stretch
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.privacy.loss import PRESENCE, changing
from blowfish_privacy.support.arrays import dense
from blowfish_privacy.testing.strategies import policies
from effort import examples
from pair_classes import class_of

ONE, SECRET = Fraction(1), ["unknown"]


def policy(shape, secrets, **options):
    domain = bp.Domain({name: bp.Integer(0, size - 1) for name, size in zip("vw", shape, strict=False)})
    return bp.Policy(domain, secrets=secrets, size="unknown", **options)


def made(kind, query, under, epsilon=ONE):
    return kind.calibrated(query, under, epsilon=epsilon, records=None)


def session(under, counts, **options):
    return bp.Session(bp.Counts(np.asarray(counts)), under, budget=100, **options)


LINES = [bp.FullDomain(), bp.DistanceThreshold(20), bp.DistanceThreshold(1), bp.Public()]


@pytest.mark.parametrize("secrets", LINES, ids=str)
def test_the_error_of_ranges_is_that_of_the_best_linear_estimate(secrets):
    under = policy((200,), secrets)
    mechanism = made(SmoothHierarchy, bp.Cumulative("v"), under)
    # The normal equations, row by row: hats of every level, and the total.
    precision = np.zeros((200, 200))
    for level in mechanism.segments[0].levels:
        hats = dense(level.hats(200))
        precision += hats.T @ hats / level.variance
    spread = np.pad(np.linalg.inv(precision).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    mse = (201 * np.trace(spread) - spread.sum()) / (201 * 100)
    assert mechanism.expected_error().mse == pytest.approx(mse)
    source = SimulationSource("a test")
    errors = [np.append(0, mechanism.simulated_error(source)) for _ in range(300)]
    seen = np.mean([(201 * e @ e - e.sum() ** 2) / (201 * 100) for e in errors])
    assert seen == pytest.approx(mse, rel=0.15)


@pytest.mark.parametrize("secrets", LINES, ids=str)
def test_levels_are_chosen_for_the_larger_of_both_losses(secrets):
    under = policy((100,), secrets)
    mechanism = made(SmoothHierarchy, bp.Cumulative("v"), under)
    loss = mechanism.certify(under).loss
    assert loss.largest == 1
    # What is not spent on moves is spent on the total, and neither loss stays far behind where both can be had.
    assert loss.on(PRESENCE) > Fraction(99, 100)
    assert not under.graph.has_edges or loss.on(changing("v")) > Fraction(2, 3)
    theta = under.graph.largest_move("v")
    shapes = [
        _Shape((fan,), (leaf, 1.0, total)) for fan in (7, 12, 20) for leaf in (0.7, 1.0, 1.5) for total in (0.02, 1)
    ]
    others = [Segment(Stretch(0, 100, theta), _levels(shape, theta, ONE)).moments() for shape in shapes]
    best = min((101 * trace - together) / (101 * 50) for trace, together, _ in others)
    assert mechanism.expected_error().mse < 1.15 * best


def test_quantiles_and_shares_are_of_the_estimated_total():
    under = policy((1000,), bp.AddRemove())
    result = session(under, np.full(1000, 50)).release(bp.Quantiles("v", ["0.1", "0.5"]), epsilon=1)
    assert result.release.records is None
    assert abs(result.total - 50_000) < 500
    assert result.cumulative[-1] == pytest.approx(result.total)
    assert result.cdf(999) == pytest.approx(1)
    assert abs(result.quantile("0.5") - 499) < 20
    assert [row[0] for row in result.rows()] == ["0.1", "0.5"]
    assert result.error().by_value().min() > 0


def test_an_empty_table_has_quantiles_too():
    for seed in range(2):
        under = policy((6,), bp.AddRemove())
        result = session(under, np.zeros(6, dtype=int)).release(bp.Cumulative("v"), epsilon="0.5", name=str(seed))
        assert result.total >= 1
        assert 0 <= result.quantile("0.5") <= 5
        assert all(0 <= row[3] <= 1 + 1e-6 for row in result.rows())
        result.figure()


@pytest.mark.parametrize("secrets", [bp.FullDomain(), bp.DistanceThreshold(1), bp.Public()], ids=str)
def test_the_error_of_rectangles_is_that_of_simulated_ones(secrets):
    under = policy((12, 9), secrets)
    mechanism = made(GridHierarchy, bp.RangeGrid("v", "w"), under)
    coarse = GridHierarchy(mechanism.form, (spaced(1, 4), spaced(1, 3)), Fraction(7), Fraction(3))
    for each in (mechanism, coarse):
        source, squares = SimulationSource("a test"), []
        cuts = [(a, b, c, d) for a in range(12) for b in range(a + 1, 13) for c in range(9) for d in range(c + 1, 10)]
        top, bottom, left, right = np.array(cuts).T
        for _ in range(300):
            found = each.estimate(each.measure(np.zeros((12, 9), dtype=np.int64), source))
            sums = np.pad(found.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
            squares.append((sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]) ** 2)
        assert np.mean(squares) == pytest.approx(each.expected_error().mse, rel=0.12)


@given(under=policies(most_cells=24, most_attributes=2, sizes=SECRET), data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_hats_lose_no_more_than_certified_on_grids_of_several_spacings(under, data):
    names = under.domain.names
    assume(len(names) == 2 and all(under.domain[name].ordered for name in names))
    levels = tuple(
        spaced(1, data.draw(st.integers(2, 4))) if under.domain[name].size > 2 else spaced(1) for name in names
    )
    form = bp.RangeGrid(*names).on(under.domain)
    mechanism = GridHierarchy(form, levels, Fraction(3), Fraction(2))
    certificate = mechanism.certify(under)
    for x, y in under.graph.edges():
        assert mechanism.loss(x, y) <= certificate.loss.on(class_of(under, x, y))
    for x in under.domain.cells():
        assert mechanism.presence(x) == certificate.loss.on(PRESENCE)


MEANS = [(0, 1), (0, 100), (-7, 12)]


@pytest.mark.parametrize("ends", MEANS, ids=str)
@pytest.mark.parametrize("secrets", [bp.FullDomain(), bp.DistanceThreshold(1), bp.Public()], ids=str)
def test_means_are_as_wrong_as_stated(secrets, ends):
    domain = bp.Domain(v=bp.Integer(*ends))
    under = bp.Policy(domain, secrets=secrets, size="unknown")
    mechanism = made(MeanOffsets, bp.Mean("v"), under)
    counts = 40 * (1 + np.arange(domain.size)) // domain.size + 30
    true = float(counts @ np.arange(ends[0], ends[1] + 1) / counts.sum())
    source = SimulationSource("a test")
    drawn = [mechanism.measure(counts, source) for _ in range(1500)]
    errors = np.array([mechanism.mean(noisy) - true for noisy in drawn])
    stated = sqrt(np.mean([mechanism.error_of(noisy).mse for noisy in drawn]))
    assert sqrt(np.mean(errors**2)) == pytest.approx(stated, rel=0.15)
    for level in ("0.5", "0.95"):
        held = [abs(e) <= mechanism.error_of(noisy).interval(level) for e, noisy in zip(errors, drawn, strict=True)]
        assert np.mean(held) >= float(level) - 0.02
    # Before a release: n times the error, for a mean that may be anywhere.
    spread = 2 * mechanism.sum_scale**2 / 4 + (ends[1] - ends[0]) ** 2 / 12 * 2 * mechanism.count_scale**2
    assert mechanism.expected_error().mse == pytest.approx(float(spread), rel=0.1)


@pytest.mark.parametrize("secrets", [bp.FullDomain(), bp.DistanceThreshold(7), bp.DistanceThreshold(1), bp.Public()])
def test_no_other_split_makes_a_mean_anywhere_in_the_range_better(secrets):
    under = policy((101,), secrets)
    mechanism = made(MeanOffsets, bp.Mean("v"), under)
    best = mechanism.expected_error().mse
    for factor in (Fraction(9, 10), Fraction(19, 20), Fraction(20, 19), Fraction(10, 9)):
        sum_scale = mechanism.sum_scale * factor
        other = MeanOffsets(mechanism.form, sum_scale, 1 / (1 - 100 / sum_scale))
        assert other.certify(under).epsilon > 1 or other.expected_error().mse > best * 0.9999


def test_a_mean_of_next_to_nobody_lies_in_the_range_and_says_that_it_may_be_anywhere():
    under = policy((11,), bp.AddRemove())
    mechanism = made(MeanOffsets, bp.Mean("v"), under, Fraction(1, 10))
    for noisy in ([500, -3], [-500, 0], [3, 1]):
        assert 0 <= mechanism.mean(np.array(noisy)) <= 10
        assert mechanism.error_of(np.array(noisy)).interval() == 10
        assert mechanism.error_of(np.array(noisy)).rmse <= 10
    result = session(under, np.zeros(11, dtype=int)).release(bp.Mean("v"), epsilon="0.1")
    assert 0 <= result.value <= 10
    assert any("anywhere in the range" in notice for notice in result.notices)
    ((asked, value, typical, within),) = result.rows()
    assert asked == "mean of v"
    assert value == pytest.approx(result.value, abs=0.005 * typical)
    assert typical <= within <= 10
    result.figure()


def test_an_error_to_be_met_is_refused_for_a_mean_of_secretly_many():
    with pytest.raises(bp.RefusalError, match="depends on the number of records"):
        session(policy((11,), bp.AddRemove()), np.ones(11, dtype=int)).plan(bp.Mean("v"), error=1)
    with pytest.raises(bp.RefusalError, match="keeps secret"):
        session(policy((11,), bp.AddRemove()), np.ones(11, dtype=int)).plan(
            bp.Mean("v"), epsilon=1, mechanism="laplace"
        )


@given(under=policies(most_cells=24, most_attributes=2, sizes=SECRET), count=st.integers(-5, 10**6))
@settings(max_examples=examples(80), deadline=None)
def test_a_counted_grid_loses_no_more_than_certified_whatever_the_count(under, count):
    assume(all(isinstance(attribute, Numeric | Binned) for attribute in under.domain.attributes))
    mechanism = made(CountedGrid, bp.KMeans(list(under.domain.names), k=1), under)
    certificate = mechanism.certify(under)
    assert certificate.epsilon == 1
    lattice = mechanism.lattice(mechanism.cells(count))
    assert lattice.unit == mechanism.unit
    for x, y in under.graph.edges():
        lost = change(lattice, x, y) * mechanism.unit / mechanism.scale
        assert lost <= mechanism.loss(x, y) <= certificate.loss.on(class_of(under, x, y))
    for x in under.domain.cells():
        shared = sum(column(lattice, x).values()) / mechanism.scale
        assert shared + 1 / mechanism.count_scale == mechanism.presence(x) == certificate.loss.on(PRESENCE)


def noise_agrees(drawn, scale):
    """Compare the mean size of draws with that of a scale, to 6.5 standard errors."""
    q = np.exp(-1 / float(scale))
    mean = 2 * q / (1 - q**2)
    spread = sqrt(2 * q / (1 - q) ** 2 - mean**2)
    return abs(np.abs(drawn).mean() - mean) <= 6.5 * spread / sqrt(len(drawn))


def test_a_counted_grid_draws_the_noise_that_it_certifies():
    mechanism = made(CountedGrid, bp.KMeans(["v", "w"], k=2), policy((20, 20), bp.FullDomain()))
    table = TableAggregates(mechanism.form.domain, np.full((20, 20), 3))
    source, counts, nodes = SimulationSource("a test"), [], []
    for _ in range(700):
        noisy = mechanism.draw(table, source)
        assert mechanism.fits(noisy)
        assert not mechanism.fits(noisy[:-1])
        exact = table.lattice_sums(mechanism.lattice(mechanism.cells(int(noisy[0])))).reshape(-1)
        counts.append(noisy[0] - 1200)
        nodes.append(noisy[1] - exact[0])
    for drawn, scale in ((np.array(counts), mechanism.count_scale), (np.array(nodes), mechanism.scale)):
        assert noise_agrees(drawn, scale)
        assert not noise_agrees(drawn, scale * Fraction(2, 3))
        assert not noise_agrees(drawn, scale * Fraction(3, 2))


@pytest.mark.parametrize("kind", ["counted-grid", "lloyd"])
def test_clusters_are_found_without_knowing_how_many_records_there_are(kind):
    counts = np.zeros((60, 60), dtype=np.int64)
    counts[10:15, 10:15] = counts[40:45, 40:45] = 60
    result = session(policy((60, 60), bp.AddRemove()), counts).release(
        bp.KMeans(["v", "w"], k=2), epsilon=2, mechanism=kind
    )
    found = sorted(result.centers.mean(axis=1).tolist())
    assert found == pytest.approx([12, 42], abs=4)
    assert result.sizes.sum() == pytest.approx(3000, rel=0.2)
    if kind == "counted-grid":
        assert len(result.synthetic(seed=1)) == pytest.approx(3000, rel=0.05)
    assert len(list(result.rows())) == 2
    result.figure()


def test_clusters_of_nobody_are_still_an_answer():
    for mechanism in ("counted-grid", "lloyd"):
        result = session(policy((9, 9), bp.AddRemove()), np.zeros((9, 9), dtype=int)).release(
            bp.KMeans(["v", "w"], k=2), epsilon="0.1", mechanism=mechanism
        )
        assert np.isfinite(result.centers).all()


def test_a_record_that_comes_or_goes_changes_every_round_by_no_more_than_certified():
    under = policy((12, 12), bp.Public())
    mechanism = made(NoisyLloyd, bp.KMeans(["v", "w"], k=2), under, Fraction(3))
    certificate = mechanism.certify(under)
    assert certificate.loss.on(PRESENCE) == certificate.epsilon == 3
    question = mechanism.question(mechanism.start)
    for x in under.domain.cells():
        sums = np.abs(question.sums([np.array([position]) for position in x]))
        lost = int(sums[:, 0].sum()) / mechanism.size_scale + int(sums[:, 1:].sum()) / mechanism.sum_scale
        assert mechanism.rounds * lost <= mechanism.presence(x)


def test_the_number_of_records_is_never_read_off_an_overflow():
    with pytest.raises(bp.RefusalError, match="too large for a secret number"):
        made(MeanOffsets, bp.Mean("v"), policy((2**22,), bp.AddRemove()))
    for kind, query in ((SmoothHierarchy, bp.Cumulative("v")), (GridHierarchy, bp.RangeGrid("v", "w"))):
        shape = (10**6, 1) if kind is SmoothHierarchy else (1000, 1000)
        mechanism = made(kind, query, policy(shape, bp.AddRemove()))
        assert mechanism.certify(policy(shape, bp.AddRemove())).epsilon == 1
