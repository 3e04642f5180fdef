"""A text that is no policy file: what is wrong is said in plain words, with the line."""

from __future__ import annotations

import pytest
import yaml

from blowfish_privacy.errors import SpecError
from blowfish_privacy.release import spec
from blowfish_privacy.support import yaml_text

TEXT = """version: 1
data: people.csv
policy:
  domain:
    age: {integer: [17, 90]}
    sex: {categorical: [Female, Male]}
  secrets: full
releases:
  - {name: ages, histogram: [age], epsilon: 0.1}
"""


@pytest.mark.parametrize("parser", [yaml_text.Parser, yaml.SafeLoader])
@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("  secrets", "\tsecrets", 7, "a tab is used for indentation"),
        ("    sex", "\tsex", 6, "a tab is used for indentation"),
        ("version: 1\n", "", None, "version is missing. Hint: begin the file with the line version: 1"),
        ("version: 1", "version: 2", 1, "version must be 1, got 2"),
        ("version: 1", "version:1", 2, "a space is missing after a colon"),
        ("data:", "version:", 2, "duplicate key 'version'"),
        ("people.csv", "'people.csv", 2, "a quotation mark is opened here and never closed"),
        ("people.csv", "'it's'", 2, "goes on after its closing quotation mark"),
        ("people.csv", r'"C:\people.csv"', 2, "a backslash inside double quotation marks"),
        ("people.csv", "@people", 2, "a value cannot begin with @"),
        ("people.csv", "my data: people.csv", 2, "a second colon in one value"),
        ("Male]", "Male", 6, r"the bracket \[ is opened here"),
        ("Male]}", "Male]}}", 6, "the bracket } is closed here and was not opened"),
        ("    sex", "   sex", 6, "the indentation does not fit"),
        ("  secrets", "   secrets", 7, "the indentation does not fit"),
        ("full", "&all full", 7, "anchors and aliases are not allowed. Hint: write the value out"),
    ],
)
def test_what_is_wrong_is_said_in_plain_words(monkeypatch, parser, old, new, line, said):
    monkeypatch.setattr(yaml_text, "Parser", parser)
    with pytest.raises(SpecError, match=said) as caught:
        spec.loads(TEXT.replace(old, new, 1))
    assert caught.value.line == line
    assert line is None or caught.value.message.startswith(f"line {line}")


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        (b"", None, "the file is empty"),
        (b"# nothing yet\n", None, "the file is empty"),
        (TEXT.replace("Male", "Männlich").encode("latin-1"), 6, "line 6: .* is not UTF-8 text"),
        (TEXT.encode("utf-16"), None, "is not UTF-8 text but UTF-16"),
        (b"PK\x03\x04rest", None, "is a zip archive or a spreadsheet"),
        (b"PAR1rest", None, "is a Parquet file"),
        (b"age,sex\n987654,CANARY\n", None, "the file is not a policy file"),
    ],
)
def test_files_of_another_kind_are_told_apart_and_not_quoted(tmp_path, content, line, said):
    (tmp_path / "people.yaml").write_bytes(content)
    with pytest.raises(SpecError, match=said) as caught:
        spec.load(tmp_path / "people.yaml")
    assert caught.value.line == line
    assert "CANARY" not in str(caught.value)


def test_a_mark_that_editors_put_in_front_does_no_harm(tmp_path):
    (tmp_path / "people.yaml").write_bytes(TEXT.encode("utf-8-sig"))
    assert spec.load(tmp_path / "people.yaml") == spec.loads(TEXT)
