"""What a studio begins with, and what it keeps when it ends."""

import tempfile

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.errors import DataError, SpecError
from blowfish_privacy.studio import launch
from blowfish_privacy.studio.declaring import with_data
from blowfish_privacy.studio.draft import from_folder
from blowfish_privacy.studio.launch import keep_unsaved, opened

TEXT = "version: 1\npolicy:\n  domain: {age: {integer: [0, 9]}}   # in years\n  secrets: full\n"


@pytest.fixture
def opened_file(tmp_path):
    (tmp_path / "people.yaml").write_text(TEXT)

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
    assert (workshop.draft.text, workshop.draft.path, remarks) == (TEXT, tmp_path / "people.yaml", [])


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
    workshop.write(TEXT + "# one\n")
    kept = keep_unsaved(workshop)
    assert kept == tmp_path / "people.yaml.draft"
    assert kept.read_text() == TEXT + "# one\n"
    assert (tmp_path / "people.yaml").read_text() == TEXT
    again, remarks = opened_file()
    assert again.draft.text == TEXT
    assert [str(kept) in remark for remark in remarks] == [True]


def test_an_earlier_draft_is_not_overwritten(opened_file, tmp_path):
    for words, name in (("# one\n", "draft"), ("# one\n", "draft"), ("# two\n", "draft-2")):
        workshop, _ = opened_file()
        workshop.write(TEXT + words)
        assert keep_unsaved(workshop) == tmp_path / f"people.yaml.{name}"
    assert (tmp_path / "people.yaml.draft").read_text().endswith("# one\n")


def test_on_a_full_disk_the_text_goes_to_the_temporary_folder(opened_file, tmp_path, monkeypatch):
    fail_below(tmp_path / "people.yaml.draft", monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    workshop, _ = opened_file()
    workshop.write(TEXT + "# one\n")
    kept = keep_unsaved(workshop)
    assert kept is not None
    assert kept.parent.parent == tmp_path
    assert kept.parent.name.startswith("blowfish-draft-")
    assert (kept.name, kept.read_text()) == ("people.yaml.draft", TEXT + "# one\n")
    assert kept.parent.stat().st_mode & 0o077 == 0


def test_a_text_that_can_be_written_nowhere_is_said_to_be_lost(opened_file, tmp_path, monkeypatch):
    fail_below(tmp_path, monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    workshop, _ = opened_file()
    workshop.write(TEXT + "# one\n")
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

    monkeypatch.setattr(launch, "write_atomically", write)


def test_what_was_saved_or_taken_back_is_not_kept(opened_file, tmp_path):
    workshop, _ = opened_file()
    workshop.write(TEXT + "# one\n")
    workshop.undo()
    assert keep_unsaved(workshop) is None
    workshop.redo()
    workshop.save(tmp_path / "people.yaml")
    assert keep_unsaved(workshop) is None
    assert [path.name for path in tmp_path.iterdir()] == ["people.yaml"]
