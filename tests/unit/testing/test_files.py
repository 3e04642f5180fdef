"""Spoilt policy files: a sample of what ``python -m spoilt_files`` does to many thousands."""

from __future__ import annotations

import gc
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

import spoilt_files as files
from blowfish_privacy.cli.main import run
from blowfish_privacy.domain import Attribute
from blowfish_privacy.errors import QueryError, SpecError
from blowfish_privacy.graphs import Secrets
from blowfish_privacy.mechanisms import MECHANISMS
from blowfish_privacy.queries import Query
from blowfish_privacy.release import spec
from blowfish_privacy.release.plan import make_plan
from blowfish_privacy.support import yaml_text
from effort import examples
from spoilt_files import CORPUS, mutated_file

pytestmark = pytest.mark.filterwarnings("ignore::blowfish_privacy.errors.BlowfishWarning")


def words(value: Any) -> set[str]:
    """All keys and texts of a file."""
    if isinstance(value, dict):
        return {str(key) for key in value} | words([*value.values()])
    return set().union(*map(words, value)) if isinstance(value, list) else {value} if isinstance(value, str) else set()


def test_the_corpus_has_every_keyword_and_loads():
    said = set().union(*map(words, CORPUS))
    kinds = [*Attribute.kinds, *Secrets.kinds, *MECHANISMS, "outside", "missing"]
    queries = [word for kind in Query.kinds.values() for word in kind.file_form.keys]
    fields = [*spec.FILE.keys, *spec.POLICY.keys, "epsilon", "rho", "delta", "noise", "error", "mechanism"]
    assert {*kinds, *queries, *fields, "marginal", "counts", "count", "equals", "scale", "range", "values"} <= said
    for body in CORPUS:
        spec.loads(json.dumps(body))


def test_a_file_is_the_same_for_the_same_seed():
    made = [mutated_file(8, number) for number in range(50)]
    assert made == [mutated_file(8, number) for number in range(50)]
    assert len(set(made)) == 50


def test_yaml_means_the_same_where_its_parser_in_c_is_missing(monkeypatch):
    def parsed(text: str, parser: Any) -> Any:
        monkeypatch.setattr(yaml_text, "Parser", parser)
        try:
            return yaml_text.parse(text)
        except SpecError:
            return "refused"

    made = [mutated_file(5, number).decode("utf-8", "replace") for number in range(examples(80))]
    small = [text for text in made if len(text) < 5_000]
    assert len(small) > 40
    for text in small:
        assert repr(parsed(text, yaml.CSafeLoader)) == repr(parsed(text, yaml.SafeLoader))


def test_spoilt_files_are_planned_or_refused():
    found = files.examine_many(0, examples(100), seed=5)
    assert [outcome for outcome in found if outcome.failure] == []
    assert {"planned", "SpecError", "DomainError"} <= {outcome.word for outcome in found}


def test_the_pieces_of_an_attribute_are_not_listed_before_its_size_is_checked(tmp_path: Path):
    """Edges cut the rest of an attribute into single values: 10^12 of them were listed to choose a mechanism."""
    path = tmp_path / "policy.yaml"
    path.write_text(
        "version: 1\npolicy:\n  domain: {age: {integer: [0, 1000000000000]}}\n  secrets: {edges: [[17, 18]]}\n"
        "releases: [{name: a, epsilon: 0.5, cumulative: age}]\n"
    )
    word, failure, _, _ = files.bounded(lambda: files.examine(path))
    assert (word, failure) == ("QueryError", "")
    planned = spec.load(path).releases[0]
    with pytest.raises(QueryError, match="at most 1,000,000 values"):
        make_plan(planned.query, spec.load(path).policy, target=planned.target, records=10)


def test_what_goes_wrong_is_seen(monkeypatch):
    word, failure, _, _ = files.bounded(lambda: str(1 // 0))
    assert word == "failed"
    assert "ZeroDivisionError" in failure
    assert "MemoryError" in files.bounded(lambda: str(len(bytearray(3 * 2**30))))[1]
    monkeypatch.setattr(files, "MOST_SECONDS", 0.2)

    def forever() -> str:
        while True:
            time.process_time()

    assert files.bounded(forever)[1].startswith("over")
    assert files.bounded(lambda: "planned")[:2] == ("planned", "")


def test_a_child_leaves_alone_what_its_parent_did_not_collect():
    parent = os.getpid()

    class Left:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            if os.getpid() != parent:
                os.kill(os.getpid(), signal.SIGKILL)

    def collect() -> str:
        gc.collect()
        return "done"

    collecting = gc.isenabled()
    gc.disable()
    try:
        Left()
        assert files.bounded(collect)[:2] == ("done", "")
    finally:
        gc.collect()
        if collecting:
            gc.enable()


def test_the_commands_end_with_their_exit_codes(tmp_path: Path):
    path = tmp_path / "policy.yaml"

    def commands() -> str:
        codes = [
            run(["policy", "check", str(path), "--picture", "-"]),
            run(["policy", "explain", str(path)]),
            run(["plan", str(path), "--explain"]),
        ]
        return "done" if {*codes} <= {0, 2, 3, 4, 5} else f"failed\nexit codes {codes}"

    for number in range(examples(40)):
        path.write_bytes(mutated_file(11, number))
        assert files.bounded(commands)[:2] == ("done", ""), number
