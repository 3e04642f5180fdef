"""What a policy gains and gives up, in one sentence each."""

from __future__ import annotations

import blowfish_privacy as bp
from blowfish_privacy.statements.policy import gained, given_up

DOMAIN = bp.Domain(wage=bp.Integer(0, 200), region=bp.Categorical(["North", "South"]))
NEAR = bp.PerAttribute(wage=bp.DistanceThreshold(20), region=bp.Public())


def plans(secrets, *queries):
    session = bp.Session("nowhere.csv", bp.Policy(DOMAIN, secrets=secrets, size=1000), budget=1)
    return [session.plan(query, epsilon="0.1", name=name) for name, query in queries]


def test_what_is_gained_is_computed_from_the_plans():
    mean, count = ("mean", bp.Mean("wage")), ("counts", bp.Histogram("wage"))
    # A step of 20 instead of 200: a tenth of the noise. A histogram changes by two however far a record moves.
    assert gained(plans(NEAR, mean, count)) == (
        "Gained: “mean” is 10 times as exact as under plain differential privacy at the same epsilon; "
        "nothing is gained for “counts”."
    )
    wider = bp.PerAttribute(wage=bp.DistanceThreshold(40), region=bp.Public())
    assert "“mean” is 5 times as exact" in gained(plans(wider, mean))
    assert gained(plans(bp.FullDomain(), mean)).startswith("Gained: nothing")


def test_what_is_public_is_not_called_a_gain():
    regions, mean = ("regions", bp.Histogram("region")), ("mean", bp.Mean("wage"))
    assert "regions" not in gained(plans(NEAR, regions, mean))


def test_what_is_given_up_comes_from_the_policy():
    assert given_up(bp.Policy(DOMAIN, secrets=NEAR)) == (
        "Given up: values further apart are protected less, once per step (“wage” 0 and 200 are 10 steps apart); "
        "“region”: not protected at all."
    )
    assert given_up(bp.Policy(DOMAIN, secrets=bp.FullDomain())) == "Given up: nothing."
    assert "whole records up to 2" in given_up(bp.Policy(DOMAIN, secrets=bp.Attributes()))
