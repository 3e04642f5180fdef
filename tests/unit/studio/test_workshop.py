"""The workshop: one draft for all tabs, plans in the background, nothing lost when a text is wrong."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from blowfish_privacy.errors import SpecError
from blowfish_privacy.ledger import create_ledger
from blowfish_privacy.studio.draft import Draft, OverwriteError
from blowfish_privacy.studio.workshop import Signal, Workshop

TEXT = """\
version: 1
budget: 1.0
policy:
  domain:
    age: {integer: [17, 90]}   # at the last birthday
    sex: {categorical: [Female, Male]}
  secrets: full
  size: 1000
releases:
  - {name: ages, histogram: [age], epsilon: 0.3}
  - {name: sexes, histogram: [sex], epsilon: 0.1}
"""


class Posted:
    """Stands for the pages' thread: runs what other threads hand over."""

    def __init__(self, workshop: Workshop) -> None:
        self._calls: Queue[Any] = Queue()
        workshop.post = self._calls.put
        self.workshop = workshop

    def settle(self) -> None:
        while self.workshop.stale or not self._calls.empty():
            self._calls.get(timeout=30)()


@pytest.fixture
def workshop(tmp_path: Path):
    made = Workshop(Draft(folder=tmp_path))
    yield made
    made.close()


@pytest.fixture
def posted(workshop: Workshop) -> Posted:
    return Posted(workshop)


def test_a_text_is_planned_and_its_plans_arrive(workshop: Workshop, posted: Posted):
    heard: list[bool] = []
    workshop.planned.subscribe(lambda: heard.append(workshop.stale))
    workshop.write(TEXT)
    assert workshop.stale
    posted.settle()
    assert heard == [True, False]
    assert [outcome.name for outcome in workshop.planning.outcomes] == ["ages", "sexes"]


def test_a_comment_is_no_reason_to_plan_again(workshop: Workshop, posted: Posted):
    workshop.write(TEXT)
    posted.settle()
    before = workshop.planning
    workshop.write(f"# mine\n{TEXT}")
    assert not workshop.stale
    assert workshop.planning is before


def test_forms_change_nothing_while_the_text_is_wrong(workshop: Workshop, posted: Posted):
    workshop.write(TEXT)
    posted.settle()
    wrong = TEXT.replace("integer:", "integre:")
    workshop.write(wrong)
    assert workshop.broken
    assert workshop.draft.problem.line == 5
    assert workshop.change({"version": 1}).message
    assert workshop.draft.text == wrong
    assert workshop.file.policy.domain.names == ("age", "sex")


def test_a_form_that_makes_no_valid_file_changes_nothing(workshop: Workshop, posted: Posted):
    workshop.write(TEXT)
    body = workshop.body
    body["policy"]["domain"]["age"] = {"integer": [90, 17]}
    assert workshop.change(body) is not None
    assert workshop.draft.text == TEXT


def test_a_form_keeps_comments(workshop: Workshop, posted: Posted):
    workshop.write(TEXT)
    body = workshop.body
    body["releases"][0]["epsilon"] = 1
    assert workshop.change(body) is None
    assert workshop.draft.text == TEXT.replace("epsilon: 0.3", "epsilon: 1")
    workshop.undo()
    assert workshop.draft.text == TEXT
    workshop.redo()
    assert "epsilon: 1}" in workshop.draft.text


def test_only_the_latest_wish_is_planned(workshop: Workshop, posted: Posted):
    for epsilon in range(1, 6):
        workshop.write(TEXT.replace("epsilon: 0.3", f"epsilon: 0.{epsilon}"))
    posted.settle()
    assert float(workshop.planning.outcomes[0].plan.amount) == 0.5


def test_before_there_is_a_policy_nothing_is_planned(workshop: Workshop, posted: Posted):
    workshop.write("version: 1\ndata: people.csv\n")
    assert workshop.unfinished
    assert workshop.planning is None
    assert not workshop.stale
    assert workshop.suggested_path.name == "people.yaml"


def test_nothing_is_published_for_a_file_that_others_changed(tmp_path: Path):
    path = tmp_path / "people.yaml"
    path.write_text(f"data: people.csv\nledger: people.ledger\n{TEXT}")
    (tmp_path / "people.csv").write_text("age,sex\n" + "20,Male\n" * 1000)
    ledger = create_ledger(tmp_path / "people.ledger", budget=Fraction(1))
    workshop = Workshop(Draft.open(path))
    workshop.post = lambda act: None
    offer = workshop.publisher.offer(workshop.file, tmp_path)
    path.write_text(path.read_text().replace("0.3", "0.2"))
    with pytest.raises(OverwriteError, match="changed by something else"):
        workshop.publish(offer, workshop.draft.text)
    with pytest.raises(SpecError, match="changed since you were asked"):
        workshop.publish(offer, "another text")
    assert workshop.publisher.publication is None
    assert ledger.spent == 0
    workshop.save(path, replace=True)
    workshop.publish(offer, workshop.draft.text)
    assert workshop.publisher.wait(60)
    workshop.close()
    assert ledger.spent == Fraction(2, 5)


def test_another_name_is_one_that_no_file_has(tmp_path: Path):
    workshop = Workshop(Draft("version: 1\ndata: people.csv\n", folder=tmp_path))
    assert workshop.another_path == workshop.suggested_path == tmp_path / "people.yaml"
    workshop.save(workshop.another_path)
    assert workshop.another_path == tmp_path / "people-2.yaml"
    (tmp_path / "people-2.yaml").touch()
    assert workshop.another_path == tmp_path / "people-3.yaml"
    workshop.close()


def test_a_listener_that_leaves_is_not_called_any_more():
    signal, heard = Signal(), []
    leave = signal.subscribe(lambda: heard.append("first"))

    def once() -> None:
        heard.append("second")
        leave()

    signal.subscribe(once)
    signal.fire()
    signal.fire()
    leave()
    assert heard == ["first", "second", "second"]
