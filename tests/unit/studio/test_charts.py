"""The pictures of errors and balances: what they show, and what they say to those who cannot see them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import SpecError
from blowfish_privacy.release import spec
from blowfish_privacy.results import Result
from blowfish_privacy.results.pictures.figure import Drawing
from blowfish_privacy.results.pictures.tables import CountsDrawing
from blowfish_privacy.statements.facts import FactEffect, Outlook
from blowfish_privacy.statements.policy import graph_view, reach
from blowfish_privacy.studio.charts import look
from blowfish_privacy.studio.charts.look import MOST_POINTS, with_interval
from blowfish_privacy.studio.charts.plans import (
    balances,
    by_amount,
    by_part,
    by_size,
    error_bars,
    facts_chart,
    graph_chart,
    graph_height,
    steps_chart,
)
from blowfish_privacy.studio.charts.results import charts_of, heat_map, pictures_of
from blowfish_privacy.studio.entries import declared, position_of
from blowfish_privacy.studio.planning import Planning
from blowfish_privacy.testing.seeded import SeededSource

FILE = """
version: 1
budget: 1.0
policy:
  domain: {age: {integer: [0, 63]}, sex: {categorical: [Female, Male]}}
  secrets: {per_attribute: {age: {threshold: 2}, sex: full}}
  size: 1000
releases:
  - {name: ages, cumulative: age, epsilon: 0.5}
  - {name: tables, tables: [[age], [age, sex]], epsilon: 0.4}
  - {name: sexes, histogram: [sex], epsilon: 0.4}
"""

PLANNING = Planning.of(spec.loads(FILE), Path())


def said(name):
    outcome = PLANNING.outcome(name)
    assert outcome is not None
    assert outcome.said is not None
    return outcome.said


def description(option):
    assert json.dumps(option)
    assert option["aria"]["enabled"]
    return option["aria"]["label"]["description"]


def test_errors_stand_beside_those_of_plain_differential_privacy():
    view = said("ages").accuracy
    option = error_bars(view)
    assert [bar["value"] for bar in option["series"][0]["data"]] == [view["rmse"], view["plain"]]
    assert description(option).startswith("Typical error of a random range: ")


def test_errors_by_size_are_two_lines():
    view = said("ages").by_size
    assert view is not None
    option = by_size(view)
    assert [line["name"] for line in option["series"]] == ["this policy", "plain differential privacy"]
    assert "values" in description(option)


def test_errors_by_table_begin_with_the_largest():
    option = by_part(said("tables").by_part)
    assert option["series"][0]["data"] == sorted(option["series"][0]["data"], reverse=True)
    assert "2 tables" in description(option)


def test_what_is_stated_is_marked_among_other_amounts():
    option = by_amount(said("ages").by_amount)
    (line,) = option["series"]
    assert line["markLine"]["data"] == [{"xAxis": 0.5}]
    assert (option["xAxis"]["min"], option["xAxis"]["max"]) == (0.01, 10)
    assert "epsilon" in description(option)


def test_balances_add_up_to_the_budget():
    rows = PLANNING.shares(["ages", "sexes"])
    assert isinstance(rows, list)
    by_class = {row["pairs"]: row for row in rows}
    assert by_class["age"]["takes"] == {"ages": "1/2"}
    assert by_class["sex"]["takes"] == {"sexes": "2/5"}
    for row in rows:
        assert Fraction(row["spent"]) + sum(map(Fraction, row["takes"].values())) + Fraction(row["left"]) == 1
    option = balances(rows, ["ages", "sexes"], "1", "epsilon")
    assert [each["name"] for each in option["series"]] == ["spent before", "ages", "sexes", "left"]
    assert description(option) == "Of a budget of epsilon 1, age: 0.5 left; sex: 0.6 left."


def test_what_does_not_fit_reaches_beyond_the_budget():
    rows = PLANNING.shares(["ages", "tables", "sexes"])
    assert isinstance(rows, list)
    option = balances(rows, ["ages", "tables", "sexes"], "0.6", "epsilon")
    assert option["xAxis"]["max"] > 0.6


def test_a_preview_is_there_once_other_amounts_are_planned():
    planned = Planning.of(spec.loads(FILE), Path()).outcomes[0].said
    assert planned is not None
    assert planned.preview("epsilon", 0.4) == ""
    assert planned.by_amount
    assert planned.preview("epsilon", 0.4).startswith("typical error about ")
    assert planned.preview("error", planned.accuracy["rmse"] * 2).startswith("takes about epsilon 0.2")
    assert planned.preview("rho", 0.1) == ""


STATED = (
    "epsilon: 1e15",
    "epsilon: 1e-9",
    "epsilon: '1/3'",
    f"epsilon: 0.25{'0' * 300}1",
    "error: 1e-15",
    "error: 1e15",
)


@pytest.mark.parametrize("stated", STATED)
def test_pictures_of_amounts_at_the_ends_of_what_is_taken(stated):
    planning = Planning.of(spec.loads(FILE.replace("epsilon: 0.5", stated)), Path())
    rows, planned = planning.shares(["ages"]), planning.outcomes[0].said
    assert isinstance(rows, list)
    options = [balances(rows, ["ages"], "1", "epsilon")]
    if planned is not None:
        view, others = planned.by_size, planned.by_amount
        options += [
            error_bars(planned.accuracy),
            *([by_size(view)] if view else []),
            *([by_amount(others)] if others else []),
        ]
        assert isinstance(planned.preview("error", 25.0), str)
    for option in options:
        assert json.dumps(option, allow_nan=False)
        assert len(description(option)) < 300


@pytest.mark.parametrize("stated", ["epsilon: 1e400", "epsilon: 1e-300", "error: 1e400", "error: 1e-300"])
def test_amounts_that_no_picture_can_show_are_refused_by_the_file(stated):
    with pytest.raises(SpecError, match="too (large|small)"):
        spec.loads(FILE.replace("epsilon: 0.5", stated))


def test_names_that_every_object_of_javascript_has_are_drawn_as_other_texts():
    names = ["__proto__", "constructor", "a constructor of toString", "constructors"]
    shown = look.chart(described="constructor", xAxis={"data": names}, series=[{":formatter": "x => x.toString()"}])
    drawn = shown["xAxis"]["data"]
    assert [look.plain(each) for each in drawn] == names
    assert not set(drawn) & {"__proto__", "constructor"}
    assert "toString" not in drawn[2]
    assert drawn[3] == "constructors"
    assert shown["series"][0][":formatter"] == "x => x.toString()"
    assert shown["aria"]["label"]["description"] == "constructor"


# The pictures of secrets and of known facts, and the values in them.


DOMAIN = bp.Domain(
    age=bp.Integer(17, 90),
    town=bp.Categorical(["Ash", "Birch", "Cedar", "Dale", "Elm"]),
    wage=bp.Binned([0, 10, "20.5", 100]),
    place=bp.Hierarchy(["state", "county"], {"Bavaria": ["Munich", "Hof"], "Hesse": ["Kassel"]}),
)

POLICY = bp.Policy(
    DOMAIN,
    secrets=bp.PerAttribute(
        age=bp.Partition(blocks=[(17, 24), (25, 90)]),
        town=bp.Partition(blocks=[["Ash", "Birch", "Cedar"], ["Dale"], ["Elm"]]),
        wage=bp.FullDomain(),
        place=bp.Within("state"),
    ),
)


def test_a_graph_has_a_dot_for_each_value_and_a_line_for_each_pair() -> None:
    option = graph_chart(graph_view(POLICY, "town"), 0, 2)
    (series,) = option["series"]
    assert [node["name"] for node in series["data"]] == ["Ash", "Birch", "Cedar", "Dale", "Elm"]
    assert {(link["source"], link["target"]) for link in series["links"]} == {("0", "1"), ("0", "2"), ("1", "2")}
    places = {tuple(node["value"]) for node in series["data"]}
    assert len(places) == 5
    across, down = option["xAxis"], option["yAxis"]
    assert all(across["min"] <= x <= across["max"] and down["min"] <= y <= down["max"] for x, y in places)
    # What is chosen is told by size and weight, not by colour alone.
    sizes = [node["symbolSize"] for node in series["data"]]
    assert sizes[0] == sizes[2] > sizes[1]
    json.dumps(option)


def test_a_small_graph_takes_little_space() -> None:
    assert graph_height(2) < graph_height(3) < graph_height(9) == graph_height(24)
    # Two values, a pair or not, are level, so that little height is enough.
    for secrets in (bp.FullDomain(), bp.Public()):
        pair = bp.Policy(bp.Domain(sex=bp.Categorical(["Female", "Male"])), secrets=secrets, size="unknown")
        nodes = graph_chart(graph_view(pair, "sex"), 0, 1)["series"][0]["data"]
        assert nodes[0]["value"][1] == pytest.approx(nodes[1]["value"][1])


def test_steps_are_bars_and_what_is_open_is_hatched() -> None:
    option = steps_chart(reach(POLICY, "age", 0), "age", 5)
    steps, unprotected = option["series"]
    assert [bar["value"] for bar in steps["data"]][:3] == [0, 1, 1]
    assert steps["data"][8]["value"] is None
    assert unprotected["data"][:9] == [None] * 8 + [1]
    assert unprotected["itemStyle"]["decal"]
    assert "18 to 24: 1 step from 17" in option["aria"]["label"]["description"]
    json.dumps(option)


def test_errors_with_facts_are_multiples_of_those_without() -> None:
    without = Outlook("epsilon 1", Fraction(1), error=10.0)
    doubled = Outlook("epsilon 1", Fraction(1), error=20.0, shown=15.0)
    effects = [
        FactEffect("table", without, doubled),
        FactEffect("refused", without, Outlook(refusal="no proof")),
        FactEffect("exact", without, Outlook(error=0.0)),
        FactEffect("solved", without, Outlook("epsilon 2", Fraction(2), error=10.0)),
    ]
    option = facts_chart(effects)
    assert option is not None
    assert option["yAxis"]["data"] == ["table", "exact"]
    assert [series["data"] for series in option["series"]] == [[2.0, 0.0], [1.5, 0.0]]
    assert facts_chart(effects[1:2]) is None
    json.dumps(option)


def test_values_are_found_as_people_write_them() -> None:
    assert position_of(DOMAIN["age"], " 30 ") == 13
    assert position_of(DOMAIN["age"], "16") is None
    assert position_of(DOMAIN["age"], "old") is None
    assert position_of(DOMAIN["town"], "Cedar") == 2
    assert position_of(DOMAIN["wage"], "[10, 20.5)") == 1
    assert position_of(bp.Integer(0, 10**6), "123456") == 123456


def test_attributes_are_declared_in_a_few_words() -> None:
    assert [declared(DOMAIN[name]) for name in DOMAIN] == [
        "whole numbers from 17 to 90",
        "5 categories",
        "3 bins from [0, 10) to [20.5, 100)",
        "3 values in 2 levels",
    ]


# Pictures of results: one for every kind, few enough points, and names that cannot do harm.


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


def test_what_is_described_for_files_is_drawn_in_the_page_too():
    kinds = [each for each in Drawing.__subclasses__() if each.__module__.startswith("blowfish_privacy.")]
    assert len(kinds) >= 8
    assert all(charts_of.dispatch(kind) is not charts_of.dispatch(Drawing) for kind in kinds)


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


def test_few_answers_are_dots_and_those_along_values_are_steps(session):
    (few,) = pictures_of(session.release(bp.Linear([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]], ["weight"]), epsilon=1))
    assert [each["type"] for each in few.option["series"]] == ["scatter", "boxplot"]
    assert few.option["yAxis"]["data"] == ["0", "1"]
    cumulative = session.release(bp.Cumulative("age"), epsilon=1, mechanism="laplace")
    (steps,) = pictures_of(cumulative)
    assert steps.option["series"][0]["step"] == "middle"
    assert steps.note == "The band is the 95 % interval of each answer."


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
    (picture,) = charts_of(CountsDrawing(domain, counts, np.ones(70), "places"))
    assert [each["type"] for each in picture.option["series"]] == ["bar", "boxplot"]
    wide = bp.Domain(place=domain.attributes[0], sex=bp.Categorical(["Female", "Male"]))
    (picture,) = charts_of(CountsDrawing(wide, np.ones((70, 2)), np.full((70, 2), 0.5), "places"))
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
