"""A form for an attribute writes what a policy file says, and reads it back."""

from __future__ import annotations

from decimal import Decimal

import pytest

from blowfish_privacy.errors import DomainError
from blowfish_privacy.studio.declaring import AttributeForm, equal_edges, split_names

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
        AttributeForm("hierarchy", levels="state, county"),
        AttributeForm("hierarchy", levels='state, county\n"a'),
        AttributeForm("hierarchy", levels="state, county\nA"),
    ],
)
def test_what_is_wrong_is_said(form):
    with pytest.raises(DomainError):
        form.declaration()


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
