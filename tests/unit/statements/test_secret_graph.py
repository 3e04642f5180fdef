"""What a picture of a secret graph shows is what the graph answers."""

from itertools import combinations

import pytest

import blowfish_privacy as bp
from blowfish_privacy.graphs import Secrets
from blowfish_privacy.statements.policy import MOST_VALUES, graph_view, reach

LETTERS = bp.Categorical(list("abcdef"))
DOMAIN = bp.Domain(age=bp.Integer(17, 90), letter=LETTERS, wage=bp.Integer(0, 999_999))
CHOICES = {
    "age": [bp.DistanceThreshold(5), bp.FullDomain(), bp.Public(), bp.Partition(widths=10)],
    "letter": [bp.FullDomain(), bp.Public(), bp.Partition(blocks=[["a", "c"], ["b", "d", "e"], ["f"]])],
    "wage": [bp.DistanceThreshold(1000), bp.Partition(widths=5000), bp.Public()],
}


def policy_with(name: str, secrets: Secrets) -> bp.Policy:
    choices = {**dict.fromkeys(DOMAIN.names, bp.FullDomain()), name: secrets}
    return bp.Policy(DOMAIN, secrets=bp.PerAttribute(choices))


@pytest.mark.parametrize(("name", "secrets"), [(name, each) for name, several in CHOICES.items() for each in several])
def test_pairs_and_groups_are_those_of_the_graph(name: str, secrets: Secrets) -> None:
    policy = policy_with(name, secrets)
    attribute, view = DOMAIN[name], graph_view(policy, name, focus=min(20, DOMAIN[name].size - 1))
    shown = [value.position for value in view.values]
    assert view.partial == (attribute.size > MOST_VALUES)
    assert len(shown) == min(MOST_VALUES, attribute.size)
    value = attribute.value
    expected = [(a, b) for a, b in combinations(shown, 2) if policy.distance({name: value(a)}, {name: value(b)}) == 1]
    assert [*view.pairs] == expected
    groups = {each.position: each.group for each in view.values}
    for a, b in combinations(shown[:12], 2):
        joined = policy.graph.project([name]).hops((a,), (b,)) < float("inf")
        assert (groups[a] == groups[b]) == joined


def test_a_value_far_away_is_shown_too() -> None:
    view = graph_view(policy_with("wage", bp.DistanceThreshold(1000)), "wage", focus=500, also=900_000)
    assert [value.position for value in view.values][-2:] == [511, 900_000]
    assert view.values[-1].group == view.values[0].group
    assert (500, 900_000) not in view.pairs


def test_groups_are_counted_over_all_values() -> None:
    assert graph_view(policy_with("age", bp.Partition(widths=10)), "age").groups == 8
    assert graph_view(policy_with("letter", CHOICES["letter"][2]), "letter").groups == 3
    assert graph_view(policy_with("wage", bp.Public()), "wage").groups is None
    assert graph_view(policy_with("letter", CHOICES["letter"][2]), "letter").sentence == (
        "6 values, 4 secret pairs between them, in 3 groups."
    )


@pytest.mark.parametrize("secrets", CHOICES["age"])
@pytest.mark.parametrize("focus", [0, 13, 73])
def test_bands_hold_at_every_value(secrets: Secrets, focus: int) -> None:
    policy = policy_with("age", secrets)
    found = reach(policy, "age", focus)
    covered = [at for band in found.bands for at in range(band.first, band.last + 1)]
    assert covered == [*range(covered[0], covered[-1] + 1)]
    assert focus in covered
    for band in found.bands:
        for at in range(band.first, band.last + 1):
            hops = policy.distance({"age": 17 + focus}, {"age": 17 + at})
            assert band.steps == (None if hops == float("inf") else hops)
    assert not found.sampled
    assert [point.position for point in found.points] == covered
    for point in found.points:
        assert point.steps == next(band.steps for band in found.bands if band.first <= point.position <= band.last)


def test_bands_of_a_million_values_are_exact_at_their_ends() -> None:
    found = reach(policy_with("wage", bp.DistanceThreshold(1000)), "wage", 50_000)
    assert found.partial
    assert found.sampled
    assert len(found.points) < 150
    by_start = {band.first: band for band in found.bands}
    assert by_start[50_001].last == 51_000
    assert by_start[50_001].steps == 1
    assert by_start[49_000].last == 49_999
    assert by_start[51_001].steps == 2
    blocks = reach(policy_with("wage", bp.Partition(widths=5000)), "wage", 50_000)
    assert [(band.first, band.steps) for band in blocks.bands] == [(0, None), (50_000, 0), (50_001, 1), (55_000, None)]


def test_reach_is_said_in_words() -> None:
    assert reach(policy_with("age", bp.DistanceThreshold(30)), "age", 13).words() == [
        "17 to 29 and 31 to 60: 1 step from 30",
        "61 to 90: 2 steps from 30",
    ]
    assert reach(policy_with("age", bp.Public()), "age", 0).words() == ["18 to 90: not protected from 17"]


def test_secrets_chosen_by_a_column_have_no_graph_of_one_attribute() -> None:
    domain = bp.Domain(consent=bp.Categorical(["yes", "no"]), age=bp.Integer(0, 9))
    policy = bp.Policy(domain, secrets=bp.ByValue("consent", {"yes": bp.Public(), "no": bp.FullDomain()}))
    with pytest.raises(bp.PolicyError, match="depends on the other attributes"):
        graph_view(policy, "age")
    with pytest.raises(bp.PolicyError, match="depends on the other attributes"):
        reach(policy, "age", 0)
