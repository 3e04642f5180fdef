"""Adaptive leaves: what a look may change by, which leaves follow from it, and when it is worth it."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.mechanisms import AdaptiveLeaves, SmoothHierarchy
from blowfish_privacy.mechanisms.ordered.leaf_choice import leaf_ends, pays, widest
from blowfish_privacy.mechanisms.ordered.roughness import Roughness
from blowfish_privacy.mechanisms.ordered.typical import over_all_ranges
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.testing.seeded import SeededSource
from effort import examples

QUERY = bp.Cumulative("v")


def policy(values, theta=None, **options):
    secrets = bp.FullDomain() if theta is None else bp.DistanceThreshold(theta)
    return bp.Policy(bp.Domain(v=bp.Integer(0, values - 1)), secrets=secrets, **options)


def calibrated(size, epsilon, records, **options):
    return AdaptiveLeaves.calibrated(QUERY, policy(size, **options), epsilon=Fraction(epsilon), records=records)


def histogram(size, table):
    return np.bincount(table, minlength=size)


def roughness(counts, width):
    """The definition, bin by bin."""
    found = []
    for start in range(0, len(counts), width):
        part = [int(count) for count in counts[start : start + width]]
        own, total = len(part), sum(part)
        found.append(isqrt(sum((own * sum(part[:i]) - i * total) ** 2 for i in range(1, own))))
    return found


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20), st.integers(2, 9))
@settings(max_examples=examples(200), deadline=None)
def test_roughness_is_the_root_of_the_sum_of_squared_deviations(counts, width):
    bins = Roughness(width, Fraction(1), 0)
    assert bins.answer(np.array(counts), sum(counts)).tolist() == roughness(counts, width)
    # Numbers of any length where squares leave 64 bits: the same answers.
    assert bins.answer(np.array(counts), 10**12).tolist() == roughness(counts, width)
    assert bins.rows(len(counts)) == len(roughness(counts, width))


def test_even_records_are_not_rough_and_roughness_is_the_error_of_interpolating():
    even, spike = np.full(64, 7), np.eye(1, 64, dtype=np.int64)[0] * 7000
    assert Roughness(64, Fraction(1), 0).answer(even, 448).tolist() == [0]
    (found,) = Roughness(64, Fraction(1), 0).answer(spike, 7000).tolist()
    missed = np.cumsum(spike) - np.interp(np.arange(1, 65), [0, 64], [0, 7000])
    assert found / 64**1.5 == pytest.approx(np.sqrt(np.mean(missed**2)), rel=1e-6)


@pytest.mark.parametrize(("size", "width"), [(2, 2), (3, 2), (4, 2), (5, 2), (5, 3), (6, 3), (7, 4), (8, 4), (5, 8)])
def test_no_move_changes_roughness_by_more_than_is_stated(size, width):
    bins = Roughness(width, Fraction(1), 0)
    worst = 0
    for others in combinations_with_replacement(range(size), 3):
        for x, y in permutations(range(size), 2):
            tables = [histogram(size, [*others, place]) for place in (x, y)]
            first, second = (bins.answer(table, 4) for table in tables)
            change = int(np.abs(first - second).sum())
            assert change <= bins.change(x, y, size) <= bins.most(size)
            worst = max(worst, change)
    # The bound is no idle one: rounding takes at most one from each of two bins.
    assert worst >= bins.most(size) - 2


@given(st.data(), st.integers(3, 12), st.integers(2, 6))
@settings(max_examples=examples(150), deadline=None)
def test_no_move_among_many_records_changes_roughness_by_more_than_is_stated(data, size, width):
    counts = np.array(data.draw(st.lists(st.integers(1, 400), min_size=size, max_size=size)))
    x, y = data.draw(st.permutations(range(size)))[:2]
    moved = counts.copy()
    moved[x] -= 1
    moved[y] += 1
    bins = Roughness(width, Fraction(1), 0)
    first, second = (bins.answer(each, int(counts.sum())) for each in (counts, moved))
    assert np.abs(first - second).sum() <= bins.change(x, y, size) <= bins.most(size)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 21])
@pytest.mark.parametrize("width", [2, 4, 8])
def test_the_largest_change_is_that_of_some_move(size, width):
    bins = Roughness(width, Fraction(1), 0)
    moves = [bins.change(x, y, size) for x, y in permutations(range(size), 2)]
    assert bins.most(size) == max(moves, default=0)


def noise_free(mechanism, counts, look):
    """The exact rows that are measured on the leaves that a given look leads to, and the scale of each."""
    ends = mechanism.leaves(look)
    hierarchy = mechanism.hierarchy(ends)
    rows = [level.answer(mechanism.sums(counts, ends)) for level in hierarchy.levels]
    scales = [np.full(len(row), float(level.scale)) for row, level in zip(rows, hierarchy.levels, strict=True)]
    return np.concatenate(rows), np.concatenate(scales)


@given(st.data(), st.integers(3, 9), st.sampled_from(["1/2", "1", "3"]))
@settings(max_examples=examples(100), deadline=None)
def test_both_steps_together_lose_no_more_than_the_certificate(data, size, epsilon):
    mechanism = calibrated(size, epsilon, 6)
    assert mechanism.certify(policy(size)).amount == Fraction(epsilon)
    counts = np.array(data.draw(st.lists(st.integers(1, 5), min_size=size, max_size=size)))
    x, y = data.draw(st.permutations(range(size)))[:2]
    moved = counts.copy()
    moved[x] -= 1
    moved[y] += 1
    looks = [np.concatenate(mechanism.roughness(each)) for each in (counts, moved)]
    scales = np.concatenate([np.full(level.rows(size), float(level.scale)) for level in mechanism.look])
    lost = float((np.abs(looks[0] - looks[1]) / scales).sum())
    # Whatever noise made of the look, the second step is about the same leaves in both tables.
    seen = np.array(data.draw(st.lists(st.integers(-200, 200), min_size=len(scales), max_size=len(scales))))
    (first, noise), (second, _) = (noise_free(mechanism, each, seen) for each in (counts, moved))
    lost += float((np.abs(first - second) / noise).sum())
    assert lost <= float(mechanism.loss((x,), (y,))) + 1e-9
    assert mechanism.loss((x,), (y,)) <= Fraction(epsilon)


def test_the_hierarchy_loses_what_is_stated_on_every_number_of_leaves():
    mechanism = calibrated(4096, "0.1", 20_000)
    for many in (2, 3, 64, 91, 1000, 4096):
        hierarchy = mechanism.hierarchy(np.arange(1, many + 1))
        assert hierarchy.most(many - 1) == 2 / mechanism.scale


def test_groups_of_records_and_known_facts_divide_the_budget():
    for rows in (1, 3):
        made = AdaptiveLeaves.calibrated(QUERY, policy(50, rows_per_person=rows), epsilon=Fraction(1), records=900)
        assert made.certify(policy(50, rows_per_person=rows)).amount == 1
    assert made.certify(policy(50)).amount == Fraction(1, 3)


def test_bins_are_cut_from_the_widest_to_the_narrowest():
    look = (Roughness(8, Fraction(1), 10), Roughness(2, Fraction(1), 5))
    # Twenty values: bins of 8, 8 and 4, and ten of 2. The second wide bin is rough, and so is its third part; that
    # the first bin's first part is rough changes nothing, since the bin was not cut.
    noisy = np.array([0, 11, 10, *[9, 0, 0, 0], *[0, 0, 6, 5], *[7, 0]])
    assert leaf_ends(look, noisy, 20).tolist() == [8, 10, 12, 13, 14, 16, 20]
    assert leaf_ends(look, np.full(13, 99), 20).tolist() == [*range(1, 21)]
    assert leaf_ends(look, np.full(13, -99), 20).tolist() == [8, 16, 20]


def test_the_widest_bins_are_fewer_where_the_signal_is_weaker():
    assert [widest(4096, Fraction(signal)) for signal in (800, 3000, 10_000)] == [64, 32, 16]
    assert widest(100_000, Fraction(800)) == 2048
    assert widest(3, Fraction(1)) == 2


@pytest.mark.parametrize(
    ("size", "theta", "signal", "wanted"),
    [
        (4096, 4095, 1000, True),
        (4096, 4095, 500, False),
        (4096, 4095, 1100, False),
        (4096, 100, 1000, False),
        (4096, 2000, 1000, True),
        (512, 511, 1000, False),
        (100_000, 99_999, 10_000, False),
    ],
)
def test_a_look_is_taken_where_public_numbers_say_that_it_pays(size, theta, signal, wanted):
    assert pays(size, theta, Fraction(signal)) is wanted
    options = {"epsilon": Fraction(1, 10), "records": 10 * signal}
    assert AdaptiveLeaves.suits(QUERY, policy(size, theta), **options) is wanted


def test_no_look_is_taken_where_it_cannot_be():
    options = {"epsilon": Fraction(1, 10), "records": 10_000}
    assert AdaptiveLeaves.suits(QUERY, policy(4096), **options)
    assert not AdaptiveLeaves.suits(QUERY, policy(4096, size="unknown"), **{**options, "records": None})
    blocks = bp.Policy(bp.Domain(v=bp.Integer(0, 4095)), secrets=bp.Partition(widths={"v": 1024}))
    assert not AdaptiveLeaves.suits(QUERY, blocks, **options)
    with pytest.raises(bp.RefusalError, match="public number of records"):
        AdaptiveLeaves.calibrated(QUERY, policy(4096, size="unknown"), epsilon=Fraction(1), records=None)


def test_it_is_chosen_by_default_but_not_for_an_error_that_must_be_guaranteed():
    session = bp.Session(bp.Counts(np.full(4096, 2)), policy(4096), budget=1)
    plan = session.plan(QUERY, epsilon="0.1")
    assert plan.mechanism.name == "adaptive-leaves"
    guaranteed = session.plan(QUERY, error=plan.expected_error().rmse)
    assert guaranteed.mechanism.name == "smooth-hierarchy"
    assert guaranteed.epsilon <= Fraction(1, 10)


def test_a_release_is_read_back_and_answers_ranges(tmp_path):
    counts = np.random.default_rng(5).multinomial(9_000, np.full(4096, 1 / 4096))
    session = bp.Session(bp.Counts(counts), policy(4096), budget=1)
    result = session.release(QUERY, epsilon="0.1")
    assert result.release.mechanism.name == "adaptive-leaves"
    result.save(tmp_path / "release.json")
    again = bp.load(tmp_path / "release.json")
    assert (again.cumulative == result.cumulative).all()
    assert result.cumulative[-1] == 9_000
    assert (np.diff(result.cumulative) >= -1e-9).all()
    assert result.error().rmse < result.error().guaranteed.rmse


def test_damaged_documents_are_refused():
    made = calibrated(100, 1, 5000)
    for change in ({"look": [{"width": 3, "scale": "1", "limit": 1}, {"width": 2, "scale": "1", "limit": 1}]},):
        with pytest.raises(bp.SpecError, match="damaged"):
            AdaptiveLeaves.from_document(QUERY, policy(100), {**made.to_document(), **change}, 5000)
    noisy = made.measure(np.full(100, 50), SeededSource(1))
    assert made.fits(noisy)
    assert not made.fits(noisy[:-1])
    assert not made.fits(noisy[:3])


def spiky(size, records):
    """Most records at a few values: between looks it costs most to overlook them."""
    counts = np.zeros(size, dtype=np.int64)
    counts[37::128] = records // len(counts[37::128])
    counts[0] += records - counts.sum()
    return counts


@pytest.mark.parametrize("shape", ["even", "hill", "spiky"])
def test_the_linear_error_is_below_the_guaranteed_one(shape):
    # Thirty releases with fixed bits: nothing here can fail by chance.
    size, records = 2048, 20_000
    x = np.arange(size)
    hill = np.diff(np.rint(records / (1 + np.exp(-(np.append(-1, x) - 800) / 90))).astype(np.int64))
    counts = {"even": np.full(size, 10), "hill": hill, "spiky": spiky(size, records)}[shape]
    made, source = calibrated(size, "0.1", int(counts.sum())), SimulationSource("guaranteed")
    truth = np.cumsum(counts)
    errors = [
        over_all_ranges(np.append(0.0, made.estimate(made.measure(counts, source), int(counts.sum())) - truth))
        for _ in range(30)
    ]
    assert np.mean(errors) < made.expected_error().mse


def test_smooth_data_are_answered_far_better_and_rough_data_no_worse():
    # Forty releases each with fixed bits; the ratios of mean squared errors were 0.4 to 0.6 and about 1.
    size, records = 4096, 10_000
    x = np.arange(size)
    ends = np.rint(records / (1 + np.exp(-(x - 1500) / 250))).astype(np.int64)
    smooth = np.diff(np.append(ends, records))
    for counts, most in ((smooth, 0.8), (spiky(size, int(smooth.sum())), 1.3)):
        truth, found = np.cumsum(counts), []
        for kind in (AdaptiveLeaves, SmoothHierarchy):
            made = kind.calibrated(QUERY, policy(size), epsilon=Fraction(1, 10), records=int(counts.sum()))
            source = SimulationSource("accuracy")
            estimates = (made.ordered_estimate(made.measure(counts, source), int(counts.sum())) for _ in range(40))
            found.append(np.mean([over_all_ranges(np.append(0.0, each - truth)) for each in estimates]))
        assert found[0] < most * found[1], (counts.max(), found)
