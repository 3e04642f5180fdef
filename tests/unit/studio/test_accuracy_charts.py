"""The pictures of errors and balances: what they show, and what they say to those who cannot see them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from blowfish_privacy.errors import SpecError
from blowfish_privacy.release import spec
from blowfish_privacy.studio.charts import look
from blowfish_privacy.studio.charts.plans import balances, by_amount, by_part, by_size, error_bars
from blowfish_privacy.studio.planning import Planning

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
