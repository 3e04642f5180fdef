"""The published schema and the reader agree: on good files, on small mistakes, and on files spoilt at random."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from blowfish_privacy.errors import BlowfishError, SpecError
from blowfish_privacy.mechanisms import MECHANISMS
from blowfish_privacy.queries import Query
from blowfish_privacy.release import spec
from blowfish_privacy.support import yaml_text
from effort import examples
from spoilt_files import CORPUS, mutated_file

pytestmark = pytest.mark.filterwarnings("ignore::blowfish_privacy.errors.BlowfishWarning")

ROOT = Path(__file__).parents[3]
PUBLISHED = json.loads((ROOT / "docs/policy-file.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(PUBLISHED)
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))

BEYOND_A_SCHEMA = {
    "another part of the file decides: the domain": (
        r"has no attribute|unknown attribute|is outside|not a declared category|has categories|categories have no",
        r"does not (give|choose|say)|say(s)? nothing about|not an edge of a bin|is (in two|not in any) block",
        r"lies across two|connects a value to itself|cells; at most .* supported|ha(s|ve) no entry for|named twice in",
        r"has both blocks|must be a list of [0-9]|must say which attribute|every row must have|cannot be told apart",
        r"is not a whole number|numbers to add up|chooses no value|is not one bin|cells; (.* is )?the most",
        r"joins a value|there cannot be .* clusters|same within each group|groups, got|selects no value",
        r"names an unknown|add_remove|has no value for|there is no level|values; an attribute of synthetic",
        r"one value only|records do not have|would (be kept|cut)|is one day of|is not a date",
        r"name(s)? an attribute twice|asked for twice|a workload is",
    ),
    "names are compared with each other: the tree of a hierarchy": (
        r"is in two places|is listed twice|two levels have the same name|of a level must be",
        r"the (tree|branch .*) (must be|is empty|has the name)|levels and a tree|must be all text",
    ),
    "another part of the file decides: other facts, other releases": (
        r"contradict|gives (no|two) count|known facts (need|are)|the same (name|file)",
    ),
    "numbers are compared with each other, or written as text": (
        r"must increase|lower bound .* above|ends are reversed|holds no bin|width of a block|too close|within \+-1e300",
        r"known count must be a whole number|too many digits for a common unit",
        r"must be (a finite number|above 0)|lies between 0 and 1|a common lattice",
        r"delta stands beside|loses rho|delta must be|is too small for any|more than 10\^15|less than 10\^-15",
    ),
    "letters and printable characters beyond ASCII are told from others": (
        r"the name .* must begin|printable text|not valid text|name of an attribute must be text",
    ),
}
"""What only the reader refuses, and its words for it."""


def schema_accepts(body: Any) -> bool:
    return VALIDATOR.is_valid(body)


def refusal(text: str) -> BlowfishError | None:
    """Say why the reader refuses a file, if it does."""
    try:
        spec.loads(text)
    except BlowfishError as error:
        return error
    return None


def with_release(**entry: Any) -> dict[str, Any]:
    domain = {"age": {"integer": [17, 90]}, "wage": {"integer": [0, 200]}}
    return {"version": 1, "policy": {"domain": domain, "secrets": "full"}, "releases": [entry]}


RELEASES: dict[str, dict[str, Any]] = {
    "histogram": {"histogram": ["age", "wage"]},
    "cumulative": {"cumulative": "wage"},
    "quantiles": {"quantiles": "wage", "at": [0.25, "1/2"]},
    "median": {"median": "wage"},
    "tables": {"tables": [["age"], [{"attribute": "age", "as": "ranges"}, "wage"]], "objective": "mean"},
    "ranges": {"ranges": "wage", "of": [[0, 20], [21, 50]]},
    "range_grid": {"range_grid": ["age", "wage"]},
    "kmeans": {"kmeans": ["age", "wage"], "k": 3},
    "synthetic": {
        "synthetic": ["age", "wage"],
        "workload": [["age", "wage"]],
        "impossible": [{"age": [17, 20], "wage": {"range": [150, 200]}}],
        "keep": "age",
    },
    "sum": {"sum": "wage"},
    "mean": {"mean": "wage"},
    "linear": {"linear": {"attributes": ["age"], "rows": [[1] * 74]}},
}
"""A release of every kind of query."""


def mistakes(kind: str) -> dict[str, dict[str, Any]]:
    """Spoil a release in small ways."""
    good = {"name": "r", "epsilon": 0.5, **RELEASES[kind]}
    asked = good[kind]
    without = {key: {k: v for k, v in good.items() if k != key} for key in ("name", kind, "epsilon")}
    other = "sum" if kind != "sum" else "mean"
    made = {
        "misspelt keyword": {**without[kind], f"{kind}s": asked},
        "no query": without[kind],
        "no name": without["name"],
        "a name that is no file name": {**good, "name": "../r"},
        "a name that is no text": {**good, "name": 5},
        "no epsilon": without["epsilon"],
        "epsilon and error": {**good, "error": 5},
        "epsilon as a list": {**good, "epsilon": [0.5]},
        "epsilon as words": {**good, "epsilon": "half"},
        "epsilon of zero": {**good, "epsilon": 0},
        "epsilon without a value": {**good, "epsilon": None},
        "misspelt epsilon": {**without["epsilon"], "epsiln": 0.5},
        "error below zero": {**without["epsilon"], "error": -1},
        "two queries": {**good, other: "wage"},
        "unknown key": {**good, "colour": "red"},
        "query without a value": {**good, kind: None},
        "query of a number": {**good, kind: 5},
        "query of nothing": {**good, kind: []},
        "unknown mechanism": {**good, "mechanism": "laplce"},
        "mechanism as a list": {**good, "mechanism": ["laplace"]},
    }
    foreign = next(name for name, each in MECHANISMS.items() if Query.kinds[kind].answer not in each.gives)
    made["mechanism of another query"] = {**good, "mechanism": foreign}
    for key in Query.kinds[kind].file_form.keys:
        made |= {f"{key} as a mapping": {**good, key: {"x": 1}}, f"{key} as true": {**good, key: True}}
    for key in set(Query.kinds[kind].file_form.required) - {kind}:
        made[f"no {key}"] = {k: v for k, v in good.items() if k != key}
    return made


def test_every_kind_of_query_is_tried():
    assert set(RELEASES) == set(Query.kinds)


@pytest.mark.parametrize("kind", RELEASES)
def test_good_releases_are_accepted(kind):
    either = {"epsilon": 1, "delta": 1e-9}
    for spending in (
        {"epsilon": 0.5},
        {"epsilon": "1/3"},
        {"error": 25},
        {"rho": 0.05},
        {**either, "noise": "laplace"},
    ):
        body = with_release(name="r", **RELEASES[kind], **spending)
        assert schema_accepts(body)
        assert refusal(json.dumps(body)) is None
    for name, mechanism in MECHANISMS.items():
        body = with_release(name="r", epsilon=1, mechanism=name, **RELEASES[kind])
        assert (
            schema_accepts(body) == (Query.kinds[kind].answer in mechanism.gives) == (refusal(json.dumps(body)) is None)
        )


@pytest.mark.parametrize(("kind", "mistake"), [(kind, mistake) for kind in RELEASES for mistake in mistakes(kind)])
def test_small_mistakes_are_refused_by_the_schema_and_by_the_reader(kind, mistake):
    body = with_release(**mistakes(kind)[mistake])
    assert not schema_accepts(body)
    error = refusal(json.dumps(body))
    assert isinstance(error, SpecError)
    assert error.message.startswith(("line 1: release '", "line 1: the first release"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_mistakes_in_the_examples_are_refused(path):
    body = yaml_text.parse(path.read_text())
    assert schema_accepts(body)
    for number, release in enumerate(body["releases"]):
        kind = next(key for key in release if key in Query.kinds)
        for change in ({kind[:-1]: "x"}, {"epsilon": []}, {kind: None}, {"error": 1}, {"name": ""}, {"mechanism": "x"}):
            spoilt = deepcopy(body)
            spoilt["releases"][number] |= change
            assert not schema_accepts(spoilt), change
            assert refusal(yaml_text.write(json.loads(json.dumps(spoilt, default=str)))) is not None, change


def test_the_corpus_is_accepted():
    for body in CORPUS:
        assert schema_accepts(body)


def test_spoilt_files_are_refused_by_both_or_for_what_a_schema_cannot_say():
    seen = {"accepted": 0, "refused": 0, "beyond": 0}
    beyond = re.compile("|".join(words for known in BEYOND_A_SCHEMA.values() for words in known))
    for number in range(examples(500)):
        text = mutated_file(23, number).decode("utf-8", "replace")
        try:
            body = yaml_text.parse(text) if len(text) < 5_000 else None
        except SpecError:
            continue
        if body is None:
            continue
        error, accepted = refusal(text), schema_accepts(body)
        if error is None:
            assert accepted, f"{number}: {next(VALIDATOR.iter_errors(body)).message}"
            seen["accepted"] += 1
        elif accepted:
            assert beyond.search(str(error)), f"{number}: {error}"
            seen["beyond"] += 1
        else:
            seen["refused"] += 1
    assert min(seen.values()) > 0, seen
