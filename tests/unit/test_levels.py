"""Queries at the levels of a hierarchy, from the question to the verified document; and what is refused, uncharged."""

from __future__ import annotations

import json

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.release import spec
from blowfish_privacy.release.verification import problems

PLACE = bp.Hierarchy(["state", "county"], {"Bavaria": ["Munich", "Passau"], "Hesse": ["Kassel"]})
DOMAIN = bp.Domain(place=PLACE, sex=bp.Categorical(["F", "M"]))
COUNTS = np.array([[10, 20], [30, 40], [50, 60]])
SUBTREES = bp.PerAttribute(place=bp.Partition(blocks=[["Munich", "Passau"], ["Kassel"]]), sex=bp.FullDomain())


def session(secrets: bp.Attributes | bp.PerAttribute, **options) -> bp.Session:
    return bp.Session(bp.Counts(COUNTS), bp.Policy(DOMAIN, secrets=secrets, **options), budget=10_000)


@pytest.mark.parametrize(
    ("asked", "counts"),
    [
        (bp.Histogram("place@state"), [100, 110]),
        (bp.Histogram("place@county"), [30, 70, 110]),
        (bp.Histogram("sex", "place@state"), [40, 50, 60, 60]),
        (bp.Histogram("sex").where({"place@state": "Bavaria"}), [40, 60]),
        (bp.Histogram("place").where({"place@state": ["Bavaria"]}), [30, 70, 0]),
        (bp.Histogram("place@state").where({"place@state": "Bavaria", "place": ["Passau", "Kassel"]}), [70, 0]),
    ],
)
def test_counts_at_a_level_are_sums_of_leaves(asked, counts):
    # With an epsilon this large, noise is as good as absent.
    released = session(bp.Attributes()).release(asked, epsilon=1000)
    assert released.release.noisy.tolist() == counts
    assert problems(released.text) == []


def test_groups_are_made_by_a_level():
    released = session(bp.Attributes()).release(bp.Histogram("sex").by("place@state"), epsilon=1000)
    assert {value: part.release.noisy.tolist() for value, part in released.items()} == {
        "Bavaria": [40, 60],
        "Hesse": [50, 60],
    }
    assert problems(released.text) == []


def test_a_level_that_no_secret_pair_changes_is_exact_and_free():
    opened = session(SUBTREES)
    released = opened.release(bp.Histogram("place@state"), epsilon=1)
    assert released.release.noisy.tolist() == [100, 110]
    assert opened.ledger.spent == 0


def test_a_pair_that_changes_a_level_is_charged_to_its_attribute():
    opened = session(bp.Attributes())
    opened.release(bp.Histogram("place@state"), epsilon=1)
    opened.release(bp.Histogram("sex"), epsilon=1)
    assert opened.ledger.spent == 1
    opened.release(bp.Histogram("place"), epsilon=1)
    assert opened.ledger.spent == 2


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (bp.Histogram("place@county", "place"), "two levels"),
        (bp.Histogram("place@stat"), "no level 'stat'"),
        (bp.Histogram("sex@state"), "no attribute"),
        (bp.Histogram("sex").where({"place@stat": "Bavaria"}), "unknown attribute"),
        (bp.Histogram("sex").where({"place@state": "Munich"}), "not a declared category"),
        (bp.Histogram("sex").where({"place@state": "Hesse", "place": "Munich"}), "selects no value"),
        (bp.Histogram("sex").by("place@stat"), "unknown attribute"),
        (bp.Histogram("place").by("place@state"), "same within each group"),
        (bp.Histogram("sex").by("place@state", "place@county"), "two levels"),
    ],
)
def test_what_makes_no_sense_is_refused_and_not_charged(asked, words):
    opened = session(bp.Attributes())
    with pytest.raises(bp.QueryError, match=words):
        opened.release(asked, epsilon=1)
    assert opened.ledger.spent == 0
    assert opened.engine.reads == 0


def test_a_level_has_no_order():
    with pytest.raises(bp.QueryError, match="order"):
        bp.Cumulative("place@state").on(DOMAIN)


def test_levels_are_no_attributes_of_policies():
    with pytest.raises(bp.PolicyError, match="unknown attribute"):
        bp.Policy(DOMAIN, secrets=bp.PerAttribute({"place": bp.Public(), "place@state": bp.FullDomain()}))
    with pytest.raises(bp.PolicyError, match="unknown attribute"):
        bp.Policy(DOMAIN, secrets=bp.FullDomain(), known=[bp.KnownMarginal("place@state")])
    with pytest.raises(bp.PolicyError, match="names a level"):
        bp.Policy(DOMAIN, secrets=bp.FullDomain(), known=[bp.KnownCount({"place@state": "Hesse"})])


def test_levels_are_refused_where_known_facts_move_records_together():
    opened = session(bp.FullDomain(), known=[bp.KnownMarginal("place")])
    with pytest.raises(bp.RefusalError, match="known facts"):
        opened.release(bp.Histogram("place@state"), epsilon=1)
    assert opened.ledger.spent == 0


def test_a_policy_file_asks_for_levels():
    text = json.dumps(
        {
            "version": 1,
            "policy": {"domain": {name: DOMAIN[name].to_file() for name in DOMAIN}, "secrets": "attributes"},
            "releases": [
                {"name": "states", "histogram": ["place@state"], "epsilon": 1},
                {"name": "some", "histogram": "sex", "where": {"place@state": {"values": ["Hesse"]}}, "epsilon": 1},
                {"name": "each", "histogram": "sex", "by": "place@state", "epsilon": 1},
            ],
        }
    )
    states, some, each = spec.loads(text).releases
    assert states.query == bp.Histogram("place@state")
    assert some.query == bp.Histogram("sex").where({"place@state": ["Hesse"]})
    assert each.query == bp.Histogram("sex").by("place@state")
    with pytest.raises(bp.QueryError, match="no level 'stat'"):
        spec.loads(text.replace("place@state", "place@stat"))


def test_sets_of_tables_have_a_level_of_each_attribute():
    asked = bp.Tables([["place@state", "sex"], ["place@state"]])
    released = session(bp.Attributes()).release(asked, epsilon=1000)
    assert np.rint(released["place@state", "sex"].values).tolist() == [[40, 60], [50, 60]]
    assert problems(released.text) == []
    exact = session(bp.PerAttribute(place=bp.Within("state"), sex=bp.Public())).release(asked, epsilon=1)
    assert exact["place@state"].values.tolist() == [100, 110]
