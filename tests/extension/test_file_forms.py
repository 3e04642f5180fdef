"""Kinds of attributes, secrets, facts and queries defined here, with a form in a policy file or without one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import jsonschema
import pytest
from annotated_types import Interval

import blowfish_privacy as bp
from blowfish_privacy.errors import SpecError
from blowfish_privacy.graphs.graph import Secrets
from blowfish_privacy.release import spec
from blowfish_privacy.support import yaml_text
from blowfish_privacy.support.file_forms import Form, Name, Wanted
from registries import forgotten

FILE = """
version: 1
policy:
  domain: {month: {months: 12}, sex: {categorical: [F, M]}}
  secrets: {everything: because}
  known: [{share: sex, of: F, equals: 5}]
releases:
  - {name: m, tally: month, epsilon: 0.5}
"""


@pytest.fixture(autouse=True)
def kinds():
    with forgotten():
        yield define()


def define():
    class Months(bp.Integer):
        """So many months, from 1 on."""

        keyword = "months"
        file_form = Form({"months": Annotated[int, Interval(ge=1, le=12), Wanted("a number of months, up to 12")]})

        def to_file(self):
            return {"months": self.high}

        @classmethod
        def from_file(cls, body):
            return cls(1, body["months"])

    @dataclass(frozen=True)
    class Everything(Secrets):
        """States no form, and reads what it likes."""

        keyword = "everything"

        def on(self, domain):
            return bp.FullDomain().on(domain)

        def to_file(self):
            return "everything"

        @classmethod
        def from_file(cls, body, domain):
            return cls()

    class KnownShare(bp.KnownCount):
        """How many records have one value."""

        keyword = "share"
        file_form = Form({"share": Name, "of": str}, {"equals": int})

        @classmethod
        def from_file(cls, body, domain):
            return cls({body["share"]: body["of"]}, body.get("equals"))

    class Tally(bp.Histogram):
        """States no form: anything may follow its keyword."""

        keyword = "tally"

        @classmethod
        def from_file(cls, entry):
            return cls(entry["tally"])

    return Months, Everything, KnownShare, Tally


def test_they_are_read_and_are_in_the_schema(kinds):
    months, everything, share, tally = kinds
    loaded = spec.loads(FILE)
    assert type(loaded.policy.domain["month"]) is months
    assert type(loaded.policy.secrets) is everything
    assert [type(fact) for fact in loaded.policy.known] == [share]
    assert type(loaded.releases[0].query) is tally
    body = yaml_text.parse(FILE)
    jsonschema.validate(body, spec.schema())
    bare = {**body, "policy": {**body["policy"], "secrets": "everything"}}
    jsonschema.validate(bare, spec.schema())
    assert type(spec.loads(yaml_text.write({**bare, "releases": []})).policy.secrets) is everything


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("months: 12", "months: 13", "policy.domain.month.months must be a number of months, up to 12, got 13"),
        ("months: 12", "moths: 12", "did you mean 'months'"),
        ("everything: because", "evrything: 5", "did you mean 'everything'"),
        ("of: F, ", "", r"the first known fact: of is missing"),
        ("tally: month", "tally: month, k: 5", r"release 'm': unknown key 'k'"),
        ("tally: month", "taly: month", "did you mean 'tally'"),
    ],
)
def test_mistakes_in_them_are_said_in_their_words(old, new, said):
    text = FILE.replace(old, new)
    assert text != FILE
    with pytest.raises(SpecError, match=said):
        spec.loads(text)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml_text.parse(text), spec.schema())
