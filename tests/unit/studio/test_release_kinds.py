"""What a form can ask for, as entries of a file."""

from __future__ import annotations

from decimal import Decimal

import pytest

import blowfish_privacy as bp
from blowfish_privacy.release import spec
from blowfish_privacy.statements.plan import TITLES
from blowfish_privacy.studio.entries import (
    BY_TITLE,
    KINDS,
    amount_of,
    available,
    begun,
    changed_kind,
    kind_of,
    names_of,
    new_name,
    possible,
    with_amount,
    with_key,
)
from blowfish_privacy.support import yaml_text

DOMAIN = bp.Domain(
    age=bp.Integer(17, 90), sex=bp.Categorical(["F", "M"]), pay=bp.Binned([0, 10, 20]), wage=bp.Integer(0, 9)
)
BODY = {
    "version": 1,
    "policy": {
        "domain": {
            "age": {"integer": [17, 90]},
            "sex": {"categorical": ["F", "M"]},
            "pay": {"binned": [0, 10, 20]},
            "wage": {"integer": [0, 9]},
        },
        "secrets": "full",
    },
}


def loaded(entry):
    return spec.loads(yaml_text.write({**BODY, "releases": [entry]})).releases[0]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.title)
def test_every_kind_begins_with_what_the_file_takes(kind):
    entry = {"name": "one", **begun(kind, DOMAIN), "epsilon": "0.1"}
    assert loaded({key: str(value) if isinstance(value, Decimal) else value for key, value in _plain(entry).items()})
    assert kind_of(entry) is kind


def _plain(entry):
    return {key: [str(each) for each in value] if key == "at" else value for key, value in entry.items()}


def test_statements_and_forms_call_a_kind_by_the_same_name():
    assert {*TITLES} == {kind.keyword for kind in KINDS}
    assert all((keyword, title) in {(kind.keyword, kind.title) for kind in KINDS} for keyword, title in TITLES.items())


def test_kinds_take_the_attributes_that_suit_them():
    assert possible(BY_TITLE["Table of counts"], DOMAIN) == ("age", "sex", "pay", "wage")
    assert possible(BY_TITLE["Distribution"], DOMAIN) == ("age", "pay", "wage")
    assert possible(BY_TITLE["Mean"], DOMAIN) == ("age", "wage")


def test_a_domain_without_order_has_no_distributions():
    names = [kind.keyword for kind in available(bp.Domain(sex=bp.Categorical(["F", "M"])))]
    assert names == ["histogram", "tables"]


@pytest.mark.parametrize("first", KINDS, ids=lambda kind: kind.title)
@pytest.mark.parametrize("second", KINDS, ids=lambda kind: kind.title)
def test_any_kind_can_become_any_other(first, second):
    entry = changed_kind({"name": "one", **begun(first, DOMAIN), "epsilon": "0.1", "by": ["sex"]}, second, DOMAIN)
    if not first.of_parts:
        entry = {key: value for key, value in entry.items() if key != "by"}
    assert kind_of(entry) is second
    assert loaded(_plain(entry)).name == "one"


def test_attributes_are_kept_where_they_suit():
    entry = changed_kind({"name": "one", "mean": "wage", "epsilon": 1}, BY_TITLE["Distribution"], DOMAIN)
    assert entry == {"name": "one", "cumulative": "wage", "epsilon": 1}


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "one", "linear": {"attributes": ["sex"], "rows": [[1, 0]]}, "epsilon": 1},
        {"name": "one", "tables": {"ways": 2, "of": [{"attribute": "age", "as": "ranges"}, "sex"]}, "epsilon": 1},
        {"name": "one", "tables": [[{"attribute": "age", "as": "ranges"}]], "epsilon": 1},
        {"name": "one", "synthetic": ["age", "sex"], "workload": 2, "epsilon": 1},
    ],
)
def test_what_a_form_cannot_show_is_left_to_the_file(entry):
    assert kind_of(entry) is None


def test_amounts_take_each_other_s_place():
    entry = {"name": "one", "histogram": ["age"], "epsilon": Decimal("0.1"), "noise": "laplace"}
    changed = with_amount(entry, "error", Decimal(25))
    assert list(changed) == ["name", "histogram", "error", "noise"]
    assert amount_of(changed) == ("error", Decimal(25))
    gaussian = {"name": "one", "histogram": ["age"], "epsilon": 1, "delta": Decimal("1e-9")}
    assert with_amount(gaussian, "rho", Decimal("0.1")) == {"name": "one", "histogram": ["age"], "rho": Decimal("0.1")}


def test_a_key_without_a_value_is_taken_out():
    entry = {"name": "one", "histogram": ["age"], "epsilon": 1, "by": ["sex"]}
    assert "by" not in with_key(entry, "by", [])
    assert with_key(entry, "by", ["pay"])["by"] == ["pay"]
    assert names_of(entry, BY_TITLE["Table of counts"]) == ["age"]


def test_new_names_differ_in_more_than_case():
    assert new_name("age table", []) == "age table"
    assert new_name("age table", ["Age Table"]) == "age table 2"
    assert new_name("age table", ["age table", "age table 2"]) == "age table 3"
