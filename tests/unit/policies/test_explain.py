from math import inf

import networkx as nx
import pytest

import blowfish_privacy as bp
from blowfish_privacy.policies.explain import about_attribute, explain_pair, unprotected
from blowfish_privacy.privacy.sensitivity import sensitivity

DOMAIN = bp.Domain(age=bp.Integer(17, 90), sex=bp.Categorical(["Female", "Male"]), zone=bp.Integer(0, 29))

SECRETS = bp.PerAttribute(age=bp.DistanceThreshold(5), sex=bp.FullDomain(), zone=bp.Partition(widths=10))

POLICY = bp.Policy(DOMAIN, secrets=SECRETS)


def test_the_direction_is_right():
    text = POLICY.explain()
    assert "“age”: values at most 5 apart are secret pairs, such as 17 and 22; values further apart take" in text
    assert "“sex”: every two values are a secret pair." in text
    assert "hidden as strongly as epsilon says, no more" in text
    assert "Which of the 3 blocks of “zone” a person is in is not protected at all" in text
    # e^0.1, e^0.5, e^1 to two places; e^(15 x 0.1) = 4.48.
    assert "1.11 at eps = 0.1, 1.65 at eps = 0.5, 2.72 at eps = 1" in text
    assert "“age” 17 and 90 are 15 steps apart: a factor e^(15 eps): 4.49 at eps = 0.1" in text


def test_pairs():
    assert "are a secret pair" in explain_pair(POLICY, {"age": 30}, {"age": 34})
    # e^0.6 = 1.82, e^3 = 20, e^6 = 403.
    assert "6 steps apart" in explain_pair(POLICY, {"age": 30}, {"age": 60})
    assert "1.83 at eps = 0.1, 21 at eps = 0.5, 404 at eps = 1" in explain_pair(POLICY, {"age": 30}, {"age": 60})
    assert "not protected from each other at all" in explain_pair(POLICY, {"zone": 0}, {"zone": 10})
    assert "are the same value" in explain_pair(POLICY, {"zone": 0}, {"zone": 0})


def test_a_public_attribute_is_two_steps_wide_where_the_number_of_records_is_secret():
    flags = bp.Domain(age=bp.Integer(0, 20), flag=bp.Categorical(["Yes", "No"]))
    secrets = bp.PerAttribute(age=bp.DistanceThreshold(5), flag=bp.Public())
    open_size, secret_size = (bp.Policy(flags, secrets=secrets, size=size) for size in ("known", "unknown"))
    assert about_attribute(open_size, "flag") == ("“flag”: not protected at all. Releases may show it exactly.",)
    assert open_size.distance({"flag": "Yes"}, {"flag": "No"}) == inf
    assert secret_size.distance({"flag": "Yes"}, {"flag": "No"}) == 2
    (said,) = about_attribute(secret_size, "flag")
    assert "any two values are two steps apart, and releases do not show it exactly" in said
    assert sensitivity(bp.Histogram("flag"), secret_size).value == 1
    assert unprotected(secret_size) == ()
    assert about_attribute(secret_size, "age") == about_attribute(open_size, "age")


def test_steps_do_not_add_up_where_the_number_of_records_is_secret():
    people = bp.Domain(age=bp.Integer(0, 20), sex=bp.Categorical(["Female", "Male"]))
    secrets = bp.PerAttribute(age=bp.DistanceThreshold(5), sex=bp.FullDomain())
    added = "as many steps apart as those attributes add up to"
    assert added in bp.Policy(people, secrets=secrets).explain()
    secret_size = bp.Policy(people, secrets=secrets, size="unknown")
    assert secret_size.distance({"age": 0, "sex": "Female"}, {"age": 20, "sex": "Male"}) == 2
    assert added not in secret_size.explain()


def test_examples_of_an_attribute_are_left_out_where_facts_may_disclose_them():
    domain = bp.Domain(age=bp.Integer(0, 20), sex=bp.Categorical(["Female", "Male"]))
    secrets = bp.PerAttribute(age=bp.DistanceThreshold(5), sex=bp.FullDomain())
    known = [bp.KnownCount({"sex": "Female"})]
    assert "such as" in about_attribute(bp.Policy(domain, secrets=secrets), "age")[0]
    assert "such as" not in about_attribute(bp.Policy(domain, secrets=secrets, known=known), "age")[0]


def test_units_and_sizes_are_said():
    text = bp.Policy(DOMAIN, secrets=SECRETS, size="unknown", rows_per_person=3).explain()
    assert "any two values are at most two steps apart" in text
    assert "not protected at all" not in text
    assert "whether a person is in the table at all is secret too" in text
    assert "up to 3 rows" in text
    assert "noise is 3 times larger" in text
    assert "The number of records (48,842)." in bp.Policy(DOMAIN, secrets=SECRETS, size=48_842).explain()


# The secret pairs of each kind, by hand; the contract tests do the rest.


AGE = bp.Domain(age=bp.Integer(17, 90))

GRID = bp.Domain(x=bp.Integer(0, 99), y=bp.Integer(0, 99))

PEOPLE = bp.Domain(age=bp.Integer(17, 90), sex=bp.Categorical(["Female", "Male"]), zone=bp.Integer(0, 29))


def hops(domain, secrets, first, second):
    return bp.Policy(domain, secrets=secrets).distance(first, second)


@pytest.mark.parametrize(
    ("domain", "secrets", "first", "second", "steps"),
    [
        (AGE, bp.FullDomain(), {"age": 17}, {"age": 90}, 1),
        (AGE, bp.DistanceThreshold(5), {"age": 30}, {"age": 34}, 1),
        (AGE, bp.DistanceThreshold(5), {"age": 30}, {"age": 60}, 6),
        (AGE, bp.DistanceThreshold("5.9"), {"age": 30}, {"age": 60}, 6),
        (AGE, bp.DistanceThreshold(1000), {"age": 17}, {"age": 90}, 1),
        (AGE, bp.DistanceThreshold(5), {"age": 30}, {"age": 30}, 0),
        # A step must land on the lattice: 4 units of 3 with theta 4 take 4 steps, not ceil(12 / 4) = 3.
        (AGE, bp.DistanceThreshold(4, scale={"age": 3}), {"age": 20}, {"age": 24}, 4),
        # One x (cost 3) and one y (cost 2) fit together in theta 5; x alone would waste 2.
        (GRID, bp.DistanceThreshold(5, scale={"x": 3, "y": 2}), {"x": 0, "y": 0}, {"x": 10, "y": 10}, 10),
        (GRID, bp.DistanceThreshold(5, scale={"x": 3, "y": 2}), {"x": 0, "y": 0}, {"x": 0, "y": 10}, 5),
        (GRID, bp.DistanceThreshold(3), {"x": 0, "y": 0}, {"x": 3, "y": 4}, 3),
        (PEOPLE, bp.Attributes(), {"age": 17, "sex": "Male"}, {"age": 18, "sex": "Female"}, 2),
        (PEOPLE, bp.Partition(widths={"zone": 10}), {"zone": 0}, {"zone": 9}, 1),
        (PEOPLE, bp.Partition(widths={"zone": 10}), {"zone": 9}, {"zone": 10}, inf),
        (PEOPLE, bp.Partition(widths={"zone": 10}), {"zone": 0, "age": 17}, {"zone": 9, "age": 90}, 1),
        (AGE, bp.ExplicitGraph([(17, 18), (18, 19)]), {"age": 17}, {"age": 19}, 2),
        (AGE, bp.ExplicitGraph([(17, 18)]), {"age": 17}, {"age": 19}, inf),
        (AGE, bp.ExplicitGraph(nx.path_graph(range(17, 91))), {"age": 17}, {"age": 90}, 73),
        (AGE, bp.ExplicitGraph(nx.MultiGraph([(17, 18), (17, 18)])), {"age": 17}, {"age": 18}, 1),
        (
            PEOPLE,
            bp.PerAttribute(age=bp.DistanceThreshold(5), sex=bp.Public(), zone=bp.Partition(widths=10)),
            {"age": 30, "zone": 0},
            {"age": 41, "zone": 5},
            4,
        ),
        (
            bp.Domain(wage=bp.Binned([0, 10, 20, 50, 100])),
            bp.DistanceThreshold(10),
            {"wage": 5},
            {"wage": 99},
            # Bins 0 and 2 are 10 apart (one step), bins 2 and 3 touch (one more); 0 to 3 is 40 apart.
            2,
        ),
    ],
)
def test_steps(domain, secrets, first, second, steps):
    assert hops(domain, secrets, first, second) == steps


def test_far_moves_with_units_that_do_not_divide_each_other_are_packed_exactly():
    # Steps of 3 x 10 + 10 x 7 = 100 waste nothing: 100 of them take 300 and 1000, and 70 full ones take the other 700.
    domain = bp.Domain(x=bp.Integer(0, 1000), y=bp.Integer(0, 1000))
    secrets = bp.DistanceThreshold(10, scale={"x": 1, "y": "0.7"})
    assert hops(domain, secrets, {"x": 0, "y": 0}, {"x": 1000, "y": 1000}) == 170


def test_an_unknown_size_puts_any_two_values_at_most_two_steps_apart():
    policy = bp.Policy(AGE, secrets=bp.DistanceThreshold(5), size="unknown")
    assert policy.distance({"age": 30}, {"age": 60}) == 2
    assert policy.distance({"age": 30}, {"age": 31}) == 1


def test_pairs_that_depend_on_other_attributes_need_them_named():
    edges = [({"age": 17, "sex": "Male", "zone": 0}, {"age": 18, "sex": "Male", "zone": 0})]
    policy = bp.Policy(PEOPLE, secrets=bp.ExplicitGraph(edges))
    with pytest.raises(bp.DomainError, match="name sex, zone too"):
        policy.distance({"age": 17}, {"age": 18})
    full = {"sex": "Male", "zone": 0}
    assert policy.distance({"age": 17, **full}, {"age": 18, **full}) == 1
    with pytest.raises(bp.DomainError, match="only one of the two records names sex"):
        policy.distance({"age": 17, "sex": "Male"}, {"age": 18})


@pytest.mark.parametrize(
    ("domain", "build", "said"),
    [
        (AGE, lambda: bp.DistanceThreshold(0), "above 0"),
        (AGE, lambda: bp.DistanceThreshold(-1), "above 0"),
        (AGE, lambda: bp.DistanceThreshold("many"), "finite number"),
        (AGE, lambda: bp.DistanceThreshold(float("nan")), "finite number"),
        (AGE, lambda: bp.DistanceThreshold(5, scale={"age": 0}), "above 0"),
        (AGE, lambda: bp.DistanceThreshold(5, scale={"agee": 1}), "did you mean 'age'"),
        (AGE, lambda: bp.DistanceThreshold(5, scale=[1]), "scale must map"),
        (GRID, lambda: bp.DistanceThreshold(5, scale={"x": 1}), "no entry for y"),
        (PEOPLE, lambda: bp.DistanceThreshold(5), "categories have no distance"),
        (PEOPLE, lambda: bp.Partition(), "needs blocks or widths"),
        (PEOPLE, lambda: bp.Partition(widths={"zonee": 10}), "did you mean 'zone'"),
        (PEOPLE, lambda: bp.Partition(widths=10), "which attribute"),
        (PEOPLE, lambda: bp.Partition(widths={"zone": 0}), "above 0"),
        (PEOPLE, lambda: bp.Partition(widths={"zone": 1.5}), "must be a multiple of 1"),
        (PEOPLE, lambda: bp.Partition(widths={"sex": 1}), "no widths"),
        (PEOPLE, lambda: bp.Partition(widths={"zone": 5}, blocks={"zone": [[0]]}), "both blocks and widths"),
        (PEOPLE, lambda: bp.Partition(blocks={"sex": [["Female"]]}), "Male is not in any block"),
        (PEOPLE, lambda: bp.Partition(blocks={"sex": [["Female", "Male"], ["Male"]]}), "Male is in two blocks"),
        (PEOPLE, lambda: bp.Partition(blocks={"sex": [["Female", "Male"], []]}), "a block is empty"),
        (PEOPLE, lambda: bp.Partition(blocks={"zone": [(0, 9), (11, 29)]}), "10 is not in any block"),
        (PEOPLE, lambda: bp.Partition(blocks={"zone": 7}), "list of blocks"),
        (bp.Domain(w=bp.Binned([0, 3, 6])), lambda: bp.Partition(widths=4), "straddles two blocks"),
        (PEOPLE, lambda: bp.PerAttribute(age=bp.FullDomain()), "no entry for sex, zone"),
        (PEOPLE, lambda: bp.PerAttribute(agee=bp.FullDomain()), "did you mean 'age'"),
        (PEOPLE, lambda: bp.PerAttribute(age=5), "must be a graph"),
        (AGE, lambda: bp.PerAttribute(age=bp.Partition(blocks=[[17]])), "age: age: the value 18 is not in any block"),
        (AGE, lambda: bp.ExplicitGraph([(17, 17)]), "connects a value to itself"),
        (AGE, lambda: bp.ExplicitGraph([(17, 5)]), "5 is outside"),
        (AGE, lambda: bp.ExplicitGraph([17]), "pair of values"),
        (AGE, lambda: bp.ExplicitGraph([(17, 18, 19)]), "pair of values"),
        (AGE, lambda: bp.ExplicitGraph("ab"), "list of pairs"),
        (PEOPLE, lambda: bp.ExplicitGraph([(17, 18)]), "a value for each"),
        (AGE, lambda: "full", "must be a graph"),
    ],
)
def test_secrets_that_do_not_fit_are_refused(domain, build, said):
    with pytest.raises(bp.BlowfishError, match=said):
        bp.Policy(domain, secrets=build())


@pytest.mark.parametrize(
    ("domain", "secrets"),
    [
        (AGE, bp.DistanceThreshold("0.5")),
        (AGE, bp.Partition(widths=1)),
        (AGE, bp.ExplicitGraph([])),
        (AGE, bp.Public()),
        (bp.Domain(a=bp.Integer(1, 1)), bp.FullDomain()),
    ],
)
def test_a_policy_without_secret_pairs_warns(domain, secrets):
    with pytest.warns(bp.BlowfishWarning, match="nothing is protected"):
        policy = bp.Policy(domain, secrets=secrets)
    assert "Nothing: the policy has no secret pairs" in policy.explain()


def test_no_graph_on_a_million_million_cells_is_materialised():
    domain = bp.Domain(a=bp.Integer(1, 10**6), b=bp.Integer(1, 10**6))
    far = ({"a": 1, "b": 1}, {"a": 10**6, "b": 10**6})
    for secrets, steps in [
        (bp.FullDomain(), 1),
        (bp.Attributes(), 2),
        (bp.DistanceThreshold(10), 200_000),
        # 10 = 2 x 3 + 2 x 2 wastes nothing: 999,999 x 5 units in steps of 10.
        (bp.DistanceThreshold(10, scale={"a": 3, "b": 2}), 500_000),
        (bp.Partition(widths={"a": 10, "b": 10}), inf),
        (bp.PerAttribute(a=bp.DistanceThreshold(7), b=bp.Partition(widths=10**6)), 142_858),
    ]:
        policy = bp.Policy(domain, secrets=secrets)
        assert policy.distance(*far) == steps
        assert policy.graph.project(["a"]).domain.size == 10**6
        policy.explain()
        assert len(policy.hash) == 64


def test_edges_are_listed_only_where_they_are_few():
    with pytest.raises(bp.PolicyError, match="too many pairs"):
        bp.Policy(GRID, secrets=bp.FullDomain()).graph.edges()
    many = bp.Domain(a=bp.Integer(1, 10**9))
    assert len(list(bp.Policy(many, secrets=bp.ExplicitGraph([(1, 10**9)])).graph.edges())) == 1
