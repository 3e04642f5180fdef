"""How wrong plans will be, by size, by table and by amount: what pictures show is what plans say."""

from __future__ import annotations

from fractions import Fraction

import pytest

import blowfish_privacy as bp
from blowfish_privacy.release.plan import make_plan
from blowfish_privacy.release.spending import Spending
from blowfish_privacy.statements.plan import FACTORS, accuracy_view, by_amount, by_part, by_size, sketched

DOMAIN = bp.Domain(age=bp.Integer(0, 63), sex=bp.Categorical(["F", "M"]), home=bp.Integer(0, 31))
POLICY = bp.Policy(
    DOMAIN,
    secrets=bp.PerAttribute(age=bp.DistanceThreshold(2), sex=bp.FullDomain(), home=bp.Public()),
    size=1000,
)


def plan(query, policy=POLICY, **stated):
    spending = Spending.of(**(stated or {"epsilon": "0.5"}))
    return make_plan(query, policy, spending=spending, records=policy.records), spending


def test_the_error_is_the_plan_s_and_stands_beside_plain_differential_privacy():
    made, _ = plan(bp.Cumulative("age"))
    view = accuracy_view(made)
    assert view["rmse"] == made.expected_error().rmse
    assert view["plain"] == made.plain_error().rmse
    assert view["rmse"] < view["plain"]
    assert view["lost"] == {"age": "1/2"}
    assert view["lost_on"] == "age"
    assert view["words"].startswith("Typical error of a random range: ")


def test_what_is_public_is_published_exactly():
    made, spending = plan(bp.Histogram("home"))
    view = accuracy_view(made)
    assert view["exact"]
    assert view["mechanism"] is None
    assert view["lost"] == {}
    assert view["words"].endswith("published exactly, and costs nothing.")
    assert by_size(made) is None
    assert by_amount(made, spending) == []


def test_ranges_have_errors_by_width():
    made, _ = plan(bp.Cumulative("age"))
    shown = by_size(made)
    assert shown is not None
    assert shown["of"] == "range"
    assert shown["sized_in"] == "values"
    widths = [row["size"] for row in shown["rows"]]
    assert widths == sorted({*widths})
    assert widths[0] == 1
    assert widths[-1] < 64
    exact = made.expected_error().by_width(widths).tolist()
    assert [row["rmse"] for row in shown["rows"]] == exact
    assert shown["rows"][-1]["plain"] > shown["rows"][-1]["rmse"]


def test_beyond_a_thousand_values_the_curve_is_simulated_and_close():
    policy = bp.Policy(bp.Domain(x=bp.Integer(0, 1999)), secrets=bp.DistanceThreshold(20), size=10_000)
    made, _ = plan(bp.Cumulative("x"), policy)
    shown = by_size(made)
    assert shown is not None
    exact = made.expected_error().by_width([row["size"] for row in shown["rows"]])
    assert [row["rmse"] for row in shown["rows"]] == pytest.approx(exact.tolist(), rel=0.2)


def test_rectangles_have_errors_by_area():
    policy = bp.Policy(bp.Domain(x=bp.Integer(0, 15), y=bp.Integer(0, 15)), secrets=bp.DistanceThreshold(2), size=1000)
    made, _ = plan(bp.RangeGrid("x", "y"), policy)
    shown = by_size(made)
    assert shown is not None
    assert shown["sized_in"] == "cells"
    assert shown["rows"][0]["rmse"] < shown["rows"][-1]["rmse"]


def test_tables_have_errors_of_their_own():
    made, _ = plan(bp.Tables([["age"], ["age", "sex"], ["sex"]]))
    parts = by_part(made)
    assert len(parts) == 3
    assert parts == sorted(parts, key=lambda part: -part["rmse"])
    assert by_part(plan(bp.Histogram("age"))[0]) == []


def test_more_epsilon_means_less_error():
    made, spending = plan(bp.Histogram("age"))
    rows = by_amount(made, spending)
    assert [Fraction(row["amount"]) for row in rows] == [factor / 2 for factor in FACTORS]
    errors = [row["rmse"] for row in rows]
    assert errors == sorted(errors, reverse=True)
    assert errors[len(errors) // 2] == made.expected_error().rmse


def test_a_plan_for_an_error_can_be_varied_too():
    made, spending = plan(bp.Histogram("age"), error="10")
    middle = by_amount(made, spending)[len(FACTORS) // 2]
    assert Fraction(middle["amount"]) == made.amount
    assert middle["rmse"] == made.expected_error().rmse


def test_between_the_amounts_that_were_planned_errors_are_guessed():
    made, spending = plan(bp.Histogram("age"))
    rows = by_amount(made, spending)
    error = sketched(rows, amount=0.37)
    assert error == pytest.approx(plan(bp.Histogram("age"), epsilon="0.37")[0].expected_error().rmse, rel=0.03)
    assert sketched(rows, error=error) == pytest.approx(0.37, rel=1e-6)
    assert sketched(rows, amount=1e-9) is None
    assert sketched([], amount=0.1) is None
