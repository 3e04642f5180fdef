"""What known facts cost each release, and what they give back."""

import pytest

from blowfish_privacy.release import spec
from blowfish_privacy.statements.facts import MOST_ALONE, facts_view

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
    assert said["ages"] == "as exact as before, and draws on the balance of anything instead of age"
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
    assert view.facts[0].effects[0].words == "becomes impossible"
    assert not view.facts[0].stated


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
    assert bool(view.facts[0].effects) == (many == MOST_ALONE)
