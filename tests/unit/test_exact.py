from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blowfish_privacy.errors import PolicyError, QueryError
from blowfish_privacy.support.exact import (
    about,
    exact,
    measured,
    positive,
    readable,
    rounded,
    rounded_down,
    rounded_up,
    show,
    stated_amount,
    with_error,
)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (5, Fraction(5)),
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        (" 1/3 ", Fraction(1, 3)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
        (1e-5, Fraction(1, 100_000)),
        ("1e3", Fraction(1000)),
        (np.int64(7), Fraction(7)),
        (np.float64(0.1), Fraction(1, 10)),
    ],
)
def test_numbers_are_taken_as_written(written, meant):
    assert exact(written, "x", error=PolicyError) == meant


@pytest.mark.parametrize(
    "nonsense",
    [
        True,
        None,
        "",
        "abc",
        "nan",
        float("nan"),
        float("inf"),
        "1/0",
        "1e999999999",
        "9" * 10_000,
        [],
        "٣",
        Decimal("NaN"),
        1j,
    ],
)
def test_what_is_no_finite_number_is_refused_with_a_hint(nonsense):
    with pytest.raises(PolicyError, match=r"epsilon must be a finite number.*Hint"):
        exact(nonsense, "epsilon", error=PolicyError)


def test_positive_refuses_zero_and_below():
    assert positive("0.5", "theta", error=PolicyError) == Fraction(1, 2)
    for value in (0, -1, "-0.1"):
        with pytest.raises(PolicyError, match="above 0"):
            positive(value, "theta", error=PolicyError)


@pytest.mark.parametrize(
    ("number", "shown"),
    [(Fraction(5), "5"), (Fraction(1, 20), "0.05"), (Fraction(-7, 2), "-3.5"), (Fraction(1, 3), "1/3")],
)
def test_numbers_are_shown_the_way_a_person_writes_them(number, shown):
    assert show(number) == shown
    assert Fraction(shown) == number


@pytest.mark.parametrize(
    ("text", "message"),
    [("1e400", "epsilon is too large: more than 10"), ("1e-300", "epsilon is too small: less than 10")],
)
def test_amounts_that_nobody_means_are_refused(text, message):
    with pytest.raises(QueryError, match=message):
        stated_amount(text, "epsilon", error=QueryError)
    assert stated_amount("1e15", "epsilon", error=QueryError) == 10**15
    assert stated_amount("1e-15", "epsilon", error=QueryError) == Fraction(1, 10**15)


def test_no_number_for_a_reader_is_long():
    assert (readable(Fraction(1, 3)), readable(Fraction("0.25"))) == ("1/3", "0.25")
    assert readable(Fraction("0.25" + "0" * 300 + "1")) == "0.2501"
    assert (readable(Fraction(1234, 7)), readable(Fraction(6, 12345))) == ("176.3", "0.0004861")
    said = {14_142_136: "14,100,000", 1335: "1,340", 999.7: "1,000", 999.4: "999", 0.012345: "0.0123", 8.0: "8"}
    assert {number: about(number) for number in said} == said
    assert [about(number) for number in (1e15, 1e300, float("inf"), 1e-300)] == [*["more than 10^15"] * 3, "1e-300"]


AMOUNTS = st.fractions(min_value=0, max_value=10**16) | st.fractions(0, 1).map(lambda number: number / 10**9)


def read(text: str) -> Fraction:
    return Fraction(text.replace(",", ""))


@given(AMOUNTS | AMOUNTS.map(lambda number: -number))
def test_a_loss_is_never_understated_and_what_is_left_never_overstated(number):
    below, near, above = (read(write(number)) for write in (rounded_down, rounded, rounded_up))
    assert below <= number <= above
    assert near in (below, above)
    assert abs(near - number) <= (above - below) / 2
    # Four significant digits, and whole numbers in full.
    assert above - below <= abs(number) / 999
    assert (above - below) * 2 <= max(1, abs(number) / 400)
    if number.denominator == 1 and abs(number) < 10**15:
        assert below == above


@given(AMOUNTS)
def test_what_is_rounded_stays_as_it_is(number):
    for write in (rounded_down, rounded, rounded_up):
        text = write(number)
        assert write(read(text)) == text
        assert len(text.replace(",", "")) <= 15


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        ("0.3", "0.3"),
        ("1/3", "0.3334"),
        ("943/5000", "0.1886"),
        ("0.7982475", "0.7983"),
        ("99999/100000", "1"),
        ("12345.6", "12,346"),
        ("0.0000000012345", "1.235e-9"),
        ("0.000000099999", "1e-7"),
        ("1e-15", "1e-15"),
        ("0", "0"),
    ],
)
def test_amounts_that_are_lost(number, shown):
    assert rounded_up(Fraction(number)) == shown


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_an_estimate_has_the_digits_that_its_error_leaves(value, error):
    shown, unit = read(measured(value, error)), Fraction(10) ** -_decimals(error)
    assert shown % unit == 0
    # Half a unit of the last digit, but for the rounding of floating point.
    assert abs(shown - Fraction(value)) <= unit / 2 + Fraction(abs(value)) / 2**50
    assert Fraction(error) / 105 <= unit <= Fraction(error) * Fraction(20, 19)
    assert measured(float(shown), error) == measured(value, error)


def _decimals(error: float) -> int:
    digits, _, power = f"{error:.1e}".partition("e")
    return -int(power) + (not digits.endswith(".0"))


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (40.411633430244464, 0.0999, "40.4 ± 0.1"),
        (40.411633430244464, 0.14, "40.41 ± 0.14"),
        (187.2027, 9.387, "187.2 ± 9.4"),
        (1_123_456.0, 5_234.0, "1,123,500 ± 5,200"),
        (-0.001, 0.1, "0.0 ± 0.1"),
        (4510, 0.0, "4,510"),
        (5.25, 0.0, "5.25"),
    ],
)
def test_an_estimate_with_its_error(value, error, shown):
    assert with_error(value, error) == shown
