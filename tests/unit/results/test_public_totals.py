"""Grids, cumulative histograms, clusters and groups meet public totals, with the error that they state."""

from __future__ import annotations

import json

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.mechanisms.constraints import Correction
from blowfish_privacy.mechanisms.grid.grid_family import over_all_rectangles
from blowfish_privacy.release import document, verification

PLANE = bp.Domain(v=bp.Integer(0, 5), w=bp.Integer(0, 3))
TABLE = np.random.default_rng(1).poisson(9, (6, 4))
LINE = bp.Domain(v=bp.Integer(0, 29))
COUNTS = np.random.default_rng(2).poisson(9, 30)
BLOCKS = bp.Partition(widths={"v": 3})


def release(domain, counts, query, mechanism=None, secrets=BLOCKS, known=()):
    policy = bp.Policy(domain, secrets=secrets, known=known)
    return bp.Session(bp.Counts(counts), policy, budget=9).release(query, epsilon="0.5", mechanism=mechanism)


def test_a_known_sex_table_is_met():
    """The Adult census has 16,192 women, which everybody knows."""
    domain = bp.Domain(age=bp.Integer(17, 90), sex=bp.Categorical(["Female", "Male"]))
    ages = np.random.default_rng(0).dirichlet(np.ones(74), size=2)
    counts = np.stack([np.random.default_rng(s).multinomial(n, ages[s]) for s, n in enumerate((16192, 32650))], axis=1)
    known = [bp.KnownMarginal("sex", counts={"Female": 16192, "Male": 32650})]
    result = release(domain, counts, bp.Histogram("age", "sex"), secrets=bp.FullDomain(), known=known)
    assert result.noisy.reshape(counts.shape).sum(axis=0).tolist() != [16192, 32650]
    assert result.counts.sum(axis=0) == pytest.approx([16192, 32650])
    assert result.consistent().sum(axis=0).tolist() == [16192, 32650]
    rows = [*result.rows()]
    # Up to half a unit of the last digit in each of 74 cells.
    assert sum(row[2] for row in rows if row[1] == "Female") == pytest.approx(16192, abs=74 * 0.05)
    assert sum(row[3] for row in rows if row[1] == "Female") == 16192
    said = " ".join(result.remarks())
    assert "every public total, which leaves a typical error of " in said
    assert " for a cell. Whole counts (“consistent”) are biased." in said


@pytest.mark.parametrize("mechanism", ["grid-flow", "grid-hierarchy", "laplace"])
def test_the_error_of_a_grid_is_exact_and_never_larger(mechanism):
    result = release(PLANE, TABLE, bp.RangeGrid("v", "w"), mechanism)
    assert result.counts.reshape(2, 3, 4).sum(axis=(1, 2)) == pytest.approx(TABLE.reshape(2, 3, 4).sum(axis=(1, 2)))
    raw, error = result.release.mechanism.expected_error(), result.error()
    if mechanism == "laplace":
        assert error.mse == pytest.approx(raw.mse * (1 - 2 / 24))
        return
    assert result.counts.min() >= 0
    error = error.guaranteed
    assert error.mse <= raw.mse
    covariance = result.release.mechanism.spread(np.eye(24))
    parts = np.kron(np.eye(2), np.ones(12))
    gain = covariance @ parts.T @ np.linalg.pinv(parts @ covariance @ parts.T, rcond=1e-9)
    left = covariance - gain @ parts @ covariance
    for spread, stated in ((covariance, raw.mse), (left, error.mse)):
        powers, turned = np.linalg.eigh((spread + spread.T) / 2)
        columns = (turned * np.sqrt(np.maximum(powers, 0))).T.reshape(-1, 6, 4)
        assert sum(map(over_all_rectangles, columns)) == pytest.approx(stated, rel=1e-6)


def test_all_rectangles_are_those_of_a_loop():
    errors = np.random.default_rng(3).normal(size=(4, 3))
    squares = [
        errors[a:b, c:d].sum() ** 2
        for a in range(4)
        for b in range(a + 1, 5)
        for c in range(3)
        for d in range(c + 1, 4)
    ]
    assert over_all_rectangles(errors) == pytest.approx(np.mean(squares))


@pytest.mark.parametrize("mechanism", ["smooth-hierarchy", "ordered", "ordered-hierarchical"])
@pytest.mark.parametrize("secrets", [bp.DistanceThreshold(3), bp.FullDomain()])
def test_a_cumulative_histogram_meets_a_known_count(mechanism, secrets):
    known = [bp.KnownCount({"v": (10, 17)}, int(COUNTS[10:18].sum()))]
    result = release(LINE, COUNTS, bp.Cumulative("v"), mechanism, secrets=secrets, known=known)
    for sums in (result.linear, result.cumulative):
        assert sums[17] - sums[9] == pytest.approx(known[0].count)
        assert sums[-1] == COUNTS.sum()
    assert result.range(10, 17) == pytest.approx(known[0].count)
    assert np.diff(result.cumulative).min() > -1e-9
    differences = np.eye(30) - np.eye(30, k=-1)
    made = result.release.mechanism
    covariance = differences @ made.covariance() @ differences.T
    assert made.spread(np.eye(30)) == pytest.approx(covariance, abs=1e-6 * np.abs(covariance).max())
    correction = Correction(result.release.constraints, made.spread)
    taken = correction.taken_away() @ correction.taken_away().T
    assert np.linalg.eigvalsh(covariance - taken).min() > -1e-6 * np.abs(covariance).max()


def test_counts_up_to_a_value_that_are_known_have_no_error():
    known = [bp.KnownCount({"v": (0, 9)}, int(COUNTS[:10].sum()))]
    result = release(LINE, COUNTS, bp.Cumulative("v"), secrets=bp.DistanceThreshold(3), known=known)
    wrong = result.error().by_value()
    assert np.flatnonzero(wrong == 0).tolist() == [9, 29]
    assert result.cumulative[9] == pytest.approx(known[0].count)


def test_blocks_that_are_no_ranges_are_met_too():
    even = bp.Partition(blocks={"v": [list(range(0, 30, 2)), list(range(1, 30, 2))]})
    for mechanism in ("smooth-hierarchy", "laplace"):
        result = release(LINE, COUNTS, bp.Cumulative("v"), mechanism, secrets=even)
        assert json.loads(result.text)["public_totals"] == [COUNTS[::2].sum(), COUNTS[1::2].sum()]
        assert np.diff(result.values, prepend=0)[::2].sum() == pytest.approx(COUNTS[::2].sum())
        assert result.values[-1] == pytest.approx(COUNTS.sum())


def test_noisy_sums_up_to_each_value_state_the_error_left():
    result = release(LINE, COUNTS, bp.Cumulative("v"), "laplace")
    assert result.values[2::3] == pytest.approx(np.cumsum(COUNTS)[2::3])
    raw = result.release.mechanism.expected_error()
    assert [row[-1] for row in result.rows()] == pytest.approx([raw.rmse, raw.rmse, 0] * 10, rel=1e-3)
    assert result.error().mse == pytest.approx(raw.mse * 2 / 3)


def test_what_is_in_the_answer_is_not_published_twice():
    assert "public_totals" not in release(LINE, COUNTS, bp.Cumulative("v")).text


@pytest.mark.parametrize("mechanism", ["soft-grid", "soft-mesh"])
def test_clusters_weigh_blocks_by_their_counts(mechanism):
    domain, counts = bp.Domain(v=bp.Integer(0, 29), w=bp.Integer(0, 9)), np.outer(COUNTS, np.arange(10))
    secrets = bp.Partition(widths={"v": 10})
    result = release(domain, counts, bp.KMeans(["v", "w"], 2), mechanism, secrets=secrets)
    block = np.rint(result.points.places[:, 0]).astype(int) // 10
    assert np.bincount(block, result.points.weights) == pytest.approx(counts.reshape(3, -1).sum(axis=1))
    assert result.sizes.sum() == pytest.approx(counts.sum())


def test_groups_and_some_records_have_totals_of_their_own():
    domain = bp.Domain(v=bp.Integer(0, 5), z=bp.Categorical(["a", "b"]))
    counts = TABLE[:, :2]
    secrets = bp.PerAttribute(v=BLOCKS, z=bp.Public())
    known = [bp.KnownCount({"v": (0, 2)}, int(counts[:3].sum()))]
    groups = release(domain, counts, bp.Histogram("v").by("z"), secrets=secrets, known=known)
    assert verification.problems(groups.text) == []
    for number, result in enumerate(groups.values()):
        assert result.consistent().reshape(2, 3).sum(axis=1).tolist() == counts[:, number].reshape(2, 3).sum(1).tolist()
    some = release(domain, counts, bp.Histogram("v").where(v=(0, 2), z="a"), secrets=secrets, known=known)
    assert verification.problems(some.text) == []
    assert some.consistent()[3:].tolist() == [0, 0, 0]
    assert some.counts[3:] == pytest.approx([0, 0, 0])
    assert some.consistent().sum() == counts[:3, 0].sum()


@pytest.mark.parametrize("forged", [[1, 2], [-1, 10_000], "many", [1.5, 2.5], [[3], [4]], None, [10**30, 1]])
def test_totals_that_cannot_be_right_are_noticed(forged):
    result = release(PLANE, TABLE, bp.Histogram("v", "w"))
    body = json.loads(result.text)
    assert verification.problems(document.dumps(body)) == []
    body["public_totals"] = forged
    assert any("public totals" in problem for problem in verification.problems(document.dumps(body)))


def test_totals_that_are_not_public_are_noticed():
    result = release(PLANE, TABLE, bp.Histogram("v", "w"), secrets=bp.FullDomain())
    body = json.loads(result.text)
    assert "public_totals" not in body
    body["public_totals"] = [int(TABLE[:3].sum()), int(TABLE[3:].sum())]
    assert any("public totals" in problem for problem in verification.problems(document.dumps(body)))


def test_documents_of_before_have_no_totals_and_are_sound():
    body = json.loads(release(PLANE, TABLE, bp.Histogram("v", "w")).text)
    del body["public_totals"]
    text = document.dumps(body)
    assert verification.problems(text) == []


def test_a_plan_says_what_it_will_publish():
    policy = bp.Policy(PLANE, secrets=BLOCKS)
    said = bp.Session(bp.Counts(TABLE), policy, budget=1).plan(bp.Histogram("v", "w"), epsilon="0.5").explain()
    assert "Published exactly beside it: how many records are in each of the 2 blocks of “v” and “w”" in said
    assert "Tables and pictures will meet every public total, which leaves a typical error of" in said


def test_a_plan_says_which_totals_its_noisy_answer_has_exactly():
    secrets = bp.PerAttribute(v=bp.Partition(widths={"v": 3}), w=bp.FullDomain())
    session = bp.Session(bp.Counts(TABLE), bp.Policy(PLANE, secrets=secrets), budget=1)
    for query in (bp.Cumulative("v"), bp.Median("v")):
        plan = session.plan(query, epsilon="0.5")
        assert f"Published exactly in it: {plan.mechanism.without_noise()}." in plan.explain()
        assert "2 stretches of “v” that no secret pair leaves" in plan.explain()
