"""The pictures of secrets and of known facts, and the values in them."""

import json
from fractions import Fraction

import pytest

import blowfish_privacy as bp
from blowfish_privacy.statements.facts import FactEffect, Outlook
from blowfish_privacy.statements.policy import graph_view, reach
from blowfish_privacy.studio.charts.plans import facts_chart
from blowfish_privacy.studio.charts.secrets import graph_chart, graph_height, steps_chart
from blowfish_privacy.studio.entries import declared, position_of

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
