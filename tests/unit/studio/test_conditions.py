"""Choices of values, as they are typed and as a file has them."""

from __future__ import annotations

from decimal import Decimal

import pytest

import blowfish_privacy as bp
from blowfish_privacy.domain import choice_from_file
from blowfish_privacy.studio.entries import (
    condition_text,
    numbers_text,
    read_condition,
    read_list,
    read_tables,
    tables_text,
)

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
    assert numbers_text([Decimal("0.25"), Decimal("0.50")]) == "0.25, 0.5"
    assert read_tables("age, sex\n\n wage ") == [["age", "sex"], ["wage"]]
    assert tables_text([["age", "sex"], ["wage"]]) == "age, sex\nwage"
