"""Nothing of a plan is taken on trust: whatever of it is replaced, what is charged covers what the document proves."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.errors import BlowfishError, PolicyError
from blowfish_privacy.privacy.certificate import Populations
from blowfish_privacy.privacy.loss import changing
from blowfish_privacy.queries import Selection
from blowfish_privacy.release import document, reading, verification
from blowfish_privacy.release.plan import Plan

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
    body = reading.upgraded(reading.parse(text))
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
