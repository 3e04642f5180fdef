"""Pictures of results: one for every kind, few enough points, and names that cannot do harm."""

from __future__ import annotations

import json

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.domain import Domain
from blowfish_privacy.results import Result
from blowfish_privacy.studio.charts.counts import counts_picture, heat_map
from blowfish_privacy.studio.charts.look import MOST_POINTS, with_interval
from blowfish_privacy.studio.charts.results import pictures_of
from blowfish_privacy.testing.seeded import SeededSource

REGIONS = [f"region {number}" for number in range(8)]
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def session():
    generator = np.random.default_rng(5)
    frame = {
        "age": np.clip(generator.normal(45, 15, 3000), 0, 99).astype(int),
        "wage": np.clip(generator.gamma(2, 30, 3000), 0, 299).astype(int),
        "sex": generator.choice(["Female", HOSTILE], 3000),
        "region": generator.choice(REGIONS, 3000),
        "weight": generator.uniform(0, 10, 3000),
    }
    domain = bp.Domain(
        age=bp.Integer(0, 99),
        wage=bp.Integer(0, 299),
        sex=bp.Categorical(["Female", HOSTILE]),
        region=bp.Categorical(REGIONS),
        weight=bp.Binned([0, 1, 2, 4, 8, 10]),
    )
    secrets = bp.PerAttribute(
        age=bp.DistanceThreshold(5), wage=bp.DistanceThreshold(20), sex=bp.FullDomain(), region=bp.Public(),
        weight=bp.FullDomain(),
    )  # fmt: skip
    pandas = pytest.importorskip("pandas")
    policy = bp.Policy(domain, secrets=secrets)
    return bp.Session(pandas.DataFrame(frame), policy, budget="100", source=SeededSource(1))


QUERIES = {
    "histogram": bp.Histogram("age"),
    "bars": bp.Histogram("weight"),
    "names": bp.Histogram("sex"),
    "exact": bp.Histogram("region"),
    "lines": bp.Histogram("age", "sex"),
    "map": bp.Histogram("age", "wage"),
    "three": bp.Histogram("region", "sex", "weight"),
    "tables": bp.Tables([["age"], ["region", "sex"], ["age", "sex"]]),
    "cumulative": bp.Cumulative("wage"),
    "bins": bp.Cumulative("weight"),
    "quantiles": bp.Quantiles("wage", [0.1, 0.5, 0.9]),
    "ranges": bp.Ranges("wage", [(0, 20), (21, 100)]),
    "grid": bp.RangeGrid("age", "wage"),
    "mean": bp.Mean("wage"),
    "means": bp.Mean("wage").by("region"),
    "groups": bp.Histogram("weight").by("region"),
    "clusters": bp.KMeans(["age", "wage"], k=3),
    "one cluster": bp.KMeans(["age"], k=2),
    "synthetic": bp.Synthetic(["age", "sex", "region", "weight"], workload=2),
}


@pytest.fixture(scope="module")
def drawn(session):
    return {name: pictures_of(session.release(query, epsilon="1", name=name)) for name, query in QUERIES.items()}


def points(option):
    return [len(series["data"]) for series in option["series"]]


@pytest.mark.parametrize("name", QUERIES)
def test_every_kind_of_result_has_pictures(drawn, name):
    pictures = drawn[name]
    assert pictures
    for picture in pictures:
        json.dumps(picture.option, allow_nan=False)
        assert picture.title
        assert picture.option["aria"]["label"]["description"]
        assert max(points(picture.option)) <= MOST_POINTS
        assert picture.height >= 120


def test_every_kind_of_result_of_the_package_is_drawn(drawn):
    assert {*Result.kinds} <= {*QUERIES, "number", "vector"}


def test_intervals_are_around_the_values(drawn):
    bars, whiskers = drawn["bars"][0].option["series"]
    for bar, (low, *_, high) in zip(bars["data"], whiskers["data"], strict=True):
        assert low < bar["value"] < high
        assert "95 % interval" in bar["said"]
    line, lower, width = drawn["cumulative"][0].option["series"]
    for at, below, across in zip(line["data"], lower["data"], width["data"], strict=True):
        assert below <= at["value"] + 1e-3 <= below + across + 2e-3


def test_what_is_exact_has_no_intervals(drawn):
    (picture,) = drawn["exact"]
    assert len(picture.option["series"]) == 1
    assert picture.note == "Exact counts, without noise."


def test_names_are_no_html(drawn):
    said = [point["said"] for point in drawn["names"][0].option["series"][0]["data"]]
    assert any("&lt;img" in words for words in said)
    assert not any("<img" in words for words in said)


def test_means_by_group_share_a_picture(drawn):
    (picture,) = drawn["means"]
    assert picture.title == "By region"
    assert len(picture.option["series"][0]["data"]) == len(REGIONS)


def test_a_map_adds_up_neighbours_where_it_is_large(drawn, session):
    (picture,) = drawn["map"]
    assert "adds up" in picture.note
    assert sum(point["value"][2] for point in picture.option["series"][0]["data"]) > 0


def test_many_values_are_thinned_and_it_is_said():
    policy = bp.Policy(bp.Domain(at=bp.Integer(0, 9999)), secrets=bp.DistanceThreshold(10))
    session = bp.Session(bp.Counts(np.ones(10_000, dtype=np.int64)), policy, budget=1, source=SeededSource(2))
    (picture,) = pictures_of(session.release(bp.Histogram("at"), epsilon="0.5"))
    assert picture.note.endswith("2,000 of 10,000 values are shown, evenly spaced; the files have all.")
    assert points(picture.option) == [2000] * 3


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ((1234.4, 1220.1, 1248.7), "1,234 (95 % interval 1,220 to 1,249)"),
        ((59.584, 59.564, 59.604), "59.584 (95 % interval 59.564 to 59.604)"),
        ((249_381_009, 219_423_686, 279_338_332), "249,000,000 (95 % interval 219,000,000 to 279,000,000)"),
        ((0.5, -0.7, 1.7), "0.5 (95 % interval -0.7 to 1.7)"),
        ((42.0, 42.0, 42.0), "42"),
        ((1.25, 1.25, 1.25), "1.25"),
    ],
)
def test_a_number_has_as_many_digits_as_its_interval_leaves(bounds, said):
    assert with_interval(*bounds) == said


def test_one_number_is_also_written_out(drawn):
    assert drawn["mean"][0].note.startswith("mean: ")


def test_values_without_an_order_are_bars_and_others_lines(session):
    names = session.release(bp.Histogram("region", "sex"), epsilon=1)
    (picture,) = pictures_of(names)
    kinds = [each["type"] for each in picture.option["series"]]
    assert kinds == ["bar", "bar", "boxplot", "boxplot"]
    assert "Whiskers" in picture.note
    (picture,) = pictures_of(session.release(bp.Histogram("age", "sex"), epsilon=1))
    assert {each["type"] for each in picture.option["series"]} == {"line"}


def test_many_values_without_an_order_are_bars_too():
    domain = bp.Domain(place=bp.Categorical([f"place {number}" for number in range(70)]))
    counts = np.arange(70.0)
    picture = counts_picture("places", domain, counts, counts - 1, counts + 1)
    assert [each["type"] for each in picture.option["series"]] == ["bar", "boxplot"]
    wide = bp.Domain(place=domain.attributes[0], sex=bp.Categorical(["Female", "Male"]))
    picture = counts_picture("places", wide, np.ones(140), np.zeros(140), np.ones(140))
    assert [each["type"] for each in picture.option["series"]] == ["heatmap"]


def test_numbers_on_a_map_grow_upwards_and_names_are_a_list(session):
    (numbers,) = pictures_of(session.release(bp.Histogram("age", "wage"), epsilon=1))
    assert numbers.option["yAxis"]["inverse"] is False
    (names,) = pictures_of(session.release(bp.Histogram("region", "sex", "weight"), epsilon=1))
    assert names.option["yAxis"]["inverse"] is True


WEEKS = [bp.Cumulative("day"), bp.Median("day"), bp.Ranges("day", [("2020-01-01", "2020-01-12")])]


@pytest.mark.parametrize("query", WEEKS, ids=lambda query: type(query).__name__)
def test_weeks_of_which_the_first_is_cut_are_drawn(query):
    """The week of 2020-01-01 began in the year before; a range cannot begin there."""
    domain = bp.Domain(day=bp.Date("2020-01-01", "2020-06-30", step="week"))
    table = bp.Counts(10 * np.arange(1, 1 + domain["day"].size))
    session = bp.Session(table, bp.Policy(domain, secrets=bp.DistanceThreshold(2)), budget=1, source=SeededSource(3))
    result = session.release(query, epsilon=1)
    line, lower, width = pictures_of(result)[-1].option["series"]
    share, low, high = (100 * each for each in result.shares())
    np.testing.assert_allclose([point["value"] for point in line["data"]], share, rtol=1e-3)
    np.testing.assert_allclose(lower["data"], low, rtol=1e-3)
    np.testing.assert_allclose(np.add(lower["data"], width["data"]), high, rtol=1e-3)
    # The same picture for print.
    figure = result.figure()
    figure.canvas.draw()
    assert {"2020-01", "2020-06"} <= {label.get_text() for label in figure.axes[-1].get_xticklabels()}


def written(picture):
    """What is written into the squares of a map, row by row."""
    series = picture.option["series"][0]
    return [each["value"][3] for each in series["data"]]


def test_squares_show_the_digits_that_their_interval_leaves():
    domain = Domain(a=bp.Categorical(["x", "y"]), b=bp.Categorical(["u", "v"]))
    counts = np.array([[1103.4375, 24.4375], [-3.2, 0.5]])
    assert written(heat_map("it", domain, counts, half=19.0)) == ["1,103", "24", "0", "0"]
    assert written(heat_map("it", domain, counts, half=0.19)) == ["1,103.44", "24.44", "0", "0.50"]
    assert written(heat_map("it", domain, counts)) == ["1,103.44", "24.4375", "0", "0.5"]
    ends = counts.reshape(-1) - 19, counts.reshape(-1) + 19
    assert written(heat_map("it", domain, counts, bounds=lambda _: ends))[:2] == ["1,103", "24"]
    # Turned upright, each count keeps its own interval.
    tall = Domain(a=bp.Categorical(["x", "y", "z"]), b=bp.Categorical(["u", "v"]))
    values, half = np.full((3, 2), 24.4375), np.array([[19, 0.19], [19, 0.19], [19, 0.19]])
    assert written(heat_map("it", tall, values, half=half)) == ["24", "24", "24", "24.44", "24.44", "24.44"]


def test_labels_of_a_map_never_lie_over_one_another():
    picture = heat_map("it", Domain(a=bp.Integer(0, 3), b=bp.Integer(0, 11)), np.full((4, 12), 813.741), half=160.0)
    assert picture.option["series"][0]["labelLayout"] == {"hideOverlap": True}
    narrow, wide = (each["option"]["series"][0]["label"]["show"] for each in picture.option["media"])
    assert (narrow, wide) == (False, True)
