"""Linear queries over many values: planned from the structure of the graph, or refused before the work begins."""

from __future__ import annotations

import pytest

import blowfish_privacy as bp
from blowfish_privacy.graphs.graph import SecretGraph
from blowfish_privacy.queries.query import MOST_NUMBERS

MANY = bp.Domain(wage=bp.Integer(0, 49_999), sex=bp.Categorical(["Female", "Male"]))
SECRETS = {
    "full": (bp.FullDomain(), 49_999),
    "threshold": (bp.PerAttribute(wage=bp.DistanceThreshold(7), sex=bp.FullDomain()), 7),
    "blocks": (bp.Partition(widths={"wage": 100}), 99),
    "by value": (bp.ByValue("sex", {"Female": bp.DistanceThreshold(7), "Male": bp.DistanceThreshold(20)}), 20),
}


@pytest.mark.parametrize(("secrets", "largest"), SECRETS.values(), ids=SECRETS)
def test_a_function_of_many_values_is_exact_and_lists_no_pairs(secrets, largest, monkeypatch):
    def listed(_graph):
        raise AssertionError("the secret pairs of a large domain were listed")

    monkeypatch.setattr(SecretGraph, "edges", listed)
    found = bp.sensitivity(bp.Linear(lambda wage: wage, ["wage"]), bp.Policy(MANY, secrets=secrets))
    assert (found.value, found.exact) == (largest, True)
    two = bp.sensitivity(bp.Linear(lambda wage: [wage, -2 * wage], ["wage"]), bp.Policy(MANY, secrets=secrets))
    assert (two.value, two.exact) == (3 * largest, True)


def test_a_function_is_called_once_for_each_value():
    seen = []
    query = bp.Linear(lambda age: seen.append(age) or age, ["age"])
    policy = bp.Policy(bp.Domain(age=bp.Integer(0, 9)), secrets=bp.DistanceThreshold(3))
    session = bp.Session(bp.Counts([1] * 10), policy, budget=1)
    session.release(session.plan(query, epsilon="0.5"))
    assert seen == [*range(10)]


def test_what_cannot_be_tabulated_is_refused_before_the_work():
    seen = []
    wide = bp.Domain(a=bp.Integer(0, MOST_NUMBERS))
    with pytest.raises(bp.QueryError, match="too large to tabulate"):
        bp.Linear(seen.append, ["a"]).on(wide)
    assert not seen
    with pytest.raises(bp.QueryError, match=r"too many digits.*round\(weight, 2\)"):
        bp.Linear(lambda wage: seen.append(wage) or wage / 3, ["wage"]).on(MANY)
    assert len(seen) < 10
    with pytest.raises(bp.QueryError, match="200 outputs for each of 50,000 values"):
        bp.Linear(lambda wage: seen.append(wage) or [wage] * 200, ["wage"]).on(MANY)
    assert len(seen) < 20
