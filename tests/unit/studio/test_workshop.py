"""The workshop: one draft for all tabs, plans in the background, nothing lost when a text is wrong."""

from __future__ import annotations

import ast
import tempfile
from fractions import Fraction
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np
import pytest

import blowfish_privacy
import blowfish_privacy as bp
from blowfish_privacy.errors import DataError, SpecError
from blowfish_privacy.ledger import create_ledger
from blowfish_privacy.studio import workshop as workshop_file
from blowfish_privacy.studio.declaring import with_data
from blowfish_privacy.studio.draft import Draft, OverwriteError, from_folder
from blowfish_privacy.studio.workshop import Signal, Workshop, keep_unsaved, opened

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


def test_a_listener_that_fails_keeps_nothing_from_the_others():
    signal, heard = Signal(), []

    def fails() -> None:
        raise LookupError("a tab that is gone")

    signal.subscribe(fails)
    signal.subscribe(lambda: heard.append("after it"))
    with pytest.raises(LookupError, match="gone"):
        signal.fire()
    assert heard == ["after it"]


# What a studio begins with, and what it keeps when it ends.


OPENING_TEXT = "version: 1\npolicy:\n  domain: {age: {integer: [0, 9]}}   # in years\n  secrets: full\n"


@pytest.fixture
def opened_file(tmp_path):
    (tmp_path / "people.yaml").write_text(OPENING_TEXT)

    def again():
        return opened(str(tmp_path / "people.yaml"))

    return again


def test_nothing_yet():
    workshop, remarks = opened(None)
    assert (workshop.draft.text, workshop.draft.path, remarks) == ("", None, [])
    assert keep_unsaved(workshop) is None


def test_a_table_elsewhere_does_not_move_what_is_not_saved_yet(tmp_path, monkeypatch):
    started, elsewhere = tmp_path / "started", tmp_path / "elsewhere"
    for folder in (started, elsewhere):
        folder.mkdir()
        (folder / "people.csv").write_text("age\n1\n")
    monkeypatch.chdir(started)
    workshop, _ = opened(None)

    def choose(typed):
        assert workshop.change(with_data(workshop.body, from_folder(typed, workshop.draft.folder))) is None

    choose(str(elsewhere / "people.csv"))
    assert (workshop.body["data"], workshop.draft.folder) == (str(elsewhere / "people.csv"), started)
    choose("people.csv")
    assert workshop.data == str(started / "people.csv")
    choose(str(started / "people.csv"))
    assert workshop.body["data"] == "people.csv"
    assert workshop.suggested_path == started / "people.yaml"
    assert keep_unsaved(workshop) == started / "people.yaml.draft"
    assert [path.name for path in elsewhere.iterdir()] == ["people.csv"]


def test_a_policy_file(opened_file, tmp_path):
    workshop, remarks = opened_file()
    assert (workshop.draft.text, workshop.draft.path, remarks) == (OPENING_TEXT, tmp_path / "people.yaml", [])


def test_a_release_is_no_policy_file(tmp_path):
    policy = bp.Policy(bp.Domain(age=bp.Integer(0, 1)), secrets=bp.FullDomain())
    session = bp.Session(bp.Counts(np.array([1, 1])), policy, budget=1)
    path = tmp_path / "ages.release.json"
    session.release(bp.Histogram("age"), epsilon=1).save(path)
    with pytest.raises(SpecError, match="is a release, no policy file"):
        opened(str(path))


def test_a_table_begins_a_file_beside_it(tmp_path):
    (tmp_path / "people.csv").write_text("age\n1\n")
    workshop, _ = opened(str(tmp_path / "people.csv"))
    assert workshop.body == {"version": 1, "data": "people.csv", "ledger": "people.ledger", "budget": 1.0}
    assert workshop.suggested_path == tmp_path / "people.yaml"
    assert workshop.draft.problem is None
    assert keep_unsaved(workshop) is None


def test_a_folder_is_a_table_too(tmp_path):
    (tmp_path / "people").mkdir()
    workshop, _ = opened(str(tmp_path / "people"))
    assert workshop.body["data"] == "people"


def test_an_address_begins_a_file():
    workshop, _ = opened("postgresql://somewhere/people?table=people")
    assert workshop.body["data"] == "postgresql://somewhere/people?table=people"


@pytest.mark.parametrize("name", ["nothing.csv", "nothing.yaml", "nothing"])
def test_what_is_not_there_is_an_error(tmp_path, name):
    with pytest.raises(SpecError):
        opened(str(tmp_path / name))


def test_what_was_not_saved_is_kept_and_said_the_next_time(opened_file, tmp_path):
    workshop, _ = opened_file()
    workshop.write(OPENING_TEXT + "# one\n")
    kept = keep_unsaved(workshop)
    assert kept == tmp_path / "people.yaml.draft"
    assert kept.read_text() == OPENING_TEXT + "# one\n"
    assert (tmp_path / "people.yaml").read_text() == OPENING_TEXT
    again, remarks = opened_file()
    assert again.draft.text == OPENING_TEXT
    assert [str(kept) in remark for remark in remarks] == [True]


def test_an_earlier_draft_is_not_overwritten(opened_file, tmp_path):
    for words, name in (("# one\n", "draft"), ("# one\n", "draft"), ("# two\n", "draft-2")):
        workshop, _ = opened_file()
        workshop.write(OPENING_TEXT + words)
        assert keep_unsaved(workshop) == tmp_path / f"people.yaml.{name}"
    assert (tmp_path / "people.yaml.draft").read_text().endswith("# one\n")


def test_on_a_full_disk_the_text_goes_to_the_temporary_folder(opened_file, tmp_path, monkeypatch):
    fail_below(tmp_path / "people.yaml.draft", monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    workshop, _ = opened_file()
    workshop.write(OPENING_TEXT + "# one\n")
    kept = keep_unsaved(workshop)
    assert kept is not None
    assert kept.parent.parent == tmp_path
    assert kept.parent.name.startswith("blowfish-draft-")
    assert (kept.name, kept.read_text()) == ("people.yaml.draft", OPENING_TEXT + "# one\n")
    assert kept.parent.stat().st_mode & 0o077 == 0


def test_a_text_that_can_be_written_nowhere_is_said_to_be_lost(opened_file, tmp_path, monkeypatch):
    fail_below(tmp_path, monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    workshop, _ = opened_file()
    workshop.write(OPENING_TEXT + "# one\n")
    with pytest.raises(DataError, match="what was not saved is lost: .*No space left") as caught:
        keep_unsaved(workshop)
    assert "temporary folder" in str(caught.value.hint)
    assert [path.name for path in tmp_path.iterdir()] == ["people.yaml"]
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(DataError, match="lost"):
        keep_unsaved(workshop)


def fail_below(full, monkeypatch):
    def write(path, content):
        if path.is_relative_to(full):
            raise DataError(f"{path} cannot be written: No space left on device.")
        path.write_bytes(content)

    monkeypatch.setattr(workshop_file, "write_atomically", write)


def test_what_was_saved_or_taken_back_is_not_kept(opened_file, tmp_path):
    workshop, _ = opened_file()
    workshop.write(OPENING_TEXT + "# one\n")
    workshop.undo()
    assert keep_unsaved(workshop) is None
    workshop.redo()
    workshop.save(tmp_path / "people.yaml")
    assert keep_unsaved(workshop) is None
    assert [path.name for path in tmp_path.iterdir()] == ["people.yaml"]


# What of the studio may know the framework of the page.


STUDIO = Path(blowfish_privacy.__file__).parent / "studio"

SHOWS = {"launch.py", "page.py", "rooms", "parts.py"}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_only_what_shows_something_knows_the_framework():
    pure = [path for path in STUDIO.rglob("*.py") if path.relative_to(STUDIO).parts[0] not in SHOWS]
    assert pure
    for path in pure:
        assert not {"nicegui", "fastapi", "starlette", "uvicorn"} & set(imported(path)), path.name
