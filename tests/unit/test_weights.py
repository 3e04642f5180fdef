"""Releases with weights, as a user sees them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import blowfish_privacy as bp
from blowfish_privacy.ledger.composition import rounded_charge
from blowfish_privacy.release import spec
from blowfish_privacy.release.plan import make_plan
from blowfish_privacy.release.verification import problems
from blowfish_privacy.statements.card import make_card
from blowfish_privacy.statements.card_page import markdown
from blowfish_privacy.statements.plan import error_words
from blowfish_privacy.studio.charts.results import pictures_of
from blowfish_privacy.studio.entries import kind_of
from blowfish_privacy.testing.seeded import SeededSource

DOMAIN = bp.Domain(
    age=bp.Integer(0, 9),
    sex=bp.Categorical(["F", "M"]),
    wage=bp.Integer(-5, 49),
    w=bp.Integer(1, 20),
)
SECRETS = {"age": bp.DistanceThreshold(2), "sex": bp.FullDomain(), "wage": bp.DistanceThreshold(5), "w": bp.Public()}
ROWS = 3000


@pytest.fixture
def table():
    drawn = np.random.default_rng(11)
    return pd.DataFrame({
        "age": drawn.integers(0, 10, ROWS),
        "sex": drawn.choice(["F", "M"], ROWS),
        "wage": drawn.integers(-5, 50, ROWS),
        "w": drawn.integers(1, 21, ROWS),
    })  # fmt: skip


def opened(table, *, domain=DOMAIN, size="known", **secrets):
    policy = bp.Policy(domain, secrets=bp.PerAttribute({**SECRETS, **secrets}), size=size)
    return bp.Session(table, policy, budget=1000)


def far(result):
    """Noise exceeds thirty times its scale with probability e^-30."""
    return 30 * result.error().rmse


ASKED = {
    "histogram": bp.Histogram("age", "sex").weighted("w"),
    "histogram of women": bp.Histogram("age").weighted("w").where(sex="F"),
    "histogram by sex": bp.Histogram("age").by("sex").weighted("w"),
    "sum": bp.Sum("wage").weighted("w"),
    "sum of the light": bp.Sum("wage").where(w=(1, 5)).weighted("w"),
    "sum by sex": bp.Sum("wage").weighted("w").by("sex"),
    "mean": bp.Mean("wage").weighted("w"),
    "mean of women": bp.Mean("wage").weighted("w").where(sex="F"),
    "mean by sex": bp.Mean("wage").weighted("w").by("sex"),
}


def truth(name, rows):
    if name.startswith("histogram"):
        by = ["age", "sex"] if name == "histogram" else ["age"]
        return rows.pivot_table(index=by, values="w", aggfunc="sum").to_numpy().reshape(-1)
    total = float((rows["wage"] * rows["w"]).sum())
    return total / float(rows["w"].sum()) if name.startswith("mean") else total


@pytest.mark.parametrize("size", ["known", "unknown"])
@pytest.mark.parametrize("name", ASKED)
def test_answers_are_near_the_truth_and_their_documents_verify(name, size, table):
    session = opened(table, size=size, w=bp.FullDomain())
    result = session.release(ASKED[name], epsilon=50, name=name)
    assert problems(result.text) == []
    chosen = {"women": table[table.sex == "F"], "light": table[table.w <= 5]}.get(name.split()[-1], table)
    parts = result.items() if "by" in name else [(None, result)]
    for group, part in parts:
        rows = chosen if group is None else chosen[chosen.sex == group]
        assert np.abs(part.values - truth(name, rows)).max() <= far(part)
        assert part.certificate.amount == 50
        assert bp.Session(table, session.policy, budget=1).policy.hash == part.certificate.policy_hash
    assert markdown(make_card(result.text)).count("**Weights**") == 1
    assert result.csv().decode().splitlines()[0].count("weighted_count") == name.startswith("histogram")
    assert all(picture.option for picture in pictures_of(result))


def test_a_weighted_histogram_is_a_histogram_without_a_public_total(table):
    result = opened(table).release(bp.Histogram("age", "sex").weighted("w"), epsilon=1)
    assert result.counts.shape == (10, 2)
    assert result.to_frame().columns.tolist() == ["age", "sex", "weighted_count", "typical_error"]
    assert result.values.sum() != ROWS
    with pytest.raises(bp.RefusalError, match="the total weight of these records is not public"):
        result.consistent()
    assert result.error().of == "a weighted cell"
    (axes,) = result.figure().axes
    assert axes.get_xlabel() == "weighted count, with its 95 % interval"
    (picture,) = pictures_of(result)
    assert picture.option["yAxis"]["name"] == "weighted count"


@pytest.mark.parametrize(("query", "lost"), [
    (bp.Histogram("age").weighted("w"), {"age": 1, "w": Fraction(19, 40)}),
    (bp.Sum("wage").weighted("w"), {"wage": Fraction(5 * 20, 49 * 19), "w": 1}),
])  # fmt: skip
def test_the_ledger_is_charged_for_the_weight_as_for_any_attribute(query, lost, table):
    # A weight moves by 19 at most: a cell of a histogram changes by 40 where an age does, a sum by 5 * 20 or 49 * 19.
    session = opened(table, w=bp.FullDomain())
    session.release(query, epsilon=1)
    charged = {name: Fraction(amount) for name, amount in session.ledger.balances.items() if Fraction(amount)}
    assert charged == {name: rounded_charge(Fraction(amount), Fraction(1)) for name, amount in lost.items()}


def test_what_is_not_secret_is_added_up_exactly(table):
    session = opened(table, age=bp.Public(), wage=bp.Public())
    plan = session.plan(bp.Histogram("age").weighted("w"), epsilon=1)
    assert plan.amount == 0
    assert "! NO NOISE" in plan.explain()
    assert (session.release(plan).counts == table.groupby("age").w.sum().to_numpy()).all()
    mean = session.release(bp.Mean("wage").weighted("w"), epsilon=1)
    assert mean.value == pytest.approx(np.average(table.wage, weights=table.w))
    assert session.remaining == 1000


def test_public_weights_make_the_sum_of_the_weights_exact(table):
    result = opened(table).release(bp.Mean("wage").weighted("w"), epsilon=1)
    mechanism = result.release.mechanism
    assert mechanism.weights_scale == 0
    assert int(result.release.noisy[1]) == table.w.sum()
    assert "the sum of the weights is public" in mechanism.words()
    assert mechanism.without_noise() == "the sum of the weights, which is not secret"


def test_the_plan_says_what_weights_cost(table):
    session = opened(table)
    for query in (bp.Histogram("age"), bp.Sum("wage")):
        plan, plain = (session.plan(asked, epsilon=1) for asked in (query.weighted("w"), query))
        assert plan.expected_error().rmse == pytest.approx(20 * plain.expected_error().rmse, rel=0.05)
        said = "! Weights reach 20, so the noise is 20 times that of an answer without weights."
        assert plan.explain().splitlines()[-1].startswith(said)
    alone = opened(table, age=bp.Public(), w=bp.FullDomain()).plan(bp.Histogram("age").weighted("w"), epsilon=1)
    assert alone.certificate.sensitivity.value == 19
    assert "! Weights reach 20, and the noise covers the heaviest record." in alone.explain()


def test_errors_are_stated_in_what_they_count(table):
    session = opened(table)
    said = [error_words(session.plan(ASKED[name], epsilon=1)) for name in ("histogram", "sum", "mean")]
    assert said[0].endswith("(of a weighted cell, in sums of w)")
    assert said[1].endswith("(of the weighted sum, in units of wage times w)")
    assert said[2].endswith("(of the mean times the sum of the weights, in units of wage)")
    with pytest.raises(bp.RefusalError, match="depends on the sum of the weights"):
        session.plan(ASKED["mean"], error=1)


def test_the_interval_of_a_weighted_mean_holds(table):
    session = opened(table, w=bp.FullDomain())
    mechanism, source = session.plan(ASKED["mean"], epsilon="0.2").mechanism, SeededSource(1)
    (counts,) = session.engine.counts(DOMAIN, [("wage", "w")])
    drawn = [mechanism.measure(counts, source) for _ in range(2000)]
    wrong = np.array([mechanism.mean(noisy) for noisy in drawn]) - np.average(table.wage, weights=table.w)
    bounds = np.array([mechanism.error_of(noisy).interval("0.95") for noisy in drawn])
    # Of 2,000 draws 95 in 100 are held, give or take 0.5; the seed makes them the same in every run. A bound that is a
    # quarter too narrow or too wide is seen. The typical error is that of the quotient.
    held = [np.mean(np.abs(wrong) <= factor * bounds) for factor in (0.75, 1, 1.25)]
    assert held[0] < 0.93 <= held[1] < 0.97 < held[2]
    assert np.mean([mechanism.error_of(noisy).rmse for noisy in drawn]) == pytest.approx(wrong.std(), rel=0.2)


def test_weights_outside_the_declared_range_are_errors_or_clamped(table):
    heavy = table.assign(w=table.w * 2)
    with pytest.raises(bp.DataError, match="outside"):
        opened(heavy).release(bp.Histogram("age").weighted("w"), epsilon=50)
    clamped = bp.Domain({**{name: DOMAIN[name] for name in DOMAIN}, "w": bp.Integer(1, 20, outside="clamp")})
    result = opened(heavy, domain=clamped).release(bp.Histogram("age").weighted("w"), epsilon=50)
    true = heavy.assign(w=heavy.w.clip(upper=20)).groupby("age").w.sum().to_numpy()
    assert np.abs(result.counts - true).max() <= far(result)


FILE = """
version: 1
policy:
  domain: {age: {integer: [0, 9]}, wage: {integer: [0, 50]}, sex: {categorical: [F, M]}, w: {integer: [1, 20]}}
  secrets: full
releases:
  - {name: people, %s, epsilon: 1}
"""


def test_a_file_names_the_weight_beside_the_query():
    (entry,) = spec.loads(FILE % "histogram: [age], weight: w, where: {sex: F}").releases
    assert entry.query.query == bp.Histogram("age").weighted("w")
    assert entry.query.query.to_file(DOMAIN) == {"histogram": ["age"], "weight": "w"}
    assert repr(entry.query.query) == "Histogram(attributes=('age',)).weighted('w')"
    # The studio's form has no place for it: such a release is changed in the file.
    assert kind_of({"name": "people", "histogram": ["age"], "weight": "w", "epsilon": 1}) is None


@pytest.mark.parametrize(("asked", "said"), [
    ("cumulative: wage, weight: w", "unknown key 'weight'. Hint: weights are for histograms, sums and means."),
    ("sum: wage, weight: sex", "sex does not have numbers to weight records with"),
    ("sum: wage, weight: [w]", "weight must be the name of an attribute"),
    ("sum: wage, weight: wage", "wage cannot be asked about and be the weight"),
    ("histogram: [age, w], weight: w", "w cannot be asked about and be the weight"),
    ("mean: wage, weight: wight", "no attribute 'wight'"),
    ("mean: wage, weight: w, by: w", "the query looks at w"),
])  # fmt: skip
def test_wrong_weights_are_refused_by_name(asked, said):
    with pytest.raises(bp.BlowfishError) as refused:
        spec.loads(FILE % asked)
    assert said in str(refused.value)


def test_what_has_no_weights_says_so():
    for query in (bp.Cumulative("age"), bp.Median("age"), bp.Tables([["age"]]), bp.Linear([[1]], ["age"])):
        with pytest.raises(bp.QueryError, match="cannot be weighted"):
            query.weighted("w")


def test_weights_are_not_negative_and_not_too_many():
    below = bp.Domain(age=bp.Integer(0, 9), w=bp.Integer(-1, 5))
    with pytest.raises(bp.QueryError, match="may be below zero"):
        bp.Histogram("age").weighted("w").on(below)
    fine = bp.Domain(age=bp.Integer(0, 9), w=bp.Integer(0, 1_000_000))
    with pytest.raises(bp.QueryError, match="10,000,010 cells are too many") as refused:
        bp.Histogram("age").weighted("w").on(fine)
    assert "a coarser step of w" in refused.value.hint


def test_a_weighted_mean_of_nobody_does_not_exist():
    domain = bp.Domain(v=bp.Integer(0, 6), w=bp.Decimal(0, 3, "0.5"), g=bp.Categorical(["a", "b", "c"]))
    secrets = bp.PerAttribute(v=bp.FullDomain(), w=bp.Public(), g=bp.Public())
    rows = pd.DataFrame({"v": [1, 2, 3] * 4, "w": [1.0, 2, 3] * 4, "g": ["a"] * 12})
    nothing = pd.DataFrame({"v": [1, 2], "w": [0.0, 0.0], "g": ["c"] * 2})
    session = bp.Session(pd.concat([rows, nothing]), bp.Policy(domain, secrets=secrets), budget=1000)
    mean = bp.Mean("v").weighted("w")
    released = session.release(mean.by("g"), epsilon=10)
    assert [*released] == ["a", "c"]
    # The weights of c add up to nothing, exactly: its mean may be anywhere.
    assert (released["c"].error().interval(), released["c"].error().rmse) == (6, 6)
    assert released["a"].error().interval() < 1
    with pytest.raises(bp.RefusalError, match="a mean of no records does not exist"):
        session.plan(mean.where(g="b"), epsilon=10)


def test_a_plan_names_the_weight_as_one():
    domain = bp.Domain(sex=bp.Categorical(["F", "M"]), age=bp.Integer(0, 9))
    plan = make_plan(bp.Histogram("sex").weighted("age"), bp.Policy(domain, secrets=bp.FullDomain()), epsilon=1)
    assert repr(plan).startswith("<Plan 'release': histogram of sex weighted by age; laplace, epsilon 1;")
