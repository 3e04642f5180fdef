"""The choices of the form of secrets, and the plain values that they stand for in a file."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import blowfish_privacy as bp
from blowfish_privacy.graphs import Secrets
from blowfish_privacy.privacy.measure import EPSILON, RHO, Strength
from blowfish_privacy.release import spec
from blowfish_privacy.studio import secret_choice as choices
from blowfish_privacy.studio.draft import Draft
from blowfish_privacy.studio.entries import in_file
from blowfish_privacy.studio.secret_choice import with_fact
from blowfish_privacy.studio.workshop import BUDGET, OWN, ChosenLoss, FactEffects, Workshop
from blowfish_privacy.support import yaml_text

TEXT = """version: 1
policy:
  domain:
    age: {integer: [17, 90]}
    wage: {binned: [0, 10, 20.5, 100]}
    town: {categorical: [Ash, Birch, Cedar]}
    place: {hierarchy: {levels: [state, county], tree: {Bavaria: [Munich, Hof], Hesse: [Kassel]}}}
  secrets: SECRETS
"""

CARDS = "{per_attribute: {age: full, wage: full, town: full, place: full}}"


def body(secrets: str = CARDS) -> Any:
    return yaml_text.parse(TEXT.replace("SECRETS", secrets))


DOMAIN = spec.loads(TEXT.replace("SECRETS", CARDS)).policy.domain


@pytest.mark.filterwarnings("ignore::blowfish_privacy.errors.BlowfishWarning")
@pytest.mark.parametrize(
    ("secrets", "mode"),
    [
        (CARDS, "cards"),
        ("full", "full"),
        ("attributes", "attributes"),
        ("add_remove", "presence"),
        ("{partition: {widths: {age: 10}}}", "other"),
        ("public", "other"),
    ],
)
def test_the_mode_is_read_and_every_mode_can_be_reached(secrets: str, mode: choices.Mode) -> None:
    assert choices.mode_of(body(secrets)) == mode
    draft = Draft(TEXT.replace("SECRETS", secrets))
    for after in ("full", "attributes", "cards", "presence", "cards"):
        assert draft.change(choices.with_mode(draft.body, after)) is None
        assert choices.mode_of(draft.body) == after


def test_one_attribute_is_a_card_however_it_is_written() -> None:
    single = {"policy": {"domain": {"age": {"integer": [0, 9]}}, "secrets": {"threshold": 2}}}
    assert choices.mode_of(single) == "cards"
    assert choices.choice_of(single, "age") == {"threshold": 2}
    assert choices.with_choice(single, "age", "full")["policy"]["secrets"] == {"per_attribute": {"age": "full"}}


def test_only_changes_that_keep_the_promise_are_made_without_a_question() -> None:
    assert not choices.weakens("attributes", "cards")
    assert not choices.weakens("cards", "full")
    assert choices.weakens("full", "cards")
    assert choices.weakens("full", "presence")
    assert choices.weakens("presence", "full")


@pytest.mark.parametrize("name", DOMAIN.names)
def test_every_kind_begins_with_something_valid_and_is_recognised(name: str) -> None:
    attribute = DOMAIN[name]
    for kind in choices.kinds_for(attribute):
        written = choices.first_choice(kind, attribute)
        draft = Draft(TEXT.replace("SECRETS", CARDS))
        assert draft.change(choices.with_choice(draft.body, name, written)) is None
        assert draft.file is not None
        graph = draft.file.policy.graph.project([name])
        assert choices.kind_of_choice(choices.choice_of(draft.body, name), attribute, graph) == kind


def test_attributes_offer_what_they_can() -> None:
    assert {name: choices.kinds_for(DOMAIN[name]) for name in DOMAIN} == {
        "age": ["full", "threshold", "width", "cuts", "public"],
        "wage": ["full", "threshold", "cuts", "public"],
        "town": ["full", "groups", "public"],
        "place": ["full", "groups", "within", "public"],
    }
    assert choices.kinds_for(bp.Integer(3, 3)) == ["full", "public"]


def graph_of(name: str, choice: Any) -> Any:
    domain = DOMAIN.project([name])
    return Secrets.read(choice, domain).on(domain)


def test_cuts_and_groups_are_read_back() -> None:
    for cuts in ([10], [1, 2, 73], []):
        assert choices.cuts_of(graph_of("age", choices.cuts_choice(DOMAIN["age"], cuts))) == cuts
    wages = choices.cuts_choice(DOMAIN["wage"], [2])
    assert [*map(str, wages["partition"]["blocks"][1])] == ["20.5", "100"]
    assert choices.cuts_of(graph_of("wage", wages)) == [2]
    towns = choices.groups_choice(DOMAIN["town"], [0, 7, 0])
    assert towns == {"partition": {"blocks": [["Ash", "Cedar"], ["Birch"]]}}
    assert choices.groups_of(graph_of("town", towns)) == [0, 1, 0]


def test_what_the_form_does_not_know_is_left_to_the_file() -> None:
    ends = {"partition": {"blocks": [{"values": [17, 90]}, [18, 89]]}}
    edges = {"edges": [["Ash", "Birch"]]}
    assert choices.kind_of_choice(ends, DOMAIN["age"], graph_of("age", ends)) == "other"
    assert choices.kind_of_choice(edges, DOMAIN["town"], graph_of("town", edges)) == "other"
    by = {"policy": {"domain": {"age": {}}, "secrets": {"by": "x"}}}
    assert choices.mode_of(by) == "other"


def test_what_a_policy_would_be_keeps_all_the_rest() -> None:
    text = TEXT.replace("SECRETS", CARDS) + "  known: [{marginal: [town]}]\n  size: 9\n"
    policy = spec.loads(text).policy
    other = choices.policy_with(policy, "age", {"threshold": 5})
    written = text.replace("{age: full", "{age: {threshold: 5}")
    assert other.hash == spec.loads(written).policy.hash


def test_numbers_are_written_as_people_write_them() -> None:
    assert [str(in_file(Fraction(number))) for number in ("5", "0.25", "1/3")] == ["5", "0.25", "1/3"]
    assert [choices.first_choice("threshold", bp.Integer(0, high)) for high in (5, 73, 200, 4356)] == [
        {"threshold": 1},
        {"threshold": 10},
        {"threshold": 20},
        {"threshold": 500},
    ]


def test_a_change_leaves_the_rest_of_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(TEXT.replace("SECRETS", "full # the strongest"))
    draft = Draft.open(path)
    assert draft.change(choices.with_mode(draft.body, "cards")) is None
    assert draft.text.startswith(TEXT.split("  secrets")[0])


# The loss at which values are compared.


CHOSEN_LOSS_TEXT = """version: 1
budget: 1.5
policy:
  domain:
    age: {integer: [17, 90]}
    sex: {categorical: [Female, Male]}
  secrets: {per_attribute: {age: {threshold: 5}, sex: full}}
releases:
  - {name: ages, histogram: [age], epsilon: 0.3}
"""


@pytest.fixture
def workshop() -> Iterator[Workshop]:
    made = Workshop(Draft(CHOSEN_LOSS_TEXT))
    made._planner.shutdown(wait=True)
    yield made
    made.close()


def test_the_budget_a_release_or_a_number(workshop: Workshop) -> None:
    loss = ChosenLoss(workshop)
    assert [*loss.options()] == [BUDGET, "release: ages", OWN]
    age = frozenset({"age"})
    assert loss.strength(age) == Strength(EPSILON, Fraction(3, 2))
    loss.which = "release: ages"
    assert loss.strength(age) == Strength(EPSILON, Fraction(3, 10))
    assert loss.strength(frozenset({"sex"})).amount == 0
    loss.which = OWN
    assert loss.take("2")
    assert loss.strength(age) == Strength(EPSILON, Fraction(2))
    assert not loss.take("none")
    assert loss.wrong("0") is not None
    assert loss.own == 2


def test_what_is_gone_is_not_chosen(workshop: Workshop) -> None:
    loss = ChosenLoss(workshop, which="release: gone")
    assert loss.chosen == OWN


def test_budgets_in_rho_are_compared_too() -> None:
    made = Workshop(Draft(CHOSEN_LOSS_TEXT.replace("1.5", "{rho: 0.05}").split("releases")[0]))
    assert ChosenLoss(made).strength(frozenset({"age"})) == Strength(RHO, Fraction(1, 20))
    made.close()


def test_budgets_with_a_delta_are_not_a_loss_between_values() -> None:
    made = Workshop(Draft(CHOSEN_LOSS_TEXT.replace("1.5", "{epsilon: 1, delta: 1e-9}").split("releases")[0]))
    assert [*ChosenLoss(made).options()] == [OWN]
    made.close()


# What facts do, worked out in the background for the latest file.


EFFECTS_TEXT = """version: 1
policy:
  domain:
    age: {integer: [17, 90]}
    sex: {categorical: [Female, Male]}
  secrets: full
releases:
  - {name: ages, histogram: [age, sex], epsilon: 0.3}
"""


@pytest.fixture
def effects_workshop() -> Iterator[Workshop]:
    made = Workshop(Draft(EFFECTS_TEXT))
    yield made
    made.close()


def finished(effects: FactEffects) -> None:
    effects._worker.shutdown(wait=True)


def test_without_facts_there_is_nothing_to_work_out(effects_workshop: Workshop) -> None:
    effects = FactEffects(effects_workshop)
    assert not effects.stale
    assert effects.latest is not None
    assert effects.latest.view is None
    effects.close()


def test_the_latest_file_is_worked_out(effects_workshop: Workshop) -> None:
    effects = FactEffects(effects_workshop)
    effects_workshop.changed.subscribe(effects.follow)
    heard: list[int] = []
    effects.worked_out.subscribe(lambda: heard.append(effects.turn))
    assert effects_workshop.change(with_fact(effects_workshop.body, {"marginal": ["sex"]})) is None
    finished(effects)
    assert not effects.stale
    assert effects.latest is not None
    assert effects.latest.view is not None
    assert effects.latest.view.together[0].words.startswith("typical error")
    assert effects.latest.words
    assert effects.latest.refusals == []
    assert heard == [*range(heard[0], heard[0] + 2)]
    effects.close()


def test_refusals_are_said_once(effects_workshop: Workshop) -> None:
    effects = FactEffects(effects_workshop)
    effects_workshop.changed.subscribe(effects.follow)
    body = with_fact(with_fact(effects_workshop.body, {"marginal": ["sex"]}), {"marginal": ["age"]})
    assert effects_workshop.change(body) is None
    finished(effects)
    assert effects.latest is not None
    assert effects.latest.view is not None
    assert effects.latest.view.together[0].words == "becomes impossible"
    # The sentence about the facts together has the reason already.
    assert effects.latest.refusals == []
    assert any("cross each other" in sentence for sentence in effects.latest.words)
    effects.close()
