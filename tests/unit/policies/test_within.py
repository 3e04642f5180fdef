"""Secrets within the subtrees of a level: the partition that lists them, by another name."""

from __future__ import annotations

import pickle

import pytest

import blowfish_privacy as bp

PLACE = bp.Hierarchy(
    ["country", "state", "county"],
    {"D": {"Bavaria": ["Munich", "Passau"], "Hesse": ["Kassel"]}, "A": {"Tyrol": ["Imst", "Lienz"]}},
)
SEX = bp.Categorical(["F", "M"])
ONE = bp.Domain(place=PLACE)
BOTH = bp.Domain(place=PLACE, sex=SEX)
STATES = [["Munich", "Passau"], ["Kassel"], ["Imst", "Lienz"]]
COUNTRIES = [["Munich", "Passau", "Kassel"], ["Imst", "Lienz"]]


@pytest.mark.parametrize(
    ("domain", "within", "same"),
    [
        (ONE, bp.Within("state"), bp.Partition(blocks=STATES)),
        (ONE, bp.Within("country"), bp.Partition(blocks=COUNTRIES)),
        (BOTH, bp.Within({"place": "state"}), bp.Partition(blocks={"place": STATES})),
        (
            BOTH,
            bp.PerAttribute(place=bp.Within("state"), sex=bp.FullDomain()),
            bp.PerAttribute(place=bp.Partition(blocks=STATES), sex=bp.FullDomain()),
        ),
    ],
)
def test_it_is_the_partition_into_subtrees(domain, within, same):
    assert bp.Policy(domain, secrets=within).hash == bp.Policy(domain, secrets=same).hash
    assert within.on(domain) == same.on(domain)


@pytest.mark.filterwarnings("ignore::blowfish_privacy.BlowfishWarning")
def test_within_the_lowest_level_nothing_is_secret():
    assert not bp.Policy(ONE, secrets=bp.Within("county")).graph.has_edges


def test_a_level_above_is_public_and_one_below_is_not():
    graph = bp.Policy(BOTH, secrets=bp.PerAttribute(place=bp.Within("state"), sex=bp.Public())).graph
    assert [graph.changes(f"place@{level}") for level in PLACE.levels] == [False, False, True]
    graph = bp.Policy(ONE, secrets=bp.Within("country")).graph
    assert [graph.changes(f"place@{level}") for level in PLACE.levels] == [False, True, True]


def test_a_partition_across_levels_joins_the_values_that_share_a_block():
    blocks = [["Munich", "Kassel"], ["Passau", "Imst"], ["Lienz"]]
    graph = bp.Policy(ONE, secrets=bp.Partition(blocks=blocks)).graph.project(["place@state"])
    # Bavaria shares a block with Hesse and one with Tyrol; Hesse and Tyrol share none.
    assert {frozenset(edge) for edge in graph.edges()} == {frozenset({(0,), (1,)}), frozenset({(0,), (2,)})}
    assert graph.hops((1,), (2,)) == 2


@pytest.mark.parametrize(
    ("domain", "within", "words"),
    [
        (ONE, bp.Within("stat"), "no level 'stat'"),
        (BOTH, bp.Within("state"), "which attribute"),
        (BOTH, bp.Within({"sex": "state"}), "not a hierarchy"),
        (BOTH, bp.Within({"places": "state"}), "unknown attribute"),
        (BOTH, bp.PerAttribute(place=bp.FullDomain(), sex=bp.Within("state")), "not a hierarchy"),
    ],
)
def test_what_does_not_fit_is_refused(domain, within, words):
    with pytest.raises(bp.PolicyError, match=words):
        bp.Policy(domain, secrets=within)


@pytest.mark.parametrize("level", ["", None, 5, {}])
def test_a_level_is_needed(level):
    with pytest.raises(bp.PolicyError, match="within a level"):
        bp.Within(level)


def test_it_is_a_value():
    assert bp.Within("state") == bp.Within("state") != bp.Within("country")
    for choice in (bp.Within("state"), bp.Within({"place": "state"})):
        assert pickle.loads(pickle.dumps(choice)) == choice
        assert hash(eval(repr(choice), {"Within": bp.Within})) == hash(choice)
        assert bp.Within.from_file(choice.to_file(), BOTH) == choice
