"""Amounts on a slider: round, exact, and never written with powers of ten."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blowfish_privacy.studio.entries import amounts, in_file, nearest, read_amount, rounded_to_stop, why_not, written


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
