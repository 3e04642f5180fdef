"""The statement about all releases of a ledger: its totals are the ledger's, and bound what was lost in truth."""

from __future__ import annotations

from fractions import Fraction
from itertools import product as pairs_of
from math import ceil, erfc, exp, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.domain import Subset
from blowfish_privacy.privacy.loss import Loss, PairClass, changing
from blowfish_privacy.privacy.measure import RHO, Approximate, Strength
from blowfish_privacy.release.losses import ProductLoss
from blowfish_privacy.release.verification import read_product
from blowfish_privacy.statements.card import error_words, make_card
from blowfish_privacy.statements.card_page import escaped, markdown, page
from blowfish_privacy.statements.product import (
    loss_words,
    product_card,
    product_verification_view,
    product_view,
)
from blowfish_privacy.support.exact import about

DOMAIN = bp.Domain(age=bp.Integer(0, 4), sex=bp.Categorical(["F", "M"]), zone=bp.Categorical(["A", "B"]))
EACH = bp.PerAttribute(age=bp.DistanceThreshold(1), sex=bp.FullDomain(), zone=bp.Public())
POLICY = bp.Policy(DOMAIN, secrets=EACH)


def opened(policy=POLICY, budget=10, data=None):
    counts = np.full(policy.domain.shape, 3) if data is None else np.array(data)
    return bp.Session(bp.Counts(counts), policy, budget=budget)


def stated(session):
    """Return the product, its loss, its card as text, and its numbers."""
    product = read_product(session.ledger)
    assert product.problems == ()
    made = product_card(product, title="it")
    return product, ProductLoss(product), markdown(made), product_view(product, made)


def test_the_totals_are_the_ledgers_and_no_single_card_has_them():
    session = opened()
    texts = [
        session.release(bp.Histogram("age"), epsilon="0.2", name="one").text,
        session.release(bp.Histogram("age", "sex"), epsilon="0.2", name="two").text,
        session.release(bp.Mean("age"), epsilon="0.2", name="three").text,
        session.release(bp.Histogram("zone"), epsilon="0.2", name="four").text,
    ]
    product, loss, text, view = stated(session)
    assert {name: Fraction(each["lost"]) for name, each in view["balances"].items()} == session.ledger.balances
    assert session.ledger.balances == {"age": Fraction(3, 5), "sex": Fraction(1, 5)}
    assert loss.whole_record == sum(session.ledger.balances.values()) == Fraction(4, 5)
    assert product.adds_up
    # e^0.2 means 55 in 100 to somebody undecided, e^0.6 means 65, and e^0.8 for both attributes at once 69.
    assert all("at most 55 % sure" in make_card(one).summary for one in texts[:3])
    sure = [ceil(100 / (1 + exp(-float(lost)))) for lost in (product.spent, loss.whole_record)]
    assert sure == [65, 69]
    assert all(f"at most {percent} % sure" in text for percent in sure)
    assert "55 %" not in text.replace("| 55 %", "")
    assert "4 releases" in text
    assert "“four”: nothing that the policy keeps secret shows in this answer" in text
    assert "1 of them is published exactly" in text


@settings(deadline=None, max_examples=10)
@given(
    st.sampled_from([bp.FullDomain(), bp.DistanceThreshold(1), bp.Public(), bp.Partition(widths={"age": 2})]),
    st.sampled_from([bp.FullDomain(), bp.Public()]),
    st.lists(st.sampled_from([("age",), ("sex",), ("age", "sex")]), min_size=1, max_size=3),
)
def test_no_pair_lost_more_than_the_table_says(age, sex, asked):
    domain = bp.Domain(age=bp.Integer(0, 3), sex=bp.Categorical(["F", "M"]))
    secrets = bp.PerAttribute(age=age, sex=sex)
    if not secrets.on(domain).has_edges:
        return
    session = opened(bp.Policy(domain, secrets=secrets))
    for number, names in enumerate(asked):
        session.release(bp.Histogram(*names), epsilon=Fraction(1, number + 2), name=f"r{number}")
    product, loss, _, _ = stated(session)
    classes = {pairs.attribute: amount for pairs, amount in loss.classes.items()}
    graph, cells = session.policy.graph, [*pairs_of(range(4), range(2))]

    def lost(x, y):
        parts = (each.parts[0] for each in product.released)
        seen = ((part, [domain.axis(name) for name in part.query.attributes]) for part in parts)
        return sum(part.mechanism.loss(*(tuple(cell[axis] for axis in axes) for cell in (x, y))) for part, axes in seen)

    steps = [(x, y) for x in cells for y in cells if x != y and graph.adjacent(x, y)]
    for x, y in steps:
        assert lost(x, y) <= classes["age" if x[0] != y[0] else "sex"]
    # Two records that differ by one step in each attribute.
    both = [(x, z) for x, y in steps for start, z in steps if start == y and x[0] != z[0] and x[1] != z[1]]
    assert all(lost(x, z) <= loss.whole_record for x, z in both)
    assert max(lost(x, y) for x, y in steps) == product.spent


@pytest.mark.parametrize("measure", [RHO, Approximate.of(Fraction(1), Fraction(1, 10**9))])
def test_odds_under_gaussian_noise_change_more_only_as_rarely_as_is_said(measure):
    # The log-ratio of Gaussian noise that loses rho is normal, with mean rho and variance 2 rho.
    most = measure.allowed if isinstance(measure, Approximate) else Fraction(1, 50)
    for share in (1, 3, 10):
        rho = float(most / share)
        exponent = Strength(measure, most / share).exponent()
        assert 0.5 * erfc((exponent - rho) / (2 * sqrt(rho))) <= 1e-9
        assert exponent < 2
    assert Strength(measure, Fraction(0)).exponent() == 0
    assert "but for a probability of" in Strength(measure, most).but


@pytest.mark.parametrize("budget", [{"rho": "0.5"}, {"epsilon": 3, "delta": "1e-9"}], ids=["rho", "epsilon and delta"])
def test_budgets_that_admit_gaussian_noise_say_what_the_sums_mean(budget):
    session = opened(budget=budget)
    session.release(bp.Tables([["age", "sex"], ["sex", "zone"]]), rho="0.01", name="gaussian")
    session.release(bp.Histogram("age"), epsilon="0.1", name="pure")
    product, loss, text, view = stated(session)
    assert {name: Fraction(each["lost"]) for name, each in view["balances"].items()} == session.ledger.balances
    age, sex = session.ledger.balances["age"], session.ledger.balances["sex"]
    # Square roots add up: (sqrt a + sqrt b)^2, rounded up.
    assert float(loss.whole_record) == pytest.approx((sqrt(age) + sqrt(sex)) ** 2, rel=1e-4)
    assert loss.whole_record >= age + sex
    assert "epsilon 0.1, counted as rho" in text
    assert "the promise is that of the whole budget" in text
    assert "but for a probability of" in text.split("##")[0]
    assert view["means"]
    assert view["measure"] == "rho"
    assert product.adds_up


def test_presence_is_a_class_of_its_own():
    session = opened(bp.Policy(DOMAIN, secrets=EACH, size="unknown"))
    session.release(bp.Histogram("age"), epsilon="0.5")
    _, loss, text, _ = stated(session)
    # One who comes changes one count, one who moves two; to leave and to come costs as much as one step of age.
    assert session.ledger.balances == {"age": Fraction(1, 2), "sex": 0, "presence": Fraction(1, 4)}
    assert loss.whole_record == Fraction(1, 2)
    assert "| whether a person is in the table | 0.25 |" in text
    alone = opened(bp.Policy(DOMAIN, secrets=bp.AddRemove()))
    alone.release(bp.Histogram("age"), epsilon="0.5")
    _, loss, text, _ = stated(alone)
    assert loss.whole_record == 1
    assert "whoever is undecided whether a person is in the table" in text
    assert "one who leaves the table and one who comes" in text


def test_pairs_that_change_several_attributes_have_no_sum():
    whole = opened(bp.Policy(DOMAIN, secrets=bp.FullDomain()))
    whole.release(bp.Histogram("age"), epsilon="0.5")
    whole.release(bp.Histogram("sex"), epsilon="0.25")
    _, loss, text, view = stated(whole)
    assert loss.whole_record == Fraction(3, 4)
    assert "Any two values of a record are a secret pair" in text
    assert view["differential_privacy"] is True
    plane = bp.Domain(x=bp.Integer(0, 4), y=bp.Integer(0, 4))
    near = opened(bp.Policy(plane, secrets=bp.DistanceThreshold(2)))
    near.release(bp.Histogram("x"), epsilon="0.5")
    _, loss, text, view = stated(near)
    assert loss.whole_record is None
    assert view["whole_record"] is None
    # A histogram changes in two counts, however far a record moves.
    assert "secret steps apart, but no less protected than Strength says" in text


def test_under_facts_nothing_is_summed_that_is_not_proved():
    known = [bp.KnownCount({"age": (0, 1)})]
    session = opened(bp.Policy(DOMAIN, secrets=EACH, known=known))
    session.release(bp.Histogram("age"), epsilon="0.5")
    _, loss, text, _ = stated(session)
    assert loss.whole_record is None
    assert "Known fact: how many records have “age” from 0 to 1." in text
    assert "between two tables that must look alike" in text
    assert "every other record" not in text
    assert "No sum is stated" in text
    assert "No known facts" not in text
    free = opened(bp.Policy(DOMAIN, secrets=EACH, known=[bp.KnownMarginal("zone")]))
    free.release(bp.Histogram("age", "sex"), epsilon="0.5")
    _, loss, text, _ = stated(free)
    assert (loss.whole_record is None) == (not free.policy.steps_add_up)
    assert "Known fact" in text


def test_groups_exact_answers_and_made_up_records_are_told():
    session = opened(data=np.full(DOMAIN.shape, 30))
    session.release(bp.Histogram("age").by("zone"), epsilon={"A": "0.25", "B": "0.5"}, name="by zone")
    session.release(bp.Histogram("age").where(zone="A"), epsilon="0.25", name="only A")
    session.release(bp.Synthetic(["age", "sex"], workload=2), epsilon="0.5", name="made up")
    product, _, text, view = stated(session)
    # Zones A and B are apart: at A 0.25 + 0.25 were lost, at B 0.5; the records add 0.5 on both.
    assert session.ledger.balances["age"] == 1
    assert "in the least accurate group" in text
    assert "for each “zone”" in text
    assert "The number of records of each “zone”" in text
    assert "(of some records)" in text
    assert "“made up”: " in text
    assert all(said in text for said in bp.Synthetic(["age", "sex"], workload=2).cautions())
    assert [each["name"] for each in view["releases"]] == ["by zone", "only A", "made up"]
    assert product.adds_up
    bare = opened()
    bare.release(bp.Histogram("zone"), epsilon=1)
    _, _, text, view = stated(bare)
    assert "One release, published exactly" in text
    assert view["spent"] == "0"


def test_what_another_policy_released_and_what_was_only_charged_is_counted():
    session = opened()
    session.release(bp.Histogram("age"), epsilon="0.25", name="first")
    wider = bp.Policy(DOMAIN, secrets=bp.PerAttribute(age=bp.FullDomain(), sex=bp.FullDomain(), zone=bp.Public()))
    other = bp.Session(bp.Counts(np.full(DOMAIN.shape, 3)), wider, ledger=session.ledger)
    other.release(bp.Histogram("age"), epsilon="0.25", name="second")
    plan = session.plan(bp.Histogram("sex"), epsilon="0.125", name="third")
    session.ledger.charge(
        loss=plan.certificate.loss,
        policy=POLICY,
        key=plan.key,
        description="third: histogram of sex",
        content="0",
        mechanism="laplace",
    )
    product, _, text, view = stated(session)
    assert len(product.released) == 2
    assert session.ledger.balances == {"age": Fraction(1, 2), "sex": Fraction(1, 8)}
    assert (
        "Entry 3, “third: histogram of sex”: epsilon 0.125 on “sex”. Nothing was handed out for it, and it counts."
        in text
    )
    assert "another policy that protects every secret pair of the ledger's" in text
    assert [each["entry"] for each in view["not_handed_out"]] == [3]
    assert len({each["policy"] for each in view["releases"]}) == 2
    checked = product_verification_view(product)
    assert checked["ok"]
    assert checked["balances"]["sex"] == "1/8"
    assert checked["proved"]["sex"] == "0"


def test_where_nothing_was_handed_out_nothing_is_said_to_be_published():
    session = opened()
    plan = session.plan(bp.Histogram("sex"), epsilon="0.125", name="it")
    charge = {"policy": POLICY, "key": plan.key, "description": "it: histogram of sex [0]", "mechanism": "laplace"}
    session.ledger.charge(loss=plan.certificate.loss, **charge)
    product, _, text, view = stated(session)
    assert len(product.unreleased) == 1
    assert "Nothing was handed out. 1 charge cost epsilon 0.125" in text
    for label in ("Published", "Randomness", "Software", "Cite as"):
        assert f"**{label}**" not in text
    assert view["registry"]["product"]["publication_date"] is None


def test_the_bounds_of_several_groups_are_the_largest_of_each():
    def group(rmse, within):
        error = {"of": "a cell", "rmse": rmse, "within_95_in_100": within}
        return SimpleNamespace(mechanism=None, certificate=SimpleNamespace(amount=1), body={"error": error})

    said = (
        "2.5 (root mean squared) for a cell in the least accurate group, 2.4 in the most accurate; "
        "95 in 100 are within 5.24."
    )
    assert error_words([group(2.5, 5.07), group(2.4, 5.239)]) == said


def test_losses_of_some_records_are_told_apart_from_those_of_all():
    here = (("zone", Subset.of([0])),)
    some, everybody = PairClass("attribute", "age", here), changing("age")
    sexes = changing("sex")

    def words(**lost):
        classes = {"some": some, "age": everybody, "sex": sexes}
        return loss_words(Loss.of({classes[name]: Fraction(amount) for name, amount in lost.items()}))

    assert words(some="1/4") == "epsilon 0.25 on “age” (of some records)"
    assert words(some="1/4", sex="1/2") == "at most epsilon 0.5: “age” (of some records) 0.25, “sex” 0.5"
    assert words(some="1/4", sex="1/4") == "epsilon 0.25 on “age” (of some records), “sex”"
    # Everybody lost some of it, so it is not of some records alone.
    assert words(some="1/4", age="1/4", sex="1") == "at most epsilon 1: “age” 0.5, “sex” 1"
    assert words(age="1/3", sex="0.33333333") == "epsilon 0.3334 on “age”, “sex”"


def test_a_statement_says_what_a_reader_gets_and_how_wrong_that_is():
    domain = bp.Domain(x=bp.Integer(0, 199), y=bp.Integer(0, 19))
    counts = np.zeros(domain.shape, int)
    counts[:5, :5] = 40
    policy = bp.Policy(domain, secrets=bp.PerAttribute(x=bp.DistanceThreshold(50), y=bp.FullDomain()))
    session = opened(policy, data=counts)
    made = session.release(bp.Cumulative("x"), epsilon="0.5", name="shares")
    assert len(made.noisy) != 200
    grid = session.release(bp.RangeGrid("x", "y"), epsilon="0.5", name="map")
    _, _, text, _ = stated(session)
    # As the plan says it, and as the card of each release does.
    assert "ranges, quantiles and shares (200 numbers)." in text
    assert "ranges, quantiles and shares (200 numbers)." in markdown(make_card(made.text))
    assert grid.remarks()
    for each in (made, grid):
        for remark in each.remarks():
            assert escaped(remark) in text
            assert escaped(remark) in markdown(make_card(each.text))


def test_values_far_apart_may_be_protected_no_less():
    """A mean by groups: who changes groups loses most, and all steps along the values together less than that."""
    domain = bp.Domain(pay=bp.Integer(0, 40), zone=bp.Categorical(["A", "B"]))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(pay=bp.DistanceThreshold(1), zone=bp.FullDomain()))
    made = opened(policy, data=np.full(domain.shape, 9)).release(bp.Mean("pay").by("zone"), epsilon="0.2", name="it")
    lost = {pairs.attribute: amount for pairs, amount in made.certificate.loss}
    assert 40 * lost["pay"] < lost["zone"] == Fraction(1, 5)
    text = markdown(make_card(made.text))
    assert "“pay” 0 and 40 are 40 secret steps apart, but no less protected than Strength says." in text
    assert "are 41 secret steps apart and protected less: a factor 1." in text


def test_a_secret_pair_is_not_called_far_apart():
    """One step from 0 to 2 changes the sum by 10, and two from 0 to 1 change it by 1."""
    policy = bp.Policy(bp.Domain(v=bp.Integer(0, 2)), secrets=bp.ExplicitGraph([(0, 2), (2, 1)]))
    session = opened(policy, data=[3, 3, 3])
    session.release(bp.Linear(lambda v: [0, 1, 10][v], attributes=["v"]), epsilon="0.5", name="sum")
    _, _, text, view = stated(session)
    assert "“v” 0 and 1 are 2 secret steps apart, but no less protected than Strength says." in text
    assert [each["steps"] for each in view["further_apart"]] == [2]


def test_a_session_states_its_ledger(tmp_path):
    session = opened()
    with pytest.raises(bp.LedgerError, match="holds no release yet"):
        session.card()
    session.release(bp.Histogram("age"), epsilon="0.25", name="ages").save(tmp_path / "ages.release.json")
    made = session.card(title="Ages", publisher="The Office", folder=tmp_path)
    assert made.title == "Privacy statement: “Ages”"
    assert "[ages.release.json](ages.release.json)" in markdown(made)
    assert 'href="ages.release.json"' in page(made)
    assert "not beside this page" in markdown(session.card(folder=tmp_path / "absent"))


@pytest.mark.parametrize("budget", [10, {"rho": 10}], ids=["epsilon", "rho"])
def test_what_all_releases_together_leave_effectively_unprotected_stands_under_not_protected(budget):
    domain = bp.Domain(age=bp.Integer(0, 20), sex=bp.Categorical(["F", "M"]))
    session = opened(
        bp.Policy(domain, secrets=bp.PerAttribute(age=bp.DistanceThreshold(1), sex=bp.FullDomain())), budget
    )
    cards = []
    for name in ("one", "two"):
        cards.append(make_card(session.release(bp.Cumulative("age"), epsilon="0.3", name=name).text))
    _, _, text, _ = stated(session)
    # 20 steps of 0.3 are e^6, less than 1,000; of 0.6 they are e^12, which is 162,755.
    assert not any("Effectively unprotected" in markdown(card) for card in cards)
    bare = text.partition("## What is not protected")[2].partition("##")[0]
    named = [line for line in bare.splitlines() if line.startswith("- **Effectively unprotected**")]
    assert [line.partition(" are ")[0] for line in named] == [
        "- **Effectively unprotected**: “age” 0 and 20",
        "- **Effectively unprotected**: (“age” 0, “sex” F) and (“age” 20, “sex” M)",
    ]
    if budget == 10:
        assert "may change by a factor up to 162,755 after all releases." in named[0]


def test_notes_on_exactness_stand_with_the_releases_and_not_under_what_is_not_protected():
    secret = bp.Policy(bp.Domain(age=bp.Integer(0, 4)), secrets=bp.FullDomain(), size="unknown")
    session = opened(secret)
    released = session.release(bp.Mean("age"), epsilon=1, name="mean")
    (notice,) = released.notices
    _, _, text, _ = stated(session)
    for shown, heading in ((text, "What was released"), (markdown(make_card(released.text)), "How accurate it is")):
        sections = dict(part.split("\n", 1) for part in shown.split("\n## ")[1:])
        assert [name for name, section in sections.items() if notice in section] == [heading]


@pytest.mark.parametrize(
    ("query", "size"),
    [
        (bp.Mean("age").by("zone"), None),
        (bp.Mean("age").where(zone="A"), None),
        (bp.Mean("age").weighted("hours"), None),
        (bp.Mean("age"), "unknown"),
    ],
    ids=["by", "where", "weight", "unknown size"],
)
def test_the_error_of_a_released_mean_is_that_of_the_number_published(query, size):
    domain = bp.Domain(age=bp.Integer(0, 4), zone=bp.Categorical(["A", "B"]), hours=bp.Integer(1, 3))
    session = opened(bp.Policy(domain, secrets=bp.FullDomain(), size=size))
    made = session.release(query, epsilon=1, name="mean")
    results = [made] if hasattr(made, "error") else [*made.values()]
    worst = max((result.error() for result in results), key=lambda error: error.rmse)
    _, _, text, view = stated(session)
    said = f"{about(worst.rmse)} (root mean squared) for {worst.of}"
    assert worst.of in ("the mean", "the weighted mean")
    assert said in text
    assert said in markdown(make_card(made.text))
    assert view["releases"][0]["error"]["rmse"] == worst.rmse


def test_what_only_the_policy_of_a_later_release_calls_secret_bounds_nothing():
    session = opened()
    session.release(bp.Histogram("age", "sex"), epsilon=1, name="first")
    session.release(bp.Histogram("zone"), epsilon=1, name="zones")
    before = stated(session)[1]
    secrets = bp.PerAttribute(age=bp.DistanceThreshold(1), sex=bp.FullDomain(), zone=bp.FullDomain())
    stricter = bp.Policy(DOMAIN, secrets=secrets, size="unknown")
    other = bp.Session(bp.Counts(np.full(DOMAIN.shape, 3)), stricter, ledger=session.ledger)
    other.release(bp.Histogram(*DOMAIN.names), epsilon="0.1", name="second")
    _, loss, text, view = stated(session)
    assert [*loss.classes] == [*before.classes]
    assert loss.whole_record == before.whole_record + Fraction(2, 10)
    assert session.ledger.loss({"age": 0, "sex": "F"}, {"age": 1, "sex": "M"}) <= loss.whole_record
    # The first releases published the number of records and the zones exactly.
    for wrong in ("twice what presence lost", "secret too", "| whether a person", "| “zone”"):
        assert wrong not in text
    assert "The number of records: 60." in text
    assert Fraction(view["whole_record"]["lost"]) == loss.whole_record


def test_a_later_policy_whose_secrets_depend_on_more_attributes_has_a_card():
    domain = bp.Domain(v=bp.Integer(0, 3), c=bp.Categorical(["x", "y"]))
    first = bp.Policy(domain, secrets=bp.PerAttribute(v=bp.DistanceThreshold(1), c=bp.Public()))
    by_value = bp.ByValue("c", {"x": bp.FullDomain(), "y": bp.DistanceThreshold(1)})
    session = opened(first)
    session.release(bp.Histogram("v"), epsilon=1, name="first")
    other = bp.Session(bp.Counts(np.full(domain.shape, 3)), bp.Policy(domain, secrets=by_value), ledger=session.ledger)
    other.release(bp.Histogram("v"), epsilon=1, name="second")
    _, loss, _, _ = stated(session)
    (apart,) = loss.far.of_attributes()
    # Three steps, but a histogram changes in two counts, however far a record moves.
    assert apart.lost == loss.classes[changing("v")] == 2
