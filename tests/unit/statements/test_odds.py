"""What is said of two values: the exact formula, rounded on the safe side, and never more than a policy promises."""

from fractions import Fraction
from math import exp, inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.policies.explain import explain_pair
from blowfish_privacy.privacy.measure import EPSILON, RHO, Strength
from blowfish_privacy.statements.policy import lost_between, odds_between, odds_view, percent_down, percent_up

DOMAIN = bp.Domain(age=bp.Integer(17, 90), sex=bp.Categorical(["Female", "Male"]), town=bp.Categorical(["A", "B"]))
SECRETS = bp.PerAttribute(age=bp.DistanceThreshold(5), sex=bp.FullDomain(), town=bp.Public())
POLICY = bp.Policy(DOMAIN, secrets=SECRETS)
HALF = Strength(EPSILON, Fraction(1, 2))


def test_odds_follow_the_formula() -> None:
    odds = odds_between(POLICY, {"age": 30}, {"age": 60}, HALF)
    # Six steps of five years at epsilon 0.5: e^3 = 20.0855.., which must not be written as 20.
    assert (odds.steps, odds.factor) == (6, "21")
    assert odds.most() == pytest.approx(exp(3) / (1 + exp(3)))
    assert odds.least() == pytest.approx(1 / (1 + exp(3)))
    fifth = Fraction(1, 5)
    assert odds.most(fifth) == pytest.approx(exp(3) / (4 + exp(3)))
    assert "6 steps apart" in odds.sentence
    assert "at most a factor 21" in odds.sentence
    assert "at most 96 %, and at least 4 %" in odds.guess()


def test_losses_in_rho_name_their_failure() -> None:
    odds = odds_between(POLICY, {"age": 30}, {"age": 60}, Strength(RHO, Fraction(1, 100)))
    # Six steps make 36 times the rho, and the factor is that of the strength.
    assert odds.exponent == Strength(RHO, Fraction(1, 100)).exponent(6)
    # The probability belongs to the promise, not to what the attacker knows.
    end = ", but for a probability of one in a billion, even for an attacker who knows every other record."
    assert odds.sentence.endswith(f"by at most a factor {odds.factor}{end}")
    assert "one in a billion" in odds.guess()


def test_what_is_not_protected_is_not_bounded() -> None:
    odds = odds_between(POLICY, {"town": "A"}, {"town": "B"}, HALF)
    assert (odds.steps, odds.factor, odds.most(), odds.least()) == (None, None, None, None)
    said = explain_pair(POLICY, {"town": "A"}, {"town": "B"})
    assert odds.sentence == said.replace("(“town” A) and (“town” B)", "A and B")
    assert "may become certain" in odds.guess()
    assert odds_view(odds)["most"] is None


def test_one_value_is_the_same() -> None:
    odds = odds_between(POLICY, {"age": 30}, {"age": 30}, HALF)
    assert (odds.steps, odds.most(), odds.guess()) == (0, 0.5, "")


def test_with_known_facts_no_more_is_said_than_is_promised() -> None:
    known = bp.Policy(DOMAIN, secrets=SECRETS, known=[bp.KnownMarginal("sex")])
    pair = odds_between(known, {"sex": "Female"}, {"sex": "Male"}, HALF)
    assert pair.promise.promised == "tables"
    assert pair.most() is None
    assert "odds" not in pair.sentence
    assert "not promised" in pair.guess()
    far = odds_between(known, {"age": 30}, {"age": 60}, HALF)
    assert far.promise.promised == "odds"
    assert "knows the facts" in far.sentence
    line = bp.Policy(
        bp.Domain(value=bp.Integer(0, 2)),
        secrets=bp.DistanceThreshold(1),
        known=[bp.KnownCount({"value": 1}, 0)],
        size=9,
    )
    unproved = odds_between(line, {"value": 0}, {"value": 2}, HALF)
    assert unproved.promise.promised == "unproved"
    assert unproved.promise.hops == inf
    assert unproved.most() is None
    assert unproved.sentence.startswith("No promise is made for 0 and 2, though secret pairs lead")


def test_a_release_loses_on_what_it_looks_at() -> None:
    session = bp.Session(bp.Counts([[[1, 1]] * 2] * 74), POLICY, budget=1)
    plan = session.plan(bp.Histogram("age"), epsilon="0.3")
    assert lost_between(plan, frozenset({"age"})) == Strength(EPSILON, Fraction(3, 10))
    nothing = lost_between(plan, frozenset({"sex"}))
    assert nothing.amount == 0
    assert "leaves the odds as they are" in odds_between(POLICY, {"sex": "Female"}, {"sex": "Male"}, nothing).sentence
    assert lost_between(plan, frozenset({"age", "sex"})).amount == Fraction(3, 10)


@given(st.floats(0, 1))
def test_hundredths_are_rounded_to_the_safe_side(share: float) -> None:
    assert float(percent_up(share).removesuffix(" %")) >= share * 100 - 1e-9
    assert float(percent_down(share).removesuffix(" %")) <= share * 100 + 1e-9


def test_near_certainty_has_more_digits() -> None:
    assert [percent_up(share) for share in (0.5, 0.622, 0.9933, 0.99995, 1.0)] == [
        "50 %",
        "63 %",
        "99.4 %",
        "99.995 %",
        "100 %",
    ]
    assert [percent_down(share) for share in (0.5, 0.378, 0.0067, 1e-9)] == ["50 %", "37 %", "0.6 %", "0 %"]
