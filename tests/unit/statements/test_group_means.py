"""The error of a group's mean: one of the mean, at the group's share of the records where group sizes are secret."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.mechanisms.error import MeanError
from blowfish_privacy.release.plan import PublicNumbers, make_plan
from blowfish_privacy.release.spending import Spending
from blowfish_privacy.statements.plan import accuracy_view, by_amount, plan_cells, plan_view

DOMAIN = bp.Domain(income=bp.Integer(0, 200_000), region=bp.Categorical(["N", "E", "S", "W"]))
SECRET = bp.Policy(DOMAIN, secrets=bp.FullDomain())
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
    numbers = PublicNumbers(SECRET, lambda: data)
    plan = make_plan(ASKED, SECRET, records=numbers.records(ASKED), **EPSILON)
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
        (bp.Mean("income").where(region="N"), SECRET),
        (bp.Mean("income").where(income=(0, 10)).by("region"), SECRET),
        (ASKED, bp.Policy(DOMAIN, secrets=bp.FullDomain(), size="unknown")),
        (ASKED, bp.Policy(DOMAIN, secrets=bp.PerAttribute(income=bp.FullDomain(), region=bp.Public()))),
    ],
    ids=["some", "groups of some", "secret size", "public groups"],
)
def test_nothing_is_assumed_where_there_is_nothing_to_assume_it_from_or_no_need_to(asked, policy):
    data = Rows()
    assert PublicNumbers(policy, lambda: data).records(asked) is None
    assert data.asked == 0
    if policy.size == "unknown" or policy is SECRET:
        plan = make_plan(asked, policy, records=None, **EPSILON)
        assert plan.assumed is None
        assert accuracy_view(plan)["typical"].endswith(" / number of records")


def test_page_and_command_line_say_the_same_number_and_that_it_is_assumed():
    plan = make_plan(ASKED, SECRET, records=61_395, **EPSILON)
    row, view = plan_cells(plan), accuracy_view(plan)
    assert view["typical"] in row
    assert view["rmse"] == plan_view(plan)["rmse"] == plan.expected_error().rmse < 1_000
    assert view["assumed"] == 15_348
    assert view["words"].startswith("Typical error of the mean of a group of 15,348 records, as if all groups had")
    stated = [each["rmse"] for each in by_amount(plan, Spending.of(**EPSILON)) if each["stated"]]
    assert stated == [view["rmse"]]
    assert "The number of records in each group is secret" in " ".join(view["notices"])


def test_beside_plain_differential_privacy_both_errors_are_of_the_same():
    secrets = bp.PerAttribute(income=bp.DistanceThreshold(1_000), region=bp.FullDomain())
    plan = make_plan(ASKED, bp.Policy(DOMAIN, secrets=secrets), records=61_395, **EPSILON)
    plain = plan.plain_error()
    assert plain is not None
    assert plain.of == plan.expected_error().of
    assert 0 < plain.rmse < 1_000


def test_a_document_states_the_error_without_assuming_anything():
    frame = pytest.importorskip("pandas").DataFrame({"income": [1, 2, 3, 4], "region": ["N", "E", "S", "W"]})
    session = bp.Session(frame, SECRET, budget="1")
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
