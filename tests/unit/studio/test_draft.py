"""The text of a policy file between a form, an editor and the disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.errors import DataError, SpecError
from blowfish_privacy.ledger import SqliteLedger
from blowfish_privacy.studio.draft import Draft, OverwriteError

TEXT = """# kept
version: 1
budget: 1.0
policy:
  domain:
    age: {integer: [17, 90]}
  secrets: full
"""


def test_a_form_changes_the_file_only_if_it_stays_valid():
    draft = Draft(TEXT)
    body = draft.body
    body["budget"] = -1
    problem = draft.change(body)
    assert problem is not None
    assert "budget" in problem.message
    assert draft.text == TEXT
    assert not draft.can_undo
    body["budget"] = 2
    assert draft.change(body) is None
    assert draft.file is not None
    assert draft.body["budget"] == 2


def test_an_editor_may_break_the_file_and_the_last_good_one_stays():
    draft = Draft(TEXT)
    good = draft.file
    problem = draft.write(TEXT.replace("[17, 90]", "[90, 17]"))
    assert problem is not None
    assert problem.line == 6
    assert draft.file is None
    assert draft.good is good
    assert draft.body["policy"]["domain"]["age"] == {"integer": [90, 17]}
    assert draft.write("policy: [") == draft.problem
    assert draft.body is None
    assert draft.undo()
    assert draft.undo()
    assert draft.text == TEXT
    assert draft.problem is None
    assert draft.redo()
    assert draft.problem is not None


def test_what_is_typed_into_one_line_is_one_step():
    draft = Draft(TEXT)
    for typed in ("1.05", "1.055", "1.0"):
        draft.write(TEXT.replace("1.0", typed))
    draft.write(TEXT.replace("90", "91"))
    assert draft.undo()
    assert draft.text == TEXT
    draft.undo()
    assert not draft.can_undo


def test_a_beginning_has_no_problem_and_no_file():
    for text in ("", "# nothing yet\n", "version: 1\ndata: people.csv\n"):
        draft = Draft(text)
        assert draft.problem is None
        assert draft.file is None
    body = draft.body
    body["policy"] = {"domain": {"age": {"integer": [0, 99]}}, "secrets": "full"}
    assert draft.change(body) is None
    assert draft.file is not None
    assert draft.file.data == "people.csv"
    assert Draft("budget: none\n").problem is not None


def test_a_change_of_an_empty_draft_writes_it_anew():
    draft = Draft("")
    assert draft.body == {}
    assert draft.change({"version": 1, "data": "people.csv"}) is None
    assert draft.text == "version: 1\ndata: people.csv\n"


def test_saving_keeps_line_ends_and_comments(tmp_path: Path):
    path = tmp_path / "policy.yaml"
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    draft = Draft.open(path)
    assert draft.saved
    assert "\r" not in draft.text
    draft.write(TEXT + "# end\n")
    assert not draft.saved
    draft.save()
    assert draft.saved
    assert path.read_bytes() == (TEXT + "# end\n").replace("\n", "\r\n").encode()


def test_a_file_that_changed_on_disk_is_not_overwritten_unasked(tmp_path: Path):
    path = tmp_path / "policy.yaml"
    path.write_text(TEXT)
    draft = Draft.open(path)
    path.write_text("# by somebody else\n" + TEXT)
    with pytest.raises(OverwriteError, match="changed by something else"):
        draft.save()
    draft.save(tmp_path / "mine.yaml")
    assert path.read_text() == "# by somebody else\n" + TEXT
    draft.check_on_disk()
    with pytest.raises(OverwriteError, match="already"):
        draft.save(path)
    draft.save(path, replace=True)
    assert path.read_text() == TEXT


def test_a_file_on_disk_is_compared_with_what_was_opened_or_saved(tmp_path: Path):
    path = tmp_path / "policy.yaml"
    path.write_text(TEXT)
    draft = Draft.open(path)
    draft.write(TEXT + "# mine\n")
    draft.check_on_disk()
    draft.save()
    draft.check_on_disk()
    path.write_text(TEXT)
    with pytest.raises(OverwriteError, match="changed by something else"):
        draft.check_on_disk()
    path.unlink()
    with pytest.raises(OverwriteError, match="not there any more"):
        draft.check_on_disk()
    draft.save()
    draft.check_on_disk()
    Draft(TEXT).check_on_disk()


def test_another_file_is_not_overwritten_unasked(tmp_path: Path):
    other = tmp_path / "other.yaml"
    other.write_text(TEXT + "# mine\n")
    draft = Draft(TEXT, folder=tmp_path)
    with pytest.raises(DataError, match="no file yet"):
        draft.save()
    with pytest.raises(OverwriteError, match="already"):
        draft.save(other)
    draft.save(tmp_path / "new.yaml")
    assert draft.path == tmp_path / "new.yaml"
    assert draft.saved
    draft.save()


def test_only_policy_files_are_replaced(tmp_path: Path):
    place = tmp_path / "people"
    draft = Draft(TEXT, folder=tmp_path)
    release = session_of_two().release(bp.Histogram("age"), epsilon=1)
    SqliteLedger.create(tmp_path / "people.ledger", budget=1)
    ledger = (tmp_path / "people.ledger").read_bytes()
    others = (ledger, b"age\n17\n18\n", release.text.encode(), b"", b"mine", b"version: '3'\nservices: {}\n", b"\xff")
    for content in (*others, TEXT.encode() * 3 + b"age: 17\n"):
        place.write_bytes(content)
        with pytest.raises(DataError, match="is no policy file, so it is kept") as refused:
            draft.save(place, replace=True)
        assert not isinstance(refused.value, OverwriteError)
        with pytest.raises(DataError, match="is no policy file, so it is kept"):
            draft.save(place)
        assert place.read_bytes() == content
    place.unlink()
    place.mkdir()
    with pytest.raises(DataError, match="so it is kept"):
        draft.save(place, replace=True)
    assert draft.path is None
    # One with a mistake in it is still a policy file.
    broken = tmp_path / "broken.yaml"
    broken.write_text(TEXT.replace("full", "fool"))
    draft.save(broken, replace=True)
    assert broken.read_text() == TEXT


def test_a_file_that_was_opened_is_saved_whatever_is_wrong_with_it_until_another_takes_its_place(tmp_path: Path):
    path = tmp_path / "policy.yaml"
    path.write_text("a: [")
    draft = Draft.open(path)
    draft.write(TEXT)
    draft.save()
    assert path.read_text() == TEXT
    path.write_text("age\n17\n")
    draft.write(TEXT + "# more\n")
    with pytest.raises(DataError, match="is no policy file"):
        draft.save(replace=True)
    assert path.read_text() == "age\n17\n"


def test_links_stay_links(tmp_path: Path):
    table, file = tmp_path / "table.csv", tmp_path / "file.yaml"
    table.write_text("age\n17\n")
    file.write_text(TEXT)
    link = tmp_path / "link.yaml"
    for leads_to in (table, tmp_path / "nowhere", link):
        link.symlink_to(leads_to)
        with pytest.raises(DataError, match="so it is kept"):
            Draft(TEXT, folder=tmp_path).save(link, replace=True)
        assert link.is_symlink()
        link.unlink()
    assert table.read_text() == "age\n17\n"
    link.symlink_to(file)
    draft = Draft.open(link)
    draft.write(TEXT + "# through the link\n")
    draft.save()
    assert link.is_symlink()
    assert file.read_text() == TEXT + "# through the link\n"


def session_of_two() -> bp.Session:
    policy = bp.Policy(bp.Domain(age=bp.Integer(0, 1)), secrets=bp.FullDomain())
    return bp.Session(bp.Counts(np.array([1, 1])), policy, budget=1)


def test_what_cannot_be_read_says_why(tmp_path: Path):
    with pytest.raises(SpecError, match="cannot be read"):
        Draft.open(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"name: M\xfcnchen")
    with pytest.raises(SpecError, match="UTF-8"):
        Draft.open(tmp_path / "latin.yaml")


def test_paths_lead_to_the_same_files_wherever_the_file_is_saved(tmp_path: Path):
    text = TEXT.replace("{integer: [17, 90]}", "{hierarchy: {file: places.csv}}   # of birth")
    (tmp_path / "there").mkdir()
    (tmp_path / "places.csv").write_text("country,town\nA,a\nA,b\nB,c\n")
    draft = Draft(text, folder=tmp_path)
    assert draft.file is not None
    draft.save(tmp_path / "there" / "policy.yaml")
    assert draft.file is not None
    assert draft.saved
    assert draft.text == text.replace("places.csv", str(tmp_path / "places.csv"))
    assert (tmp_path / "there" / "policy.yaml").read_text() == draft.text


def test_paths_start_from_the_first_folder_until_a_file_has_one(tmp_path: Path):
    draft = Draft(TEXT, folder=tmp_path)
    assert draft.folder == tmp_path
    (tmp_path / "there").mkdir()
    draft.save(tmp_path / "there" / "policy.yaml")
    assert draft.folder == tmp_path / "there"
