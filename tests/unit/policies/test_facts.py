from __future__ import annotations

import pickle
from copy import deepcopy
from math import inf

import numpy as np
import pytest

import blowfish_privacy as bp

PEOPLE = bp.Domain(age=bp.Integer(17, 90), sex=bp.Categorical(["Female", "Male"]), zone=bp.Integer(0, 2))


def policy(*known, **options):
    return bp.Policy(PEOPLE, secrets=bp.Attributes(), known=known, **options)


SEX = bp.KnownMarginal("sex", counts={"Female": 40, "Male": 60})


def test_the_number_of_records_follows_from_a_marginal():
    assert policy(SEX).records == 100
    assert policy(SEX, size=100).records == 100
    assert policy(bp.KnownMarginal("sex")).records is None
    assert policy(bp.KnownCount(where={"age": (17, 90)}, count=7)).records == 7


@pytest.mark.parametrize("counts", [[40, 60], (40, 60), np.array([40, 60]), {"Male": 60, "Female": 40}])
def test_counts_can_be_written_in_several_ways(counts):
    assert policy(bp.KnownMarginal("sex", counts=counts)).hash == policy(SEX).hash


def test_counts_of_several_attributes():
    nested = bp.KnownMarginal("sex", "zone", counts=[[1, 2, 3], [4, 5, 6]])
    by_cell = {(sex, zone): 1 + zone + 3 * (sex == "Male") for sex in ("Female", "Male") for zone in range(3)}
    assert policy(nested).hash == policy(bp.KnownMarginal("sex", "zone", counts=by_cell)).hash
    turned = bp.KnownMarginal("zone", "sex", counts=[[1, 4], [2, 5], [3, 6]])
    assert policy(nested).hash == policy(turned).hash
    assert policy(nested).hash != policy(bp.KnownMarginal("sex", "zone", counts=[[6, 2, 3], [4, 5, 1]])).hash


def test_equivalent_conditions_have_one_hash():
    some = policy(bp.KnownCount(where={"age": (17, 20), "sex": ["Female", "Male"]}))
    assert some.hash == policy(bp.KnownCount(where={"age": [20, 17, 18, 19]})).hash
    assert some.hash == policy(*[bp.KnownCount(where={"age": range(17, 21)})] * 3).hash
    assert some.hash != policy(bp.KnownCount(where={"age": (17, 21)})).hash


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ([bp.KnownMarginal("sexx")], "did you mean 'sex'"),
        ([bp.KnownCount(where={"agee": 20})], "did you mean 'age'"),
        ([bp.KnownCount(where={"age": 5})], "5 is outside"),
        ([bp.KnownCount(where={"age": (25, 17)})], "reversed"),
        ([bp.KnownCount(where={"age": []})], "selects no value"),
        ([bp.KnownCount(where={"sex": ("Female", "Male")})], "no order"),
        ([bp.KnownMarginal("sex", counts=[1, 2, 3])], "list of 2"),
        ([bp.KnownMarginal("sex", "zone", counts=[[1, 2], [3, 4]])], "list of 2 x 3"),
        ([bp.KnownMarginal("sex", counts={"Female": 1})], "no count for sex Male"),
        ([bp.KnownMarginal("sex", counts={"Female": 1, "Mail": 2})], "did you mean 'Male'"),
        ([bp.KnownMarginal("sex", counts=[1, -2])], "from 0 to 2"),
        ([bp.KnownMarginal("sex", counts=[1, 2.5])], "whole number"),
        ([SEX, bp.KnownMarginal("zone", counts=[1, 2, 3])], "implies 100 records, but the marginal of zone implies 6"),
        ([SEX, bp.KnownMarginal("sex", "zone", counts=[[50, 0, 0], [50, 0, 0]])], "disagree on sex Female: 40 and 50"),
        ([SEX, bp.KnownCount(where={"sex": "Male"}, count=59)], "must be 60"),
        ([SEX, bp.KnownCount(where={"sex": "Male", "age": (17, 20)}, count=61)], "between 0 and 60"),
        ([SEX, bp.KnownCount(where={"age": (17, 20)}, count=101)], "exceeds the number of records, 100"),
        (
            [bp.KnownCount(where={"age": (17, 20)}, count=9), bp.KnownCount(where={"age": (17, 30)}, count=8)],
            "part of the other but has the larger count",
        ),
        (
            [bp.KnownCount(where={"age": (17, 20)}, count=9), bp.KnownCount(where={"age": [18, 17, 19, 20]}, count=8)],
            "part of the other but has the larger count",
        ),
        (
            [SEX, bp.KnownCount(where={"age": (17, 20)}, count=60), bp.KnownCount(where={"age": (21, 30)}, count=41)],
            "have nobody in common but add up to more",
        ),
        (
            [SEX, bp.KnownCount(where={"age": (17, 50)}, count=60), bp.KnownCount(where={"age": (50, 90)}, count=39)],
            "cover everybody but add up to fewer",
        ),
        (["sex"], "KnownCount or a KnownMarginal"),
    ],
)
def test_facts_that_are_wrong_or_contradict_each_other_are_refused(known, said):
    with pytest.raises(bp.PolicyError, match=said):
        policy(*known)


def test_facts_themselves_are_checked():
    for build in (
        lambda: bp.KnownMarginal(),
        lambda: bp.KnownMarginal("sex", "sex"),
        lambda: bp.KnownMarginal(3),
        lambda: bp.KnownCount(where={}),
        lambda: bp.KnownCount(where={"age": 20}, count=-1),
        lambda: bp.KnownCount(where={"age": 20}, count=True),
    ):
        with pytest.raises(bp.PolicyError):
            build()


def test_a_stated_size_must_agree():
    with pytest.raises(bp.PolicyError, match="stated size implies 99 records"):
        policy(SEX, size=99)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"size": "unknown"}, "public number of records"),
        ({"rows_per_person": 2}, "one row per person only"),
        ({"compensation": "none"}, "compensation must be"),
        ({"size": -1}, "size must be"),
        ({"size": "many"}, "size must be"),
        ({"rows_per_person": 0}, "rows_per_person must be"),
    ],
)
def test_options_are_checked(options, said):
    with pytest.raises(bp.PolicyError, match=said):
        policy(SEX, **options)


def test_explain_says_what_is_assumed_public():
    text = policy(SEX, bp.KnownCount(where={"age": (17, 25), "sex": "Female"})).explain()
    assert "How many records have each “sex” (“sex” Female: 40, “sex” Male: 60)." in text
    assert "How many records have “age” from 17 to 25 and “sex” Female." in text
    assert "The number of records (100)." in text
    assert "they may change to any value" in text
    weaker = policy(SEX, compensation="secret-moves").explain()
    assert "weaker than the default" in weaker


def test_contradictions_that_only_several_facts_together_show():
    def count(values, number):
        return bp.KnownCount(where={"age": values}, count=number)

    for known, options in (
        ([count(17, 5), count(18, 5), count(19, 5)], {"size": 10}),
        ([count(17, 2), count(18, 2), count([17, 18], 3)], {"size": 100}),
        ([*(count(age, 1) for age in range(17, 91))], {"size": 100}),
        (
            [
                bp.KnownMarginal("sex", counts=[9, 1]),
                bp.KnownMarginal("zone", counts=[9, 1, 0]),
                bp.KnownCount(where={"sex": "Female", "zone": 0}, count=1),
            ],
            {},
        ),
    ):
        with pytest.raises(bp.PolicyError, match="together|larger|add up|must be"):
            policy(*known, **options)
    fine = [count(17, 2), count(18, 2), count([17, 18], 4)]
    assert policy(*fine, size=100).records == 100


def test_thousands_of_facts_take_no_pairs():
    facts = [bp.KnownCount(where={"age": 17 + i % 74, "zone": i % 3}, count=1) for i in range(2000)]
    assert policy(*facts).records is None


def test_numbers_and_counts_are_taken_at_their_word():
    import pandas as pd

    assert policy(SEX, size=np.int64(100)).hash == policy(SEX, size=100).hash
    with pytest.raises(bp.PolicyError, match="exceeds the number of records, 5"):
        policy(bp.KnownCount(where={"age": 17}, count=11), size=np.int64(5))
    by_name = bp.KnownMarginal("sex", counts=pd.Series({"Male": 60, "Female": 40}))
    assert policy(by_name).hash == policy(SEX).hash
    binned = bp.Domain(w=bp.Binned([0, 10, 20]))
    with pytest.raises(bp.PolicyError, match="two counts"):
        bp.Policy(binned, secrets=bp.FullDomain(), known=[bp.KnownMarginal("w", counts={1: 5, 2: 7, 15: 3})])


def test_policies_do_not_change_with_the_lists_they_were_made_from():
    blocks, counts, ages = [[0], [1, 2]], [40, 60], [17, 18]
    secrets = bp.PerAttribute(age=bp.FullDomain(), sex=bp.FullDomain(), zone=bp.Partition(blocks=blocks))
    known = [bp.KnownMarginal("sex", counts=counts), bp.KnownCount(where={"age": ages}, count=3)]
    made = bp.Policy(PEOPLE, secrets=secrets, known=known)
    before = made.hash, made.explain()
    blocks[:], counts[:], ages[:] = [[0, 1, 2]], [1, 1], [20]
    again = bp.Policy(PEOPLE, secrets=secrets, known=known)
    assert (again.hash, again.explain()) == before


def test_values_with_nobody_in_between_are_not_steps_apart():
    from blowfish_privacy.policies.explain import explain_pair

    # Nobody has 1, so 0 and 2 are both ends of a chain that no table follows: the histogram is exact.
    line = bp.Domain(v=bp.Integer(0, 2))
    fact = bp.KnownCount(where={"v": 1}, count=0)
    pinned = bp.Policy(line, secrets=bp.DistanceThreshold(1), known=[fact], size=2)
    assert bp.sensitivity(bp.Histogram("v"), pinned).value == 0
    assert not pinned.connected
    for first, second in ((0, 1), (1, 2), (0, 2)):
        assert pinned.distance({"v": first}, {"v": second}) == inf
        text = explain_pair(pinned, {"v": first}, {"v": second})
        assert "No promise is made" in text
        assert "disclose" not in text
        assert "change by at most" not in text
    assert pinned.distance({"v": 0}, {"v": 0}) == 0
    assert "lead through values that nobody can have" in pinned.explain()
    assert "fully unprotected" not in pinned.explain()


def test_steps_are_counted_under_facts_where_it_is_proved_that_they_add_up():
    line = bp.Domain(v=bp.Integer(0, 3))

    def steps(*known, secrets=None, **options):
        policy = bp.Policy(line, secrets=secrets or bp.DistanceThreshold(1), known=known, **options)
        return [policy.distance({"v": 0}, {"v": last}) for last in (1, 2, 3)], policy.connected

    ones, twos = (bp.KnownCount({"v": value}, 2) for value in (1, 2))
    assert steps(ones, size=6) == ([1, 2, 3], True)
    assert steps(ones, twos, size=6) == ([1, 2, 3], True)
    # Whoever is somewhere may be in between, but perhaps nobody is there.
    assert steps(bp.KnownCount({"v": 1})) == ([1, inf, inf], False)
    assert steps(bp.KnownCount({"v": (0, 1)})) == ([1, 2, 3], False)
    assert steps(ones, size=6, compensation="secret-moves") == ([1, inf, inf], False)
    # Facts that cross each other leave it open: nullity 1.
    sums = [bp.KnownCount({"v": (first, first + 1)}, 3) for first in (0, 1, 2)]
    assert steps(*sums, size=6) == ([1, inf, inf], False)


def test_facts_on_other_attributes_leave_steps_as_they_are():
    domain = bp.Domain(age=bp.Integer(17, 90), sex=bp.Categorical(["F", "M"]), town=bp.Integer(0, 9))
    secrets = bp.PerAttribute(age=bp.DistanceThreshold(5), sex=bp.FullDomain(), town=bp.DistanceThreshold(1))
    policy = bp.Policy(domain, secrets=secrets, known=[bp.KnownMarginal("town")])
    assert policy.distance({"age": 20}, {"age": 60}) == 8
    assert policy.distance({"age": 20, "sex": "F"}, {"age": 60, "sex": "M"}) == 9
    assert policy.distance({"town": 3}, {"town": 4}) == 1
    assert policy.distance({"town": 3}, {"town": 5}) == inf
    assert "“age” 17 and 90 are 15 steps apart" in policy.explain()
    unseen = bp.Policy(domain, secrets=secrets, known=[bp.KnownMarginal("sex")])
    assert unseen.distance({"age": 20, "sex": "F"}, {"age": 60, "sex": "M"}) == 9


# Secrets within the subtrees of a level: the partition that lists them, by another name.


PLACE = bp.Hierarchy(
    ["country", "state", "county"],
    {"D": {"Bavaria": ["Munich", "Passau"], "Hesse": ["Kassel"]}, "A": {"Tyrol": ["Imst", "Lienz"]}},
)

WITHIN_SEX = bp.Categorical(["F", "M"])

ONE = bp.Domain(place=PLACE)

BOTH = bp.Domain(place=PLACE, sex=WITHIN_SEX)

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


@pytest.mark.parametrize(
    "choice",
    [
        bp.FullDomain(),
        bp.Partition(widths={"age": 10, "wage": 5}),
        bp.Partition(blocks={"sex": [["F"], ["M"]]}),
        bp.DistanceThreshold(5, scale={"age": 1, "wage": 2}),
        bp.PerAttribute(age=bp.DistanceThreshold(5), sex=bp.Public()),
        bp.ByValue("sex", {"F": bp.FullDomain(), "M": bp.Public()}),
        bp.ExplicitGraph([(1, 2), (2, 3)]),
    ],
    ids=repr,
)
def test_every_choice_of_secrets_is_a_value(choice):
    for copy in (pickle.loads(pickle.dumps(choice)), deepcopy(choice)):
        assert (copy, hash(copy), repr(copy)) == (choice, hash(choice), repr(choice))
    assert choice != bp.Attributes()


def test_the_order_of_names_does_not_matter():
    one, other = (bp.Partition(widths=dict(widths)) for widths in ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)]))
    assert (one, hash(one)) == (other, hash(other))
