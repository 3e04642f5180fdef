"""Nothing of a plan is taken on trust: whatever of it is replaced, what is charged covers what the document proves."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import fields, replace
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import blowfish_privacy as bp
from blowfish_privacy.errors import BlowfishError, PolicyError
from blowfish_privacy.estimator import KMeansEstimator
from blowfish_privacy.graphs import FullDomain
from blowfish_privacy.privacy.certificate import Populations
from blowfish_privacy.privacy.loss import changing
from blowfish_privacy.queries import Selection
from blowfish_privacy.release import document, reading, spec, verification
from blowfish_privacy.release.plan import Plan, make_plan
from blowfish_privacy.release.target import Target
from blowfish_privacy.statements.plan import FACTORS, accuracy_view, by_amount, by_part, by_size, sketched

DOMAIN = bp.Domain(age=bp.Integer(0, 5), region=bp.Categorical(["N", "S"]))

TABLE = bp.Counts(np.array([[1, 2], [0, 3], [4, 0], [2, 2], [1, 1], [0, 5]]))

REGIONS_PUBLIC = bp.Policy(DOMAIN, secrets=bp.PerAttribute(age=bp.FullDomain(), region=bp.Public()))

SECRET = bp.Policy(DOMAIN, secrets=bp.Attributes())

with warnings.catch_warnings():
    warnings.simplefilter("ignore", bp.BlowfishWarning)
    NOTHING_SECRET = bp.Policy(DOMAIN, secrets=bp.PerAttribute(age=bp.Public(), region=bp.Public()))

QUERIES = [
    bp.Histogram("age"),
    bp.Histogram("age").where(region="S"),
    bp.Histogram("age").by("region"),
    bp.Mean("age").where(region="N"),
    bp.Sum("age"),
    bp.Histogram("region"),
]


def young(age: int) -> int:
    return age < 2


def open_session(policy: bp.Policy) -> bp.Session:
    return bp.Session(TABLE, policy, budget=1000)


def proved_by(text: str) -> Any:
    """What a document proves of all its groups together, worked out from the document alone."""
    assert verification.problems(text) == []
    body = reading.parse(text)
    plan = verification.whole_plan([reading.read(body, part) for part in reading.parts_of(body)])
    assert plan is not None
    return plan.certificate.loss


def plans_of(session: bp.Session) -> list[Plan]:
    return [session.plan(query, epsilon=epsilon, new=True) for query, epsilon in zip(QUERIES, "123456", strict=True)]


@pytest.mark.parametrize("policy", [REGIONS_PUBLIC, SECRET], ids=["public", "secret"])
def test_a_plan_with_a_part_of_another_is_refused_or_charged_what_it_proves(policy: bp.Policy) -> None:
    session, weaker = open_session(policy), open_session(NOTHING_SECRET)
    own, others = plans_of(session), plans_of(weaker)
    different, refused = [], []
    for plan, other in [*zip(own, [*own[1:], own[0]], strict=True), *zip(own, others, strict=True)]:
        for field in fields(Plan):
            forged = replace(
                plan, **{"key": f"{plan.key} {other.key} {field.name}", field.name: getattr(other, field.name)}
            )
            if getattr(plan, field.name) != getattr(other, field.name):
                different.append((plan, other, field.name))
            before = session.ledger.entries()
            if any(entry.key == forged.key for entry in before):
                forged = replace(forged, key=f"{forged.key} again")
            try:
                session.release(forged)
            except BlowfishError:
                refused.append((plan, other, field.name))
                # A number of rows that is not that of the data is found after the charge.
                assert session.ledger.document(forged.key) is None or forged.key in {entry.key for entry in before}
                continue
            (entry,) = session.ledger.entries()[len(before) :]
            text = session.ledger.document(entry.key)
            assert text is not None
            assert entry.loss.covers(proved_by(text))
            # Public regions cost nothing.
            assert entry.charged == plan.amount
    # What is no change is no reason to refuse. Of what differs, these fields always are one. Another query, mechanism
    # or number of rows may cost the same, and is not used where the plan has parts; populations are worked out anew.
    assert {*refused} <= {*different}
    always = {"policy", "certificate", "selection", "parts"}
    assert [at for at in refused if at[2] in always] == [at for at in different if at[2] in always]
    mechanisms = [at for at in different if at[2] == "mechanism" and not at[0].parts and (at[0].amount or at[1].amount)]
    assert {*mechanisms} <= {*refused}


def test_records_of_a_region_are_not_paid_for_those_of_all() -> None:
    session = open_session(REGIONS_PUBLIC)
    plan = session.plan(bp.Histogram("age").where(region="S"), epsilon=1)
    with pytest.raises(PolicyError, match="make a new plan"):
        session.release(replace(plan, selection=Selection()))
    everything = session.plan(bp.Histogram("age"), epsilon=1)
    with pytest.raises(PolicyError, match="make a new plan"):
        session.release(replace(plan, selection=Selection(), population=everything.population))
    assert session.ledger.entries() == ()


def test_a_weaker_population_hands_out_no_exact_counts() -> None:
    session = open_session(SECRET)
    weaker = open_session(NOTHING_SECRET).plan(bp.Histogram("age"), epsilon=1)
    for exact in (weaker, replace(weaker, certificate=replace(weaker.certificate, policy_hash=SECRET.hash))):
        with pytest.raises(BlowfishError, match="depends on secrets and has no noise"):
            session.release(replace(exact, policy=SECRET))
    assert session.ledger.entries() == ()


def test_a_plan_of_one_public_group_is_not_one_of_another() -> None:
    session = open_session(REGIONS_PUBLIC)
    plan = session.plan(bp.Histogram("age").by("region"), epsilon={"S": 1, "N": 2})
    south, north = plan.parts[(1,)], plan.parts[(0,)]
    only_south = session.plan(bp.Histogram("age").by("region"), epsilon={"S": 1})
    for parts in ({(0,): south, (1,): north}, {(0,): south}, {(1,): south}, {(2,): south}, {}):
        with pytest.raises(PolicyError, match="make a new plan"):
            session.release(replace(plan, parts=parts))
    with pytest.raises(PolicyError, match="make a new plan"):
        session.release(replace(only_south, parts={(0,): south}))
    assert session.ledger.entries() == ()
    populations = Populations(REGIONS_PUBLIC, plan.selection)
    swapped = {(0,): replace(south, population=populations[(1,)]), (1,): south}
    with pytest.raises(PolicyError, match="make a new plan"):
        session.release(replace(plan, parts=swapped))


def test_groups_that_were_given_different_amounts_are_different_releases() -> None:
    session = open_session(REGIONS_PUBLIC)
    for region in ("N", "S"):
        result = session.release(bp.Histogram("age").by("region"), epsilon={region: 1})
        (part,) = reading.parts_of(reading.parse(result.text))
        assert part is not None
        assert part["value"] == [region]
    assert len(session.ledger.entries()) == 2


def test_the_name_of_a_plan_is_text() -> None:
    session = open_session(SECRET)
    plan = session.plan(bp.Histogram("age"), epsilon=1)
    for name in (np.arange(5), None):
        with pytest.raises(PolicyError, match="are text"):
            session.release(replace(plan, name=name))
    assert session.ledger.entries() == ()


COPIES = {
    "copied": copy.copy,
    "deep-copied": copy.deepcopy,
    "pickled": lambda plan: pickle.loads(pickle.dumps(plan)),
}

COPIED = [
    *QUERIES,
    bp.Cumulative("age"),
    bp.Linear(young, attributes=["age"]),
    bp.Tables([["age"], ["region"]]),
    bp.Synthetic(["age", "region"]),
]


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("query", COPIED, ids=lambda query: repr(query)[:40])
def test_a_copy_of_a_plan_is_a_plan_for_the_same_release(query: Any, how: str) -> None:
    session = bp.Session(TABLE, SECRET, budget={"epsilon": 9, "delta": "1e-6"})
    plan = session.plan(query, epsilon="0.3", delta="1e-6")
    plan.expected_error()
    made = COPIES[how](plan)
    assert made.certificate == plan.certificate
    assert session.release(made).text == session.release(plan).text
    assert len(session.ledger.entries()) == 1


def test_what_a_mechanism_works_out_is_not_copied() -> None:
    """A factorisation of many equations, which cannot be pickled."""
    policy = bp.Policy(bp.Domain(age=bp.Integer(0, 2999)), secrets=bp.DistanceThreshold(60))
    session = bp.Session(bp.Counts(np.ones(3000, dtype=np.int64)), policy, budget=1)
    plan = session.plan(bp.Cumulative("age"), epsilon="0.5", mechanism="smooth-hierarchy")
    before = plan.expected_error().rmse
    made = pickle.loads(pickle.dumps(plan))
    assert made.expected_error().rmse == before
    assert session.release(copy.deepcopy(made)).text == session.release(plan).text


def test_a_ledger_compares_every_document_with_its_charge() -> None:
    session = open_session(REGIONS_PUBLIC)
    paid = {"policy": REGIONS_PUBLIC, "policy_text": session.runner().policy_text, "mechanism": "laplace"}
    for query in (bp.Histogram("age"), bp.Histogram("age").by("region"), bp.Mean("age").where(region="S")):
        session.release(query, epsilon=3)
    assert session.ledger.verify().ok
    result = session.release(bp.Histogram("age"), epsilon=2, name="dear")
    body = reading.parse(result.text)
    for amount in ("2", "1"):
        number = len(session.ledger.entries()) + 1
        stored = {**body, "ledger": {"key": amount, "entry": number}}
        loss = replace(proved_by(result.text), amounts=((changing("age"), Fraction(amount)),))
        session.ledger.charge(loss=loss, key=amount, description="forged", **paid)
        session.ledger.record(amount, document.dumps(stored))
    session.ledger.charge(loss=loss, key="broken", description="broken", **paid)
    session.ledger.record("broken", "{}")
    assert session.ledger.verify().problems == (
        "entry 6: the document proves a larger loss than was charged for it.",
        "entry 7: this is not a release document.",
    )


# What could not be read back is refused before it is charged, and names mean one thing.


COUNTS = bp.Counts([1] * 10)

READ_BACK_DOMAIN = bp.Domain(a=bp.Integer(0, 9))


@pytest.mark.parametrize(
    "secrets",
    [
        bp.Partition(widths={"a": 5}, blocks={}),
        bp.Partition(widths={}),
        bp.Partition(blocks={"a": ((0, 4), (5, 9))}),
        bp.Partition(blocks=((0, 4), (5, 9))),
    ],
    ids=repr,
)
def test_partitions_read_back(secrets):
    session = bp.Session(COUNTS, bp.Policy(READ_BACK_DOMAIN, secrets=secrets), budget=1)
    assert len(session.release(bp.Histogram("a"), epsilon=1).values) == 10
    assert session.ledger.verify().ok


def test_a_query_that_a_document_could_not_hold_costs_nothing():
    class Forgetful(bp.Histogram):
        keyword = "forgetful"

        def to_file(self, domain):
            return {"forgetful": ["a"], "further": 1}

    session = bp.Session(COUNTS, bp.Policy(READ_BACK_DOMAIN, secrets=FullDomain()), budget=1)
    try:
        with pytest.raises(bp.SpecError, match="could not be read back.*Nothing was charged"):
            session.release(Forgetful("a"), epsilon=1)
    finally:
        del type(bp.Histogram("a")).kinds["forgetful"]
    assert session.remaining == 1


def test_secrets_without_a_hash_of_their_own_are_released_and_explained():
    class Unhashable(FullDomain):
        keyword = "unhashable"
        __hash__ = None

        def to_file(self):
            return "full"

    try:
        policy = bp.Policy(READ_BACK_DOMAIN, secrets=Unhashable())
        assert "fully unprotected" in policy.explain()
        assert len(bp.Session(COUNTS, policy, budget=1).release(bp.Histogram("a"), epsilon=1).values) == 10
    finally:
        del FullDomain.kinds["unhashable"]


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(bp.SpecError, match="cannot be called 'full'"):

        class Mine(FullDomain):
            keyword = "full"

    assert FullDomain.kinds["full"] is FullDomain


def test_what_is_no_text_is_no_release_document(tmp_path):
    (tmp_path / "t.ledger").write_bytes(b"\xff\xfe\x80")
    with pytest.raises(bp.SpecError, match=r"not text\. Hint: give a release document: name\.release\.json\."):
        bp.load(tmp_path / "t.ledger")


# How wrong plans will be, by size, by table and by amount: what pictures show is what plans say.


ACCURACY_DOMAIN = bp.Domain(age=bp.Integer(0, 63), sex=bp.Categorical(["F", "M"]), home=bp.Integer(0, 31))

POLICY = bp.Policy(
    ACCURACY_DOMAIN,
    secrets=bp.PerAttribute(age=bp.DistanceThreshold(2), sex=bp.FullDomain(), home=bp.Public()),
    size=1000,
)


def plan(query, policy=POLICY, **stated):
    target = Target.of(**(stated or {"epsilon": "0.5"}))
    return make_plan(query, policy, target=target, records=policy.records), target


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
    made, target = plan(bp.Histogram("home"))
    view = accuracy_view(made)
    assert view["exact"]
    assert view["mechanism"] is None
    assert view["lost"] == {}
    assert view["words"].endswith("published exactly, and costs nothing.")
    assert by_size(made) is None
    assert by_amount(made, target) == []


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
    made, target = plan(bp.Histogram("age"))
    rows = by_amount(made, target)
    assert [Fraction(row["amount"]) for row in rows] == [factor / 2 for factor in FACTORS]
    errors = [row["rmse"] for row in rows]
    assert errors == sorted(errors, reverse=True)
    assert errors[len(errors) // 2] == made.expected_error().rmse


def test_a_plan_for_an_error_can_be_varied_too():
    made, target = plan(bp.Histogram("age"), error="10")
    middle = by_amount(made, target)[len(FACTORS) // 2]
    assert Fraction(middle["amount"]) == made.amount
    assert middle["rmse"] == made.expected_error().rmse


def test_between_the_amounts_that_were_planned_errors_are_guessed():
    made, target = plan(bp.Histogram("age"))
    rows = by_amount(made, target)
    error = sketched(rows, amount=0.37)
    assert error == pytest.approx(plan(bp.Histogram("age"), epsilon="0.37")[0].expected_error().rmse, rel=0.03)
    assert sketched(rows, error=error) == pytest.approx(0.37, rel=1e-6)
    assert sketched(rows, amount=1e-9) is None
    assert sketched([], amount=0.1) is None


# A policy's hash does not depend on the order of its domain; what data without names mean does.


ORDER_COUNTS = np.array([[5, 0, 0, 1], [0, 7, 0, 0], [0, 0, 2, 0], [9, 0, 0, 0]])

"""The axes are the public attribute and the secret one."""

SECRETS = bp.PerAttribute(open=bp.Public(), secret=bp.FullDomain())


def declared(*names, secrets=SECRETS):
    return bp.Policy(bp.Domain({name: bp.Integer(0, 3) for name in names}), secrets=secrets)


OWN, TURNED = declared("open", "secret"), declared("secret", "open")

ORDER_QUERIES = {
    "histogram": bp.Histogram("open"),
    "both": bp.Histogram("open", "secret"),
    "cumulative": bp.Cumulative("open"),
    "sum": bp.Sum("open"),
    "mean": bp.Mean("open"),
    "linear": bp.Linear([[1, 2, 3, 4]], ["open"]),
    "grid": bp.RangeGrid("open", "secret"),
    "clusters": bp.KMeans(["open"], k=2),
    "synthetic": bp.Synthetic(["open", "secret"]),
}


@pytest.mark.parametrize("query", ORDER_QUERIES.values(), ids=ORDER_QUERIES)
def test_a_plan_for_another_order_is_refused_before_anything_happens(query):
    assert OWN.hash == TURNED.hash
    session = bp.Session(bp.Counts(ORDER_COUNTS), OWN, budget=1)
    plan = bp.Session(bp.Counts(ORDER_COUNTS.T), TURNED, budget=1).plan(query, epsilon="0.5")
    for release in (session.release, session.runner().release):
        with pytest.raises(bp.PolicyError, match="different order from this session"):
            release(plan)
    assert session.ledger.entries() == ()
    assert session.engine.reads == 0
    # What is public may be exact, and is the right attribute's.
    assert session.release(bp.Histogram("open"), epsilon=1).counts.tolist() == ORDER_COUNTS.sum(axis=1).tolist()


def test_categories_in_another_order_are_another_order():
    secrets = bp.Partition(blocks={"c": [["w", "x"], ["y", "z"]]})
    own, turned = (bp.Policy(bp.Domain(c=bp.Categorical(list(names))), secrets=secrets) for names in ("wxyz", "wyxz"))
    assert own.hash == turned.hash
    # How many have w or x is public under the plan's order, where the second place is y.
    blocks = make_plan(bp.Linear([[1, 0, 1, 0]], ["c"]), turned, epsilon=1)
    assert blocks.epsilon == 0
    with pytest.raises(bp.PolicyError, match="different order"):
        bp.Session(bp.Counts([1, 20, 300, 4000]), own, budget=1).release(blocks)


def test_plans_of_groups_for_another_order_are_refused():
    session = bp.Session(bp.Counts(ORDER_COUNTS), OWN, budget=1)
    plan = make_plan(bp.Histogram("secret").by("open"), TURNED, epsilon=1)
    with pytest.raises(bp.PolicyError, match="different order"):
        session.release(plan)
    assert session.ledger.entries() == ()


def test_a_key_is_not_answered_with_a_document_of_another_order(tmp_path):
    table = pd.DataFrame({"open": [0, 1, 2, 3], "secret": [3, 2, 1, 0]})
    first = bp.Session(table, OWN, budget=1, ledger=tmp_path / "l", create=True)
    second = bp.Session(table, TURNED, ledger=tmp_path / "l")
    first.release(bp.Histogram("open", "secret"), epsilon="0.1", key="k")
    with pytest.raises(bp.LedgerError, match="used for a different release"):
        second.release(bp.Histogram("open", "secret"), epsilon="0.1", key="k")


@pytest.mark.parametrize("data", ["counts", "array"])
def test_data_without_names_keep_the_order_of_the_ledgers_policy(tmp_path, data):
    """The budget belongs to a policy by its hash: a second session must not turn the table around."""
    ledger = bp.Session(bp.Counts(ORDER_COUNTS), OWN, budget=3, ledger=tmp_path / "l", create=True).ledger

    def release(policy):
        if data == "counts":
            session = bp.Session(bp.Counts(ORDER_COUNTS), policy, ledger=ledger)
            return session.release(bp.Histogram("open"), epsilon=1, new=True)
        return KMeansEstimator(1, policy=policy, epsilon=1, ledger=ledger).fit(
            np.tile([[0.0, 3.0], [1.0, 2.0]], (50, 1))
        )

    release(OWN)
    before = ledger.remaining
    with pytest.raises(bp.PolicyError, match="no names.*use its order: open, secret,"):
        release(TURNED)
    # A weaker policy in another order is no way round, also after a table with names taught the ledger that order.
    table = pd.DataFrame({"open": [0, 1, 2, 3], "secret": [3, 2, 1, 0]})
    bp.Session(table, TURNED, ledger=ledger).release(bp.Histogram("open"), epsilon="0.1")
    with pytest.raises(bp.PolicyError, match="order"):
        release(declared("secret", "open", secrets=bp.FullDomain()))
    assert ledger.remaining == before
    release(OWN)


def test_tables_with_names_may_be_declared_in_any_order(tmp_path):
    table = pd.DataFrame({"open": [0, 1, 2, 3, 3], "secret": [3, 2, 1, 0, 0]})
    for policy in (OWN, TURNED):
        session = bp.Session(table, policy, budget=1, ledger=tmp_path / "l", create=policy is OWN)
        result = session.release(bp.Histogram("open"), epsilon="0.1")
        assert result.counts.tolist() == [1, 1, 1, 2]
        assert verification.problems(result.text) == []
        # Documents and what the ledger stores keep the order.
        assert result.release.policy.domain == policy.domain
        assert spec.loads(spec.dumps(policy)).policy.domain == policy.domain


@pytest.mark.parametrize("names", [*permutations(["open", "secret", "other"])])
def test_every_order_of_three_attributes(names):
    shape, turned = (2, 3, 4), dict(zip(("open", "secret", "other"), (2, 3, 4), strict=True))
    secrets = bp.PerAttribute(open=bp.Public(), secret=bp.FullDomain(), other=bp.Public())
    counts = np.arange(24).reshape(shape)

    def policy(order):
        return bp.Policy(bp.Domain({name: bp.Integer(0, turned[name] - 1) for name in order}), secrets=secrets)

    session = bp.Session(bp.Counts(counts), policy(("open", "secret", "other")), budget=1)
    plan = make_plan(bp.Histogram("other", "open"), policy(names), epsilon=1)
    if names == ("open", "secret", "other"):
        assert session.release(plan).counts.tolist() == counts.sum(axis=1).T.tolist()
    else:
        with pytest.raises(bp.PolicyError, match="different order"):
            session.release(plan)
