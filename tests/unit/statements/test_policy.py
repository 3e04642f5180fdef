"""What is said of two values: the exact formula, rounded on the safe side, and never more than a policy promises."""

from fractions import Fraction
from itertools import combinations
from math import exp, inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.graphs import Secrets
from blowfish_privacy.policies.explain import explain_pair
from blowfish_privacy.privacy.measure import EPSILON, RHO, Strength
from blowfish_privacy.release import spec
from blowfish_privacy.statements.facts import MOST_ALONE, facts_view
from blowfish_privacy.statements.policy import (
    MOST_VALUES,
    graph_view,
    lost_between,
    odds_between,
    percent_down,
    percent_up,
    reach,
)

DOMAIN = bp.Domain(age=bp.Integer(17, 90), sex=bp.Categorical(["Female", "Male"]), town=bp.Categorical(["A", "B"]))

SECRETS = bp.PerAttribute(age=bp.DistanceThreshold(5), sex=bp.FullDomain(), town=bp.Public())

POLICY = bp.Policy(DOMAIN, secrets=SECRETS)

HALF = Strength(EPSILON, Fraction(1, 2))


def test_odds_follow_the_formula() -> None:
    odds = odds_between(POLICY, {"age": 30}, {"age": 60}, HALF)
    # Six steps of five years at epsilon 0.5: e^3 = 20.0855.., which must not be written as 20.
    assert (odds.steps, odds.factor) == (6, "21")
    assert odds.most() == pytest.approx(exp(3) / (1 + exp(3)))
    assert odds.least() == pytest.approx(1 / (1 + exp(3)))
    fifth = Fraction(1, 5)
    assert odds.most(fifth) == pytest.approx(exp(3) / (4 + exp(3)))
    assert "6 steps apart" in odds.sentence
    assert "at most a factor 21" in odds.sentence
    assert "at most 96 % sure that it is 30, and stays at least 4 % sure" in odds.guess()


def test_losses_in_rho_name_their_failure() -> None:
    odds = odds_between(POLICY, {"age": 30}, {"age": 60}, Strength(RHO, Fraction(1, 100)))
    # Six steps make 36 times the rho, and the factor is that of the strength.
    assert odds.exponent == Strength(RHO, Fraction(1, 100)).exponent(6)
    # The probability belongs to the promise, not to what the attacker knows.
    end = ", but for a probability of one in a billion, even for an attacker who knows every other record."
    assert odds.sentence.endswith(f"by at most a factor {odds.factor}{end}")
    assert "one in a billion" in odds.guess()


def test_what_is_not_protected_is_not_bounded() -> None:
    odds = odds_between(POLICY, {"town": "A"}, {"town": "B"}, HALF)
    assert (odds.steps, odds.factor, odds.most(), odds.least()) == (None, None, None, None)
    said = explain_pair(POLICY, {"town": "A"}, {"town": "B"})
    assert odds.sentence == said.replace("(“town” A) and (“town” B)", "A and B")
    assert "may become certain" in odds.guess()


def test_one_value_is_the_same() -> None:
    odds = odds_between(POLICY, {"age": 30}, {"age": 30}, HALF)
    assert (odds.steps, odds.most(), odds.guess()) == (0, 0.5, "")


def test_with_known_facts_no_more_is_said_than_is_promised() -> None:
    known = bp.Policy(DOMAIN, secrets=SECRETS, known=[bp.KnownMarginal("sex")])
    pair = odds_between(known, {"sex": "Female"}, {"sex": "Male"}, HALF)
    assert pair.promise.promised == "tables"
    assert pair.most() is None
    assert "odds" not in pair.sentence
    assert "not promised" in pair.guess()
    far = odds_between(known, {"age": 30}, {"age": 60}, HALF)
    assert far.promise.promised == "odds"
    assert "knows the facts" in far.sentence
    line = bp.Policy(
        bp.Domain(value=bp.Integer(0, 2)),
        secrets=bp.DistanceThreshold(1),
        known=[bp.KnownCount({"value": 1}, 0)],
        size=9,
    )
    unproved = odds_between(line, {"value": 0}, {"value": 2}, HALF)
    assert unproved.promise.promised == "unproved"
    assert unproved.promise.hops == inf
    assert unproved.most() is None
    assert unproved.sentence.startswith("No promise is made for 0 and 2, though secret pairs lead")


def test_a_release_loses_on_what_it_looks_at() -> None:
    session = bp.Session(bp.Counts([[[1, 1]] * 2] * 74), POLICY, budget=1)
    plan = session.plan(bp.Histogram("age"), epsilon="0.3")
    assert lost_between(plan, frozenset({"age"})) == Strength(EPSILON, Fraction(3, 10))
    nothing = lost_between(plan, frozenset({"sex"}))
    assert nothing.amount == 0
    assert "leaves the odds as they are" in odds_between(POLICY, {"sex": "Female"}, {"sex": "Male"}, nothing).sentence
    assert lost_between(plan, frozenset({"age", "sex"})).amount == Fraction(3, 10)


@given(st.floats(0, 1))
def test_hundredths_are_rounded_to_the_safe_side(share: float) -> None:
    assert float(percent_up(share).removesuffix(" %")) >= share * 100 - 1e-9
    assert float(percent_down(share).removesuffix(" %")) <= share * 100 + 1e-9


def test_near_certainty_has_more_digits() -> None:
    assert [percent_up(share) for share in (0.5, 0.622, 0.9933, 0.99995, 1.0)] == [
        "50 %",
        "63 %",
        "99.4 %",
        "99.995 %",
        "100 %",
    ]
    assert [percent_down(share) for share in (0.5, 0.378, 0.0067, 1e-9)] == ["50 %", "37 %", "0.6 %", "0 %"]


# What a picture of a secret graph shows is what the graph answers.


LETTERS = bp.Categorical(list("abcdef"))

SECRET_GRAPH_DOMAIN = bp.Domain(age=bp.Integer(17, 90), letter=LETTERS, wage=bp.Integer(0, 999_999))

CHOICES = {
    "age": [bp.DistanceThreshold(5), bp.FullDomain(), bp.Public(), bp.Partition(widths=10)],
    "letter": [bp.FullDomain(), bp.Public(), bp.Partition(blocks=[["a", "c"], ["b", "d", "e"], ["f"]])],
    "wage": [bp.DistanceThreshold(1000), bp.Partition(widths=5000), bp.Public()],
}


def policy_with(name: str, secrets: Secrets) -> bp.Policy:
    choices = {**dict.fromkeys(SECRET_GRAPH_DOMAIN.names, bp.FullDomain()), name: secrets}
    return bp.Policy(SECRET_GRAPH_DOMAIN, secrets=bp.PerAttribute(choices))


@pytest.mark.parametrize(("name", "secrets"), [(name, each) for name, several in CHOICES.items() for each in several])
def test_pairs_and_groups_are_those_of_the_graph(name: str, secrets: Secrets) -> None:
    policy = policy_with(name, secrets)
    attribute, view = (
        SECRET_GRAPH_DOMAIN[name],
        graph_view(policy, name, focus=min(20, SECRET_GRAPH_DOMAIN[name].size - 1)),
    )
    shown = [value.position for value in view.values]
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
    assert [point.position for point in found.points] == covered
    for point in found.points:
        assert point.steps == next(band.steps for band in found.bands if band.first <= point.position <= band.last)


def test_bands_of_a_million_values_are_exact_at_their_ends() -> None:
    found = reach(policy_with("wage", bp.DistanceThreshold(1000)), "wage", 50_000)
    assert found.bands[-1].last - found.bands[0].first < SECRET_GRAPH_DOMAIN["wage"].size - 1
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


# What known facts cost each release, and what they give back.


FILE = """
version: 1
policy:
  domain:
    age: {integer: [17, 90]}
    sex: {categorical: [Female, Male]}
    region: {categorical: [North, East]}
  secrets: {per_attribute: {age: {threshold: 5}, sex: full, region: public}}
  known: KNOWN
releases:
  - {name: table, histogram: [age, sex], epsilon: 0.3}
  - {name: ages, histogram: [age], epsilon: 0.3}
  - {name: sexes, histogram: [sex], epsilon: 0.3}
  - {name: solved, histogram: [age, sex], error: 10}
"""


def effects(known: str) -> dict[str, str]:
    file = spec.loads(FILE.replace("KNOWN", known))
    return {effect.release: effect.words for effect in facts_view(file.policy, file.releases).together}


def test_a_marginal_costs_the_tables_that_it_forces_to_move() -> None:
    said = effects("[{marginal: [sex]}]")
    assert said["table"].startswith("typical error 18.9 instead of 9.42 (2 times)")
    assert said["ages"] == "as accurate as before, and draws on the balance of anything instead of age"
    assert said["sexes"] == "published without noise: nothing secret is left in it"
    assert said["solved"].startswith("epsilon ")
    assert " instead of " in said["solved"]


def test_stated_numbers_are_met_exactly() -> None:
    assert effects("[{marginal: [sex], counts: [100, 200]}]")["table"] == (
        "typical error 18.9 instead of 9.42 (2 times), and draws on the balance of anything instead of age, sex; "
        "what is shown will meet the stated numbers exactly, which leaves 18.7"
    )


def test_a_fact_that_no_secret_pair_changes_is_free() -> None:
    said = effects("[{marginal: [region]}]")
    assert said["table"] == said["ages"] == "costs nothing"


def test_what_cannot_be_planned_says_why() -> None:
    file = spec.loads(FILE.replace("KNOWN", "[{marginal: [age]}, {marginal: [sex]}]"))
    view = facts_view(file.policy, file.releases)
    table = view.together[0]
    assert table.words == "becomes impossible"
    assert table.given.refusal is not None
    assert "cross each other" in table.given.refusal
    assert view.facts[0][0].words == "becomes impossible"


def test_no_facts_do_nothing() -> None:
    file = spec.loads(FILE.replace("KNOWN", "[]"))
    assert facts_view(file.policy, file.releases) == facts_view(file.policy, ())
    assert facts_view(file.policy, file.releases).facts == ()


@pytest.mark.parametrize("many", [MOST_ALONE, MOST_ALONE + 1])
def test_each_of_many_facts_is_not_planned_without(many: int) -> None:
    known = ", ".join(f"{{count: {{age: {17 + number}}}}}" for number in range(many))
    file = spec.loads(FILE.replace("KNOWN", f"[{known}]"))
    view = facts_view(file.policy, file.releases[1:2])
    assert len(view.facts) == many
    assert bool(view.facts[0]) == (many == MOST_ALONE)
