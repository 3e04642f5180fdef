"""Values so many steps apart that a release may tell them apart all the same are not called protected."""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.policies.distances import MOST_TIMES, UNPROTECTED, is_unprotected, times
from blowfish_privacy.policies.explain import COMPLETE, explain_pair, not_protected
from blowfish_privacy.privacy.measure import Strength
from blowfish_privacy.release.explain import compare
from blowfish_privacy.release.losses import FarLosses
from blowfish_privacy.release.plan import Plan, make_plan
from blowfish_privacy.statements.card import make_card
from blowfish_privacy.statements.card_page import markdown
from blowfish_privacy.statements.ledger import lost_on_pair
from blowfish_privacy.statements.plan import unprotected_by
from blowfish_privacy.statements.policy import policy_view, unprotected_after_budget


def ages(steps: int) -> bp.Policy:
    return bp.Policy(bp.Domain(age=bp.Integer(0, steps)), secrets=bp.DistanceThreshold(1))


def unprotected_of(plan: Plan) -> list[str]:
    return [f"{UNPROTECTED}{sentence}" for sentence in FarLosses.of(plan).unprotected("this release")]


def test_values_35_steps_apart_are_never_said_to_be_protected() -> None:
    far, near = ages(35), ages(6)
    said = f"{UNPROTECTED}“age” 0 and 35 are 35 steps apart, so the odds between them may change by a factor up to "
    assert f"{said}1.6 x 10^15 after a loss of epsilon 1." in far.explain()
    assert COMPLETE not in far.explain()
    assert COMPLETE in near.explain()
    assert "Effectively unprotected" not in near.explain()
    assert explain_pair(far, {"age": 0}, {"age": 35}).endswith("At eps = 1 they are effectively unprotected.")
    assert "effectively unprotected" not in explain_pair(far, {"age": 0}, {"age": 6})


@pytest.mark.parametrize(
    ("budget", "weak"), [("0.1", False), ("0.2", True), ({"rho": "0.0001"}, False), ({"rho": "0.1"}, True)]
)
def test_the_budget_decides_where_it_is_known(budget: object, weak: bool) -> None:
    stated = bp.Session(bp.Counts([1] * 36), ages(35), budget=budget).ledger.terms
    assert bool(unprotected_after_budget(ages(35), stated)) == weak
    assert bool(policy_view(ages(35), stated)["in_name_only"]) == weak
    assert (COMPLETE in not_protected(ages(35), unprotected_after_budget(ages(35), stated))) == (not weak)


def test_a_release_speaks_of_what_it_loses() -> None:
    domain = bp.Domain(age=bp.Integer(0, 35), wage=bp.Integer(0, 35))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(age=bp.DistanceThreshold(1), wage=bp.DistanceThreshold(1)))
    loud, quiet = (make_plan(bp.Cumulative("age"), policy, epsilon=epsilon, records=100) for epsilon in ("0.2", "0.1"))
    # Only ages are told about, and spoken of: e^(35 / 5) = 1,097.
    assert [text.partition(" after")[0][-5:] for text in unprotected_of(loud)] == ["1,097"]
    assert not unprotected_of(quiet)
    assert "! " not in loud.explain()
    assert "Effectively unprotected: “age” 0 and 35" in loud.explain()
    # Both together: e^(35 x 0.3); nothing is said of wages, which neither looks at.
    said = unprotected_by([loud, quiet], None)
    assert said
    assert all("36,316 after these releases." in text for text in said)


def one_step(**options: object) -> bp.Policy:
    domain = bp.Domain(age=bp.Integer(0, 35), sex=bp.Categorical(["F", "M"]))
    return bp.Policy(domain, **{"secrets": bp.FullDomain(), **options})  # pyright: ignore[reportArgumentType]


def test_a_secret_pair_is_effectively_unprotected_where_one_step_loses_as_much() -> None:
    policy, session = one_step(), bp.Session(bp.Counts(np.ones((36, 2), dtype=int)), one_step(), budget=10)
    # e^10 = 22,026.5 after the budget, and e^7 = 1,096.6 after a release that does not look at sexes.
    said = unprotected_after_budget(policy, session.ledger.terms)
    pair = f"{UNPROTECTED}“age” 0 and 35 are a secret pair, but the odds between them may change by a factor up to "
    assert said[0] == f"{pair}22,027 after all of the budget (epsilon 10)."
    assert len(said) == 2
    assert COMPLETE not in not_protected(policy, said)
    assert not unprotected_after_budget(policy, None)
    plan = session.plan(bp.Histogram("age"), epsilon=7)
    assert unprotected_of(plan) == [f"{pair}1,097 after this release."]
    assert f"{pair}1,097 after this release." in plan.explain()
    assert unprotected_by([plan], session.quote(plan), session.ledger) == [f"{pair}1,097 after these releases."]
    card = markdown(make_card(session.release(plan).text))
    assert (
        "- **Effectively unprotected**: “age” 0 and 35 are a secret pair, but"
        in card.partition("## What is not protected")[2]
    )
    assert f"{pair}1,097 after all releases.".removeprefix(UNPROTECTED) in markdown(session.card())


def test_presence_may_be_effectively_unprotected_too() -> None:
    policy = one_step(secrets=bp.Public(), size="unknown")
    session = bp.Session(bp.Counts(np.ones((36, 2), dtype=int)), policy, budget=10)
    said = f"{UNPROTECTED}whether a person is in the table is secret, but the odds of it may change by a factor up to "
    assert unprotected_after_budget(policy, session.ledger.terms)[0].startswith(f"{said}22,027 after")
    plan = session.plan(bp.Histogram("age"), epsilon=7)
    assert unprotected_of(plan)[0].startswith(f"{said}1,097 after")
    assert unprotected_by([plan], None)[0].startswith(f"{said}1,097 after")


@pytest.mark.parametrize("budget", [3, {"rho": 3}], ids=["epsilon", "rho"])
def test_a_plan_adds_what_the_ledger_lost_under_other_policies(budget: object) -> None:
    domain = bp.Domain(age=bp.Integer(17, 90), sex=bp.Categorical(["F", "M"]))
    near, wide, fine = (
        bp.Policy(domain, secrets=bp.PerAttribute(age=bp.DistanceThreshold(most), sex=bp.FullDomain()))
        for most in (5, 10, 1)
    )
    counts = bp.Counts(np.ones((74, 2), dtype=int))
    first = bp.Session(counts, near, budget=budget)
    first.release(bp.Cumulative("age"), epsilon="0.4", name="one")
    first.release(bp.Cumulative("age"), epsilon="0.4", name="two")
    for policy, name in ((wide, "three"), (fine, "four")):
        session = bp.Session(counts, policy, ledger=first.ledger)
        plan = session.plan(bp.Mean("age"), epsilon="0.05", name=name)
        planned = unprotected_by([plan], session.quote(plan), session.ledger)
        session.release(plan)
        card = markdown(session.card())
        factors = [text.partition("up to ")[2].partition(" after")[0] for text in planned]
        # What the plan says is what the card says afterwards, in both places, and what the ledger says of the pair.
        assert factors
        lost = lost_on_pair(session.ledger, {"age": 17}, {"age": 90}).amount
        assert factors[0] == Strength(session.ledger.measure, Fraction(lost)).factor()
        for text, factor in zip(planned, factors, strict=True):
            pair = text.removeprefix(UNPROTECTED).partition(" are ")[0]
            assert text.endswith("after these releases and those before.")
            assert card.count(f"{pair} are 1") == 2
            assert f"up to {factor} after all releases." in card
            assert f"protected less: a factor {factor}." in card
        assert unprotected_by([plan], session.quote(), session.ledger) == planned


def test_facts_that_cost_nothing_do_not_make_a_card_speak_of_other_attributes() -> None:
    domain = bp.Domain(age=bp.Integer(0, 39), sex=bp.Categorical(["F", "M"]), zone=bp.Integer(0, 29))
    secrets = bp.PerAttribute(age=bp.DistanceThreshold(5), sex=bp.Public(), zone=bp.FullDomain())
    policy = bp.Policy(domain, secrets=secrets, known=[bp.KnownMarginal("sex")])
    assert "can force others to change with it" not in policy.explain()
    crossed = bp.Policy(domain, secrets=secrets, known=[bp.KnownMarginal("zone")])
    assert "can force others to change with it" in crossed.explain()
    session = bp.Session(bp.Counts(np.ones((40, 2, 30), dtype=int)), policy, budget=10)
    card = markdown(make_card(session.release(bp.Histogram("age", "sex"), epsilon=8).text))
    assert "Nothing in this answer depends on “zone”." in card
    assert card.count("zone") == 1


@given(st.floats(0, 2000))
def test_a_factor_is_never_understated(exponent: float) -> None:
    text = times(exponent)
    digits, _, power = text.replace(",", "").partition(" x 10^") if "x" in text else ("1", "", text.partition("10^")[2])
    if "^" not in text:
        assert exp(exponent) <= float(text.replace(",", "")) <= exp(exponent) * 1.1 + 0.01
    elif text.startswith("10^") or " x " in text:
        assert -1e-9 <= log(float(digits)) + int(power) * log(10) - exponent <= log(1.1) + 1e-9
    assert is_unprotected(exponent) == (exponent > log(MOST_TIMES))


def test_differential_privacy_is_compared_with_nothing() -> None:
    domain = bp.Domain(age=bp.Integer(0, 9), sex=bp.Categorical(["F", "M"]))
    plain = {
        "add-or-remove": [
            bp.Policy(domain, secrets=bp.AddRemove()),
            bp.Policy(domain, secrets=bp.Public(), size="unknown"),
        ],
        "bounded": [bp.Policy(domain, secrets=bp.FullDomain()), bp.Policy(domain, secrets=bp.FullDomain(), size=100)],
    }
    for kind, policies in plain.items():
        for policy in policies:
            for asked in (bp.Histogram("age"), bp.Sum("age"), bp.Tables([["age"], ["sex"]]), bp.Mean("age").by("sex")):
                plan = make_plan(asked, policy, epsilon="0.5", records=100)
                assert compare(plan) == f"{kind} differential privacy itself"
                assert plan.plain_error() is None
                assert "accurate" not in plan.explain()
                assert "under plain" not in plan.explain()


def test_a_policy_that_adds_presence_gains_nothing_over_add_or_remove() -> None:
    domain = bp.Domain(age=bp.Integer(0, 9))
    for secrets in (bp.FullDomain(), bp.DistanceThreshold(2)):
        plan = make_plan(bp.Histogram("age"), bp.Policy(domain, secrets=secrets, size="unknown"), epsilon="0.5")
        assert "more accurate" not in compare(plan)


def test_notices_and_counts_are_the_same_kind_of_thing_everywhere() -> None:
    policy, data = ages(9), bp.Counts([3] * 10)
    session = bp.Session(data, policy, budget=10)
    for query in (bp.Histogram("age"), bp.Cumulative("age"), bp.Mean("age"), bp.KMeans(["age"], k=2)):
        plan = session.plan(query, epsilon=1)
        result = session.release(plan)
        for each in (plan.notices, plan.mechanism.notices, result.notices):
            assert isinstance(each, list)
            assert all(isinstance(notice, str) for notice in each)
        if query.keyword in ("histogram", "cumulative"):
            assert result.counts.shape == (10,)
    assert Strength(plan.certificate.loss.measure, plan.amount).factor() == "2.72"


def test_a_plan_alone_says_of_itself_what_the_table_of_plans_says() -> None:
    plan = make_plan(bp.Histogram("age"), ages(35), epsilon=1, records=100)
    # Any two values change two counts by one, so 35 steps lose no more than one does.
    assert not unprotected_of(plan)
    assert not unprotected_by([plan], None)
    mean = make_plan(bp.Mean("age"), ages(35), epsilon="0.5", records=100)
    (said,) = unprotected_of(mean)
    assert unprotected_by([mean], None) == [said.replace("this release", "these releases")]
