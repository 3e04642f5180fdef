"""A policy's hash does not depend on the order of its domain; what data without names mean does."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

import blowfish_privacy as bp
from blowfish_privacy.estimator import KMeansEstimator
from blowfish_privacy.release import spec, verification
from blowfish_privacy.release.plan import make_plan

COUNTS = np.array([[5, 0, 0, 1], [0, 7, 0, 0], [0, 0, 2, 0], [9, 0, 0, 0]])
"""The axes are the public attribute and the secret one."""
SECRETS = bp.PerAttribute(open=bp.Public(), secret=bp.FullDomain())


def declared(*names, secrets=SECRETS):
    return bp.Policy(bp.Domain({name: bp.Integer(0, 3) for name in names}), secrets=secrets)


OWN, TURNED = declared("open", "secret"), declared("secret", "open")

QUERIES = {
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


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_plan_for_another_order_is_refused_before_anything_happens(query):
    assert OWN.hash == TURNED.hash
    session = bp.Session(bp.Counts(COUNTS), OWN, budget=1)
    plan = bp.Session(bp.Counts(COUNTS.T), TURNED, budget=1).plan(query, epsilon="0.5")
    for release in (session.release, session.runner().release):
        with pytest.raises(bp.PolicyError, match="different order from this session"):
            release(plan)
    assert session.ledger.entries() == ()
    assert session.engine.reads == 0
    # What is public may be exact, and is the right attribute's.
    assert session.release(bp.Histogram("open"), epsilon=1).counts.tolist() == COUNTS.sum(axis=1).tolist()


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
    session = bp.Session(bp.Counts(COUNTS), OWN, budget=1)
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
    ledger = bp.Session(bp.Counts(COUNTS), OWN, budget=3, ledger=tmp_path / "l", create=True).ledger

    def release(policy):
        if data == "counts":
            session = bp.Session(bp.Counts(COUNTS), policy, ledger=ledger)
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
