"""New values in an old text: only the lines that must change do."""

from __future__ import annotations

import copy
from decimal import Decimal
from difflib import SequenceMatcher
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blowfish_privacy.errors import SpecError
from blowfish_privacy.support import yaml_text
from blowfish_privacy.support.yaml_edit import edited, same
from effort import examples

TEXT = """# above
version: 1
budget: 1.0   # in all
policy:
  domain:
    age: {integer: [17, 90]}
    # of the person
    sex: {categorical: [Female, Male]}   # as stated

    wage: {integer: [0, 200], outside: clamp}
  secrets:
    # hidden
    per_attribute:
      age: {threshold: 5}   # years
      sex: full
      wage: full   # never tell
releases:
  - {name: wages, cumulative: wage, epsilon: 0.5}
  # the second
  - name: table
    histogram: [age, sex]   # two
    epsilon: 0.3
# below
"""


def changed_lines(text: str, new: str) -> tuple[list[str], list[str]]:
    """Return the lines that went, and those that came."""
    old_lines, new_lines = text.split("\n"), new.split("\n")
    went: list[str] = []
    came: list[str] = []
    for tag, a, b, c, d in SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_opcodes():
        if tag != "equal":
            went += old_lines[a:b]
            came += new_lines[c:d]
    return went, came


def change(text: str, *path: Any, to: Any) -> tuple[str, list[str], list[str]]:
    """Set a value, or take it out, and return the new text with the lines that went and came."""
    body = yaml_text.parse(text)
    place = body
    for step in path[:-1]:
        place = place[step]
    if to is GONE:
        del place[path[-1]]
    elif isinstance(place, list) and path[-1] == len(place):
        place.append(to)
    else:
        place[path[-1]] = to
    new = edited(text, body)
    assert same(yaml_text.parse(new), body)
    return new, *changed_lines(text, new)


GONE = object()


@pytest.mark.parametrize(
    ("path", "to", "went", "came"),
    [
        (("budget",), 2, ["budget: 1.0   # in all"], ["budget: 2   # in all"]),
        (("budget",), {"rho": Decimal("0.05")}, ["budget: 1.0   # in all"], ["budget: {rho: 0.05}   # in all"]),
        (("data",), "a.csv", [], ["data: a.csv"]),
        (("version",), GONE, ["version: 1"], []),
        (
            ("policy", "domain", "age", "integer", 1),
            99,
            ["    age: {integer: [17, 90]}"],
            ["    age: {integer: [17, 99]}"],
        ),
        (("policy", "domain", "sex"), GONE, ["    sex: {categorical: [Female, Male]}   # as stated"], []),
        (("policy", "domain", "town"), {"integer": [1, 5]}, [], ["    town: {integer: [1, 5]}"]),
        (
            ("policy", "domain", "wage", "outside"),
            GONE,
            ["    wage: {integer: [0, 200], outside: clamp}"],
            ["    wage: {integer: [0, 200]}"],
        ),
        (
            ("policy", "domain", "sex", "missing"),
            "Male",
            ["    sex: {categorical: [Female, Male]}   # as stated"],
            ["    sex: {categorical: [Female, Male], missing: Male}   # as stated"],
        ),
        (("policy", "secrets", "per_attribute", "wage"), GONE, ["      wage: full   # never tell"], []),
        (
            ("policy", "secrets", "per_attribute", "wage"),
            {"threshold": 20},
            ["      wage: full   # never tell"],
            ["      wage: {threshold: 20}   # never tell"],
        ),
        (("policy", "known"), [{"marginal": ["sex"]}], [], ["  known:", "    - {marginal: [sex]}"]),
        (("releases", 1, "epsilon"), Decimal("0.25"), ["    epsilon: 0.3"], ["    epsilon: 0.25"]),
        (
            ("releases", 1, "histogram"),
            ["age"],
            ["    histogram: [age, sex]   # two"],
            ["    histogram: [age]   # two"],
        ),
        (("releases", 0), GONE, ["  - {name: wages, cumulative: wage, epsilon: 0.5}"], []),
        (("releases", 2), {"name": "x", "sum": "wage"}, [], ["  - {name: x, sum: wage}"]),
    ],
)
def test_only_what_must_change_does(path: tuple[Any, ...], to: Any, went: list[str], came: list[str]):
    assert change(TEXT, *path, to=to)[1:] == (went, came)


def test_structure_becomes_a_word_and_a_word_structure():
    new, went, came = change(TEXT, "policy", "secrets", to="full")
    assert came == ["  secrets: full"]
    assert len(went) == 5
    assert "    # hidden\n" in new
    _, went, came = change(new, "policy", "secrets", to={"per_attribute": {"age": {"threshold": 5}, "sex": "full"}})
    assert went == ["  secrets: full"]
    assert came == ["  secrets:", "    per_attribute:", "      age: {threshold: 5}", "      sex: full"]


def test_the_comment_beside_a_word_stays_beside_its_key():
    new = edited("secrets: full  # why\nsize: 3\n", {"secrets": {"per_attribute": {"a": {"b": 1}}}, "size": 3})
    assert new == "secrets:  # why\n  per_attribute:\n    a: {b: 1}\nsize: 3\n"


def test_entries_move_with_the_comments_above_them():
    body = yaml_text.parse(TEXT)
    body["releases"].reverse()
    new = edited(TEXT, body)
    assert same(yaml_text.parse(new), body)
    assert "releases:\n  # the second\n  - name: table\n" in new
    body["policy"]["domain"] = dict(reversed(body["policy"]["domain"].items()))
    new = edited(TEXT, body)
    assert same(yaml_text.parse(new), body)
    assert "    # of the person\n    sex:" in new


def test_nothing_left_is_written_as_empty():
    new, went, came = change(TEXT, "releases", to=[])
    assert came == ["releases: []"]
    assert len(went) == 6
    _, went, came = change(new, "releases", 0, to={"name": "x", "sum": "wage"})
    assert came == ["releases:", "  - {name: x, sum: wage}"]
    assert edited("a: {}\n", {"a": {"b": 1}}) == "a: {b: 1}\n"
    assert edited("a: [1, 2]\n", {"a": []}) == "a: []\n"
    assert edited("a:\nb: 1\n", {"a": 2, "b": 1}) == "a: 2\nb: 1\n"


def test_lists_between_brackets_keep_their_comments():
    text = "a: [\n  1, # one\n  2, # two\n  3  # three\n]\n"
    assert edited(text, {"a": [1, 3]}) == "a: [\n  1, # one\n    # two\n  3  # three\n]\n"
    assert edited(text, {"a": [1, 2, 3, 4]}) == "a: [\n  1, # one\n  2, # two\n  3, 4  # three\n]\n"
    assert edited(text, {"a": [0, 1, 2, 3]}) == "a: [\n  0, 1, # one\n  2, # two\n  3  # three\n]\n"


@pytest.mark.parametrize(
    "value", ["yes", "no: way", "# a", "", "1", "0.5", "null", "a, b", "[", "é\u2028", "a\nb", " x "]
)
def test_text_that_needs_quotes_gets_them(value: str):
    for text in ("a: 1\n", "a: {b: 1}\n", "- 1\n"):
        body = yaml_text.parse(text)
        if isinstance(body, list):
            body.append(value)
        else:
            body[value] = value
            body["a"] = value
        assert same(yaml_text.parse(edited(text, body)), body)


def test_line_ends_and_a_missing_last_one_stay():
    text = "a: 1\r\nb:\r\n  - x: 1\r\n    y: 2"
    assert edited(text, {"a": 2, "b": [{"x": 1, "y": 3}]}) == "a: 2\r\nb:\r\n  - x: 1\r\n    y: 3"
    assert edited(text, {"a": 1, "b": [{"x": 1, "y": 2}, {"x": 2}]}) == text + "\r\n  - {x: 2}"


def test_a_new_text_is_written_as_the_examples_are():
    body = {
        "version": 1,
        "budget": Decimal("1.0"),
        "policy": {"domain": {"age": {"integer": [0, 9]}}, "secrets": "full"},
        "releases": [{"name": "ages", "histogram": ["age"], "epsilon": Decimal("0.5")}],
    }
    assert edited("# mine", body) == (
        "# mine\nversion: 1\nbudget: 1.0\npolicy:\n  domain:\n    age: {integer: [0, 9]}\n  secrets: full\n"
        "releases:\n  - {name: ages, histogram: [age], epsilon: 0.5}\n"
    )


def test_long_lists_are_wrapped_between_their_entries():
    towns = [f"Town {number}" for number in range(60)]
    new, _, came = change(TEXT, "policy", "domain", "town", to={"categorical": towns})
    assert max(map(len, new.split("\n"))) <= 110
    assert not any(line.endswith("Town") for line in came)
    grown, _, came = change(new, "policy", "domain", "town", "categorical", 60, to="Town 60")
    assert len(came) == 1
    wide, _, _ = change(grown, "policy", "domain", "sex", "categorical", to=towns)
    assert max(map(len, wide.split("\n"))) <= 120


def test_a_key_in_quotes_is_not_taken_for_decimals():
    body = {"a": {"b": 0, "0": ""}}
    assert same(yaml_text.parse(edited("a: 1\n", body)), body)


def test_a_text_that_is_wrong_is_not_changed():
    with pytest.raises(SpecError):
        edited("a: [", {"a": 1})


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1000, 1000),
    st.decimals(-100, 100, places=2),
    st.sampled_from(["full", "a b", "yes", "0.5", "x: y", "#", "it's", "- a", ""]),
    st.text(max_size=8),
)

KEYS = st.one_of(st.sampled_from(["name", "age", "sex", "known", "a b", "yes"]), st.text(min_size=1, max_size=5))

VALUES = st.recursive(
    SCALARS, lambda each: st.lists(each, max_size=4) | st.dictionaries(KEYS, each, max_size=4), max_leaves=12
)

BODIES = st.dictionaries(KEYS, VALUES, min_size=1, max_size=5)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Write values in one of the usual styles, with comments here and there."""
    import yaml

    body = draw(BODIES)
    style = draw(st.sampled_from(["ours", "flow", "lines"]))
    if style == "ours":
        text = edited("", body)
    else:
        options = {"default_flow_style": style == "flow", "Dumper": yaml_text._Dumper, "sort_keys": False}
        text = yaml.dump(body, allow_unicode=False, **options)
    return text


def with_comments(text: str, body: Any) -> str:
    """Put a comment above and beside each line that can bear one."""
    lines = text.split("\n")
    for number in range(len(lines) - 1, -1, -1):
        for tried in ([f"{lines[number]}  # beside {number}"], [f"# above {number}", lines[number]]):
            candidate = "\n".join([*lines[:number], *tried, *lines[number + 1 :]])
            try:
                if lines[number].strip() and same(yaml_text.parse(candidate), body):
                    lines[number : number + 1] = tried
            except SpecError:
                continue
    return "\n".join(lines)


@st.composite
def small_changes(draw: st.DrawFn, body: Any) -> Any:
    """Change one thing somewhere in plain values."""
    new = copy.deepcopy(body)
    place = new
    while True:
        inner = [key for key in _keys(place) if isinstance(place[key], dict | list)]
        if not inner or draw(st.booleans()):
            break
        place = place[draw(st.sampled_from(inner))]
    keys = _keys(place)
    action = draw(st.sampled_from(["set", "remove", "add", "turn"]))
    if action == "add" or not keys:
        if isinstance(place, dict):
            place[draw(KEYS)] = draw(VALUES)
        else:
            place.insert(draw(st.integers(0, len(place))), draw(VALUES))
    elif action == "set":
        place[draw(st.sampled_from(keys))] = draw(VALUES)
    elif action == "remove" and (place is not new or len(keys) > 1):
        del place[draw(st.sampled_from(keys))]
    elif isinstance(place, list):
        place.reverse()
    else:
        turned = list(reversed(place.items()))
        place.clear()
        place.update(turned)
    return new


def _keys(place: Any) -> list[Any]:
    return list(place) if isinstance(place, dict) else list(range(len(place)))


@given(texts(), st.data())
@settings(max_examples=examples(300), deadline=None)
def test_what_is_read_back_is_what_was_written(text: str, data: st.DataObject):
    body = yaml_text.parse(text)
    assert edited(text, body) == text
    new = data.draw(small_changes(body) | BODIES)
    for start in (text, with_comments(text, body), text.replace("\n", "\r\n"), text.rstrip("\n")):
        if same(yaml_text.parse(start), body):
            assert same(yaml_text.parse(edited(start, new)), new)


@given(BODIES, st.data())
@settings(max_examples=examples(300), deadline=None)
def test_lines_that_have_nothing_to_do_with_a_change_stay(body: Any, data: st.DataObject):
    text = with_comments(edited("", body), body)
    keys = list(body)
    key = data.draw(st.sampled_from(keys))
    written = edited(text, {**body, key: data.draw(VALUES)})
    lines, new = text.split("\n"), written.split("\n")
    first = yaml_text.line_of(text, [key]) - 1
    assert new[:first] == lines[:first]
    for following in keys[keys.index(key) + 1 :][:1]:
        after = yaml_text.line_of(text, [following]) - 1
        assert new[after - len(lines) :] == lines[after:]


@given(BODIES, st.data())
@settings(max_examples=examples(300), deadline=None)
def test_what_goes_takes_no_other_line_along(body: Any, data: st.DataObject):
    text = with_comments(edited("", body), body)
    key = data.draw(st.sampled_from(list(body)))
    kept = {name: value for name, value in body.items() if name != key}
    if kept:
        went, came = changed_lines(text, edited(text, kept))
        assert not came
        assert len(went) <= 2 * len(edited("", {key: body[key]}).rstrip("\n").split("\n"))
