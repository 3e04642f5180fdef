"""Hierarchies: trees from nested lists and from CSV, levels of them, and what is refused."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.domain import HierarchyLevel, Subset
from blowfish_privacy.release import spec
from blowfish_privacy.release.verification import problems
from blowfish_privacy.support import limits

TREE = {"Bavaria": {"South": ["Munich", "Passau"], "North": ["Hof"]}, "Hesse": {"All": ["Kassel"]}}

LEVELS = ["state", "region", "county"]

PLACE = bp.Hierarchy(LEVELS, TREE)

TABLE = "state,region,county\nBavaria,South,Munich\nHesse,All,Kassel\nBavaria,North,Hof\nBavaria,South,Passau\n"


def policy_text(declared: str) -> str:
    return f"version: 1\npolicy:\n  domain:\n    place: {{hierarchy: {declared}}}\n  secrets: full\n"


def test_values_are_the_leaves_and_levels_are_coarser_views():
    assert [PLACE.value(position) for position in range(PLACE.size)] == ["Munich", "Passau", "Hof", "Kassel"]
    assert PLACE.level_sizes == {"state": 2, "region": 3, "county": 4}
    assert PLACE.level("state").tolist() == [0, 0, 0, 1]
    assert PLACE.level("region").tolist() == [0, 0, 1, 2]
    assert PLACE.level("county").tolist() == [0, 1, 2, 3]
    assert PLACE.at("state").leaves(Subset.of([0])) == Subset.of([0, 1, 2])
    assert PLACE.at("region").encode(np.array(["Kassel", "Passau"])).tolist() == [2, 0]


def test_a_domain_resolves_levels_without_listing_them():
    domain = bp.Domain(place=PLACE, sex=bp.Categorical(["F", "M"]))
    assert domain.names == ("place", "sex")
    assert "place@state" not in domain
    assert domain["place@state"].size == 2
    assert domain.project(["sex", "place@region"]).shape == (2, 3)
    assert domain.column("place@state") == "place"
    assert domain.axis("place@state") == 0
    assert domain.seen(["place@state", "sex"])((3, 1)) == (1, 1)
    projected = domain.project(["place@state"])
    assert projected["place@state"] == domain["place@state"]
    assert projected.seen(["place@state"])((1,)) == (1,)


def test_other_names_with_the_sign_of_levels_keep_working():
    domain = bp.Domain({"mail@home": bp.Categorical(["a", "b"]), "at@place": PLACE})
    assert domain["mail@home"].size == 2
    assert domain["at@place@state"].size == 2
    with pytest.raises(bp.DomainError, match="also a level"):
        bp.Domain({"place": PLACE, "place@state": bp.Integer(0, 1)})


@pytest.mark.parametrize("name", ["place@stat", "place@", "sex@state", "@state", "nowhere@state"])
def test_unknown_levels_are_refused(name):
    domain = bp.Domain(place=PLACE, sex=bp.Categorical(["F", "M"]))
    with pytest.raises(bp.DomainError, match="no level|no attribute"):
        _ = domain[name]


@pytest.mark.parametrize(
    ("levels", "tree", "words"),
    [
        (["state", "county"], {"A": ["x"], "B": ["x"]}, "county 'x' is in two places"),
        (["a", "b", "c"], {"A": {"x": ["1"]}, "B": {"x": ["2"]}}, "b 'x' is in two places"),
        (["state", "county"], {"A": ["x", "x"]}, "listed twice"),
        (["state", "county"], {"A": ["x", " "]}, "not text"),
        (["state", "county"], {"": ["x"]}, "not text"),
        (["state", "county"], {"A": []}, "is empty"),
        (["state", "county"], {}, "is empty"),
        (["state", "county"], {"A": ["x"], "B": {"y": ["z"]}}, "must be a list"),
        (["state", "county"], ["x"], "must be a mapping"),
        (["state", "county"], {"A": "xy"}, "must be a list"),
        (["state", "county"], {1: ["x"]}, "not text"),
        (["state", "county"], {"A": ["x", 1]}, "all text"),
        (["state", "state"], {"A": ["x"]}, "same name"),
        (["st@te", "county"], {"A": ["x"]}, "without '@'"),
        (["", "county"], {"A": ["x"]}, "name of a level"),
        ("state", ["x"], "list of names"),
        ([], ["x"], "list of names"),
        (["state", "county"], None, "must be a mapping"),
    ],
)
def test_trees_that_make_no_sense_are_refused(levels, tree, words):
    with pytest.raises(bp.DomainError, match=words):
        bp.Hierarchy(levels, tree)


def test_very_large_trees_are_refused(monkeypatch):
    monkeypatch.setattr("blowfish_privacy.domain.categorical.HIERARCHY_LEAVES", 3)
    assert limits.HIERARCHY_LEAVES == 100_000
    with pytest.raises(bp.DomainError, match="at most 3 leaves"):
        bp.Hierarchy(LEVELS, TREE)


def test_a_table_of_levels_is_the_same_tree(tmp_path):
    (tmp_path / "places.csv").write_text(TABLE)
    read = bp.Hierarchy.from_csv(tmp_path / "places.csv")
    assert read == PLACE
    assert hash(read) == hash(PLACE)
    assert pickle.loads(pickle.dumps(read)) == PLACE


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("state,county\nA,x\nB,x\n", "in two places"),
        ("state,county\nA,x\nA,x\n", "listed twice"),
        ("state,county\nA,x\nB\n", "row 2 .* has 1 names"),
        ("state,county\n,x\n", "not text"),
        ("state,county\n", "no rows"),
        ("", "no rows"),
        ('state,county\nA,"x', "cannot be read"),
        ("a,a\nA,x\n", "same name"),
    ],
)
def test_tables_that_make_no_sense_are_refused(table, words, tmp_path):
    (tmp_path / "places.csv").write_text(table)
    with pytest.raises(bp.DomainError, match=words):
        bp.Hierarchy.from_csv(tmp_path / "places.csv")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(bp.DomainError, match="cannot be read: No such file"):
        bp.Hierarchy.from_csv(tmp_path / "places.csv")


def test_a_policy_file_names_a_table_beside_it_and_documents_hold_the_tree(tmp_path):
    (tmp_path / "places.csv").write_text(TABLE)
    (tmp_path / "policy.yaml").write_text(policy_text("{file: places.csv}"))
    policy = spec.load(tmp_path / "policy.yaml").policy
    assert policy.domain["place"] == PLACE
    written = spec.policy_to_section(policy)
    assert written["domain"]["place"] == {"hierarchy": {"levels": LEVELS, "tree": TREE}}
    assert spec.policy_from_section(written).hash == policy.hash
    with pytest.raises(bp.SpecError, match="levels and a tree"):
        spec.loads(policy_text("{file: places.csv}"))
    with pytest.raises(bp.SpecError, match="levels and a tree"):
        spec.policy_from_section({**written, "domain": {"place": {"hierarchy": {"file": "places.csv"}}}})


def test_the_order_of_names_does_not_matter_and_the_tree_does():
    def hashed(levels, tree):
        return bp.Policy(bp.Domain(place=bp.Hierarchy(levels, tree)), secrets=bp.FullDomain()).hash

    assert hashed(["state", "county"], {"A": ["x", "y"], "B": ["z"]}) == hashed(
        ["state", "county"], {"B": ["z"], "A": ["y", "x"]}
    )
    assert hashed(["state", "county"], {"A": ["x", "y"], "B": ["z"]}) != hashed(
        ["state", "county"], {"A": ["x"], "B": ["y", "z"]}
    )


def test_missing_values_are_counted_below_the_name_that_is_declared():
    place = bp.Hierarchy(LEVELS, TREE, missing="Kassel")
    assert place.at("state").missing_position == 1
    assert place.at("state").encode(np.array([None, "Hof"], dtype=object)).tolist() == [1, 0]
    assert place.to_file()["missing"] == "Kassel"


def test_a_level_is_not_declared_on_its_own():
    assert isinstance(PLACE.at("state"), HierarchyLevel)
    with pytest.raises(bp.DomainError, match="not an attribute of its own"):
        PLACE.at("state").to_file()


# Queries at the levels of a hierarchy, from the question to the verified document; and what is refused, uncharged.


LEVELS_PLACE = bp.Hierarchy(["state", "county"], {"Bavaria": ["Munich", "Passau"], "Hesse": ["Kassel"]})

DOMAIN = bp.Domain(place=LEVELS_PLACE, sex=bp.Categorical(["F", "M"]))

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


def test_a_partition_of_very_many_values_is_seen_beside_a_level():
    domain = bp.Domain(salary=bp.Integer(0, 10**12), place=PLACE)
    seen = bp.Partition(widths={"salary": 10}).on(domain).project(["salary", "place@state"])
    assert seen.largest_move("salary") == 9
    assert seen.adjacent((0, 0), (9, 1))
    assert not seen.adjacent((9, 0), (10, 0))


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
