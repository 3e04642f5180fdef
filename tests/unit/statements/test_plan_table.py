"""The table of plans: noise and errors in the units of the answer, and how they compare with few records."""

import pytest

import blowfish_privacy as bp
from blowfish_privacy.release.explain import compare
from blowfish_privacy.release.plan import make_plan
from blowfish_privacy.statements.plan import COLUMNS, plan_cells, plan_view

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
