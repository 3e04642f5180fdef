"""Amounts on a slider: round, exact, and never written with powers of ten."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.domain import Attribute, choice_from_file
from blowfish_privacy.errors import DomainError
from blowfish_privacy.queries import Query
from blowfish_privacy.release import spec
from blowfish_privacy.release.spec import POLICY
from blowfish_privacy.statements.plan import TITLES
from blowfish_privacy.studio import secret_choice as entry
from blowfish_privacy.studio.declaring import (
    CLAMPED,
    ROUNDS,
    STEPS,
    AttributeForm,
    equal_edges,
    split_names,
    with_attribute,
)
from blowfish_privacy.studio.declaring import KINDS as KINDS_OF_VALUES
from blowfish_privacy.studio.draft import Draft
from blowfish_privacy.studio.entries import (
    AMOUNTS,
    BY_TITLE,
    KINDS,
    NOISES,
    amount_of,
    amounts,
    available,
    begun,
    changed_kind,
    condition_text,
    in_file,
    kind_of,
    list_text,
    names_of,
    nearest,
    new_name,
    possible,
    read_amount,
    read_condition,
    read_list,
    read_tables,
    rounded_to_stop,
    tables_text,
    why_not,
    with_amount,
    with_key,
    written,
)
from blowfish_privacy.support import yaml_text


@pytest.mark.parametrize("key", ["epsilon", "rho", "error"])
def test_stops_grow_and_are_written_plainly(key):
    stops = amounts(key)
    assert stops == sorted({*stops})
    assert all(str(stop) == written(stop) and "E" not in str(stop) for stop in stops)


def test_a_stop_is_nearest_to_itself():
    stops = amounts("epsilon")
    assert [nearest(Fraction(stop), stops) for stop in stops] == [*range(len(stops))]


@pytest.mark.parametrize(
    ("amount", "stop"), [("0.1001", "0.1"), ("0.0283", "0.03"), ("1000000", "10"), ("1e-12", "0.001")]
)
def test_amounts_are_rounded_to_stops(amount, stop):
    assert rounded_to_stop(Fraction(amount), "epsilon") == Decimal(stop)


@given(st.decimals(min_value=Decimal("1e-9"), max_value=Decimal("1e9"), places=9).filter(lambda number: number > 0))
def test_what_is_written_is_read_back(amount):
    assert read_amount(written(amount)) == amount


@pytest.mark.parametrize("text", ["", "no", "0", "-1", "inf", "nan", None, "1/0", "1e400", "1e-300"])
def test_what_is_no_amount_is_none(text):
    assert read_amount(text) is None


def test_a_comma_is_a_point():
    assert read_amount(" 0,25 ") == Decimal("0.25")


def test_a_fraction_is_taken_where_a_file_takes_it():
    third = read_amount(" 1/3 ")
    assert third == Fraction(1, 3)
    assert (written(third), in_file(third), in_file(Decimal("0.5"))) == ("1/3", "1/3", Decimal("0.5"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Epsilon is missing: "),
        ("NaN", "Epsilon must be a finite number, got 'NaN'."),
        ("-1", "Epsilon must be above 0, got -1."),
        ("0", "Epsilon must be above 0, got 0."),
        ("1e400", "Epsilon is too large: more than 10^15."),
    ],
)
def test_what_is_not_taken_says_why(text, why):
    said = why_not(text, "Epsilon")
    assert said is not None
    assert said.startswith(why)
    assert why_not("1/3", "Epsilon") is None


# A form for an attribute writes what a policy file says, and reads it back.


TREE = {"hierarchy": {"levels": ["state", "county"], "tree": {"A, B": ["a", "b"], "C": ["c"]}}}


@pytest.mark.parametrize(
    "declared",
    [
        {"integer": [17, 90]},
        {"integer": [-5, 5], "outside": "clamp", "missing": 0},
        {"binned": [0, Decimal("2.5"), 10]},
        {"binned": [0, 1], "missing": 0},
        {"decimal": [0, 100], "step": Decimal("0.25"), "outside": "clamp", "missing": Decimal("0.5")},
        {"decimal": [0, 100], "step": Decimal("0.25"), "round": "nearest"},
        {"decimal": [0, 1], "step": Decimal("0.5"), "round": "down", "missing": 0},
        {"date": ["2020-01-01", "2020-12-31"], "step": "week", "missing": "2020-02-01"},
        {"categorical": ["Female", "Male, other"]},
        {"categorical": [1, 2, 3], "missing": 2},
        {"categorical": [True, False]},
        {"categorical": ["1", "2"], "missing": "1"},
        TREE,
        {"hierarchy": {"file": "places.csv"}, "missing": "a"},
    ],
)
def test_a_declaration_is_read_back(declared):
    form = AttributeForm.of(declared)
    assert form is not None
    assert form.declaration() == declared


@pytest.mark.parametrize("kind", KINDS_OF_VALUES)
def test_every_key_of_a_declaration_has_a_field(kind):
    written = {*Attribute.kinds[kind].file_form.keys} - {kind, "outside"}
    assert written <= {field.name for field in fields(AttributeForm)}


def words_of(accepted: Any) -> set[str]:
    """Collect the words that a part of a file may be."""
    inner = get_args(accepted)[:1] if get_origin(accepted) is Annotated else get_args(accepted)
    if get_origin(accepted) is Literal:
        return {*inner}
    return {word for each in inner for word in words_of(each)}


def test_what_forms_offer_is_what_the_file_accepts():
    forms = {kind: Attribute.kinds[kind].file_form for kind in KINDS_OF_VALUES}
    assert {*STEPS} == words_of(forms["date"].optional["step"])
    assert {*ROUNDS} == words_of(forms["decimal"].optional["round"])
    assert {*CLAMPED} == {kind for kind, form in forms.items() if "clamp" in words_of(form.optional["outside"])}
    assert {*entry.COMPENSATION} == words_of(POLICY.optional["compensation"])
    assert {*entry.SIZES} - {"stated"} == words_of(POLICY.optional["size"])
    for kind in KINDS:
        form = spec.release_form(Query.kinds[kind.keyword])
        assert {*NOISES} - {""} == words_of(form.optional["noise"])
        assert {*AMOUNTS, "name", kind.keyword, *kind.also} <= {*form.keys}
        assert {*form.required} <= {"name", kind.keyword, *kind.also}


def test_a_declaration_of_another_kind_has_no_form():
    assert AttributeForm.of({"own": 1}) is None
    # What the form does not know would be lost by a change.
    assert AttributeForm.of({"integer": [0, 1], "own": 1}) is None
    assert AttributeForm.of({"integer": [0, 1], "round": "down"}) is None


@pytest.mark.parametrize(
    "form",
    [
        AttributeForm("integer", low="1", high="x"),
        AttributeForm("integer"),
        AttributeForm("binned", edges="1"),
        AttributeForm("binned", edges="1, nan"),
        AttributeForm("binned", edges="0, 1", missing="x"),
        AttributeForm("categorical", categories=" \n"),
        AttributeForm("categorical", categories="1\nb", values="numbers"),
        AttributeForm("categorical", categories="true\nno", values="truth"),
    ],
)
def test_the_file_says_what_is_wrong(form):
    draft = Draft()
    problem = draft.change(with_attribute({}, "own", form.declaration()))
    assert problem is not None
    assert "own" in problem.message
    assert draft.text == ""


@pytest.mark.parametrize("lines", ["state, county", 'state, county\n"a', "state, county\nA"])
def test_lines_that_are_no_hierarchy_are_refused(lines):
    with pytest.raises(DomainError):
        AttributeForm("hierarchy", levels=lines).declaration()


def test_names_are_pasted_in_lines_or_with_commas():
    assert split_names("a, b,c") == ["a", "b", "c"]
    assert split_names("a, b\n\n c \n") == ["a, b", "c"]
    assert AttributeForm("hierarchy", levels="state\tcounty\nA\ta\n\nA\tb").declaration() == {
        "hierarchy": {"levels": ["state", "county"], "tree": {"A": ["a", "b"]}}
    }


def test_bins_of_one_width():
    assert equal_edges("0", "10", "2.5") == "0, 2.5, 5, 7.5, 10"
    assert equal_edges("0", "5", "2") == "0, 2, 4, 5"
    for wrong in (("0", "0", "1"), ("0", "1", "0"), ("0", "1e9", "1"), ("a", "1", "1")):
        with pytest.raises(DomainError):
            equal_edges(*wrong)


# Choices of values, as they are typed and as a file has them.


AGE, PAY = bp.Integer(-5, 90), bp.Binned([0, "0.5", 10])

TOWN, CODE = bp.Categorical(["Bonn", "Ulm", "York, Maine"]), bp.Categorical([1, 2, 3])


@pytest.mark.parametrize(
    ("text", "attribute", "written", "means"),
    [
        ("30", AGE, 30, 30),
        ("25 to 54", AGE, [25, 54], (25, 54)),
        ("-5 to -1", AGE, [-5, -1], (-5, -1)),
        ("25, 54", AGE, {"values": [25, 54]}, [25, 54]),
        ("1, 2, 3", AGE, [1, 2, 3], [1, 2, 3]),
        ("1, 5 to 7", AGE, [1, [5, 7]], [1, (5, 7)]),
        ("0 to 0.5", PAY, [0, Decimal("0.5")], (0, Decimal("0.5"))),
        ("Ulm", TOWN, "Ulm", "Ulm"),
        ("Ulm, Bonn", TOWN, ["Ulm", "Bonn"], ["Ulm", "Bonn"]),
        ("York, Maine", TOWN, "York, Maine", "York, Maine"),
        ("2, 3", CODE, [2, 3], [2, 3]),
    ],
)
def test_a_choice_is_read_as_the_file_writes_it(text, attribute, written, means):
    assert read_condition(text, attribute) == written
    assert choice_from_file(attribute, written) == means
    assert condition_text(written, attribute) == text


def test_explicit_spellings_are_shown_too():
    assert condition_text({"range": [25, 54]}, AGE) == "25 to 54"
    assert condition_text({"values": [25, 54]}, AGE) == "25, 54"


def test_lists_and_tables():
    assert read_list("0.25, 0.5") == [Decimal("0.25"), Decimal("0.5")]
    assert list_text([Decimal("0.25"), Decimal("0.50")]) == "0.25, 0.5"
    assert read_tables("age, sex\n\n wage ") == [["age", "sex"], ["wage"]]
    assert tables_text([["age", "sex"], ["wage"]]) == "age, sex\nwage"


# What a form can ask for, as entries of a file.


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


# Known facts as a form enters them.


TEXT = """version: 1
policy:
  domain:
    age: {integer: [17, 90]}
    wage: {binned: [0, 10, 20.5]}
    sex: {categorical: [Female, Male]}
    town: {categorical: [Ash, Birch, Cedar]}
  secrets: full # of all
"""


def draft_and_domain() -> tuple[Draft, Any]:
    draft = Draft(TEXT)
    assert draft.file is not None
    return draft, draft.file.policy.domain


def test_facts_come_and_go() -> None:
    draft, _ = draft_and_domain()
    fact = entry.table_fact(["sex"], ["10", " 20 "])
    assert fact == {"marginal": ["sex"], "counts": [10, 20]}
    assert draft.change(entry.with_fact(draft.body, fact)) is None
    assert draft.change(entry.with_fact(draft.body, entry.table_fact(["town"], None))) is None
    assert draft.file is not None
    assert len(draft.file.policy.known) == 2
    assert draft.change(entry.without_fact(draft.body, 0)) is None
    assert draft.body["policy"]["known"] == [{"marginal": ["town"]}]
    assert draft.change(entry.without_fact(draft.body, 0)) is None
    assert "known" not in draft.body["policy"]
    assert "# of all" in draft.text


@pytest.mark.parametrize(
    ("conditions", "equals", "written"),
    [
        ({"age": "17 to 25", "sex": [], "town": None}, "", {"count": {"age": [17, 25]}}),
        ({"age": "30", "sex": ["Female"]}, "12", {"count": {"age": 30, "sex": "Female"}, "equals": 12}),
        ({"town": ["Ash", "Cedar"]}, " 0 ", {"count": {"town": ["Ash", "Cedar"]}, "equals": 0}),
        ({"age": "17..20"}, "", {"count": {"age": [17, 20]}}),
    ],
)
def test_counts_are_written_as_the_file_has_them(conditions: Any, equals: str, written: Any) -> None:
    draft, domain = draft_and_domain()
    fact = entry.count_fact(domain, conditions, equals)
    assert fact == written
    assert draft.change(entry.with_fact(draft.body, fact)) is None


def test_ranges_of_bins_end_at_edges() -> None:
    draft, domain = draft_and_domain()
    fact = entry.count_fact(domain, {"wage": "10 to 20.5"}, "")
    assert [*map(str, fact["count"]["wage"])] == ["10", "20.5"]
    assert draft.change(entry.with_fact(draft.body, fact)) is None


def test_the_file_names_mistakes() -> None:
    draft, domain = draft_and_domain()
    text = draft.text
    for fact, said in (
        (entry.table_fact([], None), "a list of names, got []"),
        (entry.table_fact(["sex"], ["1"]), "counts"),
        (entry.table_fact(["sex"], ["1", "-2"]), "whole numbers from 0"),
        (entry.table_fact(["sex"], ["1", ""]), "whole numbers from 0"),
        (entry.count_fact(domain, {"age": "", "sex": []}, "5"), "must not be empty"),
        (entry.count_fact(domain, {"age": "17"}, "about 5"), "equals must be a whole number"),
        (entry.count_fact(domain, {"age": "1 to 2 to 3"}, ""), "1 to 2 to 3"),
        (entry.count_fact(domain, {"age": "2: ["}, ""), "2: ["),
        (entry.count_fact(domain, {"age": "young"}, ""), "young"),
    ):
        problem = draft.change(entry.with_fact(draft.body, fact))
        assert problem is not None
        assert said in problem.message, problem.message
        assert draft.text == text


def test_defaults_are_left_out() -> None:
    draft, _ = draft_and_domain()
    for name, value in (("size", 500), ("rows_per_person", 2), ("compensation", "secret-moves")):
        default = entry.option_of(draft.body, name)
        assert draft.change(entry.with_option(draft.body, name, value)) is None
        assert entry.option_of(draft.body, name) == value
        assert draft.change(entry.with_option(draft.body, name, default)) is None
        assert name not in draft.body["policy"]


def test_cells_are_named_in_the_order_of_the_file() -> None:
    _, domain = draft_and_domain()
    assert entry.cell_names(domain, ["sex", "town"])[:4] == [
        "Female, Ash",
        "Female, Birch",
        "Female, Cedar",
        "Male, Ash",
    ]
    assert len(entry.cell_names(domain, ["age"])) == entry.MOST_FIELDS
    assert entry.split_counts("1, 2;3\n4\t5 ") == ["1", "2", "3", "4", "5"]
