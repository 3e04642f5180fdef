"""Sets of tables as results: what users do with them after a release."""

from __future__ import annotations

import csv
import io
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.mechanisms.constraints import Correction
from blowfish_privacy.mechanisms.grid.grid_family import over_all_rectangles
from blowfish_privacy.mechanisms.tables import agreeing
from blowfish_privacy.release import document, verification
from blowfish_privacy.results import from_text
from blowfish_privacy.results.pictures.figure import drawn_from, png, start_figure
from blowfish_privacy.results.pictures.tables import CountsDrawing, fitting_height, start_panels
from predictable import predictable_bits

DOMAIN = bp.Domain(
    age=bp.Integer(0, 9),
    sex=bp.Categorical(["f", "m"]),
    region=bp.Categorical(["north", "east", "south"]),
)

POLICY = bp.Policy(DOMAIN, secrets=bp.PerAttribute(age=bp.FullDomain(), sex=bp.FullDomain(), region=bp.Public()))

PAIRS = [["age", "sex"], ["region", "age"], ["sex", "region"]]

RECORDS = 2_000


def people():
    """Count people: many are young, and few live in the south."""
    random = np.random.default_rng(5)
    cells = [(10 * random.random(RECORDS) ** 3), 2 * random.random(RECORDS), 3 * random.random(RECORDS) ** 2]
    flat = np.ravel_multi_index([cell.astype(int) for cell in cells], DOMAIN.shape)
    return np.bincount(flat, minlength=DOMAIN.size).reshape(DOMAIN.shape)


def counted(*names):
    axes = [DOMAIN.axis(name) for name in names]
    summed = people().sum(axis=tuple(axis for axis in range(3) if axis not in axes))
    return summed.transpose([sorted(axes).index(axis) for axis in axes])


def released(name="tables", *, epsilon="0.05", tables=PAIRS, policy=POLICY):
    with predictable_bits(name):
        return bp.Session(bp.Counts(people()), policy, budget=1_000).release(bp.Tables(tables), epsilon=epsilon)


@pytest.fixture(scope="module")
def result():
    return released()


@pytest.mark.parametrize("way", ["nonnegative", "whole"])
def test_biased_tables_agree_in_any_order_and_keep_what_is_public(result, way):
    biased = getattr(result, way)()
    assert result["age", "sex"].values.min() < 0 <= biased.values.min()
    assert biased["sex", "age"].values == pytest.approx(biased["age", "sex"].values.T)
    for name in ("age", "sex"):
        sums = [biased[names].values.sum(axis=1 - names.index(name)) for names in biased.tables if name in names]
        assert all(each == pytest.approx(biased[name].values) for each in sums)
    assert biased["region"].values == pytest.approx(counted("region"))
    assert biased["age"].values.sum() == pytest.approx(RECORDS)
    assert biased.tables == result.tables
    assert "biased" in biased.title()
    assert "biased" in biased.remarks()[0]
    assert "biased" not in result.title()
    assert "unbiased" in result.remarks()[0]


def test_whole_numbers_are_whole_and_agree_exactly(result):
    whole = result.whole()
    assert whole["age", "sex"].values.dtype == np.int64
    assert (whole["age", "sex"].values.sum(axis=1) == whole["region", "age"].values.sum(axis=0)).all()
    assert (whole["region"].values == counted("region")).all()
    assert whole["age"].values.sum() == RECORDS


def test_without_a_public_size_the_total_is_estimated_and_still_agrees():
    policy = bp.Policy(DOMAIN, secrets=bp.Attributes(), size="unknown")
    whole = released("size", policy=policy).whole()
    totals = {int(table.values.sum()) for table in whole}
    assert len(totals) == 1
    assert totals != {RECORDS}


def test_the_simulated_error_is_close_to_the_true_one_and_a_wrong_noise_is_noticed(monkeypatch):
    """Some 200 independent errors, of fixed bits; half or twice the noise would change their squares threefold."""
    monkeypatch.setattr(agreeing, "_MOST", 15)
    true, estimated, halved = [], [], []
    cells = [20, 30, 6]
    for number in range(8):
        near = released(f"error {number}").nonnegative()
        true.append([np.mean((near[names].values - counted(*names)) ** 2) for names in near.tables])
        error = near.error()
        estimated.append(error.by_table)
        less = replace(error.mechanism, scale=error.mechanism.scale / 2)
        halved.append(replace(error, mechanism=less).by_table)
    assert 0.7 < np.sum(estimated @ np.array(cells)) / np.sum(true @ np.array(cells)) < 1.4
    assert np.sum(halved @ np.array(cells)) / np.sum(true @ np.array(cells)) < 0.6


def test_the_simulated_error_is_the_same_for_everybody(result):
    first, other = result.nonnegative().error(), from_text(result.text).nonnegative().error()
    assert first.rmse == other.rmse
    assert first.precision < 0.2
    assert first.rmse < result.error().rmse


def test_subtotals_of_biased_tables_have_a_simulated_error(result):
    biased = result.nonnegative()
    value, error = biased["age", "sex"].subtotal(sex="f", age=(0, 4))
    assert value == pytest.approx(biased["age", "sex"].values[:5, 0].sum())
    assert error == pytest.approx(result["age", "sex"].subtotal(sex="f", age=(0, 4))[1], rel=0.6)
    assert biased["sex", "region"].subtotal(region="north")[1] == pytest.approx(0, abs=1e-9)
    low, high = biased["age"].interval("0.9")
    assert (high - low > 0).all()
    with pytest.raises(bp.QueryError, match="between 0 and 1"):
        biased["age"].interval(2)


def test_progress_is_told_while_errors_are_simulated():
    told = []

    class Task:
        def report(self, share):
            told.append(share)

        def end(self):
            told.append("end")

    class Sink:
        def begin(self, title):
            told.append(title)
            return Task()

    biased = released().nonnegative()
    with bp.progress_to(Sink()):
        biased.error().rmse  # noqa: B018
    assert "Simulating the error of tables" in told
    assert told[-1] == "end"
    assert told[-2] == 1.0


def test_the_csv_of_a_set_has_every_cell_of_every_table(result):
    for shown in (result, result.whole()):
        rows = list(csv.DictReader(io.StringIO(shown.csv().decode())))
        assert list(rows[0]) == ["table", "age", "sex", "region", "count", "typical_error"]
        assert len(rows) == 20 + 30 + 6
        females = sum(float(row["count"]) for row in rows if row["table"] == "age x sex" and row["sex"] == "f")
        # Up to half a unit of the last digit in each of 10 cells.
        assert females == pytest.approx(shown["sex"].values[0], abs=10 * 0.05)


def test_a_set_is_drawn_side_by_side_and_says_how_many_are_left_out(result):
    figure = result.figure()
    assert [axes.get_title() for axes in figure.axes[:3]] == ["age by sex", "region by age", "sex by region"]
    assert drawn_from(result.text, result.png())
    domain = bp.Domain(**{f"a{number}": bp.Categorical(["x", "y", "z"]) for number in range(6)})
    session = bp.Session(
        bp.Counts(np.ones(domain.shape, dtype=np.int64)), bp.Policy(domain, secrets=bp.Attributes()), budget=1
    )
    many = session.release(bp.Tables.of_ways(2, domain.names), epsilon=1)
    assert "12 of 15 tables" in many.figure().get_suptitle()


PLACES = bp.Domain(
    place=bp.Hierarchy(["state", "county"], {"A": ["a", "b", "c"], "B": ["d"], "C": ["e", "f"]}),
    sex=bp.Categorical(["f", "m"]),
    age=bp.Integer(0, 4),
)


@pytest.mark.parametrize("within", [True, False], ids=["states are public", "places are secret"])
@pytest.mark.parametrize("way", ["nonnegative", "whole"])
def test_levels_of_a_hierarchy_agree(way, within):
    counts = np.random.default_rng(2).integers(0, 4, PLACES.shape)
    place = bp.Within("state") if within else bp.FullDomain()
    policy = bp.Policy(PLACES, secrets=bp.PerAttribute(place=place, sex=bp.FullDomain(), age=bp.FullDomain()))
    asked = [["place@state", "age"], ["place", "sex"], ["place@state", "sex"], ["age", "sex"]]
    with predictable_bits("levels"):
        made = bp.Session(bp.Counts(counts), policy, budget=1).release(bp.Tables(asked), epsilon="0.2")
    biased = getattr(made, way)()
    assert made.values.min() < 0 <= biased.values.min()
    counties = biased["place", "sex"].values
    states = np.stack([counties[:3].sum(axis=0), counties[3], counties[4:].sum(axis=0)])
    assert states == pytest.approx(biased["place@state", "sex"].values)
    assert states.sum(axis=1) == pytest.approx(biased["place@state", "age"].values.sum(axis=1))
    assert counties.sum(axis=0) == pytest.approx(biased["age", "sex"].values.sum(axis=0))
    assert biased["age"].values.sum() == pytest.approx(counts.sum())
    if within:
        true = counts.sum(axis=(1, 2))
        assert states.sum(axis=1) == pytest.approx([true[:3].sum(), true[3], true[4:].sum()])
    assert biased["place@state", "sex"].subtotal(sex="f")[0] == pytest.approx(biased["sex"].values[0])
    rows = list(csv.DictReader(io.StringIO(biased.csv().decode())))
    assert {row["place@state"] for row in rows if row["table"] == "place@state x age"} == {"A", "B", "C"}
    assert biased.error().rmse > 0
    assert biased.png().startswith(b"\x89PNG")


DRAWN = {
    "pyramid": (bp.Domain(age=bp.Integer(0, 99), sex=bp.Categorical(["f$", "m"])), 60.0),
    "pyramid the other way": (bp.Domain(sex=bp.Categorical(["f", "m"]), age=bp.Integer(0, 19)), 60.0),
    "ordered": (bp.Domain(age=bp.Integer(0, 99)), 60.0),
    "short": (bp.Domain(age=bp.Integer(0, 9)), 60.0),
    "names": (bp.Domain(country=bp.Categorical([f"country number {number}" for number in range(100)])), 60.0),
    "exact": (bp.Domain(country=bp.Categorical(["a", "b"]), job=bp.Categorical(["c", "d", "e"])), 0.0),
    "heat map": (bp.Domain(country=bp.Categorical([f"c{n}" for n in range(100)]), hour=bp.Integer(0, 23)), 60.0),
    "three": (bp.Domain(a=bp.Integer(0, 3), b=bp.Categorical(["x", "y"]), c=bp.Integer(0, 5)), 60.0),
}


@pytest.mark.parametrize("case", DRAWN)
def test_every_form_of_table_is_drawn_with_legible_labels(case):
    domain, width = DRAWN[case]
    counts = np.random.default_rng(1).normal(200, 150, domain.shape)
    figure, axes = start_figure(8, fitting_height(domain))
    CountsDrawing(domain, counts, np.full(counts.shape, width)).draw(axes)
    assert png(figure).startswith(b"\x89PNG")
    renderer = figure.canvas.get_renderer()
    for axis in (axes.xaxis, axes.yaxis):
        boxes = [label.get_window_extent(renderer) for label in axis.get_ticklabels() if label.get_text()]
        if axis is axes.yaxis or not axes.get_xticklabels()[0].get_rotation():
            assert not any(one.overlaps(other) for one, other in itertools.pairwise(boxes))


def test_panels_have_room_for_each_table():
    for many in (1, 2, 4, 5, 12):
        _, panels = start_panels(many)
        assert len(panels) == many


def test_a_table_can_be_drawn_alone(result, tmp_path):
    result["age", "sex"].plot(tmp_path / "age.png")
    assert (tmp_path / "age.png").read_bytes().startswith(b"\x89PNG")


# Grids, cumulative histograms, clusters and groups meet public totals, with the error that they state.


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
