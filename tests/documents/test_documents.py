"""The same bits, data and policy show users the same, from one version to the next: a part of the net of ``net.py``."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from blowfish_privacy.domain import Attribute
from blowfish_privacy.graphs import Secrets
from blowfish_privacy.known_facts.facts import Fact
from blowfish_privacy.mechanisms import MECHANISMS
from blowfish_privacy.queries import Query
from documents.journeys import FILES
from documents.net import QUICK, SPOILT, changed, digests_of, stored, texts_of
from documents.releases import ONE_OF_EACH


@pytest.mark.parametrize("part", QUICK)
def test_users_see_what_they_saw_before(part: str) -> None:
    texts = texts_of(part)
    differing = changed(part, stored()[part], digests_of(texts))
    shown = "\n".join(text for name, text in texts.items() if f"{part}: {name}" in differing)[:4000]
    assert not differing, f"see the difference with make net; if it is meant, store it: make net NET=--write\n{shown}"


def test_every_mechanism_has_a_case() -> None:
    assert set(ONE_OF_EACH) == set(MECHANISMS)


def words(value: Any) -> set[str]:
    """All keys and texts of a file."""
    if isinstance(value, dict):
        return {str(key) for key in value} | words([*value.values()])
    return set().union(*map(words, value)) if isinstance(value, list) else {value} if isinstance(value, str) else set()


@pytest.mark.parametrize("names", [[path.stem for path in FILES.glob("*.yaml")], SPOILT], ids=["journeys", "mistakes"])
def test_every_keyword_is_in_a_file(names: list[str]) -> None:
    said = set().union(*(words(yaml.safe_load((FILES / f"{name}.yaml").read_text())) for name in names))
    queries = [key for kind in Query.kinds.values() for key in kind.file_form.keys]
    assert {*Attribute.kinds, *Secrets.kinds, *Fact.kinds, *queries, "where", "by", "weight"} <= said
    assert {"epsilon", "rho", "delta", "noise", "error", "size", "rows_per_person", "compensation"} <= said


def test_every_mechanism_is_named_in_a_journey() -> None:
    said = set().union(*(words(yaml.safe_load(path.read_text())) for path in FILES.glob("*.yaml")))
    assert set(MECHANISMS) <= said
