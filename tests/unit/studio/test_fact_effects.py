"""What facts do, worked out in the background for the latest file."""

from collections.abc import Iterator

import pytest

from blowfish_privacy.studio.draft import Draft
from blowfish_privacy.studio.secret_choice import with_fact
from blowfish_privacy.studio.workshop import FactEffects, Workshop

TEXT = """version: 1
policy:
  domain:
    age: {integer: [17, 90]}
    sex: {categorical: [Female, Male]}
  secrets: full
releases:
  - {name: ages, histogram: [age, sex], epsilon: 0.3}
"""


@pytest.fixture
def workshop() -> Iterator[Workshop]:
    made = Workshop(Draft(TEXT))
    yield made
    made.close()


def finished(effects: FactEffects) -> None:
    effects._worker.shutdown(wait=True)


def test_without_facts_there_is_nothing_to_work_out(workshop: Workshop) -> None:
    effects = FactEffects(workshop)
    assert not effects.stale
    assert effects.latest is not None
    assert effects.latest.view is None
    effects.close()


def test_the_latest_file_is_worked_out(workshop: Workshop) -> None:
    effects = FactEffects(workshop)
    workshop.changed.subscribe(effects.follow)
    heard: list[int] = []
    effects.worked_out.subscribe(lambda: heard.append(effects.turn))
    assert workshop.change(with_fact(workshop.body, {"marginal": ["sex"]})) is None
    finished(effects)
    assert not effects.stale
    assert effects.latest is not None
    assert effects.latest.view is not None
    assert effects.latest.view.together[0].words.startswith("typical error")
    assert effects.latest.words
    assert effects.latest.refusals == []
    assert heard == [*range(heard[0], heard[0] + 2)]
    effects.close()


def test_refusals_are_said_once(workshop: Workshop) -> None:
    effects = FactEffects(workshop)
    workshop.changed.subscribe(effects.follow)
    body = with_fact(with_fact(workshop.body, {"marginal": ["sex"]}), {"marginal": ["age"]})
    assert workshop.change(body) is None
    finished(effects)
    assert effects.latest is not None
    assert effects.latest.view is not None
    assert effects.latest.view.together[0].words == "becomes impossible"
    # The sentence about the facts together has the reason already.
    assert effects.latest.refusals == []
    assert any("cross each other" in sentence for sentence in effects.latest.words)
    effects.close()
