"""The table of plans: noise and errors in the units of the answer, and how they compare with few records."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.batch import plan_release
from blowfish_privacy.mechanisms.error import MeanError
from blowfish_privacy.release import spec
from blowfish_privacy.release.explain import compare
from blowfish_privacy.release.plan import PublicNumbers, make_plan
from blowfish_privacy.release.target import Target
from blowfish_privacy.statements.plan import COLUMNS, accuracy_view, by_amount, error_words, plan_cells, plan_view
from blowfish_privacy.statements.policy import gained, given_up

DOMAIN = bp.Domain(age=bp.Integer(0, 9), pay=bp.Decimal(0, 100, "0.25"), sex=bp.Categorical(["F", "M"]))

POLICY = bp.Policy(DOMAIN, secrets=bp.Attributes())

SECRET = bp.Policy(DOMAIN, secrets=bp.Attributes(), size="unknown")


def cells(query, policy=POLICY):
    plan = make_plan(query, policy, epsilon="0.1", records=None if policy is SECRET else 1000)
    return plan, dict(zip(COLUMNS, plan_cells(plan), strict=True))


@pytest.mark.parametrize(
    ("query", "scale"),
    [
        (bp.Histogram("age"), "20"),
        # 100 over 1,000 records and 0.1; the noise itself is a whole number of 0.25 / 1,000.
        (bp.Mean("pay"), "1"),
        (bp.Sum("pay"), "1,000"),
        (bp.Linear([[0, "0.001"]], attributes=["sex"]), "0.01"),
        (bp.Tables([["age"], ["sex"]]), "20"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_noise_is_shown_in_the_unit_of_the_answer(query, scale):
    plan, row = cells(query)
    assert row["scale"] == scale
    assert f"scale {scale}" in plan.mechanism.words()


def test_noise_of_several_units_is_left_to_explain():
    assert cells(bp.KMeans(["age", "pay"], k=2), SECRET)[1]["scale"] == "-"
    assert cells(bp.Mean("pay"), SECRET)[1]["scale"] == "-"


@pytest.mark.parametrize(
    ("query", "divisor"),
    [(bp.Mean("pay"), "number of records"), (bp.Mean("pay").weighted("age"), "sum of the weights")],
    ids=["mean", "weighted"],
)
def test_the_error_of_a_mean_is_said_to_be_over_its_divisor(query, divisor):
    plan, row = cells(query, SECRET)
    assert row["rmse"].endswith(f" / {divisor}")
    assert row["within_95_in_100"].endswith(f" / {divisor}")
    assert repr(plan).endswith(f"typical error {row['rmse']}>")
    assert plan_view(plan)["error_of"] == f"the mean times the {divisor}"


@pytest.mark.parametrize("records", [0, 1, 10])
@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1"])
def test_a_threshold_is_no_worse_than_differential_privacy_for_an_empty_table(records, epsilon):
    domain = bp.Domain(age=bp.Integer(17, 90), wage=bp.Integer(0, 20))
    secrets = bp.PerAttribute(age=bp.DistanceThreshold(3), wage=bp.FullDomain())
    plan = make_plan(bp.Cumulative("age"), bp.Policy(domain, secrets=secrets, size=records), epsilon=epsilon)
    assert compare(plan).endswith("more accurate")


# Typical errors in words: of what, and counted in what.


FILE = """
version: 1
policy:
  domain:
    age: {{integer: [0, 20]}}
    hours: {{integer: [0, 20]}}
    sex: {{categorical: [Female, Male]}}
  secrets: full
  size: 60
releases:
  - {{name: it, {asked}, epsilon: 0.3}}
"""


def no_data():
    raise AssertionError


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("histogram: [age, sex]", "about 9.42 (of a cell, in records)"),
        ("median: age", "(of a random range, in records)"),
        ("range_grid: [age, hours]", "(of a random rectangle, in records)"),
        ("mean: age", "about 1.57 (of the mean, in units of age)"),
        (
            "mean: age, by: sex",
            "about 7.26 (of the mean of a group of 30 records, as if all groups had the same size, in units of age)",
        ),
        ("mean: age, where: {sex: Male}", "(of the mean times the number of records, in units of age)"),
        ("sum: age", "(of the sum, in units of age)"),
        ("kmeans: [age, hours], k: 2", "(of a cell of the grid, in records)"),
    ],
)
def test_an_error_says_of_what_it_is_and_in_what_it_is_counted(asked, said):
    file = spec.loads(FILE.format(asked=asked))
    plan = plan_release(file.releases[0], file, PublicNumbers(file.policy, no_data))
    assert error_words(plan).endswith(said)


# The error of a group's mean: one of the mean, at the group's share of the records where group sizes are secret.


GROUP_MEANS_DOMAIN = bp.Domain(income=bp.Integer(0, 200_000), region=bp.Categorical(["N", "E", "S", "W"]))

GROUP_MEANS_SECRET = bp.Policy(GROUP_MEANS_DOMAIN, secrets=bp.FullDomain())

ASKED = bp.Mean("income").by("region")

EPSILON = {"epsilon": "0.2"}


class Rows:
    """Data that may be asked for the number of records, and for nothing else."""

    def __init__(self) -> None:
        self.asked = 0

    def rows(self) -> int:
        self.asked += 1
        return 61_395

    def counts(self, domain, sets):
        raise AssertionError


def test_the_number_of_records_is_asked_for_and_shared_among_the_groups():
    data = Rows()
    numbers = PublicNumbers(GROUP_MEANS_SECRET, lambda: data)
    plan = make_plan(ASKED, GROUP_MEANS_SECRET, records=numbers.records(ASKED), **EPSILON)
    times = plan.mechanism.expected_error()
    assert data.asked == 1
    assert plan.assumed == 61_395 // 4 == 15_348
    assert times.of == "the mean times the number of records"
    assert plan.expected_error().rmse == pytest.approx(times.rmse / 15_348)
    assert plan.expected_error().interval() == pytest.approx(times.interval() / 15_348)
    assert plan.expected_error().of == "the mean of a group of 15,348 records, as if all groups had the same size"


@pytest.mark.parametrize(
    ("asked", "policy"),
    [
        (bp.Mean("income").where(region="N"), GROUP_MEANS_SECRET),
        (bp.Mean("income").where(income=(0, 10)).by("region"), GROUP_MEANS_SECRET),
        (ASKED, bp.Policy(GROUP_MEANS_DOMAIN, secrets=bp.FullDomain(), size="unknown")),
        (ASKED, bp.Policy(GROUP_MEANS_DOMAIN, secrets=bp.PerAttribute(income=bp.FullDomain(), region=bp.Public()))),
    ],
    ids=["some", "groups of some", "secret size", "public groups"],
)
def test_nothing_is_assumed_where_there_is_nothing_to_assume_it_from_or_no_need_to(asked, policy):
    data = Rows()
    assert PublicNumbers(policy, lambda: data).records(asked) is None
    assert data.asked == 0
    if policy.size == "unknown" or policy is GROUP_MEANS_SECRET:
        plan = make_plan(asked, policy, records=None, **EPSILON)
        assert plan.assumed is None
        assert accuracy_view(plan)["typical"].endswith(" / number of records")


def test_page_and_command_line_say_the_same_number_and_that_it_is_assumed():
    plan = make_plan(ASKED, GROUP_MEANS_SECRET, records=61_395, **EPSILON)
    row, view = plan_cells(plan), accuracy_view(plan)
    assert view["typical"] in row
    assert view["rmse"] == plan_view(plan)["rmse"] == plan.expected_error().rmse < 1_000
    assert view["assumed"] == 15_348
    assert view["words"].startswith("Typical error of the mean of a group of 15,348 records, as if all groups had")
    stated = [each["rmse"] for each in by_amount(plan, Target.of(**EPSILON)) if each["stated"]]
    assert stated == [view["rmse"]]
    assert "The number of records in each group is secret" in " ".join(view["notices"])


def test_beside_plain_differential_privacy_both_errors_are_of_the_same():
    secrets = bp.PerAttribute(income=bp.DistanceThreshold(1_000), region=bp.FullDomain())
    plan = make_plan(ASKED, bp.Policy(GROUP_MEANS_DOMAIN, secrets=secrets), records=61_395, **EPSILON)
    plain = plan.plain_error()
    assert plain is not None
    assert plain.of == plan.expected_error().of
    assert 0 < plain.rmse < 1_000


def test_a_document_states_the_error_without_assuming_anything():
    frame = pytest.importorskip("pandas").DataFrame({"income": [1, 2, 3, 4], "region": ["N", "E", "S", "W"]})
    session = bp.Session(frame, GROUP_MEANS_SECRET, budget="1")
    result = session.release(ASKED, **EPSILON)
    assert "as if" not in result.text


def test_an_error_at_an_assumed_count_is_that_of_the_noise_at_this_count():
    # 2,000 records, offsets that may be anywhere in the range: the errors of 40,000 simulated quotients.
    bits = np.random.default_rng(7)
    runs, records, width = 40_000, 2_000, 100
    of_sum, of_count = (bits.laplace(scale=scale, size=runs) for scale in (200, 5))
    offset = bits.uniform(-width / 2, width / 2, runs)
    released = (offset * records + of_sum / 2) / (records + of_count)
    error = MeanError(Fraction(200), Fraction(5), width, assumed=records)
    measured = sqrt(float(np.mean((released - offset) ** 2)))
    # The relative standard error of a root mean square of such draws is below 2 in 100; 12 in 100 is beyond 6 of them.
    assert measured == pytest.approx(error.rmse, rel=0.12)
    assert measured > error.rmse / 2
    assert MeanError(error.sum_scale, error.count_scale, width, assumed=1).rmse == width


# What a policy gains and gives up, in one sentence each.


TRADE_DOMAIN = bp.Domain(wage=bp.Integer(0, 200), region=bp.Categorical(["North", "South"]))

NEAR = bp.PerAttribute(wage=bp.DistanceThreshold(20), region=bp.Public())


def plans(secrets, *queries):
    session = bp.Session("nowhere.csv", bp.Policy(TRADE_DOMAIN, secrets=secrets, size=1000), budget=1)
    return [session.plan(query, epsilon="0.1", name=name) for name, query in queries]


def test_what_is_gained_is_computed_from_the_plans():
    mean, count = ("mean", bp.Mean("wage")), ("counts", bp.Histogram("wage"))
    # A step of 20 instead of 200: a tenth of the noise. A histogram changes by two however far a record moves.
    assert gained(plans(NEAR, mean, count)) == (
        "Gained: “mean” is 10 times more accurate than under plain differential privacy at the same epsilon; "
        "nothing is gained for “counts”."
    )
    wider = bp.PerAttribute(wage=bp.DistanceThreshold(40), region=bp.Public())
    assert "“mean” is 5 times more accurate" in gained(plans(wider, mean))
    assert gained(plans(bp.FullDomain(), mean)).startswith("Gained: nothing")


def test_what_is_public_is_not_called_a_gain():
    regions, mean = ("regions", bp.Histogram("region")), ("mean", bp.Mean("wage"))
    assert "regions" not in gained(plans(NEAR, regions, mean))


def test_what_is_given_up_comes_from_the_policy():
    assert given_up(bp.Policy(TRADE_DOMAIN, secrets=NEAR)) == (
        "Given up: values further apart are protected less, once per step (“wage” 0 and 200 are 10 steps apart); "
        "“region”: not protected at all."
    )
    assert given_up(bp.Policy(TRADE_DOMAIN, secrets=bp.FullDomain())) == "Given up: nothing."
    assert "whole records up to 2" in given_up(bp.Policy(TRADE_DOMAIN, secrets=bp.Attributes()))
