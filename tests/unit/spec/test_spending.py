"""What a release may spend, as it is stated, and the choices that this leaves."""

from __future__ import annotations

from fractions import Fraction

import pytest

import blowfish_privacy as bp
from blowfish_privacy.privacy.measure import EPSILON, RHO, Budget, rho_of
from blowfish_privacy.release.plan import make_plan
from blowfish_privacy.release.spending import Spending

ONE, TINY = Fraction(1), Fraction(1, 10**9)
BOTH = Budget.read({"epsilon": 1, "delta": "1e-9"}).measure
POLICY = bp.Policy(bp.Domain(v=bp.Integer(0, 9), w=bp.Categorical(["a", "b"])), secrets=bp.Attributes())


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({}, "one of epsilon, rho and error"),
        ({"epsilon": 1, "rho": 1}, "one of epsilon, rho and error"),
        ({"rho": 1, "error": 1}, "one of epsilon, rho and error"),
        ({"rho": 1, "delta": "1e-9"}, "delta stands beside epsilon"),
        ({"epsilon": 1, "delta": 0}, "delta"),
        ({"epsilon": 1, "delta": "0.5"}, "at most 0.01"),
        ({"epsilon": 1, "noise": "gaussian"}, "Gaussian noise loses rho"),
        ({"epsilon": 1, "noise": "normal"}, "'laplace' or 'gaussian'"),
        ({"rho": 0}, "rho must be above 0"),
        ({"rho": "x"}, "rho"),
        ({"epsilon": float("nan")}, "epsilon"),
    ],
)
def test_what_contradicts_itself_is_refused(stated, said):
    with pytest.raises(bp.QueryError, match=said):
        Spending.of(**stated)


def test_either_noise_costs_a_ledger_that_counts_in_rho_no_more_than_the_rho_allowed():
    for ledger in (RHO, BOTH):
        for spending in (Spending.of(rho="0.01", ledger=ledger), Spending.of(epsilon=1, delta="1e-9", ledger=ledger)):
            choices = spending.choices(spending.amount)
            assert ledger.converted(choices[EPSILON], EPSILON) <= choices[RHO]
            # A slightly larger epsilon would cost more.
            assert ledger.converted(choices[EPSILON] * Fraction(1001, 1000), EPSILON) > choices[RHO]


def test_without_such_a_ledger_epsilon_is_what_was_allowed():
    assert Spending.of(epsilon=1, delta="1e-9").choices(ONE) == {EPSILON: 1, RHO: rho_of(ONE, TINY)}
    assert Spending.of(epsilon=1, delta="1e-9", ledger=EPSILON).choices(ONE) == {EPSILON: 1}
    assert Spending.of(epsilon=1).choices(ONE) == {EPSILON: 1}


def test_a_pure_ledger_says_why_it_takes_no_gaussian_noise():
    with pytest.raises(bp.RefusalError, match="promises that nothing fails"):
        Spending.of(rho="0.01", ledger=EPSILON).choices(Fraction(1, 100))
    assert Spending.of(rho="0.02", noise="laplace", ledger=EPSILON).choices(Fraction(1, 50)) == {
        EPSILON: Fraction(1, 5)
    }


def test_plans_take_the_more_accurate_noise_and_say_so():
    many = bp.Tables([["v", "w"], ["v"], ["w"]])
    plan = make_plan(many, POLICY, rho="0.5", records=100)
    assert (plan.epsilon, plan.rho, plan.amount) == (None, Fraction(1, 2), Fraction(1, 2))
    assert plan.errors[RHO] < plan.errors[EPSILON]
    assert "Gaussian noise was chosen" in plan.explain()
    plan = make_plan(bp.Histogram("v"), POLICY, epsilon=1, delta="1e-9", records=100)
    assert (plan.epsilon, plan.rho) == (1, None)
    assert "Laplace noise was chosen" in plan.explain()
    forced = make_plan(bp.Histogram("v"), POLICY, epsilon=1, delta="1e-9", noise="gaussian", records=100)
    assert forced.rho == rho_of(ONE, TINY)
    assert forced.expected_error().rmse > plan.expected_error().rmse


def test_groups_get_noise_of_one_kind():
    policy = bp.Policy(POLICY.domain, secrets=bp.PerAttribute(v=bp.FullDomain(), w=bp.Public()))
    session = bp.Session(bp.Counts([[5] * 2] * 10), policy, budget={"rho": 1})
    result = session.release(bp.Histogram("v").by("w"), rho={"a": "0.1", "b": "0.2"})
    assert result.certificate.rho == Fraction(1, 5)
    assert session.ledger.spent == Fraction(1, 5)


def test_an_error_is_solved_for_in_what_the_ledger_counts():
    session = bp.Session(bp.Counts([[5] * 2] * 10), POLICY, budget={"rho": 10})
    plan = session.plan(bp.Histogram("v"), error=5)
    assert plan.rho == Fraction(4, 100)
    assert session.plan(bp.Histogram("v"), error=5, noise="laplace").epsilon is not None


def test_gaussian_cells_that_meet_a_public_total_state_their_own_interval():
    session = bp.Session(bp.Counts([[5] * 2] * 10), POLICY, budget={"rho": 1})
    error = session.release(bp.Histogram("v"), rho="0.02").error()
    # Of ten cells with a known sum nine tenths of the variance are left, and a normal deviate is within 1.96 of them.
    assert error.rmse == pytest.approx((50 * 0.9) ** 0.5, rel=1e-6)
    assert error.interval("0.95") == pytest.approx(1.96 * error.rmse, rel=0.03)
    assert "Gaussian" in error.distribution
